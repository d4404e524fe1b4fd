"""Slow, obvious versions of fast routines, for more than one test."""

from nucleate.checks import Array
from nucleate.sphere import distance


def slow_clusters(x: Array, radius: float) -> list[int]:
    """Every pair, one by one; a root is the first member of its cluster."""
    root = list(range(len(x)))
    apart = distance(x[:, None], x[None])  # (n, n)

    def find(k: int) -> int:
        return k if root[k] == k else find(root[k])

    for k in range(len(x)):
        for j in range(k):
            if apart[j, k] <= radius:
                low, high = sorted((find(j), find(k)))
                root[high] = low
    roots = [find(k) for k in range(len(x))]
    return [sorted(set(roots)).index(k) for k in roots]
