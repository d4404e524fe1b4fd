"""Equiangular tokens under every norm: the two equations against the equation of all tokens, and the late
laws, each with the exponent that is fitted and its interval."""

from typing import Any

import numpy as np
import pytest
from support.reference_flow import ENGINES, equiangular_tokens, flow

from nucleate.attention import Attention
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError
from nucleate.norms import NORMS, Norm
from nucleate.theory.equiangular import Weights, equiangular, equiangular_rate, equiangular_time, late_law
from nucleate.theory.flows import equiangular_overlap

WEIGHTS: tuple[Weights, ...] = ("softmax", "exponential")


def options(norm: Norm, **others: Any) -> dict[str, Any]:
    """Arguments of Block and of the theory."""
    rest = {"mix": {"tau": 0.75}, "ngpt": {"alpha": 0.6}, "pre": {"radius": 1.4}, "peri": {"radius": 0.8}}
    return {"norm": norm, **rest.get(norm, {}), **others}


# The equations


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("n", "beta", "rho"), [(2, 1.0, -0.5), (5, 0.0, 0.3), (7, 4.0, 0.05)])
def test_the_rate_is_that_of_the_equation_of_all_tokens(
    n: int, beta: float, rho: float, weights: Weights
) -> None:
    x = equiangular_tokens(n, rho)  # (n, n)
    v = block_drift(Block(Attention(beta, mask="full", weights=weights)), x)
    rates = (v @ x.T + x @ v.T)[~np.eye(n, dtype=bool)]  # (n (n - 1),)
    assert rates == pytest.approx(float(equiangular_rate(n, beta, rho, weights)), rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("exclude_self", [False, True])
def test_tokens_stay_equiangular_and_follow_the_two_equations(
    norm: Norm, weights: Weights, exclude_self: bool, engine: str
) -> None:
    if exclude_self and norm in ("peri", "ngpt"):
        with pytest.raises(InputError, match="they meet in finite time"):
            equiangular(4, 1.0, 0.1, 1.0, weights, exclude_self=True, **options(norm))
        return
    n, beta, rho0, times = 4, 1.0, -0.1, np.linspace(0.0, 2.0, 6)
    settings = options(norm, exclude_self=exclude_self)
    block = Block(Attention(beta, mask="full", weights=weights), **settings)
    expected = equiangular(n, beta, rho0, times, weights, **settings)
    found = flow(engine, block, equiangular_tokens(n, rho0), times)
    overlaps = (found.x @ found.x.mT)[:, ~np.eye(n, dtype=bool)]  # (6, n (n - 1))
    # twenty times the tolerance of the solver
    assert np.abs(overlaps - expected.rho[:, None]).max() < 2e-9
    if found.r is not None:
        assert np.abs(found.r - expected.r[:, None]).max() < 2e-9


def test_the_causal_mask_does_not_keep_tokens_equiangular() -> None:
    found = flow("reference", Block(Attention(1.0)), equiangular_tokens(3, 0.0), [0.0, 1.0])
    assert np.ptp((found.x[1] @ found.x[1].T)[np.triu_indices(3, 1)]) > 1e-2  # the solver errs by 1e-9


@pytest.mark.parametrize(
    ("n", "beta", "rho0"), [(4, 1.0, 0.0), (8, 4.0, 0.1), (3, 0.0, -0.4), (3, 40.0, 0.5)]
)
def test_softmax_post_is_the_quadrature_of_exact_solutions(n: int, beta: float, rho0: float) -> None:
    times = np.array([0.5, 2.0, 7.0])
    assert equiangular(n, beta, rho0, times).rho == pytest.approx(
        [equiangular_overlap(n, beta, rho0, t) for t in times], abs=1e-10
    )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_sqrt_is_post_on_another_clock_and_ngpt_scales_time(weights: Weights) -> None:
    t = np.array([0.3, 1.0, 5.0])
    slow = equiangular(5, 1.0, 0.1, t, weights, "sqrt").gap
    assert slow == pytest.approx(
        equiangular(5, 1.0, 0.1, 2.0 * np.sqrt(t + 1.0) - 2.0, weights).gap, rel=1e-9
    )
    slow = equiangular(5, 1.0, 0.1, t, weights, "ngpt", alpha=0.5).gap
    assert slow == pytest.approx(equiangular(5, 1.0, 0.1, 0.5 * t, weights, "ngpt").gap, rel=1e-9)


@pytest.mark.parametrize("norm", ["pre", "peri"])
def test_at_beta_zero_the_distance_of_tokens_with_a_radius_is_constant(norm: Norm) -> None:
    found = equiangular(6, 0.0, -0.15, np.array([0.0, 1.0, 30.0, 1e6]), norm=norm, radius=2.0)
    assert found.r**2 * found.gap == pytest.approx(4.0 * 1.15, rel=1e-9)


# The late laws


def exponent(clock: Array, gap: Array) -> tuple[float, float]:
    """The slope of log gap against the clock where it is latest, and how far it may be off.

    Over the last two quarters of the clock the slope still changes; if the rest of its way shrinks at least
    by half from one to the next, that change bounds it.
    """
    quarter = len(clock) // 4
    early, late = (
        float(np.polyfit(clock[part], np.log(gap[part]), 1)[0])
        for part in (slice(2 * quarter, 3 * quarter), slice(3 * quarter, None))
    )
    return late, abs(late - early) + 1e-7  # the solver's own errors, per unit of the clock


def late_times(norm: Norm, weights: Weights, beta: float) -> tuple[Array, Array]:
    """Times, and the clock on which log(1 - rho) is a line: t, log t or sqrt(t + 1)."""
    g = np.exp(beta) if weights == "exponential" else 1.0
    if norm in ("pre", "peri", "mix"):
        t = np.geomspace(10.0, 1e5, 81)
        return t, np.log(t)
    if norm == "sqrt":
        t = np.linspace(2.0, 1.0 + 12.0 / g, 81) ** 2 - 1.0
        return t, np.sqrt(t + 1.0)
    t = np.linspace(1.0, 15.0 / (0.6 if norm == "ngpt" else g), 81)
    return t, t


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_the_late_law_of_every_norm_lies_in_the_interval_of_the_fitted_exponent(
    norm: Norm, weights: Weights, beta: float
) -> None:
    g = float(np.exp(beta)) if weights == "exponential" else 1.0
    law = {"post": -2.0 * g, "ngpt": -2.0 * 0.6, "sqrt": -4.0 * g}.get(norm, -2.0)
    t, clock = late_times(norm, weights, beta)
    gap = equiangular(5, beta, 0.1, t, weights, **options(norm)).gap
    fitted, room = exponent(clock, gap)
    assert abs(fitted - law) <= room, (fitted, law, room)
    assert room < 1e-2  # so that no other law of the table would do
    # and the formula is the same law: its ratio to the motion has a limit
    ratio = gap / late_law(t=t, weights=weights, beta=beta, **options(norm))
    assert ratio[-1] == pytest.approx(ratio[60], rel=2e-3)


def test_the_fit_tells_one_law_from_another() -> None:
    t = np.geomspace(10.0, 1e5, 81)
    for power in (-1.9, -2.1, -1.0):
        fitted, room = exponent(np.log(t), (1.0 + t) ** power)
        assert abs(fitted + 2.0) > room


@pytest.mark.parametrize("weights", WEIGHTS)
def test_before_tau_mix_falls_like_post_and_then_like_the_square_of_time(weights: Weights) -> None:
    early, late = np.array([1.0, 4.0]), np.array([4.0, 5.0, 104.0])
    mix = equiangular(5, 0.5, 0.1, early, weights, "mix", tau=4.0)
    assert mix.gap == pytest.approx(equiangular(5, 0.5, 0.1, early, weights).gap, rel=1e-9)
    after = equiangular(5, 0.5, 0.1, late, weights, "mix", tau=4.0).gap
    g = np.exp(0.5) if weights == "exponential" else 1.0
    # what is left at tau, 1e-3 at most, is by how much the tokens then differ from one point
    assert after / after[0] == pytest.approx((1.0 + g * (late - 4.0)) ** -2.0, rel=5e-3)


@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_xsa_under_pre_keeps_its_radius_and_collapses_exponentially(radius: float) -> None:
    t = np.linspace(1.0, 15.0 * radius, 81)
    found = equiangular(5, 1.0, 0.1, t, norm="pre", radius=radius, exclude_self=True)
    assert found.r == pytest.approx(radius, rel=1e-15)
    fitted, room = exponent(t, found.gap)
    assert abs(fitted + 2.0 / radius) <= room < 1e-2
    law = late_law("pre", t, radius=radius, exclude_self=True)
    assert (found.gap / law)[-1] == pytest.approx((found.gap / law)[60], rel=2e-3)


# What is refused


def test_what_no_equiangular_tokens_have_is_refused() -> None:
    with pytest.raises(InputError, match=r"rho0 must lie between -1/\(n - 1\) = -0.5 and 1, but is -0.5"):
        equiangular(3, 1.0, -0.5, 1.0)
    with pytest.raises(InputError, match="rho must lie between"):
        equiangular_rate(3, 1.0, [0.0, 1.0])
    with pytest.raises(InputError, match="n must be a whole number of at least 2"):
        equiangular(1, 1.0, 0.0, 1.0)
    with pytest.raises(InputError, match=r"beta \(1 - rho0\) must be at most 700"):
        equiangular(3, 600.0, -0.4, 1.0)
    with pytest.raises(InputError, match="beta must be at most 700, but is 701"):
        equiangular(3, 701.0, 0.9, 1.0)
    with pytest.raises(InputError, match="t must be times"):
        equiangular(3, 1.0, 0.0, [1.0, 0.5])
    with pytest.raises(InputError, match='weights must be "softmax" or "exponential", but is \'hardmax\''):
        equiangular(3, 1.0, 0.0, 1.0, "hardmax")  # type: ignore[arg-type]  # that is the slip
    with pytest.raises(InputError, match="norm must be one of post, pre"):
        late_law("layer", 1.0)  # type: ignore[arg-type]  # that is the slip
    with pytest.raises(InputError, match='tau belongs to norm "mix", which needs it'):
        late_law("mix", 1.0)
    with pytest.raises(InputError, match="radius must be finite and greater than 0"):
        equiangular(3, 1.0, 0.0, 1.0, norm="pre", radius=0.0)
    with pytest.raises(InputError, match='norm "mix" starts all tokens at length 1, but radius is 2'):
        equiangular(3, 1.0, 0.0, 1.0, norm="mix", tau=1.0, radius=2.0)


def test_the_time_to_an_overlap_is_that_at_which_the_overlap_is_reached() -> None:
    for beta in (0.0, 2.0, 6.0):
        t = equiangular_time(32, beta, 0.1, 0.9)
        assert equiangular(32, beta, 0.1, [0.0, t]).rho[-1] == pytest.approx(0.9, abs=1e-9)  # both to 1e-10


def test_two_tokens_without_temperature_are_solved_by_hand() -> None:
    # beta = 0, n = 2: rho' = (1 - rho)(1 + rho), so that rho = tanh(t) from 0
    t = np.linspace(0.0, 3.0, 7)
    assert equiangular(2, 0.0, 0.0, t).rho == pytest.approx(np.tanh(t), abs=1e-11)
    assert equiangular_time(2, 0.0, 0.0, np.tanh(2.0)) == pytest.approx(2.0, rel=1e-9)
