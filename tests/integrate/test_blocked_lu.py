"""Linear systems of some dozen rows against NumPy's."""

import numpy as np
import pytest
from support.lu_checks import check_against_numpy, check_exchanged_rows

from nucleate.checks import Array
from nucleate.integrate.blocked_lu import factor_transpose, inverse_norm, matrix_shape, solve_by_transpose
from nucleate.kernels.compile import uncounted
from nucleate.kernels.panels import VECTORS
from nucleate.kernels.simd import LANES


@uncounted
def solved(transpose, n, diagonal, factors, pivot, panel, u, scratch):  # type: ignore[no-untyped-def]  # Numba infers its types
    """u = (diagonal - J)^{-1} u, and the norm of that inverse."""
    factor_transpose(transpose, n, diagonal, factors, pivot, panel)
    solve_by_transpose(factors, n, pivot, u)
    return inverse_norm(factors, n, scratch)


def by_lu(matrix: Array, diagonal: float, right: Array) -> tuple[Array, float]:
    n, shape = len(right), matrix_shape(len(right))
    transpose, u = np.zeros(shape), np.zeros(shape[1])
    transpose[:n, :n], u[:n] = matrix.T, right
    panel, pivot = np.zeros(LANES * VECTORS * LANES), np.zeros(n, dtype=np.int64)
    # what another system left behind must not matter
    left = np.full(shape, np.nan)
    norm = solved(transpose, n, diagonal, left, pivot, panel, u, left.copy())
    assert not np.isfinite(norm) or not u[n:].any()  # sums over whole vectors include what stands there
    return u[:n], float(norm)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 64, 65, 97])
def test_solutions_and_the_norm_of_the_inverse_are_those_of_numpy(n: int) -> None:
    check_against_numpy(by_lu, n, tries=5)


def test_a_zero_on_the_diagonal_is_exchanged_for_another_row() -> None:
    check_exchanged_rows(by_lu)


def test_a_matrix_without_an_inverse_gives_no_finite_solution() -> None:
    u, norm = by_lu(np.eye(12), 1.0, np.ones(12))
    assert not np.isfinite(u).any()
    assert not np.isfinite(norm)
