"""Figures whose panels keep their distance, and axes that several pictures share."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["beta_axes", "spaced_figure"]


def spaced_figure(
    width: float,
    height: float,
    w_pad: float | None = 0.1,
    wspace: float | None = None,
    hspace: float | None = None,
) -> "Figure":
    """An empty figure, in inches, with the gaps of matplotlib's constrained layout; None is its default."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(
        figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=w_pad, wspace=wspace, hspace=hspace)
    )


def beta_axes(ax: Any, betas: list[float]) -> None:
    """Logarithmic axes with plain numbers: every β across, 1, 2, 5 and so on upwards."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    ax.set(xscale="log", yscale="log", xlabel="β")
    ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
    ax.yaxis.set_major_locator(LogLocator(10.0, [1.0, 2.0, 5.0]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.minorticks_off()
