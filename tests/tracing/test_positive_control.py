"""Capture of ours from the start of a model's tokens has a sight, by the design that judges the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from support.made_traces import vocabulary

from nucleate.checks import Array
from nucleate.tracing.measures import Texts
from nucleate.tracing.positive_control import measure_positive_control

x0, words = vocabulary()
known = {int(w): x0[t, k] for (t, k), w in np.ndenumerate(words)}


@dataclass(frozen=True)
class States:
    states: Array


class Embedding:
    """A model of an embedding alone."""

    def run(self, ids: Array) -> States:
        return States(np.array([[known[int(i)] for i in ids]]))


def test_what_is_captured_is_found_to_be() -> None:
    model: Any = Embedding()
    found = measure_positive_control(model, Texts(words[:4], words[:4]), lambda: None, (0.0, 5.0, 30.0), 12.0)
    assert found["rank"].shape == (4, 3)
    assert np.abs(found["sight"][:, 0]).max() < 0.1
    assert found["sight"][:, -1].mean() > 0.1
    assert (np.diff(found["mean_cosine"].mean(0)) > 0.0).all()
