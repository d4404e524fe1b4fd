"""Verdicts come from the data: each item is given a wrong result, and its verdict must change."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import SMALL, made

from nucleate.papers import ITEMS
from nucleate.papers.causal_clustering.shared.classify_end import ends_of
from nucleate.papers.causal_clustering.table1.data import FAMILIES, _block
from nucleate.papers.core.item import WORDS, Verdict, headline
from nucleate.sphere import uniform

GOOD = {"agrees", "evidence for", "not testable here"}
# what an item is there to find
MEANT: dict[str, set[str]] = {
    "conjecture1": {"disagrees"},
    "capture": {"evidence against"},
    "slips": {"disagrees"},
}


def planted(data: Any, name: str, value: Any) -> dict[str, Any]:
    return {**data, name: value}


def changed(dataset: xarray.Dataset, **arrays: Any) -> xarray.Dataset:
    """`dataset` with other values in some variables."""
    return dataset.assign({name: (dataset[name].dims, np.asarray(values)) for name, values in arrays.items()})


def with_end(run: Any, x: Any) -> Any:
    """The run with its last decade of frames, and its end, at x."""
    return replace(run, x=np.where((run.t >= run.t[-1] / 10)[:, None, None], x, run.x))


def test_every_item_has_small_parameters_for_these_tests() -> None:
    assert set(SMALL) == set(ITEMS)


@pytest.mark.parametrize("key", list(ITEMS))
def test_no_verdict_is_bad_with_the_data_as_they_are(key: str) -> None:
    found = made(key)
    verdicts = found.item.verdicts(found.numbers, found.p)
    assert {verdict.word for verdict in verdicts} <= GOOD | MEANT.get(key, set()), verdicts
    assert all(verdict.why and verdict.part for verdict in verdicts)


def test_the_headline_is_the_worst_then_the_most_cautious() -> None:
    def told(*words: Any) -> str:
        return headline(tuple(Verdict("", word, "") for word in words))

    assert told("agrees", "disagrees", "evidence for") == "disagrees"
    assert told("agrees", "evidence for", "not testable here") == "evidence for"
    assert told("agrees", "not testable here") == "agrees"
    assert {told(word) for word in WORDS} == set(WORDS)


@pytest.mark.parametrize(
    ("key", "panel"),
    [
        ("figure1", "row1"),
        ("figure1", "row2"),
        ("figure1", "row3"),
        ("figure6", "row2-oblique"),
        ("figure6", "row3-small"),
    ],
)
def test_a_token_that_ends_elsewhere_changes_the_verdict_of_figures_1_and_6(key: str, panel: str) -> None:
    found = made(key)
    run = found.data[f"{panel}-end"]
    x = run.x[-1].copy()
    x[-1] = uniform(1, 3, 7)
    assert found.words(planted(found.data, f"{panel}-end", with_end(run, x)))[0] == "disagrees"


@pytest.mark.parametrize(
    ("key", "panel"), [("figure1", "row4"), ("figure1", "row5"), ("figure6", "row5-oblique")]
)
def test_tokens_that_stay_uniform_are_no_cloud(key: str, panel: str) -> None:
    found = made(key)
    run = found.data[f"{panel}-end"]
    assert (
        found.words(planted(found.data, f"{panel}-end", with_end(run, uniform(found.p["n"], 3, 4))))[1]
        == "disagrees"
    )


def test_one_cloud_is_not_two() -> None:
    found = made("figure1")
    run = found.data["row5-end"]
    x = run.x[-1] * np.where(run.x[-1, :, :1] < 0, -1.0, 1.0)  # all on one side
    assert found.words(planted(found.data, "row5-end", with_end(run, x)))[1] == "disagrees"


def test_figure_2_without_a_loss_disagrees() -> None:
    found = made("figure2")
    run = found.data["run"]
    assert (
        found.words(planted(found.data, "run", replace(run, x=np.broadcast_to(run.x[0], run.x.shape))))[0]
        == "disagrees"
    )


def test_figure_2_with_strong_centers_that_wander_disagrees() -> None:
    found = made("figure2")
    many = found.data["starts"]
    assert (
        found.words(
            planted(found.data, "starts", changed(many, strong_moved=many["only_renyi_moved"].values))
        )[1]
        == "disagrees"
    )
    wandering = changed(
        many,
        strong_moved=np.full(many.sizes["start"], 0.06),
        only_renyi_moved=np.full(many.sizes["start"], 0.4),
    )
    assert found.words(planted(found.data, "starts", wandering))[1] == "disagrees"


def test_figure_3_with_the_centers_exchanged_disagrees() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    exchanged = changed(data, renyi_1=data["strong_1"].values, strong_1=data["renyi_1"].values)
    assert found.words({"ensemble": exchanged})[0] == "disagrees"
    status = data["status"].values.copy()
    status[3] = 1 + found_done(data)
    assert found.words({"ensemble": changed(data, status=status)})[0] == "disagrees"


def found_done(data: xarray.Dataset) -> int:
    return int(data["status"].values[0])


def test_figure_3_with_few_tokens_consumed_disagrees() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    assert (
        found.words(
            {
                "ensemble": changed(
                    data, renyi_1=0.4 * data["renyi_1"].values, strong_1=0.3 * data["strong_1"].values
                )
            }
        )[1]
        == "disagrees"
    )
    late = np.broadcast_to(np.linspace(0.4, 1.0, data.sizes["time"]), data["renyi_1"].shape)
    assert found.words({"ensemble": changed(data, renyi_1=late, strong_1=0.5 * late)})[1] == "disagrees"


def test_figure_4_with_another_curve_disagrees() -> None:
    found = made("figure4")
    h = found.data["h"]
    assert (
        found.words({"h": changed(h, h=h["h"].values * (1 + 0.5 * np.cos(20 * h["x"].values)))})[0]
        == "disagrees"
    )
    assert found.words({"h": changed(h, searched=h["searched"].values + 1e-5)})[0] == "disagrees"
    assert found.words({"h": changed(h, h=0.9 * h["h"].values)})[1] == "disagrees"
    assert found.words({"h": changed(h, h=1.1 * h["h"].values)})[1] == "disagrees"


def test_the_slips_of_lemma_a1_are_told_only_where_the_data_show_them() -> None:
    found = made("figure4")
    h = found.data["h"]
    assert len(found.item.slips(found.numbers)) == 2
    fine = changed(h, beyond_margin=np.ones(h.sizes["beyond"]), small_margin=np.ones(h.sizes["small"]))
    assert found.item.slips(found.item.measure({"h": fine}, found.p)) == ()


def test_figure_5_with_negative_heads_disagrees() -> None:
    found = made("figure5")
    drawn = found.data["drawn"]
    real = drawn["real"].values.copy()
    real[2] -= 1.0
    assert found.words({"drawn": changed(drawn, real=real)})[0] == "disagrees"
    assert found.words({"drawn": changed(drawn, real=np.abs(drawn["real"].values))})[0] == "disagrees"


@pytest.mark.parametrize(
    ("heads", "word"),
    [((1, 6), "agrees"), ((0, 5), "agrees"), ((1,), "disagrees"), ((2, 3), "disagrees"), ((), "disagrees")],
)
def test_figure_5_judges_a_trained_model_by_its_negative_heads(heads: tuple[int, ...], word: str) -> None:
    found = made("figure5")
    drawn = found.data["drawn"]
    real, imaginary = drawn["real"].values.copy(), 0.0 * drawn["imaginary"].values
    real[list(heads)] -= 1.0
    trained = changed(drawn, real=real, imaginary=imaginary)
    assert found.words({"drawn": drawn, "trained": trained})[1] == word
    assert (
        found.words({"drawn": drawn, "trained": changed(trained, imaginary=imaginary + 0.1)})[1]
        == "disagrees"
    )
    assert found.words({"drawn": drawn})[1] == "not testable here"


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


def test_one_run_at_rest_elsewhere_is_evidence_against_row_3_and_none_is_no_evidence_for_it() -> None:
    found = made("table1")
    assert found.words(found.data)[2:4] == ["evidence for", "not testable here"]
    data = found.data["row3-oblique"]
    x = data["x"].values.copy()
    x[1, :, 5] = uniform(1, 3, 3)  # at rest: the same place in all frames
    assert found.words(planted(found.data, "row3-oblique", changed(data, x=x)))[2:4] == [
        "evidence for",
        "evidence against",
    ]
    x[1, 0, 5] = -x[1, 0, 5]  # not at rest: still on its way
    assert found.words(planted(found.data, "row3-oblique", changed(data, x=x)))[3] == "not testable here"
    against = found.item.verdicts(found.numbers, found.p)[3]
    assert "see Conjecture 1" in against.part
    assert "Conjecture 1 (below) has counter-examples" in against.why


def test_row_3_with_V_not_normal_fails_in_a_run_of_its_own_family() -> None:
    family = next(one for one in FAMILIES if one.name == "row3-oblique")
    ends = ends_of(_block(family, 0, range(453, 454)))
    assert ends.row[0] == 3
    assert ends.off[0] > 0.3
    assert ends.moved[0] < 1e-6  # at rest, by the rule of the item


@pytest.mark.parametrize(
    ("family", "part"),
    [("row4", 4), ("row5", 5), ("row4-oblique", 4), ("row5-oblique", 5), ("row5-sharp", 5)],
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


def test_conjecture_1_is_called_a_slip_only_if_the_counter_example_holds() -> None:
    found = made("table1")
    assert len(found.item.slips(found.numbers)) == 1
    data = found.data["counter"]
    x = np.broadcast_to([1.0, 0.0], data["x"].shape)
    assert (
        found.item.slips(found.item.measure(planted(found.data, "counter", changed(data, x=x)), found.p))
        == ()
    )
    moving = changed(data, speed=np.ones(data.sizes["run"]))
    assert found.item.slips(found.item.measure(planted(found.data, "counter", moving), found.p)) == ()


def test_one_life_that_does_not_end_at_the_first_token_disagrees() -> None:
    found = made("life")
    data = found.data["beta16"]
    off = data["off"].values.copy()
    off[1] = 1e-3
    assert found.words(planted(found.data, "beta16", changed(data, off=off)))[0] == "disagrees"
    whole = data["whole"].values.copy()
    whole[0] = 0.0
    assert found.words(planted(found.data, "beta16", changed(data, whole=whole)))[0] == "disagrees"


def slow_below(data: xarray.Dataset, beta: float) -> float:
    """Decades below e^{beta (1 - cos angle)}, life by life."""
    lives = zip(data["last_time"].values, data["two_from"].values, data["angle"].values, strict=True)
    return max(
        beta * (1 - np.cos(angle)) / np.log(10) - np.log10(end - since)
        for end, since, angle in lives
        if end > since
    )


def test_last_merges_at_other_times_are_evidence_against_the_law() -> None:
    found = made("life")
    data = found.data["beta16"]
    assert (
        found.words(planted(found.data, "beta16", changed(data, last_time=1.1 * data["last_time"].values)))[1]
        == "evidence against"
    )
    assert found.numbers["law_below"].value == pytest.approx(
        np.max([slow_below(found.data[f"beta{beta:g}"], beta) for beta in found.p["betas"]])
    )
    squared = {
        name: changed(found.data[name], last_time=found.data[name]["last_time"].values ** 1.5)
        for name in ("beta9", "beta16")
    }
    assert found.words({**found.data, **squared})[1] == "evidence against"
