"""Equiangular tokens for one layer of attention, and the transition's scale; its formula is that of
`theory/long_context.py`."""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array

__all__ = ["critical_scale", "equiangular_tokens"]


def critical_scale(rho: ArrayLike) -> Array:
    """The gamma = beta / log n at which the transition is, of arrays too: 1 / (1 - rho), rho > 0."""
    return np.asarray(1.0 / (1.0 - np.asarray(rho, dtype=np.float64)))


def equiangular_tokens(n: int, rho: float) -> Array:
    """n unit vectors with all overlaps rho: x_i = sqrt(rho) e_0 + sqrt(1 - rho) e_i, (n, n + 1)."""
    x = np.zeros((n, n + 1))
    x[:, 0] = np.sqrt(rho)
    x[np.arange(n), np.arange(n) + 1] = np.sqrt(1.0 - rho)
    return x
