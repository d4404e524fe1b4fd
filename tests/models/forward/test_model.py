"""Whole models: by hand, token by token, and what holds of all of them."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.made_checkpoints import Made
from support.made_transformers import (
    HEAD,
    HEADS,
    KINDS,
    KV,
    LAYERS,
    OTHERS,
    WORDS,
    D,
    make_transformer,
    write_gguf,
)

from nucleate.checks import InputError
from nucleate.models.checkpoint import open_source
from nucleate.models.forward import LayerWeights, TransformerModel, open_model

IDS = np.array([3, 7, 0, 7, 10, 1, 1, 5, 9])  # (n,)
CAUSAL = [kind for kind in (*KINDS, *OTHERS) if kind not in ("bert", "roberta", "albert")]


def opened(kind: str, folder: Path, **config: Any) -> TransformerModel:
    return open_model(make_transformer(kind, **config).write(folder))


# --- exact


def test_one_head_in_the_plane_is_what_is_found_by_hand(tmp_path: Path) -> None:
    """d = 2, one head, no turning (position 0 twice is impossible, so RoPE's base is huge); W_Q = W_K = 0, so
    that a token averages all up to itself; W_V = W_O = I, and an MLP of zeros."""
    zero, one = np.zeros((2, 2)), np.eye(2)
    p = "model.layers.0."
    T = {"model.embed_tokens.weight": np.array([[3.0, 4.0], [1.0, -1.0]]), "model.norm.weight": np.ones(2)}
    T |= {
        f"{p}self_attn.{name}_proj.weight": W for name, W in zip("qkvo", (zero, zero, one, one), strict=True)
    }
    T |= {f"{p}mlp.{name}_proj.weight": zero for name in ("gate", "up", "down")}
    T |= {f"{p}{name}_layernorm.weight": np.ones(2) for name in ("input", "post_attention")}
    config = {"model_type": "llama", "num_attention_heads": 1, "num_hidden_layers": 1, "rms_norm_eps": 1e-30}
    path = Made({**config, "tie_word_embeddings": True}, T, "llama").write(tmp_path)
    found = open_model(path).run([0, 1], attention_weights=True, logits=True, precision="double")
    first = np.array([3.0, 4.0]) / math.sqrt(12.5)  # what RMSNorm makes of (3, 4)
    second = np.array([1.0, -1.0])
    exact = np.array([np.array([3.0, 4.0]) + first, second + (first + second) / 2])
    np.testing.assert_allclose(found.states[1], exact, rtol=1e-15)
    np.testing.assert_allclose(found.normed[0], [first, second], rtol=1e-15)
    np.testing.assert_allclose(found.attention[0], exact - found.states[0], atol=1e-15)
    assert np.array_equal(found.mlp[0], np.zeros((2, 2)))
    assert found.weights is not None
    assert np.array_equal(found.weights[0, 0], [[1.0, 0.0], [0.5, 0.5]])
    ends = exact / np.sqrt(np.mean(exact**2, axis=1, keepdims=True))
    assert found.logits is not None
    np.testing.assert_allclose(found.logits, ends @ T["model.embed_tokens.weight"].T, rtol=1e-14)


# --- a slow twin: a Llama, token by token and head by head


def slow_llama(made: Made, ids: NDArray[Any]) -> NDArray[Any]:
    """(L + 1, n, d)"""
    T = {name: W.astype(np.float64) for name, W in made.tensors.items()}

    def norm(x: NDArray[Any], gain: NDArray[Any]) -> NDArray[Any]:
        return gain * x / math.sqrt(sum(one * one for one in x) / len(x) + 1e-5)

    def turned(x: NDArray[Any], position: int) -> NDArray[Any]:
        y = np.empty(HEAD)
        for i in range(HEAD // 2):
            angle = position * 10_000.0 ** (-2 * i / HEAD)
            a, b = x[i], x[i + HEAD // 2]
            y[i], y[i + HEAD // 2] = (
                a * math.cos(angle) - b * math.sin(angle),
                b * math.cos(angle) + a * math.sin(angle),
            )
        return y

    x = [T["model.embed_tokens.weight"][i] for i in ids]
    states = [np.array(x)]
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        W = {name: T[f"{p}self_attn.{name}_proj.weight"] for name in "qkvo"}
        read = [norm(one, T[f"{p}input_layernorm.weight"]) for one in x]
        between = []
        for a, here in enumerate(read):
            heads = []
            for h in range(HEADS):
                own, shared = slice(h * HEAD, (h + 1) * HEAD), h // (HEADS // KV)
                theirs = slice(shared * HEAD, (shared + 1) * HEAD)
                q = turned(W["q"][own] @ here, a)
                weights = [
                    math.exp(q @ turned(W["k"][theirs] @ read[b], b) / math.sqrt(HEAD)) for b in range(a + 1)
                ]
                values = [W["v"][theirs] @ read[b] for b in range(a + 1)]
                heads.append(sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights))
            between.append(x[a] + W["o"] @ np.concatenate(heads))
        x = []
        for one in between:
            read_again = norm(one, T[f"{p}post_attention_layernorm.weight"])
            gate = T[f"{p}mlp.gate_proj.weight"] @ read_again
            inner = gate / (1 + np.exp(-gate)) * (T[f"{p}mlp.up_proj.weight"] @ read_again)
            x.append(one + T[f"{p}mlp.down_proj.weight"] @ inner)
        states.append(np.array(x))
    return np.array(states)


def test_a_llama_is_what_its_slow_twin_makes_of_a_text(tmp_path: Path) -> None:
    made = make_transformer("llama")
    model = open_model(made.write(tmp_path))
    slow = slow_llama(made, IDS)
    np.testing.assert_allclose(model.run(IDS, precision="double").states, slow, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.run(IDS).states, slow, rtol=1e-4, atol=1e-5)


# --- what holds of all


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_the_parts_add_up_and_one_text_is_the_same_bits_alone_and_in_a_batch(
    kind: str, tmp_path: Path
) -> None:
    model = opened(kind, tmp_path)
    texts = np.stack([IDS, IDS[::-1]])
    found = model.run(texts, attention_weights=True)
    for t in range(2):
        alone = model.run(texts[t], attention_weights=True)
        for name in ("states", "normed", "attention", "mlp", "weights"):
            assert np.array_equal(getattr(found, name)[t], getattr(alone, name)), name
    if model.settings.norm_place != "post":
        total = found.states[:, :-1] + found.attention + found.mlp
        np.testing.assert_allclose(found.states[:, 1:], total, rtol=1e-5, atol=1e-5)
    else:
        assert np.array_equal(found.normed, found.states[:, :-1])
    assert found.weights is not None
    assert found.weights.shape == (2, model.settings.layers, HEADS, len(IDS), len(IDS))
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("kind", CAUSAL)
def test_later_tokens_change_nothing_of_a_causal_model(kind: str, tmp_path: Path) -> None:
    model = opened(kind, tmp_path)
    assert model.settings.causal
    whole, part = model.run(IDS, precision="double"), model.run(IDS[:5], precision="double")
    # the order of additions may change with the number of tokens
    np.testing.assert_allclose(whole.states[:, :5], part.states, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_later_tokens_change_the_first_of_a_model_that_sees_all(kind: str, tmp_path: Path) -> None:
    model = opened(kind, tmp_path)
    assert not model.settings.causal
    assert np.abs(model.run(IDS).states[-1, 0] - model.run(IDS[:5]).states[-1, 0]).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_a_gguf_file_gives_the_states_of_the_model_it_was_made_of(kind: str, tmp_path: Path) -> None:
    made = make_transformer(kind)
    one = open_model(made.write(tmp_path / "a"))
    two = open_model(write_gguf(made, tmp_path / "b.gguf"))
    logits = kind != "bert"
    a, b = (model.run(IDS, precision="double", logits=logits) for model in (one, two))
    tolerance = 1e-4 if kind.startswith("gemma") else 1e-6  # eps, and Gemma's 1 + w, are single there
    np.testing.assert_allclose(a.states, b.states, rtol=tolerance, atol=tolerance)
    if a.logits is not None and b.logits is not None:
        np.testing.assert_allclose(a.logits, b.logits, rtol=tolerance, atol=tolerance)
    alike = ("layers", "heads", "kv_heads", "d", "d_head", "d_mlp", "vocabulary", "causal", "windows", "tied")
    assert all(getattr(one.settings, name) == getattr(two.settings, name) for name in alike[:-1])


# --- what a caller may ask for


def test_change_sees_every_layer_and_what_it_returns_is_run(tmp_path: Path) -> None:
    model, seen = opened("llama", tmp_path), []

    def silenced(i: int, layer: LayerWeights) -> LayerWeights:
        seen.append((i, layer.o.shape))
        return replace(layer, o=np.zeros_like(layer.o), down=np.zeros_like(layer.down))

    found = model.run(IDS, change=silenced)
    assert seen == [(i, (HEADS, D, HEAD)) for i in range(LAYERS)]
    assert np.array_equal(found.states[-1], found.states[0])
    same = model.run(IDS, change=lambda i, layer: replace(layer, o=layer.o.copy()))
    np.testing.assert_allclose(same.states, model.run(IDS).states, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="change must return LayerWeights"):
        model.run(IDS, change=lambda i, layer: None)  # type: ignore[arg-type, return-value]  # that is the slip


@pytest.mark.parametrize("kind", ["llama", "gpt_neox", "bert", "gemma2"])
def test_without_its_mlps_a_model_has_zeros_for_them(kind: str, tmp_path: Path) -> None:
    model = opened(kind, tmp_path)
    found = model.run(IDS, without_mlp=True)

    def emptied(i: int, layer: LayerWeights) -> LayerWeights:
        zeros = None if layer.down_bias is None else np.zeros_like(layer.down_bias)
        return replace(layer, down=np.zeros_like(layer.down), down_bias=zeros)

    assert not found.mlp.any()
    np.testing.assert_allclose(found.states, model.run(IDS, change=emptied).states, rtol=1e-6, atol=1e-6)


def test_progress_counts_to_the_end_and_can_stop(tmp_path: Path) -> None:
    model, calls = opened("gpt2", tmp_path), []
    model.run(np.stack([IDS, IDS]), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(i, 2 * LAYERS) for i in range(1, 2 * LAYERS + 1)]
    with pytest.raises(KeyboardInterrupt):
        model.run(IDS, progress=lambda done, total: False)


def test_single_is_float32_and_double_float64_and_a_source_will_do(tmp_path: Path) -> None:
    model = open_model(open_source(make_transformer("qwen3").write(tmp_path)))
    assert model.run(IDS, logits=True).logits.dtype == model.run([1]).states.dtype == np.float32  # type: ignore[union-attr]  # it has logits
    assert model.run(IDS, precision="double").states.dtype == np.float64
    assert model.layer(0).q.dtype == np.float32
    assert model.layer(LAYERS - 1, "double").q.shape == (HEADS, HEAD, D)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([], "at least one token"),
        ([[]], "at least one token"),
        ([1, WORDS], f"from 0 to {WORDS - 1}, the vocabulary"),
        ([-1], "from 0 to"),
        ([1.5], "whole numbers of shape"),
        ("text", "whole numbers of shape"),
        ([[[1]]], "whole numbers of shape"),
        ([1] * 17, "has 17 tokens, but .* has learned 16 positions"),
        (np.array([2**64 - 1], dtype=np.uint64), "numbers of tokens"),
    ],
)
def test_texts_that_do_not_fit_are_refused(ids: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        opened("gpt2", tmp_path).run(ids)


def test_other_bad_input_is_refused_in_words(tmp_path: Path) -> None:
    model = opened("llama", tmp_path)
    with pytest.raises(InputError, match='precision must be "single" or "double"'):
        model.run(IDS, precision="half")
    with pytest.raises(InputError, match="layer must be at most 2, but is 3"):
        model.layer(3)
    with pytest.raises(InputError, match="of 1 x 100000 tokens needs"):
        model.run(np.zeros(100_000, dtype=int), attention_weights=True)
    with pytest.raises(InputError, match="path or a loaded transformers model"):
        open_model(3)


def test_states_that_overflow_are_refused_and_doubles_help(tmp_path: Path) -> None:
    made = make_transformer("llama")
    made.tensors["model.layers.1.mlp.down_proj.weight"] *= np.float32(1e25)  # its square is too large
    model = open_model(made.write(tmp_path))
    with pytest.raises(InputError, match=r"behind layer 2 .* overflow in single precision"):
        model.run(IDS)
    assert np.isfinite(model.run(IDS, precision="double").states).all()
