"""Clusters over ln t / beta: counted by hand, and other curves change the verdicts."""

from dataclasses import replace
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
    ratio_values,
    scaled_counts,
)

STARTS = 300

P: dict[str, Any] = {
    "limit_n": {"2": 400},
    "limit_starts": STARTS,
    "small_angles": {"2": [0.25, 0.5]},
    "predicted": [[2, 64.0, 0], [2, 256.0, 0], [2, 1024.0, 0]],
    "starts": {"2": 12},
    "first_start": 0,
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


def test_bounds_are_held_by_whole_intervals() -> None:
    """A value within its bound is undecided where the interval has the bound in it."""
    item = find("cluster-counts")
    numbers = dict(item.measure(planted(), P))

    def word(i: int, name: str, value: float, low: float, high: float) -> str:
        one = replace(numbers[name], value=value, low=low, high=high)
        return item.verdicts({**numbers, name: one}, P)[i].word

    for i, name, bound in ((0, "d2_beta1024_off", 0.05), (2, "d2_beta64_simulated", 0.03)):
        off = [replace(numbers[f"d2_beta{b:g}_off"], value=1.0, low=0.9, high=1.1) for b in (64.0, 256.0)]
        for key, one, by in zip(("d2_beta64_off", "d2_beta256_off"), off, (1.0, 0.5), strict=True):
            numbers[key] = replace(one, value=by, low=0.9 * by, high=1.1 * by)  # fall, well apart
        assert word(i, name, 0.5 * bound, 0.4 * bound, 0.9 * bound) == "observed"
        assert word(i, name, 0.5 * bound, 0.0, 1.1 * bound) == "undecided"
        assert word(i, name, 2.0 * bound, 1.1 * bound, 3.0 * bound) == "not observed"
    assert word(1, "d2_drift", 1.03, 1.02, 1.039) == "observed"
    assert word(1, "d2_drift", 1.03, 1.01, 1.05) == "undecided"
    assert word(1, "d2_drift", 1.06, 1.05, 1.07) == "not observed"
    assert word(1, "d2_kappa_small", 1.1, 0.9, 1.3) == "undecided"
    assert word(4, "d2_held_limit", 1.0, 0.95, 1.05) == "undecided"


def test_the_interval_of_kappa_has_the_drift_to_twice_the_angle_in_it() -> None:
    found = find("cluster-counts").measure(planted(), P)
    small, one, drift = (found[f"d2_{name}"] for name in ("kappa_small", "kappa", "drift"))
    assert small.value == one.value
    assert small.ends[1] - one.ends[1] == pytest.approx(abs(drift.value - 1.0) * one.value)
    assert drift.value == pytest.approx(found["d2_kappa_wide"].value / one.value)


def test_intervals_of_distances_are_students_over_starts_and_end_at_0() -> None:
    found = find("cluster-counts").measure(planted(), P)["d2_beta64_off"]
    assert found.how == "95 % interval of the mean of 12"
    data = planted()
    loss = data["simulated_d2_beta64"]["loss"].values.copy()
    loss[0] *= 0.5
    one = {**data, "simulated_d2_beta64": data["simulated_d2_beta64"].copy(data={"loss": loss})}
    found = find("cluster-counts").measure(one, P)["d2_beta64_simulated"]
    assert found.low == 0.0
    assert found.high is not None
    assert found.high > 3.0 * found.value  # drawing starts again it is less


def test_a_ratio_of_means_has_its_error_from_pairs() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(2.0, 0.3, 400)
    assert ratio_values(2.0 * one, one) == pytest.approx(np.full(400, 2.0))  # together: no error
    other = ratio_values(rng.normal(2.0, 0.3, 400), one)
    assert other.mean() == pytest.approx(1.0, abs=0.03)
    assert other.std() == pytest.approx(0.15 * np.sqrt(2.0), rel=0.1)


def test_the_last_merge_simulated_is_held_against_prediction_and_limit_of_its_start() -> None:
    found = find("cluster-counts").measure(planted(), P)
    assert found["d2_beta64_last_off"].value == 0.0
    assert found["d2_beta64_last_null"].value > 0.1
    assert found["d2_beta64_last_limit"].value == pytest.approx(-6.0 / 64.0)  # the planted shift
    data = planted()
    longer = data["simulated_d2_beta64"].copy(data={"loss": data["simulated_d2_beta64"]["loss"].values + 6.4})
    off = find("cluster-counts").measure({**data, "simulated_d2_beta64": longer}, P)
    assert off["d2_beta64_last_predicted"].value == pytest.approx(0.1)
