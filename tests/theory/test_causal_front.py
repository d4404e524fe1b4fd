"""The limit of many tokens in s = ln k: its velocities, its linear growth, and tokens it continues."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import InputError
from nucleate.theory.causal_front import (
    _ratios,
    _System,
    all_seen_density,
    continue_tokens,
    front_speed,
    mode_power,
    seen_density,
)
from nucleate.theory.onset import mode_growth


def on_circle(theta: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(theta), np.sin(theta)], -1)


def test_tokens_move_as_causal_attention_moves_them() -> None:
    x = nc.uniform(30, 2, 1)
    theta = np.arctan2(x[:, 1], x[:, 0])
    velocity = _System(30, 0, 8, np.zeros(0), _ratios(20.0), 20.0).parts(theta)[0]
    drift = nc.drift(nc.Attention(20.0), x)
    # modes left out have I_m / I_0 below 1e-6
    np.testing.assert_allclose(velocity, x[:, 0] * drift[:, 1] - x[:, 1] * drift[:, 0], atol=1e-6)


def test_seen_weights_are_sums_over_pairs() -> None:
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, 40)
    weight = np.exp(9.0 * np.cos(theta[:, None] - theta)) / np.i0(9.0)  # (k, j)
    expected = [weight[k, :k].mean() - 1.0 for k in range(1, 40)]
    np.testing.assert_allclose(seen_density(theta, 9.0)[1:], expected, atol=1e-6)
    everyone = (weight.sum() - np.trace(weight)) / (40 * 39) - 1.0
    assert all_seen_density(theta, 9.0) == pytest.approx(everyone, abs=1e-6)


def test_power_grows_as_prefix_sums_of_independent_noise_do() -> None:
    """dS_k/dt = lambda sum_{j<=k} S_j / j, S_k(0) a sum of k independent terms."""
    from scipy.linalg import expm

    k, beta, t = 300, 16.0, 0.8
    a = float(mode_growth(6, beta)) * t
    before = np.tril(np.ones((k, k)))
    sums = expm(a * before / np.arange(1, k + 1)) @ before  # (k, k) S(t) of the first noise
    power = (sums[-1] ** 2).sum() / k**2
    # sums stand for integrals over s: the first tokens, 1 / k of them, are off by a factor
    assert mode_power(k, beta, t, 6) == pytest.approx(power, rel=0.05)
    assert front_speed(beta) == pytest.approx(4.0 * float(mode_growth(6, beta)))


def test_the_limit_continues_tokens_that_are_spread_evenly() -> None:
    first, n, beta = 60, 2000, 16.0
    x = nc.uniform(n, 2, 3)
    x[first:] = on_circle(
        np.pi * (1.0 + np.sqrt(5.0)) * np.arange(first, n)
    )  # the golden angle: hardly noise
    times = [0.0, 2.0, 4.0]
    run = nc.simulate(nc.Attention(beta), x, times[-1], save=times, rtol=1e-5)
    seen = seen_density(np.arctan2(run.x[..., 1], run.x[..., 0]), beta)  # (3, n)
    limit = continue_tokens(x[:first], beta, times, np.log(n), cells=16, particles=96)
    edges = np.exp(np.linspace(np.log(first), np.log(n), 17)).astype(int)
    for c in (8, 15):
        measured = seen[:, edges[c] : edges[c + 1]].mean(1)
        # tokens spread evenly keep away from each other, of which each sees 1 / k of e^beta / I_0 = 10
        np.testing.assert_allclose(limit.seen[:, c], measured, rtol=0.05, atol=10.0 / edges[c])
    assert limit.seen[2, 15] > 0.03


def test_tokens_off_the_circle_and_an_end_before_the_first_are_refused() -> None:
    with pytest.raises(InputError, match="on the circle"):
        continue_tokens(nc.uniform(5, 3, 0), 9.0, [1.0], 9.0)
    with pytest.raises(InputError, match="end must be"):
        continue_tokens(nc.uniform(5, 2, 0), 9.0, [1.0], 1.0)
