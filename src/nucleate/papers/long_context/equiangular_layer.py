"""One layer of attention without residual on equiangular tokens, in closed form by symmetry.

n unit vectors with all overlaps rho, Q = K = V = I, full mask: token i gives weight a to itself and b to each
other one, a / b = e^{beta (1 - rho)}, a + (n - 1) b = 1, so that its output is

    A_i = (a - b) x_i + b S,   S = sum_j x_j,   <x_i, S> = 1 + (n - 1) rho,   |S|^2 = n <x_i, S>.

All outputs have one length and one overlap, hence one cosine.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array

__all__ = ["critical_gamma", "equiangular_tokens", "limit_cosine", "output_cosine"]


def output_cosine(n: ArrayLike, rho: ArrayLike, beta: ArrayLike) -> Array:
    """The cosine of two outputs; arrays of n, of rho and of beta, or numbers."""
    n, rho, beta = (np.asarray(value, dtype=np.float64) for value in (n, rho, beta))
    others = (n - 1.0) * np.exp(-beta * (1.0 - rho))  # attention to all others over that to itself
    a = 1.0 / (1.0 + others)
    b = others / (1.0 + others) / (n - 1.0)
    s, c = a - b, 1.0 + (n - 1.0) * rho  # c = <x_i, S>
    shared = 2.0 * s * b * c + b**2 * n * c
    return np.asarray((s**2 * rho + shared) / (s**2 + shared))


def critical_gamma(rho: ArrayLike) -> Array:
    """The gamma = beta / log n at which the transition is: 1 / (1 - rho)."""
    return np.asarray(1.0 / (1.0 - np.asarray(rho, dtype=np.float64)))


def limit_cosine(rho: float, share: float) -> float:
    """The limit of the cosine as n grows with beta = gamma log n, `share` being gamma over its critical
    value."""
    return 1.0 if share < 1.0 else rho if share > 1.0 else 4.0 * rho / (1.0 + 3.0 * rho)


def equiangular_tokens(n: int, rho: float) -> Array:
    """n unit vectors with all overlaps rho: x_i = sqrt(rho) e_0 + sqrt(1 - rho) e_i, (n, n + 1)."""
    x = np.zeros((n, n + 1))
    x[:, 0] = np.sqrt(rho)
    x[np.arange(n), np.arange(n) + 1] = np.sqrt(1.0 - rho)
    return x
