"""The phase diagram of a study: the mean of an observable over time and one axis of the grid, as colours."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError, finite_array, shortened, whole_number
from nucleate.parse.validate import a_table, one_of
from nucleate.plot.styles import SMALL_POINTS, WIDE_INCHES, as_written, axes_or_new, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from xarray import DataArray

    from nucleate.studies.result import Ensemble

__all__ = ["diagram_panels", "draw_panels", "panel_inches", "phase_diagram"]

MIN_VALUES = 8  # along an axis of the grid from which colours are easier to read than lines
MAX_PANELS = 32
PANEL_INCHES = (2.5, 1.9)


def phase_diagram(
    ensemble: "Ensemble",
    name: str,
    ax: "Axes | None" = None,
    *,
    over: str = "beta",
    where: Mapping[str, int] | None = None,
    limits: tuple[float, float] | None = None,
) -> "Axes":
    """The mean of an observable with time: time from left to right, the axis `over` of the grid upwards.

    where    which value of every other axis of the grid, by its number: {"norm": 1}; the first unless said
    limits   what the ends of the colours stand for; the least and the largest mean unless said
    """
    mean = _mean(ensemble, name, over)  # (..., over, time)
    others = [str(one) for one in mean.dims[:-2]]
    place = dict.fromkeys(others, 0)
    for axis, at in ({} if where is None else a_table("where", where)).items():
        number = whole_number("where", at, least=0, help="It counts the values of an axis of the grid.")
        if not number < mean.sizes[one_of("where", axis, others)]:
            raise InputError(f"{axis} has {mean.sizes[axis]} values, but where asks for number {number}.")
        place[axis] = number
    ends = _limits(mean) if limits is None else _two_ends(limits)
    ax = axes_or_new(ax, WIDE_INCHES)
    mesh = _panel(ax, mean.isel(place), ends)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    bar.set_label(as_written(str(mean.name).replace("_", " ")))  # the only one, where none is named
    return ax


def diagram_panels(ensemble: "Ensemble", name: str) -> tuple[str, int] | None:
    """The axis that a phase diagram of this observable would have upwards, and how many panels; None where
    lines tell more."""
    values, grid = ensemble.data[name], list(ensemble.study["grid"])
    long = [
        one for one in grid if "labels" not in ensemble.data[one].attrs and values.sizes[one] >= MIN_VALUES
    ]
    if "time" not in values.dims or not long or len(values.dims) > len(grid) + 2:
        return None
    over = "beta" if "beta" in long else long[-1]
    panels = math.prod(values.sizes[one] for one in grid if one != over)
    return (over, panels) if panels <= MAX_PANELS else None


def draw_panels(figure: "Figure | SubFigure", ensemble: "Ensemble", name: str, over: str) -> None:
    """A panel for every point on the other axes of the grid: the last of them from left to right."""
    mean = _mean(ensemble, name, over)
    others = [str(one) for one in mean.dims[:-2]]
    shape = [mean.sizes[one] for one in others]
    columns = shape[-1] if shape else 1
    limits = _limits(mean)
    axes = figure.subplots(math.prod(shape) // columns, columns, sharex=True, sharey=True, squeeze=False)
    for i, ax in enumerate(axes.flat):
        where = dict(zip(others, map(int, np.unravel_index(i, shape)), strict=True)) if others else {}
        mesh = _panel(ax, mean.isel(where), limits)
        words = ", ".join(_value(ensemble.data[axis], at) for axis, at in where.items())
        ax.set_title(as_written(words), fontsize=SMALL_POINTS)
        ax.label_outer()
    bar = figure.colorbar(mesh, ax=axes.ravel().tolist(), pad=0.015)
    bar.set_label(as_written(f"mean {name.replace('_', ' ')}"))
    bar.outline.set_visible(False)


def panel_inches(ensemble: "Ensemble", name: str, over: str) -> tuple[float, float]:
    """The size of a figure with all panels."""
    shape = _panel_shape(ensemble, name, over)
    columns = shape[-1] if shape else 1
    rows = math.prod(shape) // columns
    return max(6.4, 1.2 + PANEL_INCHES[0] * columns), 0.9 + max(PANEL_INCHES[1] * rows, 2.6)


def _panel_shape(ensemble: "Ensemble", name: str, over: str) -> Sequence[int]:
    values = ensemble.data[name]
    return [values.sizes[one] for one in ensemble.study["grid"] if one != over]


def _two_ends(limits: tuple[float, float]) -> tuple[float, float]:
    ends = finite_array("limits", limits)
    if ends.shape != (2,) or ends[0] >= ends[1]:
        raise InputError(f"limits must be two increasing numbers, but are {shortened(limits)}.")
    return float(ends[0]), float(ends[1])


def _mean(ensemble: "Ensemble", name: str, over: str) -> "DataArray":
    from nucleate.studies.result import Ensemble

    if not isinstance(ensemble, Ensemble):
        raise InputError(f"ensemble must be an Ensemble, but is {type(ensemble).__name__}. Call nc.ensemble.")
    mean = ensemble.mean(name)
    grid = list(ensemble.study["grid"])
    if "time" not in mean.dims or not isinstance(over, str) or over not in grid:
        raise InputError(
            f"A phase diagram needs an observable over time and the axis {shortened(over)} in the grid, but"
            f" {name} has the axes {', '.join(map(str, mean.dims)) or '(none)'}. Name another."
        )
    return mean.transpose(*(one for one in grid if one != over), over, "time")


def _limits(mean: "DataArray") -> tuple[float, float]:
    values = mean.values[np.isfinite(mean.values)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def _panel(ax: "Axes", mean: "DataArray", limits: tuple[float, float]) -> Any:
    over = str(mean.dims[0])
    tidy(ax)
    mesh = ax.pcolormesh(
        mean["time"].values,
        mean[over].values,
        mean.values,
        vmin=limits[0],
        vmax=limits[1],
        shading="nearest",
        rasterized=True,
    )
    ax.set(xlabel="time", ylabel="β" if over == "beta" else over.replace("_", " "))
    return mesh


def _value(axis: "DataArray", at: int) -> str:
    return f"{axis.name} = {axis.attrs['labels'][at] if 'labels' in axis.attrs else f'{axis.values[at]:g}'}"
