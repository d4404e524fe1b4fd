"""Weights that change with depth, in NumPy: one block after the other, each for the time dt.

Continuous in pieces: block l moves the tokens from time l dt to (l+1) dt.  Discrete, as in a transformer: one
step per layer (`layer_step`),

    y_k = r_k (theta_k + dt A_k / s_k),  theta_k <- y_k / |y_k|,  r_k <- |y_k| where the norm has a radius.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.attention import Attention, Weights, Window
from nucleate.block import Block, block_output
from nucleate.checks import (
    Array,
    InputError,
    check_memory,
    finite_number,
    shortened,
    true_or_false,
    whole_number,
)
from nucleate.mlp import MLP, Potential
from nucleate.norms import Norm, has_radius, scale
from nucleate.positions import ALiBi, RoPE

__all__ = [
    "WEIGHT_KINDS",
    "Layers",
    "Model",
    "RandomLayers",
    "add_output",
    "as_model",
    "layer_step",
    "random_matrix",
]

WeightKind = Literal["gaussian", "symmetric", "orthogonal", "uniform", "identity"]
MOST_HEADS = 100_000  # that are drawn at once
WEIGHT_KINDS = ("gaussian", "symmetric", "orthogonal", "uniform", "identity")


def layer_step(block: Block, x: Array, r: Array, dt: float, t: float = 0.0) -> tuple[Array, Array]:
    """Directions (..., n, d) and lengths (..., n) after one step of a transformer's layer."""
    return add_output(block, block_output(block, x), x, r, dt, t)


def add_output(block: Block, A: Array, x: Array, r: Array, dt: float, t: float = 0.0) -> tuple[Array, Array]:
    """`layer_step`, of the block's output A (..., n, d)."""
    r = r[..., None]  # (..., n, 1)
    s = scale(block.norm, A, r, t, block.tau, block.alpha)  # (..., n, 1)
    step = np.divide(A, s, out=np.zeros_like(A), where=s > 0.0)  # (..., n, d)
    y = r * (x + dt * step)  # (..., n, d)
    length = np.sqrt((y * y).sum(-1, keepdims=True))  # (..., n, 1)
    return y / length, (length if has_radius(block.norm, t, block.tau) else np.ones_like(length))[..., 0]


