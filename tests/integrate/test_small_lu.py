"""Small linear systems against NumPy's."""

import numpy as np
import pytest
from support.lu_checks import check_against_numpy, check_exchanged_rows

from nucleate.checks import Array
from nucleate.integrate.small_lu import factor, inverse_norm, solve
from nucleate.kernels.compile import uncounted


@uncounted
def solved(matrix, diagonal, factors, pivot, u, scratch):  # type: ignore[no-untyped-def]  # Numba infers its types
    """u = (diagonal - matrix)^{-1} u, and the norm of that inverse."""
    factor(matrix, diagonal, factors, pivot)
    solve(factors, pivot, u)
    return inverse_norm(factors, pivot, scratch)


def by_lu(matrix: Array, diagonal: float, right: Array) -> tuple[Array, float]:
    n, u = len(right), right.copy()
    norm = solved(matrix, diagonal, np.zeros((n, n)), np.zeros(n, dtype=np.int64), u, np.zeros(n))
    return u, float(norm)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_solutions_and_the_norm_of_the_inverse_are_those_of_numpy(n: int) -> None:
    check_against_numpy(by_lu, n, tries=20)


def test_a_zero_on_the_diagonal_is_exchanged_for_another_row() -> None:
    check_exchanged_rows(by_lu)
