"""Orders in which points on a line are put together, two clusters at a time."""

from collections.abc import Callable

import numpy as np

from nucleate.checks import Array

__all__ = ["Merge", "centroid_linkage", "centroid_margins", "single_linkage"]

Merge = frozenset[frozenset[int]]  # the two sets of points that are put together
Cluster = tuple[int, ...]


def centroid_linkage(phi: Array) -> list[Merge]:
    """Next are always the two clusters whose centres of mass are nearest; points phi (n,)."""
    return _linkage(len(phi), lambda one, other: abs(phi[list(one)].mean() - phi[list(other)].mean()))


def centroid_margins(phi: Array) -> Array:
    """How much larger the cosine of the nearest two centres is than that of the next two, before every merge
    of centroid linkage but the last, (n - 2,)."""
    place, mass, found = np.sort(phi), np.ones(len(phi)), []
    while len(place) > 2:
        gaps = np.diff(place)
        i, next_one = gaps.argmin(), np.sort(gaps)[1]
        found.append(np.cos(gaps[i]) - np.cos(next_one))
        together = mass[i] + mass[i + 1]
        place[i] = (mass[i] * place[i] + mass[i + 1] * place[i + 1]) / together
        mass[i] = together
        place, mass = np.delete(place, i + 1), np.delete(mass, i + 1)
    return np.array(found)


def single_linkage(phi: Array) -> list[Merge]:
    """Next are always the two clusters of which two points are nearest; points phi (n,)."""
    return _linkage(len(phi), lambda one, other: np.abs(phi[list(one), None] - phi[list(other)]).min())


def _linkage(n: int, distance: Callable[[Cluster, Cluster], float]) -> list[Merge]:
    clusters: list[Cluster] = [(i,) for i in range(n)]
    found = []
    while len(clusters) > 1:
        pairs = [(one, other) for i, one in enumerate(clusters) for other in clusters[:i]]
        one, other = min(pairs, key=lambda pair: distance(*pair))
        found.append(frozenset([frozenset(one), frozenset(other)]))
        clusters = [left for left in clusters if left not in (one, other)] + [(*one, *other)]
    return found
