"""Tokens with lengths: norms "pre", "peri" and "mix" against what is known exactly, and the other norms."""

from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.family_systems import (
    equiangular,
    equiangular_start,
    one_token_pre,
    overlap_and_length,
    overlaps,
)

import nucleate as nc
from nucleate.attention import Attention
from nucleate.block import Block, block_rates
from nucleate.checks import Array
from nucleate.integrate.explicit import interpolant_error
from nucleate.integrate.run_buffers import new_run_buffers
from nucleate.integrate.step_state import new_step_state
from nucleate.integrate.tableau import dormand_prince_8
from nucleate.norms import Norm

rng = np.random.default_rng(3)
SYSTEMS = [
    one_token_pre(np.diag([1.0, 0.5, -2.0]), nc.uniform(1, 3, seed=1)[0], 4.0, "one token, diagonal V"),
    one_token_pre(np.array([[0.6, -1.0], [1.5, 0.4]]), nc.uniform(1, 2, seed=2)[0], 4.0, "one token, d=2"),
    one_token_pre(rng.standard_normal((5, 5)) / 2, nc.uniform(1, 5, seed=3)[0], 3.0, "one token, r=3", 3.0),
    equiangular("pre", 4, 1.0, 0.1, 4.0),
    equiangular("pre", 8, 4.0, 0.1, 6.0, radius=0.5),
    equiangular("peri", 4, 1.0, 0.1, 4.0, radius=2.0),
    equiangular("ngpt", 4, 1.0, 0.1, 3.0),
]
METHODS: dict[Literal["euler", "heun", "rk4"], int] = {"euler": 1, "heun": 2, "rk4": 4}
STEPS = {"euler": 1024, "heun": 512, "rk4": 128}


@cache
def known_frames(number: int, count: int) -> tuple[Array, Array, Array]:
    times = np.linspace(0.0, SYSTEMS[number].t, count)
    return times, *SYSTEMS[number].frames(times)


def worst(run: nc.Run, x: Array, r: Array) -> float:
    """The largest error |y - y'| / |y'|, y = r x, at any frame."""
    lengths = np.ones(run.x.shape[:-1]) if run.norms is None else run.norms
    y, exact = lengths[..., None] * run.x, r[..., None] * x
    return float((np.linalg.norm(y - exact, axis=-1) / r).max())


