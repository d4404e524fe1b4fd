"""The bridge: a layer's own Q, K, V, MLP and norms put into our dynamics, and where the simulated path leaves
the real one.

A pre-norm model adds to its stream h = r x, x a unit vector.  With z = sqrt(d) diag(gamma) C x, what its
normalisation makes of h, attention adds A = sum_h O_h V_h sum_j w_kj z_j, then the MLP adds u(z') likewise.
That is `layers.layer_step` with norm "pre" and dt = 1, r x <- r x + A, for

    Attention(beta = scale, Q = sqrt(d) W_Q diag(gamma) C,  K = sqrt(d) W_K diag(gamma) C,
              V = sqrt(d) C W_O W_V diag(gamma) C,  position = RoPE(base^(d / d_head)))

and for a block that has the MLP alone.  LayerNorm's C is taken of the stream itself, which then stays
centred: no reader sees what lies along 1.  RoPE of a head of d_head places in d dimensions needs the base
to the power d / d_head, and its planes side by side.  For RMSNorm without biases (Llama) nothing is left out
but the epsilon in the norms; elsewhere the biases of queries, keys and norms are, and what `left_out` names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nucleate.attention import Attention, Window
from nucleate.block import Block
from nucleate.checks import Array, InputError, check_memory
from nucleate.layers import Layers, layer_step
from nucleate.positions import RoPE

if TYPE_CHECKING:
    from nucleate.models.forward import LayerWeights, TransformerModel
    from nucleate.models.forward.norms import Norm
    from nucleate.models.forward.settings import Settings

__all__ = [
    "VARIANTS",
    "BridgeVariant",
    "bridge_layers",
    "bridge_path",
    "centred_states",
    "layer_blocks",
    "left_out",
]


@dataclass(frozen=True)
class BridgeVariant:
    """Which parts of a layer are put into our dynamics."""

    positions: bool = True
    mlp: bool = True
    steps: int = 1  # per layer: 1 is what the model does, more come nearer to a flow in continuous time


VARIANTS: Mapping[str, BridgeVariant] = {
    "all parts": BridgeVariant(),
    "8 steps per layer": BridgeVariant(steps=8),
    "without positions": BridgeVariant(positions=False),
    "without MLP": BridgeVariant(mlp=False),
    "the paper's: neither": BridgeVariant(positions=False, mlp=False),
}


def left_out(model: "TransformerModel") -> list[str]:
    """What of the model our blocks have no place for, in words."""
    s, layer = model.settings, model.layer(0)
    missing = ["the epsilon of the norms"]
    if s.norm_place == "both" or layer.of_attention is not None:
        missing.append("the normalisation of what attention and MLP add")
    if layer.q_norm is not None or layer.k_norm is not None:
        missing.append("the normalisation of queries and keys")
    norms = [norm for norm in (layer.before_attention, layer.before_mlp) if norm is not None]
    if any(norm.bias is not None for norm in norms):
        missing.append("the biases of the norms")
    if any(bias is not None for bias in (layer.q_bias, layer.k_bias)):
        missing.append("the biases of queries and keys")
    if s.score_cap is not None:
        missing.append("the cap of the scores")
    if any(rope is not None and not _plain_rope(s, rope) for rope in s.rotary):
        missing.append("RoPE, as it is scaled or turns a part of a head only")
    return missing


def layer_blocks(
    layer: "LayerWeights", settings: "Settings", i: int, variant: BridgeVariant = VARIANTS["all parts"]
) -> tuple[Block, ...]:
    """Layer i as blocks of ours, norm "pre": its heads, then its MLP; of a parallel layer one block with
    both."""
    if settings.norm_place == "post":
        raise InputError(
            f"{settings.name} normalises behind each layer, but the bridge takes models that normalise in"
            " front. Use a pre-norm model, such as GPT-2 or Llama."
        )
    heads = [_head(layer, settings, i, h, variant.positions) for h in range(settings.heads)]
    constant = _constant(layer)
    if settings.parallel and variant.mlp:
        return (Block(heads, _both(constant, _mlp(layer, settings)), "pre"),)
    attention = Block(heads, _add(constant) if constant is not None else None, "pre")
    return (attention, Block([], _mlp(layer, settings), "pre")) if variant.mlp else (attention,)


def bridge_layers(
    model: "TransformerModel", radius: Array, variant: BridgeVariant = VARIANTS["all parts"]
) -> Layers:
    """All layers as one model, tokens of lengths `radius` (n,), for t = the number of its blocks.  It holds
    three d x d matrices per head.  `nucleate.simulate` takes it if it has neither MLPs nor biases, which are
    plain functions here; `bridge_path` takes all."""
    s = model.settings
    check_memory(24.0 * s.layers * s.heads * s.d**2, f"{s.layers} layers of {s.heads} heads with d = {s.d}")
    blocks = [
        replace_radius(block, radius)
        for i in range(s.layers)
        for block in layer_blocks(model.layer(i, "double"), s, i, variant)
    ]
    return Layers(blocks, discrete=True)


def replace_radius(block: Block, radius: Array) -> Block:
    """The same block for tokens that start with other lengths."""
    return Block(block.heads, block.mlp, block.norm, radius=radius)


def bridge_path(
    model: "TransformerModel", states: ArrayLike, variant: BridgeVariant = VARIANTS["all parts"]
) -> Array:
    """cos of the simulated and the real direction after every layer, from the real start: states
    (L + 1, n, d) of the model -> (L + 1, n), 1 at the start.  One layer's matrices at a time."""
    real = centred_states(model, np.asarray(states, dtype=np.float64))  # (L + 1, n, d)
    length = np.linalg.norm(real, axis=-1, keepdims=True)
    x, r = real[0] / length[0], length[0, :, 0]  # (n, d), (n,)
    cosine = [np.ones(len(x))]
    for i, blocks in enumerate(_all_blocks(model, variant)):
        for block in blocks:
            for _ in range(variant.steps):
                x, r = layer_step(block, x, r, 1.0 / variant.steps)
        cosine.append((x * real[i + 1] / length[i + 1]).sum(-1))  # (n,)
    return np.array(cosine)


