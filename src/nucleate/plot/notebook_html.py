"""How records show themselves in a notebook: a small picture, one line, and the rest to unfold."""

import base64
import io
import re
from html import escape
from typing import TYPE_CHECKING

from nucleate.checks import InputError
from nucleate.integrate.run import Run
from nucleate.models.spectra import Spectra
from nucleate.observe.life import Life
from nucleate.plot.eigenvalues import spectrum
from nucleate.plot.files import picture
from nucleate.plot.heads import head_map_figure
from nucleate.plot.merges import life, life_axes
from nucleate.plot.phase_diagram import diagram_panels, draw_panels
from nucleate.plot.studies import ensemble_bands, observables_to_draw
from nucleate.theory.atlas import Atlas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.studies.result import Ensemble

__all__ = ["atlas_html", "ensemble_html", "life_html", "run_html", "spectra_html"]

SMALL_WIDE_INCHES, SMALL_SQUARE_INCHES, SMALL_LIFE_INCHES = (5.6, 2.6), (3.3, 3.3), (5.6, 3.8)
DPI = 90
MAX_WIDTH_PIXELS = 620


def run_html(run: Run) -> str:
    """The picture of run.plot(), small; of b runs that of the first."""
    *runs, _, _, d = run.x.shape
    flat = d == 2 or run.over_depth
    figure = _figure(SMALL_WIDE_INCHES if flat else SMALL_SQUARE_INCHES)
    try:
        picture(run, figure.add_subplot(projection=None if flat else "3d"))
    except InputError as error:  # no frames, or too few tokens: the words still say something
        return _card(None, run.summary, str(error))
    return _card(figure, run.summary, "The picture shows run 0." if runs else "")


def life_html(found: Life) -> str:
    """The picture of life.plot(), small."""
    figure = _figure(SMALL_LIFE_INCHES)
    life(found, life_axes(figure))
    return _card(figure, f"{len(found.merges)} merges; {found.ending}", str(found))


def ensemble_html(ensemble: "Ensemble") -> str:
    """The first observable that can be drawn: bands over runs, or a phase diagram."""
    observables = {name: ensemble.data[name].dims for name in ensemble.observables}
    words = f"Measured: {', '.join(observables)}."
    try:
        name = observables_to_draw(observables, list(ensemble.study["grid"]), ())[0]
    except InputError as error:  # tables of end points have no picture
        return _card(None, ensemble.summary, f"{words}\n{error}")
    figure = _figure(SMALL_WIDE_INCHES)
    panels = diagram_panels(ensemble, name)
    if panels is None:
        ensemble_bands(ensemble, name, figure.add_subplot())
    else:
        draw_panels(figure, ensemble, name, panels[0])
    return _card(figure, ensemble.summary, f"{words} The picture shows {name}.")


def spectra_html(found: Spectra) -> str:
    """The map of heads, small."""
    words = f"{found.model}: {found.layers} layers of {found.heads_per_layer} heads, d = {found.d}"
    return _card(head_map_figure(found), words, str(found))


def atlas_html(found: Atlas) -> str:
    """The eigenvalues of V, and what the atlas says of them."""
    figure = _figure(SMALL_SQUARE_INCHES)
    spectrum(found, figure.add_subplot())
    words = re.sub(r"\bxi\b", "ξ", found.final.replace("lambda_max", "λ_max")).replace("-ξ", "−ξ")
    return _card(figure, words, str(found))


def _figure(inches: tuple[float, float]) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=inches, layout="constrained")


def _card(figure: "Figure | None", line: str, more: str) -> str:
    """A picture with words below it; lines beyond the first are unfolded by a click."""
    parts = []
    if figure is not None:
        drawn = io.BytesIO()
        dpi = min(DPI, MAX_WIDTH_PIXELS / figure.get_figwidth())
        figure.savefig(drawn, format="png", dpi=dpi, facecolor="white")
        data = base64.b64encode(drawn.getvalue()).decode("ascii")
        parts.append(
            f'<img alt="{escape(line, quote=True)}" style="max-width:100%;border-radius:4px"'
            f' src="data:image/png;base64,{data}">'
        )
    parts.append(f'<div style="max-width:44em">{escape(line)}</div>')
    if "\n" in more:
        parts.append(f"<details><summary>more</summary><pre>{escape(more)}</pre></details>")
    elif more:
        parts.append(f'<div style="max-width:44em;opacity:.75">{escape(more)}</div>')
    return f"<div>{''.join(parts)}</div>"
