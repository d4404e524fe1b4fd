"""Measured numbers: their intervals, how they are written, and that JSON keeps them."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from nucleate.papers.core.numbers import Number, compared, exact, from_plain, mean_of, share_of


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (3, 10), (10, 10), (199, 200)])
def test_the_interval_of_a_share_has_tails_of_two_and_a_half_percent(hits: int, runs: int) -> None:
    share = share_of(hits, runs, "")
    assert share.low is not None
    assert share.high is not None
    assert share.value == hits / runs
    if hits > 0:
        assert abs(binom.sf(hits - 1, runs, share.low) - 0.025) < 1e-9  # rounding of the quantile
    else:
        assert share.low == 0.0
    if hits < runs:
        assert abs(binom.cdf(hits, runs, share.high) - 0.025) < 1e-9
    else:
        assert share.high == 1.0


def test_the_interval_of_a_mean_covers_it_95_times_in_100() -> None:
    rng = np.random.default_rng(0)
    means = [mean_of(rng.standard_normal(7), "") for _ in range(2000)]
    covered = np.mean(
        [mean.low <= 0.0 <= mean.high for mean in means if mean.low is not None and mean.high is not None]
    )
    assert abs(covered - 0.95) < 0.02  # four standard errors


def test_numbers_are_written_with_the_digits_that_mean_something() -> None:
    assert str(compared(0.3135350663, 0.3135350643, "", "")) == "0.3135350663 ± 0.0000000020"
    assert str(Number(12.3456, "", 11.2, 13.4912)) == "12.3 ± 1.1"
    assert str(share_of(10, 10, "")) == "10 of 10 = 1 [0.6915, 1]"
    assert str(exact(3.0, "")) == "3"
    assert str(exact(np.inf, "")) == "∞"
    assert str(exact(1.5e-7, "")) == "1.5e−07"


def test_the_ends_of_an_interval_are_known_where_they_are_zero_and_where_there_are_none() -> None:
    assert Number(0.0, "", 0.0, 0.0).ends == (0.0, 0.0)
    assert Number(-1.0, "", -2.0, 0.0).ends == (-2.0, 0.0)
    assert exact(0.0, "").ends == (0.0, 0.0)
    assert mean_of([0.0], "").ends == (-np.inf, np.inf)  # of one value nothing is known
    assert mean_of([0.0, 0.0], "").ends == (0.0, 0.0)
    assert share_of(0, 10, "").ends[0] == 0.0


@pytest.mark.parametrize(
    "number",
    [share_of(3, 7, "a", 1.0), mean_of([1.0, 2.0], "b"), exact(np.inf, "c"), exact(np.nan, "d", "how")],
)
def test_numbers_survive_json(number: Number) -> None:
    assert repr(from_plain(json.loads(json.dumps(number.plain(), allow_nan=False)))) == repr(number)
