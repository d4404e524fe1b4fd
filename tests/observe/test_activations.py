"""Norms, sink, massive activations."""

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.observe.activations import first_norm_ratio, massive_activations, sink_share


def test_the_largest_entries_are_found_with_their_places() -> None:
    h = np.random.default_rng(0).standard_normal((2, 6, 4))
    h[1, 0, 3], h[1, 5, 2], h[1, 0, 1] = -900.0, 50.0, 70.0
    found = massive_activations(h)
    assert found.largest[1].tolist() == [900.0, 70.0, 50.0]
    assert found.token[1].tolist() == [0, 0, 5]
    assert found.coordinate[1].tolist() == [3, 1, 2]
    assert found.median[0] == np.median(np.abs(h[0]))
    with pytest.raises(InputError, match="3 entries"):
        massive_activations(np.ones((1, 2)))


def test_the_first_norm_is_held_against_the_median_of_the_others() -> None:
    assert first_norm_ratio([[10.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]]).tolist() == [5.0, 1.0]
    assert np.isnan(first_norm_ratio([2.0]))


@pytest.mark.parametrize("causal", [True, False])
def test_equal_weights_have_the_sink_share_that_is_said_to_be_equal(causal: bool) -> None:
    sees = np.tri(5) if causal else np.ones((5, 5))
    w = sees / sees.sum(-1, keepdims=True)
    share, equal = sink_share(np.stack([w, w]))
    assert share == pytest.approx([equal, equal])
    with pytest.raises(InputError, match="two tokens"):
        sink_share(np.ones((3, 1, 1)))
