"""Blocks: sums of heads and an MLP, and what is refused."""

from typing import Any, Literal

import numpy as np
import pytest

import nucleate as nc
from nucleate.attention import attend, drift
from nucleate.block import block_drift, block_output, block_rates
from nucleate.checks import InputError
from nucleate.mlp import mlp_output

X = nc.uniform(7, 4, seed=0)
RNG = np.random.default_rng(2)
MASKS: tuple[Literal["causal", "full"], ...] = ("causal", "full")
HEADS = [
    nc.Attention(2.0, Q, K, V, mask)
    for mask, (Q, K, V) in zip(MASKS, RNG.standard_normal((2, 3, 4, 4)), strict=True)
]


def test_heads_and_the_mlp_are_added() -> None:
    mlp = nc.MLP(RNG.standard_normal((4, 5)), RNG.standard_normal((5, 4)), "gelu")
    by_hand = attend(HEADS[0], X) + attend(HEADS[1], X) + mlp_output(mlp, X)
    assert np.allclose(block_output(nc.Block(HEADS, mlp), X), by_hand, rtol=1e-14)


def test_a_block_of_one_head_moves_as_the_head() -> None:
    assert np.array_equal(block_drift(nc.Block(HEADS[0]), X), drift(HEADS[0], X))
    assert nc.Block(HEADS[0]).alone is HEADS[0]
    for more in ({"norm": "pre"}, {"exclude_self": True}, {"noise": 2.0}):
        assert nc.Block(HEADS[0], **more).alone is None


def test_without_its_own_value_a_head_with_v_the_identity_is_tangent() -> None:
    head = nc.Attention(3.0)
    assert np.allclose(block_output(nc.Block(head, exclude_self=True), X), drift(head, X), atol=1e-15)
    v = X @ HEADS[0].V.T  # type: ignore[union-attr]  # it has a V
    out = block_output(nc.Block(HEADS[0], exclude_self=True), X)
    assert np.allclose((out * v).sum(-1), 0.0, atol=1e-14)


def test_rates_begin_with_the_radius_that_is_given() -> None:
    block = nc.Block(HEADS, norm="pre", radius=np.arange(1.0, 8.0))
    turn, growth = block_rates(block, X, block.radii(7))
    A = block_output(block, X)
    assert np.allclose(growth, (X * A).sum(-1))
    assert np.allclose(turn * block.radius[:, None], A - (X * A).sum(-1, keepdims=True) * X)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"heads": ()}, "needs a head or an MLP, but has neither"),
        ({"heads": 3}, "heads must be an Attention or several, but is 3"),
        ({"heads": [1.0]}, "model must be an Attention, but is float"),
        ({"mlp": 2.0}, "mlp must be an MLP, a Potential or a function"),
        ({"norm": "layer"}, "norm must be one of post, pre, mix, peri, ngpt, sqrt"),
        ({"norm": "mix"}, "tau is missing. Give tau=5.0"),
        ({"tau": 1.0}, 'tau belongs to norm "mix"'),
        ({"noise": 0.0}, "noise must be finite and greater than 0"),
        ({"noise": 1.0, "norm": "pre"}, 'noise needs norm "post"'),
        ({"norm": "pre", "radius": 0.0}, "radius must be positive"),
        ({"radius": 2.0}, "starts all tokens at length 1"),
        ({"exclude_self": 1}, "exclude_self must be True or False"),
        ({"alpha": -1.0}, "alpha must be finite and greater than 0"),
        ({"heads": [nc.Attention(1.0, V=np.eye(2)), nc.Attention(1.0, V=np.eye(3))]}, "the same dimension"),
        ({"heads": [nc.Attention([1.0, 2.0]), nc.Attention([1.0, 2.0, 3.0])]}, "the same number of runs"),
    ],
)
def test_blocks_that_make_no_sense_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        nc.Block(**{"heads": nc.Attention(1.0), **arguments})


def test_tokens_must_fit_the_block() -> None:
    with pytest.raises(InputError, match="The MLP acts on dimension 3"):
        nc.Block(mlp=nc.MLP(np.ones((3, 2)), np.ones((2, 3)))).check(X)
    with pytest.raises(InputError, match="radius has 3 numbers, but x has 7 tokens"):
        nc.Block(HEADS, norm="pre", radius=[1.0, 2.0, 3.0]).check(X)
