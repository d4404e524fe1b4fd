"""Small linear systems, compiled: LU factors with row exchanges, for matrices of a few rows."""

import numpy as np

from nucleate.kernels.compile import inlined

__all__ = ["factor", "inverse_norm", "solve"]


@inlined
def factor(matrix, diagonal, factors, pivot):
    """LU factors of diagonal - matrix, rows exchanged for the largest pivot."""
    n = matrix.shape[0]
    for c in range(n):
        for e in range(n):
            factors[c, e] = (diagonal if c == e else 0.0) - matrix[c, e]
    for c in range(n):
        best = c
        for r in range(c + 1, n):
            if abs(factors[r, c]) > abs(factors[best, c]):
                best = r
        pivot[c] = best
        if best != c:
            for e in range(n):
                factors[c, e], factors[best, e] = factors[best, e], factors[c, e]
        for r in range(c + 1, n):
            factors[r, c] /= factors[c, c]
            for e in range(c + 1, n):
                factors[r, e] -= factors[r, c] * factors[c, e]


@inlined
def solve(factors, pivot, u):
    """u = factors^{-1} u."""
    n = factors.shape[0]
    for c in range(n):
        best = pivot[c]
        if best != c:
            u[c], u[best] = u[best], u[c]
    for c in range(n):
        for r in range(c + 1, n):
            u[r] -= factors[r, c] * u[c]
    for c in range(n - 1, -1, -1):
        for e in range(c + 1, n):
            u[c] -= factors[c, e] * u[e]
        u[c] /= factors[c, c]


@inlined
def inverse_norm(factors, pivot, u):
    """The Frobenius norm of the inverse: how much larger a solution can be than its right side; u is
    scratch."""
    n, square = factors.shape[0], 0.0
    for e in range(n):
        for f in range(n):
            u[f] = 1.0 if f == e else 0.0
        solve(factors, pivot, u)
        for f in range(n):
            square += u[f] ** 2
    return np.sqrt(square)
