"""The shape of a block: what its kernels may make use of, as `model_shape` is that of one head.

The norms "sqrt" and "mix" change with time, which is the solver's business: it asks for "post" or "pre" in
their place, and gets "post" where it does not ask.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nucleate.block import Block
from nucleate.checks import Array
from nucleate.kernels.model_shape import ModelShape, model_shape
from nucleate.mlp import ACTIVATIONS, MLP, Potential

__all__ = [
    "GELU",
    "IDENTITY",
    "NGPT",
    "PERI",
    "POST",
    "PRE",
    "RELU",
    "SILU",
    "TANH",
    "BlockShape",
    "block_shape",
]

POST, PRE, PERI, NGPT = range(4)  # the norms, for compiled code
RELU, GELU, SILU, TANH, IDENTITY = range(5)  # the activations, in the order of ACTIVATIONS
NORM_CODES = {"post": POST, "sqrt": POST, "mix": POST, "pre": PRE, "peri": PERI, "ngpt": NGPT}


@dataclass(frozen=True, eq=False)
class BlockShape:
    """One run of a block, with n tokens in dimension d."""

    n: int
    d: int
    heads: tuple[ModelShape, ...]
    W: Array  # (d, m), m = 0 without an MLP
    a: Array  # (m, d)
    b: Array  # (m,)
    activation: int  # RELU, GELU, SILU, TANH or IDENTITY
    own: Callable[[Array, Array], None] | None  # the user's function of (x, out)
    norm: int  # POST, PRE, PERI or NGPT
    alpha: float
    exclude_self: bool

    @property
    def free(self) -> bool:
        """Whether the state is r theta, free to leave the sphere, rather than theta."""
        return self.norm in (PRE, PERI)

    @property
    def is_one_head(self) -> bool:
        """Whether it moves tokens as its one head alone would."""
        alone = len(self.heads) == 1 and not self.W.size and self.own is None
        return alone and self.norm == POST and not self.exclude_self

    @property
    def ordinary(self) -> bool:
        """Whether every head is."""
        return all(head.ordinary for head in self.heads)


def block_shape(block: Block, n: int, d: int, run: int = 0, norm: str | None = None) -> BlockShape:
    """The shape of one run of `block`, with another norm where one is given."""
    W, a, b, activation = np.zeros((d, 0)), np.zeros((0, d)), np.zeros(0), "identity"
    if isinstance(block.mlp, MLP | Potential):
        W, a, b, activation = block.mlp.W, block.mlp.a, block.mlp.b, block.mlp.activation
    return BlockShape(
        n=n,
        d=d,
        heads=tuple(model_shape(head, n, d, run if head.runs is not None else 0) for head in block.heads),
        W=W,
        a=a,
        b=b,
        activation=ACTIVATIONS.index(activation),
        own=block.mlp if callable(block.mlp) else None,
        norm=NORM_CODES[block.norm if norm is None else norm],
        alpha=block.alpha,
        exclude_self=block.exclude_self,
    )
