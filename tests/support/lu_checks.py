"""What every LU factorisation of this project is held against."""

from collections.abc import Callable

import numpy as np
import pytest

from nucleate.checks import Array

__all__ = ["ByLU", "check_against_numpy", "check_exchanged_rows"]

ByLU = Callable[[Array, float, Array], tuple[Array, float]]  # M, c, b -> u with (c - M) u = b, |(c - M)^-1|


def check_against_numpy(by_lu: ByLU, n: int, tries: int) -> None:
    """Solutions and the norm of the inverse are those of NumPy."""
    rng = np.random.default_rng(n)
    for _ in range(tries):
        matrix, right = rng.standard_normal((n, n)), rng.standard_normal(n)
        diagonal = float(rng.uniform(0, 5))
        whole = diagonal * np.eye(n) - matrix
        u, norm = by_lu(matrix, diagonal, right)
        # rounding, times the condition of the system
        allowed = 1e-14 * np.linalg.cond(whole)
        assert np.abs(u - np.linalg.solve(whole, right)).max() <= allowed * np.abs(u).max()
        assert norm == pytest.approx(np.linalg.norm(np.linalg.inv(whole)), rel=allowed)


def check_exchanged_rows(by_lu: ByLU) -> None:
    """A zero on the diagonal is exchanged for another row: [[0, 2], [3, 0]] u = (4, 6)."""
    u, _ = by_lu(np.array([[1.0, -2.0], [-3.0, 1.0]]), 1.0, np.array([4.0, 6.0]))
    assert u.tolist() == [2.0, 2.0]
