"""Table 1: random matrices are what they are meant to be, and wrong ends change verdicts."""

import numpy as np
import pytest
import xarray
from support.small_items import changed, made, planted

from nucleate.attention import Attention
from nucleate.integrate.simulate import simulate
from nucleate.papers.causal_clustering.shared.classify_end import classify_ends
from nucleate.papers.causal_clustering.table1.data import (
    ATTENTIONS,
    FAMILIES,
    Family,
    _block,
    attention_matrix,
    value_matrix,
)
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
    assert "V that is not normal" in against.part
    assert "Conjecture 1 (below) has counterexamples" in against.why


def test_row_3_with_V_not_normal_fails_in_a_run_of_its_own_family() -> None:
    family = next(one for one in FAMILIES if one.name == "row3-oblique")
    ends = classify_ends(_block(family, 0, range(453, 454)))
    assert ends.row[0] == 3
    assert ends.distance[0] > 0.3
    assert ends.moved[0] < 1e-6  # at equilibrium, by the rule of the item


@pytest.mark.parametrize(
    ("family", "part"),
    [
        *(("row4" + kind, 4) for kind in ("", "-low-beta", "-high-beta", "-oblique")),
        *(("row5" + kind, 5 + i) for i, kind in enumerate(("-low-beta", "", "-high-beta", "-oblique"))),
    ],
)
def test_uniform_tokens_are_evidence_against_clouds(family: str, part: int) -> None:
    found = made("table1")
    data = found.data[family]
    b, m, n, d = data["x"].shape
    x = uniform(b * m * n, d, 1).reshape(b, m, n, d)
    assert found.words(planted(found.data, family, changed(data, x=x)))[part] == "evidence against"


@pytest.mark.parametrize(
    ("family", "part"), [("row5-low-beta", 5), ("row5", 6), ("row5-high-beta", 7), ("row5-oblique", 8)]
)
def test_row_5_is_judged_at_each_beta_by_the_runs_with_two_clouds(family: str, part: int) -> None:
    found = made("table1")
    data = found.data[family].isel(run=np.zeros(60, dtype=int))  # enough runs to be sure
    xi = np.array([atlas(V).basis[:, 0] for V in data["V"].values])  # (b, d)
    sides = np.where(np.arange(data.sizes["token"]) % 2, -1.0, 1.0)[:, None]  # (n, 1)
    x = np.broadcast_to((sides * xi[:, None])[:, None], data["x"].shape).copy()  # (b, m, n, d) at ±ξ

    def words(x: np.ndarray) -> list[str]:
        return found.words(planted(found.data, family, changed(data, x=x)))

    before = found.words(found.data)
    assert words(x)[part] == "evidence for"
    assert [one for i, one in enumerate(words(x)) if i != part] == [
        one for i, one in enumerate(before) if i != part
    ]
    assert words(np.abs(sides) * xi[:, None, None] + 0.0 * x)[part] == "evidence against"  # one side
    across = np.linalg.svd(xi[:, None])[2][:, 1]  # (b, d) orthogonal to ξ
    x[:20, :, 3] = across[:20, None]  # one token between the clouds in a third of the runs
    assert words(x)[part] == "evidence against"
    x[4:20, :, 3] = x[4:20, :, 5]  # in 4 of 60
    assert words(x)[part] == "not testable here"


def test_clouds_depend_on_Q_and_K_only_if_some_are_not_around_L() -> None:
    found = made("table1")
    part = 9
    data = dict(found.data)

    def at(family: str, which: str, runs: int = 20) -> xarray.Dataset:
        """The family with all tokens at ± an eigenvector: the dominant or the most negative one."""
        some = data[family].isel(run=np.zeros(runs, dtype=int))
        vectors = np.linalg.eigh(some["V"].values)[1]  # (b, d, d)
        x = vectors[..., 0 if which == "lowest" else -1][:, None, None]  # (b, 1, 1, d)
        noise = 1e-3 * np.random.default_rng(0).standard_normal(some["x"].shape)  # for intervals
        x = x + noise
        return changed(some, x=x / np.linalg.norm(x, axis=-1, keepdims=True))

    families = [f"row{row}-{kind}" for row in (4, 5) for kind in ATTENTIONS]
    data |= {f"row{row}": at(f"row{row}", "dominant") for row in (4, 5)}
    data |= {family: at(family, "dominant") for family in families}
    assert found.words(data)[part : part + 2] == ["not observed", "not observed"]
    data["row4-gaussian"] = at("row4-gaussian", "lowest")
    assert found.words(data)[part : part + 2] == ["observed", "not observed"]
    data["row5-V"] = at("row5-V", "lowest")
    assert found.words(data)[part + 1] == "not observed"  # in row 4 they are not
    data["row4-V"] = at("row4-V", "lowest")
    assert found.words(data)[part + 1] == "observed"
    data["row5"] = at("row5", "lowest")  # with Q = K = I neither: then it does not depend on them
    assert found.words(data)[part] == "not observed"


@pytest.mark.parametrize("family", ["row4-V-again", "row5-V-again"])
def test_one_token_off_the_two_points_is_a_cloud(family: str) -> None:
    found = made("table1")
    part = 11
    assert found.words(found.data)[part] == "observed"
    data = found.data[family]
    x = data["x"].values.copy()
    first = x[1, :, :1]  # (m, 1, d)
    across = np.linalg.svd(atlas(data["V"].values[1]).basis.T)[2]  # (d, d) rows: L first, then across it
    turned = first[:, 0] + 0.01 * across[-1]
    x[1, :, 7] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)  # beside L
    assert found.words(planted(found.data, family, changed(data, x=x)))[part] == "not observed"
    assert found.words(planted(found.data, family, changed(data, x=np.abs(data["x"].values))))[part] == (
        "not observed"
    )


def test_what_was_seen_in_some_runs_is_judged_on_others() -> None:
    data = made("table1").data
    for row in (4, 5):
        seen, new = (data[f"row{row}-V{kind}"]["V"].values for kind in ("", "-again"))
        assert not np.isclose(seen[:, None], new).all((-1, -2)).any()


def test_the_attention_of_a_family_is_what_its_name_says() -> None:
    V = np.diag([-0.5, -1.5, -0.9])
    made_of = {
        family.attention: attention_matrix(family, V, 0, 3) for family in FAMILIES if family.row in (4, 5)
    }
    assert set(made_of) == {"I", *ATTENTIONS}
    np.testing.assert_allclose(made_of["I"], np.eye(3))
    np.testing.assert_allclose(made_of["V"], V)
    np.testing.assert_allclose(made_of["minus-V"], -V)
    np.testing.assert_allclose(made_of["reversed"], np.diag([1.5, 0.5, 0.9]), atol=1e-15)
    data = made("table1").data["row5-gaussian"]
    model = Attention(4.0, Q=data["A"].values[0], V=data["V"].values[0])
    x = simulate(model, data["start"].values[0], 1e4, save=[1e4], rtol=1e-8, atol=1e-10).x[-1]
    np.testing.assert_allclose(x, data["x"].values[0, -1], atol=1e-6)


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
