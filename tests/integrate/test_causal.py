"""The causal solver, tried where it could break: exact times up to 1e50, other solvers, invariants, its own
pieces, and every way to end.

Errors are distances |x - x'| of the worst token at the worst of all saved frames, in units of rtol unless
said otherwise.
"""

import os
import signal
import threading
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from support.exact_systems import Exact, one_token, solvable, two_tokens
from support.time_limits import patient, within_wall_seconds

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array, InputError
from nucleate.integrate import causal, causal_state, causal_token
from nucleate.integrate.causal_circle import linearise_on_circle
from nucleate.integrate.causal_state import Causal, columns_for
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import pairwise_system

GAP = 0.25  # between clusters at beta = 64: twice the distance of strongest attraction


def on_circle(angles: Any) -> Array:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def apart(x: Array, y: Array) -> float:
    return float(np.linalg.norm(x - y, axis=-1).max())


def random_orthogonal(d: int, seed: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


# Two tokens: the whole life has a formula


def exact_time(start: Array, x: Array, beta: float) -> mp.mpf:
    """The exact two-token time (ours, for V = I) from the doubles as they are: in s = artanh u, and 1 -+ u
    from |x_2 -+ x_1|^2 / 2, which loses no digits."""

    def clock(pair: Array) -> mp.mpf:
        one, two = ([mp.mpf(float(c)) for c in token] for token in pair)
        lengths = [mp.sqrt(mp.fdot(token, token)) for token in (one, two)]
        one, two = ([c / length for c in token] for token, length in zip((one, two), lengths, strict=True))
        below, above = (
            mp.fsum((b + sign * a) ** 2 for a, b in zip(one, two, strict=True)) / 2 for sign in (-1, 1)
        )
        return mp.log(above / below) / 2 - (mp.ei(beta * below) + mp.exp(2 * beta) * mp.e1(beta * above)) / 2

    with mp.workdps(90):
        return clock(x) - clock(start)


@pytest.mark.parametrize("method", ["causal", "auto"])
@pytest.mark.parametrize(
    ("beta", "u0", "power"),
    [
        (9.0, 0.7, 1),
        (9.0, 0.0, 2),
        (9.0, -0.9, 6),
        (20.0, 0.8, 1),
        (20.0, 0.0, 7),
        (20.0, -0.9, 15),
        (64.0, 0.9, 2),
        (64.0, 0.0, 26),
        (64.0, -0.9, 51),
    ],
)
def test_two_tokens_meet_when_the_formula_says(beta: float, u0: float, power: int, method: Any) -> None:
    for d in (2, 3):
        x0 = np.zeros((2, d))
        x0[:, 0], x0[1, 1] = [1.0, u0], np.sqrt(1.0 - u0 * u0)
        x0 = x0 @ random_orthogonal(d, seed=d).T
        x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
        run = nc.simulate(Attention(beta), x0, 10.0 ** (power + 2), save="steps", method=method)
        assert run.status == "done"
        assert np.array_equal(run.x[:, 0], np.broadcast_to(run.x[0, 0], run.x[:, 0].shape))
        gap = np.linalg.norm(run.x[:, 1] - run.x[:, 0], axis=-1)
        # Half of the way, near the end of the wait, and close together: there many steps share one
        # floating-point time.
        for share in (0.98, 0.5, 0.1):
            i = int(np.argmax(gap < share * gap[0]))
            t = exact_time(x0, run.x[i], beta)
            assert abs(run.t[i] / float(t) - 1.0) <= 1e-6, (d, share)
        assert 10.0 ** (power - 1) < run.t[int(np.argmax(gap < 0.1 * gap[0]))] < 10.0 ** (power + 1)
        assert gap[-1] < 1e-9


@pytest.mark.parametrize("weight", [0.5, 700.0])
def test_a_frozen_token_attracts_by_the_same_clock(weight: float) -> None:
    # t = artanh u + F / a: at beta = 20 the wait is 1e7 / a.
    start = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    model = Attention(20.0, frozen=Frozen(start[:1], weight))
    run = nc.simulate(model, start[1:], 1e9, save="steps", method="causal")
    gap = np.linalg.norm(run.x[:, 0] - start[0], axis=-1)
    i = int(np.argmax(gap < 0.9))
    u = 1.0 - 0.5 * gap[i] ** 2
    with mp.workdps(60):
        clock = [
            mp.atanh(s) - (mp.ei(20 * (1 - s)) + mp.exp(40) * mp.e1(20 * (1 + s))) / (2 * mp.mpf(weight))
            for s in (mp.mpf(0), mp.mpf(float(u)))
        ]
        t = float(clock[1] - clock[0])
    assert run.t[i] == pytest.approx(t, rel=1e-6)


# One token: e^{tV}


@pytest.mark.parametrize(
    "system", [system for system in solvable() if system.model.mask != "full"], ids=lambda system: system.name
)
def test_on_solvable_systems_the_error_is_a_few_tolerances_and_falls(system: Exact) -> None:
    times = np.linspace(0.0, system.t, 12)
    exact = system.frames(times)
    found = []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        run = nc.simulate(
            system.model, system.x0, system.t, save=times, rtol=rtol, atol=rtol / 100, method="causal"
        )
        assert run.status == "done"
        found.append(apart(run.x, exact) / rtol)
    assert max(found) <= 10.0, [f"{error:.2g}" for error in found]
    absolute = np.array(found) * [1e-4, 1e-6, 1e-8, 1e-10]
    # Falling, or so far below the tolerance already that only rounding is left.
    assert ((absolute[1:] < absolute[:-1]) | (np.array(found[1:]) < 0.02)).all(), [
        f"{error:.2g}" for error in found
    ]


def test_one_token_of_a_simple_top_reaches_it_and_stays() -> None:
    turn = np.array([[1.0, 0.4, -0.2], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]])
    V = turn @ np.diag([1.0, 0.5, -2.0]) @ np.linalg.inv(turn)
    top = turn[:, 0] / np.linalg.norm(turn[:, 0])
    run = nc.simulate(Attention(3.0, V=V), nc.uniform(1, 3, seed=1), 1e12, method="causal")
    assert run.status == "done"
    late = run.x[run.t > 100.0, 0]  # e^{-50}
    assert len(late) > 20
    assert min(np.linalg.norm(late - sign * top, axis=-1).max() for sign in (-1, 1)) < 1e-12


