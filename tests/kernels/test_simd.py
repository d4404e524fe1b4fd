"""Eight numbers at once: folds over the lanes, halves of a vector, operators, bounds."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from support.checked_bounds import output_with_bounds_checked

from nucleate.kernels.compile import compiled
from nucleate.kernels.simd import (
    CACHE_LINE_BYTES,
    LANES,
    PART,
    add_halves,
    add_scaled,
    aligned_zeros,
    dot,
    fms,
    hmax,
    hsum,
    join_halves,
    lanes_of,
    less,
    load,
    load_as,
    load_part,
    load_rows,
    repeat_low_half,
    scaled,
    splat,
    splat_as,
    splat_halves,
    splat_rows,
    store,
    store_lane,
    transformed,
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


@compiled
def on_points(axes, x, matrix, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """Of eight points in the columns of x: y = x + 3 M (x - the first column), the fifth of them into `out`;
    <y, x> + 1/2."""
    points = load_rows(axes, x, 1)
    moved = transformed(matrix, less(points, splat_rows(axes, x, 0)))
    total = add_scaled(points, splat(1.0), scaled(moved, splat(3.0)))
    store_lane(out, 0, total, 4)
    return dot(total, points, splat(0.5))


@pytest.mark.parametrize("d", [3, 4])
def test_points_in_the_columns_of_a_matrix_go_as_tuples_of_vectors(d: int) -> None:
    rng = np.random.default_rng(d)
    x, matrix, out = rng.standard_normal((d + 1, 20)), rng.standard_normal((d, d)), np.zeros(d)

    @compiled
    def products(axes, x, matrix, out, into):  # type: ignore[no-untyped-def]  # Numba infers its types
        store(into, 0, on_points(axes, x, matrix, out))

    into = np.zeros(LANES)
    products(tuple(range(d)), x, matrix, out, into)
    points = x[:d, 1 : 1 + LANES]  # (d, 8)
    total = points + 3.0 * matrix @ (points - x[:d, :1])
    np.testing.assert_allclose(out, total[:, 4], rtol=1e-14)
    np.testing.assert_allclose(into, 0.5 + (total * points).sum(0), rtol=1e-13)


def test_bounds_are_checked_where_numba_is_told_to(tmp_path: Path) -> None:
    assert (
        output_with_bounds_checked(OUTSIDE, tmp_path)
        == "8.0 8.0\n" + 2 * "eight numbers reach outside their array\n"
    )


@compiled
def in_parts(a, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """2 a - 1, a part of the lanes after the other."""
    for part in range(0, LANES, PART):
        x = load_part(a, part)
        store(out, part, x * 2.0 - load_as(x, a, 0) * 0.0 - splat_as(x, 1.0))
    return lanes_of(load_part(a, 0))


def test_parts_of_a_vector_cover_its_lanes() -> None:
    a, out = np.arange(8.0), np.empty(8)
    assert in_parts(a, out) == PART
    assert LANES % PART == 0
    assert np.array_equal(out, 2.0 * a - 1.0)


VELOCITIES = """
import sys
import numpy as np
from nucleate import Attention, drift, uniform
from nucleate.kernels import circle_batch as batch, pairwise_lanes as lanes, simd
from nucleate.kernels.model_shape import model_shape

def all_velocities():
    # each with how far from another processor's it may be
    x, V, stop = uniform(37, 2, 0), np.array([[1.0, -2.0], [0.5, 1.0]]), np.zeros(1, dtype=np.uint8)
    for model in (Attention(9.0), Attention(9.0, mask="full"), Attention(9.0, V=V)):
        yield drift(model, x, kernel="circle", threads=1), 0.0
    for d in (3, 4):  # in several tiles
        yield drift(Attention(3.0), uniform(200, d, 0), kernel="sphere", threads=1), 1e-12 * simd.HAS_AVX512
    shapes = [model_shape(Attention(beta), 7, 2, 0) for beta in (0.0, 1.0, 9.0, 64.0)] * 2
    for accuracy in ("brief", "whole"):
        circle = batch.circle_batch_system(shapes, np.full(8, 1e-9), accuracy)
        for at in range(8):
            batch.circle_batch_enter(circle, at, at)
        y = np.random.default_rng(0).uniform(-4.0, 4.0, 7 * 8)
        velocity = np.zeros_like(y)
        batch.circle_batch_drift(circle, y, velocity, stop)
        yield velocity, 0.0
        for d in (3, 5, 8):
            n = 11 if d > 3 else 700  # in several tiles
            system = lanes.pairwise_lanes_system([model_shape(Attention(5.0), n, d, 0)], True, accuracy)
            for at in range(8):
                lanes.pairwise_lanes_enter(system, at, at)
            y = uniform(n, d, 0, runs=8).transpose(1, 2, 0).reshape(-1)
            velocity = np.zeros(y.size)
            lanes.pairwise_lanes_drift(system, np.ascontiguousarray(y), velocity, stop)
            # AVX-512 has another exponential
            yield velocity, (2e-10 if accuracy == "brief" else 1e-12) if simd.HAS_AVX512 else 0.0
"""


@pytest.mark.skipif(
    not get_host_cpu_features().get("fma", False) or PART == 2, reason="compares AVX2 or AVX-512 with less"
)
def test_velocities_have_the_same_bits_however_many_lanes_a_register_holds(tmp_path: Path) -> None:
    """Compiled in a process of its own for registers of two doubles, and there two tokens at a time."""
    code = f"""{VELOCITIES}
assert simd.PART == 2
batch.IN_PAIRS = not batch.IN_PAIRS
np.savez(sys.argv[1], *(velocity for velocity, _ in all_velocities()))
"""
    narrow = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+avx,+fma", "NUCLEATE_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "v.npz")], env=os.environ | narrow, check=True)
    names: dict[str, Any] = {}
    exec(VELOCITIES, names)  # the same lines in both processes
    with np.load(tmp_path / "v.npz") as other:
        for i, (velocity, away) in enumerate(names["all_velocities"]()):
            assert np.abs(velocity - other[f"arr_{i}"]).max() <= away, i


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_aligned_zeros_begin_with_a_line_of_the_cache(dtype: type) -> None:
    for shape in ((3,), (7, 8), (0, 4), (2, 3, 16)):
        room = aligned_zeros(*shape, dtype=dtype)
        assert (room.shape, room.dtype) == (shape, dtype)
        assert not room.any()
        assert room.flags.c_contiguous
        assert room.size == 0 or room.ctypes.data % CACHE_LINE_BYTES == 0
