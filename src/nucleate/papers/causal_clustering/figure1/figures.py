"""The picture of Figures 1 and 6: for every V a globe with trajectories to t = 5000 and one with the end."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.figure1.data import LAST_STRETCH, PANELS, Panel
from nucleate.papers.causal_clustering.figure1.measures import VISIBLE_DISTANCE, PanelEnd, panel_end
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.integrate.run import Run

__all__ = ["draw", "globes"]

COLUMNS = 2
EARLY_TIME = 20.0  # units of time that are drawn in any case
LONG_CHORD = 0.75  # between two frames: too long to follow by eye
MAX_LONG_CHORDS = 0.05  # share of such chords above which a stretch is not drawn


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The picture of Figure 1."""
    return {"figure1": globes(data, p, PANELS)}


def globes(data: Data, p: Parameters, panels: tuple[Panel, ...]) -> "Figure":
    """All panels, two in a row."""
    rows = -(-len(panels) // COLUMNS)
    figure = spaced_figure(11.6, 3.35 * rows, w_pad=None, wspace=0.02, hspace=0.03)
    parts: Any = figure.subfigures(rows, COLUMNS, squeeze=False)
    for part, panel in zip(parts.reshape(-1), panels, strict=False):
        _draw_panel(part, data, p, panel)
    return figure


def _draw_panel(part: Any, data: Data, p: Parameters, panel: Panel) -> None:
    """Two globes under one V."""
    from nucleate import plot
    from nucleate.plot.styles import SMALL_POINTS, palette_of

    found = panel_end(data, p, panel)
    words = panel.words.replace("λ_max", r"$\lambda_{\max}$")
    part.suptitle(f"{words}\n{panel.written}", fontsize=SMALL_POINTS + 1)
    left, right = (part.add_subplot(1, 2, i + 1, projection="3d") for i in range(2))
    first, end = data[panel.name], data[f"{panel.name}-end"]
    plot.trajectories(_followed(first, 0.0, EARLY_TIME), left)
    plot.trajectories(_followed(end, end.t[-1] / 10.0, 0.0), right)
    for ax, words in (
        (left, f"t = {p['T']:g}: {_count_label(found.clusters_T, p['n'])}"),
        (right, _end_label(found, p["n"])),
    ):
        for text in list(ax.texts):  # the note on dotted lines, told once in the caption
            text.remove()
        ax.text2D(
            0.5,
            -0.02,
            words,
            transform=ax.transAxes,
            ha="center",
            va="top",
            fontsize=SMALL_POINTS,
            color=palette_of(ax).ink,
        )
        _mark_predicted(ax, found)


def _followed(run: "Run", since: float, early: float) -> "Run":
    """The frames from `since` on; those before `early` and the last stretch only, if the eye could not follow
    the tokens between."""
    late = run.t >= since  # (m,)
    last = run.t >= run.t[-1] - LAST_STRETCH
    chord = np.linalg.norm(np.diff(run.x[late & ~last], axis=0), axis=-1)  # (frames - 1, n)
    too_fast = chord.size > 0 and float((chord > LONG_CHORD).mean()) > MAX_LONG_CHORDS
    keep = last | (run.t < early) if too_fast else late
    return replace(run, t=run.t[keep], x=run.x[keep])


def _mark_predicted(ax: Any, found: PanelEnd) -> None:
    """Crosses where V says that tokens end."""
    from nucleate.plot.styles import palette_of

    if found.points is not None:
        here = palette_of(ax)
        # below the red
        ax.scatter(
            *found.points.T, s=170, marker="x", color=here.ink, linewidths=1.2, depthshade=False, zorder=5.5
        )


def _count_label(clusters: int, n: int) -> str:
    return f"{clusters} cluster{'s' * (clusters != 1)}" if clusters <= n / 2 else "spread out"


def _end_label(found: PanelEnd, n: int) -> str:
    time = f"t = {_power_of_ten(found.reached)}"
    if not found.resolved:
        return f"{time}: unresolved"
    if not found.at_equilibrium:
        return f"{time}: still moving"
    same = found.moved_after <= VISIBLE_DISTANCE
    return f"{time}: {'as before' if same else _count_label(found.clusters_end, n)}"


def _power_of_ten(t: float) -> str:
    if t < 1e5:
        return f"{t:.0f}"
    digits, power = f"{t:.1e}".split("e")
    return rf"${digits} \times 10^{{{int(power)}}}$"
