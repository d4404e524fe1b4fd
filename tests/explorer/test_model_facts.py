"""What the page is told of a model, and what it is told instead of a picture."""

from typing import Any

import numpy as np
import pytest
from support.explorer_scenes import FAMILIES, SMALL

import nucleate as nc
from nucleate.explorer.model_facts import model_facts
from nucleate.explorer.scene import parse_scene

OUTSIDE = "outside the table: Table 1 is about causal attention without frozen tokens"


@pytest.mark.parametrize(
    ("model", "row", "why"),
    [
        (nc.Attention(4.0), 1, "Theorem 4.1"),
        (nc.Attention(4.0, mask=nc.Window(9)), 1, "Theorem 4.1"),  # as wide as the sequence: causal
        (nc.Attention(4.0, mask="full"), None, "sees all others"),
        (nc.Attention(4.0, mask=nc.Window(1)), None, "only itself"),
        (nc.Attention(4.0, mask=nc.Window(8)), None, "only the last 8"),
        (nc.Attention(4.0, frozen=nc.Frozen(nc.uniform(1, 2, 0))), None, "frozen tokens"),
    ],
    ids=["causal", "wide window", "full", "alone", "window", "frozen"],
)
def test_table_1_is_applied_to_causal_attention_without_frozen_tokens_only(
    model: nc.Attention, row: int | None, why: str
) -> None:
    spectrum = model_facts(model, 9, 2)["spectrum"]
    assert spectrum["row"] == row
    assert why in spectrum["why"]
    assert (spectrum["status"] == "theorem") == (row == 1)
    assert (spectrum["verdict"] == OUTSIDE) == (row is None)


def facts_of(family: dict[str, Any], **scene: Any) -> dict[str, Any]:
    made = parse_scene({**SMALL, **scene, "family": family})
    return model_facts(made.model, made.n, made.d)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_view_serves_a_model_or_says_why_it_does_not(name: str) -> None:
    facts = facts_of(FAMILIES[name])
    missing = facts["missing"]
    assert all(words.endswith(".") and words.count(". ") == 0 for words in missing.values())
    assert "consumption" in missing
    assert (facts["spectrum"] is None) == ("spectrum" in missing)
    assert (facts["blocks"] is None) == ("attention" in missing)
    assert facts["spectrum"] is None or facts["spectrum"]["status"] == "outside the table"  # no theorem
    assert facts["lengths"] == (FAMILIES[name].get("norm") in ("pre", "mix"))


def test_the_sentences_say_what_is_the_case() -> None:
    assert "exponential weights, ALiBi" in facts_of(FAMILIES["usa"])["missing"]["consumption"]
    assert "Each head has a V" in facts_of(FAMILIES["heads"])["missing"]["spectrum"]
    assert "Each layer has a V" in facts_of(FAMILIES["own layers"])["missing"]["spectrum"]
    assert "no head" in facts_of(FAMILIES["mlp alone"])["missing"]["attention"]
    many = {"heads": 8, "layers": {"count": 100, "redraw": "gaussian", "seed": 0}}
    assert "800 heads of 100 layers" in facts_of(many, d=16)["missing"]["attention"]
    assert facts_of({}, mask="full")["missing"] == {}


def test_the_page_is_told_every_head_of_every_layer_as_it_is() -> None:
    (heads,) = facts_of(FAMILIES["heads"], mask="full")["blocks"]
    assert [head["mask"] for head in heads] == ["full", "causal", {"window": 2}]
    facts = facts_of(FAMILIES["random layers"])
    layers = nc.RandomLayers(3, 2, beta=5.0, heads=2, kind="orthogonal", value="identity", seed=1)
    assert (len(facts["blocks"]), facts["layer_dt"]) == (3, 1.0)
    for told, block in zip(facts["blocks"], layers.blocks, strict=True):
        for head, made in zip(told, block.heads, strict=True):
            assert np.array_equal(head["Q"], made.Q)  # type: ignore[arg-type]  # it has one
            assert (head["rope"], head["weights"], head["beta"]) == (50.0, "softmax", 5.0)
    assert len(facts_of(FAMILIES["discrete layers"])["blocks"]) == 1  # all are the same
