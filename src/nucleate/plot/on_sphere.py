"""Pictures of tokens on spheres, d >= 3."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.plot.styles import GLOBE_INCHES, SMALL_POINTS, axes_or_new, palette_of
from nucleate.plot.tokens import (
    check_colour,
    final_clusters,
    frames,
    title_if_thinned,
    token_colours,
    tokens_to_draw,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# between the points of a drawn arc: a chord that long cannot be told from the arc
ARC_STEP_RADIANS = 0.05
SAME_PLACE_RADIANS = 0.01  # along a path: frames nearer than this look the same
FAR_APART_RADIANS = np.pi / 4  # between two frames: the path in between is then unknown, and dotted


def trajectories(
    run: Run, ax: "Axes | None" = None, *, which: int = 0, colour: str = "token", radius: float | None = None
) -> "Axes":
    """d >= 3: the path of every token on the sphere, start as a small dot, end in red; d > 3 in the three
    principal directions.

    Frames are joined by great circles, dotted where two frames are more than 45° apart: then the true path
    may be another.
    colour, radius   as for `angles`
    """
    t, x = frames(run, which)  # (m,), (m, n, d)
    if x.shape[-1] < 3:
        raise InputError("trajectories need dimension 3 or more, but this run has 2. Use angles(run).")
    n = x.shape[1]
    label = final_clusters(run, which, x[-1], radius) if check_colour(colour) == "cluster" else None
    ax3: Any = axes_or_new(ax, GLOBE_INCHES, projection="3d")
    from nucleate.plot.globe import draw_globe, draw_lines, fit_globe

    palette, tokens = palette_of(ax3), tokens_to_draw(n, 0)
    basis, names = principal_directions(x)  # (d, 3)
    colours = token_colours(palette, n, label)
    paths = [(k, far, piece @ basis) for k in tokens for far, piece in arcs(x[:, k])] if len(t) > 1 else []
    draw_globe(ax3, palette)
    for dotted in (False, True):
        pieces = [(k, path) for k, far, path in paths if far == dotted]
        if pieces:
            owner = [k for k, path in pieces]
            draw_lines(
                ax3,
                [path for k, path in pieces],
                colours[owner],
                2.0,
                linewidths=1.0,
                linestyles=":" if dotted else "-",
            )
    if any(far for k, far, path in paths):
        ax3.text2D(
            0.98,
            0.02,
            "dotted: frames over 45° apart",
            transform=ax3.transAxes,
            ha="right",
            fontsize=SMALL_POINTS - 1,
            color=palette.grey(0.7),
        )
    ax3.scatter(*(x[0, tokens] @ basis).T, s=7, c=colours[tokens], linewidths=0, depthshade=False, zorder=5)
    ax3.scatter(
        *(x[-1, tokens] @ basis).T,
        s=26,
        color=palette.red,
        edgecolors=palette.paper,
        linewidths=0.5,
        depthshade=False,
        zorder=6,
    )
    title_if_thinned(ax3, n, len(tokens))
    fit_globe(ax3, palette, names)
    return ax3


def arcs(x: Array) -> list[tuple[bool, Array]]:
    """The path of one token through its frames x (m, d) as pieces (far, points (k, d)) of great circles.

    Each far piece joins two frames more than FAR_APART_RADIANS apart. Opposite points are not joined: all
    great circles through one of them meet in the other.
    """
    x = _without_pauses(x)
    angle = _angle(x[:-1], x[1:])  # (m - 1,)
    parts = np.maximum(np.ceil(angle / ARC_STEP_RADIANS), 1).astype(np.int64)  # (m - 1,)
    frame = np.repeat(np.arange(len(parts)), parts)  # (many,) the frame before each point
    begin = np.cumsum(parts) - parts  # (m - 1,) the point at each frame
    s = (np.arange(len(frame)) - begin[frame]) / parts[frame]  # (many,) from 0 to 1 between frames
    points = np.concatenate([_slerp(x[frame], x[frame + 1], angle[frame], s), x[-1:]])  # (many + 1, d)
    pieces, i = [], 0
    while i < len(angle):
        far = bool(angle[i] > FAR_APART_RADIANS)
        j = i + 1
        while not far and j < len(angle) and angle[j] <= FAR_APART_RADIANS:
            j += 1
        stop = begin[j] if j < len(begin) else len(points) - 1
        if angle[i] < np.pi - 1e-6:
            pieces.append((far, points[begin[i] : stop + 1]))
        i = j
    return pieces


def principal_directions(x: Array) -> tuple[Array, list[str]]:
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


def _without_pauses(x: Array) -> Array:
    """x (m, d) without the frames less than SAME_PLACE_RADIANS along the path after a kept one; both ends
    stay."""
    travelled = np.concatenate([[0.0], np.cumsum(_angle(x[:-1], x[1:]))])  # (m,)
    keep: NDArray[np.bool_] = np.diff(np.floor(travelled / SAME_PLACE_RADIANS), prepend=-1.0) > 0  # (m,)
    keep[-1] = True
    return x[keep]
