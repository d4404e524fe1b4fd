"""Late laws of the norms: exchanged norms, masks and other exponents change the verdicts."""

import numpy as np
import pytest
from support.small_items import made, planted, words_changed

from nucleate.papers.core.numbers import compared
from nucleate.papers.normalisation.late_laws.item import lawful

KEY = "late-laws"


def test_small_runs_are_judged_as_large_ones_are() -> None:
    found = made(KEY)
    assert found.words(found.data) == ["agrees", "observed", "observed", "observed", "observed"]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("full-post", 0),
        ("full-pre", 0),
        ("full-mix", 1),
        ("full-peri", 1),
        ("full-ngpt", 1),
        ("full-sqrt", 1),
        ("causal-pre", 3),
        ("causal-post", 4),
        ("causal-mix", 4),
        ("causal-peri", 4),
        ("causal-ngpt", 4),
        ("causal-sqrt", 4),
    ],
)
def test_an_exponent_that_is_a_twentieth_off_changes_its_verdict(name: str, verdict: int) -> None:
    gap = made(KEY).data[name]["gap"].values
    words = words_changed(KEY, name, gap=gap**1.05)
    assert words[verdict].startswith(("dis", "not"))
    others = {0, 1, 3, 4} - {verdict}
    assert not any(words[other].startswith(("dis", "not")) for other in others)


def test_a_power_in_the_place_of_an_exponential_changes_the_verdict() -> None:
    found = made(KEY)
    assert found.words(planted(found.data, "full-post", found.data["full-pre"]))[0] == "disagrees"
    assert found.words(planted(found.data, "full-pre", found.data["full-post"]))[0] == "disagrees"


def test_exchanged_masks_change_the_verdicts() -> None:
    found = made(KEY)
    assert found.words(planted(found.data, "causal-pre", found.data["full-pre"]))[3] == "not observed"
    assert words_changed(KEY, "full-pre", gap=found.data["causal-pre"]["gap"].values)[0] == "disagrees"


def test_runs_that_leave_the_two_equations_change_the_verdict() -> None:
    gap = made(KEY).data["full-peri"]["gap"].values
    assert words_changed(KEY, "full-peri", gap=1.001 * gap)[2] == "not observed"


@pytest.mark.parametrize(
    ("late", "before", "holds"),
    [(-2.0, -2.01, True), (-2.0, -2.2, False), (-2.1, -2.11, False), (np.nan, np.nan, False)],
)
def test_an_exponent_is_lawful_if_it_is_near_and_known_well(late: float, before: float, holds: bool) -> None:
    assert lawful(compared(late, before, "", "", expected=-2.0)) is holds


def test_the_picture_is_drawn() -> None:
    found = made(KEY)
    assert list(found.item.draw(found.data, found.numbers, found.p)) == [KEY]
