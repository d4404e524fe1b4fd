"""Who wins, by runs made up: x_1, another token, all at one place, or nobody; other data flip verdicts."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import xarray
from support.docs_scripts import study_script
from support.small_items import made

import nucleate as nc
from nucleate.papers import find
from nucleate.papers.core.item import Numbers
from nucleate.papers.core.numbers import Number
from nucleate.papers.open_questions.sink_survival.data import overlaps, starts_of
from nucleate.papers.open_questions.sink_survival.ingredients import INGREDIENTS, unit_mlp
from nucleate.papers.open_questions.sink_survival.measures import line, phase, shares, thresholds, wins
from nucleate.papers.open_questions.sink_survival.weak import UP_TO, WEAK, weak_numbers, weak_verdicts

FULL = find("sink-survival").parameters
P = {**FULL, "cases": {name: case for name, case in FULL["cases"].items() if name != "mix"}}
Won = Callable[[float, float], bool]
NO, OPEN = "not observed", "undecided"
TOGETHER = 7  # the verdict that MLP and heads cannot pass with one that falls exponentially


def runs(values: list[float], betas: list[float], starts: int, won: Won, other: Won) -> xarray.Dataset:
    """Cosines of 1 where a place has won, 0 where not; nobody wins under the full mask."""
    overlap = np.zeros((starts, len(values), len(betas), 4, 10))
    for i, value in enumerate(values):
        for b, beta in enumerate(betas):
            overlap[:, i, b, 0] = won(value, beta)
            overlap[:, i, b, 1] = other(value, beta)
    return xarray.Dataset({"overlap": (("start", "strength", "beta", "kind", "token"), overlap)})


# As hypothesised: thresholds that fall with beta, depth e^(2 beta), and e^(4 beta) under Pre- and Peri-LN
EXPECTED: dict[str, Won] = {
    "rope": lambda s, beta: True,
    "alibi": lambda s, beta: s < 3.9 - 0.5 * beta,
    "noise": lambda s, beta: s < 0.1 * np.exp(-beta),
    "pre": lambda t, beta: t > np.exp(4.0 * beta),
    "peri": lambda t, beta: t > np.exp(4.0 * beta),
    **dict.fromkeys(("none", "sqrt", "ngpt"), lambda t, beta: t > np.exp(2.0 * beta)),
    **dict.fromkeys(("mlp", "heads", "layers"), lambda s, beta: s < 7.0 * np.exp(-2.0 * beta)),
}


def nobody(value: float, beta: float) -> bool:
    return False


def measured(ingredient: str, won: Won, other: Won = nobody, held: Won | None = None) -> Numbers:
    """The numbers of one ingredient."""
    case = P["cases"][ingredient]
    data = {ingredient: runs(case["values"], P["betas"], starts_of(P, ingredient), won, other)}
    if case["axis"] != "depth":
        held = won if held is None else held
        data[f"{ingredient}_held"] = runs(case["values"], P["held_betas"], P["held_starts"], held, other)
    return find("sink-survival").measure(data, {**P, "cases": {ingredient: case}})


@cache
def expected() -> Numbers:
    """The numbers of all ingredients as hypothesised."""
    return {key: one for name, won in EXPECTED.items() for key, one in measured(name, won).items()}


def not_observed(ingredient: str, instead: Numbers) -> dict[int, str]:
    """The verdicts that are not "observed", the numbers of one ingredient being others than hypothesised."""
    rest = {key: one for key, one in expected().items() if not key.startswith(f"{ingredient}_")}
    verdicts = find("sink-survival").verdicts({**rest, **instead}, P)
    return {i: verdict.word for i, verdict in enumerate(verdicts) if verdict.word != "observed"}


@pytest.mark.parametrize(
    ("ingredient", "won", "flips"),
    [
        ("none", EXPECTED["none"], {}),
        ("rope", lambda s, beta: s < 0.5, {0: NO}),
        ("mlp", lambda s, beta: s < 0.2, {1: OPEN}),  # the same at every beta
        ("mlp", lambda s, beta: s < 0.02 * np.exp(1.5 * beta), {1: NO}),  # rises
        ("heads", lambda s, beta: True, {2: NO}),  # never lost
        ("heads", lambda s, beta: beta < 1.5, {2: NO}),  # lost at once, or never
        ("mlp", lambda s, beta: s < 30.0 * np.exp(-1.6 * beta**2), {1: NO}),  # a curve: not exponential
        ("layers", lambda s, beta: beta < 1.0 and s < 0.2, {3: NO}),  # not even at the weakest
        ("noise", lambda s, beta: s < 0.011, {4: OPEN}),  # the same at every beta
        ("alibi", lambda s, beta: s < 0.5 + beta, {5: NO, 6: NO}),  # rises
        ("alibi", lambda s, beta: s < 3.4, {5: OPEN, 6: OPEN}),  # the same at every beta
        ("alibi", lambda s, beta: s < 3.5 - (beta > 2.7), {5: OPEN, 6: NO}),  # a step at the last beta alone
        ("alibi", lambda s, beta: s < 3.55 - (beta > 2.2), {6: NO}),  # a step: it falls, not along a line
        ("alibi", lambda s, beta: s < 3.55 - 0.14 * beta**2, {6: NO}),  # a curve, faster than a line
        ("alibi", lambda s, beta: s < 2.1 + 1.8 * np.exp(-1.2 * beta), {6: NO}),  # and more slowly
        ("ngpt", lambda t, beta: t > np.exp(2.9 * beta), {8: NO}),  # later than without
        ("pre", lambda t, beta: t > np.exp(2.0 * beta), {8: NO}),  # in time at every beta
    ],
)
def test_runs_as_hypothesised_are_observed_and_each_other_outcome_flips_its_verdict(
    ingredient: str, won: Won, flips: dict[int, str]
) -> None:
    assert not_observed(ingredient, measured(ingredient, won)) == flips | {TOGETHER: NO}


def together(until: float, parts: float = np.inf) -> tuple[Won, Won]:
    """All end at x_1, to the strength `parts`; and from `until` on at another token in its place."""
    return lambda s, beta: s < parts, lambda s, beta: until < s < parts


@pytest.mark.parametrize(
    ("until", "parts", "word"),
    [
        (0.002, np.inf, "observed"),
        (np.inf, np.inf, NO),  # x_1 wins at every strength
        (0.0, np.inf, OPEN),  # another token as often, at the weakest too
        (0.002, 0.2, NO),  # they part
        (0.0, 0.0, NO),  # and from the weakest on
    ],
)
def test_all_together_at_every_strength_but_x_1_wins_below_one_only(
    until: float, parts: float, word: str
) -> None:
    found = dict(expected())
    for one in ("mlp", "heads"):
        found |= measured(one, *together(until, parts))
    verdict = find("sink-survival").verdicts(found, P)[TOGETHER]
    assert verdict.word == word
    if word == "observed":
        assert "an MLP: x_1 wins up to s = 0.001, 0.001, 0.001, 0.001" in verdict.why
        caught_up = found["mlp_alone_beta2"]
        assert (caught_up.low, caught_up.high) == pytest.approx(np.log([0.001, 0.003]))


def test_another_token_that_wins_seven_of_twelve_runs_leaves_it_undecided() -> None:
    case, p = P["cases"]["heads"], P
    some = runs(case["values"], P["betas"], 12, *together(0.002))
    some["overlap"][7:, -1, :, 1] = 0.0  # of starts at the largest strength, the other token's
    heads = find("sink-survival").measure({"heads": some}, {**P, "cases": {"heads": case}})
    found = {**expected(), **measured("mlp", *together(0.002)), **heads}
    verdict = find("sink-survival").verdicts(found, p)[TOGETHER]
    assert verdict.word == OPEN
    assert "0.583" in verdict.why


def ends(number: Number) -> tuple[float, float]:
    """Of the interval."""
    assert number.low is not None
    assert number.high is not None
    return number.low, number.high


def test_a_straight_fall_and_its_bend_are_found_within_their_intervals() -> None:
    straight = measured("alibi", lambda s, beta: s < 3.9 - 0.5 * beta)
    low, high = ends(straight["alibi_slope"])
    assert low < -0.5 < high < 0.0
    low, high = ends(straight["alibi_bend"])
    assert low < 0.0 < high
    curved = measured("alibi", lambda s, beta: s < 3.55 - 0.14 * beta**2)
    low, high = ends(curved["alibi_bend"])
    assert low < -0.14 < high < 0.0
    assert "faster than a line" in find("sink-survival").verdicts({**expected(), **curved}, P)[6].why


def test_a_coarse_grid_cannot_tell_a_line() -> None:
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
    p = {**P, "cases": {"alibi": {**P["cases"]["alibi"], "values": values}}}
    data = {
        "alibi": runs(values, P["betas"], 24, EXPECTED["alibi"], nobody),
        "alibi_held": runs(values, P["held_betas"], 8, EXPECTED["alibi"], nobody),
    }
    verdict = find("sink-survival").verdicts(find("sink-survival").measure(data, p), p)[2]
    assert "linearly" in verdict.part
    assert verdict.word == OPEN


@pytest.mark.parametrize(("won", "word"), [(12, "observed"), (8, OPEN), (1, NO)])
def test_a_point_with_one_half_in_its_interval_is_undecided(won: int, word: str) -> None:
    case = P["cases"]["rope"]
    some = runs(case["values"], P["betas"], 12, EXPECTED["rope"], nobody)
    some["overlap"][won:, 0, 0, 0] = 0.0  # of starts at one point
    rope = find("sink-survival").measure({"rope": some}, {**P, "cases": {"rope": case}})
    assert find("sink-survival").verdicts({**expected(), **rope}, P)[0].word == word


def test_where_any_other_token_wins_as_often_x_1_does_not() -> None:
    common = measured("mlp", EXPECTED["mlp"], other=lambda s, beta: True)
    assert not_observed("mlp", common) == {1: OPEN, TOGETHER: NO}
    assert common["mlp_first_alone"].value == 0.0
    assert expected()["mlp_other_alone"].value == 0.0


def test_a_line_that_held_out_runs_do_not_follow_is_not_observed() -> None:
    other_law = measured("mlp", EXPECTED["mlp"], held=lambda s, beta: s < np.exp(3.0 * beta - 6.0))
    assert not_observed("mlp", other_law) == {1: NO, TOGETHER: NO}


def test_a_run_is_won_by_nine_tenths_within_the_radius() -> None:
    overlap = np.full((3, 10), 0.9)  # 26 degrees
    overlap[1, 0] = overlap[2, :2] = 0.8  # 37 degrees
    assert wins(overlap).tolist() == [True, True, False]
    assert not wins(overlap, 15.0).any()
    assert wins(overlap, 60.0).all()
    many = np.zeros((12, 4, 10))
    many[:, 2] = np.nan
    assert phase(shares(many, "")) == "not"
    many[:6, 0] = 1.0
    assert phase(shares(many, "")) == "open"
    many[:, 0] = 1.0
    assert phase(shares(many, "")) == "x_1"
    many[:, 1] = 1.0
    assert phase(shares(many, "")) == "common"


def test_thresholds_lie_half_way_with_the_grid_s_cell_and_beyond_the_ends_are_infinite() -> None:
    axis, betas = np.arange(5.0), np.array([1.0, 2.0, 3.0, 4.0])
    won = np.zeros((3, 5, 4), dtype=bool)
    for b, count in enumerate((4, 3, 2, 0)):
        won[:, :count, b] = True
    found = thresholds(won, axis, rising=False)
    assert [one.value for one in found] == [3.5, 2.5, 1.5, -np.inf]
    assert [(one.low, one.high) for one in found[:3]] == [(3.0, 4.0), (2.0, 3.0), (1.0, 2.0)]
    assert (found[3].low, found[3].high) == (-np.inf, 0.0)
    law = line(found, betas)
    assert law is not None
    assert (law.level, law.slope, law.bend) == pytest.approx((4.5, -1.0, 0.0))
    assert law.slope_interval == pytest.approx((-1.5, -0.5))  # from corner to corner of the cells
    assert thresholds(~won, axis, rising=True)[0].value == 3.5
    always = thresholds(np.ones((3, 5, 1), dtype=bool), axis, rising=False)[0]
    assert (always.value, always.low, always.high) == (np.inf, 4.0, np.inf)
    assert line(found[:2], betas[:2]) is None


def test_the_threshold_of_noisy_outcomes_is_where_half_the_runs_are_won() -> None:
    axis = np.arange(9.0)
    half = 4.3
    chance = 1.0 / (1.0 + np.exp(axis - half))  # (value,), of a run to be won
    values, inside = [], 0
    for seed in range(40):
        won = np.random.default_rng(seed).random((24, 9, 1)) < chance[:, None]
        found = thresholds(won, axis, rising=False)[0]
        values.append(found.value)
        inside += found.low <= half <= found.high
    assert np.mean(values) == pytest.approx(half, abs=0.15)  # 40 of standard deviation 0.4
    assert inside >= 36  # of 40, by a 95 % interval out to the edges of cells


def test_all_end_at_x_1_and_the_nulls_are_where_they_say() -> None:
    found = overlaps("none", 1.0, 1.0, (6, 2), [40.0], True, 3)[0]  # (4, 5)
    np.testing.assert_allclose(found[[0, 3]], 1.0, atol=1e-6)
    x0 = nc.uniform(6, 2, 3)  # alone, a token stays where it is
    other = int(np.random.default_rng([3, 4]).integers(1, 6))
    np.testing.assert_allclose(found[1], x0[other] @ x0[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[2, 0], atol=1e-6)  # one place under the full mask too
    assert found[2, 0] < 0.99


def test_every_ingredient_leaves_a_causal_model_and_an_mlp_of_unit_length() -> None:
    W, a = unit_mlp(3, 5)
    x = nc.uniform(20_000, 3, 0)
    u = np.maximum(x @ a.T, 0.0) @ W.T
    assert np.sqrt((u * u).sum(1).mean()) == pytest.approx(1.0, rel=0.05)  # 4000 samples
    x = nc.uniform(5, 4, 1)
    for name, make in INGREDIENTS.items():
        model = make(0.5, 2.0, 4, 4.0, "causal", 1)
        if name != "noise" and not isinstance(model, nc.Layers):
            np.testing.assert_allclose(nc.drift(model, x)[:3], nc.drift(model, x[:3]), atol=1e-12)


def test_a_small_run_has_a_number_for_every_point() -> None:
    found = made("sink-survival")
    assert found.numbers["none_300_beta0.5_first"].value == 1.0
    assert {"mlp_0.01_beta0.5_first", "mlp_0.01_beta0.5_other", "mlp_0.01_beta0.5_full"} <= set(found.numbers)
    assert "mlp_3_beta0.5_full" not in found.numbers
    assert {"mlp_threshold_beta0.5", "mlp_alone_beta0.5"} <= set(found.numbers)


def test_quick_has_starts_enough_to_see_x_1_win_though_it_loses_once_and_a_null_wins_once() -> None:
    p = find("sink-survival").parameters_of(True)
    numbers: dict[str, Number] = {}
    for name, case in p["cases"].items():
        won = EXPECTED["none"] if case["rising"] else lambda value, beta: True
        some = runs(case["values"], p["betas"], starts_of(p, name), won, nobody)
        some["overlap"][0, :, :, 1] = 1.0
        some["overlap"][1, :, :, 0] = 0.0
        numbers |= find("sink-survival").measure({name: some}, {**p, "cases": {name: case}})
    assert find("sink-survival").verdicts(numbers, p)[0].word == "observed"


def test_the_larger_runs_say_their_cost_first_and_go_on_where_they_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    large = study_script("sink_large")
    cases = {name: {**large.CASES[name], "depth": 1.0, "starts": 3} for name in ("rope", "noise")}
    monkeypatch.setattr(large, "SIZES", ((5, 2),))
    monkeypatch.setattr(large, "CASES", cases)
    monkeypatch.setattr(large, "LARGE", {**large.LARGE, "betas": [1.0], "cases": cases})
    large.main(str(tmp_path))
    told = capsys.readouterr().out
    assert told.startswith(f"About {large.COST}, less what")
    assert sum(line.startswith("n = 5, d = 2, noise") for line in told.splitlines()) == 7
    first, second = sorted((tmp_path / "n5-d2").glob("noise-*.zarr"))
    written = first.stat().st_mtime_ns
    shutil.rmtree(second)
    large.main(str(tmp_path))
    assert second.exists()
    assert first.stat().st_mtime_ns == written
    assert capsys.readouterr().out == told


def weak_words(first: int, other: int, beyond: tuple[int, int], name: str = "n32-d4") -> list[str]:
    """The two verdicts of an MLP, if of 40 starts so many end at x_1 and at another token in its place, up to
    UP_TO and beyond it; with heads and layers the same."""
    p = WEAK[name]
    data = {}
    for one, case in p["cases"].items():
        values, starts = case["values"], p["starts"]
        overlap = np.zeros((starts, len(values), len(p["betas"]), 4, 10))
        for i, value in enumerate(values):
            won, also = (first, other) if value <= UP_TO[one] else beyond
            overlap[:won, i, :, 0] = overlap[:also, i, :, 1] = 1.0
        overlap[:, 1:, :, 2] = np.nan  # the full mask was run at the weakest strength only
        data[one] = xarray.Dataset({"overlap": (("start", "strength", "beta", "kind", "token"), overlap)})
    every: list[str] = [verdict.word for verdict in weak_verdicts(dict(weak_numbers(data, p)), p)]
    assert every == every[:2] * 3
    return every[:2]


def test_planted_starts_change_the_verdicts_on_weak_strengths() -> None:
    assert weak_words(40, 2, (40, 38)) == ["observed", "observed"]
    assert weak_words(40, 2, (40, 18)) == ["observed", NO]  # with more starts it wins there too
    assert weak_words(40, 2, (40, 33)) == ["observed", "observed"]  # alone in 7 of 40
    assert weak_words(40, 35, (40, 38))[0] == OPEN
    assert weak_words(20, 2, (40, 38))[0] == OPEN
    assert weak_words(10, 2, (40, 38))[0] == NO
    # so few starts leave open what 40 decide
    assert weak_words(12, 1, (12, 6), "n32-d8") == ["observed", OPEN]


def test_weak_strengths_have_starts_that_no_other_run_had() -> None:
    large, seen = study_script("sink_large"), {5000, 5001, 5002}
    for p in (FULL, {**FULL, **find("sink-survival").quick}, large.LARGE):
        most = max(starts_of(p, name) for name in p["cases"])
        seen |= set(range(p["first_seed"], p["first_seed"] + most))
        seen |= set(range(p["held_seed"], p["held_seed"] + p["held_starts"]))
    for p in WEAK.values():
        assert seen.isdisjoint(range(p["first_seed"], p["first_seed"] + p["starts"]))
        for name, case in p["cases"].items():
            assert UP_TO[name] in case["values"][:-1]


def test_a_threshold_whose_interval_has_no_end_is_not_drawn() -> None:
    from nucleate.papers.open_questions.sink_survival.figures import ALONE, draw

    item = find("sink-survival")
    values = FULL["cases"]["heads"]["values"]
    for never, drawn in ((0, True), (5, False)):  # of 12 starts, where another token never wins as well
        data = runs(values, P["betas"], starts_of(P, "heads"), lambda s, b: True, nobody)
        data["overlap"][never:, values.index(0.03) :, :, 1] = 1.0
        p = {**P, "cases": {"heads": P["cases"]["heads"]}, "held_starts": 0}
        numbers = item.measure({"heads": data}, p)
        panel = draw({}, numbers, p)["sink-survival"].axes[0]
        dashed = [one for one in panel.lines if one.get_color() == ALONE and one.get_linestyle() == "--"]
        assert len(dashed) == (len(P["betas"]) if drawn else 0)
