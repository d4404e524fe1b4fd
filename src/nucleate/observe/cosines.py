"""How alike the directions of tokens are, layer by layer: mean cosine, histogram, nearness to the first.

For tokens of a real model the first one is often a sink, with a direction of its own; first=False leaves it
out of the statistics (not out of the model).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, true_or_false, whole_number
from nucleate.observe.inputs import check_frames

__all__ = ["consensus_gap", "cosine_histogram", "mean_cosine"]

ROWS_AT_ONCE = 256  # of a table of cosines


def mean_cosine(x: ArrayLike, first: bool = True) -> Array:
    """The mean of <x_i, x_j> over all pairs i < j: x (..., n, d) -> (...); NaN where there is no pair.

    It is (|sum_i x_i|^2 - n) / (n (n - 1)), so that no table of pairs is made.
    """
    x, _ = _kept(x, first)
    n = x.shape[-2]
    if n < 2:
        return np.full(x.shape[:-2], np.nan)
    total = x.sum(-2)  # (..., d)
    return np.asarray(((total * total).sum(-1) - n) / (n * (n - 1)))


def cosine_histogram(x: ArrayLike, bins: int = 40, first: bool = True) -> tuple[NDArray[np.int64], Array]:
    """How many pairs i < j have a cosine in which bin: x (..., n, d) -> counts (..., bins), edges (bins + 1,)
    from -1 to 1.  Frames never reached count nothing."""
    x, there = _kept(x, first)
    bins = whole_number("bins", bins, least=1, help="It is a number of bins between -1 and 1.")
    n, d = x.shape[-2:]
    counts = np.zeros((*x.shape[:-2], bins), dtype=np.int64)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    for at in map(tuple, np.argwhere(there)):
        frame = x[at]  # (n, d)
        for begin in range(0, n, ROWS_AT_ONCE):
            rows = frame[begin : begin + ROWS_AT_ONCE]  # (r, d)
            pairs = np.arange(n) > np.arange(begin, begin + len(rows))[:, None]  # (r, n)
            cosines = np.clip(rows @ frame.T, -1.0, 1.0)[pairs]
            counts[at] += np.histogram(cosines, edges)[0]
    return counts, edges


def consensus_gap(x: ArrayLike) -> Array:
    """1 - mean over k >= 2 of |<x_1, x_k>|: x (..., n, d) -> (...); 0 when all tokens lie on the line of the
    first, as measured in "Consensus is all you get" (ICML 2025); NaN for a single token."""
    x, _ = check_frames(x)
    if x.shape[-2] < 2:
        return np.full(x.shape[:-2], np.nan)
    along = np.abs((x[..., 1:, :] * x[..., :1, :]).sum(-1))  # (..., n - 1)
    return np.asarray(1.0 - along.mean(-1))


def _kept(x: ArrayLike, first: bool) -> tuple[Array, NDArray[np.bool_]]:
    """The tokens that count, and which frames hold any."""
    x, there = check_frames(x)
    if true_or_false("first", first):
        return x, there
    if x.shape[-2] < 2:
        raise InputError("first=False leaves no token, as there is only one. Give more tokens.")
    return x[..., 1:, :], there
