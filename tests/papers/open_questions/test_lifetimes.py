"""Lifetimes on spheres: merges and lifetimes planted in the data change the verdicts."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from scipy.optimize import linprog
from support.docs_scripts import study_script
from support.small_items import SMALL, made

from nucleate.papers import find
from nucleate.papers.open_questions.lifetimes.data import cells
from nucleate.papers.open_questions.lifetimes.figures import draw
from nucleate.papers.open_questions.lifetimes.item import LARGE
from nucleate.papers.open_questions.lifetimes.measures import fitted_line, merged, seeds_of

P: dict[str, Any] = {
    **find("lifetimes").parameters,
    "cells": [[d, beta, 100, 6, use] for d in (2, 3) for beta, use in ((16.0, "fit"), (25.0, "test"))],
}


def planted(
    slope: float = 1.0, ratio: float = 30.0, off: float = 0.001, late: float = 0.0, spread: float = 0.0
) -> dict[str, xarray.Dataset]:
    """Merges on a line of that slope, centers that stay so much longer than guaranteed; the exact law has the
    slope less `late`, but for what each start adds of its own."""
    rng, data = np.random.default_rng(0), {}
    for d, beta, _, starts, _ in P["cells"]:
        angle, weight = rng.uniform(0.9, 2.5, (starts, 9)), rng.integers(1, 20, (starts, 9)) * 1.0
        law = beta * (1.0 - np.cos(angle)) - np.log(weight * beta * np.sin(angle) ** 2)
        log_time = law + (slope - 1.0) * beta * (1.0 - np.cos(angle))
        own = late + spread * rng.standard_normal((starts, 1))
        exact = log_time - off - own * beta * (1.0 - np.cos(angle))
        promised = rng.uniform(1.0, 9.0, (starts, 9))
        values = {"angle": angle, "weight": weight, "log_time": log_time, "law": exact}
        values |= {"promised": promised, "lifetime": ratio * promised, "until": np.full((starts, 9), 1e9)}
        data[f"d{d}_beta{beta:g}"] = xarray.Dataset(
            {name: (("start", "rank"), array) for name, array in values.items()}
        )
    return data


def words(data: dict[str, xarray.Dataset]) -> list[str]:
    item = find("lifetimes")
    return [verdict.word for verdict in item.verdicts(item.measure(data, P), P)]


def test_planted_lifetimes_change_the_verdicts() -> None:
    assert words(planted()) == ["observed"] * 5
    # a slope that the exact law has too is the formula's
    assert words(planted(slope=0.8)) == ["observed", "observed", "not observed", "observed", "observed"]
    assert words(planted(ratio=5.0)) == ["observed", "not observed", "observed", "observed", "observed"]
    assert words(planted(ratio=0.5))[:2] == ["not observed", "not observed"]
    assert words(planted(off=0.1))[3:] == ["not observed", "observed"]
    assert words(planted(late=0.2))[3:] == ["not observed", "not observed"]
    assert words(planted(spread=0.2))[4] == "undecided"


def test_the_slope_of_the_exact_law_is_that_of_its_times() -> None:
    numbers = find("lifetimes").measure(planted(slope=0.8, late=0.1), P)
    assert numbers["d3_slope"].value == pytest.approx(0.8, abs=1e-6)
    assert numbers["d3_slope_exact"].value == pytest.approx(0.7, abs=1e-6)
    assert numbers["d3_slope_off"].value == pytest.approx(0.1, abs=1e-6)


def test_errors_of_exactly_zero_are_observed() -> None:
    data = planted(off=0.0)
    numbers = find("lifetimes").measure(data, P)
    assert (numbers["d3_exact"].value, numbers["d3_exact"].high) == (0.0, 0.0)
    assert words(data) == ["observed"] * 5


def test_a_life_in_which_nothing_has_formed_is_left_out_of_the_medians_that_say_so() -> None:
    data = planted()
    found = data["d3_beta25"]
    wide = {name: np.tile(found[name].values, 7) for name in found}  # 63 merges of 100 tokens
    for values in wide.values():
        values[1:, 9:] = np.nan
    wide["law"][0] += 5.0
    wide["log_time"][0] += 5.0 * (np.arange(63) % 2)
    data["d3_beta25"] = xarray.Dataset({name: (("start", "rank"), one) for name, one in wide.items()})
    numbers = find("lifetimes").measure(data, P)
    assert numbers["d3_held_out_formed"].value == pytest.approx(0.0, abs=1e-6)
    assert numbers["d3_exact_formed"].value == pytest.approx(0.001)
    assert numbers["d3_exact_90"].value > 4.0
    assert numbers["d2_exact_formed"].value == numbers["d2_exact"].value


def test_one_start_at_two_beta_is_drawn_as_one() -> None:
    twice = {**P, "cells": [[3, beta, 0, 6, "fit"] for beta in (16.0, 36.0)]}
    data = planted()
    data["d3_beta36"] = data["d3_beta25"]
    assert len(set(merged(data, twice, lambda cell: True).start.tolist())) == 6
    assert len(set(merged(data, P, lambda cell: cell.d == 3).start.tolist())) == 12  # fit, and test


def test_a_few_far_points_do_not_move_the_line() -> None:
    x = np.linspace(4.0, 40.0, 60)
    y = 1.1 * x - 2.0
    y[::15] -= 12.0
    slope, intercept = fitted_line(x, y)
    assert slope == pytest.approx(1.1, abs=1e-3)
    assert intercept == pytest.approx(-2.0, abs=1e-2)


@pytest.mark.parametrize("seed", range(5))
def test_the_line_has_the_least_sum_of_residuals(seed: int) -> None:
    """As a linear program has it, with points that are drawn twice."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(25, size=25)
    x, y = rng.uniform(4.0, 10.0, 25)[drawn], rng.standard_cauchy(25)[drawn]
    line, one = np.column_stack([x, np.ones(25)]), np.eye(25)
    least = linprog(
        np.r_[0.0, 0.0, np.ones(25)],
        np.block([[line, -one], [-line, -one]]),
        np.r_[y, -y],
        bounds=[(None, None)] * 2 + [(0.0, None)] * 25,
    )
    slope, intercept = fitted_line(x, y)
    assert np.abs(y - slope * x - intercept).sum() == pytest.approx(least.fun, rel=1e-9)


