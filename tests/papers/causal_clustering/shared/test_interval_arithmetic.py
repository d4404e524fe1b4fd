"""Interval arithmetic: every result encloses the true value, and not by much more."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from nucleate.papers.causal_clustering.shared.interval_arithmetic import (
    Interval,
    dot,
    exponential,
    interval,
    interval_array,
    product,
)


def test_quotients_hold_every_value_and_zero_is_refused() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = np.sort(rng.standard_normal(2)), np.sort(rng.uniform(0.1, 3.0, 2))
        found = Interval(a[:1], a[1:]) / Interval(b[:1], b[1:])
        values = [Fraction(p) / Fraction(q) for p in (*a, a.mean()) for q in (*b, b.mean())]
        assert Fraction(float(found.low[0])) <= min(values)
        assert max(values) <= Fraction(float(found.high[0]))
    with pytest.raises(AssertionError, match="divided by"):
        interval(1.0) / Interval(np.array([-1.0]), np.array([1.0]))


def test_the_exponential_is_enclosed_from_minus_700_to_700() -> None:
    x = np.concatenate([np.linspace(-700.0, 700.0, 201), np.linspace(-2.0, 2.0, 101), [0.0, 1e-300, -1e-9]])
    found = exponential(interval_array(x))
    with mp.workdps(60):
        for at, low, high in zip(x, found.low, found.high, strict=True):
            value = mp.exp(mp.mpf(float(at)))
            assert low <= value <= high
            # 40 roundings of the series on either side, doubled with every one of ten squarings
            assert high - low <= 1e-11 * value
    wide = exponential(Interval(np.array([-1.0]), np.array([2.0])))
    assert wide.low[0] <= np.exp(-1.0)
    assert wide.high[0] >= np.exp(2.0)


def test_products_of_matrices_and_scalar_products_hold_the_exact_ones() -> None:
    A, B = np.random.default_rng(1).standard_normal((2, 3, 3))
    found, along = (
        product(interval_array(A), interval_array(B)),
        dot(interval_array(A[0]), interval_array(B[0])),
    )
    for i in range(3):
        for k in range(3):
            value = sum((Fraction(A[i, j]) * Fraction(B[j, k]) for j in range(3)), Fraction(0))
            assert Fraction(found.low[i, k]) <= value <= Fraction(found.high[i, k])
    value = sum((Fraction(p) * Fraction(q) for p, q in zip(A[0], B[0], strict=True)), Fraction(0))
    assert Fraction(float(along.low)) <= value <= Fraction(float(along.high))
    times = product(interval_array(A), interval_array(B[:, 0]))
    assert np.array_equal(times.low, found.low[:, 0])


def test_the_least_and_the_largest_absolute_value_of_an_interval() -> None:
    x = Interval(np.array([-2.0, 1.0, -3.0]), np.array([1.0, 2.0, -1.0]))
    assert x.magnitude.tolist() == [2.0, 2.0, 3.0]
    assert x.mignitude.tolist() == [0.0, 1.0, 1.0]
    assert (-x).low.tolist() == [-1.0, -2.0, 1.0]
