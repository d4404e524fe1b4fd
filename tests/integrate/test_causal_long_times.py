"""The causal solver over whole lives, up to times of 1e300: merge times, consensus, the finest tolerances."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.linalg import expm
from support.places import apart, on_circle

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.checks import Array

GAP = 0.25  # between clusters at beta = 64: twice the distance of strongest attraction


def merge_times(run: Any, tokens: int | None = None) -> Array:
    """When the number of clusters on the circle falls for good, a cluster ending where the next token is
    farther than GAP.

    Clusters form before they merge: the count at a time is the largest from there on.
    """
    angle = np.sort(np.arctan2(run.x[:, :tokens, 1], run.x[:, :tokens, 0]), axis=1)  # (m, n)
    around = np.diff(angle, axis=1, append=angle[:, :1] + 2 * np.pi)
    now = np.maximum((around > GAP).sum(1), 1)
    count = np.maximum.accumulate(now[::-1])[::-1]
    return np.asarray(np.repeat(run.t[1:], -np.diff(count)))


def late(times: Array) -> Array:
    """A step passes GAP within about one unit of time: only of times beyond 1e5 does that leave 1e-5 open."""
    return times[times > 1e5]


def whole_life(x0: Array, **options: Any) -> Any:
    run = nc.simulate(Attention(64.0), x0, 1e60, save="steps", method="causal", **options)
    assert run.status == "done"
    return run


def test_two_hundred_tokens_live_to_1e60_and_end_at_the_first() -> None:
    for method in ("causal", "auto"):
        x0 = nc.uniform(200, 2, seed=0)
        run = nc.simulate(Attention(64.0), x0, 1e60, method=method)
        assert run.status == "done"
        assert apart(run.x[-1], x0[0]) < 1e-9
        assert run.steps < 5000
        assert np.array_equal(run.x[:, 0], np.broadcast_to(run.x[0, 0], run.x[:, 0].shape))


def test_merge_times_stand_under_a_hundredfold_tighter_tolerance() -> None:
    x0 = nc.uniform(60, 2, seed=1)
    loose, tight = (late(merge_times(whole_life(x0, rtol=rtol, atol=rtol / 100))) for rtol in (1e-8, 1e-10))
    assert len(loose) >= 3
    assert np.allclose(loose, tight, rtol=1e-4, atol=0.0)


def test_merge_times_do_not_depend_on_how_the_circle_is_turned() -> None:
    x0 = nc.uniform(60, 2, seed=2)
    angle = np.arctan2(x0[:, 1], x0[:, 0])
    one, other = (late(merge_times(whole_life(on_circle(angle + turn)))) for turn in (0.0, 2.0))
    assert len(one) >= 3
    assert np.allclose(one, other, rtol=1e-4, atol=0.0)


def test_merge_times_of_the_first_tokens_do_not_depend_on_later_ones() -> None:
    x0 = nc.uniform(60, 2, seed=3)
    alone, among = late(merge_times(whole_life(x0[:30]))), late(merge_times(whole_life(x0), 30))
    assert len(alone) >= 3
    assert np.allclose(alone, among, rtol=1e-4, atol=0.0)


def test_random_q_and_k_on_the_sphere_end_at_the_first_token() -> None:
    Q, K = np.random.default_rng(0).standard_normal((2, 3, 3)) / np.sqrt(3)
    x0 = nc.uniform(30, 3, seed=0)
    run = nc.simulate(Attention(8.0, Q, K), x0, 1e60, method="causal", max_steps=20_000)  # Theorem 4.1
    assert run.status == "done"
    assert apart(run.x[-1], x0[0]) < 1e-9


@pytest.mark.parametrize("d", [2, 5])
def test_consensus_is_reached_as_e_to_the_minus_half_t(d: int) -> None:
    # Near the limit every token sees all earlier ones alike, whatever Q and K: u' = (M - 1) u, M_kj = 1/k for
    # j <= k; u_2 = u_2(0) e^{-t/2}.
    rng = np.random.default_rng(d)
    n, size = 10, 1e-5
    u0 = np.concatenate([np.zeros((1, d - 1)), size * rng.standard_normal((n - 1, d - 1))])
    x0 = np.concatenate([np.ones((n, 1)), u0], axis=1)
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    M = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    times = np.linspace(0.0, 24.0, 13)
    exact = np.stack([expm(t * (M - np.eye(n))) @ u0 for t in times])
    for model in (Attention(4.0), Attention(2.0, *rng.standard_normal((2, d, d)))):
        run = nc.simulate(model, x0, 24.0, save=times, rtol=1e-11, atol=1e-13, method="causal")
        # Second order in u: beta |K^T Q| times size^2; and ten tolerances.
        assert np.allclose(
            run.x[:, :, 1:], exact, rtol=1e-3, atol=2e-8 * np.exp(-0.5 * times)[:, None, None] + 1e-10
        )


@pytest.mark.parametrize("d", [2, 3])
def test_a_window_of_two_delays_consensus_by_t_to_the_n_minus_two(d: int) -> None:
    # Linearised, u_k' = (u_{k-1} - u_k) / 2, u_1 = 0: from u_k = e for all k > 1, u_n = e e^{-t/2} sum_{i <=
    # n-2} (t/2)^i / i!.
    n, start = 8, 1e-4
    x0 = np.zeros((n, d))
    x0[:, 0], x0[1:, 1] = 1.0, start
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    times = np.linspace(0.0, 40.0, 21)
    run = nc.simulate(
        Attention(4.0, mask=Window(2)), x0, 40.0, save=times, rtol=1e-11, atol=1e-13, method="causal"
    )
    series = np.cumsum([(times / 2) ** i / float(mp.factorial(i)) for i in range(n - 1)], axis=0)[-1]
    gap = np.linalg.norm(run.x[:, -1] - run.x[:, 0], axis=-1)
    assert np.allclose(gap, start * np.exp(-times / 2) * series, rtol=1e-3, atol=1e-10)


@pytest.mark.parametrize("t", [1e100, 1e300, 1.7e308])
def test_time_may_be_as_long_as_a_double_can_say(t: float) -> None:
    for n in (1, 2, 20):
        x0 = nc.uniform(n, 2, seed=1)
        for method in ("causal", "auto"):
            run = nc.simulate(Attention(30.0), x0, t, method=method)
            assert run.status == "done"
            assert run.t[-1] == t
            assert apart(run.x[-1], x0[0]) < 1e-9


@pytest.mark.parametrize("rtol", [1e-11, 1e-12, 1e-13])
def test_the_finest_tolerances_cost_more_steps_but_not_all_of_them(rtol: float) -> None:
    x0 = nc.uniform(30, 2, seed=0)
    run = nc.simulate(
        Attention(64.0), x0, 1e60, rtol=rtol, atol=rtol / 100, method="causal", max_steps=10_000
    )
    assert run.status == "done"
    assert apart(run.x[-1], x0[0]) < 1e-9


def test_a_token_near_a_shallow_equilibrium_does_not_hold_up_the_others() -> None:
    # From t = 1e36 a token is near an equilibrium where J is -1e-6: it answers rounding errors a million
    # times enlarged, and errors above the tolerance are none of the step's making. Counted as if they were,
    # they held steps below 1e6 for ever.
    from nucleate.papers.causal_clustering.theorem41.data import end_time, scores
    from nucleate.studies.points import stream

    Q, K = scores(8, 0, range(6, 7))
    x0 = nc.uniform(64, 8, stream(0, 6))
    run = nc.simulate(
        Attention(64.0, Q=Q[0], K=K[0]), x0, end_time(64.0, Q, K, 64), save=2, max_steps=6000, method="causal"
    )
    assert run.status == "done"
    assert np.abs(run.x[-1] - x0[0]).max() < 1e-11  # all of them, as Theorem 4.1 says
