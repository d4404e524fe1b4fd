"""Renyi centers in a frame of one's own: from a table of who is near whom, or from the scores of a head.

A head of a real model knows no angle between two tokens, only the score s_kj = <Q x_k, K x_j> (with
positions, if it has them) that token k gives token j.  Here token k is as far from an earlier token j as the
weight on j falls behind the largest weight of its row:

    D_kj = max_{i <= k} s_ki - s_kj  >= 0,       weight on j = e^{-D_kj} times the largest.

For Q = K = beta^(1/2) I on the sphere the largest is the token's own, and D_kj = beta (1 - <x_k, x_j>) = beta
|x_k - x_j|^2 / 2: a reach of c^2 / 2 in D is, for small angles, the distance delta = c beta^(-1/2) of the
paper.  D is not symmetric; parking asks only how far a later token is from earlier ones.  Log weights serve
as well as scores, as rows may be shifted.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_number, real_array, true_or_false

__all__ = ["parked", "score_centers", "score_distance"]

Mask = NDArray[np.bool_]


def parked(near: ArrayLike, strong: bool = False) -> Mask:
    """Renyi parking: near (..., n, n), whether token k is near the earlier token j -> centers (..., n): those
    near no earlier center; strong=True: near no earlier token.  Only j < k is looked at."""
    table = np.asarray(near, dtype=bool)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise InputError(f"near must have shape (..., n, n), but has shape {table.shape}.")
    n = table.shape[-1]
    center = np.zeros(table.shape[:-1], dtype=bool)  # (..., n)
    for k in range(n):
        earlier = table[..., k, :k]  # (..., k)
        center[..., k] = ~(earlier if true_or_false("strong", strong) else earlier & center[..., :k]).any(-1)
    return center


def score_distance(scores: ArrayLike, first: bool = True) -> Array:
    """D (..., n, n) of scores or log weights (..., n, n), infinite for j > k; first=False: the first token,
    often a sink, neither counts as the largest nor is near to any."""
    s = real_array("scores", scores)
    if s.ndim < 2 or s.shape[-1] != s.shape[-2] or s.size == 0:
        raise InputError(
            f"scores must have shape (..., n, n), but have shape {s.shape}. One row is one token."
        )
    if np.isnan(s).any() or (s == np.inf).any():
        raise InputError(
            "scores must be numbers below infinity, but some are not. What a token does not see has the score"
            " minus infinity."
        )
    n = s.shape[-1]
    seen = np.tri(n, dtype=bool)  # (n, n)
    if not true_or_false("first", first):
        seen[1:, 0] = False
    s = np.where(seen, s, -np.inf)
    with np.errstate(invalid="ignore"):  # a row of nothing but -inf
        D = s.max(-1, keepdims=True) - s  # (..., n, n)
    return np.where(seen & np.isfinite(s), D, np.inf)


def score_centers(scores: ArrayLike, reach: float, strong: bool = False, first: bool = True) -> Mask:
    """The Renyi centers (..., n) of a head's scores (..., n, n): a token is near an earlier one if D is at
    most `reach`."""
    reach = finite_number(
        "reach", reach, least=0.0, help="It is a log ratio of weights: 1 is a weight e times smaller."
    )
    return parked(score_distance(scores, first) <= reach, strong)
