"""The limit of many tokens in s = ln k: its velocities, its linear growth, its error, tokens it continues."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import Array, InputError
from nucleate.theory.causal_front import (
    _draws,
    _ratios,
    _System,
    cell_front_speed,
    continue_tokens,
    fastest_degree,
    front_places,
    front_speed,
    mode_power,
    mode_rates,
    seen_density,
)
from nucleate.theory.onset import fastest_mode, mode_growth


def on_circle(theta: Array) -> Array:
    return np.stack([np.cos(theta), np.sin(theta)], -1)


def test_rates_on_the_circle_are_those_of_the_onset_and_on_spheres_those_of_the_drift() -> None:
    m = np.arange(30)
    np.testing.assert_allclose(mode_rates(m, 64.0), mode_growth(m, 64.0), rtol=1e-12)
    assert fastest_degree(64.0) == fastest_mode(64.0)
    assert float(mode_rates(11, 64.0)) == pytest.approx(0.73088, abs=5e-6)
    # of degree 1 on the sphere: the mean of u (1 - u^2) e^{beta u} ... integrated by hand: 2 L(beta) / beta
    beta = 4.0
    langevin = 1.0 / np.tanh(beta) - 1.0 / beta
    assert float(mode_rates(1, beta, 3)) == pytest.approx(2.0 * langevin / beta)


def test_tokens_move_as_causal_attention_moves_them() -> None:
    x = nc.uniform(30, 2, 1)
    theta = np.arctan2(x[:, 1], x[:, 0])
    spread = np.zeros((len(_ratios(20.0)), 8), dtype=np.complex128)
    system = _System(30, np.zeros(0), spread, _ratios(20.0), 20.0)
    velocity = system.velocities(theta, np.zeros((0, 8)))[0]
    drift = nc.drift(nc.Attention(20.0), x)
    # modes left out have I_m / I_0 below 1e-6
    np.testing.assert_allclose(velocity, x[:, 0] * drift[:, 1] - x[:, 1] * drift[:, 0], atol=1e-6)


def test_half_the_time_step_changes_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x0, times = nc.uniform(60, 2, 3), [0.0, 2.0, 8.0]
    whole = continue_tokens(x0, 16.0, times, np.log(4000.0), halvings=0)
    monkeypatch.setattr("nucleate.theory.causal_front.STEP", 0.1)
    half = continue_tokens(x0, 16.0, times, np.log(4000.0), halvings=0)
    assert np.abs(half.seen - whole.seen).max() < 1e-4 * half.seen.max()


def test_noise_is_not_that_of_the_tokens_of_the_same_seed() -> None:
    noise = _draws(5, 50, 2)
    tokens = np.random.default_rng(5).standard_normal((2, 50, 2)) / np.sqrt(2.0)
    assert abs(np.corrcoef(noise.real.ravel(), tokens[0].ravel())[0, 1]) < 0.4  # 4 / sqrt(100)


def test_seen_weights_are_sums_over_pairs() -> None:
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, 40)
    weight = np.exp(9.0 * np.cos(theta[:, None] - theta)) / np.i0(9.0)  # (k, j)
    expected = [weight[k, :k].mean() - 1.0 for k in range(1, 40)]
    np.testing.assert_allclose(seen_density(theta, 9.0)[1:], expected, atol=1e-6)


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


def test_the_front_moves_at_the_derivative_of_its_place() -> None:
    t = np.array([10.0, 10.001])
    speed = np.diff(front_places(t, 16.0)) / 0.001
    assert speed[0] == pytest.approx(front_speed(16.0) - 0.15, abs=1e-4)


def test_in_narrow_cells_a_front_is_as_fast_as_in_none_and_in_wide_ones_slower() -> None:
    assert cell_front_speed(25.0, 1e-3) == pytest.approx(front_speed(25.0), rel=1e-6)
    assert cell_front_speed(25.0, 0.25) == pytest.approx(0.9961 * front_speed(25.0), rel=1e-4)


def test_a_disturbance_in_cells_grows_as_their_speed_says() -> None:
    """dF_c/dt = lambda (sum of w F before, and half of the cell's own) / (tokens before the middle)."""
    h, q, c = 0.25, 0.5, np.arange(400)
    weight = np.exp(h * c) * (np.exp(h) - 1.0)
    part = weight * np.exp(-q * h * c)
    before = (np.cumsum(part) - part / 2.0) / (np.cumsum(weight) - weight / 2.0)
    growth = before[-1] / np.exp(-q * h * c[-1])  # over lambda
    assert front_speed(9.0) / 4.0 * growth / q == pytest.approx(cell_front_speed(9.0, h), rel=1e-4)


def test_far_ahead_of_the_front_the_limit_grows_as_the_linear_law_says() -> None:
    """M(s, t) = M(s_0, 0) I_0(2 sqrt(lambda t (s - s_0))) where all but the first tokens are spread evenly:
    here these hardly move, being spread evenly themselves but for one mode."""
    from scipy.special import i0

    n, beta, m, t = 400, 16.0, 6, 1.0
    even = 2.0 * np.pi * np.random.default_rng(0).permutation(n) / n
    x0 = on_circle(even + 1e-6 * np.sin(m * even))
    limit = continue_tokens(x0, beta, [0.0, t], np.log(n) + 4.0, halvings=1)
    where = np.exp(1j * m * (limit.start + limit.moved[-1]))  # (C, P)
    mode = np.abs(where.mean(1))  # (C,) f, not mu
    s = limit.s - np.log(n)
    rate = float(mode_growth(m, beta))
    # f = e^{-s} dM/ds; M(0, t) itself stays M_0 up to what the first tokens do, which starts at s = 0
    step = 1e-4
    slope = (i0(2.0 * np.sqrt(rate * t * (s + step))) - i0(2.0 * np.sqrt(rate * t * (s - step)))) / (
        2.0 * step
    )
    ratio = mode / (slope * np.exp(-s))
    # the first tokens grow too, as e^{lambda t} at most, not as a mode of a causal sum: only the shape counts
    late = s > 2.0
    np.testing.assert_allclose(ratio[late] / ratio[late].mean(), 1.0, atol=0.15)


def test_the_limit_continues_tokens_that_are_spread_evenly_within_its_error() -> None:
    first, n, beta = 60, 2000, 16.0
    x = nc.uniform(n, 2, 3)
    # the golden angle: hardly noise
    x[first:] = on_circle(np.pi * (1.0 + np.sqrt(5.0)) * np.arange(first, n))
    times = [0.0, 2.0, 4.0]
    run = nc.simulate(nc.Attention(beta), x, times[-1], save=times, rtol=1e-5)
    seen = seen_density(np.arctan2(run.x[..., 1], run.x[..., 0]), beta)  # (3, n)
    limit = continue_tokens(x[:first], beta, times, np.log(n), halvings=1)
    assert limit.error < 0.05 * limit.seen.max()
    edges = np.exp(np.linspace(np.log(first), np.log(n), len(limit.s) + 1)).astype(int)
    for c in (len(limit.s) // 2, len(limit.s) - 1):
        measured = seen[:, edges[c] : edges[c + 1]].mean(1)
        # tokens spread evenly keep away from each other, of which each sees 1 / k of e^beta / I_0 = 10
        np.testing.assert_allclose(limit.seen[:, c], measured, rtol=0.05, atol=10.0 / edges[c])
    assert limit.seen[2, -1] > 0.03


def test_noise_has_the_power_of_as_many_tokens_and_comes_from_its_seed() -> None:
    first = nc.uniform(200, 2, 0)
    power = []
    for seed in range(40):
        limit = continue_tokens(first, 9.0, [0.0], np.log(4000.0), noise=seed, halvings=0)
        mode = np.exp(2j * (limit.start + limit.moved[0])).mean(1)  # (C,)
        width = limit.s[1] - limit.s[0]
        tokens = np.exp(limit.s) * 2.0 * np.sinh(width / 2.0)  # (C,)
        power.append((np.abs(mode) ** 2 * tokens).mean())
    assert np.mean(power) == pytest.approx(1.0, abs=0.2)  # 40 * 12 squares, and second-order terms
    again = continue_tokens(first, 9.0, [0.0], np.log(4000.0), noise=39, halvings=0)
    np.testing.assert_array_equal(limit.moved, again.moved)


def test_tokens_off_the_circle_and_an_end_before_the_first_are_refused() -> None:
    with pytest.raises(InputError, match="on the circle"):
        continue_tokens(nc.uniform(5, 3, 0), 9.0, [1.0], 9.0)
    with pytest.raises(InputError, match="end must be"):
        continue_tokens(nc.uniform(5, 2, 0), 9.0, [1.0], 1.0)
