"""The picture of the kinds of V: late exponents, a panel for every set."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.papers.open_questions.clouds.kind_runs import KindSet, kind_late, kind_limits, null_rows
from nucleate.papers.open_questions.clouds.kinds import KIND_NAMES
from nucleate.papers.open_questions.clouds.late import rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

__all__ = ["draw_kinds"]

LOWEST = -0.04  # exponents below are drawn here


def draw_kinds(found: "dict[KindSet, Dataset]") -> "Figure":
    """The late exponent of every V, a panel for every set; side by side up to two, else below each other."""
    from matplotlib.figure import Figure

    stacked = len(found) > 2
    size = (9.5, 2.7 * len(found)) if stacked else (5.3 * len(found), 3.8)
    figure = Figure(figsize=size, layout="constrained")
    shape = (len(found), 1) if stacked else (1, len(found))
    for ax, (one, data) in zip(figure.subplots(*shape, squeeze=False).flat, found.items(), strict=True):
        _draw_set(ax, one, data)
        if not stacked:  # names need more than their width
            ax.set_xticks(ax.get_xticks(), ax.get_xticklabels(), rotation=25, ha="right")
    return figure


def _columns(one: KindSet) -> dict[str, tuple[float, NDArray[np.intp]]]:
    """What is drawn beside each other: β, and the runs, by name."""
    columns = {"cannot be\nchaotic": (one.beta, null_rows(one, one.beta))}
    here = [one.control] if one.beta == one.control.beta else []
    for cell in [*here, *one.asked]:
        name = KIND_NAMES[cell.kind].replace(" with ", "\nwith ")
        columns[name] = (cell.beta, rows_of(one.parameters, cell))
    if not here:
        beta = one.control.beta
        columns[f"general V,\nβ = {beta:g}"] = (beta, rows_of(one.parameters, one.control))
        columns[f"cannot be\nchaotic, β = {beta:g}"] = (beta, null_rows(one, beta))
    return columns


def _draw_set(ax: "Axes", one: KindSet, found: "Dataset") -> None:
    from nucleate.plot.styles import tidy

    palette, rng = tidy(ax), np.random.default_rng(0)
    limits, late, columns = kind_limits(found, one), kind_late(found, one).min(1), _columns(one)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    for place, (beta, rows) in enumerate(columns.values()):
        value, edges = late[rows], (place - 0.5, place + 0.5)
        ax.fill_between(edges, LOWEST * 1.1, limits[beta], color=palette.grey(0.1), linewidth=0)
        x = place + rng.uniform(-0.28, 0.28, len(value))
        beyond = value > limits[beta]
        for some, colour, size in ((beyond, palette.red, 4), (~beyond, palette.grey(0.55), 3)):
            ax.plot(x[some], np.maximum(value[some], LOWEST), "o", color=colour, markersize=size)
        at = ("data", "axes fraction")
        words = f"{beyond.sum()} of {len(value)}"
        ax.annotate(words, (place, 1.0), xycoords=at, ha="center", va="top", fontsize=9)
    here = sum(beta == one.beta for beta, _ in columns.values())
    if here < len(columns):  # the others are of another β
        ax.axvline(here - 0.5, color=palette.ink, linewidth=0.6)
    ax.set_xticks(range(len(columns)), list(columns), fontsize=8)
    ax.set(xlim=(-0.5, len(columns) - 0.5), title=f"d = {one.d}, β = {one.beta:g}")
    top = max(0.013, float(late.max()))
    ax.set(ylabel="exponent of late tokens", ylim=(LOWEST * 1.1, 1.25 * top))
