"""One phase diagram for every ingredient: the share of runs that the first token wins."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.sink_survival.measures import phase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

COLUMNS = 4
TITLES = {
    "none": "no norm, depth",
    "sqrt": "norm sqrt, depth",
    "ngpt": "nGPT, depth",
    "pre": "Pre-LN, depth",
    "peri": "Peri-LN, depth",
    "mix": "Mix-LN, post until τ",
    "rope": "RoPE, 1/base",
    "alibi": "ALiBi, slope",
    "mlp": "MLP, strength",
    "heads": "4 heads, V = I + sG",
    "layers": "layers, V = I + sG",
    "noise": "noise, 1/κ",
}
WON = "#2a8a57"
INTERVAL_HEIGHT = -0.25  # of a row, where intervals are drawn, below the marks
ALONE = "white"  # on green, in either style
CATCHING_UP = ("mlp", "heads", "layers")  # where another token's place comes to win as well
MANY_VALUES = 11  # from which on every fourth one is named, not every second
EVEN = "the values tried, one beside the other: not to scale"
MARKS = {"common": "x", "open": "."}


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """All of them on one sheet."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import SMALL_POINTS

    rows = -(-len(p["cases"]) // COLUMNS)
    figure = Figure(figsize=(10.4, 2.45 * rows), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, squeeze=False)
    mesh: Any = None
    for i, ax in enumerate(axes.flat):
        if i < len(p["cases"]):
            mesh = _panel(ax, numbers, p, list(p["cases"])[i])
        else:
            ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("β")
    figure.supxlabel(EVEN, fontsize=SMALL_POINTS)
    bar = figure.colorbar(mesh, ax=axes, shrink=0.6, pad=0.01)
    bar.set_label("share of runs that the first token wins")
    return {"sink-survival": figure}


def _panel(ax: Any, numbers: Numbers, p: Parameters, ingredient: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    values, betas = p["cases"][ingredient]["values"], p["betas"]
    share = np.empty((len(betas), len(values)))
    for i, value in enumerate(values):
        for b, beta in enumerate(betas):
            found = {
                name: numbers[key]
                for name in ("first", "other", "full")
                if (key := f"{ingredient}_{value:g}_beta{beta:g}_{name}") in numbers
            }
            share[b, i] = found["first"].value
            mark = MARKS.get(phase(found))
            if mark:
                ax.plot(i, b, mark, color=palette.ink, markersize=4, zorder=3)  # over all lines
    ends: Any = [palette.grey(0.12), WON]
    colours = LinearSegmentedColormap.from_list("won", ends)
    mesh = ax.pcolormesh(
        np.arange(len(values)), np.arange(len(betas)), share, vmin=0.0, vmax=1.0, cmap=colours
    )
    _threshold(ax, numbers, p, ingredient, "threshold", palette.red, "-")
    if ingredient in CATCHING_UP:
        _threshold(ax, numbers, p, ingredient, "alone", ALONE, "--")
    every = 2 if len(values) < MANY_VALUES else 4
    labels = [_short(value) for value in values[::every]]
    ax.set_xticks(range(0, len(values), every), labels, fontsize=SMALL_POINTS)
    ax.set_yticks(range(len(betas)), [f"{beta:g}" for beta in betas], fontsize=SMALL_POINTS)
    ax.set(xlim=(-0.5, len(values) - 0.5), ylim=(-0.5, len(betas) - 0.5))
    ax.set_title(TITLES[ingredient], fontsize=SMALL_POINTS + 1)
    return mesh


def _threshold(
    ax: Any, numbers: Numbers, p: Parameters, ingredient: str, name: str, colour: Any, style: str
) -> None:
    """A step through the strengths at which half the starts change, with their intervals; none where an
    interval has no end."""
    values = np.array(p["cases"][ingredient]["values"], dtype=np.float64)
    axis = values if ingredient == "alibi" else np.log(values)
    for b, beta in enumerate(p["betas"]):
        at = numbers[f"{ingredient}_{name}_beta{beta:g}"]
        if np.isfinite([at.value, *at.ends]).all():
            place, low, high = np.interp([at.value, *at.ends], axis, np.arange(len(axis)))
            ax.plot([place, place], [b - 0.5, b + 0.5], color=colour, linewidth=1.8, linestyle=style)
            ax.plot([low, high], [b + INTERVAL_HEIGHT] * 2, color=colour, linewidth=1.2)


def _short(value: float) -> str:
    """Powers of ten beyond 100 and below 0.01 as such."""
    if value >= 1000.0 or 0.0 < value < 0.002:
        power = int(np.floor(np.log10(value) + 1e-9))
        digit = round(value / 10.0**power)
        return f"$10^{{{power}}}$" if digit == 1 else f"${digit}\\cdot 10^{{{power}}}$"
    return f"{value:g}"
