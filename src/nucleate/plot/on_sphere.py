"""Pictures of tokens on spheres, d >= 3."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.plot.style import BALL, SMALL, axes_or_new, look
from nucleate.plot.tokens import check_colour, chosen, final_clusters, frames, tell_left_out, token_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FINE = 0.05  # radians between the points of a drawn arc: a chord that long is invisibly below the sphere
REST = 0.01  # radians: frames nearer than this along the way are one to the eye
FAR = np.pi / 4  # radians between two frames beyond which nobody can say how the token went


def trajectories(
    run: Run, ax: "Axes | None" = None, *, which: int = 0, colour: str = "token", radius: float | None = None
) -> "Axes":
    """d >= 3: the way of every token on the sphere, start as a small dot, end in red; d > 3 through the three
    main directions.

    Frames are joined by great circles, dotted where two frames are more than 45° apart: then the true way may
    be another.
    colour, radius   as for `angles`
    """
    t, x = frames(run, which)  # (m,), (m, n, d)
    if x.shape[-1] < 3:
        raise InputError("trajectories need dimension 3 or more, but this run has 2. Use angles(run).")
    n = x.shape[1]
    label = final_clusters(run, which, x[-1], radius) if check_colour(colour) == "cluster" else None
    ax3: Any = axes_or_new(ax, BALL, projection="3d")
    from nucleate.plot.globe import draw_lines, globe, show_ball

    here, tokens = look(ax3), chosen(n, 0)
    basis, names = main_directions(x)  # (d, 3)
    colours = token_colours(here, n, label)
    ways = [(k, far, piece @ basis) for k in tokens for far, piece in arcs(x[:, k])] if len(t) > 1 else []
    globe(ax3, here)
    for dotted in (False, True):
        pieces = [(k, way) for k, far, way in ways if far == dotted]
        if pieces:
            owner = [k for k, way in pieces]
            draw_lines(
                ax3,
                [way for k, way in pieces],
                colours[owner],
                2.0,
                linewidths=1.0,
                linestyles=":" if dotted else "-",
            )
    if any(far for k, far, way in ways):
        ax3.text2D(
            0.98,
            0.02,
            "dotted: frames over 45° apart",
            transform=ax3.transAxes,
            ha="right",
            fontsize=SMALL - 1,
            color=here.grey(0.7),
        )
    ax3.scatter(*(x[0, tokens] @ basis).T, s=7, c=colours[tokens], linewidths=0, depthshade=False, zorder=5)
    ax3.scatter(
        *(x[-1, tokens] @ basis).T,
        s=26,
        color=here.red,
        edgecolors=here.paper,
        linewidths=0.5,
        depthshade=False,
        zorder=6,
    )
    tell_left_out(ax3, n, len(tokens))
    show_ball(ax3, here, names)
    return ax3


def arcs(x: Array) -> list[tuple[bool, Array]]:
    """The way of one token through its frames x (m, d) as pieces (far, points (k, d)) of great circles.

    Each far piece joins two frames more than FAR apart; nothing joins opposite points, for any great circle
    would do.
    """
    x = _without_rests(x)
    angle = _angle(x[:-1], x[1:])  # (m - 1,)
    parts = np.maximum(np.ceil(angle / FINE), 1).astype(np.int64)  # (m - 1,)
    frame = np.repeat(np.arange(len(parts)), parts)  # (many,) the frame before each point
    begin = np.cumsum(parts) - parts  # (m - 1,) the point at each frame
    s = (np.arange(len(frame)) - begin[frame]) / parts[frame]  # (many,) from 0 to 1 between frames
    points = np.concatenate([_slerp(x[frame], x[frame + 1], angle[frame], s), x[-1:]])  # (many + 1, d)
    pieces, i = [], 0
    while i < len(angle):
        far = bool(angle[i] > FAR)
        j = i + 1
        while not far and j < len(angle) and angle[j] <= FAR:
            j += 1
        stop = begin[j] if j < len(begin) else len(points) - 1
        if angle[i] < np.pi - 1e-6:
            pieces.append((far, points[begin[i] : stop + 1]))
        i = j
    return pieces


def main_directions(x: Array) -> tuple[Array, list[str]]:
    """The three directions (d, 3) that carry most of x (m, n, d), and their names; for d = 3 the axes
    themselves, without names."""
    if x.shape[-1] == 3:
        return np.eye(3), []
    rows = x.reshape(-1, x.shape[-1])  # (m n, d)
    values, directions = np.linalg.eigh(rows.T @ rows)  # increasing
    share = values[::-1][:3] / values.sum()
    return directions[:, ::-1][:, :3], [f"direction {i + 1} ({s:.0%})" for i, s in enumerate(share)]


def _angle(x: Array, y: Array) -> Array:
    """Geodesic distance of unit rows, (m, d) each, to (m,)."""
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1)))


def _slerp(x: Array, y: Array, angle: Array, s: Array) -> Array:
    """The point at the share s (k,) of the great circle from x (k, d) to y (k, d), which are `angle` (k,)
    apart."""
    # (k,) opposite points are left out later
    sine = np.where(np.abs(np.sin(angle)) > 1e-9, np.sin(angle), 1.0)
    # (k,)
    near, far = (
        np.where(s == 0, 1.0, np.sin((1 - s) * angle) / sine),
        np.where(s == 0, 0.0, np.sin(s * angle) / sine),
    )
    return near[:, None] * x + far[:, None] * y


def _without_rests(x: Array) -> Array:
    """x (m, d) without the frames that come less than REST of way after one that is kept; both ends stay."""
    way = np.concatenate([[0.0], np.cumsum(_angle(x[:-1], x[1:]))])  # (m,)
    keep: NDArray[np.bool_] = np.diff(np.floor(way / REST), prepend=-1.0) > 0  # (m,)
    keep[-1] = True
    return x[keep]
