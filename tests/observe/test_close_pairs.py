"""The share of close pairs is what the obvious double loop counts."""

from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import Array, InputError
from nucleate.observe.close_pairs import close_pairs


def gathered(b: int, m: int, n: int, d: int) -> Array:
    """Tokens (b, m, n, d), closer and closer to one of three points."""
    rng = np.random.default_rng(n)
    middle = rng.standard_normal((b, 1, 3, d))[:, :, rng.integers(3, size=n)]
    return nc.retract(middle + np.logspace(0, -3, m)[:, None, None] * rng.standard_normal((b, m, n, d)))


def counted(x: Array, threshold: float, pairs: str) -> float:
    n = len(x)
    each = [(i, j) for i in range(n) for j in range(i + 1, n) if pairs == "all" or j == i + 1]
    return sum(float(x[i] @ x[j]) >= threshold for i, j in each) / len(each)


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("threshold", [-0.5, 0.0, 0.9, 0.999])
@pytest.mark.parametrize(("n", "d"), [(2, 2), (17, 3), (12, 16)])
def test_the_share_is_that_of_the_double_loop(n: int, d: int, threshold: float, pairs: Any) -> None:
    x = gathered(3, 4, n, d)
    slow = [[counted(frame, threshold, pairs) for frame in run] for run in x]
    np.testing.assert_array_equal(close_pairs(x, threshold, pairs), slow)


def test_it_is_one_when_all_tokens_are_one_and_zero_for_an_orthogonal_frame() -> None:
    assert close_pairs(np.tile(nc.uniform(1, 5, 0), (7, 1)), 1.0 - 1e-12) == 1.0
    assert close_pairs(np.eye(5), 0.999) == 0.0


def test_frames_never_reached_and_single_tokens_have_no_share() -> None:
    x = gathered(2, 3, 5, 3)
    x[1, 2] = np.nan
    share = close_pairs(x, 0.5)
    assert np.isnan(share).tolist() == [[False] * 3, [False, False, True]]
    assert np.isnan(close_pairs(nc.uniform(1, 3, 0)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"threshold": 1.5}, "threshold must be at most 1, but is 1.5. It is an inner product"),
        ({"threshold": -2.0}, "threshold must be finite and at least -1"),
        ({"pairs": "some"}, 'pairs must be "all" or "adjacent"'),
    ],
)
def test_what_cannot_be_counted_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        close_pairs(np.eye(3), **given)
