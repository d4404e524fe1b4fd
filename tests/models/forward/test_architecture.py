"""The [forward] tables of the architectures."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from nucleate.checks import InputError
from nucleate.models.forward.architecture import architecture
from nucleate.models.mapping import built_in


@pytest.mark.parametrize("name", built_in())
def test_every_architecture_has_a_table_that_names_what_each_of_its_models_needs(name: str) -> None:
    mapping = built_in()[name]
    for model in mapping.models:
        found = architecture(mapping, model)
        assert bool(found.positions) != mapping.rope
        assert bool(found.after_attention) == (mapping.front != "same")
        assert bool(found.before_mlp) == (mapping.front == "same")
    assert {key for key, value in mapping.forward.items() if isinstance(value, dict)} <= {*mapping.models}


def test_what_a_model_has_otherwise_comes_from_its_own_table_or_one_it_is_like() -> None:
    known = built_in()
    assert architecture(known["llama"], "qwen3").query_norm
    assert not architecture(known["llama"], "llama").query_norm
    assert architecture(known["bert"], "camembert") == architecture(known["bert"], "roberta")
    assert architecture(known["gguf_llama"], "gguf:llama").interleaved
    assert not architecture(known["gguf_llama"], "gguf:qwen2").interleaved


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, r"has no \[forward\] table"),
        ({"embeding": "a"}, "embeding = 'a'"),
        ({"embedding": 3}, "embedding = 3"),
        ({"root_d": "yes"}, "root_d = 'yes'"),
        ({"head": "lm_head.weight"}, "head = 'lm_head.weight'"),
        ({"window": "some"}, "window = 'some', but it must be one of all"),
        ({"embedding": "a"}, "lacks up, down, eps, activation"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(table: dict[str, Any], words: str) -> None:
    mapping = replace(built_in()["llama"], forward=MappingProxyType(table))
    with pytest.raises(InputError, match=words):
        architecture(mapping, "llama")
