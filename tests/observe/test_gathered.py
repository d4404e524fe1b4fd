"""Whether enough tokens are in compact components, against clusters and their diameters."""

import numpy as np
import pytest

from nucleate.observe.clusters import clusters, compact
from nucleate.observe.gathered import are_gathered
from nucleate.sphere import retract, uniform

WIDTH = 0.25
CHORD = 2.0 * np.sin(WIDTH / 2.0)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.01, 0.1, 0.3, 3.0])
def test_the_share_is_that_of_clusters_with_small_diameters(d: int, spread: float) -> None:
    rng = np.random.default_rng(d)
    centers = uniform(6, d, seed=d)
    x = retract(centers[rng.integers(6, size=90)] + spread * rng.standard_normal((90, d)))
    label = clusters(x, WIDTH)
    gathered = round(90 * float(compact(x, label, WIDTH)[label].mean()))
    assert [are_gathered(x, CHORD, count / 90) for count in range(91)] == [c <= gathered for c in range(91)]


def test_a_chain_is_not_gathered_but_a_knot_and_a_single_token_are() -> None:
    angle = np.array([0.0, 0.2, 0.4, 2.0, 2.1, 2.15, 4.0])  # links up to 0.25: a chain, a knot, one alone
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert are_gathered(x, CHORD, 4 / 7)
    assert not are_gathered(x, CHORD, 5 / 7)


def test_the_order_of_tokens_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    x = retract(uniform(9, 3, seed=1)[rng.integers(9, size=60)] + 0.05 * rng.standard_normal((60, 3)))
    shares = np.linspace(0.0, 1.0, 61)
    expected = [are_gathered(x, CHORD, share) for share in shares]
    assert 0 < sum(expected) < 61
    for _ in range(20):
        shuffled = rng.permutation(x)
        assert [are_gathered(shuffled, CHORD, share) for share in shares] == expected


def test_a_diameter_as_large_as_the_links_may_be_is_not_below_it() -> None:
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])  # a chord of 2
    assert [are_gathered(x, chord, 1.0) for chord in (1.9, 2.0, 2.1)] == [True, False, True]
