"""Close pairs: the share of pairs of tokens with an inner product of at least a threshold.

1 when all tokens are one; over beta and t it is the phase diagram of arXiv 2312.10794, with threshold .999.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_number, shortened
from nucleate.kernels.compile import compiled
from nucleate.observe.inputs import check_frames

__all__ = ["check_threshold", "close_pairs"]

Pairs = Literal["all", "adjacent"]


def close_pairs(x: ArrayLike, threshold: float = 0.999, pairs: Pairs = "all") -> Array:
    """The share of pairs with <x_i, x_j> >= threshold: x (..., n, d) -> (...); NaN for frames never reached,
    and where there are no pairs, n = 1.

    pairs   "all", i < j; or "adjacent", neighbours in the sequence, j = i + 1
    """
    threshold = check_threshold("threshold", threshold)
    if not (isinstance(pairs, str) and pairs in ("all", "adjacent")):
        raise InputError(f'pairs must be "all" or "adjacent", but is {shortened(pairs)}.')
    x, there = check_frames(x)
    share = np.full(there.shape, np.nan)
    if x.shape[-2] > 1 and there.any():
        found = np.empty(int(there.sum()))
        _count(np.ascontiguousarray(x[there]), threshold, pairs == "adjacent", found)
        share[there] = found
    return share


def check_threshold(where: str, value: Any) -> float:
    """`value`, if it is an inner product that two unit vectors can have."""
    value = finite_number(where, value, least=-1.0, help="It is an inner product; 0.999 is usual.")
    if value > 1.0:
        raise InputError(
            f"{where} must be at most 1, but is {value:g}. It is an inner product; 0.999 is usual."
        )
    return value


@compiled
def _count(x: Any, threshold: float, adjacent: bool, share: Any) -> None:
    """The share of close pairs of every frame, x (frames, n, d) -> share (frames,)."""
    frames, n, d = x.shape
    y, product = np.empty((d, n)), np.empty(n)
    for frame in range(frames):
        for k in range(n):  # coordinates apart, so that the loops below go through whole vectors
            for c in range(d):
                y[c, k] = x[frame, k, c]
        close = 0
        for i in range(n - 1):
            last = i + 2 if adjacent else n
            for j in range(i + 1, last):
                product[j] = y[0, i] * y[0, j]
            for c in range(1, d):
                for j in range(i + 1, last):
                    product[j] += y[c, i] * y[c, j]
            for j in range(i + 1, last):
                close += product[j] >= threshold
        share[frame] = close / (n - 1 if adjacent else n * (n - 1) / 2)
