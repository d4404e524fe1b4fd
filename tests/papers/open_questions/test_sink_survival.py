"""Who wins, by runs made up: x_1, another token, all at one place, or nobody; other data flip verdicts."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray
from support.small_items import made

import nucleate as nc
from nucleate.papers import find
from nucleate.papers.core.item import Data
from nucleate.papers.open_questions.sink_survival.data import overlaps
from nucleate.papers.open_questions.sink_survival.ingredients import INGREDIENTS, unit_mlp
from nucleate.papers.open_questions.sink_survival.measures import line, phase, shares, thresholds, wins

P = find("sink-survival").parameters
Won = Callable[[float, float], bool]
STRONG = 6.0


def runs(values: list[float], betas: list[float], starts: int, won: Won, other: Won) -> xarray.Dataset:
    """Cosines of 1 where a place has won, 0 where not; nobody wins under the full mask."""
    overlap = np.zeros((starts, len(values), len(betas), 4, 10))
    for i, value in enumerate(values):
        for b, beta in enumerate(betas):
            overlap[:, i, b, 0] = won(value, beta)
            overlap[:, i, b, 1] = other(value, beta)
    return xarray.Dataset({"overlap": (("start", "strength", "beta", "kind", "token"), overlap)})


def planted(other: Won = lambda value, beta: False, **instead: Won) -> Data:
    """As hypothesised: thresholds that fall with beta, depth e^(2 beta), and e^(4 beta) under Pre- and
    Peri-LN."""
    kinds: dict[str, Won] = {
        "rope": lambda s, beta: True,
        "alibi": lambda s, beta: s < 6.0 - beta,
        "noise": lambda s, beta: s < 0.1 * np.exp(-beta),
        "mix": lambda tau, beta: tau > np.exp(2.0 * beta),
        "pre": lambda t, beta: t > np.exp(4.0 * beta),
        "peri": lambda t, beta: t > np.exp(4.0 * beta),
        **dict.fromkeys(("none", "sqrt", "ngpt"), lambda t, beta: t > np.exp(2.0 * beta)),
        **dict.fromkeys(("mlp", "heads", "layers"), lambda s, beta: s < STRONG * np.exp(-beta)),
    } | instead
    data = {}
    for ingredient, case in P["cases"].items():
        won = kinds[ingredient]
        data[ingredient] = runs(case["values"], P["betas"], P["starts"], won, other)
        if case["axis"] != "depth":
            data[f"{ingredient}_held"] = runs(case["values"], P["held_betas"], P["held_starts"], won, other)
    return data


def words(data: Data) -> list[str]:
    item = find("sink-survival")
    return [verdict.word for verdict in item.verdicts(item.measure(data, P), P)]


def test_runs_as_hypothesised_are_observed_and_each_other_outcome_flips_its_verdict() -> None:
    assert words(planted()) == ["observed"] * 7
    for ingredient, won, flips in (
        ("rope", lambda s, beta: s < 0.5, 0),
        ("mlp", lambda s, beta: s < 0.2, 1),  # the same at every beta
        ("heads", lambda s, beta: True, 2),  # never lost
        ("layers", lambda s, beta: beta < 1.0 and s < 0.2, 3),  # not even at the weakest
        ("alibi", lambda s, beta: s < 0.5 + beta, 5),  # rises
        ("ngpt", lambda t, beta: t > np.exp(2.9 * beta), 6),  # later than without
    ):
        found = words(planted(**{ingredient: won}))
        assert [i for i, word in enumerate(found) if word == "not observed"] == [flips], ingredient


def test_where_any_other_token_wins_as_often_x_1_does_not() -> None:
    assert "observed" not in words(planted(other=lambda value, beta: True))


def test_a_line_that_held_out_runs_do_not_follow_is_not_observed() -> None:
    data = dict(planted())
    values = P["cases"]["mlp"]["values"]

    def by_beta(s: float, beta: float) -> bool:
        return s < np.exp(3.0 * beta - 6.0)

    data["mlp_held"] = runs(
        values, P["held_betas"], 8, lambda s, beta: s < np.exp(beta - 4.0), lambda s, b: False
    )
    assert words(data)[1] == "not observed"


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


def test_x_1_moves_alone_and_takes_all_with_it_where_nothing_else_pulls() -> None:
    found = overlaps("none", 1.0, 1.0, (6, 2), [40.0], True, 3)[0]  # (4, 5)
    np.testing.assert_allclose(found[0], 1.0, atol=1e-6)
    np.testing.assert_allclose(found[3], 1.0, atol=1e-6)
    assert found[1].max() < 0.99  # not where another would have been
    assert found[2].max() < 0.99  # nor without an order


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
