"""The vector mathematics against 30 and more digits, and its coefficients against the fit that makes them."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from support.fit_coefficients import fitted_coefficients

from nucleate.checks import EPS
from nucleate.kernels import vector_math
from nucleate.kernels.compile import compiled
from nucleate.kernels.simd import LANES, fma, load, store
from nucleate.kernels.vector_math import (
    EXP2_BRIEF_ERROR,
    exp,
    exp2,
    exp2_brief_power,
    exp2_brief_split,
    exp2_singles,
    sincos,
)


@pytest.mark.parametrize(
    "name",
    ["EXP", "EXP2", "EXP2_SHORT", "EXP2_BRIEF", "EXP2_BRIEF_SHORT", "EXP2_SINGLE", "SINE", "COSINE"],
)
def test_the_script_makes_the_coefficients_bit_for_bit(name: str) -> None:
    assert fitted_coefficients()[name] == getattr(vector_math, name)


@compiled
def eight_exp(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """e^x eight at a time."""
    for i in range(0, x.size, LANES):
        store(out, i, exp(load(x, i)))


@compiled
def eight_exp2(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """2^x eight at a time."""
    for i in range(0, x.size, LANES):
        store(out, i, exp2(load(x, i)))


@compiled
def eight_sincos(x, sine, cosine):  # type: ignore[no-untyped-def]  # Numba infers its types
    """sin x and cos x eight at a time."""
    for i in range(0, x.size, LANES):
        s, c = sincos(load(x, i))
        store(sine, i, s)
        store(cosine, i, c)


def test_exp_is_right_to_about_one_unit_in_the_last_place() -> None:
    x = np.concatenate(
        [
            -np.geomspace(1e-300, 708.0, 4000),
            np.linspace(-708.0, 0.0, 4000),
            np.linspace(0.0, 700.0, 992),
            np.zeros(8),
        ]
    )
    out = np.empty_like(x)
    eight_exp(x, out)
    with mp.workdps(30):
        expected = [mp.exp(mp.mpf(float(value))) for value in x]
        ulps = [
            abs(mp.mpf(float(got)) - want) / float(np.spacing(float(want)))
            for got, want in zip(out, expected, strict=True)
        ]
    assert max(ulps) <= 1.25
    assert (out[-8:] == 1.0).all()


# what processors without AVX-512 compute
split_plain, series_plain = compiled(vector_math._split_plain), vector_math._polynomial(vector_math.EXP2)


@compiled
def eight_exp2_without_table(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    for i in range(0, x.size, LANES):
        a, f = split_plain(load(x, i))
        store(out, i, fma(a * f, series_plain(f), a))


@pytest.mark.parametrize(
    "power", [eight_exp2, eight_exp2_without_table], ids=["of this processor", "without a table"]
)
def test_exp2_is_right_to_about_one_unit_in_the_last_place_and_one_at_zero(power: Any) -> None:
    sixteenths = np.arange(-16000.0, 0.0) / 16.0  # where the table's entries meet
    x = np.concatenate(
        [-np.geomspace(1e-300, 1021.0, 4000), np.linspace(-1021.0, 0.0, 4000), sixteenths, np.zeros(8)]
    )
    out = np.empty_like(x)
    power(x, out)
    with mp.workdps(30):
        expected = [mp.mpf(2) ** mp.mpf(float(value)) for value in x]
        ulps = [
            abs(mp.mpf(float(got)) - want) / float(np.spacing(float(want)))
            for got, want in zip(out, expected, strict=True)
        ]
    assert max(ulps) <= 1.25
    assert (out[-8:] == 1.0).all()  # a token's weight on itself


def test_exp2_of_very_negative_numbers_is_zero_and_of_nan_is_nan() -> None:
    out = np.empty(8)
    eight_exp2(np.array([-1021.5, -1075.0, -1e4, -1e300, -np.inf, np.nan, -1021.0, 0.0]), out)
    assert (out[:5] == 0.0).all()
    assert np.isnan(out[5])
    assert out[6] == 2.0**-1021


@compiled
def sixteen_exp2(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """2^x sixteen at a time, in single precision."""
    for i in range(0, x.size, 2 * LANES):
        store(out, i, exp2_singles(load(x, i)))


def test_exp2_in_single_precision_is_right_to_about_one_unit_and_of_nan_is_nan() -> None:
    x = np.concatenate([np.linspace(-126.0, 0.0, 8000), [np.nan] * 8, np.zeros(8)]).astype(np.float32)
    out = np.empty_like(x)
    sixteen_exp2(x, out)
    exact = 2.0 ** x[:8000].astype(np.float64)
    assert (np.abs(out[:8000] - exact) / np.spacing(exact.astype(np.float32))).max() <= 1.25
    assert np.isnan(out[8000:8008]).all()
    assert (out[8008:] == 1.0).all()


def test_exp_of_very_negative_numbers_is_zero_and_of_nan_is_nan() -> None:
    # A NaN score must not come out as an ordinary weight: nothing downstream could tell.
    x = np.array([-708.5, -745.0, -1e4, -1e300, -np.inf, np.nan, -708.0, 0.0])
    out = np.empty_like(x)
    eight_exp(x, out)
    assert (out[:5] == 0.0).all()
    assert np.isnan(out[5])
    assert out[6] == pytest.approx(math.exp(-708.0), rel=2 * EPS)


def test_sine_and_cosine_are_right_to_about_one_unit_in_the_last_place() -> None:
    rng = np.random.default_rng(0)
    # where they nearly vanish
    special = np.concatenate(
        [math.pi / 4 * np.arange(-400, 400), math.pi / 2 * rng.integers(-600_000, 600_000, 1200)]
    )
    x = np.concatenate(
        [
            rng.uniform(-math.pi, math.pi, 2000),
            rng.uniform(-1e6, 1e6, 2000),
            special,
            np.geomspace(1e-300, 1.0, 1000),
        ]
    )
    sine, cosine = np.empty_like(x), np.empty_like(x)
    eight_sincos(x, sine, cosine)
    with mp.workdps(40):
        for got, function in ((sine, mp.sin), (cosine, mp.cos)):
            want = [function(mp.mpf(float(value))) for value in x]
            errors = np.array([float(abs(mp.mpf(float(a)) - b)) for a, b in zip(got, want, strict=True)])
            # pi / 2 is taken off n times to 107 bits: 1.5e-33 n is left, more than a unit in the last place
            # only of values below 1e-17 n
            allowed = 1.5 * np.spacing(np.abs(np.array(want, dtype=float))) + 1.5e-33 * np.abs(x)
            assert (errors <= allowed).all(), (function, x[int(np.argmax(errors / allowed))])


@compiled
def eight_briefs(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """2^x eight at a time, as loose velocities have it."""
    for i in range(0, x.size, LANES):
        a, f = exp2_brief_split(load(x, i))
        store(out, i, exp2_brief_power(a, f))


def test_brief_powers_are_as_exact_as_stated() -> None:
    x = np.concatenate([np.linspace(-1020.0, 1000.0, 4000), np.linspace(-1.0, 0.0, 4000)])
    out = np.empty_like(x)
    eight_briefs(x, out)
    assert np.abs(out / 2.0**x - 1.0).max() <= EXP2_BRIEF_ERROR + 4.0 * EPS
