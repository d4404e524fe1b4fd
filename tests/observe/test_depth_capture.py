"""Capture of a whole run: what the parts say frame by frame, for texts and for runs of ours."""

import numpy as np
import pytest
from support.made_traces import captured, vocabulary

import nucleate as nc
from nucleate.observe.capture import capture_scores, cover, design_capture

x0, words = vocabulary()
end = captured(x0)
x = np.stack([x0, end], 1)  # (texts, frames, n, d)
tokens = [[f"w{i}" for i in row] for row in words.tolist()]


def test_it_is_what_the_parts_say_of_every_frame() -> None:
    found = nc.capture(nc.Run.from_hidden_states(x, tokens=tokens), seed=3)
    design = design_capture(x0, words)
    near, null = cover(design, end, seed=3)
    assert found.delta == design.delta
    np.testing.assert_array_equal(found.centers, design.center)
    np.testing.assert_allclose(found.rank[:, 1], capture_scores(design, end).rank, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.sight[:, 1], capture_scores(design, end).sight, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.cover[:, 1], near - null.mean(0), rtol=0.0, atol=1e-12)
    assert (found.rank[:, 0] == 1.0).all()
    assert found.sight[:, 1].mean() > 0.1


def test_a_run_alone_has_no_twins_and_one_without_words_no_repeats() -> None:
    alone = nc.capture(nc.Run.from_hidden_states(x[0], tokens=tokens[0]))
    assert alone.rank.shape == (1, 2)
    assert np.isnan(alone.sight).all()
    wordless = nc.capture(nc.Run.from_hidden_states(x[0]))
    same = nc.capture(nc.Run.from_hidden_states(x[0], tokens=tokens[0]), same_word=True)
    np.testing.assert_array_equal(wordless.rank, same.rank)


def test_a_frame_that_is_not_there_is_refused() -> None:
    with pytest.raises(nc.InputError, match=r"frame must be at most 1, but is 2\. The run has 2 frames\."):
        nc.capture(nc.Run.from_hidden_states(x[0]), frame=2)