def test_one_token_of_a_multiple_top_goes_to_its_spectral_projection() -> None:
    turn = np.array([[1.0, 0.4, -0.2], [0.3, 1.0, 0.3], [0.1, 0.5, 1.0]])
    V = turn @ np.diag([0.7, 0.7, -0.3]) @ np.linalg.inv(turn)
    x0 = nc.uniform(1, 3, seed=2)
    limit = turn @ np.diag([1.0, 1.0, 0.0]) @ np.linalg.inv(turn) @ x0[0]
    run = nc.simulate(Attention(3.0, V=V), x0, 1e9, method="causal")
    # Within the top plane nothing acts but rounding, some 1e-16 |V| a unit of time: after 1e6 it may have
    # moved by 1e-10, not more.
    assert apart(run.x[(run.t > 100.0) & (run.t < 1e6), 0], limit / np.linalg.norm(limit)) < 1e-7


@pytest.mark.parametrize("size", [2, 3])
def test_one_token_of_a_defective_top_comes_near_as_1_over_t(size: int) -> None:
    V = np.diag(np.full(size, 0.5)) + np.diag(np.ones(size - 1), 1)
    x0 = nc.uniform(1, size, seed=5)
    times = np.geomspace(1.0, 1e6, 25)
    run = nc.simulate(Attention(3.0, V=V), x0, 1e6, save=times, method="causal")
    assert run.status == "done"
    with mp.workdps(40):  # e^{tV} = e^{t/2} sum of (tN)^i / i!
        exact = []
        for t in times:
            y = [
                mp.fsum(
                    mp.mpf(float(t)) ** (j - i) / mp.factorial(j - i) * mp.mpf(float(x0[0, j]))
                    for j in range(i, size)
                )
                for i in range(size)
            ]
            exact.append([float(c / mp.sqrt(mp.fdot(y, y))) for c in y])
    assert apart(run.x[:, 0], np.array(exact)) < 1e-7  # ten tolerances
    distance = np.linalg.norm(run.x[:, 0, 1:], axis=-1)  # from the line of e_1
    late = (times > 100.0) & (times < 1e5)
    # (t^{s-2}/(s-2)!) / (t^{s-1}/(s-1)!) = (s-1)/t
    assert np.allclose(distance[late] * times[late], size - 1, rtol=0.1)


