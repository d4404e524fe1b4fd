"""Small linear systems against NumPy's."""

import numpy as np
import pytest

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
    rng = np.random.default_rng(n)
    for _ in range(20):
        matrix, right, diagonal = (
            rng.standard_normal((n, n)),
            rng.standard_normal(n),
            float(rng.uniform(0, 5)),
        )
        whole = diagonal * np.eye(n) - matrix
        u, norm = by_lu(matrix, diagonal, right)
        # rounding, times the condition of the system
        allowed = 1e-14 * np.linalg.cond(whole)
        assert np.abs(u - np.linalg.solve(whole, right)).max() <= allowed * np.abs(u).max()
        assert norm == pytest.approx(np.linalg.norm(np.linalg.inv(whole)), rel=allowed)


def test_a_zero_on_the_diagonal_is_exchanged_for_another_row() -> None:
    u, _ = by_lu(
        np.array([[1.0, -2.0], [-3.0, 1.0]]), 1.0, np.array([4.0, 6.0])
    )  # [[0, 2], [3, 0]] u = (4, 6)
    assert u.tolist() == [2.0, 2.0]
