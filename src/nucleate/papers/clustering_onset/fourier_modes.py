"""Modes of the empirical density of tokens on the circle."""

import numpy as np

from nucleate.checks import Array

__all__ = ["modes_of", "real_and_imaginary"]


def modes_of(x: Array, k: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.complex128]]":
    """c_m = (1/n) sum_j e^{i m theta_j} for m = 1..k: tokens x (..., n, 2) -> (..., k)."""
    z = x[..., 0] + 1j * x[..., 1]  # (..., n)
    power, found = np.ones_like(z), np.empty((*z.shape[:-1], k), dtype=np.complex128)
    for m in range(k):
        power = power * z
        found[..., m] = power.mean(-1)
    return found


def real_and_imaginary(c: "np.ndarray[tuple[int, ...], np.dtype[np.complex128]]") -> Array:
    """(...) complex -> (..., 2), for files that have no complex numbers."""
    return np.stack([c.real, c.imag], -1)