def test_one_token_of_a_complex_top_turns_at_its_frequency() -> None:
    V = np.array([[0.5, -3.0, 0.0], [3.0, 0.5, 0.0], [0.4, 0.1, -1.0]])
    system = one_token(V, nc.uniform(1, 3, seed=3)[0], 200.0, "spiral")
    times = np.linspace(0.0, 200.0, 21)
    for method in ("causal", "auto"):
        run = nc.simulate(system.model, system.x0, 200.0, save=times, method=method)
        # 95 turns: errors along the orbit add up, step by step, some hundred steps a turn at most.
        assert apart(run.x, system.frames(times)) < 1e-5


# Against the explicit solver


def systems_without_full_mask() -> list[tuple[str, Attention, Array]]:
    """Random Q, K, V, attraction, repulsion, windows, frozen tokens; d = 2, 3, 8."""
    found = []
    for seed in range(18):
        rng = np.random.default_rng(seed)
        d, n, beta = (2, 3, 8)[seed % 3], (3, 9, 20)[seed // 3 % 3], (1.0, 4.0, 9.0)[seed // 2 % 3]
        Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
        model = Attention(
            beta,
            Q=Q if seed % 2 else None,
            K=K if seed % 2 else None,
            V={0: np.eye(d), 1: -np.eye(d), 2: None}.get(seed % 5, V),
            mask=("causal", Window(3), "causal", Window(2))[seed % 4],
            frozen=(
                Frozen(nc.uniform(seed % 7 + 1, d, seed + 50), 1.5) if seed % 3 == 1 or seed > 14 else None
            ),
        )
        found.append((f"{seed}: d={d} n={n} beta={beta:g} {model.mask}", model, nc.uniform(n, d, seed + 100)))
    return found


@pytest.mark.parametrize(
    ("name", "model", "x0"),
    systems_without_full_mask(),
    ids=[name for name, _, _ in systems_without_full_mask()],
)
def test_explicit_and_causal_agree_and_the_difference_falls(name: str, model: Attention, x0: Array) -> None:
    times = np.linspace(0.0, 8.0, 9)
    exact = nc.simulate(model, x0, 8.0, save=times, rtol=1e-12, atol=1e-14, method="explicit").x
    levels = (1e-4, 1e-6, 1e-8, 1e-10)
    errors, allowed = [], []
    for rtol in levels:
        run = nc.simulate(model, x0, 8.0, save=times, rtol=rtol, atol=rtol / 100, method="causal")
        other = nc.simulate(model, x0, 8.0, save=times, rtol=rtol, atol=rtol / 100, method="explicit")
        assert run.status == "done"
        assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() <= 1e-15
        errors.append(apart(run.x, exact))
        # a system that amplifies errors does so for both
        allowed.append(max(10.0 * rtol, 10.0 * apart(other.x, exact)))
    assert (np.array(errors) <= allowed).all(), (errors, allowed)
    assert (np.array(errors[1:]) < errors[:-1]).all(), errors


@pytest.mark.parametrize("d", [3, 8])
def test_random_systems_agree_with_lsoda(d: int) -> None:
    for seed in range(3):
        Q, K, V = np.random.default_rng(seed).standard_normal((3, d, d)) / np.sqrt(d)
        model, x0, times = Attention(4.0, Q, K, V), nc.uniform(8, d, seed), np.linspace(0.0, 20.0, 6)

        def velocity(
            _: float, y: Array, model: Attention = model, shape: tuple[int, ...] = x0.shape
        ) -> Array:
            x = y.reshape(shape)
            return drift(model, x / np.linalg.norm(x, axis=-1, keepdims=True)).reshape(-1)

        y = solve_ivp(
            velocity, (0.0, 20.0), x0.reshape(-1), method="LSODA", rtol=1e-11, atol=1e-13, t_eval=times
        ).y.T.reshape(-1, *x0.shape)
        run = nc.simulate(model, x0, 20.0, save=times, rtol=1e-9, atol=1e-11, method="causal")
        # a thousand tolerances: random V may amplify
        assert apart(run.x, y / np.linalg.norm(y, axis=-1, keepdims=True)) < 1e-6, seed


def test_repulsion_comes_to_rest_at_large_steps() -> None:
    run = nc.simulate(Attention(1.0, V=-np.eye(3)), nc.uniform(2, 3, seed=1), 1e12, method="causal")
    assert run.status == "done"
    assert np.linalg.norm(run.x[-1, 0] + run.x[-1, 1]) < 1e-9  # opposite
    # From d = 3 on some tokens balance where they are free to drift along a circle, and rounding, 1e-16 a
    # unit of time, moves them.
    for d, beta, t in ((2, 2.0, 1e12), (3, 2.0, 1e6), (3, 9.0, 1e6)):
        x0 = nc.uniform(7, d, seed=d)
        times = np.array([0.0, 10.0, 100.0, t])
        model = Attention(beta, V=-np.eye(d))
        run = nc.simulate(model, x0, t, save=times, method="causal")
        assert run.status == "done"
        assert run.steps < 3000
        assert (
            apart(run.x[:3], nc.simulate(model, x0, 100.0, save=times[:3], method="explicit", rtol=1e-11).x)
            < 1e-6
        )
        # all that is left would move them by less than 10 in twice the time
        assert np.abs(drift(model, run.x[-1])).max() < 10.0 / t


# By turns


@pytest.mark.parametrize("d", [2, 3])
def test_auto_equals_either_solver(d: int) -> None:
    x0 = nc.uniform(12, d, seed=4)
    times = np.concatenate([np.linspace(0.0, 150.0, 8), np.geomspace(200.0, 4000.0, 8)])
    explicit, by_turns, implicit = (
        nc.simulate(Attention(4.0), x0, 4000.0, save=times, rtol=1e-9, atol=1e-11, method=m).x
        for m in ("explicit", "auto", "causal")
    )
    assert apart(explicit, implicit) < 1e-6
    assert apart(explicit, by_turns) < 1e-6


@pytest.mark.parametrize("d", [2, 3])
def test_auto_leaves_a_rotating_system_to_the_explicit_solver(d: int) -> None:
    V = np.diag([0.5, 0.5, -0.5][:d])
    V[0, 1], V[1, 0] = -1.0, 1.0
    x0 = nc.uniform(1, d, seed=6)
    times = np.linspace(0.0, 3000.0, 31)
    run = nc.simulate(Attention(2.0, V=V), x0, 3000.0, save=times, rtol=1e-9, atol=1e-11)
    assert run.status == "done"
    # e^{tV} turns the plane by t radians; the error adds up over some thousand steps along the orbit, never
    # across it.
    angle = np.arctan2(x0[0, 1], x0[0, 0]) + times
    assert apart(run.x[2:, 0, :2], on_circle(angle)[2:]) < 1e-4
    assert run.t.tolist() == times.tolist()


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_auto_reaches_the_end_at_any_tolerance(rtol: float) -> None:
    # Handed back at t = 1e17 an explicit step of 1 would be lost: t + 1 = t.
    for seed in range(2):
        x0 = nc.uniform(60, 2, seed)
        run = nc.simulate(Attention(64.0), x0, 1e60, rtol=rtol, atol=rtol / 100, max_steps=20_000)
        assert run.status == "done", seed
        assert apart(run.x[-1], x0[0]) < 1e-9


@pytest.mark.parametrize("rtol", [1e-11, 1e-12, 1e-13])
def test_the_finest_tolerances_cost_more_steps_but_not_all_of_them(rtol: float) -> None:
    x0 = nc.uniform(30, 2, seed=0)
    run = nc.simulate(
        Attention(64.0), x0, 1e60, rtol=rtol, atol=rtol / 100, method="causal", max_steps=10_000
    )
    assert run.status == "done"
    assert apart(run.x[-1], x0[0]) < 1e-9


# The whole life


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


# The pieces


def rows_of(model: Attention, x: Array) -> tuple[Array, Array]:
    """The blocks J_kj in ambient coordinates B_k J B_j^T, (n, n, d, d), and the bases (n, d, d - 1), as the
    solver makes them."""
    n, d = x.shape
    pair = pairwise_system(model_shape(model, n, d))
    s = causal.new_causal(pair, 1e-8)._replace(radius=0.0)
    m, held = pair.m, s.held
    pair.x[:, m : m + n] = x.T
    causal.form_groups(s)
    blocks, bases = np.zeros((n, n, d, d)), np.zeros((n, d, d - 1))
    for k in range(n):
        first = max(0, k - model.mask.w + 1) if isinstance(model.mask, Window) else 0
        if s.circle:
            s.slots[:, held + k] = x[k]
            bases[k] = [[-x[k, 1]], [x[k, 0]]]
            _, slope = linearise_on_circle(
                s.slots, s.tally, s.weight, s.row, *x[k], pair.beta, pair.scale, held, held + first, held + k
            )
            own = np.array([[slope]])
        else:
            causal_token.linearise(s, k, held + k)
            bases[k], own = s.basis, s.block
            causal_token.join(s, k, held + k)
        for j in range(first, k):
            block = (
                _block_by_pushes(s, bases[j], held + first, held + j, held + k)
                if s.tall
                else s.row[:, :, held + j]
            )
            blocks[k, j] = bases[k] @ block @ bases[j].T
        blocks[k, k] = bases[k] @ own @ bases[k].T
    return blocks, bases


def _block_by_pushes(s: Causal, basis: Array, low: int, at: int, used: int) -> Array:
    """J_kj (d - 1, d - 1) of the slot `at`, from what the token at work makes of each unit push of that slot
    alone."""
    columns = []
    for e in basis.T:
        s.pushes[0] = 0.0
        s.pushes[0, :, at] = e
        s.small[causal_token.U] = 0.0
        causal_token.push_vectors(s, 0, low, used)
        columns.append(s.small[causal_token.U].copy())
    return np.stack(columns, axis=1)


def differences(model: Attention, x: Array) -> Array:
    """(n, n, d, d) of the equation: P_{x_k} (d f_k / d x_j) P_{x_j} along great circles, to fourth order."""
    n, d = x.shape
    blocks, h = np.zeros((n, n, d, d)), 1e-3
    for j in range(n):
        frame = np.linalg.svd(x[j : j + 1])[2][1:]  # (d - 1, d)
        for u in frame:
            change = np.zeros((n, d))
            for step, share in ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12)):
                y = x.copy()
                y[j] = np.cos(step * h) * x[j] + np.sin(step * h) * u
                change += share / h * drift(model, y)
            change -= (change * x).sum(-1, keepdims=True) * x
            blocks[:, j] += change[:, :, None] * u
    return blocks


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("kind", ["I", "-I", "V", "QK", "QKV"])
@pytest.mark.parametrize("around", ["plain", "window", "frozen", "both"])
def test_the_rows_of_the_jacobian_are_the_derivatives_of_the_equation(d: int, kind: str, around: str) -> None:
    Q, K, V = np.random.default_rng(d).standard_normal((3, d, d)) / np.sqrt(d)
    model = Attention(
        3.0,
        Q=Q if "Q" in kind else None,
        K=K if "K" in kind else None,
        V=V if "V" in kind else -np.eye(d) if kind == "-I" else None,
        mask=Window(3) if around in ("window", "both") else "causal",
        frozen=Frozen(nc.uniform(3, d, seed=9), [0.5, 1.0, 2.0]) if around in ("frozen", "both") else None,
    )
    x = nc.uniform(11, d, seed=d)  # more than one vector of eight lanes
    blocks, bases = rows_of(model, x)
    assert np.abs(np.einsum("kcd,kce->kde", bases, bases) - np.eye(d - 1)).max() < 1e-15
    assert np.abs(np.einsum("kcd,kc->kd", bases, x)).max() < 1e-15
    # h^4 times fifth derivatives of size beta^5: 1e-12 * 243, and rounding 1e-16 / h
    assert np.abs(blocks - differences(model, x)).max() < 1e-8


