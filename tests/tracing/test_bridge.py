"""Our dynamics with a model's own weights go where the model goes."""

from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import tiny_gpt2, tiny_llama

import nucleate as nc
from nucleate.models.forward import open_model
from nucleate.tracing.bridge import VARIANTS, bridge_layers, bridge_path, left_out

IDS = np.random.default_rng(0).integers(0, 40, 12)


def test_a_llama_is_our_layers_to_rounding_and_so_is_a_gpt2_without_biases_of_scores(tmp_path: Path) -> None:
    for make in (tiny_llama, tiny_gpt2):
        model = open_model(make(tmp_path / make.__name__))
        states = model.run(IDS, precision="double").states.astype(float)
        cosine = bridge_path(model, states)
        assert cosine == pytest.approx(np.ones(cosine.shape), abs=1e-12)


def test_nucleate_simulate_runs_the_attention_of_a_llama(tmp_path: Path) -> None:
    model = open_model(tiny_llama(tmp_path))
    states = model.run(IDS, precision="double", without_mlp=True).states.astype(float)  # (L + 1, n, d)
    length = np.linalg.norm(states, axis=-1)
    layers = bridge_layers(model, length[0], VARIANTS["without MLP"])
    run = nc.simulate(layers, states[0] / length[0][:, None], t=layers.depth, save=len(layers.blocks) + 1)
    assert run.x == pytest.approx(states / length[..., None], abs=1e-9)
    assert run.norms is not None
    assert run.norms == pytest.approx(length, rel=1e-9)


def test_every_part_that_is_left_out_is_missed_and_small_steps_are_another_path(tmp_path: Path) -> None:
    model = open_model(tiny_llama(tmp_path))
    states = model.run(IDS, precision="double").states.astype(float)
    for name, variant in VARIANTS.items():
        worst = 1.0 - bridge_path(model, states, variant)[-1].min()
        assert (worst > 1e-3) == (name != "all parts"), name


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    assert left_out(open_model(tiny_llama(tmp_path / "llama"))) == ["the epsilon of the norms"]
    assert left_out(open_model(tiny_gpt2(tmp_path / "gpt2"))) == [
        "the epsilon of the norms",
        "the biases of the norms",
        "the biases of queries and keys",
    ]
