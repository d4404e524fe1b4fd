"""What numbers and picture rest on: mutually nearest pairs, single linkage, leaders and who is at one."""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

__all__ = ["at_leader", "linkage_heights", "mutual_pairs", "rank_correlation", "square"]


def square(values: Array, n: int, diagonal: float = 0.0) -> Array:
    """Values of pairs (..., pairs) as symmetric matrices (..., n, n)."""
    i, j = np.triu_indices(n, 1)
    full = np.full((*values.shape[:-1], n, n), diagonal)
    full[..., i, j] = full[..., j, i] = values
    return full


def mutual_pairs(angle: Array, n: int) -> NDArray[np.bool_]:
    """Which pairs are nearest to each other, from their angles (runs, pairs), (runs, pairs)."""
    nearest = square(angle, n, np.inf).argmin(-1)  # (runs, n)
    i, j = np.triu_indices(n, 1)
    return np.asarray((nearest[:, i] == j) & (nearest[:, j] == i))


def linkage_heights(angle: Array) -> Array:
    """The angle at which single linkage joins every pair, from those of one run (pairs,)."""
    from scipy.cluster.hierarchy import cophenet, linkage

    return np.asarray(cophenet(linkage(angle, "single")))


def rank_correlation(a: Array, b: Array) -> float:
    """Kendall's tau of two lists of the same length; 0 where one of them is constant."""
    from scipy.stats import kendalltau

    if len(np.unique(a)) < 2 or len(np.unique(b)) < 2:
        return 0.0
    return float(kendalltau(a, b).statistic)


def at_leader(end: Array, place: Array, leader: NDArray[np.bool_]) -> Array:
    """The distance of every token from the nearest place of a leader, end and place (runs, n, d), leader
    (runs, n)."""
    apart = np.linalg.norm(end[:, :, None] - place[:, None], axis=-1)  # (runs, n, n)
    return np.where(leader[:, None, :], apart, np.inf).min(-1)
