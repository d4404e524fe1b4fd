"""What kind of block a run has: norms, heads, the MLP, as compiled code is told."""

import numpy as np
import pytest

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array
from nucleate.kernels.block_shape import (
    GELU,
    IDENTITY,
    NGPT,
    PERI,
    POST,
    PRE,
    RELU,
    SILU,
    TANH,
    block_shape,
)
from nucleate.mlp import MLP, Activation, Potential
from nucleate.norms import Norm


@pytest.mark.parametrize(
    ("norm", "code", "free"),
    [
        ("post", POST, False),
        ("pre", PRE, True),
        ("peri", PERI, True),
        ("ngpt", NGPT, False),
        ("sqrt", POST, False),
        ("mix", POST, False),
    ],
)
def test_norms_are_codes_and_some_leave_the_sphere(norm: Norm, code: int, free: bool) -> None:
    block = Block(Attention(1.0), norm=norm, tau=1.0 if norm == "mix" else None)
    shape = block_shape(block, 7, 3)
    assert (shape.norm, shape.free) == (code, free)
    assert block_shape(block, 7, 3, norm="pre").norm == PRE


def test_heads_of_one_run_stand_beside_those_of_several() -> None:
    V = np.stack([np.eye(3), 2.0 * np.eye(3)])
    shape = block_shape(Block([Attention([1.0, 5.0], V=V), Attention(3.0)]), 7, 3, run=1)
    assert [head.beta for head in shape.heads] == [5.0, 3.0]
    assert [head.scale for head in shape.heads] == [2.0, 1.0]
    assert shape.ordinary
    other = block_shape(Block([Attention(1.0), Attention(1.0, weights="hardmax")]), 7, 3)
    assert not other.ordinary


@pytest.mark.parametrize(
    ("activation", "code"),
    [("relu", RELU), ("gelu", GELU), ("silu", SILU), ("tanh", TANH), ("identity", IDENTITY)],
)
def test_an_MLP_and_a_potential_are_matrices(activation: Activation, code: int) -> None:
    W, a = np.arange(6.0).reshape(3, 2), np.ones((2, 3))
    shape = block_shape(Block((), MLP(W, a, activation, [1.0, 2.0])), 7, 3)
    assert np.array_equal(shape.W, W)
    assert shape.b.tolist() == [1.0, 2.0]
    assert shape.activation == code
    assert block_shape(Block((), Potential([2.0, 3.0], a)), 7, 3).W.tolist() == [[2.0, 3.0]] * 3
    assert block_shape(Block(Attention(1.0)), 7, 3).W.shape == (3, 0)


def test_a_function_of_ones_own_is_kept() -> None:
    def term(x: Array, out: Array) -> None:
        out += x

    assert block_shape(Block((), term), 7, 3).own is term
    assert block_shape(Block(Attention(1.0)), 7, 3).own is None
