"""The interaction function against 50 digits, and Lemma A.1 within its hypotheses and beyond them."""

import mpmath as mp
import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.checks import InputError
from nucleate.theory.interaction import (
    interaction,
    interaction_bounds,
    interaction_slope,
    slope_bound_far,
    slope_bound_near,
    strongest_distance,
)

BETAS = [1e-8, 0.1, 1.0, 4.0, 9.0, 64.0, 1e4, 1e12]
EPS = float(np.finfo(float).eps)


def test_h_and_g_equal_their_formulas_to_50_digits() -> None:
    rng = np.random.default_rng(0)
    for beta in [0.0, *BETAS]:
        for x in np.concatenate(
            [
                rng.uniform(-np.pi, np.pi, size=20),
                min(1.0, beta**-0.5 if beta else 1.0) * rng.uniform(-3.0, 3.0, size=20),
            ]
        ):
            with mp.workdps(50):
                angle, b = mp.mpf(float(x)), mp.mpf(beta)
                weight = mp.exp(b * (mp.cos(angle) - 1))
                h, g = weight * mp.sin(angle), weight * (mp.cos(angle) - b * mp.sin(angle) ** 2)
                # The exponent beta (1 - cos x), a double with a few roundings, is off by that many eps times
                # itself.
                rel = 8 * EPS * (1.0 + float(b * (1 - mp.cos(angle))))
                # of the two terms of g, which may cancel
                size = float(weight * (abs(mp.cos(angle)) + b * mp.sin(angle) ** 2))
            assert float(interaction(x, beta)) == pytest.approx(float(h), rel=rel, abs=1e-300)
            assert abs(float(interaction_slope(x, beta)) - float(g)) <= rel * size + 1e-300


def test_strongest_distance_equals_its_formula_to_50_digits() -> None:
    for beta in [1e-300, 1e-20, *BETAS, 1e100, 1e300, 1.7e308]:
        with mp.workdps(1000):  # 1 - cos tau* is 1e-308 and must keep 50 digits
            b = mp.mpf(beta)
            exact = float(mp.acos((mp.sqrt(4 * b * b + 1) - 1) / (2 * b)))
        assert float(strongest_distance(beta)) == pytest.approx(exact, rel=4 * EPS)
    assert float(strongest_distance(0.0)) == np.pi / 2


def test_strongest_distances_are_those_of_the_paper() -> None:
    # six printed digits
    assert strongest_distance([10.0, 64.0, 9.0]) == pytest.approx([0.313535, 0.124837, 0.330172], abs=5e-7)


def test_g_is_the_derivative_of_h_and_zero_where_h_is_largest() -> None:
    x = np.linspace(-np.pi, np.pi, 41)  # (41,)
    for beta in (0.0, 1.0, 9.0, 64.0):
        step = 1e-5
        slope = (interaction(x + step, beta) - interaction(x - step, beta)) / (2 * step)
        # h''' is at most about (1 + beta)^1.5
        assert np.allclose(slope, interaction_slope(x, beta), atol=step**2 * (1 + beta) ** 1.5)
        tau = float(strongest_distance(beta))
        assert abs(float(interaction_slope(tau, beta))) < 4 * EPS * (1 + beta) ** 0.5
        grid = np.linspace(0.0, np.pi, 10_001)
        assert abs(grid[interaction(grid, beta).argmax()] - tau) <= np.pi / 10_000


def test_two_tokens_on_the_circle_move_by_h_over_z() -> None:
    for beta, x in ((0.0, 1.0), (1.0, 2.0), (9.0, 0.3), (64.0, -0.2)):
        tokens = np.array([[1.0, 0.0], [np.cos(x), np.sin(x)]])
        speed = drift(Attention(beta), tokens)[1] @ [-np.sin(x), np.cos(x)]
        Z = 1.0 + np.exp(beta * (np.cos(x) - 1.0))
        assert speed == pytest.approx(float(interaction(-x, beta)) / Z, rel=1e-12)


def test_extreme_beta_gives_numbers_and_no_warnings() -> None:
    x = np.array([0.0, 1e-160, 1e-3, 1.0, np.pi])
    for beta in (0.0, 5e-324, 1e300, 1.7e308):
        assert np.isfinite(interaction(x, beta)).all()
        assert np.isfinite(interaction_slope(x, beta)).all()
    assert float(interaction(1.0, 1e300)) == 0.0
    # 1 - cos(1e-9) is 0 in doubles, 2 sin^2 is not
    assert float(interaction(1e-9, 1e18)) == pytest.approx(1e-9 * np.exp(-0.5), rel=1e-12)


def test_bounds_of_lemma_a1_hold_within_their_hypotheses() -> None:
    rng = np.random.default_rng(1)
    for beta in (1e-3, 0.3, 1.0, 4.0, 64.0, 1e4):
        scale = min(np.pi, 6.0 / np.sqrt(beta))
        # near 0 both sides are equal to rounding
        x = np.concatenate([rng.uniform(1e-2, np.pi, size=200), rng.uniform(1e-2, 1.0, size=200) * scale])
        x = x[beta * x**2 < 600.0]  # beyond, all are zero
        h, (lower, upper) = interaction(x, beta), interaction_bounds(x, beta)
        room = 1e-13 * np.abs(h)  # rounding of exponents up to 600
        assert (lower < h + room).all()
        assert (h < upper + room).all()
        near = x[x < (beta + 0.5) ** -0.5]
        assert (interaction_slope(near, beta) > slope_bound_near(near, beta) - 1e-13).all()
        if beta >= 1.0:
            assert (interaction_slope(x, beta) > slope_bound_far(x, beta) - 1e-13).all()
        tau = float(strongest_distance(beta))
        assert (beta + 0.5) ** -0.5 < tau < beta**-0.5


def test_bounds_of_lemma_a1_fail_without_their_hypotheses() -> None:
    x, beta = 4.0, 1.0  # beyond pi
    assert float(interaction(x, beta)) < np.exp(-beta * x**2 / 2) * (x - x**3 / 6)
    x, beta = 2.0, 0.1  # beta below 1
    assert float(interaction_slope(x, beta)) < -beta * x**2 * np.exp(-beta * x**2 / 2 + beta * x**4 / 24)


def test_what_is_outside_the_hypotheses_is_refused() -> None:
    with pytest.raises(InputError, match=r"interaction_bounds needs 0 < x <= 3\.14159, but x is 4"):
        interaction_bounds(4.0, 1.0)
    with pytest.raises(InputError, match="slope_bound_near needs 0 < x"):
        slope_bound_near(0.9, 1.0)
    with pytest.raises(
        InputError, match=r"slope_bound_far needs beta of at least 1, but it is as low as 0\.5"
    ):
        slope_bound_far(1.0, 0.5)
    with pytest.raises(InputError, match="beta must be finite and non-negative, but is -1"):
        interaction(1.0, -1.0)
    with pytest.raises(InputError, match="x must be finite, but is nan"):
        interaction(np.nan, 1.0)
    with pytest.raises(InputError, match="shapes that go together"):
        interaction(np.zeros(2), np.zeros(3))
