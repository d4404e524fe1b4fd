"""Rates of growth out of the uniform law: against the equation itself, and the values known beforehand."""

import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.checks import InputError
from nucleate.theory.onset import fastest_mode, mode_growth


@pytest.mark.parametrize("weights", ["softmax", "exponential"])
@pytest.mark.parametrize(("k", "beta"), [(1, 0.0), (1, 2.0), (3, 5.0), (7, 5.0), (6, 16.0)])
def test_a_rate_is_that_of_the_velocities_of_many_tokens(k: int, beta: float, weights: str) -> None:
    # tokens at the quantiles of 1 + eps cos(k theta): velocities are -(rate / k) eps sin(k theta)
    n, eps = 400, 1e-6
    u = 2.0 * np.pi * np.arange(n) / n
    theta = u - eps * np.sin(k * u) / k
    x = np.stack([np.cos(theta), np.sin(theta)], -1)
    v = drift(Attention(beta=beta, mask="full", weights=weights), x)  # type: ignore[arg-type]  # plain texts
    along = (v * np.stack([-x[:, 1], x[:, 0]], -1)).sum(-1)
    measured = -2.0 * k * (along * np.sin(k * u)).mean() / eps
    rate = float(mode_growth(k, beta, weights))  # type: ignore[arg-type]  # plain texts
    assert measured == pytest.approx(rate, rel=1e-5, abs=1e-8)  # eps is small, not zero; rounding over eps


def test_fastest_modes_are_those_known_beforehand() -> None:
    assert [fastest_mode(beta) for beta in (5.0, 16.0, 64.0, 256.0)] == [3, 6, 11, 23]
    assert fastest_mode(0.0) == 1
    assert fastest_mode(1e4) == pytest.approx(np.sqrt(2e4), abs=2)


def test_what_is_no_mode_is_refused() -> None:
    with pytest.raises(InputError, match=r"k must be whole numbers of at least 0, but holds 1\.5"):
        mode_growth([1, 1.5], 2.0)
    with pytest.raises(InputError, match="beta must"):
        mode_growth(1, -1.0)
    with pytest.raises(InputError, match="weights must be"):
        mode_growth(1, 1.0, "hardmax")  # type: ignore[arg-type]  # plain texts
