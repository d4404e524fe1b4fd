"""Centers from a table and from scores, against the centers of the sphere."""

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.observe.centers import center_mask
from nucleate.observe.score_centers import parked, score_centers, score_distance
from nucleate.sphere import uniform


@pytest.mark.parametrize("strong", [False, True])
def test_scores_of_the_identity_give_the_centers_of_the_paper(strong: bool) -> None:
    """beta (1 - cos delta) is the reach, as the largest score is a token's own."""
    x, beta, delta = uniform(60, 3, seed=0, runs=4), 9.0, 0.7
    scores = beta * x @ x.mT
    found = score_centers(scores, beta * (1.0 - np.cos(delta)), strong)
    np.testing.assert_array_equal(found, center_mask(x, delta, strong))
    np.testing.assert_array_equal(parked(x @ x.mT >= np.cos(delta), strong), found)
    shifted = scores + np.random.default_rng(0).standard_normal((4, 60, 1))  # as log weights are
    np.testing.assert_array_equal(score_centers(shifted, beta * (1.0 - np.cos(delta)), strong), found)


def test_a_sink_makes_all_tokens_near_it_unless_it_is_left_out() -> None:
    scores = np.where(np.eye(5, dtype=bool), 1.0, 0.0)
    scores[:, 0] = 9.0
    assert score_centers(scores, 0.5).tolist() == [True, False, False, False, False]
    assert score_centers(scores, 0.5, first=False).tolist() == [True] * 5
    assert score_distance(scores)[3, :5].tolist() == [0.0, 9.0, 9.0, 8.0, np.inf]
    with pytest.raises(InputError, match=r"\(\.\.\., n, n\)"):
        parked(np.ones((2, 3)))
