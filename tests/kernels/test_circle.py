"""The circle kernel: it equals the equation, and the sum over pairs where modes are not enough."""

import math

import mpmath as mp
import numpy as np
import pytest
from support.kernel_models import MASKS, Mask, circle_bound, models
from support.places import on_circle

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import EPS, Array
from nucleate.kernels.circle import FROZEN_AT_ONCE, circle_system, modes
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.threads import Stopped, stopped_by


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_circle_equals_the_equation(mask: Mask) -> None:
    for name, model in models(2, mask).items():
        for n in (1, 2, 7, 8, 9, 200):
            x = nc.uniform(n, 2, seed=n)
            error = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="reference")).max()
            assert error <= circle_bound(model), (name, n, error)


@pytest.mark.parametrize(
    "mask",
    ["causal", "full", *(Window(w) for w in (1, 2, 3, 511, 512, 513, 1024, 4095, 4096, 4097, 5000, 9000))],
    ids=str,
)
def test_circle_equals_pairwise_across_chunks_and_superblocks(mask: Mask) -> None:
    # A superblock is 8 chunks of 512 tokens: 5000 tokens make two, and a padded third of a lane.
    x = nc.uniform(5000, 2, seed=3)
    for name in ("plain", "everything"):
        model = models(2, mask)[name]
        error = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="pairwise")).max()
        assert error <= circle_bound(model), (name, error)


def test_an_isolated_token_behind_a_cluster_of_100000_is_exact() -> None:
    n, beta = 100_001, 64.0
    rng = np.random.default_rng(0)
    theta = np.append(0.02 * rng.standard_normal(n - 1), 1.1)
    velocity = _angular(Attention(beta), theta)
    gap = theta[:-1] - theta[-1]
    # about e^-35 each: Z is 1 and a sum over modes, good to 1e5 eps, cannot see them
    w = np.exp(-2.0 * beta * np.sin(0.5 * gap) ** 2)
    expected = math.fsum(w * np.sin(gap)) / (1.0 + math.fsum(w))
    # The pairwise kernel's bound, against the force itself, far below the 1e-11 of the modes.
    assert abs(velocity[-1] - expected) <= 1e-9 * abs(expected) + 1e-16
    mid = n // 2
    gap = theta[:mid] - theta[mid]
    w = np.exp(-2.0 * beta * np.sin(0.5 * gap) ** 2)
    assert abs(velocity[mid] - math.fsum(w * np.sin(gap)) / (1.0 + math.fsum(w))) <= circle_bound(
        Attention(beta)
    )


@pytest.mark.parametrize("mask", ["causal", "full", Window(700)], ids=str)
def test_clusters_and_strays_are_right_together(mask: Mask) -> None:
    rng = np.random.default_rng(1)
    theta = rng.choice([0.0, 2.0], 3000) + 0.01 * rng.standard_normal(3000)
    theta[rng.choice(3000, 25, replace=False)] = rng.uniform(0.0, 2.0 * math.pi, 25)
    x = on_circle(theta)
    for name, model in models(2, mask).items():
        error = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="pairwise")).max()
        assert error <= circle_bound(model), (name, error)


@pytest.mark.parametrize("weight", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("mask", ["causal", "full", Window(50)], ids=str)
def test_a_heavy_frozen_token_does_not_drown_the_tokens_far_from_it(mask: Mask, weight: float) -> None:
    # Modes are good to eps times the sum of the weights, 1e12 here, while a token at the far side has Z of
    # order 1.
    x = nc.uniform(100, 2, seed=0)
    for V in (np.eye(2), np.array([[1.0, 0.3], [-0.2, 0.5]])):
        model = Attention(64.0, V=V, mask=mask, frozen=Frozen([[1.0, 0.0]], weight))
        for kernel in ("circle", "auto"):
            error = np.abs(nc.drift(model, x, kernel=kernel) - nc.drift(model, x, kernel="reference")).max()
            assert error <= circle_bound(model), (kernel, error)


def test_modes_obey_their_rule() -> None:
    def tail(M: int, z: float) -> float:
        with mp.workdps(30):
            terms = (
                mp.exp(-z) * mp.besseli(m, z) * max(mp.mpf(1), mp.mpf(m) / z) for m in range(M + 1, M + 60)
            )
            return float(2 * mp.fsum(terms))

    assert modes(64.0, 1e-10) == 53
    for z in (0.1, 1.0, 7.0, 64.0, 300.0):
        for truncation in (1e-8, 1e-12, EPS):
            M = modes(z, truncation)
            assert tail(M, z) < truncation, (z, truncation, M)
            assert M == 1 or tail(M - 1, z) >= truncation, (z, truncation, M)
    assert modes(0.0) >= 1


def _angular(model: Attention, theta: Array) -> Array:
    x = on_circle(theta)
    velocity = nc.drift(model, x, kernel="circle")
    return np.asarray(velocity[:, 1] * x[:, 0] - velocity[:, 0] * x[:, 1])


def test_more_frozen_tokens_than_are_held_at_a_time_are_summed_as_pairs_are() -> None:
    frozen = nc.uniform(2 * FROZEN_AT_ONCE + 7, 2, seed=1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(frozen))
    model, x = Attention(16.0, frozen=Frozen(frozen, weight)), nc.uniform(200, 2, seed=0)
    exact = nc.drift(model, x, kernel="pairwise")
    assert np.abs(nc.drift(model, x, kernel="circle") - exact).max() < 1e-11


def test_modes_of_frozen_tokens_are_left_off_when_the_work_is_stopped() -> None:
    shape = model_shape(Attention(16.0, frozen=Frozen(nc.uniform(10, 2, seed=0))), 5, 2)
    with stopped_by(lambda: True), pytest.raises(Stopped):
        circle_system(shape)
