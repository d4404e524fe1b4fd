"""Who wins, by runs made up: x_1, another token, all at one place, or nobody; other data flip verdicts."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import xarray
from support.small_items import made

import nucleate as nc
from nucleate.papers import find
from nucleate.papers.core.item import Numbers
from nucleate.papers.open_questions.sink_survival.data import overlaps
from nucleate.papers.open_questions.sink_survival.ingredients import INGREDIENTS, unit_mlp
from nucleate.papers.open_questions.sink_survival.measures import line, phase, shares, thresholds, wins

FULL = find("sink-survival").parameters
P = {**FULL, "cases": {name: case for name, case in FULL["cases"].items() if name != "mix"}}
Won = Callable[[float, float], bool]


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
    "alibi": lambda s, beta: s < 6.0 - beta,
    "noise": lambda s, beta: s < 0.1 * np.exp(-beta),
    "pre": lambda t, beta: t > np.exp(4.0 * beta),
    "peri": lambda t, beta: t > np.exp(4.0 * beta),
    **dict.fromkeys(("none", "sqrt", "ngpt"), lambda t, beta: t > np.exp(2.0 * beta)),
    **dict.fromkeys(("mlp", "heads", "layers"), lambda s, beta: s < 6.0 * np.exp(-beta)),
}


def nobody(value: float, beta: float) -> bool:
    return False


def measured(ingredient: str, won: Won, other: Won = nobody, held: Won | None = None) -> Numbers:
    """The numbers of one ingredient."""
    case = P["cases"][ingredient]
    data = {ingredient: runs(case["values"], P["betas"], P["starts"], won, other)}
    if case["axis"] != "depth":
        held = won if held is None else held
        data[f"{ingredient}_held"] = runs(case["values"], P["held_betas"], P["held_starts"], held, other)
    return find("sink-survival").measure(data, {**P, "cases": {ingredient: case}})


@cache
def expected() -> Numbers:
    """The numbers of all ingredients as hypothesised."""
    return {key: one for name, won in EXPECTED.items() for key, one in measured(name, won).items()}


def not_observed(ingredient: str, instead: Numbers) -> list[int]:
    """The verdicts that are so, the numbers of one ingredient being others than hypothesised."""
    rest = {key: one for key, one in expected().items() if not key.startswith(f"{ingredient}_")}
    verdicts = find("sink-survival").verdicts({**rest, **instead}, P)
    return [i for i, verdict in enumerate(verdicts) if verdict.word == "not observed"]


@pytest.mark.parametrize(
    ("ingredient", "won", "flips"),
    [
        ("none", EXPECTED["none"], []),
        ("rope", lambda s, beta: s < 0.5, [0]),
        ("mlp", lambda s, beta: s < 0.2, [1]),  # the same at every beta
        ("heads", lambda s, beta: True, [2]),  # never lost
        ("layers", lambda s, beta: beta < 1.0 and s < 0.2, [3]),  # not even at the weakest
        ("alibi", lambda s, beta: s < 0.5 + beta, [5]),  # rises
        (
            "alibi",
            lambda s, beta: s < 3.5 - (beta > 2.7),
            [5],
        ),  # one step of the grid, at the last beta alone
        ("ngpt", lambda t, beta: t > np.exp(2.9 * beta), [6]),  # later than without
    ],
)
def test_runs_as_hypothesised_are_observed_and_each_other_outcome_flips_its_verdict(
    ingredient: str, won: Won, flips: list[int]
) -> None:
    assert not_observed(ingredient, measured(ingredient, won)) == flips


def test_where_any_other_token_wins_as_often_x_1_does_not() -> None:
    common = measured("mlp", EXPECTED["mlp"], other=lambda s, beta: True)
    assert not_observed("mlp", common) == [1]
    assert common["mlp_first_alone"].value == 0.0
    assert expected()["mlp_other_alone"].value == 0.0


def test_a_line_that_held_out_runs_do_not_follow_is_not_observed() -> None:
    other_law = measured("mlp", EXPECTED["mlp"], held=lambda s, beta: s < np.exp(3.0 * beta - 6.0))
    assert not_observed("mlp", other_law) == [1]


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


def test_thresholds_lie_half_way_and_beyond_the_ends_are_infinite() -> None:
    axis, betas = np.arange(5.0), np.array([1.0, 2.0, 3.0, 4.0])
    won = np.zeros((3, 5, 4), dtype=bool)
    for b, count in enumerate((4, 3, 2, 0)):
        won[:, :count, b] = True
    found = thresholds(won, axis, rising=False)
    assert [one.value for one in found] == [3.5, 2.5, 1.5, -np.inf]
    law = line(found, betas)
    assert law is not None
    assert law == pytest.approx((4.5, -1.0, -1.0, -1.0))
    assert thresholds(~won, axis, rising=True)[0].value == 3.5


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
