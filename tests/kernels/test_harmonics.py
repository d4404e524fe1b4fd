"""Spherical harmonics in NumPy: sums over them are sums of weights, and what is left out is counted."""

import math
import tracemalloc

import mpmath as mp
import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import EPS
from nucleate.kernels.harmonics import coefficients, degrees, field, harmonic_sums


def test_sums_over_harmonics_are_sums_of_weights() -> None:
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 40)
    # the poles are ordinary points of the sphere
    x = np.concatenate([nc.uniform(38, 3, seed=1), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    y = nc.uniform(9, 3, seed=2)
    for z in (0.0, 1e-200, 1e-3, 1.0, 16.0, 150.0):
        L = degrees(z, 3)
        Z, output = field(harmonic_sums(x, weight, L), z, L, y)
        w = np.exp(z * (y @ x.T - 1.0)) * weight  # (9, 40)
        # a few roundings of every token, and what beta |<y, x>| rounds
        np.testing.assert_allclose(Z, w.sum(1), rtol=0, atol=40 * 40 * EPS, err_msg=f"{z}")
        np.testing.assert_allclose(output, w @ x, rtol=0, atol=40 * 40 * EPS, err_msg=f"{z}")


def _scaled_bessel(ell: int, z: float, d: int) -> mp.mpf:
    nu = mp.mpf(d) / 2 - 1
    return mp.exp(-z) * mp.gamma(nu + 1) * (2 / mp.mpf(z)) ** nu * mp.besseli(ell + nu, z)


def _harmonics_of_degree(ell: int, d: int) -> int:
    """Those of d dimensions, from binomial coefficients."""
    return math.comb(ell + d - 1, d - 1) - (math.comb(ell + d - 3, d - 1) if ell > 1 else 0)


@pytest.mark.parametrize("d", [3, 4])
def test_coefficients_are_those_of_bessel_functions(d: int) -> None:
    with mp.workdps(30):
        for z in (1e-3, 2.0, 64.0, 2000.0):
            c_0, across, along = coefficients(z, 20, d)
            j = [_scaled_bessel(ell, z, d) for ell in range(22)]
            assert abs(c_0 / j[0] - 1) < 4 * EPS
            for ell in range(1, 21):
                count = _harmonics_of_degree(ell, d)
                assert abs(across[ell] * z / (count * j[ell]) - 1) < 64 * EPS, (z, ell)
                two = count * (ell * j[ell - 1] + (ell + d - 2) * j[ell + 1]) / (2 * ell + d - 2)
                assert abs(along[ell] / two - 1) < 64 * EPS, (z, ell)


@pytest.mark.parametrize("d", [3, 4])
def test_degrees_obey_their_rule(d: int) -> None:
    for z in (0.1, 7.0, 64.0):
        with mp.workdps(30):
            terms = [
                _harmonics_of_degree(ell, d) * _scaled_bessel(ell, z, d) * max(mp.mpf(1), mp.mpf(ell) / z)
                for ell in range(110)
            ]
        for truncation in (1e-8, EPS):
            L = degrees(z, d, truncation)
            assert sum(terms[L + 1 :]) < truncation <= sum(terms[L:]), (z, truncation, L)
    assert degrees(0.0, d) == 1


def test_many_tokens_are_summed_in_little_memory() -> None:
    x, weight, L = nc.uniform(20_000, 3, seed=3), np.ones(20_000), 30
    tracemalloc.start()
    S = harmonic_sums(x, weight, L)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 80e6  # all at a time: 400 MB
    parts = [harmonic_sums(x[k : k + 100], weight[:100], L) for k in range(0, 20_000, 100)]
    np.testing.assert_allclose(S, np.sum(parts, axis=0), rtol=0, atol=20_000 * EPS)
