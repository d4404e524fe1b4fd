"""Intervals against bounds: apart, around the bound, and touching it."""

import numpy as np
import pytest

from nucleate.papers.core.criteria import (
    Part,
    above,
    at_least,
    at_most,
    below,
    value_at_most,
    within,
    word_of,
)
from nucleate.papers.core.numbers import Number, exact, mean_of


def between(low: float, high: float) -> Number:
    return Number((low + high) / 2.0, "", low, high)


@pytest.mark.parametrize(
    ("one", "bound", "is_above", "is_below"),
    [
        (between(1.0, 2.0), 0.5, True, False),
        (between(1.0, 2.0), 3.0, False, True),
        (between(1.0, 2.0), 1.5, None, None),
        (between(1.0, 2.0), 1.0, None, False),  # touches it from above
        (between(1.0, 2.0), 2.0, False, None),
        (between(0.0, 0.0), 0.25, False, True),  # zero is a number like any other
        (between(-1.0, 0.0), 0.25, False, True),
        (between(0.0, 1.0), -0.25, True, False),
        (exact(0.0, ""), 0.0, False, False),
        (between(1.0, 2.0), between(0.0, 0.5), True, False),
        (between(1.0, 2.0), between(1.5, 4.0), None, None),
        (between(0.0, 0.0), between(0.2, 0.3), False, True),
        (mean_of([1.0], ""), 0.5, None, None),
        (between(np.nan, np.nan), 0.5, None, None),
    ],
)
def test_an_interval_is_above_or_below_as_a_whole_or_undecided(
    one: Number, bound: float | Number, is_above: Part, is_below: Part
) -> None:
    assert above(one, bound) is is_above
    assert below(one, bound) is is_below
    opposite = {True: False, False: True, None: None}
    assert at_most(one, bound) is opposite[is_above]
    assert at_least(one, bound) is opposite[is_below]


def test_within_takes_the_bounds_themselves() -> None:
    assert within(between(0.5, 1.5), 1.0, 0.5) is True
    assert within(between(0.4, 1.5), 1.0, 0.5) is None
    assert within(between(0.0, 9.0), 1.0, 0.5) is None
    assert within(between(1.6, 9.0), 1.0, 0.5) is False
    assert within(between(0.0, 0.0), 0.0, 0.5) is True


def test_a_value_holds_by_itself_and_fails_by_its_whole_interval() -> None:
    assert value_at_most(between(0.0, 1.0), 0.5) is True
    assert value_at_most(between(0.0, 1.0), 0.4) is None
    assert value_at_most(between(0.3, 1.0), 0.2) is False
    assert value_at_most(exact(1.0, ""), 0.2) is False
    for other, most in ((between(0.2, 1.2), True), (between(-0.2, 0.8), None), (between(1.5, 2.0), True)):
        assert value_at_most(between(0.0, 1.0), other) is most


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ([True, True], "observed"),
        ([True, None], "undecided"),
        ([None, True, False], "not observed"),
        ([], "undecided"),  # nothing was tried
    ],
)
def test_the_word_is_that_of_the_worst_part(parts: list[Part], word: str) -> None:
    assert word_of(parts) == word
    assert word_of(part for part in parts) == word
