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
from nucleate.kernels.simd import CACHE_LINE_BYTES
from nucleate.kernels.team import Team
from nucleate.kernels.tiles import ROWS, tiles_system


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


@pytest.mark.parametrize(("n", "rows"), [(4000, ROWS), (1000, ROWS), (500, ROWS // 2), (100, ROWS // 4)])
def test_threads_share_whole_tiles_where_there_are_enough(n: int, rows: int) -> None:
    edges = Team(tiles_system(model_shape(Attention(6.0), n, 64)), 2).edges
    assert edges[0] == 0
    assert edges[-1] == n
    assert all(edge % rows == 0 for edge in edges[:-1])
    assert len(edges) > 4  # two pieces for each thread at least


def test_what_every_thread_works_in_begins_with_a_line_of_the_cache() -> None:
    for member in Team(tiles_system(model_shape(Attention(6.0), 1000, 64)), 3).members:
        for array in (member.u, member.scores, member.sums, member.Z):  # type: ignore[union-attr]
            assert array.ctypes.data % CACHE_LINE_BYTES == 0
