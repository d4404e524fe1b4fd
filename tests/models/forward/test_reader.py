"""The weights of a layer, whatever way a file stores them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.made_transformers import HEAD, HEADS, KV, MLP, D, make_transformer, write_gguf

from nucleate.checks import InputError
from nucleate.models.forward import open_model


def test_every_array_has_its_shape_and_its_place(tmp_path: Path) -> None:
    made = make_transformer("gemma3_text")
    layer, T, p = open_model(made.write(tmp_path)).layer(1), made.tensors, "model.layers.1."
    assert [one.shape for one in (layer.q, layer.k, layer.v, layer.o)] == [
        (HEADS, HEAD, D),
        (KV, HEAD, D),
        (KV, HEAD, D),
        (HEADS, D, HEAD),
    ]
    assert np.array_equal(layer.q[2], T[f"{p}self_attn.q_proj.weight"][2 * HEAD : 3 * HEAD])
    assert np.array_equal(layer.o[2], T[f"{p}self_attn.o_proj.weight"][:, 2 * HEAD : 3 * HEAD])
    assert layer.gate is not None
    assert layer.gate.shape == layer.up.shape == (MLP, D)
    assert layer.of_attention is not None
    assert np.array_equal(layer.of_attention.gain, 1 + T[f"{p}post_attention_layernorm.weight"])
    assert layer.k_norm is not None
    assert np.array_equal(layer.k_norm.gain, 1 + T[f"{p}self_attn.k_norm.weight"])
    assert (layer.after_mlp, layer.after_attention, layer.q_bias) == (None, None, None)


def test_fused_and_transposed_matrices_come_apart_head_by_head(tmp_path: Path) -> None:
    made = make_transformer("gpt2")
    layer, W = (
        open_model(made.write(tmp_path / "a")).layer(0),
        made.tensors["transformer.h.0.attn.c_attn.weight"],
    )
    b = made.tensors["transformer.h.0.attn.c_attn.bias"]
    width = D // HEADS
    for at, (found, bias) in enumerate(
        ((layer.q, layer.q_bias), (layer.k, layer.k_bias), (layer.v, layer.v_bias))
    ):
        for h in range(HEADS):
            place = slice(at * D + h * width, at * D + (h + 1) * width)
            assert np.array_equal(found[h], W[:, place].T)
            assert bias is not None
            assert np.array_equal(bias[h], b[place])
    made = make_transformer("gpt_neox")
    layer = open_model(made.write(tmp_path / "b")).layer(0)
    W = made.tensors["gpt_neox.layers.0.attention.query_key_value.weight"]
    for h in range(HEADS):
        for at, found in enumerate((layer.q, layer.k, layer.v)):
            assert np.array_equal(found[h], W[(3 * h + at) * 4 : (3 * h + at + 1) * 4])


def test_rows_that_a_gguf_file_permutes_for_rope_come_back(tmp_path: Path) -> None:
    made = make_transformer("llama")
    layer = open_model(write_gguf(made, tmp_path / "a.gguf")).layer(2)
    for name, found in (("q", layer.q), ("k", layer.k), ("v", layer.v)):
        assert np.array_equal(
            found.reshape(-1, D), made.tensors[f"model.layers.2.self_attn.{name}_proj.weight"]
        )


def without(T: dict[str, NDArray[Any]], name: str) -> None:
    T.pop(name)


def wrong(T: dict[str, NDArray[Any]], name: str) -> None:
    T[name] = T[name][:-1].copy()


def damaged(T: dict[str, NDArray[Any]], name: str) -> None:
    T[name].ravel()[3] = np.nan


@pytest.mark.parametrize(
    ("kind", "name", "harm", "words"),
    [
        ("llama", "model.layers.1.mlp.down_proj.weight", without, r"have a tensor mlp\.down_proj\.weight"),
        ("llama", "model.layers.0.mlp.up_proj.weight", wrong, r"mlp\.down_proj\.weight must have shape"),
        ("llama", "model.layers.2.mlp.up_proj.weight", wrong, r"layers\.2\.mlp\.up_proj\.weight must have"),
        ("qwen2", "model.layers.1.self_attn.q_proj.bias", without, r"Only some layers .*q_proj\.bias"),
        ("qwen2", "model.layers.1.self_attn.q_proj.bias", wrong, r"q_proj\.bias must have shape"),
        ("qwen3", "model.layers.0.self_attn.q_norm.weight", without, r"q_norm\.weight"),
        ("gpt2", "transformer.wpe.weight", without, r"transformer\.wpe\.weight is missing"),
        ("gpt2", "transformer.ln_f.weight", wrong, r"ln_f\.weight must have shape \(12\)"),
        ("gpt2", "transformer.wte.weight", without, r"transformer\.wte\.weight is missing"),
        ("bert", "embeddings.LayerNorm.weight", wrong, r"embeddings\.LayerNorm\.weight must have shape"),
        ("albert", "albert.encoder.embedding_hidden_mapping_in.weight", without, "has rows of 8 numbers"),
        (
            "gemma",
            "model.layers.1.mlp.gate_proj.weight",
            damaged,
            "must hold finite numbers, but holds 1 NaN",
        ),
        ("gemma", "model.embed_tokens.weight", damaged, "must hold finite numbers, but holds 1 NaN"),
    ],
)
def test_a_tensor_that_is_missing_misshapen_or_damaged_is_named(
    kind: str, name: str, harm: Any, words: str, tmp_path: Path
) -> None:
    made = make_transformer(kind)
    harm(made.tensors, name)
    with pytest.raises(InputError, match=words):
        open_model(made.write(tmp_path)).run([0, 1, 2])
