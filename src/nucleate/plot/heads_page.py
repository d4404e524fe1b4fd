"""Spectra as files: pictures, and one HTML page with everything inside; nothing is fetched from anywhere."""

import base64
import io
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from nucleate.checks import file_error
from nucleate.integrate.storage import replacing
from nucleate.models.all_heads import HeadOutcomes, agreement_words
from nucleate.models.head_simulation import HeadOutcome
from nucleate.models.spectra import Head, Spectra
from nucleate.models.table import DATA, PAGE, PICTURES, region_words, share_words
from nucleate.plot.files import save_figure
from nucleate.plot.head_outcomes import outcome_figure
from nucleate.plot.heads import head_map_figure, layer_figure
from nucleate.plot.styles import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page", "write_heads"]

DPI = 110  # of pictures in the page and in the folder
PALETTE_SIZE = 64  # colours of such a picture: dots and lines need no more
STYLE = """
:root { color-scheme: light dark; --ink: #16181d; --paper: #fff; --faint: #5c6370; --line: #d9dce1;
  --bad: #a81d13; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #171717; --faint: #a2a9b5;
  --line: #3a3a3a; --bad: #ff7b70; }
  img { filter: invert(.91) hue-rotate(180deg); } } /* white becomes the colour of the page */
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 66rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; border-top: 1px solid var(--line); padding-top: .6rem; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 1rem; } .table { overflow-x: auto; }
th, td { text-align: right; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--faint); } td.words, th.words { text-align: left; } td {
  font-variant-numeric: tabular-nums; }
tr.negative td { font-weight: 600; color: var(--bad); } a { color: inherit; }
img { max-width: 100%; height: auto; } .note { color: var(--faint); font-size: .92rem; } summary {
  cursor: pointer; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --faint: #444; --line: #bbb;
  --bad: #a81d13; } img { filter: none; } }
"""
EXPLAINED = (
    "A head's value matrix is V = W_O W_V diag(g), with the gain g and, for LayerNorm, the centring of the"
    " normalisation in front folded in. It is d × d and of rank d_head, so it always has the eigenvalue 0 and"
    " its own λ_max is never negative. Rows of Table 1 are therefore read off the small product W_V diag(g)"
    " W_O, which has the other eigenvalues; the last two columns are those of V itself. The effective β is"
    " the norm of A, where x^T A y is the score of two unit tokens. At random: independent Gaussian weights"
    " with the gain 1."
)
OUTCOMES_EXPLAINED = (
    "In L means: all tokens within 0.1 of L, the eigenspace at λ_max. Clusters are tokens in steps of at most"
    " 0.1. A head runs for 12 e-foldings of the gap below λ_max, and between 40 and 1000 of λ_max itself; a"
    " complex dominant eigenvalue keeps its tokens turning, so that they never come to an equilibrium."
)


def write_heads(found: Spectra, path: Path, progress: Callable[[int, int], object] | None = None) -> None:
    """Data (.json, .csv), the map of all heads (.png, .pdf, .svg), the page (.html), or a folder with all of
    these and a picture per layer."""
    ending = path.suffix.lower()
    if ending in DATA:
        found.save(path)
    elif ending in PICTURES:
        with style("light"):
            save_figure(outcome_figure(found) if found.outcomes else head_map_figure(found), path)
    elif ending in PAGE:
        text = page(found, progress)
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    else:
        _folder(found, path, progress)


def _folder(found: Spectra, path: Path, progress: Callable[[int, int], object] | None) -> None:
    """Everything; each picture is drawn once, for its file and for the page."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise file_error(
            f"--out {path} cannot be made: {error.strerror}. Choose another name.", error
        ) from None
    for name in ("spectra.json", "heads.csv"):
        found.save(path / name)
    pictures = _pictures(found, progress)
    for name, picture in pictures.items():
        with replacing(path / name) as part:
            part.write_bytes(picture)
    with replacing(path / "report.html") as part:
        part.write_text(_page(found, pictures), encoding="utf-8")


def page(found: Spectra, progress: Callable[[int, int], object] | None = None) -> str:
    """The whole report as one HTML text."""
    return _page(found, _pictures(found, progress))


def _pictures(found: Spectra, progress: Callable[[int, int], object] | None) -> dict[str, bytes]:
    """The map and one picture per layer, by the names of their files."""
    with style("light"):
        made = {"heads.png": _png(head_map_figure(found))}
        if found.outcomes:
            made["lives.png"] = _png(outcome_figure(found))
        for i in range(found.layers):
            made[_layer_name(found, i)] = _png(layer_figure(found, i))
            if progress is not None:
                progress(i + 1, found.layers)
    return made


def _layer_name(found: Spectra, i: int) -> str:
    return f"layer-{i:0{len(str(found.layers - 1))}}.png"


def _page(found: Spectra, pictures: dict[str, bytes]) -> str:
    overview = (
        _outcomes(found.outcomes, pictures["lives.png"])
        if found.outcomes
        else _image(pictures["heads.png"], "All heads by layer, coloured by row of Table 1")
    )
    layers = [_layer(found, i, pictures[_layer_name(found, i)]) for i in range(found.layers)]
    name, groups = (
        escape(found.model),
        (
            f" over {found.key_value_heads} key-value heads"
            if found.key_value_heads < found.heads_per_layer
            else ""
        ),
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heads of {name}</title><style>{STYLE}</style></head><body>
<h1>Heads of {name}</h1>
<p>{escape(found.architecture)}: {found.layers} layer{"s" * (found.layers > 1)}
of {found.heads_per_layer} heads{groups}, d = {found.d}, d_head = {found.head_dim}, stored as
{escape(", ".join(found.stored_as))}.</p>
<h2>Rows of Table 1</h2>{_rows(found)}
<p class=note>{EXPLAINED}
({found.initial.draws} draws, seed {found.initial.seed}, standard deviation {found.initial.std:g},
of W_O {found.initial.output_std:.3g}.)</p>
<ul class=note>{notes}</ul>
<h2>All heads</h2>{overview}
{_links(found)}
{"".join(layers)}
</body></html>
"""


