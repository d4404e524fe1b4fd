"""Blocks in tiles through BLAS: they equal the equation at any size."""

import numpy as np
import pytest
from support.block_models import block_bound, blocks
from support.kernel_models import Mask, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.block import Block, block_drift, block_output
from nucleate.checks import EPS
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.dispatch import make_system
from nucleate.kernels.head_tiles import HeadTiles, head_tiles_system
from nucleate.kernels.heads import Heads, heads_system
from nucleate.positions import ALiBi

MASKS: list[Mask] = ["causal", "full", Window(1), Window(300)]


@pytest.mark.parametrize("n", [1, 9, 300, 700])
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [16, 64])
def test_tiles_equal_the_equation_at_any_size(d: int, mask: Mask, n: int) -> None:
    # Below n = 64 `drift` would not take tiles; 700 tokens are three tiles of columns, eleven of rows.
    x = nc.uniform(n, d, seed=n)
    for name, whole in blocks(d, mask).items():
        if n >= 300 and name not in ("all heads", "exclude self, V", "exponential, frozen")[: 1000 // n]:
            continue
        block = Block(whole.heads, whole.mlp, exclude_self=whole.exclude_self)
        velocity = velocities_of(head_tiles_system(block_shape(block, n, d)), x)
        error = np.abs(velocity - block_drift(block, x)).max()
        assert error <= block_bound(block, x), (name, error)


@pytest.mark.parametrize("norm", ["pre", "peri", "ngpt"])
def test_norms_are_those_of_the_equation(norm: str) -> None:
    x = nc.uniform(100, 16, seed=1)
    block = Block([Attention(6.0), Attention(2.0, weights="exponential")], norm=norm)  # type: ignore[arg-type]  # a plain text
    A = block_output(block, x)
    length = np.linalg.norm(A, axis=1, keepdims=True)
    expected = {"pre": A, "peri": A / length, "ngpt": block_drift(block, x)}[norm]
    error = np.abs(velocities_of(head_tiles_system(block_shape(block, 100, 16)), x) - expected).max()
    assert error <= block_bound(Block(block.heads), x)


def test_first_tokens_do_not_feel_the_others_beyond_rounding() -> None:
    # To the bit it does not hold: BLAS rounds by shape.
    x = nc.uniform(200, 16, seed=4)
    block = blocks(16, "causal")["all heads"]
    whole = nc.drift(block, x)
    assert np.abs(nc.drift(block, x[:130]) - whole[:130]).max() <= block_bound(block, x)


def test_hardmax_shares_among_equal_scores_and_tells_neighbours_apart() -> None:
    # Every token three times, in places of three tiles: each sees two copies of itself, or its neighbour at
    # 1e-9, whose score differs by 1e-18, which no product of coordinates can tell.
    d, generator = 64, np.random.default_rng(0)
    three = np.tile(nc.uniform(200, d, seed=1), (3, 1))
    near = three + 1e-9 * generator.standard_normal(three.shape)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    for head in (Attention(2.0, weights="hardmax"), Attention(2.0, mask=Window(300), weights="hardmax")):
        for x in (three, near):
            shape = block_shape(Block(head), len(x), d)
            by_tiles, by_pairs = (
                velocities_of(head_tiles_system(shape), x),
                velocities_of(heads_system(shape), x),
            )
            assert np.abs(by_tiles - by_pairs).max() <= 4 * EPS
    assert not velocities_of(
        head_tiles_system(block_shape(Block(Attention(2.0, weights="hardmax")), 600, d)), three
    )[200:].any()


def test_small_systems_stay_in_registers() -> None:
    soft, hard = Attention(1.0, position=ALiBi(1.0)), Attention(1.0, weights="hardmax")
    assert isinstance(make_system(block_shape(Block([soft, hard]), 64, 16)), HeadTiles)
    assert isinstance(make_system(block_shape(Block(soft), 63, 16)), Heads)
    assert isinstance(make_system(block_shape(Block(soft), 64, 15)), Heads)


@pytest.mark.parametrize(("n", "d"), [(1001, 64), (70, 16)])
def test_bits_depend_neither_on_threads_nor_on_company(n: int, d: int) -> None:
    x = nc.uniform(2 * n, d, seed=4).reshape(2, n, d)
    block = blocks(d, "causal")["all heads"]
    one = nc.drift(block, x, threads=1)
    assert np.array_equal(one, nc.drift(block, x, threads=2))
    assert np.array_equal(one[1], nc.drift(block, x[1], threads=1))
    assert np.array_equal(one[1], nc.drift(block, x[1], threads=2))
