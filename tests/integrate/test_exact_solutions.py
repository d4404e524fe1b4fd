"""Simulations against exactly solvable systems; and those systems against the equation, so that a slip in a
derivation cannot hide."""

import math

import numpy as np
import pytest
from support.exact_systems import (
    Exact,
    drift_to_50_digits,
    equiangular,
    kuramoto_groups,
    metastable,
    one_token,
    one_token_and_a_frozen_one,
    solvable,
    two_token_time,
    two_tokens,
)

import nucleate as nc
from nucleate.attention import Attention

SYSTEMS = solvable()
RTOL, ATOL = 1e-10, 1e-12


@pytest.mark.parametrize("system", SYSTEMS + metastable(), ids=lambda system: system.name)
def test_the_exact_solutions_obey_the_equation(system: Exact) -> None:
    # A central difference of the solution against the 50-digit drift: h^2 from the difference, 1e-15 / h from
    # rounding, best at 1e-5.
    speed = max(1.0, float(np.abs(system.model.V).max()) if system.model.V is not None else 1.0)
    for time in np.array([0.1, 0.37, 0.9]) * min(system.t, 8.0):
        h = 1e-5 / speed
        slope = (system.solution(time + h) - system.solution(time - h)) / (2 * h)
        assert (
            np.abs(slope - drift_to_50_digits(system.model, system.solution(time))).max() <= 2e-9 * speed**3
        )


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_simulations_follow_the_exact_solution(system: Exact) -> None:
    times = np.linspace(0.0, system.t, 12)
    run = nc.simulate(system.model, system.x0, system.t, save=times, rtol=RTOL, atol=ATOL)
    assert run.status == "done"
    assert np.array_equal(run.t, times)
    error = np.linalg.norm(run.x - system.frames(times), axis=-1).max()
    assert error <= 5 * (RTOL + ATOL), error / RTOL  # errors of all steps add up; five is promised


def test_the_two_token_clock_gives_the_values_of_the_paper_notes() -> None:
    assert two_token_time(0.0, 0.99, 9.0) == pytest.approx(931.0725701, abs=1e-7)
    assert two_token_time(-0.9, 0.5, 4.0) == pytest.approx(1203.1764650, abs=1e-7)
    assert two_token_time(0.2, 0.999, 1.0) == pytest.approx(7.8402664865, abs=1e-10)
    assert two_token_time(-0.5, 0.5, 0.0) == pytest.approx(4 * math.atanh(0.5), rel=1e-15)


@pytest.mark.parametrize(
    ("beta", "u0", "u1"), [(9.0, 0.0, 0.99), (4.0, -0.9, 0.5), (1.0, 0.2, 0.999), (0.0, -0.5, 0.5)]
)
@pytest.mark.parametrize("d", [2, 3, 7])
def test_two_tokens_meet_at_the_time_of_the_formula(beta: float, u0: float, u1: float, d: int) -> None:
    time, system = two_token_time(u0, u1, beta), two_tokens(beta, u0, 1.0, d)
    run = nc.simulate(system.model, system.x0, time, save=2, rtol=RTOL, atol=ATOL)
    u = float(run.x[-1, 0] @ run.x[-1, 1])
    speed = (1 - u1 * u1) / (1 + math.exp(beta * (1 - u1)))
    slowest = min((1 - u * u) / (1 + math.exp(beta * (1 - u))) for u in np.linspace(u0, u1, 200))
    # A deviation made where the motion is slowest grows as the speed does, by speed / slowest, until it
    # shows: the problem's own condition.
    assert abs(u - u1) <= 5 * (RTOL + ATOL) * max(1.0, speed / slowest)
    assert abs((u - u1) / speed) <= 1e-5 * time  # in time: far better than the 10 % of a fixed step of .1


def test_one_token_forgets_beta() -> None:
    V, x0 = np.array([[0.3, -1.0, 0.0], [1.0, 0.2, 0.4], [0.0, 0.1, -0.5]]), nc.uniform(1, 3, seed=1)[0]
    system = one_token(V, x0, 5.0, "one token")
    for beta in (0.0, 3.0, 1e4):
        run = nc.simulate(Attention(beta, V=V), system.x0, 5.0, save=3, rtol=RTOL, atol=ATOL)
        assert np.abs(run.x - system.frames(run.t)).max() <= 5 * (RTOL + ATOL)


