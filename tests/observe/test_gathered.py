"""The share of tokens in compact components against clusters and their diameters."""

import numpy as np
import pytest

from nucleate.observe.clusters import clusters, compact
from nucleate.observe.gathered import gathered_share
from nucleate.sphere import retract, uniform


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.01, 0.1, 0.3, 3.0])
def test_the_share_is_that_of_clusters_with_small_diameters(d: int, spread: float) -> None:
    rng, width = np.random.default_rng(d), 0.25
    centers = uniform(6, d, seed=d)
    x = retract(centers[rng.integers(6, size=90)] + spread * rng.standard_normal((90, d)))
    label = clusters(x, width)
    expected = float(compact(x, label, width)[label].mean())
    assert gathered_share(x, 2.0 * np.sin(width / 2.0)) == pytest.approx(expected, abs=1e-12)


def test_a_chain_is_not_gathered_but_a_knot_and_a_single_token_are() -> None:
    angle = np.array([0.0, 0.2, 0.4, 2.0, 2.1, 2.15, 4.0])  # links up to 0.25: a chain, a knot, one alone
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert gathered_share(x, 2.0 * np.sin(0.125)) == pytest.approx(4 / 7)


def test_a_diameter_as_large_as_the_links_may_be_is_not_below_it() -> None:
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])  # a chord of 2
    assert [gathered_share(x, chord) for chord in (1.9, 2.0, 2.1)] == [1.0, 0.0, 1.0]
