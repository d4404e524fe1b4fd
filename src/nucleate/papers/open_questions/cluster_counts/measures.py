"""The number of clusters over ln t / beta, and how far two such curves are apart."""

import numpy as np

from nucleate.checks import Array

__all__ = [
    "FROM",
    "GRID",
    "TO",
    "counts",
    "distances",
    "levels",
    "limit_counts",
    "plateaus",
    "ratio_values",
    "relative_plateaus",
    "scaled_counts",
]

GRID = np.linspace(0.02, 1.98, 99)  # (99,) of ln t / beta
FROM, TO = 0.1, 1.9  # between which curves are compared


def counts(loss: Array, beta: float) -> Array:
    """Clusters left at every ln t / beta of GRID; loss (starts, rank) has ln t of merges, NaN for none."""
    return np.asarray(1.0 + (loss[:, None] > beta * GRID[:, None]).sum(-1))  # (starts, 99)


def levels(angle: Array) -> Array:
    """ln t / beta = 1 - cos D."""
    return np.asarray(2.0 * np.sin(angle / 2.0) ** 2)


def limit_counts(angle: Array) -> Array:
    """The same for D_k of causal single linkage, (starts, rank) -> (starts, 99)."""
    return counts(levels(angle), 1.0)


def distances(one: Array, other: Array) -> Array:
    """The mean of |ln N - ln N'| over ln t / beta from FROM to TO, for every start: (starts, 99) twice ->
    (starts,)."""
    used = (GRID >= FROM) & (GRID <= TO)
    return np.asarray(np.abs(np.log(one[:, used]) - np.log(other[:, used])).mean(1))


def plateaus(level: Array, clusters: int) -> Array:
    """The length in ln t / beta for which so many clusters are left: levels (starts, rank), the last loss
    first -> (starts,)."""
    return np.asarray(level[:, clusters - 2] - level[:, clusters - 1])


def relative_plateaus(level: Array, clusters: range) -> Array:
    """Lengths of the plateaus with so many clusters, each over its mean of all starts: levels (starts, rank)
    -> (starts, len(clusters))."""
    length = np.stack([plateaus(level, one) for one in clusters], 1)
    return np.asarray(length / length.mean(0))


def scaled_counts(level: Array, d: int, angles: Array) -> Array:
    """N sigma, the mean over some angles theta at ln t / beta = 1 - cos theta, of every start, sigma the
    share of the sphere within theta: levels (starts, rank) -> (starts,)."""
    from nucleate.theory.counts import expected_centers

    share = [1.0 / expected_centers(float(one), d, strong=True) for one in angles]  # sigma
    left = [1.0 + (level > at).sum(1) for at in levels(angles)]  # (angles, starts)
    return np.asarray(np.mean([one * part for one, part in zip(left, share, strict=True)], axis=0))


def ratio_values(one: Array, other: Array) -> Array:
    """The mean of one over that of the other, of the same starts, linearised: values whose mean is that ratio
    and whose spread is its error, (starts,) twice -> (starts,)."""
    ratio = one.mean() / other.mean()
    return np.asarray(ratio + (one - ratio * other) / other.mean())