def _all_blocks(model: "TransformerModel", variant: BridgeVariant) -> Iterator[tuple[Block, ...]]:
    for i in range(model.settings.layers):
        yield layer_blocks(model.layer(i, "double"), model.settings, i, variant)


def centred_states(model: "TransformerModel", h: Array) -> Array:
    """The stream (..., d) without its mean, if the model's norms take that away; the stream itself if not."""
    norm = model.layer(0).before_attention
    return h - h.mean(-1, keepdims=True) if norm is not None and norm.centred else h


def _fold(W: Any, norm: "Norm | None") -> Array:
    """sqrt(d) W diag(gamma) C, (.., d)."""
    from nucleate.models.heads import fold

    W = np.asarray(W, dtype=np.float64)
    root = W.shape[-1] ** 0.5
    return root * (W if norm is None else fold(W, np.asarray(norm.gain, dtype=np.float64), norm.centred))


def _head(layer: "LayerWeights", s: "Settings", i: int, h: int, positions: bool) -> Attention:
    norm, shared, d = layer.before_attention, s.heads // s.kv_heads, s.d
    Q, K = _fold(layer.q[h], norm), _fold(layer.k[h // shared], norm)  # (d_head, d)
    rope = s.rotary[i] if positions else None
    position = None
    if rope is not None and _plain_rope(s, rope):
        half = s.d_head // 2
        order = np.stack([np.arange(half), np.arange(half) + half], 1).reshape(-1)  # planes side by side
        Q, K, position = Q[order], K[order], RoPE(rope.base ** (d / s.d_head))
    V = np.asarray(layer.o[h], dtype=np.float64) @ _fold(layer.v[h // shared], norm)  # (d, d)
    if norm is not None and norm.centred:
        V = V - V.mean(0, keepdims=True)
    fill = ((0, d - s.d_head), (0, 0))
    width = s.windows[i]
    mask: Any = "full" if not s.causal else Window(width) if width else "causal"
    return Attention(s.score_scale[i], np.pad(Q, fill), np.pad(K, fill), V, mask, position=position)


def _plain_rope(s: "Settings", rope: Any) -> bool:
    """Whether all places of a head are turned by powers of one base, and not scaled."""
    return rope.kind == "default" and rope.dim == s.d_head and rope.grown == 1.0 and not rope.divisors


def _constant(layer: "LayerWeights") -> Array | None:
    """What the biases of values and of the output add to every token, (d,); weights add up to 1."""
    total = np.zeros(layer.o.shape[1])
    if layer.v_bias is None and layer.o_bias is None:
        return None
    if layer.v_bias is not None:
        shared = len(layer.o) // len(layer.v)
        for h, out in enumerate(layer.o):
            total = total + out @ layer.v_bias[h // shared]
    if layer.o_bias is not None:
        total = total + layer.o_bias
    return (
        total - total.mean()
        if layer.before_attention is not None and layer.before_attention.centred
        else total
    )


def _add(constant: Array) -> Any:
    def term(x: Array, out: Array) -> None:
        out += constant

    return term


def _both(constant: Array | None, mlp: Any) -> Any:
    def term(x: Array, out: Array) -> None:
        mlp(x, out)
        if constant is not None:
            out += constant

    return term


def _mlp(layer: "LayerWeights", s: "Settings") -> Any:
    """What the MLP adds to unit tokens x (n, d), as a term of one's own of a Block."""
    from nucleate.models.forward.mlp import activation, mlp
    from nucleate.tracing.layer_drift import unit_input

    act, norm = activation(s.activation), layer.before_mlp
    plain = replace(norm, bias=None) if norm is not None else None

    def term(x: Array, out: Array) -> None:
        z = unit_input(x, plain)  # (n, d)
        if norm is not None and norm.bias is not None:
            z = z + norm.bias
        u = mlp(z, layer, act)  # (n, d)
        out += u - u.mean(-1, keepdims=True) if norm is not None and norm.centred else u

    return term
