"""Clusters over ln t / beta: counted by hand, and other curves change the verdicts."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import made

from nucleate.checks import Array
from nucleate.papers import find
from nucleate.papers.open_questions.cluster_counts.data import one_limit
from nucleate.papers.open_questions.cluster_counts.measures import (
    GRID,
    counts,
    distances,
    plateaus,
    scaled_counts,
)

STARTS = 300

P: dict[str, Any] = {
    "limit_n": {"2": 400},
    "limit_starts": STARTS,
    "small_angles": {"2": [0.25, 0.5]},
    "predicted": [[2, 64.0, 0], [2, 256.0, 0], [2, 1024.0, 0]],
    "starts": {"2": 12},
    "simulated": [[2, 64.0, 0]],
    "held": [[2, 256.0, 0]],
}


@cache
def limits(first: int, starts: int) -> Array:
    """Angles of causal single linkage, (starts, rank)."""
    return np.stack([one_limit(400, 2, seed) for seed in range(first, first + starts)])


def planted(shift: float = 6.0) -> dict[str, xarray.Dataset]:
    """Losses at ln t = beta (1 - cos D) - shift, as the two-token law has them."""
    angle = limits(0, STARTS)
    level = 1.0 - np.cos(angle[:12])
    data = {"limit_d2": angle} | {f"predicted_d2_beta{b:g}": b * level - shift for b in (64.0, 256.0, 1024.0)}
    data["simulated_d2_beta64"] = data["predicted_d2_beta64"].copy()  # perfect
    data["held_d2_beta256"] = 256.0 * (1.0 - np.cos(limits(1000, 40))) - 0.1
    return {name: xarray.Dataset({"loss": (("start", "rank"), values)}) for name, values in data.items()}


def words(data: dict[str, xarray.Dataset]) -> list[str]:
    item = find("cluster-counts")
    return [verdict.word for verdict in item.verdicts(item.measure(data, P), P)]


def with_plateaus(data: dict[str, xarray.Dataset], shape: float) -> dict[str, xarray.Dataset]:
    """With plateaus whose lengths have the Gamma law of that shape, 1 for exponential ones, in the limit."""
    clusters = np.arange(2, 60)
    length = np.random.default_rng(3).gamma(shape, 1.0 / shape, (400, 58)) / clusters**2  # (start, plateau)
    level = np.cumsum(length[:, ::-1], 1)[:, ::-1]  # (start, rank) the last loss first
    angle = np.arccos(1.0 - 1.9 * level / level.max())
    return {**data, "limit_d2": xarray.Dataset({"loss": (("start", "rank"), angle)})}


def test_exponential_plateaus_are_observed_and_others_are_not() -> None:
    data = planted()
    assert words(with_plateaus(data, 1.0))[3] == "observed"
    assert words(with_plateaus(data, 2.0))[3] == "not observed"
    assert words(with_plateaus(data, 0.7))[3] == "not observed"


def test_curves_that_become_those_of_their_starts_are_observed_and_others_are_not() -> None:
    data = planted()
    assert words(data)[:3] == ["observed"] * 3
    stay = {**data, "predicted_d2_beta1024": data["predicted_d2_beta1024"] * 0.8}  # no limit of ln t / beta
    assert words(stay)[:3] == ["not observed", "observed", "observed"]
    others = {**data, "simulated_d2_beta64": data["simulated_d2_beta64"].roll(start=1)}
    assert words(others)[:3] == ["observed", "observed", "not observed"]
    few = {**data, "limit_d2": data["limit_d2"].where(data["limit_d2"]["rank"] < 8)}  # never more than 9 left
    assert words(few)[1] == "not observed"


def test_a_perfect_simulation_is_observed_and_one_that_one_start_alone_speaks_against_undecided() -> None:
    data, item = planted(), find("cluster-counts")
    perfect = item.measure(data, P)["d2_beta64_simulated"]
    assert (perfect.value, perfect.low, perfect.high) == (0.0, 0.0, 0.0)
    assert words(data)[2] == "observed"
    loss = data["simulated_d2_beta64"]["loss"].values.copy()
    loss[0] *= 0.5
    one = {**data, "simulated_d2_beta64": data["simulated_d2_beta64"].copy(data={"loss": loss})}
    assert words(one)[2] == "undecided"


def test_a_limit_that_is_met_exactly_is_observed() -> None:
    data = planted()
    level = 1.0 - np.cos(limits(0, STARTS)[:12])
    data["predicted_d2_beta1024"] = data["predicted_d2_beta1024"].copy(
        data={"loss": np.where(1024.0 * level > 0.0, 1024.0 * level, np.nan)}
    )
    off = find("cluster-counts").measure(data, P)["d2_beta1024_off"]
    assert (off.value, off.low, off.high) == (0.0, 0.0, 0.0)
    assert words(data)[0] == "observed"


def test_counts_of_other_starts_are_held_against_the_constant_of_the_first_half() -> None:
    data = planted()
    assert words(data)[4:] == ["observed", "observed"]
    loss = data["limit_d2"]["loss"].values
    # the other half has a fifth of its clusters less
    other = np.arange(STARTS)[:, None] >= STARTS // 2
    fewer = np.where(other & (np.arange(loss.shape[1]) % 5 == 0), 0.0, loss)
    assert words({**data, "limit_d2": data["limit_d2"].copy(data={"loss": fewer})})[4:] == [
        "not observed",
        "observed",
    ]
    assert words({**data, "held_d2_beta256": 0.7 * data["held_d2_beta256"]})[4:] == [
        "observed",
        "not observed",
    ]


def test_counts_times_the_share_of_the_sphere_are_those_at_the_angles() -> None:
    level = 1.0 - np.cos(np.array([[1.0, 0.5, 0.2]]))
    expected = np.mean([4.0 * 0.1 / np.pi, 3.0 * 0.3 / np.pi])
    assert scaled_counts(level, 2, np.array([0.1, 0.3])) == pytest.approx([expected])


def test_counts_are_losses_after_the_time_and_one() -> None:
    loss = np.array([[30.0, 10.0, 1.0, np.nan]])
    found = counts(loss, 20.0)[0]
    assert found.tolist() == [1.0 + sum(one > 20.0 * at for one in (30.0, 10.0, 1.0)) for at in GRID]
    assert plateaus(loss, 2).tolist() == [20.0]
    assert distances(np.full((1, 99), 2.0), np.full((1, 99), 1.0)) == pytest.approx([np.log(2.0)])


def test_predictions_and_simulations_of_a_start_belong_together() -> None:
    found = made("cluster-counts")
    assert found.numbers["d2_beta16_simulated"].value < found.numbers["d2_beta16_simulated_null"].value
