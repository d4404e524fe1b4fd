"""Conjecture 1: its verdicts follow the data."""

from typing import Any

import numpy as np
import pytest
from support.small_items import changed, made, words_with

from nucleate.papers.causal_clustering.conjecture1 import item
from nucleate.papers.causal_clustering.conjectures.counterexamples import stored_counterexamples
from nucleate.papers.causal_clustering.conjectures.defective_eigenvalue import lead
from nucleate.papers.causal_clustering.conjectures.random_models import (
    ATTRACTING_ELSEWHERE,
    FAMILIES_1,
    NO_EQUILIBRIUM,
    NOT_YET_THERE,
)

IDENTITY, SCORES, SYMMETRIC, CRITERION, SHARES, ORBIT, DEFECTIVE = range(7)  # the verdicts


def names_of(*kinds: str) -> list[bool]:
    """Which of the stored counterexamples are of these kinds, in their order."""
    return [item._kind(one) in kinds for one in stored_counterexamples()]


@pytest.mark.parametrize("outcome", [ATTRACTING_ELSEWHERE, NOT_YET_THERE, NO_EQUILIBRIUM])
def test_one_run_elsewhere_contradicts_the_proof_for_symmetric_V(outcome: int) -> None:
    family = made("conjecture1").data["identity-edge"]
    outcomes = family["outcome"].values.copy()
    outcomes[3] = outcome
    told = words_with("conjecture1", identity__edge=changed(family, outcome=outcomes))
    assert told[SYMMETRIC] == "contradicted"


def test_the_proof_for_symmetric_V_is_held_against_places_starts_and_search() -> None:
    data = made("conjecture1").data
    off = data["identity"]["off"].values.copy()
    off[2, 5] = 0.4
    assert words_with("conjecture1", identity=changed(data["identity"], off=off))[SYMMETRIC] == "contradicted"
    end = data["adversary"]["end"].values.copy()
    end[0] = 0.2
    told = words_with("conjecture1", adversary=changed(data["adversary"], end=end))
    assert told[SYMMETRIC] == "contradicted"
    told = words_with("conjecture1", search__identity=changed(data["search-identity"], growth=-0.1))
    assert told[SYMMETRIC] == "contradicted"


@pytest.mark.parametrize(("verdict", "kind", "family"), [(IDENTITY, "identity", 0), (SCORES, "scores", 1)])
def test_conjecture_1_is_refuted_by_what_is_certain_alone(verdict: int, kind: str, family: int) -> None:
    data = made("conjecture1").data
    shown = data["exact"]["shown"].values.copy()
    shown[family, 2] = 0  # the rates are not as said
    unshown = changed(data["exact"], shown=shown)
    stored, of_kind = data["counterexamples"], np.array(names_of(kind))
    boxes, holds = stored["box_holds"].values.copy(), stored["holds"].values.copy()
    boxes[of_kind] = 0.0
    unproved = changed(stored, box_holds=boxes)
    # one of the two is enough
    assert words_with("conjecture1", exact=unshown)[verdict] == "disagrees"
    assert words_with("conjecture1", counterexamples=unproved)[verdict] == "disagrees"
    # a counterexample that is only followed is evidence, and so is a run that ends elsewhere
    assert words_with("conjecture1", exact=unshown, counterexamples=unproved)[verdict] == "evidence against"
    holds[of_kind] = 0.0
    seen = (
        ("non__normal", "non__normal__low__beta")
        if kind == "identity"
        else (
            "definite",
            "gaussian__low__beta",
            "gaussian",
            "gaussian__high__beta",
        )
    )
    nothing: dict[str, Any] = {
        "exact": unshown,
        "counterexamples": changed(stored, box_holds=boxes, holds=holds),
        **{name: changed(data[name.replace("__", "-")], outcome=0, off=0.0) for name in seen},
    }
    assert words_with("conjecture1", **nothing)[verdict] == "evidence for"
    one = nothing[seen[0]]
    outcomes = one["outcome"].values.copy()
    outcomes[0] = ATTRACTING_ELSEWHERE
    told = words_with("conjecture1", **{**nothing, seen[0]: changed(one, outcome=outcomes)})
    assert told[verdict] == "evidence against"


def test_the_criterion_is_contradicted_by_one_second_token_or_one_diagonal() -> None:
    data = made("conjecture1").data
    there = data["criterion"]["there"].values.copy()
    there[0] = 1
    assert (
        words_with("conjecture1", criterion=changed(data["criterion"], there=there))[CRITERION]
        == "contradicted"
    )
    first = data["shares-first_found"]
    told = words_with(
        "conjecture1", shares__first_found=changed(first, second=first["second"].values[:, ::-1])
    )
    assert told[CRITERION] == "contradicted"


@pytest.mark.parametrize("kind", ["value", "scores"])
def test_random_models_count_only_if_more_than_one_run_in_a_hundred_ends_off_the_poles(kind: str) -> None:
    data = made("conjecture1").data

    def with_share(share: float, of: str) -> dict[str, Any]:
        """400 runs of every family of a kind, that share of them elsewhere."""
        planted: dict[str, Any] = {}
        for name in item.RANDOM_MODELS[of][1]:
            one = data[name].isel(run=np.zeros(400, dtype=int))
            outcome = np.where(np.arange(400) < share * 400, NO_EQUILIBRIUM, 0)
            planted[name.replace("-", "__")] = changed(one, outcome=outcome, off=0.0)
        return planted

    many = with_share(0.05, "value") | with_share(0.05, "scores")
    assert words_with("conjecture1", **many)[SHARES] == "observed"
    for share in (0.0, 0.0125):  # the second is above 1 %, but its interval is not
        assert words_with("conjecture1", **many | with_share(share, kind))[SHARES] == "not observed"


def test_the_periodic_orbit_is_observed_only_if_it_holds() -> None:
    stored = made("conjecture1").data["counterexamples"]
    holds = stored["holds"].values.copy()
    holds[names_of("periodic orbit")] = 0.0
    assert words_with("conjecture1")[ORBIT] == "observed"
    told = words_with("conjecture1", counterexamples=changed(stored, holds=holds))
    assert told[ORBIT] == "not observed"
    assert told[SCORES] == "disagrees"


def test_shares_of_conjecture_1_are_told_with_their_intervals() -> None:
    found = made("conjecture1")
    why = found.item.verdicts(found.numbers, found.p)[SHARES].why
    for name in (
        "definite_off",
        "gaussian_off",
        "share_first_found",
        "share_non_normal",
        "share_exact_beta_2",
    ):
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
    planted = {**found.data, name: changed(family, second=second)}
    assert found.item.measure(planted, found.p)["second_unpredicted"].value == 1.0
    assert found.words(planted)[CRITERION] == "contradicted"


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
