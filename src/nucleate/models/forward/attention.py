"""Softmax attention of several heads, over some rows at a time: no n x n matrix is made unless it is asked
for."""

import numpy as np
from numpy.typing import NDArray

from nucleate.models.forward.norms import Floats

__all__ = ["attend"]

BLOCK_ROWS = 256  # queries at a time: memory is that of BLOCK_ROWS x n scores


def attend(
    q: Floats,
    k: Floats,
    v: Floats,
    *,
    causal: bool,
    window: int | None = None,
    cap: float | None = None,
    weights: Floats | None = None,
) -> Floats:
    """Sum_j a_ij v_j with a_ij = softmax over the visible j of <q_i, k_j>, for every head; (H, n, d_head).

    q (H, n, d_head), already scaled; k, v (KV, n, d_head), each shared by H / KV neighbouring heads.  Causal
    attention sees j <= i, and with a window only i - window < j; otherwise all is seen.  `cap` replaces a
    score s by cap tanh(s / cap).  `weights` (H, n, n), all 0, receives the a_ij.
    """
    heads, n, _ = q.shape
    shared = heads // len(k)
    y = np.empty_like(q)  # (H, n, d_head)
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        first = max(0, start - window + 1) if causal and window else 0
        last = stop if causal else n
        hidden = _hidden(start, stop, first, last, causal, window)
        for h in range(heads):
            g = h // shared
            s = q[h, start:stop] @ k[g, first:last].T  # (rows, seen)
            if cap is not None:
                s = s.dtype.type(cap) * np.tanh(s / s.dtype.type(cap))
            if hidden is not None:
                s[hidden] = -np.inf
            s -= s.max(axis=1, keepdims=True)
            np.exp(s, out=s)
            total = s.sum(axis=1, keepdims=True)  # (rows, 1), at least 1
            y[h, start:stop] = (s @ v[g, first:last]) / total
            if weights is not None:
                weights[h, start:stop, first:last] = s / total
    return y


def _hidden(
    start: int, stop: int, first: int, last: int, causal: bool, window: int | None
) -> NDArray[np.bool_] | None:
    """Which of the tokens first..last a query among start..stop does not see: (rows, seen)."""
    if not causal:
        return None
    i, j = np.arange(start, stop)[:, None], np.arange(first, last)
    return np.asarray((j > i) | (j <= i - window) if window else j > i)
