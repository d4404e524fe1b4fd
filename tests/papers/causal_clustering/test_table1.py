"""Table 1: random matrices are what they are meant to be, and wrong ends change verdicts."""

import numpy as np
import pytest
from support.small_items import changed, made, planted

from nucleate.papers.causal_clustering.shared.classify_end import classify_ends
from nucleate.papers.causal_clustering.table1.data import FAMILIES, Family, _block, value_matrix
from nucleate.sphere import uniform
from nucleate.theory.atlas import atlas


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_random_matrices_have_the_dominant_eigenvalue_they_are_meant_to_have(family: Family) -> None:
    for run in range(4):
        known = atlas(value_matrix(family, 1, run))
        assert known.row == family.row
        # a defective eigenvalue is known to the root of rounding
        assert abs(known.lambda_max - family.lambda_max) < 1e-6
        assert known.algebraic == family.multiplicity
        assert known.kind == family.dominant


@pytest.mark.parametrize(
    ("family", "part", "word"),
    [("row1", 0, "disagrees"), ("row2", 1, "evidence against"), ("row3", 2, "evidence against")],
)
def test_one_run_that_ends_elsewhere_changes_the_verdict_of_its_row(
    family: str, part: int, word: str
) -> None:
    found = made("table1")
    data = found.data[family]
    x = data["x"].values.copy()
    x[1, -1, 5] = uniform(1, 3, 3)
    assert found.words(planted(found.data, family, changed(data, x=x)))[part] == word
    x[1] = np.nan  # a run that never got there
    assert found.words(planted(found.data, family, changed(data, x=x)))[part] == word


def test_one_run_at_equilibrium_elsewhere_is_evidence_against_row_3_and_none_is_no_evidence_for_it() -> None:
    found = made("table1")
    assert found.words(found.data)[2:4] == ["evidence for", "not testable here"]
    data = found.data["row3-oblique"]
    x = data["x"].values.copy()
    x[1, :, 5] = uniform(1, 3, 3)  # at equilibrium: the same place in all frames
    assert found.words(planted(found.data, "row3-oblique", changed(data, x=x)))[2:4] == [
        "evidence for",
        "evidence against",
    ]
    x[1, 0, 5] = -x[1, 0, 5]  # not at equilibrium: still on its way
    assert found.words(planted(found.data, "row3-oblique", changed(data, x=x)))[3] == "not testable here"
    against = found.item.verdicts(found.numbers, found.p)[3]
    assert "see Conjecture 1" in against.part
    assert "Conjecture 1 (below) has counterexamples" in against.why


def test_row_3_with_V_not_normal_fails_in_a_run_of_its_own_family() -> None:
    family = next(one for one in FAMILIES if one.name == "row3-oblique")
    ends = classify_ends(_block(family, 0, range(453, 454)))
    assert ends.row[0] == 3
    assert ends.distance[0] > 0.3
    assert ends.moved[0] < 1e-6  # at equilibrium, by the rule of the item


@pytest.mark.parametrize(
    ("family", "part"),
    [("row4", 4), ("row5", 5), ("row4-oblique", 4), ("row5-oblique", 5), ("row5-high-beta", 5)],
)
def test_uniform_tokens_are_evidence_against_clouds(family: str, part: int) -> None:
    found = made("table1")
    data = found.data[family]
    b, m, n, d = data["x"].shape
    x = uniform(b * m * n, d, 1).reshape(b, m, n, d)
    assert found.words(planted(found.data, family, changed(data, x=x)))[part] == "evidence against"


def test_tokens_on_one_side_are_evidence_against_two_clouds() -> None:
    found = made("table1")
    data = found.data["row5"]
    first = data["x"].values[:, :1, :1]  # (b, 1, 1, d)
    x = data["x"].values * np.where((data["x"].values * first).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    assert found.words(planted(found.data, "row5", changed(data, x=x)))[5] == "evidence against"


def test_conjecture_1_is_called_a_slip_only_if_the_counterexample_holds() -> None:
    found = made("table1")
    assert len(found.item.slips(found.numbers)) == 1
    data = found.data["counterexample"]
    x = np.broadcast_to([1.0, 0.0], data["x"].shape)
    assert (
        found.item.slips(
            found.item.measure(planted(found.data, "counterexample", changed(data, x=x)), found.p)
        )
        == ()
    )
    moving = changed(data, speed=np.ones(data.sizes["run"]))
    assert found.item.slips(found.item.measure(planted(found.data, "counterexample", moving), found.p)) == ()
