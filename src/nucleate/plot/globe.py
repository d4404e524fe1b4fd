"""The globe, and lines on it that are faint behind it.  Imported only when something is drawn, for it loads
matplotlib."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from nucleate.checks import Array
from nucleate.plot.style import SMALL, Look

BEHIND = 0.25  # how much of their colour lines keep on the far side


class OnGlobe(Line3DCollection):  # type: ignore[misc]  # mpl_toolkits has no types
    """Lines on the unit sphere that depend on where the eye is."""

    _segments3d: Any

    def seen(self, away: Array) -> list[Array]:
        """The lines to draw if `away` (3,) points from the eye to the middle of the globe."""
        raise NotImplementedError

    def do_3d_projection(self) -> float:
        """As matplotlib does it, with the lines that are seen in place of all for the moment."""
        whole = self._segments3d
        M = np.asarray(self.axes.M)  # (4, 4) projects onto the screen: the depth of p is (M p)_z / (M p)_w
        # (3,) the gradient of depth at the middle, up to a positive factor
        away = M[2, :3] * M[3, 3] - M[3, :3] * M[2, 3]
        try:
            self._segments3d = self.seen(away / np.linalg.norm(away))
            super().do_3d_projection()
        finally:
            self._segments3d = whole
        return 0.0  # which lines cover which is fixed by their zorder


class Half(OnGlobe):
    """The near or the far half of some lines."""

    def __init__(self, lines: Sequence[Array], near: bool, **style: Any) -> None:
        self.near = near
        super().__init__(lines, **style)

    def seen(self, away: Array) -> list[Array]:
        """The lines, NaN on the other half; pieces that cross the edge belong to both."""
        return [self._half(line, line @ away) for line in map(np.asarray, self._segments3d)]

    def _half(self, line: Array, depth: Array) -> Array:
        mine = depth <= 0.0 if self.near else depth >= 0.0  # (k,)
        beside = mine.copy()
        beside[1:] |= mine[:-1]
        beside[:-1] |= mine[1:]
        return np.where(beside[:, None], line, np.nan)  # (k, 3)


class Edge(OnGlobe):
    """The edge of the globe: the great circle across the line of sight."""

    def seen(self, away: Array) -> list[Array]:
        """One circle."""
        _, _, across = np.linalg.svd(away[None])  # rows 1 and 2 are orthogonal to `away`
        around = np.linspace(0.0, 2.0 * np.pi, 181)[:, None]  # (k, 1)
        return [np.cos(around) * across[1] + np.sin(around) * across[2]]


def draw_lines(ax: Any, lines: Sequence[Array], colours: Array, zorder: float, **style: Any) -> None:
    """Lines (k, 3) on the globe, strong in front and faint behind."""
    for near in (False, True):
        rgba = np.broadcast_to(colours, (max(len(lines), 1), 4)).copy()
        rgba[:, 3] *= 1.0 if near else BEHIND
        ax.add_collection3d(
            Half(lines, near, colors=rgba, zorder=zorder + 2.0 * near, **style), autolim=False
        )


def globe(ax: Any, here: Look) -> None:
    """Circles of latitude and longitude, and the edge of the globe."""
    around, up = np.linspace(0.0, 2.0 * np.pi, 121), np.linspace(-np.pi / 2, np.pi / 2, 61)
    level = [
        np.stack([np.cos(v) * np.cos(around), np.cos(v) * np.sin(around), np.full(121, np.sin(v))], 1)
        for v in np.arange(-2, 3) * np.pi / 6
    ]
    upright = [
        np.stack([np.cos(up) * np.cos(u), np.cos(up) * np.sin(u), np.sin(up)], 1)
        for u in np.arange(12) * np.pi / 6
    ]
    draw_lines(ax, [*level, *upright], np.array([*here.grey(0.3), 1.0]), zorder=1.0, linewidths=0.4)
    ax.add_collection3d(
        Edge([np.zeros((2, 3))], colors=[here.grey(0.35)], linewidths=0.8, zorder=1.0), autolim=False
    )


def show_ball(ax: Any, here: Look, names: list[str]) -> None:
    """Just the ball, as large as fits, and what its directions are."""
    ax.computed_zorder = False
    ax.set_proj_type("ortho")  # so that the edge of the globe is a great circle
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.55)
    ax.set_axis_off()
    if names:
        ax.text2D(
            0.02, 0.02, "\n".join(names), transform=ax.transAxes, fontsize=SMALL - 1, color=here.grey(0.7)
        )
