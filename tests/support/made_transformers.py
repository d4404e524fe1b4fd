"""Tiny random transformers, complete: all that a forward pass reads, as checkpoint folders and as GGUF
files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.made_checkpoints import Made

Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Sizes:
    """How large a model is; queries have d = heads * head numbers where the kind wants that."""

    d: int = 12
    heads: int = 4
    kv: int = 2
    head: int = 6
    mlp: int = 10
    words: int = 11
    layers: int = 3
    places: int = 16

    @property
    def config(self) -> dict[str, Any]:
        return {
            "hidden_size": self.d,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "max_position_embeddings": self.places,
        }


SMALL = Sizes()
TINY = Sizes(d=16, head=4, mlp=24, words=40, places=64)  # as Llama and GPT-2 have it: d = heads * head
D, HEADS, KV, HEAD, MLP = SMALL.d, SMALL.heads, SMALL.kv, SMALL.head, SMALL.mlp
WORDS, LAYERS, PLACES = SMALL.words, SMALL.layers, SMALL.places
KINDS = ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "bert")
OTHERS = ("roberta", "albert")
DRAWN = {"initializer_range": 0.02}
# what llama.cpp calls them
GGUF_NAMES = {"gemma3_text": "gemma3", "gpt_neox": "gptneox"}


def make_transformer(kind: str, seed: int = 0, sizes: Sizes = SMALL, **config: Any) -> Made:
    """A model of this kind with independent Gaussian weights, gains around 1, and biases."""
    rng = np.random.default_rng(seed)

    def gaussian(*shape: int) -> NDArray[Any]:
        return rng.standard_normal(shape).astype(np.float32) * np.float32(0.4)

    maker = {"gpt2": _gpt2, "gpt_neox": _neox, "albert": _albert}.get(
        kind, _bert if kind in ("bert", "roberta") else _llama
    )
    made, tensors = maker(gaussian, kind, sizes)
    return Made({"model_type": kind, **made, **config}, tensors, kind)


def tiny_llama(folder: Path, seed: int = 0) -> Path:
    """A checkpoint folder: RMSNorm, RoPE, grouped heads, a gated MLP; what our own layers can do exactly."""
    return make_transformer("llama", seed, TINY, rms_norm_eps=1e-30, rope_theta=1000.0, **DRAWN).write(folder)


def tiny_gpt2(folder: Path, seed: int = 0) -> Path:
    """The same of a GPT-2 without biases of queries, keys and the norm in front of attention, which our own
    layers do not have."""
    made = make_transformer("gpt2", seed, TINY, layer_norm_epsilon=1e-30, **DRAWN)
    for name, bias in made.tensors.items():
        if name.endswith("c_attn.bias"):
            bias[: 2 * TINY.d] = 0.0
        if name.endswith("ln_1.bias"):
            bias[:] = 0.0
    return made.write(folder)


def _llama(g: Callable[..., NDArray[Any]], kind: str, s: Sizes) -> tuple[dict[str, Any], Tensors]:
    one = np.float32(0.0 if kind.startswith("gemma") else 1.0)
    T = {"model.embed_tokens.weight": g(s.words, s.d), "model.norm.weight": one + g(s.d)}
    for i in range(s.layers):
        p = f"model.layers.{i}."
        for name, heads in (("q", s.heads), ("k", s.kv), ("v", s.kv)):
            T[f"{p}self_attn.{name}_proj.weight"] = g(heads * s.head, s.d)
            if kind == "qwen2":
                T[f"{p}self_attn.{name}_proj.bias"] = g(heads * s.head)
        T[f"{p}self_attn.o_proj.weight"] = g(s.d, s.heads * s.head)
        if kind in ("qwen3", "gemma3_text"):
            T |= {f"{p}self_attn.{name}_norm.weight": one + g(s.head) for name in "qk"}
        norms = ["input", "post_attention"]
        norms += ["pre_feedforward", "post_feedforward"] if kind in ("gemma2", "gemma3_text") else []
        T |= {f"{p}{name}_layernorm.weight": one + g(s.d) for name in norms}
        T |= {f"{p}mlp.gate_proj.weight": g(s.mlp, s.d), f"{p}mlp.up_proj.weight": g(s.mlp, s.d)}
        T[f"{p}mlp.down_proj.weight"] = g(s.d, s.mlp)
    config: dict[str, Any] = {
        **s.config,
        "num_key_value_heads": s.kv,
        "head_dim": s.head,
        "rms_norm_eps": 1e-5,
    }
    if kind.startswith("gemma"):
        config |= {"query_pre_attn_scalar": s.head, "sliding_window": 4}
    else:
        T["lm_head.weight"] = g(s.words, s.d)
    return config, T


def _gpt2(g: Callable[..., NDArray[Any]], kind: str, s: Sizes) -> tuple[dict[str, Any], Tensors]:
    T = {"transformer.wte.weight": g(s.words, s.d), "transformer.wpe.weight": g(s.places, s.d)}
    T |= _norm("transformer.ln_f", g, s.d)
    for i in range(s.layers):
        p = f"transformer.h.{i}."
        T |= _norm(f"{p}ln_1", g, s.d) | _norm(f"{p}ln_2", g, s.d)
        T |= {f"{p}attn.c_attn.weight": g(s.d, 3 * s.d), f"{p}attn.c_attn.bias": g(3 * s.d)}
        T |= {f"{p}attn.c_proj.weight": g(s.d, s.d), f"{p}attn.c_proj.bias": g(s.d)}
        T |= {f"{p}mlp.c_fc.weight": g(s.d, s.mlp), f"{p}mlp.c_fc.bias": g(s.mlp)}
        T |= {f"{p}mlp.c_proj.weight": g(s.mlp, s.d), f"{p}mlp.c_proj.bias": g(s.d)}
    return {"n_embd": s.d, "n_head": s.heads, "n_layer": s.layers, "n_positions": s.places}, T


def _neox(g: Callable[..., NDArray[Any]], kind: str, s: Sizes) -> tuple[dict[str, Any], Tensors]:
    T = {"gpt_neox.embed_in.weight": g(s.words, 16), "embed_out.weight": g(s.words, 16)}
    T |= _norm("gpt_neox.final_layer_norm", g, 16)
    for i in range(s.layers):
        p = f"gpt_neox.layers.{i}."
        T |= _norm(f"{p}input_layernorm", g, 16) | _norm(f"{p}post_attention_layernorm", g, 16)
        for name, rows, columns in (
            ("attention.query_key_value", 48, 16),
            ("attention.dense", 16, 16),
            ("mlp.dense_h_to_4h", s.mlp, 16),
            ("mlp.dense_4h_to_h", 16, s.mlp),
        ):
            T |= {f"{p}{name}.weight": g(rows, columns), f"{p}{name}.bias": g(rows)}
    return {**s.config, "hidden_size": 16, "rotary_pct": 0.5}, T


def _embeddings(p: str, g: Callable[..., NDArray[Any]], size: int, s: Sizes) -> Tensors:
    T = {f"{p}embeddings.word_embeddings.weight": g(s.words, size)}
    T[f"{p}embeddings.position_embeddings.weight"] = g(s.places, size)
    T[f"{p}embeddings.token_type_embeddings.weight"] = g(2, size)
    return T | _norm(f"{p}embeddings.LayerNorm", g, size)


def _bert(g: Callable[..., NDArray[Any]], kind: str, s: Sizes) -> tuple[dict[str, Any], Tensors]:
    T = _embeddings("", g, s.d, s)
    for i in range(s.layers):
        p = f"encoder.layer.{i}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            T |= {f"{p}attention.{name}.weight": g(s.d, s.d), f"{p}attention.{name}.bias": g(s.d)}
        T |= _norm(f"{p}attention.output.LayerNorm", g, s.d) | _norm(f"{p}output.LayerNorm", g, s.d)
        T |= {f"{p}intermediate.dense.weight": g(s.mlp, s.d), f"{p}intermediate.dense.bias": g(s.mlp)}
        T |= {f"{p}output.dense.weight": g(s.d, s.mlp), f"{p}output.dense.bias": g(s.d)}
    return s.config, T


def _albert(g: Callable[..., NDArray[Any]], kind: str, s: Sizes) -> tuple[dict[str, Any], Tensors]:
    T = _embeddings("albert.", g, 8, s)
    T["albert.encoder.embedding_hidden_mapping_in.weight"] = g(s.d, 8)
    T["albert.encoder.embedding_hidden_mapping_in.bias"] = g(s.d)
    for group in range(2):
        p = f"albert.encoder.albert_layer_groups.{group}.albert_layers.0."
        for name in ("query", "key", "value", "dense"):
            T |= {f"{p}attention.{name}.weight": g(s.d, s.d), f"{p}attention.{name}.bias": g(s.d)}
        T |= _norm(f"{p}attention.LayerNorm", g, s.d) | _norm(f"{p}full_layer_layer_norm", g, s.d)
        T |= {f"{p}ffn.weight": g(s.mlp, s.d), f"{p}ffn.bias": g(s.mlp)}
        T |= {f"{p}ffn_output.weight": g(s.d, s.mlp), f"{p}ffn_output.bias": g(s.d)}
    return {**s.config, "num_hidden_layers": 5, "num_hidden_groups": 2, "embedding_size": 8}, T


def _norm(name: str, g: Callable[..., NDArray[Any]], size: int) -> Tensors:
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
