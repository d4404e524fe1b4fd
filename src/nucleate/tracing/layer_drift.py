"""The paper's drift of one layer of a real model: its own Q, K, V on unit tokens, and how well that predicts
what its attention adds.

A token is the unit vector x; the normalisation in front makes z = sqrt(d) diag(gamma) C x of it.  Then

    A_k = sum_h O_h V_h sum_j w_kj z_j,   w_kj = softmax over j of scale <Q_h z_k, K_h z_j>,   drift = P_x A.

That is the equation of the paper for several heads: no positions, no biases, no epsilon in the normalisation,
no normalisation of queries, keys or of what is added, no cap.  With rotary=True queries and keys are turned
by their places, and nothing but the rest is left out.  A post-norm model has nothing in front: z is the state
itself, as its normalisation left it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.observe.turns import FieldAgreement, field_agreement
from nucleate.sphere import tangent

if TYPE_CHECKING:
    from nucleate.models.forward import LayerWeights, TransformerModel
    from nucleate.models.forward.norms import Norm

__all__ = ["drift_agreement", "layer_attention", "unit_input"]


def unit_input(h: Array, norm: "Norm | None") -> Array:
    """sqrt(d) diag(gamma) C h / |C h| of states h (n, d); h where nothing is normalised in front."""
    if norm is None:
        return h
    y = h - h.mean(-1, keepdims=True) if norm.centred else h  # (n, d)
    return np.asarray(y * (h.shape[-1] ** 0.5 / np.linalg.norm(y, axis=-1, keepdims=True)) * norm.gain)


def layer_attention(
    layer: "LayerWeights",
    z: Array,
    scale: float,
    causal: bool,
    angles: tuple[Any, Any] | None = None,
    window: int | None = None,
) -> Array:
    """A (n, d) of what a layer reads, z (n, d); angles: cosines and sines of its RoPE, or None for none."""
    from nucleate.models.forward.rotary import rotate

    n = len(z)
    heads, shared = len(layer.o), len(layer.o) // len(layer.k)
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    sees = (j <= i) if causal else np.ones((n, n), dtype=bool)
    if causal and window:
        sees = sees & (j > i - window)
    A = np.zeros_like(z)  # (n, d)
    for h in range(heads):
        q, k, v = (z @ W.T for W in (layer.q[h], layer.k[h // shared], layer.v[h // shared]))  # (n, d_head)
        if angles is not None:
            q, k = (rotate(one[None], *angles)[0] for one in (q, k))
        s = np.where(sees, scale * q @ k.T, -np.inf)  # (n, n)
        w = np.exp(s - s.max(-1, keepdims=True))
        A += (w / w.sum(-1, keepdims=True)) @ v @ layer.o[h].T  # (n, d)
    return A


def drift_agreement(
    model: "TransformerModel",
    i: int,
    before: Array,
    attention: Array,
    rotary: bool = False,
    first: bool = True,
) -> FieldAgreement:
    """Of layer i: the drift from the states in front of it, before (n, d), against what its attention added,
    (n, d), both across the tokens' directions; first=False leaves the first token out of the comparison."""
    from nucleate.models.forward.rotary import angles

    settings, layer = model.settings, model.layer(i)
    x = np.asarray(before / np.linalg.norm(before, axis=-1, keepdims=True))  # (n, d)
    rope = settings.rotary[i] if rotary else None
    table = None if rope is None else angles(rope, len(x), x.dtype)
    z = unit_input(np.asarray(before), layer.before_attention)  # (n, d)
    A = layer_attention(layer, z, settings.score_scale[i], settings.causal, table, settings.windows[i])
    keep = slice(None if first else 1, None)
    return field_agreement(tangent(x, A)[keep], tangent(x, np.asarray(attention))[keep])
