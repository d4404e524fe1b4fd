"""Unknown architectures: what is said of them, and how ten lines describe one."""

from pathlib import Path

import numpy as np
import pytest
from support.made_checkpoints import Made, make, spectra_of

from nucleate.checks import InputError

MINE = """
models = ["mine"]
layer = "block.{layer}."
query = "att.q"
key = "att.k"
value = "att.v"
output = "att.o"
norm = "before.gain"
sizes = {heads = "how_many", key_value_heads = 2}
"""


def renamed() -> Made:
    made = make("llama")
    words = {
        "self_attn.q_proj.weight": "att.q",
        "self_attn.k_proj.weight": "att.k",
        "self_attn.v_proj.weight": "att.v",
    }
    words |= {
        "self_attn.o_proj.weight": "att.o",
        "input_layernorm.weight": "before.gain",
        "model.layers": "block",
    }
    T = {}
    for name, tensor in made.tensors.items():
        for old, new in words.items():
            name = name.replace(old, new)
        T[name] = tensor
    return Made({"model_type": "mine", "how_many": 4}, T, "llama")


def test_an_unknown_architecture_is_told_with_what_was_found_and_how_to_describe_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        spectra_of(renamed(), tmp_path)
    for words in (
        "'mine'",
        "block.#.att.q",
        "--mapping model.toml",
        'query = "self_attn.q_proj.weight"',
        "albert, bert, gemma",
    ):
        assert words in str(told.value)
    example = str(told.value).partition("model.toml:\n")[2]
    assert len(example.strip().splitlines()) <= 10


def test_a_mapping_of_ten_lines_describes_a_new_architecture(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    mine = spectra_of(renamed(), tmp_path / "mine", mapping=tmp_path / "mine.toml")
    llama = spectra_of(make("llama"), tmp_path / "llama")
    assert mine.architecture == "mine.toml"
    assert all(
        np.array_equal(a.eigenvalues, b.eigenvalues) and a.beta == b.beta
        for a, b in zip(mine.heads, llama.heads, strict=True)
    )


def test_the_example_in_the_error_is_a_mapping(tmp_path: Path) -> None:
    from nucleate.models.mapping import EXAMPLE, built_in, read_mapping

    (tmp_path / "a.toml").write_text(EXAMPLE)
    example, llama = read_mapping(tmp_path / "a.toml"), built_in()["llama"]
    assert all(
        getattr(example, key) == getattr(llama, key)
        for key in ("layer", "query", "key", "value", "output", "norm", "centred", "front")
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models = [", "not TOML"),
        ('models = ["a"]', "lacks layer and output"),
        (MINE.replace("query", "qwery"), "Is it 'query'"),
        (MINE.replace("{layer}", "0"), "must hold {layer}"),
        (MINE.replace('norm = "before.gain"', "norm = 3"), "must be a text"),
        (MINE + "centred = 1\n", "unknown key|true or false|not TOML"),
        (MINE.replace("2}", "true}"), "sizes.key_value_heads"),
        (MINE.replace("how_many", "nowhere"), "config.json does not have"),
        ('gain = "2w"' + MINE, "must be one of w, 1"),
        (MINE + "defaults = {mine = 3}\n", "must be a table of tables"),
        (MINE.replace('query = "att.q"', ""), "query, key and value, or fused"),
        ('fused = "x"' + MINE, "no order"),
        (MINE.replace("att.q", "att.nothing"), "no tensor named"),
        (MINE.replace("att.o", "att.nothing"), "is missing"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 3"), "must divide"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 1"), "must have shape"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 2, head_dim = 5"), "do not make"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 2, layers = 3"), "Are all files"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 0"), "at least 1"),
    ],
)
def test_a_wrong_mapping_is_told_with_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        spectra_of(renamed(), tmp_path / "mine", mapping=tmp_path / "mine.toml")
