"""The same forward pass by the transformers library."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.bench.peers import Missing
from nucleate.models.forward import TransformerModel
from nucleate.resources import cores

__all__ = ["transformers_states"]


class NotCompared(Missing):
    """A model that the peer is not set up for."""

    def __init__(self) -> None:
        Exception.__init__(self, "only plain Llamas are compared")


def transformers_states(model: TransformerModel, ids: NDArray[np.int64]) -> Callable[[], list[NDArray[Any]]]:
    """The states in front of every layer, and the last normalised, of a Llama with the weights of `model`, on
    all cores: a call for ids (n,), a list of (n, d)."""
    try:
        import torch
        import transformers
    except ImportError:
        raise Missing("pip install 'nucleate[torch]'") from None
    s = model.settings
    rope = s.rotary[0]
    if (
        s.architecture not in ("llama", "gguf_llama")
        or rope is None
        or rope.kind != "default"
        or any(s.windows)
    ):
        raise NotCompared
    config = transformers.LlamaConfig(
        hidden_size=s.d,
        num_hidden_layers=s.layers,
        num_attention_heads=s.heads,
        num_key_value_heads=s.kv_heads,
        head_dim=s.d_head,
        intermediate_size=s.d_mlp,
        vocab_size=s.vocabulary,
        rms_norm_eps=s.eps,
        rope_parameters={"rope_type": "default", "rope_theta": rope.base},
    )
    twin = transformers.LlamaModel(config).eval()
    missing = twin.load_state_dict(
        {name: torch.tensor(W) for name, W in _tensors(model).items()}, strict=False
    )
    if missing.missing_keys or missing.unexpected_keys:
        raise NotCompared
    torch.set_num_threads(cores())
    given = torch.tensor(ids[None])

    def call() -> list[NDArray[Any]]:
        with torch.no_grad():
            found = twin(given, output_hidden_states=True, use_cache=False).hidden_states
        return [one[0].numpy() for one in found]

    return call


def _tensors(model: TransformerModel) -> dict[str, NDArray[Any]]:
    """The weights of our model by their names in the library."""
    d = model.settings.d
    found: dict[str, NDArray[Any]] = {
        "embed_tokens.weight": model.embedding(),
        "norm.weight": np.ones(d, np.float32),  # behind what is compared
    }
    for i in range(model.settings.layers):
        layer, p = model.layer(i), f"layers.{i}."
        found |= {f"{p}self_attn.{name}_proj.weight": getattr(layer, name).reshape(-1, d) for name in "qkv"}
        found[f"{p}self_attn.o_proj.weight"] = layer.o.transpose(1, 0, 2).reshape(d, -1)
        for name in ("q", "k", "v", "o"):
            if (bias := getattr(layer, f"{name}_bias")) is not None:
                found[f"{p}self_attn.{name}_proj.bias"] = bias.reshape(-1)
        found |= {f"{p}mlp.{name}_proj.weight": getattr(layer, name) for name in ("gate", "up", "down")}
        for name, norm in (("input", layer.before_attention), ("post_attention", layer.before_mlp)):
            if norm is not None:
                found[f"{p}{name}_layernorm.weight"] = norm.gain
    return found
