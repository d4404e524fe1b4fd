"""What a causal head with Q = K = V = I is given besides: one ingredient of the family at a time, by its
strength.  Random weights are drawn once per start and scaled by the strength, whatever beta."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array
from nucleate.layers import Layers, Model
from nucleate.mlp import MLP, activate
from nucleate.positions import ALiBi, RoPE

__all__ = ["INGREDIENTS", "Maker", "unit_mlp"]

Mask = Literal["causal", "full"]
# of (strength, beta, d, depth, mask, start)
Maker = Callable[[float, float, int, float, Mask, int], Model]

HEADS = 4
HIDDEN = 4  # neurons per dimension
LAYER = 2.0  # how long a layer acts
SAMPLES = 4000  # of the sphere, to scale an MLP


def _none(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    return Attention(beta, mask=mask)


def _norm(name: Literal["pre", "peri", "ngpt", "sqrt"]) -> Maker:
    def make(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
        return Block(Attention(beta, mask=mask), norm=name)

    return make


def _mix(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    return Block(Attention(beta, mask=mask), norm="mix", tau=s)


def _mlp(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    W, a = unit_mlp(d, start)
    return Block(Attention(beta, mask=mask), MLP(s * W, a, "relu"))


def unit_mlp(d: int, start: int) -> tuple[Array, Array]:
    """W (d, m) and a (m, d) of a random MLP with relu whose output has length 1 in the mean square over the
    sphere."""
    rng = np.random.default_rng([start, 1])
    a = rng.standard_normal((HIDDEN * d, d))  # (m, d)
    W = rng.standard_normal((d, HIDDEN * d))  # (d, m)
    x = rng.standard_normal((SAMPLES, d))  # (samples, d)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    u = activate("relu", x @ a.T) @ W.T  # (samples, d)
    return W / np.sqrt((u * u).sum(1).mean()), a


def _heads(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    """V_h = (I + s G_h) / (H sqrt(1 + s^2)), Q_h, K_h and G_h with normal entries of variance 1/d."""
    drawn = np.random.default_rng([start, 2]).standard_normal((HEADS, 3, d, d)) / np.sqrt(d)
    return Block([Attention(beta, Q, K, _value(s, G) / HEADS, mask) for Q, K, G in drawn])


def _value(s: float, G: Array) -> Array:
    """(I + s G) / sqrt(1 + s^2), (d, d): as large whatever s is."""
    return (np.eye(len(G)) + s * G) / np.sqrt(1.0 + s * s)


def _layers(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    """V = (I + s G) / sqrt(1 + s^2), G fresh for every layer, Q = K = I."""
    count = int(np.ceil(depth / LAYER))
    drawn = np.random.default_rng([start, 3]).standard_normal((count, d, d)) / np.sqrt(d)
    return Layers([Attention(beta, V=_value(s, G), mask=mask) for G in drawn], LAYER)


def _rope(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    return Attention(beta, mask=mask, position=RoPE(1.0 / s))


def _alibi(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    return Attention(beta, mask=mask, position=ALiBi(s))


def _noise(s: float, beta: float, d: int, depth: float, mask: Mask, start: int) -> Model:
    return Block(Attention(beta, mask=mask), noise=1.0 / s)


INGREDIENTS: dict[str, Maker] = {
    "none": _none,
    "sqrt": _norm("sqrt"),
    "ngpt": _norm("ngpt"),
    "pre": _norm("pre"),
    "peri": _norm("peri"),
    "mix": _mix,
    "rope": _rope,
    "alibi": _alibi,
    "mlp": _mlp,
    "heads": _heads,
    "layers": _layers,
    "noise": _noise,
}
