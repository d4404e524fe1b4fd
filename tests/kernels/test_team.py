"""Threads that share the tokens of one system: the bits of one thread."""

import numpy as np
import pytest
from support.kernel_models import Mask, models

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.kernels.circle import circle_system
from nucleate.kernels.dispatch import MIN_TEAM_WORK, choose_kernel, work_of
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import pairwise_system
from nucleate.kernels.tiles import tiles_system


@pytest.mark.parametrize(("n", "d"), [(60_000, 2), (3000, 3), (2500, 7), (2001, 16), (1001, 64)])
@pytest.mark.parametrize("mask", ["causal", "full", Window(900)], ids=str)
def test_two_threads_give_the_bits_of_one(n: int, d: int, mask: Mask) -> None:
    x = nc.uniform(n, d, seed=4)
    for name in ("plain", "everything"):
        model = models(d, mask)[name]
        one = nc.drift(model, x, threads=1)
        assert np.array_equal(one, nc.drift(model, x, threads=2)), name
        assert np.array_equal(one, nc.drift(model, x, threads=3)), name


def test_a_team_is_at_work_in_the_test_above() -> None:
    for model in (models(2, "causal")["plain"], models(2, Window(900))["everything"]):
        assert choose_kernel(model_shape(model, 60_000, 2)) == "circle"
        assert work_of(circle_system(model_shape(model, 60_000, 2))) > MIN_TEAM_WORK
        assert work_of(pairwise_system(model_shape(model, 3000, 2))) > MIN_TEAM_WORK
    assert work_of(tiles_system(model_shape(Attention(6.0), 1001, 64))) > MIN_TEAM_WORK
