"""Hard attention: the nearest pair against the equation, and that it is the first to meet."""

import numpy as np
import pytest
from support.reference_flow import ENGINES, flow

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.sphere import distance, uniform
from nucleate.theory.hardmax import nearest_gap

HARD = Block(Attention(1.0, mask="full", weights="hardmax"))


def angles(x: Array) -> Array:
    """All angles between two of the tokens x (..., n, d), (..., n (n - 1) / 2)."""
    i, j = np.triu_indices(x.shape[-2], 1)
    return distance(x[..., i, :], x[..., j, :])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("n", "d"), [(3, 2), (8, 2), (8, 3), (12, 5)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_nearest_pair_meets_first_at_the_time_of_the_formula(
    n: int, d: int, seed: int, engine: str
) -> None:
    x0 = uniform(n, d, seed)
    gap = float(angles(x0).min())
    assert gap < np.pi / 2.0
    times = np.linspace(0.0, 2.0, 9)
    # other tokens change whom they follow, where the velocity jumps: no solver does better there
    between = angles(flow(engine, HARD, x0, times, rtol=1e-8).x)  # (9, pairs)
    pair = int(between[0].argmin())
    assert between[:, pair] == pytest.approx(nearest_gap(gap, times), abs=1e-5)
    # tokens that follow the same one may come to it, but no two are closer than the pair
    assert (between >= between[:, [pair]] - 1e-5).all()


def test_the_next_pair_is_later_than_the_first() -> None:
    angle = np.array([0.0, 0.3, 1.5, 1.9])
    x0 = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    between = angles(flow("reference", HARD, x0, np.linspace(0.0, 3.0, 61)).x)  # (61, 6)
    first = [int((row < 0.05).argmax()) for row in between.T[[0, 5]]]  # of (0, 1) and of (2, 3)
    assert 0 < first[0] < first[1]


def test_gaps_of_which_the_lemma_says_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="gap must be an angle above 0 and up to pi/2, but is 2"):
        nearest_gap([0.5, 2.0], 1.0)
    with pytest.raises(InputError, match="but is 0"):
        nearest_gap(0.0, 1.0)
