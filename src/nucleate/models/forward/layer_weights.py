"""The weights of one layer, named and shaped."""

from dataclasses import dataclass

from nucleate.models.forward.norms import Floats, Norm

__all__ = ["LayerWeights"]


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """All that a layer has: W_Q, W_K, W_V, W_O head by head, its MLP, its normalisations.

    H heads share KV key-value heads, H / KV neighbours one.  What a layer has not is None.  Pre-norm models
    have `before_attention` and `before_mlp`, post-norm models `after_attention` and `after_mlp`; Gemma 2 and
    3 also normalise what a branch adds, `of_attention` and `of_mlp`.
    """

    q: Floats  # (H, d_head, d)
    k: Floats  # (KV, d_head, d)
    v: Floats  # (KV, d_head, d)
    o: Floats  # (H, d, d_head)
    up: Floats  # (d_mlp, d)
    down: Floats  # (d, d_mlp)
    gate: Floats | None = None  # (d_mlp, d)
    q_bias: Floats | None = None  # (H, d_head)
    k_bias: Floats | None = None  # (KV, d_head)
    v_bias: Floats | None = None  # (KV, d_head)
    o_bias: Floats | None = None  # (d,)
    up_bias: Floats | None = None  # (d_mlp,)
    down_bias: Floats | None = None  # (d,)
    gate_bias: Floats | None = None  # (d_mlp,)
    q_norm: Norm | None = None  # of each query (d_head,)
    k_norm: Norm | None = None  # of each key (d_head,)
    before_attention: Norm | None = None  # of what the attention reads
    of_attention: Norm | None = None  # of what the attention adds
    after_attention: Norm | None = None  # of the sum
    before_mlp: Norm | None = None
    of_mlp: Norm | None = None
    after_mlp: Norm | None = None
