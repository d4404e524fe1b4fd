"""Mean cosine, histogram and nearness to the first token, against two nested loops."""

import numpy as np
import pytest

from nucleate.checks import Array, InputError
from nucleate.observe.cosines import consensus_gap, cosine_histogram, mean_cosine
from nucleate.sphere import uniform


def pairs(x: Array, first: bool) -> Array:
    """All cosines of pairs i < j of x (n, d), slow and obvious."""
    begin = 0 if first else 1
    return np.array([x[i] @ x[j] for i in range(begin, len(x)) for j in range(i + 1, len(x))])


@pytest.mark.parametrize("first", [True, False])
def test_mean_and_histogram_are_those_of_all_pairs(first: bool) -> None:
    x = np.stack([uniform(n=300, d=5, seed=s) for s in range(2)])  # more than one block of rows
    counts, edges = cosine_histogram(x, bins=7, first=first)
    for one, mean, count in zip(x, mean_cosine(x, first), counts, strict=True):
        slow = pairs(one, first)
        assert mean == pytest.approx(slow.mean(), abs=1e-13)  # sums of 300 numbers of size 1
        np.testing.assert_array_equal(count, np.histogram(slow, edges)[0])


def test_the_gap_to_consensus_counts_a_line_as_one_and_right_angles_as_apart() -> None:
    x = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0]])
    assert consensus_gap(x) == pytest.approx(1.0 - (1.0 + 0.0 + 0.6) / 3.0)
    assert np.isnan(consensus_gap(x[:1]))


def test_one_token_has_no_pair_and_none_is_left_without_the_first() -> None:
    one = uniform(n=1, d=3, seed=0)
    assert np.isnan(mean_cosine(one))
    with pytest.raises(InputError, match="leaves no token"):
        mean_cosine(one, first=False)
