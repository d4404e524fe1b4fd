"""Which tensor holds which head: configurations that fit, that do not, and what is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.made_checkpoints import MAKERS, Made, make, spectra_of

from nucleate.checks import InputError

KINDS = list(MAKERS)


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    notes = {kind: " ".join(spectra_of(make(kind), tmp_path / kind).notes) for kind in KINDS}
    assert "self_attn.q_proj.bias, self_attn.k_proj.bias, self_attn.v_proj.bias" in notes["qwen2"]
    assert "Biases" not in notes["llama"]
    assert "attn.c_attn.bias, attn.c_proj.bias, ln_1.bias" in notes["gpt2"]
    stretched = {
        kind: word
        for word in ("yarn", "longrope")
        for kind in KINDS
        if f"offset 0, with what {word} multiplies them by." in notes[kind]
    }
    told = {
        "offset 0": {*KINDS[KINDS.index("gpt_neox") :]},
        "normalised in each head": {"qwen3", "gemma3 that sees"},
        "behind the attention": {"gemma2", "gemma3 that sees"},
        "capped": {"gemma2"},
        "second pass": {"albert", "albert, one group passed once"},
        "of the layer before in group 1, passed once": {"albert, one group passed once"},
        "no normalisation, is in front of the first layer": {
            "albert, each group passed once",
            "electra, small embeddings",
        },
    }
    for words, kinds in told.items():
        assert {kind for kind in KINDS if words in notes[kind]} == kinds, words
    assert stretched == {
        kind: "yarn" if "YaRN" in kind else "longrope"
        for kind in KINDS
        if "YaRN" in kind or "LongRoPE" in kind
    }


def test_settings_that_change_scores_but_are_not_used_are_named(tmp_path: Path) -> None:
    made = make("llama")
    changes = {"attention_multiplier": 0.5, "clip_qkv": 3.0, "rope_scaling": {"rope_type": "brand new"}}
    notes = " ".join(
        spectra_of(Made({**made.config, **changes}, made.tensors, "llama"), tmp_path / "a").notes
    )
    assert "config.json has attention_multiplier, clip_qkv, which llama does not use" in notes
    assert "without what 'brand new' may multiply them by" in notes
    bert = make("bert")
    relative = Made({**bert.config, "position_embedding_type": "relative_key"}, bert.tensors, "bert")
    assert "Relative positions add to the scores" in " ".join(spectra_of(relative, tmp_path / "bert").notes)
    # the library caps unless it is told not to
    for omitted, capped in (({}, True), ({"attn_logit_softcapping": None}, False)):
        config = {
            name: value for name, value in make("gemma2").config.items() if name != "attn_logit_softcapping"
        } | omitted
        assert (
            "capped"
            in " ".join(
                spectra_of(Made(config, make("gemma2").tensors, "gemma2"), tmp_path / str(capped)).notes
            )
        ) == capped
    gone = dict.fromkeys(changes)  # null in config.json
    assert (
        spectra_of(Made({**made.config, **gone}, made.tensors, "llama"), tmp_path / "b").notes
        == spectra_of(made, tmp_path / "c").notes
    )


def test_two_parts_that_both_fit_are_not_chosen_between(tmp_path: Path) -> None:
    made = make("llama")
    twice = made.tensors | {f"other.{name}": tensor for name, tensor in made.tensors.items()}
    with pytest.raises(InputError, match=r"2 prefixes: 'model\.', 'other\.model\.'"):
        spectra_of(Made(made.config, twice, "llama"), tmp_path)


def test_heads_that_gemma3_leaves_out_of_its_configuration_are_its_usual_ones(tmp_path: Path) -> None:
    """The published 4B model says neither how many heads it has nor what its scores are divided by."""
    rng = np.random.default_rng(0)
    T: dict[str, NDArray[Any]] = {}
    for i in range(2):
        p = f"language_model.model.layers.{i}."
        T |= {
            f"{p}self_attn.{name}_proj.weight": rng.standard_normal(shape)
            for name, shape in {"q": (24, 6), "k": (12, 6), "v": (12, 6), "o": (6, 24)}.items()
        }
        T |= {f"{p}input_layernorm.weight": rng.standard_normal(6)}
    short = {"hidden_size": 6, "num_hidden_layers": 2, "model_type": "gemma3_text"}
    whole = {
        **short,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 3,
        "query_pre_attn_scalar": 256,
    }
    one, two = (
        spectra_of(
            Made({"model_type": "gemma3", "text_config": text}, T, "gemma3"), tmp_path / str(len(text))
        )
        for text in (short, whole)
    )
    assert (one.heads_per_layer, one.key_value_heads, one.head_dim) == (8, 4, 3)
    assert [head.beta for head in one.heads] == [head.beta for head in two.heads]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_attention_heads": 5}, "must divide"),
        ({"num_attention_heads": 8}, "do not make"),
        ({"num_attention_heads": 0}, "at least 1"),
        ({"num_attention_heads": -1}, "at least 1"),
        ({"num_attention_heads": "4"}, "whole number"),
        ({"num_attention_heads": 10**30}, "2\\^62"),
        ({"num_attention_heads": 10**9}, "at most 65536"),
        ({"num_attention_heads": [4]}, "whole number"),
        ({"num_attention_heads": None}, "nowhere"),
        ({"num_hidden_layers": 3}, "holds? 2"),
        ({"head_dim": 1}, "do not make"),
        ({"initializer_range": float("nan")}, "std must be finite"),
        ({"initializer_range": -1}, "greater than 0"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "max_position_embeddings must be a number"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": "much"}}, "factor must be a number"),
        (
            {"rope_scaling": {"rope_type": "longrope", "factor": 2.0, "original_max_position_embeddings": 1}},
            "greater than 1",
        ),
        ({"partial_rotary_factor": -1}, "greater than 0"),
        ({"model_type": None}, "without a config.json"),
        ({"model_type": ["llama"]}, "unknown type"),
        ({"text_config": {"num_attention_heads": 7}}, "do not make|must divide"),
    ],
)
def test_a_configuration_that_does_not_fit_is_told(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    made = make("llama")
    with pytest.raises(InputError, match=words):
        spectra_of(Made({**made.config, **change}, made.tensors, "llama"), tmp_path)
