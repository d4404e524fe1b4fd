"""Random value matrices: the drift and variance of the overlap, the exponent at the antipode and where runs
end, against layers of the equation; statistical intervals throughout."""

import numpy as np
import pytest

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.layers import layer_step
from nucleate.theory.random_values import (
    Mask,
    antipode_exponent,
    antipode_probability,
    critical_beta,
    overlap_drift,
    overlap_variance,
)

SIGMAS = 4.5  # one in 150,000 tests of a true claim would fail


def pair(d: int, u: Array | float, runs: int) -> Array:
    """Two tokens of the overlap u in every run, (runs, 2, d)."""
    x = np.zeros((runs, 2, d))
    x[:, 0, 0] = 1.0
    x[:, 1, 0] = u
    x[:, 1, 1] = np.sqrt(1.0 - np.square(u))
    return x


def layers(beta: float, mask: Mask, x: Array, dt: float, count: int, rng: np.random.Generator) -> Array:
    """Tokens (runs, 2, d) after `count` layers with fresh normal values of the size sqrt(dt)."""
    runs, _, d = x.shape
    r = np.ones((runs, 2))
    for _ in range(count):
        V = rng.standard_normal((runs, d, d)) / np.sqrt(dt)  # the step multiplies by dt
        x, r = layer_step(Block(Attention(beta, V=V, mask=mask)), x, r, dt)
    return x


@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize(("beta", "d", "u"), [(0.5, 3, 0.3), (2.0, 6, -0.7), (0.0, 2, 0.6), (1.0, 4, -0.2)])
def test_one_thin_layer_has_the_drift_and_the_variance_of_the_overlap(
    beta: float, d: int, u: float, mask: Mask
) -> None:
    runs, dt = 200_000, 1e-3
    x = layers(beta, mask, pair(d, u, runs), dt, 1, np.random.default_rng(1))
    change = (x[:, 0] * x[:, 1]).sum(-1) - u  # (runs,)
    variance = float(overlap_variance(beta, d, u, mask))
    error = np.sqrt(variance / dt / runs)  # of the mean rate
    assert abs(change.mean() / dt - overlap_drift(beta, d, u, mask)) < SIGMAS * error + 50 * dt
    # the square of a normal number has twice its variance squared; and the next order in dt
    assert change.var() / dt == pytest.approx(variance, rel=SIGMAS * np.sqrt(2.0 / runs) + 30 * dt)


@pytest.mark.parametrize(("beta", "d"), [(1.0, 3), (0.3, 4), (1.0, 4), (0.9, 6), (1.3, 6)])
def test_close_to_the_antipode_tokens_part_or_approach_at_the_exponent(beta: float, d: int) -> None:
    runs, dt, count, close = 2000, 4e-3, 100, 1e-9
    x = layers(beta, "full", pair(d, close - 1.0, runs), dt, count, np.random.default_rng(2))
    growth = np.log(((x[:, 0] + x[:, 1]) ** 2).sum(-1) / (2.0 * close)) / (dt * count)  # (runs,)
    error = growth.std() / np.sqrt(runs)
    rate = antipode_exponent(beta, d)
    assert abs(growth.mean() - rate) < SIGMAS * error + 10 * dt  # layers have a thickness: first order in dt
    assert np.sign(rate) == np.sign(d - 2 - np.cosh(2.0 * beta))
    assert np.sign(growth.mean()) == np.sign(rate)


def test_opposite_tokens_attract_iff_cosh_two_beta_is_more_than_d_minus_two() -> None:
    for d in (2, 3, 4, 6, 50):
        critical = critical_beta(d)
        assert np.cosh(2.0 * critical) == pytest.approx(max(d - 2, 1), rel=1e-12)
        assert antipode_exponent(critical + 1e-6, d) < 0.0
        assert critical == 0.0 or antipode_exponent(critical - 1e-6, d) > 0.0
    assert antipode_exponent(0.0, 2) == -1.0  # on the circle they always do


@pytest.mark.parametrize(("beta", "d"), [(0.7, 3), (2.0, 5)])
def test_the_exponent_is_that_of_drift_and_variance(beta: float, d: int) -> None:
    w = 1e-6
    by_ito = overlap_drift(beta, d, w - 1.0) / w - overlap_variance(beta, d, w - 1.0) / w**2 / 2.0
    assert by_ito == pytest.approx(antipode_exponent(beta, d), abs=1e-4)
    at_one = -overlap_drift(beta, d, 1.0 - w) / w - overlap_variance(beta, d, 1.0 - w) / w**2 / 2.0
    assert at_one == pytest.approx(1.0 - d, abs=1e-4)  # equal tokens attract


