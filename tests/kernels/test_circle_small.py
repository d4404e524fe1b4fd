"""The circle kernel of one small system: it keeps the accuracy asked for, and the sum over pairs takes over
where modes are not enough."""

import math

import numpy as np
import pytest
from support.kernel_models import pairwise_bound, turning, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.kernels.circle import TOLERANCE, Circle
from nucleate.kernels.circle_small import (
    MAX_MODES,
    MAX_TOKENS,
    CircleSmall,
    circle_small_modes,
    circle_small_roundoff,
    circle_small_system,
)
from nucleate.kernels.dispatch import make_system, team_pays
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import Pairwise

HEAVY = Frozen(nc.uniform(11, 2, 5), np.random.default_rng(5).uniform(1.0, 20.0, 11))


def _models(beta: float) -> list[Attention]:
    """One of each kind that the kernel treats apart."""
    return [
        Attention(beta),
        Attention(beta, V=-2.0 * np.eye(2)),
        Attention(beta, V=0.5 * np.eye(2), frozen=HEAVY),
        Attention(beta, frozen=Frozen([[1.0, 0.0]], 1e8)),
    ]


def _clustered(n: int) -> Array:
    """(n, 2): two clusters, one of them across angle pi, and strays at every distance."""
    rng = np.random.default_rng(n)
    angle = np.array([0.5, np.pi])[rng.integers(0, 2, n)] + 0.01 * rng.standard_normal(n)
    angle[::9] = np.linspace(-np.pi, np.pi, len(angle[::9]))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _by_small(model: Attention, x: Array, tolerance: float) -> Array:
    """The velocities (n, 2) of tokens x, whatever kernel is faster."""
    system = circle_small_system(model_shape(model, *x.shape), tolerance)
    return turning(x, velocities_of(system, np.arctan2(x[:, 1], x[:, 0])))


@pytest.mark.parametrize("tolerance", [TOLERANCE, 1e-9, 1e-6])
@pytest.mark.parametrize("beta", [0.0, 1e-3, 1.0, 9.0, 64.0, 180.0])
def test_velocities_keep_the_accuracy_asked_for(beta: float, tolerance: float) -> None:
    for model in _models(beta):
        for n in (1, 2, 7, 8, 9, 16, 200, MAX_TOKENS):
            for x in (nc.uniform(n, 2, seed=n), _clustered(n)):
                error = np.abs(_by_small(model, x, tolerance) - nc.drift(model, x, kernel="reference")).max()
                assert error <= tolerance * abs(model_shape(model, n, 2).scale) + pairwise_bound(model, 2)


def test_large_beta_goes_by_modes_as_far_as_loose_tolerances_allow() -> None:
    x = nc.uniform(300, 2, seed=0)
    for beta in (1e3, 1e4):
        assert circle_small_modes(model_shape(Attention(beta), 300, 2), TOLERANCE) is None
        error = np.abs(_by_small(Attention(beta), x, 1e-7) - nc.drift(Attention(beta), x)).max()
        assert error <= 1e-7, (beta, error)


def test_where_tokens_stand_on_one_another_or_opposite_the_powers_are_exact_enough() -> None:
    # e_{m+8} = 2 cos(8 theta) e_m - e_{m-8} loses most where 8 theta is near a multiple of pi
    places = np.arange(16) * np.pi / 8.0
    angle = np.concatenate([places, places + 1e-9, places - 1e-5, places + 0.02])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for beta in (1.0, 64.0, 180.0):
        model = Attention(beta)
        error = np.abs(_by_small(model, x, TOLERANCE) - nc.drift(model, x, kernel="reference")).max()
        # without truncation's half: only roundings are left at the places themselves
        assert error <= TOLERANCE / 2.0 + len(x) * circle_small_roundoff(beta), (beta, error)


def test_an_isolated_token_behind_a_cluster_is_exact() -> None:
    rng = np.random.default_rng(0)
    theta = np.append(0.02 * rng.standard_normal(400), 1.1)
    x = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    velocity = _by_small(Attention(64.0), x, 1e-6)[-1]
    gap = theta[:-1] - theta[-1]
    w = np.exp(-128.0 * np.sin(0.5 * gap) ** 2)  # about e^-35 each
    expected = math.fsum(w * np.sin(gap)) / (1.0 + math.fsum(w))
    found = velocity @ np.array([-x[-1, 1], x[-1, 0]])
    assert abs(found - expected) <= 1e-9 * abs(expected)


def test_the_first_token_stands_still_to_the_last_bit() -> None:
    for n in (1, 9, 200):
        assert not _by_small(Attention(64.0, V=3.0 * np.eye(2)), nc.uniform(n, 2, seed=n), 1e-6)[0].any()


def test_the_first_tokens_have_the_same_bits_without_those_behind_them() -> None:
    x = nc.uniform(200, 2, seed=4)
    whole = _by_small(Attention(64.0), x, TOLERANCE)
    for m in (1, 8, 13, 150):
        assert np.array_equal(_by_small(Attention(64.0), x[:m], TOLERANCE), whole[:m])


def test_it_is_taken_for_few_tokens_of_plain_heads_and_refused_elsewhere() -> None:
    def kind(model: Attention, n: int, tolerance: float = TOLERANCE) -> type:
        return type(make_system(model_shape(model, n, 2), "auto", tolerance))

    assert kind(Attention(64.0), 200) is CircleSmall
    assert kind(Attention(64.0), 20) is Pairwise
    assert kind(Attention(64.0), MAX_TOKENS + 1) is Circle
    assert kind(Attention(64.0, mask="full"), 400) is Circle
    assert kind(Attention(64.0, mask=Window(400)), 400) is Circle
    assert kind(Attention(64.0, V=np.diag([1.0, 2.0])), 400) is Circle
    assert kind(Attention(400.0), 500) is Circle  # modes by a recurrence are not exact enough
    assert kind(Attention(400.0), 500, 1e-9) is CircleSmall
    for model, d in ((Attention(64.0), 3), (Attention(64.0, weights="exponential"), 2)):
        assert circle_small_modes(model_shape(model, 200, d), 1e-6) is None


def test_one_thread_is_enough_for_the_largest() -> None:
    largest = max(
        (circle_small_modes(model_shape(Attention(beta), MAX_TOKENS, 2), 1e-5) or 0, beta)
        for beta in np.geomspace(1.0, 1e6, 50).tolist()
    )
    assert MAX_MODES / 2 < largest[0] <= MAX_MODES
    system = circle_small_system(model_shape(Attention(largest[1]), MAX_TOKENS, 2), 1e-5)
    assert not team_pays(system, runs=1, threads=64)


def test_a_simulation_by_it_ends_where_one_by_pairs_does() -> None:
    x0 = nc.uniform(200, 2, seed=0)
    run = nc.simulate(Attention(64.0), x0, t=20.0, save=5, rtol=1e-9, atol=1e-11)
    pairs = nc.simulate(Attention(64.0), x0, t=20.0, save=5, rtol=1e-12, atol=1e-14)  # beyond any modes
    assert np.abs(run.x - pairs.x).max() <= 5e-9
