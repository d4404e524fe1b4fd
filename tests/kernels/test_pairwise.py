"""The sum over pairs: it equals the equation for every model and mask, and keeps small forces accurate."""

import math

import numpy as np
import pytest
from support.kernel_models import MASKS, Mask, models, pairwise_bound, velocities_of
from support.places import on_circle

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import EPS
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import pairwise_system


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [2, 3, 7, 16, 64])
def test_pairwise_equals_the_equation(d: int, mask: Mask) -> None:
    for name, model in models(d, mask).items():
        for n in (1, 2, 7, 8, 9, 63, 64, 65, 200):  # d >= 16 goes through tiles from n = 64
            x = nc.uniform(n, d, seed=n)
            error = np.abs(
                nc.drift(model, x, kernel="pairwise") - nc.drift(model, x, kernel="reference")
            ).max()
            assert error <= pairwise_bound(model, d), (name, n, error)


def test_pairwise_equals_the_equation_in_high_dimension_without_tiles() -> None:
    for n, d in ((200, 16), (1500, 64)):  # 1500 pairs are two strips
        for name, model in models(d, "causal").items():
            x = nc.uniform(n, d, seed=1)
            velocity = velocities_of(pairwise_system(model_shape(model, n, d)), x)
            error = np.abs(velocity - nc.drift(model, x, kernel="reference")).max()
            assert error <= pairwise_bound(model, d), (name, error)


def test_small_forces_keep_their_relative_accuracy() -> None:
    # Two tokens far apart: the force e^{-beta (1 - u)} sqrt(1 - u^2) is far below the rounding of x itself.
    theta, beta = 2.0, 60.0
    velocity = nc.drift(Attention(beta), on_circle(np.array([0.0, theta])), kernel="pairwise")[1]
    force = math.exp(-2.0 * beta * math.sin(theta / 2) ** 2) * math.sin(theta)  # about 1e-37
    # x is the rounded point: its angle, and with it beta * (1 - cos), is off by eps
    assert velocity @ [-math.sin(theta), math.cos(theta)] == pytest.approx(-force, rel=8 * beta * EPS)