def test_equiangular_tokens_stay_equiangular_and_follow_rho() -> None:
    n, beta = 6, 3.0
    system = equiangular(n, beta, 0.05, 12.0)
    run = nc.simulate(system.model, system.x0, 12.0, save=20, rtol=RTOL, atol=ATOL)
    gram = run.x @ run.x.mT  # (m, n, n)
    off = gram[:, ~np.eye(n, dtype=bool)]  # (m, n (n - 1))
    exact = system.frames(run.t)
    # both tokens of a pair, each off by five times the tolerance, either way
    assert np.ptp(off, axis=1).max() <= 20 * RTOL
    assert np.abs(off - (exact @ exact.mT)[:, ~np.eye(n, dtype=bool)]).max() <= 10 * RTOL


def test_equiangular_tokens_close_in_as_e_to_minus_2t() -> None:
    system = equiangular(5, 2.0, 0.3, 10.0)
    run = nc.simulate(system.model, system.x0, 10.0, save=[8.0, 10.0], rtol=1e-12, atol=1e-14)
    apart = np.linalg.norm(run.x[:, 0] - run.x[:, 1], axis=-1) ** 2 / 2  # 1 - rho
    # the next term is e^{-2t} ~ 1e-7 times a constant of order beta n
    assert math.log(apart[0] / apart[1]) / 2.0 == pytest.approx(2.0, abs=1e-5)


def test_kuramoto_oscillators_keep_their_mean_angle_and_their_cross_ratios() -> None:
    # beta = 0, full mask: identical oscillators move by one Moebius map of the disc (Watanabe and Strogatz),
    # which keeps every cross-ratio.
    theta = np.array([0.1, 0.9, 1.3, 2.6, 3.9, 5.0])
    run = nc.simulate(
        Attention(0.0, mask="full"),
        np.stack([np.cos(theta), np.sin(theta)], axis=1),
        2.0,
        save=9,
        rtol=RTOL,
        atol=ATOL,
    )
    z = run.x[..., 0] + 1j * run.x[..., 1]  # (m, n)
    for a, b, c, d in ((0, 1, 2, 3), (1, 3, 4, 5), (0, 2, 4, 5)):
        ratio = (z[:, a] - z[:, c]) * (z[:, b] - z[:, d]) / ((z[:, a] - z[:, d]) * (z[:, b] - z[:, c]))
        closest = min(np.abs(z[:, i] - z[:, j]).min() for i in (a, b) for j in (c, d))
        # four differences, each off by twice five times the tolerance
        assert np.abs(ratio / ratio[0] - 1.0).max() <= 4 * 10 * RTOL / closest
    total = np.unwrap(np.angle(z), axis=0).sum(1)
    assert np.abs(total - total[0]).max() <= 5 * RTOL * len(theta)


def test_kuramoto_coherence_grows_by_the_order_parameters_own_law() -> None:
    # r^2' = (2/n) r sum_j sin^2(...) >= 0; and for two groups the exact gap.
    system = kuramoto_groups(2, 3, 3.1, 6.0)
    run = nc.simulate(system.model, system.x0, 6.0, save=30, rtol=RTOL, atol=ATOL)
    coherence = np.linalg.norm(run.x.mean(1), axis=-1)
    assert (np.diff(coherence) >= -5 * RTOL).all()
    assert np.abs(run.x - system.frames(run.t)).max() <= 5 * (RTOL + ATOL)


def test_a_frozen_token_of_weight_one_acts_as_a_first_token() -> None:
    pulled = one_token_and_a_frozen_one(3.0, -0.2, 6.0, 3, weight=1.0)
    assert pulled.model.frozen is not None
    pair = np.concatenate([pulled.model.frozen.x, pulled.x0])
    frozen = nc.simulate(pulled.model, pulled.x0, 6.0, save=5, rtol=RTOL, atol=ATOL)
    both = nc.simulate(Attention(3.0), pair, 6.0, save=5, rtol=RTOL, atol=ATOL)
    assert np.abs(frozen.x[:, 0] - both.x[:, 1]).max() <= 10 * RTOL  # twice five times the tolerance
