"""Between which frames tokens may have met: a cheap test that misses few meetings, and asks for few
simulations in vain; and in which they have.

Frames that share one double of time are passed over: the time between them cannot be simulated again.
"""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner

__all__ = ["first_touch", "next_approach", "touching_part"]


@compiled
def next_approach(
    t: Array, x: Array, frame: int, k: int, leads: NDArray[np.bool_], reach: float, bend: float, speed: float
) -> int:
    """The first of the frames t (m,), x (m, n, d), from `frame` >= 1 on, up to which from the one before
    token k may have met an earlier leader.

    That is, a chain of earlier tokens may lead from k to one that leads (k,), each link at most the chord
    `reach` at some moment.  How short may a link have been between two frames?  It was as short as at the
    nearer of them, less what no token's `speed` can undo in that time; or, if that is less, less the way its
    ends go relative to each other, half of which a straight way allows for, and less `bend`, which a curved
    way allows for.  m if there is none.
    """
    found, chain = np.empty(k + 1, np.bool_), np.empty(k + 1, np.int64)
    for i in range(frame, len(x)):
        found[:] = False
        chain[0], count, at = k, 1, 0
        while at < count:  # chain[:at] have been asked for their neighbours
            for j in range(k):
                if not found[j] and _may_touch(
                    x[i - 1], x[i], chain[at], j, reach, bend, speed * (t[i] - t[i - 1])
                ):
                    if leads[j]:
                        return i
                    found[j] = True
                    chain[count] = j
                    count += 1
            at += 1
    return len(x)


@inner
def _may_touch(
    before: Array, after: Array, a: int, b: int, reach: float, bend: float, fastest: float
) -> bool:
    first, last, way = 0.0, 0.0, 0.0
    for c in range(before.shape[1]):
        p, q = before[a, c] - before[b, c], after[a, c] - after[b, c]
        first += p * p
        last += q * q
        way += (q - p) ** 2
    return np.sqrt(min(first, last)) <= reach + min(bend + np.sqrt(way), fastest)


@compiled
def first_touch(x: Array, k: int, leads: NDArray[np.bool_], reach: float) -> int:
    """The first of the frames x (m, n, d) in which a chain of earlier tokens, each link at most the chord
    `reach`, leads from token k to one that leads (k,); m if there is none."""
    rest, chain = np.empty(k, np.int64), np.empty(k + 1, np.int64)
    for i in range(len(x)):
        chain[0], count, at = k, 1, 0
        left = k
        for j in range(k):
            rest[j] = j
        while at < count and left:  # rest[:left] are not in the chain, chain[:at] asked for their neighbours
            kept = 0
            for r in range(left):
                j, square = rest[r], 0.0
                for c in range(x.shape[2]):
                    square += (x[i, chain[at], c] - x[i, j, c]) ** 2
                if square > reach * reach:
                    rest[kept] = j
                    kept += 1
                elif leads[j]:
                    return i
                else:
                    chain[count] = j
                    count += 1
            left = kept
            at += 1
    return len(x)


@compiled
def touching_part(
    x: Array, i: int, k: int, leads: NDArray[np.bool_], reach: float, halvings: int
) -> tuple[float, Array]:
    """The part of the way to frame i of x (m, k + 1, d) from the one before after which the same holds, if it
    does in frame i, and the tokens (k + 1, d) then.

    The way goes by the polynomial through all frames, between which equal times pass."""
    m, low, high = len(x), 0.0, 1.0
    then, between = x[i].copy(), np.empty((1, k + 1, x.shape[2]))
    for _ in range(halvings):
        middle = (low + high) / 2.0
        between[:] = 0.0
        for a in range(m):
            weight = 1.0
            for b in range(m):
                if b != a:
                    weight *= (i - 1 + middle - b) / (a - b)
            between[0] += weight * x[a]
        for j in range(k + 1):
            between[0, j] /= np.sqrt((between[0, j] ** 2).sum())
        if first_touch(between, k, leads, reach) == 1:
            low = middle
        else:
            high = middle
            then[:] = between[0]
    return high, then
