"""The picture of an ensemble: mean, quantiles and confidence band of one observable."""

import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError
from nucleate.parse.validate import one_of
from nucleate.plot.files import save_figure
from nucleate.plot.phase_diagram import diagram_panels, draw_panels, panel_inches
from nucleate.plot.styles import (
    CLUSTER_COLOURS,
    SMALL_POINTS,
    WIDE_INCHES,
    as_written,
    axes_or_new,
    legend_above,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray

    from nucleate.studies.result import Ensemble

__all__ = ["ensemble_bands", "observables_to_draw", "write_ensemble"]

# told apart in print, without colours
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))
MAX_LINES = len(LINE_STYLES)
LEGEND_COLUMNS = ((3, 18), (2, 32))  # (columns, letters of the longest label up to which there are so many)
LABEL_LETTERS = 64  # of a label of the legend, in one line
TICK_LETTERS = 18  # of a label below the axes, in one line
LOG_VALUES_RATIO = 30.0  # largest over smallest value from which they are shown by powers of ten
LOG_AXIS_STEP_RATIO = 8.0  # last over first step of an axis from which it is shown by powers of ten


def ensemble_bands(ensemble: "Ensemble", name: str, ax: "Axes | None" = None) -> "Axes":
    """The mean with its .1 and .9 quantiles, over time; an observable without time over beta, or the first
    axis of a grid without it.

    Points on the other axes of the grid have a line each; if there are more than six, six of them, and the
    picture says so.
    """
    across, lines, points = _axes(ensemble, name)
    ax = axes_or_new(ax, WIDE_INCHES)
    palette = tidy(ax)
    mean, spread = ensemble.mean(name), ensemble.quantiles(name, (0.1, 0.9))
    for i, (words, where) in enumerate(lines):
        colour = palette.ink if len(lines) == 1 else CLUSTER_COLOURS[i]
        _line(
            ax,
            mean.isel(where),
            spread.isel(where),
            across,
            words or "mean",
            colour,
            LINE_STYLES[i],
            markers=across != "time",
        )
    at = ensemble.data[across]
    _scales(ax, at, mean)
    failed = int(mean.attrs["runs_not_done"])
    if not mean.notnull().any():
        ax.text(
            0.5, 0.5, "no run finished", transform=ax.transAxes, ha="center", va="center", color=palette.ink
        )
        ax.set_yticks([])
        if ax.get_xscale() == "linear" and at[0] < at[-1]:
            ax.set_xlim(float(at[0]), float(at[-1]))
    about = "mean, band from the .1 to the .9 quantile" + (
        f"; {failed} of {mean.attrs['runs']} runs not done, left out" if failed else ""
    )
    about += f"; {len(lines)} of {points} points shown" if len(lines) < points else ""
    across_words = str(at.attrs.get("long_name", across)).split(",")[0]
    ax.set(xlabel=as_written(across_words), ylabel=name.replace("_", " "))
    longest = max(len(words) for words, _ in lines)
    legend_above(ax, about, next((columns for columns, letters in LEGEND_COLUMNS if longest <= letters), 1))
    return ax


def _check(name: str, dims: Iterable[Hashable], grid: Sequence[str]) -> None:
    """Refuse what cannot be drawn: an observable with these axes, of a study with this grid."""
    if extra := [one for one in dims if one not in (*grid, "run", "time")]:
        raise InputError(
            f"{name} has the axis {extra[0]}, for which there is no picture here. Draw"
            f" ensemble.data[{name!r}] yourself."
        )
    if "time" not in dims and not grid:
        raise InputError(
            f"{name} is one number per run, without time or grid: nothing runs from left to right. Look at"
            f" ensemble.mean({name!r})."
        )


def _axes(ensemble: "Ensemble", name: str) -> tuple[str, list[tuple[str, dict[str, int]]], int]:
    """What runs from left to right; the lines, a label and a place on the other axes of the grid; and how
    many there would be in all."""
    values = ensemble.data[name]
    grid = list(ensemble.study["grid"])
    _check(name, values.dims, grid)
    across = "time" if "time" in values.dims else "beta" if "beta" in grid else grid[0]
    others = [one for one in grid if one != across]
    shape = tuple(values.sizes[one] for one in others)
    every = (
        [
            dict(zip(others, map(int, np.unravel_index(i, shape)), strict=True))
            for i in range(int(np.prod(shape)))
        ]
        if others
        else [{}]
    )
    shown = (
        every
        if len(every) <= MAX_LINES
        else [every[int(i)] for i in np.linspace(0, len(every) - 1, MAX_LINES).round()]
    )
    return (
        across,
        [
            (", ".join(_value(ensemble.data[axis], at) for axis, at in where.items()), where)
            for where in shown
        ],
        len(every),
    )


