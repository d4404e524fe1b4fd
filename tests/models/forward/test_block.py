"""One block: where it normalises, and what is added to what."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import make_transformer

from nucleate.models.forward import TransformerModel, open_model
from nucleate.models.forward.block import block
from nucleate.models.forward.norms import normalise


def opened(kind: str, folder: Path) -> TransformerModel:
    return open_model(make_transformer(kind).write(folder))


def test_pre_norm_post_norm_both_and_parallel_differ_as_they_should(tmp_path: Path) -> None:
    """Each kind of block is put together again from its parts."""
    x = np.random.default_rng(0).standard_normal((5, 12))
    for kind in ("gpt2", "bert", "gemma2"):
        model = opened(kind, tmp_path / kind)
        layer, s = model.layer(0, "double"), model.settings
        table = (np.ones((5, 3)), np.zeros((5, 3))) if kind == "gemma2" else None
        made = block(x, layer, s, 0, table)
        without = block(x, replace(layer, down=0 * layer.down, down_bias=None), s, 0, table)
        if kind == "gpt2":
            assert layer.before_attention is not None
            np.testing.assert_allclose(made.normed, normalise(layer.before_attention, x))
            np.testing.assert_allclose(made.state, x + made.attention + made.mlp)
        elif kind == "bert":
            assert layer.after_attention is not None
            assert layer.after_mlp is not None
            between = normalise(layer.after_attention, x + made.attention)
            np.testing.assert_allclose(made.state, normalise(layer.after_mlp, between + made.mlp))
            assert np.array_equal(made.normed, x)
        else:
            bare = block(x, replace(layer, of_attention=None), s, 0, table)
            assert layer.of_attention is not None
            np.testing.assert_allclose(made.attention, normalise(layer.of_attention, bare.attention))
            bare = block(x, replace(layer, of_mlp=None), s, 0, table)
            assert layer.of_mlp is not None
            np.testing.assert_allclose(made.mlp, normalise(layer.of_mlp, bare.mlp))
        np.testing.assert_allclose(without.attention, made.attention)


def test_the_mlp_of_a_parallel_block_does_not_see_what_attention_adds(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((5, 16))
    model = opened("gpt_neox", tmp_path)
    layer, table = model.layer(0, "double"), (np.ones((5, 1)), np.zeros((5, 1)))
    changed = replace(layer, o=2 * layer.o)
    parallel = [block(x, one, model.settings, 0, table) for one in (layer, changed)]
    np.testing.assert_allclose(parallel[0].mlp, parallel[1].mlp)
    settings = replace(model.settings, parallel=False)
    serial = [block(x, one, settings, 0, table) for one in (layer, changed)]
    assert np.abs(serial[0].mlp - serial[1].mlp).max() > 0.01


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_without_its_mlp_a_block_adds_attention_alone(kind: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((4, 12))
    model = opened(kind, tmp_path)
    table = (np.ones((4, 3)), np.zeros((4, 3))) if kind == "llama" else None
    made = block(x, model.layer(0, "double"), model.settings, 0, table, without_mlp=True)
    np.testing.assert_array_equal(made.state, x + made.attention)
    assert not made.mlp.any()
