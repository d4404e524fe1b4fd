"""Eight numbers at once: folds over the lanes, halves of a vector, operators, bounds."""

import os
import subprocess
import sys

import numpy as np

from nucleate.kernels.compile import compiled
from nucleate.kernels.simd import (
    add_halves,
    fms,
    hmax,
    hsum,
    join_halves,
    lanes_of,
    load,
    repeat_low_half,
    splat,
    splat_as,
    splat_halves,
    store,
)


@compiled
def folds(x):  # type: ignore[no-untyped-def]  # Numba infers its types
    """Sum and maximum over the lanes, and a number in every lane."""
    return hsum(load(x, 0)), hmax(load(x, 0)), hsum(splat(x[0]))


def test_folds_over_lanes() -> None:
    x = np.array([3.0, -1.0, 4.0, -1.0, 5.0, -9.0, 2.0, 6.0])
    assert folds(x) == (9.0, 6.0, 24.0)


@compiled
def folds_of_singles(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """The same of sixteen numbers in single precision; twice each, and one less."""
    store(out, 0, load(x, 0) * 2.0 - splat_as(x, 1.0))
    return hsum(load(x, 0)), hmax(load(x, 0)), hsum(splat_as(x, 0.5)), lanes_of(x)


def test_sixteen_numbers_in_single_precision() -> None:
    x, out = np.arange(16, dtype=np.float32), np.empty(16, dtype=np.float32)
    assert folds_of_singles(x, out) == (120.0, 15.0, 8.0, 16)
    assert (out == 2.0 * x - 1.0).all()


@compiled
def halves(a, b, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """Every function of halves, one after the other."""
    store(out, 0, join_halves(load(a, 0), load(b, 0)))
    store(out, 8, repeat_low_half(load(a, 0)))
    store(out, 16, splat_halves(a[0], b[0]))
    store(out, 24, add_halves(load(a, 0)))


def test_halves_of_a_vector() -> None:
    a, b, out = np.arange(8.0), np.arange(10.0, 18.0), np.empty((4, 8))
    halves(a, b, out)
    assert out[0].tolist() == [0, 1, 2, 3, 14, 15, 16, 17]
    assert out[1].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert out[2].tolist() == [0, 0, 0, 0, 10, 10, 10, 10]
    assert out[3].tolist() == [4, 6, 8, 10, 4, 6, 8, 10]


@compiled
def arithmetic(a, b, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """Operators between vectors, and with a number on either side."""
    x, y = load(a, 0), load(b, 0)
    store(out, 0, (x + y) * 2.0 - 1.0 / y)
    store(out, 8, fms(x, y, x))


def test_arithmetic_goes_lane_by_lane() -> None:
    a, b, out = np.arange(8.0), np.arange(10.0, 18.0), np.empty((2, 8))
    arithmetic(a, b, out)
    assert np.array_equal(out[0], (a + b) * 2.0 - 1.0 / b)
    assert np.array_equal(out[1], a * b - a)  # whole numbers: no rounding


OUTSIDE = """
import numpy as np
from nucleate.kernels.compile import compiled
from nucleate.kernels.simd import hsum, load
@compiled
def first_eight(x, i):
    return hsum(load(x, i))
x = np.ones(9)
print(first_eight(x, 0), first_eight(x, 1))
for i in (-1, 2):
    try:
        first_eight(x, i)
    except IndexError as error:
        print(error)
"""


def test_bounds_are_checked_where_numba_is_told_to(tmp_path: os.PathLike[str]) -> None:
    script = os.path.join(tmp_path, "outside.py")
    with open(script, "w") as file:
        file.write(OUTSIDE)
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "8.0 8.0\n" + 2 * "eight numbers reach outside their array\n"
