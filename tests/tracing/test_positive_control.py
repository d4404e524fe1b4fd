"""Capture of ours from the start of a model's tokens has a sight, by the design that judges the model."""

from typing import Any

import numpy as np
from support.made_traces import vocabulary

from nucleate.checks import Array
from nucleate.tracing.measures import Texts
from nucleate.tracing.positive_control import measure_positive_control

x0, words = vocabulary()
known = {int(w): x0[t, k] for (t, k), w in np.ndenumerate(words)}


class Embedding:
    """A model of an embedding alone."""

    def start(self, ids: Array) -> Array:
        return np.array([known[int(i)] for i in ids.reshape(-1)]).reshape(*ids.shape, -1)


def test_what_is_captured_is_found_to_be() -> None:
    model: Any = Embedding()
    found = measure_positive_control(
        model, Texts(words[:4], words[:4]), 2, 0, lambda: None, (0.0, 5.0, 30.0), 12.0
    )
    assert found["rank"].shape == (4, 3)
    assert np.abs(found["sight"][:, 0]).max() < 0.1
    assert found["sight"][:, -1].mean() > 0.1
    assert np.abs(found["pull"][:, 0]).max() < 1e-15
    assert found["pull"][:, -1].min() > 0.0
    assert (np.diff(found["mean_cosine"].mean(0)) > 0.0).all()
