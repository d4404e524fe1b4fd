"""What files say of a model, in our names; what is not known is refused."""

from pathlib import Path
from typing import Any

import pytest
from support.made_transformers import KINDS, OTHERS, make_transformer

from nucleate.checks import InputError
from nucleate.models.forward import open_model
from nucleate.models.forward.settings import Settings


def settings(kind: str, folder: Path, **config: Any) -> Settings:
    return open_model(make_transformer(kind, **config).write(folder)).settings


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_the_sizes_are_those_of_the_model(kind: str, tmp_path: Path) -> None:
    found = settings(kind, tmp_path)
    assert (found.heads, found.vocabulary, found.d_mlp) == (4, 11, 10)
    assert found.d == (16 if kind == "gpt_neox" else 12)
    assert found.layers == (5 if kind == "albert" else 3)
    assert found.kv_heads * found.d_head == found.heads * found.d_head or found.kv_heads == 2
    places = {"bert": "post", "roberta": "post", "albert": "post", "gemma2": "both", "gemma3_text": "both"}
    assert found.norm_place == places.get(kind, "pre")
    assert found.positions == ("learned" if kind in ("gpt2", "bert", "roberta", "albert") else "rope")
    assert found.longest == (14 if kind == "roberta" else 16)
    assert found.parallel == (kind == "gpt_neox")


def test_albert_goes_through_its_groups_in_turn(tmp_path: Path) -> None:
    model = open_model(make_transformer("albert").write(tmp_path))
    assert model._parts.order == (0, 0, 0, 1, 1)


@pytest.mark.parametrize(
    ("kind", "config", "windows"),
    [
        ("llama", {"sliding_window": 4}, (None, None, None)),
        ("mistral", {"sliding_window": 4}, (4, 4, 4)),
        ("mistral", {}, (4096, 4096, 4096)),
        ("mistral", {"sliding_window": None}, (None, None, None)),
        ("qwen2", {"sliding_window": 4}, (None, None, None)),
        ("qwen2", {"sliding_window": 4, "use_sliding_window": True, "max_window_layers": 1}, (None, 4, 4)),
        ("gemma2", {}, (4, None, 4)),
        ("gemma3_text", {}, (4, 4, 4)),
        ("gemma3_text", {"sliding_window_pattern": 2}, (4, None, 4)),
        ("gemma3_text", {"layer_types": ["full_attention"] * 2 + ["sliding_attention"]}, (None, None, 4)),
    ],
)
def test_windows_are_where_the_configuration_has_them(
    kind: str, config: dict[str, Any], windows: tuple[int | None, ...], tmp_path: Path
) -> None:
    made = "llama" if kind == "mistral" else kind
    assert settings(made, tmp_path, model_type=kind, **config).windows == windows


def test_gemma_3_has_two_bases_under_old_and_new_names(tmp_path: Path) -> None:
    old: dict[str, Any] = {
        "rope_theta": 5e5,
        "rope_local_base_freq": 2e4,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }
    old |= {"sliding_window_pattern": 2}
    new: dict[str, Any] = {
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_theta": 2e4},
            "full_attention": {"rope_theta": 5e5, "rope_type": "linear", "factor": 8.0},
        },
    }
    one, two = (settings("gemma3_text", tmp_path / str(i), **config) for i, config in enumerate((old, new)))
    assert one.rotary == two.rotary
    assert [rope.base for rope in one.rotary if rope is not None] == [2e4, 5e5, 2e4]


def test_early_gemmas_say_gelu_and_mean_its_approximation(tmp_path: Path) -> None:
    assert settings("gemma", tmp_path, hidden_act="gelu").activation == "gelu_pytorch_tanh"


@pytest.mark.parametrize(
    ("kind", "config", "words"),
    [
        ("llama", {"num_local_experts": 8}, "num_local_experts = 8, a mixture of experts"),
        ("bert", {"position_embedding_type": "relative_key"}, "positions of another kind"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "windows that look both ways"),
        ("gpt2", {"add_cross_attention": True}, "attention to another text"),
        ("llama", {"hidden_act": "xielu"}, "activation 'xielu'"),
        ("llama", {"rms_norm_eps": "small"}, "rms_norm_eps must be a number"),
        ("llama", {"num_hidden_layers": "many"}, "num_hidden_layers must be a whole number"),
        ("gemma2", {"layer_types": ["odd"] * 3}, "layer_types must name 3 layers"),
        ("gemma2", {"final_logit_softcapping": -1.0}, "final_logit_softcapping must be finite"),
        ("llama", {"rope_scaling": {"rope_type": "odd"}}, "stretches RoPE by 'odd'"),
        ("llama", {"model_type": "strange"}, "unknown type 'strange'"),
    ],
)
def test_what_is_not_known_or_makes_no_sense_is_refused_by_name(
    kind: str, config: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        settings(kind, tmp_path, **config)
