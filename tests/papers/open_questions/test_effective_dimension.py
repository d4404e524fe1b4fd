"""The verdicts on d₁ of trained heads (docs/effective_dimension.py) flip with planted heads."""

from types import ModuleType

import numpy as np
import pytest
from support.docs_scripts import docs_script

from nucleate.checks import Array

LAYERS = np.repeat(np.arange(20), 4)  # (heads,)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return docs_script("effective_dimension")


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
        (heads(2, 1.0, 0), heads(2, 0.2, 1), [True, True, True]),
        (heads(6, 1.0, 0), heads(6, 0.2, 1), [False, True, True]),
        (heads(2, 1.0, 0), heads(6, 0.2, 1), [True, False, True]),
        (heads(2, 0.2, 0), heads(2, 1.0, 1), [True, True, False]),
    ],
)
def test_each_verdict_flips_with_planted_heads(
    script: ModuleType, trained: dict[float, Array], random: dict[float, Array], expected: list[bool]
) -> None:
    verdicts = script.held_out(trained, LAYERS, random)
    assert [not words.endswith("not observed") for words in verdicts] == expected, verdicts
