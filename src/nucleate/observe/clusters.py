"""Clusters: connected components of the graph that joins two tokens no farther apart than a radius (geodesic
distance)."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_number

if TYPE_CHECKING:
    from nucleate.kernels.threads import Stop

__all__ = ["clusters", "compact", "count_clusters"]

Labels = NDArray[np.int64]

ROWS_AT_ONCE = 64  # of a table of distances


def clusters(x: ArrayLike, radius: float) -> Labels:
    """The cluster of every token: x (..., n, d) -> numbers (..., n), 0 for the cluster of the first token, 1
    for that of the first token outside it, and so on.

    A chain of tokens, each within `radius` of the next, is one cluster.  Leading axes, such as (run, time),
    are gone through one by one.  O(n log n) on the circle, and about that on spheres, whether the tokens are
    gathered or spread out; in dozens of dimensions with a radius above the spread of single coordinates,
    d^(-1/2), no way is known that does not measure most pairs.
    """
    x = check_tokens("x", x)
    radius = check_radius(radius)
    if x.shape[-1] == 2:
        return _in_order(_on_circle(x, radius))
    reach = 2.0 * np.sin(radius / 2.0)
    from nucleate.kernels.threads import interruptible_if_long

    raw = interruptible_if_long(
        partial(_on_spheres, x.reshape(-1, *x.shape[-2:]), reach), float(x.shape[-2]) * x.size
    )
    return _in_order(np.reshape(raw, x.shape[:-1]))


def count_clusters(x: ArrayLike, radius: float) -> Labels:
    """How many clusters there are: tokens x (..., n, d) -> counts (...); see `clusters`."""
    x = check_tokens("x", x)
    if x.shape[-1] > 2:
        return np.asarray(clusters(x, radius).max(-1) + 1)
    # (..., n); as many clusters as gaps, and one if there is no gap
    ordered = np.sort(np.arctan2(x[..., 1], x[..., 0]), axis=-1)
    return np.asarray(np.maximum(_gaps(ordered, check_radius(radius)).sum(-1), 1))


def check_radius(radius: float) -> float:
    """`radius`, if it is a distance that two tokens can have."""
    radius = finite_number(
        "radius", radius, above=0.0, help="It is a geodesic distance, such as 0.1 / sqrt(beta)."
    )
    if radius > np.pi:
        raise InputError(
            f"radius must be at most pi, but is {radius}. No two points of a sphere are farther apart"
            " than pi."
        )
    return radius


def compact(x: Array, label: Labels, width: float) -> NDArray[np.bool_]:
    """For every cluster of tokens x (n, d), labels (n,) as from `clusters`, whether its diameter is below
    `width`; (clusters,)."""
    width = 2.0 * np.sin(width / 2.0)  # chords are cheaper
    first = np.unique(label, return_index=True)[1]  # (clusters,)
    reach = np.linalg.norm(x - x[first[label]], axis=-1)  # (n,) from the first member
    farthest = np.zeros(len(first))  # (clusters,) the diameter is at most twice that
    np.maximum.at(farthest, label, reach)
    small = 2.0 * farthest < width
    for c in np.flatnonzero(~small & (farthest < width)):
        small[c] = _narrow(x[label == c], width)
    return small


def _narrow(x: Array, width: float) -> bool:
    """Whether all tokens x (n, d) have chords below `width`.  Two that are far apart, and how far all are
    from the middle between them, nearly always tell: all pairs would take as long as n^2."""
    one = x[_lengths(x - x[0]).argmax()]  # (d,)
    from_one = _lengths(x - one)  # (n,)
    if from_one.max() >= width:
        return False
    reach = _lengths(x - (one + x[from_one.argmax()]) / 2.0)  # (n,) from the middle
    if 2.0 * reach.max() < width:
        return True
    outer = x[reach >= width - reach.max()]  # (some, d): two that are `width` apart are both among them
    return all(
        _lengths(outer[i : i + ROWS_AT_ONCE, None] - outer[None]).max() < width
        for i in range(0, len(outer), ROWS_AT_ONCE)
    )


def _lengths(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1))


def _in_order(raw: Labels) -> Labels:
    """Labels (..., n) renamed in the order of their first members; a raw label is any number below n."""
    n = raw.shape[-1]
    flat = raw.reshape(-1, n)  # (frames, n)
    frame = np.arange(len(flat))[:, None]  # (frames, 1)
    first = np.full(flat.shape, n)  # (frames, n) by raw label
    np.minimum.at(first, (frame, flat), np.arange(n))
    rank = np.argsort(np.argsort(first, axis=-1, kind="stable"), axis=-1)  # (frames, n)
    return np.asarray(rank[frame, flat].reshape(raw.shape), dtype=np.int64)


def _on_circle(x: Array, radius: float) -> Labels:
    """Tokens (..., n, 2) in the order of their angles; a gap wider than the radius parts two clusters."""
    angle = np.arctan2(x[..., 1], x[..., 0])  # (..., n)
    order = np.argsort(angle, axis=-1)
    ordered = np.take_along_axis(angle, order, axis=-1)  # (..., n)
    gap = _gaps(ordered, radius)  # (..., n)
    place: Labels = np.cumsum(gap, axis=-1) - gap  # (..., n) gaps before each token
    closed = ~gap[..., -1:] & (place == place[..., -1:])  # (..., n) the last cluster goes on as the first
    label = np.empty(x.shape[:-1], dtype=np.int64)
    np.put_along_axis(label, order, np.where(closed, 0, place), axis=-1)
    return label


def _gaps(ordered: Array, radius: float) -> NDArray[np.bool_]:
    """Whether the gap after each of the increasing angles (..., n) is wider than the radius; the last one
    closes the circle."""
    return np.asarray(np.diff(ordered, append=ordered[..., :1] + 2.0 * np.pi) > radius)


def _on_spheres(runs: Array, reach: float, stop: "Stop") -> list[Labels]:
    """Runs (b, n, d), (n,) each; those that it gets to before stop[0] is set."""
    return [_on_sphere(x, reach, stop) for x in runs if not stop[0]]


def _on_sphere(x: Array, reach: float, stop: "Stop") -> Labels:
    """Tokens (n, d) with chords of at most `reach` joined; (n,).

    The tokens park with that reach, so each center and those it kept from parking hang together; then it is
    enough to find which of these groups touch.  A list of all pairs would be n^2 long once the tokens have
    gathered.
    """
    from nucleate.observe.grid import link, make_grid, park, spread

    n, near = len(x), reach**2
    owner, kind, none = (
        np.full(n, -1, dtype=np.int64),
        np.zeros(n, dtype=np.uint8),
        np.empty(n, dtype=np.int64),
    )
    # no room for doubt between the two
    park(x, make_grid(x, reach), np.nextafter(near, np.inf), near, False, 0, owner, kind, none, stop)
    if stop[0]:
        return owner
    centers = np.flatnonzero(kind)  # (groups,)
    group = np.argsort(owner, kind="stable").astype(np.int64)  # (n,) by group, the center of each first
    first = np.append(np.searchsorted(owner[group], centers), n).astype(np.int64)  # (groups + 1,)
    far = spread(x, owner)[centers]  # (groups,)
    grid = make_grid(x[centers], reach + 2.0 * float(far.max()))
    component = link(x, group, first, far, grid, reach, stop)  # (groups,)
    return np.asarray(component[np.searchsorted(centers, owner)], dtype=np.int64)