def test_under_the_causal_mask_opposite_tokens_do_not_stay_and_under_the_full_one_they_do() -> None:
    rng, start = np.random.default_rng(3), pair(3, -1.0, 500)
    for mask, beta in (("full", 0.5), ("causal", 0.5), ("causal", 3.0)):
        x = layers(beta, mask, start, 1e-2, 1, rng)  # type: ignore[arg-type]  # a plain text
        off = ((x[:, 0] + x[:, 1]) ** 2).sum(-1) / 2.0  # (runs,) 1 + u
        q = 1.0 / (1.0 + np.exp(2.0 * beta))
        if mask == "full":
            assert off.max() < 1e-28
            assert overlap_drift(beta, 3, -1.0) == pytest.approx(0.0, abs=1e-15)
        else:
            assert off.min() > 1e-9 * q**2
            assert overlap_drift(beta, 3, -1.0, "causal") == pytest.approx(4.0 * q * q, rel=1e-12)
    assert overlap_drift(1.0, 3, 1.0, "causal") == pytest.approx(0.0, abs=1e-15)  # equal tokens do stay


@pytest.mark.parametrize(("beta", "d", "u0"), [(1.5, 3, 0.0), (1.0, 3, -0.8), (2.0, 6, -0.3)])
def test_the_chance_to_end_opposite_is_the_same_on_average_after_any_number_of_layers(
    beta: float, d: int, u0: float
) -> None:
    runs, dt = 2000, 4e-3
    x = layers(beta, "full", pair(d, u0, runs), dt, 200, np.random.default_rng(4))
    u = np.clip((x[:, 0] * x[:, 1]).sum(-1), -1.0, 1.0)  # (runs,)
    assert u.std() > 0.4  # they have gone far
    chance = antipode_probability(beta, d, u)  # (runs,)
    error = chance.std() / np.sqrt(runs)
    assert abs(chance.mean() - antipode_probability(beta, d, u0)) < SIGMAS * error + dt  # first order in dt
    # another chance, as of the circle, would not do
    other = antipode_probability(beta, 2, u)
    assert abs(other.mean() - antipode_probability(beta, 2, u0)) > SIGMAS * error + dt


def test_runs_of_random_layers_end_equal_or_opposite_in_the_shares_expected() -> None:
    beta, d, runs, rng = 3.0, 3, 600, np.random.default_rng(5)
    x = pair(d, rng.uniform(-1.0, 1.0, runs), runs)  # in three dimensions the overlap is uniform
    x = layers(beta, "full", x, 2e-2, 400, rng)
    u = (x[:, 0] * x[:, 1]).sum(-1)
    undecided = float((np.abs(u) < 0.9).mean())
    assert undecided < 0.02
    share, expected = float((u < 0.0).mean()), float(antipode_probability(beta, d))
    error = np.sqrt(expected * (1.0 - expected) / runs)
    assert abs(share - expected) < SIGMAS * error + undecided


def test_shares_have_their_symmetries_and_limits() -> None:
    for beta in (0.5, 4.0):  # on the circle d - 2 is 0: u and -u are alike
        assert antipode_probability(beta, 2) == pytest.approx(0.5, abs=1e-9)
        assert antipode_probability(beta, 2, 0.4) + antipode_probability(beta, 2, -0.4) == pytest.approx(1.0)
    assert antipode_probability(1.0, 6) == 0.0  # below the critical 1.0317
    assert 0.0 < antipode_probability(1.04, 6) < 0.01
    assert antipode_probability(1e5, 6) == pytest.approx(0.5, abs=1e-2)  # values alone: m_k = x_k
    shares = antipode_probability(2.0, 4, [0.5, 1.0, -0.5, -1.0, 0.5])
    assert shares[[1, 3]].tolist() == [0.0, 1.0]
    assert shares[2] > shares[0] == shares[4] == antipode_probability(2.0, 4, 0.5)
    assert antipode_probability(0.1, 6, [-1.0, -0.9]).tolist() == [1.0, 0.0]
    # the mean over uniform tokens, in three dimensions over u
    u, w = np.polynomial.legendre.leggauss(60)
    mean = float(w @ antipode_probability(2.0, 3, u)) / 2.0
    assert antipode_probability(2.0, 3) == pytest.approx(mean, abs=1e-4)


def test_impossible_overlaps_and_masks_are_refused() -> None:
    with pytest.raises(InputError, match=r"u must lie between -1 and 1, but is 1\.5"):
        overlap_drift(1.0, 3, [0.0, 1.5])
    with pytest.raises(InputError, match="u0 must lie between -1 and 1, but is -2"):
        antipode_probability(1.0, 3, -2.0)
    with pytest.raises(InputError, match='mask must be "full" or "causal", but is \'window\''):
        overlap_variance(1.0, 3, 0.0, "window")  # type: ignore[arg-type]  # that is the slip
    with pytest.raises(InputError, match="d must be a whole number of at least 2"):
        critical_beta(1)
