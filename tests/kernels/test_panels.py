"""Products in registers: they are those of NumPy, for any number of columns, and run in one order."""

import math

import numpy as np
import pytest
from numba import njit

from nucleate.checks import EPS
from nucleate.kernels.panels import GROUP, PANEL, add_product, panel_width, panels_of, set_product
from nucleate.kernels.simd import LANES


@njit
def _product(rows, panels, count, width, out):
    """out (GROUP, width) = rows (GROUP, count) times a matrix in panels; then the same added once more."""
    for c in range(0, width, PANEL):
        wide = min(PANEL, width - c)
        set_product(rows, 0, rows.shape[1], panels, c * count, wide, count, out, c, width)
        add_product(rows, 0, rows.shape[1], panels, c * count, wide, count, out, c, width)


@pytest.mark.parametrize("columns", [1, 8, 15, 24, 32, 33, 57, 64])
def test_products_are_those_of_numpy_and_every_sum_runs_in_order(columns: int) -> None:
    rng = np.random.default_rng(columns)
    for count in (1, 2, 19):
        a, b = rng.standard_normal((GROUP, count + 3)), rng.standard_normal((count, columns))
        out = np.full((GROUP, panel_width(columns)), np.nan)
        _product(a, panels_of(b), count, panel_width(columns), out)
        assert np.abs(out[:, :columns] - 2.0 * a[:, :count] @ b).max() <= 32 * count * EPS
        assert (out[:, columns:] == 0.0).all()
        total = 0.0
        for i in range(count):  # one multiplication and addition, rounded once or twice
            total += a[2, i] * b[i, 0]
        assert math.isclose(out[2, 0], 2.0 * total, rel_tol=0.0, abs_tol=8 * count * EPS)


def test_panels_are_whole_vectors() -> None:
    assert PANEL % LANES == 0
    assert [panel_width(columns) for columns in (1, 8, 9)] == [LANES, LANES, 2 * LANES]
    assert panels_of(np.ones((3, 9))).sum() == 27.0
