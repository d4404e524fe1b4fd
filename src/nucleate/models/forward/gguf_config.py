"""The settings of a GGUF file under the names that config.json has for them."""

from collections.abc import Mapping as Table
from typing import Any

__all__ = ["gguf_config"]

NAMES = {
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "layer_norm_eps": "attention.layer_norm_epsilon",
    "layer_norm_epsilon": "attention.layer_norm_epsilon",
    "rope_theta": "rope.freq_base",
    "rope_local_base_freq": "rope.freq_base_swa",
    "max_position_embeddings": "context_length",
    "sliding_window": "attention.sliding_window",
    "sliding_window_pattern": "attention.sliding_window_pattern",
    "final_logit_softcapping": "final_logit_softcapping",
    "use_parallel_residual": "use_parallel_residual",
    "num_experts": "expert_count",
}  # of the settings of an architecture, which have its name in front
SCALINGS = {
    "factor": "rope.scaling.factor",
    "original_max_position_embeddings": "rope.scaling.original_context_length",
    "attention_factor": "rope.scaling.yarn_attn_factor",
    "beta_fast": "rope.scaling.yarn_beta_fast",
    "beta_slow": "rope.scaling.yarn_beta_slow",
}


def gguf_config(settings: Table[str, Any], config: Table[str, Any]) -> dict[str, Any]:
    """`config`, which has the sizes already, with what the forward pass needs besides."""
    kind = settings.get("general.architecture")

    def found(names: Table[str, str]) -> dict[str, Any]:
        given = {ours: settings.get(f"{kind}.{theirs}") for ours, theirs in names.items()}
        return {name: value for name, value in given.items() if value is not None}

    more = found(NAMES)
    d_head, turned = _head(settings, config, kind), settings.get(f"{kind}.rope.dimension_count")
    if isinstance(turned, int) and d_head and 0 < turned < d_head:
        more["partial_rotary_factor"] = turned / d_head
    scaling = settings.get(f"{kind}.rope.scaling.type")
    if scaling not in (None, "none"):
        more["rope_scaling"] = {"rope_type": scaling, **found(SCALINGS)}
    return {**more, **config}


def _head(settings: Table[str, Any], config: Table[str, Any], kind: Any) -> int:
    """d_head, which a file may leave to d / heads; 0 where neither is told."""
    if isinstance(config.get("head_dim"), int):
        return int(config["head_dim"])
    d, heads = settings.get(f"{kind}.embedding_length"), config.get("num_attention_heads")
    return d // heads if isinstance(d, int) and isinstance(heads, int) and heads > 0 else 0
