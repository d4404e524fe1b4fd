"""Linear systems of some dozen rows, compiled: LU factors in panels of eight columns, the rest of the matrix
by products that stay in registers.

What is factorised is the transpose of diagonal - J, its rows exchanged for the largest pivot: with factors L
and U of that, a solution goes down the rows of U and up those of L, which lie in memory as they are read.
"""

import numpy as np

from nucleate.kernels.compile import inlined
from nucleate.kernels.panels import GROUP, VECTORS, add_product
from nucleate.kernels.simd import LANES, fma, hsum, load, splat, store

__all__ = ["factor_transpose", "inverse_norm", "matrix_shape", "solve_by_transpose"]

PAIR = 2 * LANES
# row i: for the row of a pivot in column i of its panel
BEFORE = np.tril(np.ones((LANES, LANES)), -1)  # ones in the columns before
NOT_ITSELF = 1.0 - np.eye(LANES)
AFTER = np.triu(np.ones((LANES, LANES)), 1)
ITSELF = np.eye(LANES)


def matrix_shape(n: int) -> tuple[int, int]:
    """The rows and columns that a matrix of n rows takes: whole vectors from any column on, whole groups of
    rows."""
    return n + GROUP, -(-n // PAIR) * PAIR + LANES


@inlined
def factor_transpose(transpose, n, diagonal, factors, pivot, panel):
    """Factors of diagonal - J^T, where `transpose` is J^T with n rows; `panel` is scratch."""
    stride = factors.shape[1]
    for r in range(n):
        for e in range(r * stride, (r + 1) * stride, LANES):
            store(factors, e, splat(0.0) - load(transpose, e))
        factors[r, r] += diagonal
    for first in range(0, n, LANES):
        _factor_panel(factors, n, first, pivot)
        start = first + LANES
        while start < n:
            width = min(VECTORS * LANES, -(-(n - start) // LANES) * LANES)
            for e in range(0, width, LANES):
                _solve_with_panel(factors, first, start + e, panel, e, width)
            for r in range(first + LANES, n, GROUP):
                at = r * stride
                add_product(factors, at + first, stride, panel, 0, width, LANES, factors, at + start, stride)
            start += width


@inlined
def _factor_panel(factors, n, first, pivot):
    """The eight columns from `first` on; whole rows are exchanged."""
    stride = factors.shape[1]
    for i in range(min(LANES, n - first)):
        c = first + i
        best, largest = c, abs(factors[c, c])
        for r in range(c + 1, n):
            if abs(factors[r, c]) > largest:
                best, largest = r, abs(factors[r, c])
        pivot[c] = best
        if best != c:
            for e in range(0, stride, LANES):
                one, other = load(factors, c * stride + e), load(factors, best * stride + e)
                store(factors, c * stride + e, other)
                store(factors, best * stride + e, one)
        inverse = 1.0 / factors[c, c]
        # the factor itself goes where the column was
        row = load(ITSELF, i * LANES) - load(factors, c * stride + first) * load(AFTER, i * LANES)
        kept = load(NOT_ITSELF, i * LANES)
        for r in range(c + 1, n):
            at = r * stride + first
            share = factors[r, c] * inverse
            store(factors, at, fma(splat(share), row, load(factors, at) * kept))


@inlined
def _solve_with_panel(factors, first, column, panel, at, width):
    """Eight columns of the eight rows from `first` on, by the panel's L; what they take from later rows goes
    to `panel`, negative."""
    stride = factors.shape[1]
    for i in range(LANES):
        place = (first + i) * stride + column
        row = load(factors, place)
        for c in range(i):
            share = factors[first + i, first + c]
            row = row - share * load(factors, (first + c) * stride + column)
        store(factors, place, row)
        store(panel, i * width + at, splat(0.0) - row)


@inlined
def solve_by_transpose(factors, n, pivot, u):
    """u = (diagonal - J)^{-1} u, of the factors of its transpose; u is padded by 8."""
    stride = factors.shape[1]
    for c in range(n):
        u[c] /= factors[c, c]
        share = splat(-u[c])
        for e in range(c + 1, n, LANES):
            store(u, e, fma(share, load(factors, c * stride + e), load(u, e)))
    for c in range(n - 1, 0, -1):
        share, whole = splat(-u[c]), c // LANES * LANES
        for e in range(0, whole, LANES):
            store(u, e, fma(share, load(factors, c * stride + e), load(u, e)))
        row = load(factors, c * stride + whole) * load(BEFORE, (c - whole) * LANES)
        store(u, whole, fma(share, row, load(u, whole)))
    for c in range(n - 1, -1, -1):
        best = pivot[c]
        if best != c:
            u[c], u[best] = u[best], u[c]


@inlined
def inverse_norm(factors, n, inverse):
    """The Frobenius norm of the inverse: how much larger a solution can be than its right side; `inverse` is
    scratch."""
    stride = factors.shape[1]
    for r in range(n):  # of L; columns from r on are those of the unit matrix
        for e in range(0, n, PAIR):
            one, other = splat(0.0), splat(0.0)
            for c in range(e, r):
                share, at = splat(-factors[r, c]), c * stride + e
                one, other = fma(share, load(inverse, at), one), fma(share, load(inverse, at + LANES), other)
            store(inverse, r * stride + e, one)
            store(inverse, r * stride + e + LANES, other)
        inverse[r, r] = 1.0
    squares = splat(0.0)
    for r in range(n - 1, -1, -1):
        scale = splat(1.0 / factors[r, r])
        for e in range(0, n, PAIR):
            one, other = load(inverse, r * stride + e), load(inverse, r * stride + e + LANES)
            for c in range(r + 1, n):
                share, at = splat(-factors[r, c]), c * stride + e
                one, other = fma(share, load(inverse, at), one), fma(share, load(inverse, at + LANES), other)
            one, other = one * scale, other * scale
            store(inverse, r * stride + e, one)
            store(inverse, r * stride + e + LANES, other)
            squares = fma(one, one, fma(other, other, squares))
    return np.sqrt(hsum(squares))
