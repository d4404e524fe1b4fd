"""Controls of a page: run with the model, kept in the notes, found again in a stored run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.made_depth_runs import depth_run
from support.made_tokenizers import tokenizer_json
from support.made_transformers import tiny_llama

import nucleate as nc
from nucleate.explorer.trace_controls import SHOWN_CONTROLS, noted_controls, with_controls
from nucleate.explorer.trace_view import read_trace
from nucleate.models.trace import prepare_trace, read


def test_controls_keep_what_they_promise_and_destroy_the_rest(tmp_path: Path) -> None:
    reading = prepare_trace(tokenizer_json(tiny_llama(tmp_path / "llama")), "the cat sat on the mat 12 cat")
    run, told = read(reading), []
    with_controls(run, reading, progress=lambda *done: told.append(done)).save(tmp_path / "run.zarr")
    assert told == [(1, 2), (2, 2)]
    stored = nc.load(tmp_path / "run.zarr")
    text, (shuffled, redrawn) = read_trace(run), noted_controls(stored)
    assert (shuffled.name, redrawn.name) == SHOWN_CONTROLS
    # the same tokens in another order, the same weights
    assert sorted(shuffled.words) == sorted(text.words)
    assert shuffled.words != text.words
    lengths = dict(zip(text.words, text.norms[0], strict=True))  # equal words have equal embeddings
    assert shuffled.norms[0] == pytest.approx([lengths[word] for word in shuffled.words], rel=1e-6)
    # the same tokens in their order, the same embedding, other weights
    assert redrawn.words == text.words
    assert redrawn.norms[0] == pytest.approx(text.norms[0], rel=1e-6)
    assert not np.allclose(redrawn.curves["cosine"][1:], text.curves["cosine"][1:], atol=1e-3)


def test_notes_that_hold_no_controls_give_none() -> None:
    run = depth_run()
    good = read_trace(run, "shuffled").plain()
    for notes, names in (
        ({}, ()),
        ({"controls": "shuffled"}, ()),
        ({"controls": [1, {"name": "shuffled"}, good]}, ("shuffled",)),
        ({"controls": [{**good, "name": "another"}]}, ()),
    ):
        assert tuple(one.name for one in noted_controls(replace(run, notes=notes))) == names
