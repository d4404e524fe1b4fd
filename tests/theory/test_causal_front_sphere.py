"""The limit of many tokens on the sphere: linear growth, its error, tokens that it continues, noise."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import Array, InputError
from nucleate.kernels.harmonics import degrees, norms, pairs_of
from nucleate.theory.causal_front import fastest_degree, mode_power, mode_rates
from nucleate.theory.causal_front_sphere import (
    _harmonic_field,
    _on_sphere,
    _runge_kutta,
    _solve,
    _starts,
    _System,
    _uniform_weight,
    continue_on_sphere,
    seen_on_sphere,
)
from nucleate.theory.causal_front_sphere_velocities import gradients_into


def powers(place: Array, share: Array, degree: int) -> Array:
    """The square of the mean over starts of the harmonics of a degree, each of mean square 1, averaged over
    these: places (C, P, 3), share (P,) -> (C,).  As sum P_l(<x, y>) over all pairs, by the addition law."""
    found = []
    for x in place:
        u = np.clip(x @ x.T, -1.0, 1.0)  # (P, P)
        before, legendre = np.ones_like(u), u
        for ell in range(1, degree):
            before, legendre = legendre, ((2 * ell + 1) * u * legendre - ell * before) / (ell + 1)
        found.append(share @ legendre @ share)
    return np.array(found)


def planted_way(system: _System, degree: int, order: int) -> Array:
    """The gradient of one harmonic of mean square 1, over l (l + 1), at the starts, (3, P)."""
    ell, m = pairs_of(system.L)
    row = int(np.flatnonzero((ell == degree) & (m == order))[0])
    weight = np.zeros(len(ell))
    weight[row] = np.sqrt((2 * degree + 1) * norms(system.L)[0][row]) / (degree * (degree + 1))
    some = _harmonic_field(weight, system.L)
    some.base[0, 2 * row] = 1.0
    found = np.empty_like(system.starts.place)
    gradients_into(some, system.starts.place, found)
    return found


def golden(n: int) -> Array:
    """Tokens that are spread evenly, however many of the first of them are taken (the R2 sequence)."""
    g = 1.32471795724474602596  # g^3 = g + 1
    u = (np.arange(1, n + 1)[:, None] * np.array([1.0 / g, 1.0 / g**2]) + 0.5) % 1.0
    z, phi = 2.0 * u[:, 0] - 1.0, 2.0 * np.pi * u[:, 1]
    r = np.sqrt(1.0 - z**2)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], 1)


def test_the_starts_have_no_modes_of_the_degrees_used() -> None:
    starts = _starts(9, 1)
    share = np.repeat(starts.share, starts.place.shape[1] // len(starts.share))
    assert share.sum() == pytest.approx(1.0, abs=1e-14)
    for degree in range(1, 10):
        assert powers(starts.place.T[None], share, degree)[0] == pytest.approx(0.0, abs=1e-14)


def test_degrees_left_out_weigh_next_to_nothing() -> None:
    for beta in (0.5, 8.0, 40.0):
        u = np.linspace(-1.0, 1.0, 2001)
        mean = np.exp(beta * (u - 1.0)).sum() * 0.0005  # over the sphere: half of the integral over u
        assert _uniform_weight(beta) == pytest.approx(mean, rel=0.05)
        assert degrees(beta, 3, 1e-3 * _uniform_weight(beta)) < 4.5 * np.sqrt(beta) + 8.0


@pytest.mark.parametrize(("degree", "order"), [(3, 0), (4, 3)])
def test_a_small_mode_grows_through_later_cells_as_the_bessel_law_says(degree: int, order: int) -> None:
    """M(s, t) = M(s', 0) I_0(2 sqrt(lambda t (s - s'))) for a mode planted in one narrow cell at s', with
    evenly spread tokens before it and behind."""
    from scipy.special import i0

    beta, t, width, small = 8.0, 2.0, 1.0 / 32.0, 1e-7
    edges = np.exp(np.arange(0.0, 3.0, width))
    tokens = np.append(1.0, np.diff(edges))  # the first cell is all that comes before s = 0
    L = degrees(beta, 3, 1e-3 * _uniform_weight(beta))
    system = _System(tokens, _starts(L, 1), beta, L)
    moved = np.zeros((len(tokens), *system.starts.place.shape))
    way = planted_way(system, degree, order)
    moved[1] = _on_sphere(system.starts.place, small * way[None])[0]
    state = (np.zeros((0, 3)), moved)
    for _ in range(10):
        state = _runge_kutta(system, state, t / 10.0)
    share = np.repeat(system.starts.share, way.shape[1] // len(system.starts.share))
    # to first order the mean of the harmonic is that of its gradient along the way
    mean = degree * (degree + 1) * (state[1] * way * share).sum((1, 2))  # (C,)
    M, s = np.cumsum(tokens * mean)[1:], np.log(edges)[1:] - width / 2.0  # from the planted cell's middle
    M = M[: len(s)]
    rate = float(mode_rates(degree, beta, 3))
    law = small * tokens[1] * i0(2.0 * np.sqrt(rate * t * s))
    # cells: their half sees itself
    np.testing.assert_allclose(M / law, 1.0, atol=0.02)
    assert M[-1] / M[0] > 10.0


def test_modes_far_ahead_of_the_front_are_not_lost_in_rounding() -> None:
    """Velocities are linear in ways where these are small, be they ever so small; of places nothing would be
    left."""
    beta, L = 8.0, 12
    system = _System(np.array([1e30]), _starts(L, 1), beta, L)
    way = planted_way(system, 4, 2)[None]
    velocity = [
        system.velocities(np.zeros((0, 3)), _on_sphere(system.starts.place, small * way))[1] / small
        for small in (1e-6, 1e-25)
    ]
    assert np.abs(velocity[0]).max() > 0.1 * np.abs(way).max()
    np.testing.assert_allclose(velocity[1], velocity[0], atol=1e-4 * np.abs(velocity[0]).max())


def test_ends_of_ways_are_on_the_sphere_and_small_ways_keep_their_digits() -> None:
    start = nc.uniform(40, 3, 0).T
    moved = 0.3 * np.random.default_rng(1).standard_normal((5, 3, 40))
    np.testing.assert_allclose(np.linalg.norm(start + _on_sphere(start, moved), axis=1), 1.0, atol=1e-14)
    across = moved - (moved * start).sum(1, keepdims=True) * start
    np.testing.assert_allclose(_on_sphere(start, 1e-20 * across), 1e-20 * across, atol=1e-34)
    inward = -0.5 * (across**2).sum(1, keepdims=True) * start  # to second order
    # 1e-8 of it: |start|^2 - 1 and <start, across> are rounded
    np.testing.assert_allclose(_on_sphere(start, 1e-9 * across) - 1e-9 * across, 1e-18 * inward, atol=1e-23)


def test_seen_weights_are_sums_over_pairs() -> None:
    x, beta = nc.uniform(60, 3, 4), 9.0
    weight = np.exp(beta * (x @ x.T - 1.0)) / _uniform_weight(beta)  # (k, j)
    expected = [weight[k, :k].mean() - 1.0 for k in range(1, 60)]
    np.testing.assert_allclose(seen_on_sphere(x, beta)[1:], expected, atol=1e-3)  # degrees left out


def test_turned_tokens_have_a_turned_limit() -> None:
    x0, times, beta = nc.uniform(60, 3, 3), [0.0, 1.0, 3.0], 8.0
    once = continue_on_sphere(x0, beta, times, np.log(2000.0), halvings=0)
    c, s = np.cos(0.7), np.sin(0.7)
    for turn in (
        np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),  # the poles to the equator
        np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]),
    ):
        again = continue_on_sphere(x0 @ turn.T, beta, times, np.log(2000.0), halvings=0)
        # sums over starts are exact at the beginning, and less so when clusters are narrow
        off = np.abs(again.seen - once.seen).max(1) / once.seen.max()  # (T,)
        assert (off < [1e-15, 3e-4, 0.01]).all()


def test_the_method_is_of_fourth_order_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    x0, found = nc.uniform(60, 3, 3), []
    for step in (0.4, 0.2, 0.1):
        monkeypatch.setattr("nucleate.theory.causal_front_sphere.STEP", step)
        found.append(_solve(x0, 8.0, np.array([0.0, 2.0]), np.log(2000.0), 8, 1, None).seen[1])
    first, second = (np.abs(found[i] - found[i + 1]).max() for i in (0, 1))
    assert 11.0 < first / second < 24.0  # 16 in the limit
    assert second < 1e-5 * found[2].max()


def test_halving_cells_and_distances_divides_the_error() -> None:
    x0, times, end = nc.uniform(60, 3, 3), [0.0, 2.0, 4.0], np.log(300.0)
    once = continue_on_sphere(x0, 4.0, times, end, halvings=1, tol=1e-9)
    twice = continue_on_sphere(x0, 4.0, times, end, halvings=2, tol=1e-9)
    assert once.seen.shape[1] == 2 * once.coarser.shape[1]
    assert once.error < 0.02 * once.seen.max()
    assert twice.error < 0.5 * once.error
    assert np.isinf(continue_on_sphere(x0, 4.0, times, end, halvings=0).error)


def test_the_limit_continues_tokens_that_are_spread_evenly_the_better_the_more_they_are() -> None:
    beta, times, off = 8.0, [0.0, 2.0, 4.0, 6.0], []
    for first, n in ((200, 800), (200, 12_800)):
        x = nc.uniform(n, 3, 3)
        x[first:] = golden(n - first)
        run = nc.simulate(nc.Attention(beta), x, times[-1], save=times, rtol=1e-5)
        limit = continue_on_sphere(x[:first], beta, times, np.log(n), halvings=0)
        edges = np.exp(np.linspace(np.log(first), np.log(n), len(limit.s) + 1)).astype(int)
        last = np.arange(edges[-2], edges[-1], 5)
        weight = [np.exp(beta * (x_t[last] @ x_t.T - 1.0)) / _uniform_weight(beta) for x_t in run.x]
        seen = [np.mean([row[:k].mean() for k, row in zip(last, one, strict=True)]) - 1.0 for one in weight]
        assert seen[-1] > 0.5
        off.append(np.abs(np.array(seen) - limit.seen[:, -1]).max() / seen[-1])
    assert off[1] < 0.03
    assert off[1] < 0.5 * off[0]


def test_noise_has_the_power_of_as_many_tokens_and_comes_from_its_seed() -> None:
    beta, degree, power = 8.0, 4, []
    first = nc.uniform(2000, 3, 0)
    for seed in range(12):
        limit = continue_on_sphere(first, beta, [0.0], np.log(8000.0), noise=seed, halvings=0)
        tokens = np.exp(limit.s) * 2.0 * np.sinh((limit.s[1] - limit.s[0]) / 2.0)  # (C,)
        power.append((powers(limit.start + limit.moved, limit.share, degree) * tokens).mean())
    assert np.mean(power) == pytest.approx(1.0, abs=0.2)  # 12 * 6 * 9 squares, and second-order terms
    again = continue_on_sphere(first, beta, [0.0], np.log(8000.0), noise=11, halvings=0)
    np.testing.assert_array_equal(limit.moved, again.moved)


def test_noise_of_few_tokens_is_too_weak_by_a_third() -> None:
    power = []
    for seed in range(60):
        limit = continue_on_sphere(nc.uniform(300, 3, 0), 8.0, [0.0], np.log(385.0), noise=seed, halvings=0)
        assert limit.seen.shape == (1, 1)
        power.append(85.0 * powers(limit.start + limit.moved, limit.share, 4)[0])
    assert np.mean(power) == pytest.approx(2.0 / 3.0, abs=0.13)  # 540 squares


def test_noise_and_first_tokens_grow_to_the_power_of_independent_tokens() -> None:
    """Of the mean over all tokens, first ones and those behind, at a later time."""
    beta, t, n, power = 8.0, 0.8, 1000, []
    degree = fastest_degree(beta, 3)
    for seed in range(30):
        x0 = nc.uniform(n, 3, seed)
        limit = continue_on_sphere(x0, beta, [t], np.log(20_000.0), noise=seed, halvings=0)
        end = nc.simulate(nc.Attention(beta), x0, t, save=2, rtol=1e-5).x[-1]
        tokens = np.exp(limit.s) * 2.0 * np.sinh((limit.s[1] - limit.s[0]) / 2.0)  # (C,)
        place = np.concatenate([end, (limit.start + limit.moved).reshape(-1, 3)])
        share = np.concatenate([np.ones(n), np.outer(tokens, limit.share).ravel()]) / 20_000.0
        values = _modes(place, degree)  # (tokens, modes)
        power.append((np.abs(share @ values) ** 2).sum() / (2 * degree + 1))
    expected = float(mode_power(20_000.0, beta, t, degree, 3))
    # 270 squares, and terms of higher order in modes of 0.1
    assert np.mean(power) == pytest.approx(expected, rel=0.25)
    assert expected > 2.0 / 20_000.0


def _modes(x: Array, degree: int) -> Array:
    from nucleate.papers.open_questions.causal_front.data import mode_values

    return np.asarray(mode_values(x, degree) * np.sqrt(2.0 * degree + 1.0))


def test_tokens_off_the_sphere_and_an_end_before_the_first_are_refused() -> None:
    with pytest.raises(InputError, match="continue_tokens"):
        continue_on_sphere(nc.uniform(5, 2, 0), 9.0, [1.0], 9.0)
    with pytest.raises(InputError, match="end must be"):
        continue_on_sphere(nc.uniform(5, 3, 0), 9.0, [1.0], 1.0)
