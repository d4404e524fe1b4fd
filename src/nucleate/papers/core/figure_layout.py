"""Figures whose panels keep their distance."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["sheet"]


def sheet(
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
