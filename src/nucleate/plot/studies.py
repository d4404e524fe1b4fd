"""The picture of an ensemble: mean, quantiles and confidence band of one observable."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError
from nucleate.ensemble.keys import one_of
from nucleate.plot.files import save_figure
from nucleate.plot.paint import CLUSTERS, WIDE, axes_or_new, legend_above, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray

    from nucleate.ensemble.result import Ensemble

__all__ = ["bands", "picture"]

MOST_LINES = 6
SPREAD = 30.0  # largest over smallest from which values are shown by powers of ten
UNEVEN = 8.0  # last step over first from which an axis is


def bands(ensemble: "Ensemble", name: str, ax: "Axes | None" = None) -> "Axes":
    """The mean with its .1 and .9 quantiles, over time; an observable without time over the first axis of the grid.

    Other axes of the grid make a line each, at most six of them.
    """
    across, lines = _axes(ensemble, name)
    ax = axes_or_new(ax, WIDE)
    look = tidy(ax)
    mean, spread = ensemble.mean(name), ensemble.quantiles(name, (0.1, 0.9))
    for i, (words, where) in enumerate(lines):
        colour = look.ink if len(lines) == 1 else CLUSTERS[i]
        _line(ax, mean.isel(where), spread.isel(where), across, words or "mean", colour, markers=across != "time")
    at = ensemble.data[across]
    _scales(ax, at, mean)
    failed = int(mean.attrs["runs_not_done"])
    about = "mean, band from the .1 to the .9 quantile" + (f"; {failed} of {mean.attrs['runs']} runs not done, left out" if failed else "")
    ax.set(xlabel=str(at.attrs.get("long_name", across)).split(",")[0], ylabel=name.replace("_", " "))
    legend_above(ax, about)
    return ax


def _axes(ensemble: "Ensemble", name: str) -> tuple[str, list[tuple[str, dict[str, int]]]]:
    """What runs from left to right, and the lines: a label and a place on the other axes of the grid."""
    values = ensemble.data[name]
    grid = list(ensemble.study["grid"])
    if extra := [one for one in values.dims if one not in (*grid, "run", "time")]:
        raise InputError(f"{name} has the axis {extra[0]}, for which there is no picture here. Draw ensemble.data[{name!r}] yourself.")
    if "time" not in values.dims and not grid:
        raise InputError(f"{name} is one number per run, without time or grid: nothing runs from left to right. Look at ensemble.mean({name!r}).")
    across = "time" if "time" in values.dims else "beta" if "beta" in grid else grid[0]
    others = [one for one in grid if one != across]
    shape = tuple(values.sizes[one] for one in others)
    every = [dict(zip(others, map(int, np.unravel_index(i, shape)), strict=True)) for i in range(int(np.prod(shape)))] if others else [{}]
    if len(every) > MOST_LINES:
        every = [every[int(i)] for i in np.linspace(0, len(every) - 1, MOST_LINES).round()]
    return across, [(", ".join(_value(ensemble.data[axis], at) for axis, at in where.items()), where) for where in every]


def _scales(ax: "Axes", at: "DataArray", mean: "DataArray") -> None:
    """Powers of ten where the values are spread over several; labels and whole numbers as they are."""
    x, y = at.values, mean.values
    if "labels" in at.attrs:
        ax.set_xticks(x, [str(one) for one in at.attrs["labels"]], rotation=20, ha="right")
    elif at.dtype.kind == "i":
        ax.set_xticks(x)
    elif len(x) > 2 and x[-1] - x[-2] > UNEVEN * (x[1] - x[0]) and x[1] > 0:
        ax.set_xscale("log")
        ax.set_xlim(x[x > 0].min(), x.max())
    if at.name != "time" and np.nanmin(y) > 0 and np.nanmax(y) > SPREAD * np.nanmin(y):
        ax.set_yscale("log")


def _value(axis: "DataArray", at: int) -> str:
    return str(axis.attrs["labels"][at]) if "labels" in axis.attrs else f"{axis.name} = {axis.values[at]:g}"


def _line(ax: "Axes", mean: "DataArray", spread: "DataArray", across: str, words: str, colour: Any, markers: bool) -> None:
    x = mean[across].values
    ax.fill_between(x, spread.values[0], spread.values[-1], color=colour, alpha=0.18, linewidth=0)
    ax.plot(x, mean.values, color=colour, linewidth=1.6, label=words or None, marker="o" if markers else None, markersize=4)


def picture(ensemble: "Ensemble", path: Path, names: Sequence[str] = ()) -> None:
    """Write the bands of the observables named, or of all that can be drawn, one below the other."""
    from matplotlib.figure import Figure

    for name in names:
        _axes(ensemble, one_of("--show", name, ensemble.observables))
    shown = list(names) or [name for name in ensemble.observables if _drawable(ensemble, name)]
    if not shown:
        raise InputError("No observable of this study can be drawn: each is one number per run, or has axes of its own.")
    figure = Figure(figsize=(6.4, 0.6 + 2.7 * len(shown)), layout="constrained")
    figure.suptitle(str(ensemble.study["title"]), fontsize=11)
    for i, name in enumerate(shown):
        bands(ensemble, name, figure.add_subplot(len(shown), 1, i + 1))
    save_figure(figure, path)


def _drawable(ensemble: "Ensemble", name: str) -> bool:
    try:
        _axes(ensemble, name)
    except InputError:
        return False
    return True
