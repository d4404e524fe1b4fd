"""Conjecture 2: its verdicts follow the data."""

from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import changed, made, words_with

from nucleate.papers.causal_clustering.conjectures.random_models import ATTRACTING_ELSEWHERE, NOT_YET_THERE

IDENTITY, ANY, FEW, ANY_NUMBER, NO_OTHER, BEYOND = range(6)  # the verdicts


@pytest.mark.parametrize(
    ("name", "part", "word"),
    [
        ("identity__close", IDENTITY, "evidence against"),
        ("gaussian", ANY, "evidence against"),
        ("identity__symmetric", ANY_NUMBER, "contradicted"),
        ("gaussian__circle", ANY_NUMBER, "contradicted"),
        ("non__normal", BEYOND, "not observed"),
    ],
)
def test_one_run_elsewhere_changes_its_part_of_conjecture_2(name: str, part: int, word: str) -> None:
    family = made("conjecture2").data[name.replace("__", "-")]
    outcomes = family["outcome"].values.copy()
    outcomes[1] = ATTRACTING_ELSEWHERE
    assert words_with("conjecture2", **{name: changed(family, outcome=outcomes)})[part] == word
    off = family["off"].values.copy()
    off[0, 5] = 1.0
    assert words_with("conjecture2", **{name: changed(family, off=off)})[part] == word


@pytest.mark.parametrize("name", ["identity-symmetric", "gaussian-circle"])
def test_what_is_proved_is_no_evidence_for_conjecture_2(name: str) -> None:
    found = made("conjecture2")
    doubled: Any = xarray.concat([found.data[name]] * 2, "run")
    numbers = found.item.measure({**found.data, name: doubled}, found.p)
    before, after = (found.item.verdicts(one, found.p) for one in (found.numbers, numbers))
    assert [one.why for one in after[:FEW]] == [one.why for one in before[:FEW]]
    assert after[ANY_NUMBER].why != before[ANY_NUMBER].why


@pytest.mark.parametrize("name", ["identity", "gaussian__close", "non__normal"])
def test_one_second_token_elsewhere_contradicts_the_proof_for_few_tokens(name: str) -> None:
    family = made("conjecture2").data[name.replace("__", "-")]
    off = family["off"].values.copy()
    off[0, 5] = 1.0  # the sixth token: more than dim L
    assert words_with("conjecture2", **{name: changed(family, off=off)})[FEW] == "proved"
    off[0, 1] = 1.0
    assert words_with("conjecture2", **{name: changed(family, off=off)})[FEW] == "contradicted"
    outcomes = family["outcome"].values.copy()
    outcomes[0] = NOT_YET_THERE  # late is not elsewhere
    assert words_with("conjecture2", **{name: changed(family, off=off, outcome=outcomes)})[FEW] == "proved"


def test_conjecture_2_is_left_open_by_late_runs_and_hurt_by_equilibria_that_attract() -> None:
    data: Any = made("conjecture2").data
    outcomes = data["gaussian"]["outcome"].values.copy()
    outcomes[1] = NOT_YET_THERE
    growth = np.full(len(outcomes), np.nan)
    late_family = changed(data["gaussian"], outcome=outcomes, growth=growth)
    assert words_with("conjecture2", gaussian=late_family)[ANY] == "not testable here"
    outcomes[1], growth[1] = 0, np.nan
    there = changed(data["gaussian"], outcome=outcomes, growth=growth)
    assert words_with("conjecture2", gaussian=there)[ANY] == "evidence for"
    many: Any = xarray.concat([data["gaussian"]] * 20, "run")
    late = many["outcome"].values.copy(), many["growth"].values.copy()
    late[0][1], late[1][1] = NOT_YET_THERE, 1e-9  # one of two hundred and more, at an equilibrium that repels
    told = words_with("conjecture2", gaussian=changed(many, outcome=late[0], growth=late[1]))
    assert told[ANY] == "evidence for"
    told = words_with("conjecture2", search=changed(data["search"], growth=-0.01))
    assert told[ANY] == "evidence against"
    assert told[NO_OTHER] == "contradicted"


def test_an_equilibrium_that_attracts_or_grows_too_slowly_contradicts_the_proof() -> None:
    found: Any = made("conjecture2").data["growth_elsewhere"]
    growth = found["growth"].values.copy()
    growth[0] = -0.2
    told = words_with("conjecture2", growth_elsewhere=changed(found, growth=growth))
    assert told[NO_OTHER] == "contradicted"
    half = changed(found, growth=0.5 * found["bound"].values)
    assert words_with("conjecture2", growth_elsewhere=half)[NO_OTHER] == "contradicted"
