"""Products in registers: they are those of NumPy, for any number of columns."""

from pathlib import Path

import numpy as np
import pytest
from support.checked_bounds import output_with_bounds_checked

from nucleate.checks import Array
from nucleate.kernels.compile import compiled
from nucleate.kernels.panels import GROUP, VECTORS, add_product, panel_width, panels_of, set_product
from nucleate.kernels.simd import LANES, lanes_of


@compiled
def _product(rows, panels, count, width, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """out (GROUP, width) = rows (GROUP, count) times a matrix in panels; then the same added once more."""
    panel = VECTORS * lanes_of(panels)
    for c in range(0, width, panel):
        wide = min(panel, width - c)
        set_product(rows, 0, rows.shape[1], panels, c * count, wide, count, out, c, width)
        add_product(rows, 0, rows.shape[1], panels, c * count, wide, count, out, c, width)


@pytest.mark.parametrize(("real", "lanes"), [(np.float64, LANES), (np.float32, 2 * LANES)])
def test_products_are_those_of_numpy_for_any_number_of_columns(real: type, lanes: int) -> None:
    for columns in (1, 8, 15, 24, 32, 33, 57, 64, 130):
        rng, width = np.random.default_rng(columns), panel_width(columns, lanes)
        for count in (1, 2, 19):
            a: Array = rng.standard_normal((GROUP, count + 3)).astype(real)
            b: Array = rng.standard_normal((count, columns)).astype(real)
            out: Array = np.full((GROUP, width), np.nan, dtype=real)
            _product(a, panels_of(b, lanes).astype(real), count, width, out)
            exact = 2.0 * a[:, :count].astype(float) @ b.astype(float)
            # count roundings of terms of about 1, ten where they are large
            assert np.abs(out[:, :columns] - exact).max() <= 20 * count * np.finfo(real).eps
            assert (out[:, columns:] == 0.0).all()


def test_panels_are_whole_vectors() -> None:
    assert [panel_width(columns) for columns in (1, 8, 9)] == [LANES, LANES, 2 * LANES]
    assert panels_of(np.ones((3, 9))).sum() == 27.0


OUTSIDE = """
import numpy as np
from nucleate.kernels.compile import compiled
from nucleate.kernels.panels import GROUP, VECTORS, set_product
from nucleate.kernels.simd import LANES
@compiled
def product(a, b, count, out, out_at):
    set_product(a, 0, 3, b, 0, VECTORS * LANES, count, out, out_at, VECTORS * LANES)
    return out[out_at]
a, b, out = np.ones((GROUP, 3)), np.ones(3 * VECTORS * LANES), np.ones((GROUP, VECTORS * LANES)).ravel()
print(product(a, b, 3, out, 0), product(a[:0], b[:0], 0, out, 0))
for case in ((a[:-1], b, 3, out, 0), (a, b[1:].copy(), 3, out, 0), (a, b, 3, out, 1), (a, b, 3, out, -1)):
    try:
        product(*case)
    except IndexError as error:
        print(error)
"""


def test_bounds_are_checked_where_numba_is_told_to(tmp_path: Path) -> None:
    assert (
        output_with_bounds_checked(OUTSIDE, tmp_path)
        == "3.0 0.0\n" + 4 * "a product reaches outside its array\n"
    )
