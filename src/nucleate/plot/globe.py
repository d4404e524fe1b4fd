"""The globe, and lines on it, faint on its far side.  It loads matplotlib, so import it only to draw."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from nucleate.checks import Array
from nucleate.plot.styles import SMALL_POINTS, Palette

FAR_SIDE_OPACITY = 0.25  # of lines, relative to the near side


class LinesOnGlobe(Line3DCollection):  # type: ignore[misc]  # mpl_toolkits has no types
    """Lines on the unit sphere, of which the drawn part depends on the direction of view."""

    _segments3d: Any

    def visible(self, away: Array) -> list[Array]:
        """The lines to draw if `away` (3,) points from the eye to the center of the globe."""
        raise NotImplementedError

    def do_3d_projection(self) -> float:
        """As matplotlib does it, but with only the visible lines; all are put back afterwards."""
        whole = self._segments3d
        M = np.asarray(self.axes.M)  # (4, 4) projects onto the screen: the depth of p is (M p)_z / (M p)_w
        # (3,) the gradient of depth at the center, up to a positive factor
        away = M[2, :3] * M[3, 3] - M[3, :3] * M[2, 3]
        try:
            self._segments3d = self.visible(away / np.linalg.norm(away))
            super().do_3d_projection()
        finally:
            self._segments3d = whole
        return 0.0  # a depth matplotlib would sort by; the order of drawing is fixed by zorder


class HemisphereLines(LinesOnGlobe):
    """The near or the far half of some lines."""

    def __init__(self, lines: Sequence[Array], near: bool, **style: Any) -> None:
        self.near = near
        super().__init__(lines, **style)

    def visible(self, away: Array) -> list[Array]:
        """The lines, NaN on the other half; pieces that cross the edge belong to both."""
        return [self._half(line, line @ away) for line in map(np.asarray, self._segments3d)]

    def _half(self, line: Array, depth: Array) -> Array:
        mine = depth <= 0.0 if self.near else depth >= 0.0  # (k,)
        beside = mine.copy()
        beside[1:] |= mine[:-1]
        beside[:-1] |= mine[1:]
        return np.where(beside[:, None], line, np.nan)  # (k, 3)


class Outline(LinesOnGlobe):
    """The outline of the globe: the great circle perpendicular to the line of sight."""

    def visible(self, away: Array) -> list[Array]:
        """One circle."""
        _, _, across = np.linalg.svd(away[None])  # rows 1 and 2 are orthogonal to `away`
        around = np.linspace(0.0, 2.0 * np.pi, 181)[:, None]  # (k, 1)
        return [np.cos(around) * across[1] + np.sin(around) * across[2]]


def draw_lines(ax: Any, lines: Sequence[Array], colours: Array, zorder: float, **style: Any) -> None:
    """Lines (k, 3) on the globe, strong on the near side and faint on the far side."""
    for near in (False, True):
        rgba = np.broadcast_to(colours, (max(len(lines), 1), 4)).copy()
        rgba[:, 3] *= 1.0 if near else FAR_SIDE_OPACITY
        ax.add_collection3d(
            HemisphereLines(lines, near, colors=rgba, zorder=zorder + 2.0 * near, **style), autolim=False
        )


def draw_globe(ax: Any, palette: Palette) -> None:
    """Circles of latitude and longitude, and the outline of the globe."""
    around, up = np.linspace(0.0, 2.0 * np.pi, 121), np.linspace(-np.pi / 2, np.pi / 2, 61)
    parallels = [
        np.stack([np.cos(v) * np.cos(around), np.cos(v) * np.sin(around), np.full(121, np.sin(v))], 1)
        for v in np.arange(-2, 3) * np.pi / 6
    ]
    meridians = [
        np.stack([np.cos(up) * np.cos(u), np.cos(up) * np.sin(u), np.sin(up)], 1)
        for u in np.arange(12) * np.pi / 6
    ]
    draw_lines(ax, [*parallels, *meridians], np.array([*palette.grey(0.3), 1.0]), zorder=1.0, linewidths=0.4)
    ax.add_collection3d(
        Outline([np.zeros((2, 3))], colors=[palette.grey(0.35)], linewidths=0.8, zorder=1.0), autolim=False
    )


def fit_globe(ax: Any, palette: Palette, names: list[str]) -> None:
    """Fit the axes to the unit sphere, hide them, and write the names of the directions in a corner."""
    ax.computed_zorder = False
    ax.set_proj_type("ortho")  # so that the outline of the globe is a great circle
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.55)
    ax.set_axis_off()
    if names:
        ax.text2D(
            0.02,
            0.02,
            "\n".join(names),
            transform=ax.transAxes,
            fontsize=SMALL_POINTS - 1,
            color=palette.grey(0.7),
        )