def _rows(found: Spectra) -> str:
    total, draws, rows = len(found.heads), found.initial.draws, []
    for region in sorted({*found.regions, *found.initial.regions}):
        here, there = found.regions.get(region, 0), found.initial.regions.get(region, 0)
        shares = escape(share_words(here, total)), escape(share_words(there, draws))
        rows.append(
            f"<tr><td class=words>{escape(region_words(region))}<td>{here}<td>{shares[0]}<td>{shares[1]}</tr>"
        )
    return _table(
        "<tr><th class=words>dominant eigenvalue of the small product<th>heads<th>share<th>at random</tr>",
        rows,
    )


def _outcomes(live: HeadOutcomes, png: bytes) -> str:
    """What happened when the heads were simulated."""
    rows = [
        f"<tr><td class=words>{escape(region_words(region))}<td class=words>{escape(ended)}<td>{count}</tr>"
        for (region, ended), count in live.counts.items()
    ]
    return (
        f"<p>{live.tokens} tokens under each head alone, causal, all from one random start (seed"
        f" {live.seed}): {escape(agreement_words(live))}.</p>"
        + _table("<tr><th class=words>Table 1 says<th class=words>what happened<th>heads</tr>", rows)
        + f"<p class=note>{OUTCOMES_EXPLAINED}</p>"
        + _image(png, "What Table 1 says of every head, beside where its tokens ended")
    )


def _links(found: Spectra) -> str:
    """Links to the layers, if there are several."""
    return (
        f"<p>Layers: {' '.join(f'<a href=#layer-{i}>{i}</a>' for i in range(found.layers))}</p>"
        if found.layers > 1
        else ""
    )


def _table(head: str, rows: list[str]) -> str:
    return f"<div class=table><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>"


def _layer(found: Spectra, i: int, png: bytes) -> str:
    more = "<th class=words>what happened" if found.outcomes else ""
    head = (
        "<tr><th>head<th>β<th>λ_max<th class=words>dominant eigenvalue<th>row<th>on the left"
        f"<th>λ_max of V<th>row of V{more}</tr>"
    )
    first, heads = i * found.heads_per_layer, found.layer(i)
    lived = found.outcomes.heads[first : first + len(heads)] if found.outcomes else [None] * len(heads)
    rows = [_row(one, what) for one, what in zip(heads, lived, strict=True)]
    picture = _image(png, f"Eigenvalues of every head of layer {i} in the complex plane")
    return (
        f"<h2 id=layer-{i}>Layer"
        f" {i}</h2>{picture}<details><summary>Numbers</summary>{_table(head, rows)}</details>"
    )


def _row(one: Head, lived: HeadOutcome | None) -> str:
    negative = " class=negative" if one.lambda_max < 0.0 and one.region != "zero" else ""
    return (
        f"<tr{negative}><td>{one.head}<td>{one.beta:.4g}<td>{one.lambda_max:.4g}<td"
        f" class=words>{escape(one.kind)}<td>{one.row or '–'}"
        f"<td>{one.left:.1%}<td>{one.full_lambda_max:.4g}<td>{one.full_row or '–'}"
        + (f"<td class=words>{lived.ended}" if lived else "")
        + "</tr>"
    )


def _png(figure: "Figure") -> bytes:
    """The figure as a PNG with a palette, which halves it."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(PALETTE_SIZE, dither=Image.Dither.NONE).save(
            small, format="PNG", optimize=True
        )
    return small.getvalue()


def _image(png: bytes, words: str) -> str:
    return (
        f'<p><img alt="{escape(words, quote=True)}"'
        f' src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}"></p>'
    )
