"""Whether tokens have gathered: enough of them in compact components, pair by pair, compiled."""

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.compile import compiled

__all__ = ["are_gathered"]


@compiled
def are_gathered(x: Array, chord: float, share: float) -> bool:
    """Whether at least this share of tokens x (n, d) are in components, made by links no longer than `chord`,
    in which no two tokens are as far apart as that.

    In such a component everyone is near everyone: each has as many near it as there are others.  Scattered
    tokens make one large component, of which the first few tens tell: no more are looked at than the answer
    needs.
    """
    n, d = x.shape
    found, component = np.zeros(n, np.bool_), np.empty(n, np.int64)
    spread = 0  # tokens in components that are not compact
    for first in range(n):
        if found[first]:
            continue
        found[first] = True
        component[0], size, at, fewest_near = first, 1, 0, n
        while at < size:  # component[:at] have been asked for their neighbours
            k, near = component[at], 0
            for j in range(n):
                square = 0.0
                for c in range(d):
                    square += (x[k, c] - x[j, c]) ** 2
                if square < chord * chord:
                    near += 1  # itself, too
                if square <= chord * chord and not found[j]:
                    found[j] = True
                    component[size] = j
                    size += 1
            fewest_near = min(fewest_near, near)
            at += 1
            if fewest_near < size and (n - spread - size) / n < share:
                return False
        if fewest_near < size:
            spread += size
    return (n - spread) / n >= share
