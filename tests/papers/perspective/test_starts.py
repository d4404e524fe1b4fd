"""Starts in the span of their tokens are the same starts."""

import numpy as np
import pytest

from nucleate.papers.perspective.starts import uniform_in_span
from nucleate.sphere import drawn_from


@pytest.mark.parametrize("d", [3, 8, 9, 40])
def test_overlaps_are_those_of_uniform_tokens_in_all_dimensions(d: int) -> None:
    x = uniform_in_span(4, 8, d, seed=5, stream=2)
    assert x.shape == (4, 8, min(8, d))
    streams = [np.random.SeedSequence(5, spawn_key=(d, 2, i)) for i in range(4)]
    y = drawn_from(streams, 8, d)
    assert x @ x.mT == pytest.approx(y @ y.mT, abs=1e-14)  # rounding of a factorisation


def test_other_streams_and_seeds_are_other_starts() -> None:
    one = uniform_in_span(2, 4, 6, seed=0, stream=0)
    assert not np.allclose(one, uniform_in_span(2, 4, 6, seed=0, stream=1))
    assert not np.allclose(one, uniform_in_span(2, 4, 6, seed=1, stream=0))
    assert (one == uniform_in_span(3, 4, 6, seed=0, stream=0)[:2]).all()
