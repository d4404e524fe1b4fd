"""Between which frames tokens may have met: a cheap test that misses few meetings, and asks for few
simulations in vain.

Frames that share one double of time are passed over: the time between them cannot be simulated again.
"""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner

__all__ = ["next_approach"]


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