def _scales(ax: "Axes", at: "DataArray", mean: "DataArray") -> None:
    """Powers of ten where the values are spread over several; labels and whole numbers as they are."""
    x, y = at.values, mean.values
    if "labels" in at.attrs:
        labels = [as_written(textwrap.fill(str(one), TICK_LETTERS)) for one in at.attrs["labels"]]
        ax.set_xticks(x, labels, fontsize=SMALL_POINTS)
    elif at.dtype.kind == "i":
        ax.set_xticks(x)
    elif len(x) > 2 and x[-1] - x[-2] > LOG_AXIS_STEP_RATIO * (x[1] - x[0]) and x[1] > 0:
        ax.set_xscale("log")
        ax.set_xlim(x[x > 0].min(), x.max())
    y = y[np.isfinite(y)]  # (some,)
    if at.name != "time" and y.size and y.min() > 0 and y.max() > LOG_VALUES_RATIO * y.min():
        ax.set_yscale("log")


def _value(axis: "DataArray", at: int) -> str:
    return f"{axis.name} = {axis.attrs['labels'][at] if 'labels' in axis.attrs else f'{axis.values[at]:g}'}"


def _line(
    ax: "Axes",
    mean: "DataArray",
    spread: "DataArray",
    across: str,
    words: str,
    colour: Any,
    line: Any,
    markers: bool,
) -> None:
    x = mean[across].values
    ax.fill_between(x, spread.values[0], spread.values[-1], color=colour, alpha=0.18, linewidth=0)
    ax.plot(
        x,
        mean.values,
        color=colour,
        linewidth=1.6,
        linestyle=line,
        label=as_written(textwrap.fill(words, LABEL_LETTERS)),
        marker="o" if markers else None,
        markersize=4,
    )


def observables_to_draw(
    dims: Mapping[str, Iterable[Hashable]], grid: Sequence[str], names: Sequence[str] = ()
) -> list[str]:
    """The observables to draw, of those with these axes: the named ones, or all that can be drawn; an error
    if that cannot be."""
    for name in names:
        _check(one_of("--show", name, dims), dims[name], grid)
    shown = list(names) or [name for name in dims if _drawable(name, dims[name], grid)]
    if not shown:
        raise InputError(
            "No observable of this study can be drawn: each is one number per run, or has axes of its own."
        )
    return shown


def write_ensemble(ensemble: "Ensemble", path: Path, names: Sequence[str] = ()) -> None:
    """Write the bands of the observables named, or of all that can be drawn, one below the other; those over
    time and a long axis of the grid as a phase diagram."""
    from matplotlib.figure import Figure

    shown = observables_to_draw(
        {name: ensemble.data[name].dims for name in ensemble.observables}, list(ensemble.study["grid"]), names
    )
    diagrams = {name: found[0] for name in shown if (found := diagram_panels(ensemble, name)) is not None}
    sizes = [
        panel_inches(ensemble, name, diagrams[name]) if name in diagrams else (6.4, 2.7) for name in shown
    ]
    width, heights = max(width for width, _ in sizes), [height for _, height in sizes]
    figure = Figure(figsize=(width, 0.6 + sum(heights)), layout="constrained")
    figure.suptitle(as_written(ensemble.study["title"]), fontsize=11)
    parts = figure.subfigures(len(shown), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, name in zip(parts, shown, strict=True):
        if name in diagrams:
            draw_panels(part, ensemble, name, diagrams[name])
        else:
            ensemble_bands(ensemble, name, part.add_subplot())
    save_figure(figure, path)


def _drawable(name: str, dims: Iterable[Hashable], grid: Sequence[str]) -> bool:
    try:
        _check(name, dims, grid)
    except InputError:
        return False
    return True
