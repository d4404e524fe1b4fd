"""d₁ of trained heads (studies/effective_dimension.py): verdicts flip with planted heads, and intervals draw
layers of planted eigenvalues."""

import re
from types import ModuleType

import numpy as np
import pytest
from support.docs_scripts import study_script

from nucleate.checks import Array

LAYERS = np.repeat(np.arange(20), 4)  # (heads,)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return study_script("effective_dimension")


def heads(middle: int, spread: float, seed: int) -> dict[float, Array]:
    """d₁ by share of planted heads: near `middle`, and ln d₁(1/2) as wide as `spread`."""
    rng = np.random.default_rng(seed)
    return {
        0.9: np.maximum(1.0, middle + rng.integers(-1, 2, LAYERS.size)),
        0.5: np.exp(3.0 + spread * rng.standard_normal(LAYERS.size)),
    }


@pytest.mark.parametrize(
    ("trained", "random", "expected"),
    [
        (heads(2, 1.0, 0), heads(2, 0.2, 1), ["observed", "observed", "observed"]),
        (heads(6, 1.0, 0), heads(6, 0.2, 1), ["not observed", "observed", "observed"]),
        (heads(2, 1.0, 0), heads(6, 0.2, 1), ["observed", "not observed", "observed"]),
        (heads(2, 0.2, 0), heads(2, 1.0, 1), ["observed", "observed", "not observed"]),
        (heads(2, 0.2, 0), heads(2, 0.2, 0), ["observed", "observed", "undecided"]),  # the same heads
    ],
)
def test_each_verdict_flips_with_planted_heads(
    script: ModuleType, trained: dict[float, Array], random: dict[float, Array], expected: list[str]
) -> None:
    verdicts = script.held_out(trained, LAYERS, random)
    assert [words.rpartition(", ")[2] for words in verdicts] == expected, verdicts


def test_every_interval_of_the_table_draws_layers_with_all_their_heads(script: ModuleType) -> None:
    """Six layers of twelve equal heads: the layer i has i + 1 eigenvalues near the largest."""
    one_layer = [np.array([*np.full(i + 1, 1.0), *np.full(9, 0.6)], complex) for i in range(6)]
    every = [one for one in one_layer for _ in range(12)]
    assert [script.principal(one, 0.9) for one in one_layer] == [1, 2, 3, 4, 5, 6]
    of_layers = script.row(every, np.repeat(np.arange(6), 12))
    assert of_layers == script.row(one_layer, np.arange(6))  # equal heads tell no more than one
    apart = script.row(every, np.arange(72))  # as if each had a layer of its own
    widths = [
        [float(high) - float(low) for low, high in re.findall(r"\[([\d.]+), ([\d.]+)\]", words)]
        for words in (of_layers, apart)
    ]
    assert len(widths[0]) == 3
    assert all(wide > 1.5 * narrow for wide, narrow in zip(*widths, strict=True))
