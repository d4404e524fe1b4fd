"""Tiny transformers with random weights that can be run: a Llama and a GPT-2 as checkpoint folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

D, HEADS, KV, LAYERS, WORDS, D_MLP = 16, 4, 2, 3, 40, 24


def tiny_llama(folder: Path, seed: int = 0) -> Path:
    """RMSNorm, RoPE, grouped heads, a gated MLP."""
    from safetensors.numpy import save_file

    rng = np.random.default_rng(seed)

    def g(*shape: int) -> NDArray[Any]:
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float64)

    def gain() -> NDArray[Any]:
        return 1.0 + 0.3 * rng.standard_normal(D)

    head = D // HEADS
    tensors = {"model.embed_tokens.weight": g(WORDS, D) * 4.0, "model.norm.weight": gain()}
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        tensors |= {
            f"{p}self_attn.q_proj.weight": 2.0 * g(HEADS * head, D),
            f"{p}self_attn.k_proj.weight": 2.0 * g(KV * head, D),
            f"{p}self_attn.v_proj.weight": g(KV * head, D),
            f"{p}self_attn.o_proj.weight": g(D, HEADS * head),
            f"{p}mlp.gate_proj.weight": g(D_MLP, D),
            f"{p}mlp.up_proj.weight": g(D_MLP, D),
            f"{p}mlp.down_proj.weight": g(D, D_MLP),
            f"{p}input_layernorm.weight": gain(),
            f"{p}post_attention_layernorm.weight": gain(),
        }
    config = {
        "model_type": "llama",
        "hidden_size": D,
        "intermediate_size": D_MLP,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV,
        "num_hidden_layers": LAYERS,
        "vocab_size": WORDS,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-30,
        "rope_theta": 1000.0,
        "max_position_embeddings": 64,
        "initializer_range": 0.02,
        "tie_word_embeddings": True,
    }
    return _written(folder, config, tensors, save_file)


def tiny_gpt2(folder: Path, seed: int = 0) -> Path:
    """LayerNorm, learned positions, biases of values and outputs, none of queries, keys and norms."""
    from safetensors.numpy import save_file

    rng = np.random.default_rng(seed)

    def g(*shape: int) -> NDArray[Any]:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float64)

    tensors = {
        "transformer.wte.weight": rng.standard_normal((WORDS, D)),
        "transformer.wpe.weight": rng.standard_normal((64, D)),
        "transformer.ln_f.weight": np.ones(D),
        "transformer.ln_f.bias": np.zeros(D),
    }
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        value_bias = np.concatenate([np.zeros(2 * D), rng.standard_normal(D)])
        tensors |= {
            f"{p}ln_1.weight": 1.0 + 0.3 * rng.standard_normal(D),
            f"{p}ln_1.bias": np.zeros(D),
            f"{p}attn.c_attn.weight": 2.0 * g(D, 3 * D),
            f"{p}attn.c_attn.bias": value_bias,
            f"{p}attn.c_proj.weight": g(D, D),
            f"{p}attn.c_proj.bias": rng.standard_normal(D),
            f"{p}ln_2.weight": 1.0 + 0.3 * rng.standard_normal(D),
            f"{p}ln_2.bias": rng.standard_normal(D),
            f"{p}mlp.c_fc.weight": g(D, 4 * D),
            f"{p}mlp.c_fc.bias": rng.standard_normal(4 * D),
            f"{p}mlp.c_proj.weight": g(4 * D, D),
            f"{p}mlp.c_proj.bias": rng.standard_normal(D),
        }
    config = {
        "model_type": "gpt2",
        "n_embd": D,
        "n_head": HEADS,
        "n_layer": LAYERS,
        "n_positions": 64,
        "vocab_size": WORDS,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-30,
        "initializer_range": 0.02,
    }
    return _written(folder, config, tensors, save_file)


def _written(folder: Path, config: object, tensors: object, save_file: Callable[..., None]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder
