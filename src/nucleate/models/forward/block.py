"""One block of a transformer: attention and an MLP, each added to the stream."""

from dataclasses import dataclass

import numpy as np

from nucleate.models.forward.attention import attend
from nucleate.models.forward.layer_weights import LayerWeights
from nucleate.models.forward.mlp import activation, linear, mlp
from nucleate.models.forward.norms import Floats, Norm, normalise
from nucleate.models.forward.rotary import rotate
from nucleate.models.forward.settings import Settings

__all__ = ["BlockStates", "block"]


@dataclass(frozen=True, eq=False)
class BlockStates:
    """What a block makes of a stream (n, d)."""

    normed: Floats  # (n, d) what its attention reads
    attention: Floats  # (n, d) what its attention adds
    mlp: Floats  # (n, d) what its MLP adds
    state: Floats  # (n, d) the stream behind it


def block(
    x: Floats,
    layer: LayerWeights,
    settings: Settings,
    i: int,
    angles: tuple[Floats, Floats] | None,
    without_mlp: bool = False,
    weights: Floats | None = None,
) -> BlockStates:
    """The i-th block on a stream x (n, d), with the cosines and sines (n, dim / 2) of its RoPE.

    Pre-norm: x + A(N x), and so on for the MLP; post-norm: N(x + A(x)); Gemma 2 and 3: x + N A(N x).  In a
    parallel block the MLP reads x, too, and not x + A.
    """
    normed = _maybe(layer.before_attention, x)  # (n, d)
    A = _maybe(layer.of_attention, _attention(normed, layer, settings, i, angles, weights))  # (n, d)
    between = _maybe(layer.after_attention, x + A)  # (n, d)
    if without_mlp:
        M = np.zeros_like(x)
    else:
        read = _maybe(layer.before_mlp, x if settings.parallel else between)
        M = _maybe(layer.of_mlp, mlp(read, layer, activation(settings.activation)))  # (n, d)
    return BlockStates(normed, A, M, _maybe(layer.after_mlp, between + M))


def _maybe(norm: Norm | None, x: Floats) -> Floats:
    return x if norm is None else normalise(norm, x)


def _attention(
    x: Floats,
    layer: LayerWeights,
    settings: Settings,
    i: int,
    angles: tuple[Floats, Floats] | None,
    weights: Floats | None,
) -> Floats:
    """What all heads together make of x (n, d): (n, d)."""
    q, k, v = (
        _by_heads(x, W, bias)
        for W, bias in ((layer.q, layer.q_bias), (layer.k, layer.k_bias), (layer.v, layer.v_bias))
    )  # (H, n, d_head), (KV, n, d_head), (KV, n, d_head)
    q, k = _maybe(layer.q_norm, q), _maybe(layer.k_norm, k)
    if angles is not None:
        q, k = rotate(q, *angles), rotate(k, *angles)
    y = attend(
        q * x.dtype.type(settings.score_scale[i]),
        k,
        v,
        causal=settings.causal,
        window=settings.windows[i],
        cap=settings.score_cap,
        weights=weights,
    )  # (H, n, d_head)
    heads, d, d_head = layer.o.shape
    merged = y.transpose(1, 0, 2).reshape(len(x), heads * d_head)  # (n, H d_head)
    return linear(merged, layer.o.transpose(1, 0, 2).reshape(d, heads * d_head), layer.o_bias)


def _by_heads(x: Floats, W: Floats, bias: Floats | None) -> Floats:
    """x (n, d), W (heads, d_head, d), bias (heads, d_head) to (heads, n, d_head)."""
    heads, d_head, d = W.shape
    flat = linear(x, W.reshape(heads * d_head, d), None if bias is None else bias.reshape(-1))
    return flat.reshape(len(x), heads, d_head).transpose(1, 0, 2)
