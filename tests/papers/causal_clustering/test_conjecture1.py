"""Conjecture 1: its verdicts follow the data."""

import numpy as np
import pytest
from support.small_items import changed, made, words_with

from nucleate.papers.causal_clustering.conjectures.defective_eigenvalue import lead
from nucleate.papers.causal_clustering.conjectures.random_models import (
    ATTRACTING_ELSEWHERE,
    FAMILIES_1,
    NO_EQUILIBRIUM,
    NOT_YET_THERE,
)


@pytest.mark.parametrize("outcome", [ATTRACTING_ELSEWHERE, NOT_YET_THERE, NO_EQUILIBRIUM])
def test_one_run_elsewhere_is_evidence_against_conjecture_1_with_the_identity(outcome: int) -> None:
    family = made("conjecture1").data["identity-edge"]
    outcomes = family["outcome"].values.copy()
    outcomes[3] = outcome
    assert (
        words_with("conjecture1", identity__edge=changed(family, outcome=outcomes))[0] == "evidence against"
    )


def test_conjecture_1_with_the_identity_is_judged_by_places_starts_and_search() -> None:
    data = made("conjecture1").data
    off = data["identity"]["off"].values.copy()
    off[2, 5] = 0.4
    assert words_with("conjecture1", identity=changed(data["identity"], off=off))[0] == "evidence against"
    end = data["adversary"]["end"].values.copy()
    end[0] = 0.2
    assert words_with("conjecture1", adversary=changed(data["adversary"], end=end))[0] == "evidence against"
    assert (
        words_with("conjecture1", search__identity=changed(data["search-identity"], growth=-0.1))[0]
        == "evidence against"
    )


def test_conjecture_1_is_refuted_only_by_counterexamples_that_hold() -> None:
    found = made("conjecture1")
    data = found.data["counterexamples"]
    nothing = changed(data, holds=0.0 * data["holds"].values)
    assert words_with("conjecture1", counterexamples=nothing) == [
        "evidence for",
        "evidence for",
        "evidence for",
        "not testable here",
    ]
    numbers = found.item.measure({**found.data, "counterexamples": nothing}, found.p)
    assert found.item.slips(numbers) == ()
    slips = found.item.slips(found.numbers)
    assert len(slips) == 1
    assert "can fail" in slips[0].right


def test_shares_of_conjecture_1_are_told_with_their_intervals() -> None:
    found = made("conjecture1")
    why = found.item.verdicts(found.numbers, found.p)[2].why
    for name in ("definite_off", "gaussian_off", "first_found_share"):
        share = found.numbers[name]
        assert f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]" in why


def test_second_tokens_off_the_poles_are_where_the_criterion_says() -> None:
    found = made("conjecture1")
    assert found.numbers["second_unpredicted"].value == 0.0
    name, i = next(
        (kind.name, int(i))
        for kind in FAMILIES_1
        for i in np.nonzero(
            (found.data[kind.name]["outcome"].values == 1)
            & (found.data[kind.name]["off"].values[:, 1] > 1e-3)
        )[0]
    )
    family = found.data[name]
    second = family["second"].values.copy()
    second[i] = -second[i]
    numbers = found.item.measure({**found.data, name: changed(family, second=second)}, found.p)
    assert numbers["second_unpredicted"].value == 1.0


def test_ends_against_the_rule_of_defective_eigenvalues_are_counted() -> None:
    found = made("conjecture1")
    data = found.data["rule"]
    assert found.numbers["rule_wrong"].value == 0.0
    D = lead(*data["angles"].values.T)
    end = data["end"].values.copy()
    # one ends beside -xi that ought to slip, one slips that ought to end there
    end[np.argmax(D)], end[np.argmin(np.abs(D))] = 1e-4, np.pi
    assert (
        found.item.measure({**found.data, "rule": changed(data, end=end)}, found.p)["rule_wrong"].value == 2.0
    )