def test_merges_of_the_small_item_follow_the_exact_law() -> None:
    numbers = made("lifetimes").numbers
    assert numbers["d3_exact"].value < 0.1
    assert numbers["d3_null"].value > numbers["d3_held_out"].value
    assert numbers["d3_least"].value > 1.0


def test_the_larger_runs_have_seeds_of_their_own_say_their_cost_first_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    item, large = find("lifetimes"), study_script("lifetimes_large")
    seeds = [
        {seed for cell in cells(p) for seed in seeds_of(p, cell)}
        for p in ({**item.parameters, **LARGE}, item.parameters, {**item.parameters, **item.quick})
    ]
    assert seeds[0].isdisjoint(seeds[1] | seeds[2])
    small = {**SMALL["lifetimes"], "first_seed": LARGE["first_seed"]}
    monkeypatch.setattr(large, "LARGE", small)
    large.main(str(tmp_path))
    told = capsys.readouterr().out
    assert told.startswith(f"About {large.COST}, less what")
    assert "observed: strong centers of uniform starts" in told
    first, *_, last = sorted((tmp_path / "data" / "lifetimes").glob("*.zarr"))
    written = first.stat().st_mtime_ns
    shutil.rmtree(last)
    large.main(str(tmp_path))
    assert last.exists()
    assert first.stat().st_mtime_ns == written


def test_a_dimension_has_the_same_colour_whichever_others_are_drawn() -> None:
    found, p = made("lifetimes"), {**find("lifetimes").parameters, **SMALL["lifetimes"]}
    without = {**p, "cells": [cell for cell in p["cells"] if cell[0] != 2]}
    assert len(without["cells"]) < len(p["cells"])

    def colours(p: dict[str, Any]) -> dict[str, Any]:
        left = draw(found.data, found.numbers, p)["lifetimes"].axes[0]
        labels = [(str(line.get_label()), line.get_color()) for line in left.lines]
        return {label.split(",")[0]: colour for label, colour in labels if label.startswith("d = ")}

    every, some = colours(p), colours(without)
    assert "d = 2" in every
    assert "d = 2" not in some
    assert {label: every[label] for label in some} == some
    assert len(set(every.values())) == len(every)
