"""Controls keep what they say they keep, and destroy the rest."""

from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import tiny_llama

from nucleate.checks import InputError
from nucleate.models.forward import open_model
from nucleate.tracing.controls import (
    CONTROLS,
    MATRICES,
    block_shuffle,
    full_shuffle,
    random_weights,
    without_repeats,
)


@pytest.mark.parametrize("S", [0, 1, 2, 3])
def test_a_shuffle_moves_whole_blocks_and_nothing_else(S: int) -> None:
    ids = np.arange(100, 164)
    found = block_shuffle(ids, S, seed=0)
    assert sorted(found) == sorted(ids)
    blocks = found.reshape(4**S, -1)
    assert (np.diff(blocks, axis=1) == 1).all()
    assert (S == 0) == (found == ids).all()
    assert block_shuffle(ids, S, seed=0, kept=1)[0] == ids[0]


def test_full_shuffling_is_the_first_power_of_four_that_parts_all_tokens() -> None:
    assert [full_shuffle(n) for n in (1, 4, 5, 256, 257)] == [0, 1, 2, 4, 5]


def test_the_first_of_every_word_is_left_in_order() -> None:
    ids, words = without_repeats(np.array([5, 6, 7, 5, 8, 6]), np.array([0, 1, 1, 0, 2, 1]))
    assert (ids.tolist(), words.tolist()) == ([5, 6, 8], [0, 1, 2])
    with pytest.raises(InputError, match="alike"):
        without_repeats(ids, words[:2])


def test_random_weights_keep_norms_gains_and_shapes_and_only_redrawn_ones_differ_by_layer(
    tmp_path: Path,
) -> None:
    model = open_model(tiny_llama(tmp_path))
    assert random_weights(CONTROLS["text"], 0) is None
    drawn = {}
    for key in ("random weights", "re-drawn weights"):
        change = random_weights(CONTROLS[key], 0)
        assert change is not None
        drawn[key] = [change(i, model.layer(i)) for i in range(3)]
        for i, layer in enumerate(drawn[key]):
            trained = model.layer(i)
            for name in MATRICES:
                one, other = getattr(layer, name), getattr(trained, name)
                assert np.linalg.norm(one) == pytest.approx(np.linalg.norm(other), rel=1e-5)  # float32
                assert one.shape == other.shape
                cosine = (one * other).sum() / np.linalg.norm(one) / np.linalg.norm(other)
                assert abs(cosine) < 0.5  # a draw of 128 numbers or more: 5 standard deviations
            assert layer.before_attention is trained.before_attention or (
                layer.before_attention is not None
                and trained.before_attention is not None
                and (layer.before_attention.gain == trained.before_attention.gain).all()
            )
    same, fresh = drawn["random weights"], drawn["re-drawn weights"]
    unit = [[np.asarray(one.q) / np.linalg.norm(one.q) for one in kind[:2]] for kind in (same, fresh)]
    assert unit[0][0] == pytest.approx(unit[0][1], abs=1e-6)
    assert np.abs(unit[1][0] - unit[1][1]).max() > 0.01
