"""Tiny random transformers, complete: all that a forward pass reads, as checkpoint folders and as GGUF
files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.made_checkpoints import Made

Tensors = dict[str, NDArray[Any]]
D, HEADS, KV, HEAD, MLP, WORDS, LAYERS, PLACES = 12, 4, 2, 6, 10, 11, 3, 16
SIZES: dict[str, Any] = {
    "hidden_size": D,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": PLACES,
}
GROUPED = {**SIZES, "num_key_value_heads": KV, "head_dim": HEAD}
KINDS = ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "bert")
OTHERS = ("roberta", "albert")
# what llama.cpp calls them
GGUF_NAMES = {"gemma3_text": "gemma3", "gpt_neox": "gptneox"}


def make_transformer(kind: str, seed: int = 0, **config: Any) -> Made:
    """A model of this kind with independent Gaussian weights, gains around 1, and biases."""
    rng = np.random.default_rng(seed)

    def gaussian(*shape: int) -> NDArray[Any]:
        return rng.standard_normal(shape).astype(np.float32) * np.float32(0.4)

    maker = {"gpt2": _gpt2, "gpt_neox": _neox, "albert": _albert}.get(
        kind, _bert if kind in ("bert", "roberta") else _llama
    )
    made, tensors = maker(gaussian, kind)
    return Made({"model_type": kind, **made, **config}, tensors, kind)


def _llama(g: Callable[..., NDArray[Any]], kind: str) -> tuple[dict[str, Any], Tensors]:
    one = np.float32(0.0 if kind.startswith("gemma") else 1.0)
    T = {"model.embed_tokens.weight": g(WORDS, D), "model.norm.weight": one + g(D)}
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        for name, heads in (("q", HEADS), ("k", KV), ("v", KV)):
            T[f"{p}self_attn.{name}_proj.weight"] = g(heads * HEAD, D)
            if kind == "qwen2":
                T[f"{p}self_attn.{name}_proj.bias"] = g(heads * HEAD)
        T[f"{p}self_attn.o_proj.weight"] = g(D, HEADS * HEAD)
        if kind in ("qwen3", "gemma3_text"):
            T |= {f"{p}self_attn.{name}_norm.weight": one + g(HEAD) for name in "qk"}
        norms = ["input", "post_attention"]
        norms += ["pre_feedforward", "post_feedforward"] if kind in ("gemma2", "gemma3_text") else []
        T |= {f"{p}{name}_layernorm.weight": one + g(D) for name in norms}
        T |= {f"{p}mlp.gate_proj.weight": g(MLP, D), f"{p}mlp.up_proj.weight": g(MLP, D)}
        T[f"{p}mlp.down_proj.weight"] = g(D, MLP)
    config: dict[str, Any] = {**GROUPED, "rms_norm_eps": 1e-5}
    if kind.startswith("gemma"):
        config |= {"query_pre_attn_scalar": HEAD, "sliding_window": 4}
    else:
        T["lm_head.weight"] = g(WORDS, D)
    return config, T


def _gpt2(g: Callable[..., NDArray[Any]], kind: str) -> tuple[dict[str, Any], Tensors]:
    T = {"transformer.wte.weight": g(WORDS, D), "transformer.wpe.weight": g(PLACES, D)}
    T |= _norm("transformer.ln_f", g)
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        T |= _norm(f"{p}ln_1", g) | _norm(f"{p}ln_2", g)
        T |= {f"{p}attn.c_attn.weight": g(D, 3 * D), f"{p}attn.c_attn.bias": g(3 * D)}
        T |= {f"{p}attn.c_proj.weight": g(D, D), f"{p}attn.c_proj.bias": g(D)}
        T |= {f"{p}mlp.c_fc.weight": g(D, MLP), f"{p}mlp.c_fc.bias": g(MLP)}
        T |= {f"{p}mlp.c_proj.weight": g(MLP, D), f"{p}mlp.c_proj.bias": g(D)}
    return {"n_embd": D, "n_head": HEADS, "n_layer": LAYERS, "n_positions": PLACES}, T


def _neox(g: Callable[..., NDArray[Any]], kind: str) -> tuple[dict[str, Any], Tensors]:
    T = {"gpt_neox.embed_in.weight": g(WORDS, 16), "embed_out.weight": g(WORDS, 16)}
    T |= _norm("gpt_neox.final_layer_norm", g, 16)
    for i in range(LAYERS):
        p = f"gpt_neox.layers.{i}."
        T |= _norm(f"{p}input_layernorm", g, 16) | _norm(f"{p}post_attention_layernorm", g, 16)
        for name, rows, columns in (
            ("attention.query_key_value", 48, 16),
            ("attention.dense", 16, 16),
            ("mlp.dense_h_to_4h", MLP, 16),
            ("mlp.dense_4h_to_h", 16, MLP),
        ):
            T |= {f"{p}{name}.weight": g(rows, columns), f"{p}{name}.bias": g(rows)}
    return {**SIZES, "hidden_size": 16, "rotary_pct": 0.5}, T


def _embeddings(p: str, g: Callable[..., NDArray[Any]], size: int) -> Tensors:
    T = {f"{p}embeddings.word_embeddings.weight": g(WORDS, size)}
    T[f"{p}embeddings.position_embeddings.weight"] = g(PLACES, size)
    T[f"{p}embeddings.token_type_embeddings.weight"] = g(2, size)
    return T | _norm(f"{p}embeddings.LayerNorm", g, size)


def _bert(g: Callable[..., NDArray[Any]], kind: str) -> tuple[dict[str, Any], Tensors]:
    T = _embeddings("", g, D)
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            T |= {f"{p}attention.{name}.weight": g(D, D), f"{p}attention.{name}.bias": g(D)}
        T |= _norm(f"{p}attention.output.LayerNorm", g) | _norm(f"{p}output.LayerNorm", g)
        T |= {f"{p}intermediate.dense.weight": g(MLP, D), f"{p}intermediate.dense.bias": g(MLP)}
        T |= {f"{p}output.dense.weight": g(D, MLP), f"{p}output.dense.bias": g(D)}
    return dict(SIZES), T


def _albert(g: Callable[..., NDArray[Any]], kind: str) -> tuple[dict[str, Any], Tensors]:
    T = _embeddings("albert.", g, 8)
    T["albert.encoder.embedding_hidden_mapping_in.weight"] = g(D, 8)
    T["albert.encoder.embedding_hidden_mapping_in.bias"] = g(D)
    for group in range(2):
        p = f"albert.encoder.albert_layer_groups.{group}.albert_layers.0."
        for name in ("query", "key", "value", "dense"):
            T |= {f"{p}attention.{name}.weight": g(D, D), f"{p}attention.{name}.bias": g(D)}
        T |= _norm(f"{p}attention.LayerNorm", g) | _norm(f"{p}full_layer_layer_norm", g)
        T |= {f"{p}ffn.weight": g(MLP, D), f"{p}ffn.bias": g(MLP)}
        T |= {f"{p}ffn_output.weight": g(D, MLP), f"{p}ffn_output.bias": g(D)}
    return {**SIZES, "num_hidden_layers": 5, "num_hidden_groups": 2, "embedding_size": 8}, T


def _norm(name: str, g: Callable[..., NDArray[Any]], size: int = D) -> Tensors:
    return {f"{name}.weight": np.float32(1.0) + g(size), f"{name}.bias": g(size)}


# --- as the converter of llama.cpp writes it


def write_gguf(made: Made, path: Path, quantised: Any = None, **settings: Any) -> Path:
    """A made model as a GGUF file; matrices are stored as `quantised`, if their rows are whole blocks of
    it."""
    import gguf

    arch = GGUF_NAMES.get(made.kind, made.kind)
    number = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    writer, names = gguf.GGUFWriter(path, arch), gguf.get_tensor_name_map(number, LAYERS)
    config: dict[str, Any] = made.config
    writer.add_block_count(config.get("n_layer") or config["num_hidden_layers"])
    writer.add_head_count(config.get("n_head") or config["num_attention_heads"])
    writer.add_embedding_length(config.get("n_embd") or config["hidden_size"])
    writer.add_context_length(PLACES)
    if "num_key_value_heads" in config:
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_key_length(config["head_dim"])
    if "rms_norm_eps" in config:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    else:
        writer.add_layer_norm_eps({"bert": 1e-12}.get(made.kind, 1e-5))
    if "sliding_window" in config and made.kind != "gemma":
        writer.add_sliding_window(config["sliding_window"])
    if made.kind == "gemma3_text":
        writer.add_rope_freq_base(1e6)
    if made.kind == "gpt_neox":
        writer.add_rope_dimension_count(2)
    for name, value in settings.items():
        getattr(writer, name)(value)
    for name, W in made.tensors.items():
        plain = name.removeprefix("transformer.")
        known = names.get_name(plain, (".weight", ".bias"))
        assert known is not None, name
        W = np.ascontiguousarray(_converted(made.kind, name, W))
        if quantised is not None and W.ndim == 2:
            writer.add_tensor(known, gguf.quants.quantize(W, quantised), raw_dtype=quantised)
        else:
            writer.add_tensor(known, W)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _converted(kind: str, name: str, W: NDArray[Any]) -> NDArray[Any]:
    """Gemma's gains get their 1, Llama's queries and keys are permuted, GPT-2's matrices get a row per
    output, GPT-NeoX's queries come first."""
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        return W + np.float32(1.0)
    if kind == "llama" and ("q_proj" in name or "k_proj" in name):
        heads = HEADS if "q_proj" in name else KV
        return W.reshape(heads, 2, HEAD // 2, *W.shape[1:]).swapaxes(1, 2).reshape(W.shape)
    if kind == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return W.T
    if kind == "gpt_neox" and "query_key_value" in name:
        return W.reshape(HEADS, 3, 4, -1).swapaxes(0, 1).reshape(W.shape)
    return W
