"""Conjecture 2: its verdicts follow the data."""

from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import changed, made, words_with

from nucleate.papers.causal_clustering.conjectures.random_models import ATTRACTING_ELSEWHERE, NOT_YET_THERE


@pytest.mark.parametrize(("name", "part"), [("identity__close", 0), ("gaussian", 1), ("non__normal", 2)])
def test_one_run_elsewhere_is_evidence_against_its_part_of_conjecture_2(name: str, part: int) -> None:
    family = made("conjecture2").data[name.replace("__", "-")]
    outcomes = family["outcome"].values.copy()
    outcomes[1] = ATTRACTING_ELSEWHERE
    assert words_with("conjecture2", **{name: changed(family, outcome=outcomes)})[part] == "evidence against"
    off = family["off"].values.copy()
    off[0, 1] = 1.0
    assert words_with("conjecture2", **{name: changed(family, off=off)})[part] == "evidence against"


def test_conjecture_2_is_left_open_by_late_runs_and_hurt_by_equilibria_that_attract() -> None:
    data: Any = made("conjecture2").data
    outcomes = data["gaussian"]["outcome"].values.copy()
    outcomes[1] = NOT_YET_THERE
    growth = np.full(len(outcomes), np.nan)
    assert (
        words_with("conjecture2", gaussian=changed(data["gaussian"], outcome=outcomes, growth=growth))[1]
        == "not testable here"
    )
    outcomes[1], growth[1] = 0, np.nan
    assert (
        words_with("conjecture2", gaussian=changed(data["gaussian"], outcome=outcomes, growth=growth))[1]
        == "evidence for"
    )
    many: Any = xarray.concat([data["gaussian"]] * 20, "run")
    late = many["outcome"].values.copy(), many["growth"].values.copy()
    late[0][1], late[1][1] = NOT_YET_THERE, 1e-9  # one of two hundred and more, at an equilibrium that repels
    assert (
        words_with("conjecture2", gaussian=changed(many, outcome=late[0], growth=late[1]))[1]
        == "evidence for"
    )
    assert words_with("conjecture2", search=changed(data["search"], growth=-0.01))[1] == "evidence against"
    growth = data["growth_elsewhere"]["growth"].values.copy()
    growth[0] = -0.2
    assert (
        words_with("conjecture2", growth_elsewhere=changed(data["growth_elsewhere"], growth=growth))[1]
        == "evidence against"
    )
    assert (
        words_with(
            "conjecture2",
            growth_elsewhere=changed(
                data["growth_elsewhere"], growth=0.5 * data["growth_elsewhere"]["bound"].values
            ),
        )[1]
        == "evidence against"
    )
