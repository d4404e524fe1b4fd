"""Heads on the circle in linear time: they equal the equation, to what the modes promise."""

import math

import numpy as np
import pytest
from support.block_models import block_bound, heads_of_kinds
from support.kernel_models import GO, norms, velocities_of
from support.places import on_circle

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.circle_heads import has_modes, modes_pay
from nucleate.kernels.dispatch import make_system
from nucleate.kernels.heads import Heads
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.team import Team
from nucleate.positions import ALiBi, RoPE

V = np.array([[0.5, -1.0], [2.0, 0.3]])
Q = np.array([[0.8, 0.4], [-0.2, 0.6]])
FROZEN = Frozen(nc.uniform(5, 2, seed=9), [1.0, 2.0, 0.5, 4.0, 1.0])


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
        "window": Attention(beta, mask=Window(50)),
        "window, exponential": Attention(beta, V=V, mask=Window(50), weights="exponential"),
        "frozen": Attention(beta, frozen=FROZEN),
        "frozen, full": Attention(beta, mask="full", frozen=FROZEN),
        "frozen, window": Attention(beta, V=V, mask=Window(50), frozen=FROZEN),
        "frozen, exponential": Attention(beta, weights="exponential", frozen=FROZEN),
        "Q, K": Attention(beta, Q=Q, K=Q.T),
        "Q, V, full, frozen": Attention(beta, Q=Q, V=V, mask="full", frozen=FROZEN),
        "Q, exponential": Attention(beta, Q=Q, weights="exponential"),
    }


def circle_heads_bound(block: Block, x: Array) -> float:
    """1e-11 |V| for each head, times e^(beta |K^T Q|) where weights are exponential."""
    error = 0.0
    for head in block.heads:
        z, v = norms(head, 2)
        error += TOLERANCE * v * (math.exp(z) if head.weights == "exponential" else 1.0)
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
    system = make_system(block_shape(block, n, 2), "circle", angle=False)
    assert isinstance(system, Heads)
    return velocities_of(system, x)


def test_several_superblocks() -> None:
    # 4096 tokens are one; with pairs, which need no n x n array, in place of the equation.
    x = nc.uniform(5000, 2, seed=3)
    heads = circle_heads(9.0)
    heads |= {"wide window": Attention(9.0, mask=Window(4500)), "steep": Attention(9.0, position=ALiBi(0.9))}
    for name, head in heads.items():
        block = Block(head, exclude_self=True)
        by_modes = nc.drift(block, x, kernel="circle")
        error = np.abs(by_modes - nc.drift(block, x, kernel="pairwise")).max()
        assert error <= circle_heads_bound(block, x[:10]), (name, error)


def test_bits_do_not_depend_on_threads() -> None:
    # Two superblocks: a team deals them out, tokens left to the pairs among them, or takes them one by one.
    x = on_circle(np.concatenate([np.linspace(-1e-3, 1e-3, 5000), math.pi + np.linspace(-1e-3, 1e-3, 3)]))
    heads = [Attention(30.0), Attention(1.0, Q=Q, V=V), Attention(30.0, position=ALiBi(0.001))]
    shape = block_shape(Block(heads, norm="pre"), len(x), 2)
    one, two = (Team(make_system(shape, "circle"), threads) for threads in (1, 2))
    velocities = np.zeros((2, x.size + 8))
    for velocity, team in zip(velocities, (one, two), strict=True):
        team.place(np.append(x.ravel(), np.zeros(8)))
        team.sweep(velocity, GO)
    assert np.array_equal(*velocities)
    for team in (one, two):
        assert isinstance(team.system, Heads)
        assert team.system.modes.left[1] > 0


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
    x = on_circle(np.concatenate([np.linspace(-1e-3, 1e-3, 500), math.pi + np.linspace(-1e-3, 1e-3, 3)]))
    for head in (Attention(30.0), Attention(30.0, position=ALiBi(0.001))):
        error = np.abs(_by_modes(Block(head), x) - block_drift(Block(head), x)).max()
        assert error <= circle_heads_bound(Block(head), x)


def test_the_first_token_stands_still_exactly() -> None:
    x = nc.uniform(500, 2, seed=5)
    heads = [head for name, head in circle_heads(4.0).items() if head.mask != "full" and "frozen" not in name]
    alone = [head for head in heads if head.V is None]  # V x_1 may turn the token
    assert not nc.drift(Block(alone), x)[0].any()


def test_only_heads_that_have_modes_are_summed_so() -> None:
    x = nc.uniform(500, 2, seed=5)
    for head in (
        Attention(4.0, Q=V, position=ALiBi(1.0)),
        Attention(4.0, mask=Window(20), position=ALiBi(1.0)),
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
