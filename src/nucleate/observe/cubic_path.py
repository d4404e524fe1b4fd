"""Where tokens were between two frames as near to each other as steps of the explicit solver: along cubics
that have their places and velocities at both.

How far a cubic strays the equation tells.  An error of h^4 y''''/24 s^2 (1 - s)^2 is largest in the middle,
and its slope at two times, where the slope of the cubic is compared with the velocity.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.dispatch import drift

__all__ = ["CubicPath", "cubic_paths"]

LOOKS = np.array([0.5 - np.sqrt(1 / 12), 0.5 + np.sqrt(1 / 12)])  # where s (1 - s) (1 - 2 s) is largest
PLACE_PER_SLOPE = 3.0 * np.sqrt(3.0) / 16.0  # the error in the middle over that of the slope there
POINTS = np.linspace(0.0, 1.0, 9)  # between which a link goes straight, but for its bend
# of it: h^2/8 times the second derivative at either end, where it is largest, from places and velocities
BENDS = np.array([[-6.0, 6.0, -4.0, -2.0], [6.0, -6.0, 2.0, 4.0]]) / (8.0 * (len(POINTS) - 1) ** 2)  # (2, 4)
MOST_MOVED = np.pi  # by the velocity at an end in all the time: beyond, no cubic is any good


class CubicPath(NamedTuple):
    """The tokens from time t[0] to time t[1]."""

    t: Array  # (2,)
    ends: Array  # (4, n, d) both places, and both velocities times t[1] - t[0]
    error: float  # about how far from it a token is at most

    def at(self, times: Array) -> Array:
        """All tokens at the times (m,) between the two, (m, n, d)."""
        return _on_sphere(_mix(_places((times - self.t[0]) / (self.t[1] - self.t[0])), self.ends))

    def may_meet(self, k: int, leads: NDArray[np.bool_], reach: float) -> bool:
        """Whether on the way a chain of earlier tokens may lead from token k to one that leads (k,), each
        link at most the chord `reach`."""
        ends = self.ends[:, : k + 1]
        bends = _mix(BENDS, ends)  # (2, k + 1, d)
        return _may_meet(_mix(_places(POINTS), ends), bends, k, leads, reach + 2.0 * self.error)


def cubic_paths(model: Attention, t: Array, x: Array, most: float) -> list[CubicPath | None]:
    """Between each of the moments t (m + 1,) with tokens x (m + 1, n, d) and the next; None if it strays by
    more than `most`, as where the equation does not lead from one to the other."""
    span = np.diff(t)[:, None, None]  # (m, 1, 1)
    velocity = drift(model, x, threads=1)  # (m + 1, n, d)
    ends = np.stack([x[:-1], x[1:], span * velocity[:-1], span * velocity[1:]])  # (4, m, n, d)
    short = (np.diff(t) > 0.0) & (np.abs(ends[2:]).max((0, 2, 3)) <= MOST_MOVED)  # (m,)
    paths: list[CubicPath | None] = [None] * len(short)
    if not short.any():
        return paths
    ends = ends[:, short]
    looked = _on_sphere(_mix(_places(LOOKS), ends))  # (2, short, n, d)
    velocity = drift(model, looked.reshape(-1, *x.shape[1:]), threads=1).reshape(looked.shape)
    stray = _mix(_slopes(LOOKS), ends) - span[short] * velocity  # (2, short, n, d)
    # rounding alone may fill a double over 1e300 time units: squares of it overflow, and that is no cubic
    stray = np.clip(stray, -MOST_MOVED, MOST_MOVED)
    error = PLACE_PER_SLOPE * np.sqrt(np.einsum("...c,...c", stray, stray).max((0, 2)))  # (short,)
    for i, at in enumerate(np.flatnonzero(short).tolist()):
        if error[i] <= most:
            paths[at] = CubicPath(t[at : at + 2], ends[:, i], float(error[i]))
    return paths


def _on_sphere(x: Array) -> Array:
    """x / |x| in place: points x (..., n, d) of cubics that stray little are nearly of length 1."""
    _divide_by_length(x.reshape(-1, x.shape[-1]))
    return x


@compiled
def _divide_by_length(x: Array) -> None:
    for row in range(x.shape[0]):
        square = 0.0
        for c in range(x.shape[1]):
            square += x[row, c] * x[row, c]
        length = np.sqrt(square)
        for c in range(x.shape[1]):
            x[row, c] /= length


def _mix(weights: Array, ends: Array) -> Array:
    return np.asarray(np.tensordot(weights, ends, axes=1))  # (m, 4), (4, ..., n, d) -> (m, ..., n, d)


def _places(s: Array) -> Array:
    """What both places and both velocities weigh at the parts s (m,) of the way, (m, 4)."""
    return np.stack([(1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s), s * (1 - s) ** 2, s**2 * (s - 1)], -1)


def _slopes(s: Array) -> Array:
    """The derivatives of these, (m, 4)."""
    return np.stack([6 * s * (s - 1), 6 * s * (1 - s), (1 - s) * (1 - 3 * s), s * (3 * s - 2)], -1)


@compiled
def _may_meet(x: Array, bends: Array, k: int, leads: NDArray[np.bool_], reach: float) -> bool:
    """The same of tokens at points x (m, k + 1, d) of cubics that go from one to the next straight, but for
    what they bend, `bends` (2, k + 1, d) at most."""
    found, chain = np.zeros(k, np.bool_), np.empty(k + 1, np.int64)
    chain[0], count, at = k, 1, 0
    while at < count:  # chain[:at] have been asked for their neighbours
        for j in range(k):
            if not found[j] and _may_touch(x, bends, chain[at], j, reach):
                if leads[j]:
                    return True
                found[j] = True
                chain[count] = j
                count += 1
        at += 1
    return False


@inner
def _may_touch(x: Array, bends: Array, a: int, b: int, reach: float) -> bool:
    """A straight link between two points is no shorter than at the nearer of them less half the way its ends
    go relative to each other."""
    bend = 0.0
    for i in range(2):
        square = 0.0
        for c in range(x.shape[2]):
            square += (bends[i, a, c] - bends[i, b, c]) ** 2
        bend = max(bend, square)
    near, before = reach + np.sqrt(bend), np.inf
    for i in range(x.shape[0]):
        square, way = 0.0, 0.0
        for c in range(x.shape[2]):
            here = x[i, a, c] - x[i, b, c]
            square += here * here
            if i:
                way += (here - (x[i - 1, a, c] - x[i - 1, b, c])) ** 2
        if i and np.sqrt(min(before, square)) - 0.5 * np.sqrt(way) <= near:
            return True
        before = square
    return False