def test_entries_of_the_jacobian_far_below_rounding_keep_their_digits() -> None:
    angles, beta = np.array([0.3, 1.9, 4.2]), 64.0
    x = on_circle(angles)
    blocks, bases = rows_of(Attention(beta), x)
    with mp.workdps(60):
        points = [[mp.mpf(float(c)) for c in row] for row in x]
        theta = [mp.atan2(y, c) for c, y in points]
        for k in (1, 2):
            w = [mp.exp(beta * (mp.cos(theta[j] - theta[k]) - 1)) for j in range(k)]
            Z = 1 + mp.fsum(w)
            f = mp.fsum(w[j] * mp.sin(theta[j] - theta[k]) for j in range(k)) / Z
            exact = []
            for j in range(k):
                gap = theta[j] - theta[k]
                exact.append(
                    (w[j] * (mp.cos(gap) - beta * mp.sin(gap) ** 2) + beta * f * w[j] * mp.sin(gap)) / Z
                )
            found = [float(bases[k][:, 0] @ blocks[k, j] @ bases[j][:, 0]) for j in (*range(k), k)]
            # exponents near -100 carry their rounding, 1e-14, into the weight; entries are 1e-15 to 1e-55
            assert found == pytest.approx(
                [float(e) for e in (*exact, -mp.fsum(exact))], rel=1e-11, abs=0.0
            ), k


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5, 1e-8, 1e-12])  # 5 to 8 columns
@pytest.mark.parametrize("around", ["plain", "window", "frozen", "both", "grouped", "repelled"])
def test_columns_side_by_side_make_the_step_that_columns_one_by_one_make(
    tolerance: float, around: str
) -> None:
    # A V that is c I but for one bit takes the general way, on the circle too.
    n, beta, h = 21, 9.0, 0.7
    x = nc.uniform(n, 2, seed=5)
    if around == "grouped":
        x = x[[0, 1, 1, 2, 0, 0, 3, 1, 4, 4, 5, 0, 6, 2, 7, 8, 9, 10, 3, 1, 0]]
    sign = -1.0 if around == "repelled" else 1.0
    setting: dict[str, Any] = {
        "mask": Window(4) if around in ("window", "both") else "causal",
        "frozen": Frozen(nc.uniform(3, 2, seed=9), [0.5, 1.0, 2.0]) if around in ("frozen", "both") else None,
    }
    ends, errors = [], []
    for V in (sign * np.eye(2), sign * np.diag([1.0, np.nextafter(1.0, 2.0)])):
        pair = pairwise_system(model_shape(Attention(beta, V=V, **setting), n, 2))
        pair.x[:, pair.m : pair.m + n] = x.T
        s = causal.new_causal(pair, tolerance)
        errors.append(causal.causal_step(s, h, np.zeros(1, dtype=np.uint8)))
        ends.append(s.ends.copy())
    assert s.K == columns_for(tolerance)
    # Rounding, times the sum of the extrapolation's factors (1e3 with 8 columns), which the general way, by V
    # (x + D), meets from 1e-16 on.
    assert np.abs(ends[0] - ends[1]).max() < 1e-11
    assert errors[0] == pytest.approx(errors[1], rel=1e-3, abs=1e-11)