def test_the_interpolant_of_a_free_state_is_judged_by_its_last_term_over_the_length() -> None:
    # Set to 0 it would let frames between long steps be as wrong as they like.
    table, x0 = dormand_prince_8(), nc.uniform(4, 3, seed=0)
    state = new_step_state(table, 4, 3, 1, angles=False, free=True)
    buffers = new_run_buffers(x0[None], np.array([1.1]), False, 10.0, 1e-6, 0.0, 100, radius=np.ones(4))
    y, stages = rng.standard_normal((4, 3)), rng.standard_normal((len(state.stages), 4, 3))
    state.y[:12], state.stages[:, :12] = y.ravel(), stages.reshape(-1, 12)
    state.run[0], state.t[0], state.h[:] = 0, 1.0, 0.25
    interpolant_error(state, buffers, table)
    term = np.tensordot(table.last_term, stages[: len(table.last_term)], 1)  # (n, d)
    expected = 0.25 * (np.linalg.norm(term, axis=1) / np.linalg.norm(y, axis=1)).max() / 1e-6
    assert state.interpolant_error[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm", ["pre", "peri"])
@pytest.mark.parametrize("V", [None, 2.5])
def test_a_token_that_sees_itself_only_grows_by_its_own_value(norm: Norm, V: float | None) -> None:
    x0 = nc.uniform(1, 3, seed=0)
    model = Block(Attention(2.0, V=None if V is None else V * np.eye(3)), norm=norm, radius=0.75)
    run = nc.simulate(model, x0, 40.0, save=9)
    speed = 1.0 if norm == "peri" or V is None else V
    assert run.norms is not None
    assert run.norms.shape == (9, 1)
    # straight on: Runge-Kutta makes only roundings, some ten per step
    assert run.norms[:, 0] == pytest.approx(0.75 + speed * run.t, rel=1e-13)
    assert np.abs(run.x - x0).max() <= 1e-14  # roundings of a few steps


def test_ngpt_of_one_token_rests() -> None:
    x0 = nc.uniform(1, 3, seed=0)
    run = nc.simulate(Block(Attention(2.0), norm="ngpt", alpha=3.0), x0, 5.0, save=3)
    assert run.norms is None
    assert np.abs(run.x - x0).max() <= 1e-14  # roundings of a few steps


@pytest.mark.parametrize("number", range(len(SYSTEMS)), ids=lambda number: SYSTEMS[number].name)
def test_the_error_is_within_five_tolerances_at_every_level(number: int) -> None:
    system = SYSTEMS[number]
    times, x, r = known_frames(number, 12)
    for rtol in (1e-3, 1e-4, 1e-6, 1e-8, 1e-10):
        run = nc.simulate(system.model, system.x0, system.t, save=times, rtol=rtol, atol=rtol / 100)
        assert run.done
        # of one step, and of what a few steps add up to in flows that contract
        assert worst(run, x, r) <= 5.0 * 1.01 * rtol, rtol


@pytest.mark.parametrize("number", range(len(SYSTEMS)), ids=lambda number: SYSTEMS[number].name)
@pytest.mark.parametrize("method", METHODS)
def test_fixed_steps_have_their_order(method: Literal["euler", "heun", "rk4"], number: int) -> None:
    system = SYSTEMS[number]
    _, x, r = known_frames(number, 2)
    errors = []
    for count in (STEPS[method] // 4, STEPS[method] // 2, STEPS[method]):
        run = nc.simulate(system.model, system.x0, system.t, save=2, method=method, dt=system.t / count)
        assert run.steps == count
        errors.append(worst(run, x, r))
    assert errors[-1] > 1e-12  # else the references' rounding is measured
    slopes = [float(np.log2(a / b)) for a, b in pairwise(errors)]
    # the next term of the error is a few per cent of it at these steps; a wrong order is off by 1
    assert all(abs(slope - METHODS[method]) <= 0.25 for slope in slopes), slopes


def test_two_tokens_under_the_causal_mask() -> None:
    # Token 1 sees itself: r_1 = r + t.  Token 2: u' = (1-u^2) w / ((1+w) r_2), r_2' = (1+wu) / (1+w),
    # w = e^{beta (u - 1)}.
    beta, u0, r0 = 2.0, -0.6, 1.5

    def velocity(_: float, state: Array) -> list[float]:
        u, r = state
        w = np.exp(beta * (u - 1.0))
        return [(1.0 - u * u) * w / ((1.0 + w) * r), (1.0 + w * u) / (1.0 + w)]

    times = np.linspace(0.0, 30.0, 16)
    u, r = solve_ivp(velocity, (0.0, 30.0), [u0, r0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times).y
    x0 = np.array([[1.0, 0.0, 0.0], [u0, np.sqrt(1.0 - u0 * u0), 0.0]])
    run = nc.simulate(Block(Attention(beta), norm="pre", radius=r0), x0, 30.0, save=times)
    assert run.norms is not None
    assert run.norms[:, 0] == pytest.approx(r0 + times, rel=1e-14)
    assert run.norms[:, 1] == pytest.approx(r, rel=1e-7)
    assert np.abs(overlaps(run.x) - u).max() <= 1e-7


def late_slope(norm: Norm, t: float, at: tuple[float, float], tau: float | None = None) -> float:
    """d log(1 - rho) / d log t between two late times."""
    model = Block(Attention(1.0, mask="full"), norm=norm, tau=tau)
    run = nc.simulate(model, equiangular_start(4, 0.1), t, save=np.array(at), rtol=1e-11, atol=1e-13)
    assert run.done
    gap = ((run.x[:, 0] - run.x[:, 1]) ** 2).sum(-1) / 2.0  # 1 - rho, with all its digits
    return float(np.diff(np.log(gap))[0] / np.diff(np.log(at))[0])


@pytest.mark.parametrize(("norm", "tau"), [("pre", None), ("peri", None), ("mix", 2.0)])
def test_late_overlaps_come_closer_like_the_inverse_square_of_time(norm: Norm, tau: float | None) -> None:
    # r ~ t + c: the slope misses 2 by c/t and by how far rho is from 1, both below 1e-2 at t = 1e3
    assert late_slope(norm, 1e4, (5e3, 1e4), tau) == pytest.approx(-2.0, abs=0.01)


def test_late_overlaps_under_ngpt_come_closer_exponentially() -> None:
    alpha = 1.5
    model = Block(Attention(1.0, mask="full"), norm="ngpt", alpha=alpha)
    run = nc.simulate(model, equiangular_start(4, 0.1), 5.0, save=np.array([4.0, 5.0]), rtol=1e-12, atol=0.0)
    gap = ((run.x[:, 0] - run.x[:, 1]) ** 2).sum(-1) / 2.0
    # e^{-2 alpha t}, up to 1 - rho itself, about 1e-5
    assert np.diff(np.log(gap))[0] == pytest.approx(-2.0 * alpha, abs=1e-4)


@pytest.mark.parametrize("d", [2, 3])
def test_sqrt_is_post_in_the_time_of_the_root(d: int) -> None:
    heads, x0 = [Attention(2.0), Attention(1.0, V=-0.5 * np.eye(d))], nc.uniform(6, d, seed=0)
    times = np.array([0.0, 0.3, 1.0, 4.0, 15.0, 24.0])
    run = nc.simulate(Block(heads, norm="sqrt"), x0, 24.0, save=times)
    post = nc.simulate(Block(heads), x0, 8.0, save=2.0 * (np.sqrt(times + 1.0) - 1.0))
    assert np.array_equal(run.t, times)
    assert run.norms is None
    assert np.abs(run.x - post.x).max() <= 1e-12  # the times differ by roundings
    steps = nc.simulate(Block(heads, norm="sqrt"), x0, 24.0, save="steps")
    assert steps.t[0] == 0.0
    assert steps.t[-1] == 24.0
    assert (np.diff(steps.t) > 0).all()
    again = nc.simulate(Block(heads, norm="sqrt"), x0, 24.0, save=steps.t)
    assert np.abs(again.x - steps.x).max() <= 1e-7


def test_sqrt_obeys_its_equation() -> None:
    block, x0 = Block(Attention(2.0, mask="full"), norm="sqrt"), nc.uniform(5, 3, seed=1)

    def velocity(t: float, y: Array) -> Array:
        x = y.reshape(5, 3)
        x = x / np.linalg.norm(x, axis=-1, keepdims=True)
        return block_rates(block, x, np.ones(5), t)[0].reshape(-1)

    y = solve_ivp(velocity, (0.0, 6.0), x0.reshape(-1), method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    run = nc.simulate(block, x0, 6.0, save=2)
    assert np.abs(run.x[-1].reshape(-1) - y).max() <= 1e-7


def test_the_late_law_of_sqrt() -> None:
    times = np.array([8.0, 15.0])
    model = Block(Attention(1.0, mask="full"), norm="sqrt")
    run = nc.simulate(model, equiangular_start(4, 0.1), 15.0, save=times, rtol=1e-12, atol=0.0)
    gap = ((run.x[:, 0] - run.x[:, 1]) ** 2).sum(-1) / 2.0
    # e^{-4 sqrt(t+1)}: from sqrt 3 to 4, up to a few times 1 - rho
    assert np.diff(np.log(gap))[0] == pytest.approx(-4.0, abs=0.01)


@pytest.mark.parametrize("d", [2, 4])
def test_mix_is_post_and_then_pre(d: int) -> None:
    head, x0, tau = Attention(2.0, V=np.diag(np.linspace(0.5, 1.0, d))), nc.uniform(6, d, seed=0), 1.3
    times = np.array([0.0, 0.5, 1.3, 2.0, 5.0])
    run = nc.simulate(Block(head, norm="mix", tau=tau), x0, 5.0, save=times)
    first = nc.simulate(Block([head]), x0, tau, save=times[:3])
    then = nc.simulate(Block(head, norm="pre"), run.x[2], 5.0 - tau, save=times[2:] - tau)
    assert run.norms is not None
    assert then.norms is not None
    assert np.abs(run.x[:3] - first.x).max() <= 1e-7
    assert np.abs(run.x[2:] - then.x).max() <= 1e-7
    assert (run.norms[:3] == 1.0).all()
    assert np.abs(run.norms[2:] / then.norms - 1.0).max() <= 1e-7


def test_mix_of_which_the_run_sees_one_half_only() -> None:
    head, x0 = Attention(2.0), nc.uniform(6, 3, seed=0)
    late = nc.simulate(Block(head, norm="mix", tau=9.0), x0, 2.0, save=3)
    early = nc.simulate(Block(head, norm="mix", tau=0.0), x0, 2.0, save=3)
    pre = nc.simulate(Block(head, norm="pre"), x0, 2.0, save=3)
    assert late.norms is not None
    assert (late.norms == 1.0).all()
    assert np.array_equal(early.x, pre.x)


def test_lengths_and_time_scale_together() -> None:
    # y' = A(y / |y|): 64 y at 64 t is the same motion, and 64 a power of two: every bit, every step.
    heads, x0 = [Attention(2.0), Attention(1.0, V=np.diag([1.0, -1.0, 0.5]))], nc.uniform(5, 3, seed=2)
    radius = np.array([0.5, 1.0, 2.0, 0.25, 3.0])
    small = nc.simulate(Block(heads, norm="pre", radius=radius), x0, 8.0, save=5)
    large = nc.simulate(Block(heads, norm="pre", radius=64.0 * radius), x0, 512.0, save=5)
    assert small.norms is not None
    assert large.norms is not None
    assert small.steps == large.steps
    assert np.array_equal(small.x, large.x)
    assert np.array_equal(64.0 * small.norms, large.norms)


@pytest.mark.parametrize("rtol", [1e-8, 1e-5], ids=["order 8", "order 5"])
def test_frames_between_steps_are_as_good_as_steps(rtol: float) -> None:
    heads, x0 = [Attention(4.0, mask="full"), Attention(1.0)], nc.uniform(8, 3, seed=4)
    model = Block(heads, norm="pre", radius=np.linspace(0.5, 4.0, 8))
    times = np.linspace(0.0, 12.0, 97)
    run = nc.simulate(model, x0, 12.0, save=times, rtol=rtol, atol=0.0)
    fine = nc.simulate(model, x0, 12.0, save=times, rtol=1e-12, atol=0.0)
    assert fine.norms is not None
    assert worst(run, fine.x, fine.norms) <= 5.0 * rtol


def test_a_token_that_shrinks_to_nothing_stalls() -> None:
    # V = -I: r = 1 - t, and at t = 1 the token has no direction any more
    run = nc.simulate(Block(Attention(1.0, V=-np.eye(3)), norm="pre"), nc.uniform(1, 3, seed=0), 2.0)
    assert run.status == "stalled"
    assert run.norms is not None
    assert run.t[-1] <= 1.0
    assert run.norms[:, 0] == pytest.approx(1.0 - run.t, abs=1e-12)


def test_equiangular_tokens_stay_so() -> None:
    run = nc.simulate(Block(Attention(3.0, mask="full"), norm="pre"), equiangular_start(5, 0.2), 6.0, save=7)
    q, r = overlap_and_length("pre", 5, 3.0, 0.2, 1.0, run.t).T
    gram = run.x @ run.x.mT  # (m, n, n)
    away = gram[:, ~np.eye(5, dtype=bool)] - -np.expm1(-q)[:, None]  # (m, n (n - 1))
    assert np.abs(away).max() <= 1e-7
    assert run.norms is not None
    assert np.abs(run.norms / r[:, None] - 1.0).max() <= 1e-7
