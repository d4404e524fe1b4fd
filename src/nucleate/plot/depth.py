"""Numbers over the layers of a real model: one line per text or control, with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, real_array
from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, WIDE_INCHES, axes_or_new, legend_above, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DepthLine", "depth_lines", "layer_axis"]


@dataclass(frozen=True, eq=False)
class DepthLine:
    """A number at some layers, and the interval in which its mean may lie."""

    layers: Array  # (m,)
    mean: Array  # (m,)
    low: Array | None = None  # (m,)
    high: Array | None = None  # (m,)

    def __post_init__(self) -> None:
        m = len(finite_array("layers", self.layers))
        for name in ("mean", "low", "high"):
            value = getattr(self, name)
            if value is not None and real_array(name, value).shape != (m,):
                raise InputError(
                    f"{name} must have a number for each of {m} layers, but has {np.shape(value)}."
                )


def depth_lines(
    lines: Mapping[str, DepthLine],
    ax: "Axes | None" = None,
    *,
    ylabel: str = "",
    chance: float | None = None,
    first_black: bool = True,
    columns: int = 3,
) -> "Axes":
    """One line per name, the first black and solid, the others in colours and dashed in turn; intervals as
    bands with lines at their edges; `chance` as a dotted line."""
    if not lines:
        raise InputError("There is no line to draw. Give a DepthLine for each name.")
    ax = axes_or_new(ax, WIDE_INCHES)
    palette = tidy(ax)
    dashes: Sequence[Any] = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))
    for i, (name, line) in enumerate(lines.items()):
        black = i == 0 and first_black
        colour: Any = palette.ink if black else CLUSTER_COLOURS[(i - first_black) % len(CLUSTER_COLOURS)]
        style: Any = "-" if black else dashes[i % len(dashes)]
        x = np.asarray(line.layers, dtype=np.float64)  # (m,)
        if line.low is not None and line.high is not None:
            ax.fill_between(x, line.low, line.high, color=colour, alpha=0.15, linewidth=0.0)
        ax.plot(
            x,
            line.mean,
            color=colour,
            linestyle=style,
            linewidth=1.8 if black else 1.3,
            label=name,
            marker="o" if len(x) < 16 else "",
            markersize=3.0,
        )
    if chance is not None:
        ax.axhline(chance, color=palette.grey(0.6), linewidth=0.9, linestyle=":")
    layer_axis(ax)
    ax.set_ylabel(ylabel)
    legend_above(ax, columns=columns)
    return ax


def layer_axis(ax: "Axes") -> None:
    """Whole numbers of layers; 0 is the embedding."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("after block (0: embedding)", fontsize=SMALL_POINTS + 1)


def line_of(layers: ArrayLike, mean: ArrayLike) -> DepthLine:
    """A line without an interval."""
    return DepthLine(finite_array("layers", layers), real_array("mean", mean))
