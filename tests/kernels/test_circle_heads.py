"""Heads on the circle in linear time: they equal the equation, to what the modes promise."""

import math

import numpy as np
import pytest
from support.block_models import block_bound, heads_of_kinds
from support.kernel_models import GO

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.circle_heads import has_modes, modes_pay
from nucleate.kernels.dispatch import make_system
from nucleate.kernels.heads import Heads, heads_block, heads_images
from nucleate.kernels.model_shape import model_shape
from nucleate.positions import ALiBi, RoPE

V = np.array([[0.5, -1.0], [2.0, 0.3]])


def circle_heads(beta: float) -> dict[str, Attention]:
    """Every kind of head that has modes."""
    return {
        "causal": Attention(beta),
        "causal, V": Attention(beta, V=V),
        "full": Attention(beta, mask="full"),
        "full, V": Attention(beta, V=V, mask="full"),
        "exponential": Attention(beta, weights="exponential"),
        "exponential, full": Attention(beta, mask="full", weights="exponential"),
        "ALiBi": Attention(beta, position=ALiBi(0.01)),
        "ALiBi, steep": Attention(beta, V=V, position=ALiBi(2.0)),
        "ALiBi, very steep": Attention(beta, position=ALiBi(500.0)),
        "exponential, ALiBi": Attention(beta, weights="exponential", position=ALiBi(0.1)),
    }


def circle_heads_bound(block: Block, x: Array) -> float:
    """1e-11 |V| for each head, times e^beta where weights are exponential."""
    error = 0.0
    for head in block.heads:
        v = 1.0 if head.V is None else float(np.linalg.norm(head.V, 2))
        error += TOLERANCE * v * (math.exp(float(head.beta)) if head.weights == "exponential" else 1.0)
    return error + block_bound(block, x)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 201, 600])
@pytest.mark.parametrize("beta", [0.0, 1.0, 9.0])
def test_heads_by_modes_equal_the_equation(n: int, beta: float) -> None:
    x = nc.uniform(n, 2, seed=n)
    for name, head in circle_heads(beta).items():
        for exclude_self in (False, True):
            block = Block(head, exclude_self=exclude_self)
            error = np.abs(_by_modes(block, x) - block_drift(block, x)).max()
            assert error <= circle_heads_bound(block, x), (name, error)


def _by_modes(block: Block, x: Array) -> Array:
    """theta' of tokens x, all heads by modes."""
    n = len(x)
    system = make_system(block_shape(block, n, 2), "circle")
    assert isinstance(system, Heads)
    system.places[:] = x.T
    velocity = np.zeros(2 * n + 8)
    heads_images(system)
    heads_block(system, 0, n, velocity, GO)
    return velocity[: 2 * n].reshape(n, 2)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_several_superblocks(mask: str) -> None:
    # 4096 tokens are one; with pairs, which need no n x n array, in place of the equation.
    x = nc.uniform(5000, 2, seed=3)
    heads = [head for head in circle_heads(9.0).values() if head.mask == mask]
    for head in heads:
        block = Block(head, exclude_self=True)
        error = np.abs(nc.drift(block, x) - nc.drift(block, x, kernel="pairwise")).max()
        assert error <= circle_heads_bound(block, x[:10])


@pytest.mark.parametrize("norm", ["pre", "peri", "ngpt"])
def test_all_heads_together_under_a_norm(norm: str) -> None:
    x = nc.uniform(300, 2, seed=4)
    block = Block([*circle_heads(3.0).values(), *heads_of_kinds(2, "causal").values()], norm=norm)  # type: ignore[arg-type]  # a plain text
    error = np.abs(nc.drift(block, x) - block_drift(block, x)).max()
    assert error <= circle_heads_bound(Block(block.heads), x)
    system = make_system(block_shape(block, 300, 2))
    assert isinstance(system, Heads)
    assert 0 < (system.heads["orders"] > 0).sum() < len(block.heads)  # some by modes, some over pairs


def test_tokens_with_few_neighbours_go_over_pairs() -> None:
    # Half of the tokens at one place, the others opposite: at beta = 30 the few first of them see a sum of
    # weights far below the number of tokens, which the modes cannot know.
    angle = np.concatenate([np.linspace(-1e-3, 1e-3, 500), math.pi + np.linspace(-1e-3, 1e-3, 3)])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for head in (Attention(30.0), Attention(30.0, position=ALiBi(0.001))):
        error = np.abs(_by_modes(Block(head), x) - block_drift(Block(head), x)).max()
        assert error <= circle_heads_bound(Block(head), x)


def test_the_first_token_stands_still_exactly() -> None:
    x = nc.uniform(500, 2, seed=5)
    heads = [Attention(4.0), Attention(4.0, position=ALiBi(0.1)), Attention(4.0, weights="exponential")]
    assert not nc.drift(Block(heads), x)[0].any()


def test_only_heads_that_have_modes_are_summed_so() -> None:
    x = nc.uniform(500, 2, seed=5)
    for head in (
        Attention(4.0, mask=Window(20)),
        Attention(4.0, Q=V),
        Attention(4.0, position=RoPE()),
        Attention(4.0, weights="hardmax"),
        Attention(4.0, mask="full", position=ALiBi(1.0)),
    ):
        assert not has_modes(model_shape(head, 500, 2))
        with pytest.raises(InputError, match='kernel "circle" is for heads with'):
            nc.drift(Block(head, norm="pre"), x, kernel="circle")
    assert modes_pay(model_shape(Attention(4.0), 500, 2), TOLERANCE)
    assert not modes_pay(model_shape(Attention(4.0), 20, 2), TOLERANCE)
    assert not modes_pay(model_shape(Attention(4.0), 500, 2), 1e-14)