@dataclass(frozen=True, eq=False)
class Layers:
    """Blocks one after the other, each acting for the time dt; discrete=True: one step each."""

    blocks: tuple[Block, ...]
    dt: float
    discrete: bool

    def __init__(
        self, blocks: Iterable[Block | Attention], dt: float = 1.0, *, discrete: bool = False
    ) -> None:
        try:
            given = tuple(blocks)
        except Exception:  # objects may raise anything when asked for their parts
            raise InputError(f"blocks must be a list of blocks, but is {shortened(blocks)}.") from None
        if not given:
            raise InputError(
                "Layers needs at least one block, but has none. Give [nucleate.Attention(beta=9.0)]."
            )
        made = tuple(one if isinstance(one, Block) else Block(one) for one in given)
        values = {
            "blocks": made,
            "dt": finite_number("dt", dt, above=0.0, help="It is how long a layer acts."),
            "discrete": true_or_false("discrete", discrete),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        for what in ("norm", "noise", "tau"):
            kinds = {getattr(block, what) for block in made}
            if len(kinds) > 1:
                raise InputError(
                    f"All blocks of Layers must have the same {what}, but have {', '.join(map(str, kinds))}."
                )
        if self.discrete and made[0].noise is not None:
            raise InputError(
                "Discrete layers have no noise, but the blocks have. Leave discrete or noise out."
            )
        if len({runs for block in made if (runs := block.runs) is not None}) > 1:
            raise InputError("All blocks of Layers must have the same number of runs, but have several.")

    @property
    def depth(self) -> float:
        """The time at which the last layer ends."""
        return self.dt * len(self.blocks)

    @property
    def runs(self) -> int | None:
        """The length of the leading run axis of the blocks' parameters, or None where none carries one."""
        return next((block.runs for block in self.blocks if block.runs is not None), None)

    @property
    def norm(self) -> str:
        """The norm of all blocks."""
        return self.blocks[0].norm

    def check(self, x: ArrayLike, lengths: bool = True) -> Array:
        """x as tokens these layers can move, as `Attention.check`."""
        checked = self.blocks[0].check(x, lengths)
        for block in self.blocks[1:]:
            block.check(checked, lengths=False)
        return checked

    def check_time(self, t: float) -> None:
        """Refuse times after the last layer."""
        if t > self.depth * (1.0 + 1e-12):
            raise InputError(
                f"{len(self.blocks)} layers of dt = {self.dt:g} end at time {self.depth:g}, but t is {t:g}."
                " Give more layers, or a smaller t."
            )


class RandomLayers(Layers):
    """`count` layers with fresh random Q, K, V for every layer and head; one seed, one set of weights.

    kind   of the matrices, entries of variance 1/d:  "gaussian";  "symmetric", (G + G^T) / sqrt 2;
           "orthogonal", uniform on the group;  "uniform", entries in +-sqrt(3 / d);  "identity", not random
    value  the kind of V, where it is another

    What follows `seed` is that of Block and Layers.
    """

    def __init__(
        self,
        count: int,
        d: int,
        *,
        beta: float = 1.0,
        heads: int = 1,
        kind: WeightKind = "gaussian",
        value: WeightKind | None = None,
        mask: Literal["causal", "full"] | Window = "causal",
        weights: Weights = "softmax",
        position: ALiBi | RoPE | None = None,
        seed: int = 0,
        mlp: MLP | Potential | Callable[[Array, Array], None] | None = None,
        norm: Norm = "post",
        noise: float | None = None,
        exclude_self: bool = False,
        tau: float | None = None,
        alpha: float = 1.0,
        radius: ArrayLike = 1.0,
        dt: float = 1.0,
        discrete: bool = False,
    ) -> None:
        count = whole_number("count", count, least=1, help="It is the number of layers.")
        d = whole_number("d", d, least=2, help="It is the dimension of the tokens.")
        heads = whole_number("heads", heads, least=1, help="It is the number of heads.")
        root = whole_number("seed", seed, least=0, help="Any such number will do.")
        if count * heads > MOST_HEADS:
            raise InputError(
                f"RandomLayers draws at most {MOST_HEADS} heads, but {count} layers of {heads} are asked for."
                " Use fewer."
            )
        check_memory(24.0 * count * heads * d * d, f"{count} layers of {heads} heads in dimension {d}")
        kinds = kind, kind, kind if value is None else value

        def head(layer: int, number: int) -> Attention:
            streams = (np.random.SeedSequence(root, spawn_key=(layer, number, i)) for i in range(3))
            Q, K, V = (random_matrix(one, d, stream) for one, stream in zip(kinds, streams, strict=True))
            return Attention(beta, Q, K, V, mask, weights=weights, position=position)

        blocks = [
            Block(
                [head(layer, number) for number in range(heads)],
                mlp,
                norm,
                noise,
                exclude_self,
                tau=tau,
                alpha=alpha,
                radius=radius,
            )
            for layer in range(count)
        ]
        super().__init__(blocks, dt, discrete=discrete)


def random_matrix(kind: WeightKind, d: int, seed: np.random.SeedSequence) -> Array | None:
    """One random matrix (d, d), or None for the identity."""
    if not (isinstance(kind, str) and kind in WEIGHT_KINDS):
        raise InputError(f"kind must be one of {', '.join(WEIGHT_KINDS)}, but is {shortened(kind)}.")
    generator = np.random.default_rng(seed)
    if kind == "identity":
        return None
    if kind == "uniform":
        return generator.uniform(-1.0, 1.0, (d, d)) * np.sqrt(3.0 / d)
    G = generator.standard_normal((d, d))
    if kind == "gaussian":
        return G / np.sqrt(d)
    if kind == "symmetric":
        return (G + G.T) / np.sqrt(2.0 * d)
    Q, R = np.linalg.qr(G)
    return np.asarray(Q * np.sign(np.diag(R)))


Model = Attention | Block | Layers


def as_model(model: object) -> Model:
    """`model`, which must be an Attention, a Block or Layers; a block of nothing but a head is that head."""
    if isinstance(model, Block):
        return model.alone or model
    if isinstance(model, Attention | Layers):
        return model
    raise InputError(
        f"model must be an Attention, a Block or Layers, but is {type(model).__name__}. Make one:"
        " nucleate.Attention(beta=9.0)."
    )
