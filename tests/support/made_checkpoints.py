"""Tiny random checkpoints of every architecture, named as the transformers library names them, and the slow
way to their heads.

The slow way pushes basis vectors through the layer as the model itself would: normalise (without the
division), project, split into heads, project back.  It makes the d x d matrices that nucleate.spectra never
makes.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.models.spectra import Spectra, spectra

Tensors = dict[str, NDArray[Any]]
LAYERS = 2
YARN = {"type": "yarn", "factor": 4.0}  # queries and keys grow by 0.1 ln 4 + 1
# and here by sqrt(1 + ln 4 / ln 8), if there are 32 places now
LONG = {"rope_type": "longrope", "original_max_position_embeddings": 8}
BY_KIND: dict[str, Any] = {
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"sliding_attention": {"rope_type": "default"}, "full_attention": YARN},
}
LIKE_BERT = ("minilm", "roberta", "xlm-roberta", "camembert", "electra")


@dataclass(frozen=True)
class Made:
    """A model: its files' contents, and where the slow way finds things."""

    config: dict[str, Any]
    tensors: Tensors
    kind: str

    def write(self, folder: Path) -> Path:
        """As a checkpoint folder."""
        from safetensors.numpy import save_file

        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.tensors, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(self.config))
        return folder


def make(kind: str, seed: int = 0) -> Made:
    """A model of this kind with independent Gaussian weights of size 1, gains around 1, and biases."""
    rng = np.random.default_rng(seed)

    def gaussian(*shape: int) -> NDArray[Any]:
        return rng.standard_normal(shape)

    config, tensors = MAKERS[kind](gaussian)
    return Made(config, {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, kind)


def _bert(
    g: Callable[..., NDArray[Any]], prefix: str = "", kind: str = "bert", small: int = 0
) -> tuple[dict[str, Any], Tensors]:
    d = 12
    tensors = {
        f"{prefix}embeddings.word_embeddings.weight": g(7, d),
        f"{prefix}embeddings.LayerNorm.weight": 1 + 0.3 * g(d),
    }
    tensors |= {f"{prefix}embeddings.LayerNorm.bias": g(d)}
    for i in range(LAYERS):
        p = f"{prefix}encoder.layer.{i}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            tensors |= {f"{p}attention.{name}.weight": g(d, d), f"{p}attention.{name}.bias": g(d)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            tensors |= {f"{p}{name}.weight": 1 + 0.3 * g(d), f"{p}{name}.bias": g(d)}
        tensors |= {f"{p}intermediate.dense.weight": g(16, d), f"{p}output.dense.weight": g(d, 16)}
    if small:  # embeddings are smaller than d, and a matrix takes them there
        tensors |= {
            f"{prefix}embeddings.LayerNorm.weight": g(small),
            f"{prefix}embeddings_project.weight": g(d, small),
        }
    return {
        "model_type": kind,
        "hidden_size": d,
        "num_attention_heads": 3,
        "num_hidden_layers": LAYERS,
        "initializer_range": 0.02,
    }, tensors


def _albert(g: Callable[..., NDArray[Any]], passes: int = 8) -> tuple[dict[str, Any], Tensors]:
    d = 12
    tensors = {
        "albert.embeddings.LayerNorm.weight": g(6),
        "albert.encoder.embedding_hidden_mapping_in.weight": g(d, 6),
    }
    for group in range(LAYERS):
        for inner in range(2):
            p = f"albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}."
            for name in ("query", "key", "value", "dense"):
                tensors |= {f"{p}attention.{name}.weight": g(d, d), f"{p}attention.{name}.bias": g(d)}
            tensors |= {
                f"{p}attention.LayerNorm.weight": g(d),
                f"{p}full_layer_layer_norm.weight": 1 + 0.3 * g(d),
                f"{p}full_layer_layer_norm.bias": g(d),
            }
            tensors |= {f"{p}ffn.weight": g(16, d), f"{p}ffn_output.weight": g(d, 16)}
    sizes = {
        "hidden_size": d,
        "embedding_size": 6,
        "num_attention_heads": 3,
        "num_hidden_layers": passes,
        "num_hidden_groups": LAYERS,
        "inner_group_num": 2,
    }
    return {"model_type": "albert", "initializer_range": 0.02, **sizes}, tensors


def _gpt2(g: Callable[..., NDArray[Any]], **more: Any) -> tuple[dict[str, Any], Tensors]:
    d = 12
    tensors = {"transformer.wte.weight": g(7, d), "transformer.ln_f.weight": g(d)}
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        tensors |= {
            f"{p}ln_1.weight": 1 + 0.3 * g(d),
            f"{p}ln_1.bias": g(d),
            f"{p}ln_2.weight": g(d),
            f"{p}mlp.c_fc.weight": g(d, 16),
        }
        tensors |= {
            f"{p}attn.c_attn.weight": g(d, 3 * d),
            f"{p}attn.c_attn.bias": g(3 * d),
            f"{p}attn.c_proj.weight": g(d, d),
        }
        tensors |= {
            f"{p}attn.c_proj.bias": g(d),
            f"{p}attn.bias": np.tril(np.ones((1, 1, 4, 4), dtype=np.uint8)),
        }
    return {
        "model_type": "gpt2",
        "n_embd": d,
        "n_head": 3,
        "n_layer": LAYERS,
        "initializer_range": 0.02,
        **more,
    }, tensors


def _neox(g: Callable[..., NDArray[Any]], **more: Any) -> tuple[dict[str, Any], Tensors]:
    d = 12
    tensors = {"gpt_neox.embed_in.weight": g(7, d)}
    for i in range(LAYERS):
        p = f"gpt_neox.layers.{i}."
        tensors |= {
            f"{p}input_layernorm.weight": 1 + 0.3 * g(d),
            f"{p}input_layernorm.bias": g(d),
            f"{p}post_attention_layernorm.weight": g(d),
        }
        tensors |= {
            f"{p}attention.query_key_value.weight": g(3 * d, d),
            f"{p}attention.query_key_value.bias": g(3 * d),
        }
        tensors |= {f"{p}attention.dense.weight": g(d, d), f"{p}attention.dense.bias": g(d)}
    sizes = {"hidden_size": d, "num_attention_heads": 3, "num_hidden_layers": LAYERS, "rotary_pct": 0.25}
    return {"model_type": "gpt_neox", "initializer_range": 0.02, **sizes, **more}, tensors


def _llama(
    g: Callable[..., NDArray[Any]],
    kind: str = "llama",
    prefix: str = "model.",
    heads: int = 4,
    kv: int = 2,
    width: int = 3,
    **more: Any,
) -> Any:
    d, norm = 12, 0.3 * g(LAYERS, 12) + (0.0 if kind.startswith("gemma") else 1.0)
    tensors = {f"{prefix}embed_tokens.weight": g(7, d), f"{prefix}norm.weight": g(d)}
    for i in range(LAYERS):
        p = f"{prefix}layers.{i}."
        tensors |= {
            f"{p}self_attn.q_proj.weight": g(heads * width, d),
            f"{p}self_attn.o_proj.weight": g(d, heads * width),
        }
        tensors |= {f"{p}self_attn.{name}_proj.weight": g(kv * width, d) for name in "kv"}
        tensors |= {
            f"{p}input_layernorm.weight": norm[i],
            f"{p}post_attention_layernorm.weight": g(d),
            f"{p}mlp.up_proj.weight": g(16, d),
        }
        if kind == "qwen2":
            tensors |= {
                f"{p}self_attn.{name}_proj.bias": g(size * width)
                for name, size in (("q", heads), ("k", kv), ("v", kv))
            }
        if kind in ("qwen3", "gemma3"):
            tensors |= {f"{p}self_attn.{name}_norm.weight": g(width) for name in "qk"}
        if kind in ("gemma2", "gemma3"):
            tensors |= {
                f"{p}pre_feedforward_layernorm.weight": g(d),
                f"{p}post_feedforward_layernorm.weight": g(d),
            }
    sizes = {
        "hidden_size": d,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "num_hidden_layers": LAYERS,
    }
    return {"model_type": kind, "initializer_range": 0.02, **sizes, **more}, tensors


def _seeing(g: Callable[..., NDArray[Any]]) -> tuple[dict[str, Any], Tensors]:
    """A model that also sees keeps its text part deeper."""
    config, tensors = _llama(g, "gemma3", "language_model.model.", head_dim=3, query_pre_attn_scalar=7)
    for i in range(LAYERS):  # named as in the text part, but for the way back and the normalisation
        p = f"vision_tower.vision_model.encoder.layers.{i}."
        tensors |= {
            f"{p}self_attn.{name}.weight": g(6, 6) for name in ("q_proj", "k_proj", "v_proj", "out_proj")
        }
        tensors |= {f"{p}layer_norm1.weight": g(6), f"{p}layer_norm2.weight": g(6)}
    return {
        "model_type": "gemma3",
        "text_config": {**config, "model_type": "gemma3_text"},
        "vision_config": {"num_attention_heads": 99},
    }, tensors


MAKERS: dict[str, Callable[..., tuple[dict[str, Any], Tensors]]] = {
    "albert": _albert,
    "albert, one group passed once": lambda g: _albert(g, 3),
    "albert, each group passed once": lambda g: _albert(g, 2),
    "bert": lambda g: _bert(g, "bert."),
    "minilm": _bert,
    "roberta": lambda g: _bert(g, "roberta.", "roberta"),
    "electra, small embeddings": lambda g: _bert(g, "electra.", "electra", 6),
    "gpt2": _gpt2,
    "gpt2 by layer": lambda g: _gpt2(g, scale_attn_by_inverse_layer_idx=True),
    "gpt2, not scaled": lambda g: _gpt2(g, scale_attn_weights=False),
    "gpt_neox": _neox,
    "gpt_neox, half of YaRN": lambda g: _neox(g, rotary_pct=0.5, rope_scaling=YARN),
    "llama": _llama,
    "llama, YaRN": lambda g: _llama(g, rope_scaling=YARN),
    "smollm3, YaRN in one layer": lambda g: _llama(g, "smollm3", rope_scaling=YARN, no_rope_layers=[1, 0]),
    "qwen2, LongRoPE": lambda g: _llama(g, "qwen2", max_position_embeddings=32, rope_scaling=LONG),
    "mistral": lambda g: _llama(g, "mistral", heads=6, kv=2, width=4, head_dim=4),
    "qwen2": lambda g: _llama(g, "qwen2"),
    "qwen3": lambda g: _llama(g, "qwen3", width=5, head_dim=5),
    "smollm, one key-value head": lambda g: _llama(g, kv=1),
    "gemma": lambda g: _llama(g, "gemma", width=6, kv=1, head_dim=6),
    "gemma2": lambda g: _llama(g, "gemma2", query_pre_attn_scalar=7, attn_logit_softcapping=50.0),
    "gemma3, YaRN where all is seen": lambda g: _llama(
        g, "gemma3_text", head_dim=3, query_pre_attn_scalar=7, **BY_KIND
    ),
    "gemma3 that sees": _seeing,
}


# --- the slow way


def slow_heads(made: Made) -> Iterator[tuple[int, int, NDArray[Any], NDArray[Any]]]:
    """(layer, head, A, V), both d x d, for every head in order: x_k attends to x_j with the score
    <x_j, A x_k>."""
    for i, (normalise, q, k, v, back, heads, groups, scale) in enumerate(_slow_layers(made)):
        x = _normalised_basis(made, normalise)  # (d, d): row c is basis vector c, normalised
        d = len(x)
        query, key, value = (
            part(x).reshape(d, count, -1)
            for part, count in ((q, heads), (k, heads // groups), (v, heads // groups))
        )
        for h in range(heads):
            A = d * scale * key[:, h // groups] @ query[:, h].T  # (d, d)
            alone = np.zeros((d, heads, value.shape[-1]))
            alone[:, h] = value[:, h // groups]
            yield i, h, A, back(alone.reshape(d, -1)).T  # rows were inputs: V is the transpose


def slow_fronts(made: Made) -> Iterator[NDArray[Any]]:
    """For every layer what its normalisation does to a unit vector, but for the division: diag(gamma) C, d x
    d."""
    for normalise, *_ in _slow_layers(made):
        yield _normalised_basis(made, normalise).T


def _slow_layers(made: Made) -> Iterator[Any]:
    family = made.kind.replace(",", " ").split()[0]
    family = "bert" if family in LIKE_BERT else family
    way = {"albert": _slow_albert, "bert": _slow_bert, "gpt2": _slow_gpt2, "gpt_neox": _slow_neox}.get(
        family, _slow_llama
    )
    return way(_text_config(made), made.tensors)


def _text_config(made: Made) -> dict[str, Any]:
    return dict(made.config.get("text_config", made.config))


def _normalised_basis(made: Made, normalise: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    config = _text_config(made)
    return np.array([normalise(row) for row in np.eye(config.get("hidden_size") or config["n_embd"])])


def _linear(W: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda x: x @ W.T


def _layer_norm(gain: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda x: gain * (x - np.mean(x))


def _slow_bert(config: Any, T: Tensors) -> Iterator[Any]:
    root = next(name for name in T if name.endswith("embeddings.LayerNorm.weight")).removesuffix(
        "embeddings.LayerNorm.weight"
    )
    heads = config["num_attention_heads"]
    front = (
        _layer_norm(T[root + "embeddings.LayerNorm.weight"])
        if root + "embeddings_project.weight" not in T
        else lambda x: x
    )
    for i in range(config["num_hidden_layers"]):
        p = f"{root}encoder.layer.{i}.attention."
        parts = [
            _linear(T[f"{p}{name}.weight"])
            for name in ("self.query", "self.key", "self.value", "output.dense")
        ]
        yield front, *parts, heads, 1, (12 / heads) ** -0.5
        front = _layer_norm(T[f"{root}encoder.layer.{i}.output.LayerNorm.weight"])


def _slow_albert(config: Any, T: Tensors) -> Iterator[Any]:
    """As the model runs: what was in front of each stored layer when it was passed through last."""
    heads, passes, groups = (
        config["num_attention_heads"],
        config["num_hidden_layers"],
        config["num_hidden_groups"],
    )
    fronts: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {}
    # the embedding, through a matrix: nothing is done to it
    front: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray
    for i in range(passes):
        for inner in range(2):
            p = f"albert.encoder.albert_layer_groups.{int(i / (passes / groups))}.albert_layers.{inner}."
            fronts[p], front = front, _layer_norm(T[f"{p}full_layer_layer_norm.weight"])
    for p, last in fronts.items():
        parts = [_linear(T[f"{p}attention.{name}.weight"]) for name in ("query", "key", "value", "dense")]
        yield last, *parts, heads, 1, (12 / heads) ** -0.5


def _slow_gpt2(config: Any, T: Tensors) -> Iterator[Any]:
    heads = config["n_head"]
    for i in range(config["n_layer"]):
        p = f"transformer.h.{i}."
        W = T[f"{p}attn.c_attn.weight"]  # x @ W
        parts = [lambda x, W=W, at=at: np.split(x @ W, 3, axis=1)[at] for at in range(3)]
        extra = 1.0 if config.get("scale_attn_weights") is False else (12 / heads) ** -0.5
        extra /= i + 1 if config.get("scale_attn_by_inverse_layer_idx") else 1
        yield (
            _layer_norm(T[f"{p}ln_1.weight"]),
            *parts,
            lambda x, p=p: x @ T[f"{p}attn.c_proj.weight"],
            heads,
            1,
            extra,
        )


def _slow_neox(config: Any, T: Tensors) -> Iterator[Any]:
    heads = config["num_attention_heads"]
    for i in range(config["num_hidden_layers"]):
        p = f"gpt_neox.layers.{i}."
        W = T[f"{p}attention.query_key_value.weight"]

        def part(x: NDArray[Any], at: int, W: NDArray[Any] = W, i: int = i) -> NDArray[Any]:
            # the model views heads first, then cuts each in three
            whole = (x @ W.T).reshape(len(x), heads, 3 * 4)
            own = whole[..., 4 * at : 4 * at + 4].copy()
            if at < 2:  # queries and keys, of which RoPE turns the first places
                own[..., : int(4 * _share_turned(config))] *= _grown(config, i)
            return own.reshape(len(x), -1)

        parts = [lambda x, at=at, part=part: part(x, at) for at in range(3)]
        yield (
            _layer_norm(T[f"{p}input_layernorm.weight"]),
            *parts,
            _linear(T[f"{p}attention.dense.weight"]),
            heads,
            1,
            4**-0.5,
        )


def _slow_llama(config: Any, T: Tensors) -> Iterator[Any]:
    root = next(name for name in T if name.endswith("embed_tokens.weight")).removesuffix(
        "embed_tokens.weight"
    )
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    for i in range(config["num_hidden_layers"]):
        p = f"{root}layers.{i}."
        gain = T[f"{p}input_layernorm.weight"] + (1.0 if config["model_type"].startswith("gemma") else 0.0)
        parts = [_linear(T[f"{p}self_attn.{name}_proj.weight"]) for name in "qkvo"]
        width = len(T[f"{p}self_attn.q_proj.weight"]) // heads
        scale = config.get("query_pre_attn_scalar", width) ** -0.5 * _grown(config, i) ** 2
        yield lambda x, gain=gain: gain * x, *parts, heads, heads // kv, scale


def _share_turned(config: Any) -> float:
    return float((config.get("rope_parameters") or {}).get("partial_rotary_factor") or config["rotary_pct"])


def _grown(config: Any, layer: int) -> float:
    """What the embedding of positions multiplies queries and keys by, for the few settings made here."""
    table = config.get("rope_parameters") or config.get("rope_scaling") or {}
    table = table.get(config["layer_types"][layer], table) if "layer_types" in config else table
    if not config.get("no_rope_layers", [1] * LAYERS)[layer]:
        return 1.0
    if "attention_factor" in table:
        return float(table["attention_factor"])
    if table.get("rope_type") == "longrope":
        first = table["original_max_position_embeddings"]
        return float(np.sqrt(1 + np.log(config["max_position_embeddings"] / first) / np.log(first)))
    if table.get("rope_type", table.get("type")) == "yarn":
        grown = [
            0.1 * table.get(name, 1.0) * np.log(table["factor"]) + 1 for name in ("mscale", "mscale_all_dim")
        ]
        return float(grown[0] / grown[1] if "mscale" in table else grown[0])
    return 1.0


def spectra_of(made: Made, folder: Path, **more: Any) -> Spectra:
    """The spectra of a made model, which is written to a folder and read from there."""
    return spectra(made.write(folder), draws=1, **more)
