"""How many dimensions the tokens of a layer fill: effective rank, and what is left of them once their mean is
taken away.

Both take states (..., n, d) of any length: the residual stream itself, where one huge token can carry nearly
all of it, or its directions.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array

__all__ = ["effective_rank", "rank_one_residual"]


def effective_rank(h: ArrayLike) -> Array:
    """exp(-sum_i p_i ln p_i) with p_i = s_i / sum_j s_j, s the singular values: h (..., n, d) -> (...).

    From 1 (all tokens on a line) to min(n, d).  Roy and Vetterli, "The effective rank: a measure of effective
    dimensionality", EUSIPCO 2007: the entropy of singular values, not of their squares.  These are roots of
    the eigenvalues of the smaller Gram matrix, so that values below 1e-8 of the largest are rounding: they
    change the result by less than 1e-4.
    """
    h = _states(h)
    gram = h @ h.mT if h.shape[-2] <= h.shape[-1] else h.mT @ h  # (..., min(n, d), min(n, d))
    s = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0))  # (..., min(n, d))
    total = s.sum(-1, keepdims=True)  # (..., 1)
    p = np.divide(s, total, out=np.zeros_like(s), where=total > 0.0)
    logarithm = np.log(p, out=np.zeros_like(p), where=p > 0.0)
    return np.asarray(np.where(total[..., 0] > 0.0, np.exp(-(p * logarithm).sum(-1)), np.nan))


def rank_one_residual(h: ArrayLike) -> Array:
    """|R| / |h| with R = h - 1 m^T, m the mean of the tokens, |A| = (|A|_1 |A|_inf)^(1/2): h (..., n, d) ->
    (...); 0 when all tokens are one.

    |A|_1 is the largest sum of |entries| of a column, |A|_inf of a row (Dong, Cordonnier, Loukas, arXiv
    2103.03404).  They take m where |R| is least; the mean, where the Frobenius norm of R is least, is what is
    taken here.
    """
    h = _states(h)
    whole = _composite(h)
    rest = _composite(h - h.mean(-2, keepdims=True))
    return np.asarray(np.divide(rest, whole, out=np.full_like(rest, np.nan), where=whole > 0.0))


def _composite(A: Array) -> Array:
    size = np.abs(A)  # (..., n, d)
    return np.asarray(np.sqrt(size.sum(-2).max(-1) * size.sum(-1).max(-1)))


def _states(h: ArrayLike) -> Array:
    """Checked, and divided by a power of 2, which neither number sees, so that no square overflows."""
    h = finite_array("h", h)
    if h.ndim < 2 or h.size == 0:
        raise InputError(f"h must have shape (..., n, d), but has shape {h.shape}. One row is one token.")
    exponent = np.frexp(np.abs(h).max((-1, -2), keepdims=True))[1]  # (..., 1, 1)
    return np.ldexp(h, -exponent)