@pytest.mark.parametrize("around", ["plain", "window", "frozen"])
@pytest.mark.parametrize("d", [3, 6])
def test_pushes_as_vectors_make_the_step_that_blocks_make(
    d: int, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, h = 21, 0.7
    Q, K, V = np.random.default_rng(d).standard_normal((3, d, d)) / np.sqrt(d)
    model = Attention(
        9.0,
        Q=Q,
        K=K,
        V=V,
        mask=Window(4) if around == "window" else "causal",
        frozen=Frozen(nc.uniform(3, d, seed=9), [0.5, 1.0, 2.0]) if around == "frozen" else None,
    )
    ends = []
    for tall in (False, True):
        monkeypatch.setattr(causal_state, "TALL", 2 if tall else 99)
        pair = pairwise_system(model_shape(model, n, d))
        s = causal.new_causal(pair, 1e-8)
        assert s.tall == tall
        pair.x[:, pair.m : pair.m + n] = nc.uniform(n, d, seed=5).T
        causal.causal_step(s, h, np.zeros(1, dtype=np.uint8))
        ends.append(s.ends.copy())
    assert np.abs(ends[0]).max() > 0.1
    assert np.abs(ends[0] - ends[1]).max() < 1e-11  # rounding, times the sum of the extrapolation's factors


@pytest.mark.parametrize("d", [3, 4])
def test_coincident_tokens_stay_together_wherever_they_go(d: int) -> None:
    # They turn through all signs of all coordinates, the charts' basis with them.
    V = np.zeros((d, d))
    V[-2, -1], V[-1, -2] = -1.0, 1.0
    x = nc.uniform(1, d, seed=3)
    for x0 in (np.repeat(x, 4, axis=0), np.concatenate([x, nc.uniform(2, d, seed=4), x, x])):
        run = nc.simulate(Attention(1.0, V=V), x0, 20.0, method="causal", save="steps")
        other = nc.simulate(Attention(1.0, V=V), x0, 20.0, method="explicit", save=run.t, rtol=1e-11)
        assert apart(run.x, other.x) < 1e-6


# Edges


def test_forces_that_underflow_are_reported_and_not_taken_for_rest() -> None:
    x0 = on_circle([0.0, 2.0, 2.0, 4.0])
    for d in (2, 3):
        x = np.pad(x0, ((0, 0), (0, d - 2)))
        for method in ("causal", "auto"):
            run = nc.simulate(Attention(1000.0), x, 1e60, method=method)
            assert run.status == "underflow"
            assert not run.done
    # e^{-128} does not underflow, and its wait is awaited
    assert nc.simulate(Attention(64.0), on_circle([0.0, 3.0]), 1e60, method="causal").status == "done"


@pytest.mark.parametrize("t", [1e100, 1e300, 1.7e308])
def test_time_may_be_as_long_as_a_double_can_say(t: float) -> None:
    for n in (1, 2, 20):
        x0 = nc.uniform(n, 2, seed=1)
        for method in ("causal", "auto"):
            run = nc.simulate(Attention(30.0), x0, t, method=method)
            assert run.status == "done"
            assert run.t[-1] == t
            assert apart(run.x[-1], x0[0]) < 1e-9


@pytest.mark.parametrize("d", [2, 3])
def test_coincident_and_antipodal_tokens(d: int) -> None:
    e = np.eye(d)
    run = nc.simulate(Attention(9.0), np.stack([e[0]] * 3), 1e60, method="causal")
    assert run.status == "done"
    assert np.array_equal(run.x[-1], np.stack([e[0]] * 3))
    run = nc.simulate(Attention(9.0), np.stack([e[0], -e[0], e[1]]), 1e60, method="causal")
    assert run.status == "done"
    assert np.array_equal(run.x[-1, 1], -e[0])  # an exact, unstable balance
    assert np.isfinite(run.x).all()


def test_no_attention_at_all_and_no_forces_at_all() -> None:
    x0 = nc.uniform(5, 3, seed=0)
    run = nc.simulate(Attention(0.0), x0, 1e60, method="causal")
    assert run.status == "done"
    assert apart(run.x[-1], x0[0]) < 1e-9
    run = nc.simulate(Attention(9.0, V=np.zeros((3, 3))), x0, 1e60, method="causal")
    assert run.status == "done"
    assert np.array_equal(run.x[-1], run.x[0])


def test_a_full_mask_is_refused_with_a_reason() -> None:
    with pytest.raises(InputError, match=r'mask is "full"'):
        nc.simulate(Attention(1.0, mask="full"), nc.uniform(3, 2, seed=0), 1.0, method="causal")


def test_rows_of_blocks_beyond_memory_are_refused_before_they_are_made() -> None:
    # 2 d^2 numbers for every token: 500 GiB here.
    x0 = np.zeros((30_000, 1024))
    x0[:, 0] = 1.0
    with pytest.raises(InputError, match="GiB"):
        nc.simulate(Attention(1.0), x0, 1.0, save=2, method="causal")


@pytest.mark.parametrize("method", ["causal", "auto"])
def test_frames_come_at_the_times_asked_for(method: Any) -> None:
    x0 = nc.uniform(6, 2, seed=0)
    for t in (30.0, 5e3, 1e20):
        run = nc.simulate(Attention(9.0), x0, t, save=17, method=method)
        assert len(run.t) == 17
        assert run.t[0] == 0.0
        assert run.t[-1] == t
        assert (np.diff(run.t) > 0).all()
        assert np.array_equal(run.x[0], x0)
    times = np.array([0.0, 1e-9, 0.5, 99.999, 100.0, 100.001, 1e3, 1e10, np.nextafter(1e10, 2e10)])
    run = nc.simulate(Attention(9.0), x0, 1e12, save=times, method=method)
    assert np.array_equal(run.t, times)
    later = nc.simulate(Attention(9.0), x0, 1e12, save=times[3:], method=method)
    assert np.array_equal(later.t, times[3:])
    assert apart(later.x, run.x[3:]) < 1e-6
    steps = nc.simulate(Attention(9.0), x0, 1e12, save="steps", method=method)
    assert len(steps.t) == steps.steps + 1
    assert (steps.t[0], steps.t[-1]) == (0.0, 1e12)
    assert (np.diff(steps.t) >= 0).all()


def test_every_step_of_a_long_life_can_be_kept_and_read_back(tmp_path: Any) -> None:
    run = nc.simulate(Attention(64.0), on_circle([0.0, 1.0, 2.5]), 1e60, save="steps", method="causal")
    assert (np.diff(run.t) == 0).any()  # t + h = t there
    run.save(tmp_path / "life.zarr")
    again = nc.load(tmp_path / "life.zarr")
    assert np.array_equal(again.t, run.t)
    assert np.array_equal(again.x, run.x)


# Batches and threads


@pytest.mark.parametrize("method", ["causal", "auto"])
def test_a_batch_is_its_runs_whatever_the_threads(method: Any) -> None:
    x0 = nc.uniform(15, 2, seed=0, runs=5)
    beta = np.array([4.0, 9.0, 20.0, 36.0, 64.0])
    one, two = (
        nc.simulate(Attention(beta), x0, 1e30, save=12, method=method, threads=threads) for threads in (1, 2)
    )
    assert one.status == two.status == ("done",) * 5
    assert one.x.tobytes() == two.x.tobytes()
    for run in range(5):
        assert (
            nc.simulate(Attention(beta[run]), x0[run], 1e30, save=12, method=method).x.tobytes()
            == one.x[run].tobytes()
        )


@pytest.mark.parametrize("method", ["causal", "auto"])
def test_a_run_that_fails_leaves_its_neighbours_alone(method: Any) -> None:
    x0 = nc.uniform(8, 3, seed=0, runs=4)
    V = np.stack([np.eye(3)] * 4)
    V[2] = 1.7e308
    bad = nc.simulate(Attention(4.0, V=V), x0, 1e6, save=9, method=method, max_steps=20_000)
    assert [status == "done" for status in bad.status] == [True, True, False, True]
    assert bad.status[2] == "non-finite"
    assert np.isnan(bad.x[2, 1:]).all()
    V[2] = np.eye(3)
    good = nc.simulate(
        Attention(4.0, V=V),
        x0,
        1e6,
        save=9,
        method="causal" if method == "causal" else "auto",
        max_steps=20_000,
    )
    for run in (0, 1, 3):
        assert good.x[run].tobytes() == bad.x[run].tobytes()


# Ends


def endless(**options: Any) -> Any:
    """A rotation: steps of about 1 for a time of 1e12."""
    V = np.zeros((3, 3))
    V[0, 1], V[1, 0] = -1.0, 1.0
    return nc.simulate(
        Attention(1.0, V=V),
        nc.uniform(10, 3, seed=0),
        1e12,
        method="causal",
        max_steps=options.pop("max_steps", 10**12),
        **options,
    )


def test_max_steps_keeps_what_was_computed() -> None:
    run = endless(save="steps", max_steps=50)
    assert run.status == "max steps"
    assert 0 < run.steps <= 50
    assert len(run.t) == run.steps + 1
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("method", ["causal", "auto"])
@patient
def test_time_limit_and_cancelling_end_a_long_run(method: Any) -> None:
    endless(max_steps=3)  # compile
    with within_wall_seconds(3.0):
        assert endless(time_limit=0.3, save="steps").status == "time limit"
        assert endless(on_frames=lambda t, x: False).status == "cancelled"
    assert (
        nc.simulate(Attention(64.0), nc.uniform(400, 2, seed=0), 1e60, method=method, time_limit=0.05).status
        == "time limit"
    )


@patient
def test_ctrl_c_ends_a_long_run_with_its_own_status() -> None:
    endless(max_steps=3)
    timer = threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with within_wall_seconds(2.0):
        run = endless()
    timer.join()
    assert run.status == "interrupted"


def test_a_token_in_a_shallow_rest_does_not_hold_up_the_others() -> None:
    # From t = 1e36 a token rests where J is -1e-6: it answers rounding errors a million times enlarged, and
    # errors above the tolerance are none of the step's making. Counted as if they were, they held steps below
    # 1e6 for ever.
    from nucleate.papers.causal_clustering.theorem41.data import end_time, scores
    from nucleate.studies.points import stream

    Q, K = scores(8, 0, range(6, 7))
    x0 = nc.uniform(64, 8, stream(0, 6))
    run = nc.simulate(
        Attention(64.0, Q=Q[0], K=K[0]), x0, end_time(64.0, Q, K, 64), save=2, max_steps=6000, method="causal"
    )
    assert run.status == "done"
    assert np.abs(run.x[-1] - x0[0]).max() < 1e-11  # all of them, as Theorem 4.1 says


def test_on_frames_sees_every_frame_once() -> None:
    seen: list[Array] = []
    run = endless(save="steps", on_frames=lambda t, x: seen.append(t), time_limit=0.7)
    assert len(seen) >= 2
    together = np.concatenate(seen)
    assert np.array_equal(together, run.t[: len(together)])


def test_velocities_beyond_doubles_are_non_finite() -> None:
    for d in (2, 3):
        run = nc.simulate(
            Attention(0.0, V=np.full((d, d), 1.7e308)), nc.uniform(20, d, seed=0), 1.0, method="causal"
        )
        assert run.status == "non-finite"
        assert np.isfinite(run.x).all()


def test_two_tokens_run_backwards_to_opposite_places() -> None:
    system = two_tokens(1.0, 0.9, 30.0, 3, scale=-1.0)
    run = nc.simulate(system.model, system.x0, 30.0, save=10, method="causal")
    assert apart(run.x, system.frames(run.t)) < 1e-7
