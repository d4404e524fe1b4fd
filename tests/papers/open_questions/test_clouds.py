"""Clouds: exponents planted in the data change the verdicts, and one kind of model is what it says."""

from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import SMALL, made

from nucleate.papers import find
from nucleate.papers.open_questions.clouds.data import (
    KINDS,
    Draw,
    again_seeds,
    dominant_space,
    drawn_model,
    picked,
    table,
)
from nucleate.papers.open_questions.clouds.item import LARGE
from nucleate.papers.open_questions.clouds.measures import held_out, rule_hits, seed_share

SPHERES = {"kinds": ["general", "all", "symmetric", "scores"], "betas": [4.0], "draws": 8}
P: dict[str, Any] = {
    **find("clouds").parameters,
    "sets": {
        "circle": {"kinds": ["general"], "d_n": [[2, 64]], "betas": [4.0], "draws": 8},
        "gradient": {"kinds": ["gradient"], "d_n": [[3, 64]], "betas": [4.0], "draws": 4},
        "spheres": {**SPHERES, "d_n": [[3, 64]]},
        "eight": {**SPHERES, "d_n": [[8, 64]]},
        "long": {"kinds": ["general"], "d_n": [[4, 64]], "betas": [16.0], "draws": 4},
    },
    "again": {"picked": 1, "n": 64, "starts": 6},
}


def planted(**exponents: float) -> dict[str, xarray.Dataset]:
    """Largest exponents by kind, -0.01 where none is given, in the last token; -0.1 in all others."""
    rng, data = np.random.default_rng(0), {}
    for name in P["sets"]:
        draws = table(P, name)
        value = np.array([exponents.get(one.kind if name != "circle" else "circle", -0.01) for one in draws])
        runs, n = len(draws), 64
        two = []
        for _ in range(2):
            half = -0.1 + 1e-3 * rng.standard_normal((runs, n))
            half[:, n // 2 :] += 0.05
            half[:, -1] = value + 1e-4 * rng.standard_normal(runs)
            two.append(half)
        flat = {"in_L": 1.0, "dim_L": 3.0, "mean_square": 0.1, "spread": 0.1}
        data[name] = xarray.Dataset(
            {
                "first": (("run", "token"), two[0]),
                "second": (("run", "token"), two[1]),
                "sum": (("run", "token"), np.full((runs, n), -0.2)),
                "moving": (("run", "token"), np.zeros((runs, n))),
                "complex": ("run", np.arange(runs) % 2.0),
                **{key: ("run", np.full(runs, number)) for key, number in flat.items()},
            }
        )
    data["again0"] = data["long"].isel(run=[0, 1, 2, 3])
    growth = np.tile(np.linspace(0.1, 2.0, 5), (2, 1))
    data["partings"] = xarray.Dataset(dict.fromkeys(("simulated", "tangent"), (("run", "time"), growth)))
    return data


def words(data: dict[str, xarray.Dataset]) -> list[str]:
    item = find("clouds")
    return [verdict.word for verdict in item.verdicts(item.measure(data, P), P)]


def test_planted_exponents_change_the_verdicts() -> None:
    quiet = ["proved", "observed", "not observed", "not observed", "observed", "observed", "not observed"]
    rest = ["observed", "not observed", "observed"]
    assert words(planted()) == quiet + rest
    chaotic = words(planted(general=0.02, all=0.02))
    assert chaotic[2:4] == ["observed", "observed"]
    assert chaotic[6] == "observed"
    assert words(planted(symmetric=0.02, scores=0.02))[4:6] == ["not observed", "not observed"]
    # what a run without chaos shows by chance is no chaos elsewhere
    assert words(planted(general=0.02, all=0.02, gradient=0.05))[2:4] == ["not observed", "not observed"]
    assert words(planted(circle=0.02))[0] == "contradicted"
    data = planted()
    data["partings"]["simulated"] = data["partings"]["simulated"] + 0.2
    data["gradient"]["spread"] += 2.0
    assert [words(data)[i] for i in (1, -1)] == ["not observed", "not observed"]


def test_planted_orders_of_tokens_and_kinds_of_eigenvalues_change_their_verdicts() -> None:
    assert words(planted())[7:9] == ["observed", "not observed"]
    data = planted()
    for name in P["sets"]:  # the first eighth as high as the second half
        for half in ("first", "second"):
            data[name][half][:, :8] += 0.1
        draws = table(P, name)
        complex_ones = np.array([one.seed // 2 % 2 == 0 for one in draws])
        data[name]["complex"] = ("run", complex_ones.astype(float))
        if name in ("spheres", "eight"):
            loud = complex_ones & np.array([one.kind in ("general", "all") for one in draws])
            for half in ("first", "second"):
                data[name][half][loud, -1] = 0.02
    assert words(data)[7:9] == ["not observed", "observed"]


def test_the_held_out_exponent_is_that_of_the_token_that_was_largest_before() -> None:
    first, second = np.array([[0.1, 0.3, 0.2]]), np.array([[9.0, 0.5, 8.0]])
    assert held_out(first, second).tolist() == [0.5]
    told = np.array([True, False] * 4)
    differs, right, plain = rule_hits(told, told.copy(), np.arange(8) < 4)
    assert differs
    assert right.all()
    assert plain.sum() == 2


def test_no_seed_of_the_item_is_one_of_the_larger_runs_or_of_a_first_look() -> None:
    item = find("clouds")
    seeds = []
    for p in (item.parameters, {**item.parameters, **LARGE}, {**item.parameters, **item.quick}):
        starts = {draw.seed for name in p["sets"] for draw in table(p, name)}
        assert starts.isdisjoint(again_seeds(p))
        seeds.append(starts | set(again_seeds(p)))
    assert seeds[0].isdisjoint(seeds[1] | seeds[2])


def test_runs_of_one_seed_at_several_beta_count_as_one_in_the_interval_of_a_share() -> None:
    draws = [Draw("general", 3, beta, 16, seed) for seed in range(8) for beta in (1.0, 4.0, 16.0)]
    none = seed_share(draws, np.zeros(24, dtype=bool), "")
    assert (none.value, none.low, none.count) == (0.0, 0.0, (0, 24))
    assert none.high == pytest.approx(1.0 - 0.025 ** (1.0 / 8.0))  # of 0 of 8
    half = seed_share(draws, np.arange(24) % 2 == 0, "")
    assert half.value == 0.5
    assert (half.low or 0.0) + (half.high or 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_negative_largest_real_part_and_a_space_to_it(kind: str) -> None:
    Q, K, V = drawn_model(kind, 4, 3)
    top = np.linalg.eigvals(V).real.max()
    assert top < 0.0
    assert (kind in ("scores", "all")) == bool((Q != np.eye(4)).any() and (K != np.eye(4)).any())
    L = dominant_space(V)  # (d, dim L)
    assert L.T @ L == pytest.approx(np.eye(L.shape[1]), abs=1e-12)
    inside = L.T @ V @ L  # V keeps L
    assert V @ L == pytest.approx(L @ inside, abs=1e-10)
    assert np.linalg.eigvals(inside).real == pytest.approx(top, abs=1e-10)


def test_runs_of_the_small_item_say_which_v_they_pick() -> None:
    found = made("clouds")
    (one,) = picked({**find("clouds").parameters, **SMALL["clouds"]}, found.data)
    assert one.kind == "general"
    assert found.numbers["parting"].value < 1e-2
