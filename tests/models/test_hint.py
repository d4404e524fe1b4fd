"""What is proposed for a model that is not recognised, but named like known ones."""

from pathlib import Path

import pytest
from support.made_checkpoints import Made, make, spectra_of

from nucleate.checks import InputError


def test_an_unknown_type_with_known_names_can_be_read_as_a_known_one(tmp_path: Path) -> None:
    made = make("llama")
    odd = Made({**made.config, "model_type": "yet_another"}, made.tensors, "llama")
    with pytest.raises(InputError) as told:  # its names are those of both
        spectra_of(odd, tmp_path / "odd")
    plain = "--mapping llama (RMSNorm, gain w, scores divided by the root of d_head)"
    other = "--mapping gemma (RMSNorm, gain 1+w, scores divided by the root of query_pre_attn_scalar)"
    assert f"those of llama and gemma: if the model works like that, add {plain} or {other}.\n" in str(
        told.value
    )
    assert (
        spectra_of(odd, tmp_path / "odd", mapping="llama").regions
        == spectra_of(made, tmp_path / "plain").regions
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self_attn.o_proj.", "self_attn.out_proj."),  # as OPT
        ("input_layernorm.", "self_attn_layer_norm."),
        ("self_attn.k_proj.", "self_attn.key."),
        # a LayerNorm, as in StarCoder2: RMSNorm has no bias
        ("post_attention_layernorm.weight", "input_layernorm.bias"),
    ],
)
def test_no_known_architecture_is_proposed_where_its_tensors_are_not_there(
    old: str, new: str, tmp_path: Path
) -> None:
    made = make("llama")
    odd = Made(
        {**made.config, "model_type": "yet_another"},
        {name.replace(old, new): tensor for name, tensor in made.tensors.items()},
        "llama",
    )
    with pytest.raises(InputError, match="unknown type 'yet_another'") as told:
        spectra_of(odd, tmp_path)
    assert "The names are those of" not in str(told.value)


def test_the_one_architecture_with_these_names_is_proposed(tmp_path: Path) -> None:
    made = make("bert")
    with pytest.raises(
        InputError,
        match="those of bert: if the model works like that, add --mapping bert \\(LayerNorm\\)\\.\n",
    ):
        spectra_of(Made({**made.config, "model_type": "yet_another"}, made.tensors, "bert"), tmp_path)
