"""Clusters: connected components of the graph that joins two tokens no farther apart than a radius (geodesic distance)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_number
from nucleate.sphere import distance

__all__ = ["clusters", "compact"]

Labels = NDArray[np.int64]


def clusters(x: ArrayLike, radius: float) -> Labels:
    """The cluster of every token x (n, d), (n,): 0 for that of the first token, 1 for that of the first token outside it, and so on.

    The count is labels.max() + 1.  A chain of tokens, each within `radius` of the next, is one cluster.  O(n log n) on the circle.
    """
    x = check_tokens("x", x)
    if x.ndim != 2:
        raise InputError(f"x must have shape (n, d), but has shape {x.shape}. Pass the tokens of one run at one time.")
    radius = check_radius(radius)
    raw = _on_circle(x, radius) if x.shape[1] == 2 else _on_sphere(x, 2.0 * np.sin(radius / 2.0))  # (n,)
    return _in_order(raw)


def check_radius(radius: float) -> float:
    """`radius`, if it is a distance that two tokens can have."""
    radius = finite_number("radius", radius, above=0.0, help="It is a geodesic distance, such as 0.1 / sqrt(beta).")
    if radius > np.pi:
        raise InputError(f"radius must be at most pi, but is {radius}. No two points of a sphere are farther apart than pi.")
    return radius


def compact(x: Array, label: Labels, width: float) -> NDArray[np.bool_]:
    """For every cluster of tokens x (n, d) whether its diameter is below `width`; (clusters,)."""
    first = np.unique(label, return_index=True)[1]  # (clusters,)
    reach = np.zeros(len(first))  # (clusters,) from the first member to the farthest; the diameter is at most twice that
    np.maximum.at(reach, label, distance(x, x[first[label]]))
    small = 2.0 * reach < width
    for c in np.flatnonzero(~small & (reach < width)):
        members = x[label == c]  # (members, d)
        small[c] = all((distance(members, token) < width).all() for token in members)
    return small


def _in_order(raw: Labels) -> Labels:
    """Labels renamed in the order of their first members."""
    _, first, which = np.unique(raw, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which.reshape(-1)]


def _on_circle(x: Array, radius: float) -> Labels:
    """Tokens sorted by angle; a gap wider than the radius parts two clusters."""
    angle = np.arctan2(x[:, 1], x[:, 0])  # (n,)
    order = np.argsort(angle)
    sorted_angle = angle[order]
    gap = np.diff(sorted_angle, append=sorted_angle[0] + 2.0 * np.pi) > radius  # (n,) after each token; the last one closes the circle
    place = np.concatenate([[0], np.cumsum(gap[:-1])])  # (n,)
    if not gap[-1]:
        place[place == place[-1]] = 0
    label = np.empty(len(x), dtype=np.int64)
    label[order] = place
    return label


def _on_sphere(x: Array, chord: float) -> Labels:
    """Tokens of one cell, a cube with diagonal `chord`, belong together; then cells that hold tokens within reach of each other do.

    A tree over all tokens would list n^2 pairs once they have gathered; one over the cells does not.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    side = chord / np.sqrt(x.shape[1]) * (1.0 - 1e-9)  # rounding must not put two tokens into one cell that are too far apart
    _, first, cell = np.unique(np.floor(x / side), axis=0, return_index=True, return_inverse=True)
    cell = cell.reshape(-1)  # (n,)
    count, m = np.bincount(cell), len(first)

    def joined(pairs: NDArray[np.int64]) -> Labels:
        graph = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(m, m))
        return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)

    tree = cKDTree(x[first])  # one token of every cell
    close = tree.query_pairs(chord, output_type="ndarray").astype(np.int64)  # (pairs, 2)
    near = tree.query_pairs(3.0 * chord, output_type="ndarray").astype(np.int64) if (count > 1).any() else close[:0]
    near = near[(count[near] > 1).any(1)]  # pairs of cells that other tokens than their first may join
    group = joined(close)  # (m,)
    for a, b in near[np.argsort(np.linalg.norm(x[first[near[:, 0]]] - x[first[near[:, 1]]], axis=1))]:
        if group[a] != group[b]:
            here, there = sorted((np.flatnonzero(cell == a), np.flatnonzero(cell == b)), key=len)
            apart, _ = cKDTree(x[there]).query(x[here], distance_upper_bound=np.nextafter(chord, np.inf))
            if np.min(apart) <= chord:
                group[group == group[b]] = group[a]
    return group[cell]
