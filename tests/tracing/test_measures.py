"""What is measured of a model is what the instruments say of its states."""

from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import tiny_llama

from nucleate.models.forward import open_model
from nucleate.observe.capture import capture_scores, design_capture
from nucleate.observe.cosines import mean_cosine
from nucleate.tracing.controls import CONTROLS
from nucleate.tracing.measures import Texts, measure_control, measure_frames


def test_controls_are_measured_on_their_own_texts_and_states(tmp_path: Path) -> None:
    model = open_model(tiny_llama(tmp_path))
    ids = np.random.default_rng(0).integers(0, 40, (3, 40))
    texts = Texts(ids, ids)
    ticks: list[int] = []
    found = measure_control(model, texts, "shuffled", 0, lambda: ticks.append(1))
    some = texts.changed(CONTROLS["shuffled"], 0)
    assert (np.sort(some.ids, 1) == np.sort(ids, 1)).all()
    assert (some.words == some.ids).all()
    states = np.stack([model.run(row).states for row in some.ids]).astype(float)
    x = states / np.linalg.norm(states, axis=-1, keepdims=True)
    assert found["mean_cosine"] == pytest.approx(mean_cosine(x, first=False), abs=1e-6)
    end = capture_scores(design_capture(x[:, 0], some.words), x[:, -1])
    assert found["rank"][:, -1] == pytest.approx(end.rank, abs=1e-6)
    assert len(ticks) == 3
    out = texts.changed(CONTROLS["repeats out"], 0)
    assert all(len(set(row)) == len(row) for row in out.ids.tolist())


def test_centers_of_the_stream_at_the_start_are_first_occurrences(tmp_path: Path) -> None:
    model = open_model(tiny_llama(tmp_path))
    ids = np.random.default_rng(0).integers(0, 40, 30)
    found = measure_frames(model, ids)
    first = [int(i) not in ids[:k] for k, i in enumerate(ids.tolist())]
    assert found["stream"][0].tolist() == first
    assert found["heads"].shape == (3, 4, 30)
    assert found["sink_share"].shape == (3, 4)
