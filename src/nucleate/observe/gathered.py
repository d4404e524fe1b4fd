"""How many tokens have gathered: the share of them in compact components, pair by pair, compiled."""

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.compile import compiled

__all__ = ["gathered_share"]


@compiled
def gathered_share(x: Array, chord: float) -> float:
    """The share of tokens x (n, d) whose component, made by links no longer than `chord`, has no two tokens
    as far apart as that.

    In such a component everyone is near everyone: each has as many near it as there are others.
    """
    n, d = x.shape
    near, parent, size = np.zeros(n, np.int64), np.arange(n), np.zeros(n, np.int64)
    for k in range(n):
        for j in range(k):
            square = 0.0
            for c in range(d):
                square += (x[k, c] - x[j, c]) ** 2
            if square < chord * chord:
                near[k] += 1
                near[j] += 1
            if square <= chord * chord:
                one, other = k, j
                while parent[one] != one:
                    one = parent[one]
                while parent[other] != other:
                    other = parent[other]
                parent[max(one, other)] = min(one, other)
                parent[k] = min(one, other)
    for k in range(n):  # a parent comes before its children
        parent[k] = parent[parent[k]]
        size[parent[k]] += 1
    whole = np.ones(n, np.bool_)
    for k in range(n):
        if near[k] != size[parent[k]] - 1:
            whole[parent[k]] = False
    gathered = 0
    for k in range(n):
        if whole[parent[k]]:
            gathered += 1
    return gathered / n
