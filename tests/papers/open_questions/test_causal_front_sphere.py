"""The limit equation on the sphere beside runs: made-up fronts and places flip every verdict."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from support.docs_scripts import study_script

import nucleate as nc
from nucleate.checks import Array
from nucleate.papers import find
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.item import Verdict
from nucleate.papers.core.numbers import Number
from nucleate.papers.open_questions.causal_front.crossings import LEVEL
from nucleate.papers.open_questions.causal_front.data import (
    bins_of,
    case_seed,
    cases,
    expected_clusters,
    far_places,
    far_times,
    fronts_of,
)
from nucleate.papers.open_questions.causal_front.measures import even_weight
from nucleate.papers.open_questions.causal_front.sphere_limit import (
    sphere_limit_numbers,
    sphere_limit_verdicts,
)
from nucleate.papers.open_questions.causal_front.sphere_runs import (
    SPHERE_LIMIT,
    SPHERE_SHAPE,
    near_shares,
    run_sphere_limit,
)
from nucleate.theory.causal_front import (
    ContinuedTokens,
    cell_front_speed,
    fastest_degree,
    front_places,
    front_speed,
)
from nucleate.theory.causal_front_sphere import continue_on_sphere

P = SPHERE_LIMIT
DIMS = ("start", "time", "bin")


def front(s: Array, t: Array, beta: float, speed: float, logarithm: float, top: float) -> Array:
    """What is seen behind a front at `speed` times 4 lambda t - c ln t, up to `top`, (time, bin)."""
    late = np.linspace(1.2, 60.0, 4000)
    place = front_places(late, beta, 3, 0.0) * speed - logarithm * np.log(late)
    passes = np.interp(s, place, late)  # (bin,)
    return top / (1.0 + (top / LEVEL - 1.0) * np.exp(4.0 * (passes - t[:, None])))


def planted(
    near: float = 0.9,
    other_near: float = 0.1,
    error: float = 0.01,
    early: float = 0.1,
    late: float = 0.05,
    other: float = 0.5,
    speed: float = 1.0,
    number: float = 1.0,
) -> dict[str, xarray.Dataset]:
    """Tokens so often near their places, profiles so much higher early and late, and behind another start's
    tokens; far away a speed over 4 lambda and clusters over those of the wave."""
    rng, data, t = np.random.default_rng(0), {}, np.array(P["times"])
    for case in cases(P):
        s = bins_of(P["first"], case.n).s
        seen = np.stack(
            [front(s, t + 0.02 * i, case.beta, 1.0, 1.5, 3.0) for i in range(case.starts)]
        )  # (start, time, bin)
        more = np.where(t < 5.0, early, late)[:, None]
        noise = 0.02 * rng.standard_normal((2, case.starts, 1, 1))
        around = 0.01 * rng.standard_normal((2, case.starts, len(s)))
        data[case.name] = xarray.Dataset(
            {
                "seen": (DIMS, seen),
                "own_seen": (DIMS, seen * (1.0 + more + noise[0])),
                "other_seen": (DIMS, seen * (1.0 + other + noise[1])),
                "own_near": (("start", "bin"), near + around[0]),
                "other_near": (("start", "bin"), other_near + around[1]),
                "own_error": (("start",), np.full(case.starts, error)),
            }
        )
    data["far"] = _far(speed, number)
    return data


def _far(speed: float, number: float) -> xarray.Dataset:
    far, times = P["far"], far_times(P)
    s = far_places(P, round(4 * (far["end"] - np.log(P["first"]))))
    slow = cell_front_speed(far["beta"], float(s[1] - s[0])) / front_speed(far["beta"])  # as in cells
    wave = expected_clusters(fastest_degree(far["beta"], 3), 3)
    top = 1.0 / (even_weight(far["beta"], 3) * number * wave) - 1.0
    rng, rows = np.random.default_rng(1), []
    for _ in range(far["starts"]):
        found = []
        for c, tilt in zip((1.5, 3.0), rng.normal(1.0, 0.01, 2), strict=True):
            seen = front(s, times, far["beta"], speed * slow * tilt, c, top)
            found.append(ContinuedTokens(times, s, s, s, np.repeat(seen, 2, axis=1), seen, np.inf))
        rows.append(fronts_of(found))
    dims = {"crossing": ("noise", "halving", "cell"), "settled": ("noise", "cell")}
    return xarray.Dataset(
        {name: (("start", *dims[name]), np.stack([row[name] for row in rows])) for name in dims}
    )


def judged(**changes: Any) -> tuple[Verdict, ...]:
    return sphere_limit_verdicts(sphere_limit_numbers(planted(**changes), P), P)


@pytest.mark.parametrize(
    ("changes", "flips"),
    [
        ({}, []),
        ({"near": 0.4}, [0]),
        ({"other_near": 0.95}, [0]),
        ({"error": 0.06}, [0]),
        ({"early": 0.4}, [1]),
        ({"late": -0.3}, [2]),
        ({"other": 0.0}, [1, 2]),
        ({"speed": 1.2}, [3]),
        ({"speed": 0.8}, [3]),
        ({"number": 1.3}, [4]),
    ],
)
def test_other_places_profiles_speeds_or_numbers_flip_their_verdict_alone(
    changes: dict[str, float], flips: list[int]
) -> None:
    words = [verdict.word for verdict in judged(**changes)]
    assert words == ["not observed" if i in flips else "observed" for i in range(5)]


@pytest.mark.parametrize(
    ("key", "spread", "number"),
    [
        ("d3_beta20_near", 0.5, 0),
        ("d3_beta40_near_gain", 0.9, 0),
        ("d3_beta20_shape_2", 0.2, 1),
        ("d3_beta40_shape_8_gain", 0.9, 2),
        ("far_noisy_joint_speed", 0.3, 3),
        ("far_quiet_number", 2.0, 4),
    ],
)
def test_an_interval_with_the_bound_in_it_leaves_its_verdict_undecided(
    key: str, spread: float, number: int
) -> None:
    found = sphere_limit_numbers(planted(), P)
    value = found[key].value
    found[key] = Number(value, found[key].about, value - spread, value + spread)
    words = [verdict.word for verdict in sphere_limit_verdicts(found, P)]
    assert words == ["undecided" if i == number else "observed" for i in range(5)]


def test_the_far_number_is_that_of_even_clusters() -> None:
    """m points of equal mass see 1 / m of e^beta each."""
    found = sphere_limit_numbers(planted(), P)
    wave = expected_clusters(fastest_degree(12.0, 3), 3)
    assert found["far_quiet_number"].value == pytest.approx(wave, rel=0.02)
    u = np.linspace(-1.0, 1.0, 4001)
    assert even_weight(12.0, 3) == pytest.approx(np.trapezoid(np.exp(12.0 * (u - 1.0)), u) / 2.0, rel=1e-4)


def test_tokens_are_looked_for_where_the_limit_has_the_start_nearest_to_theirs() -> None:
    """A token of every start, moved as the limit moves it, is in its place; turned away it is not."""
    n, beta = 1200, 8.0
    x0 = nc.uniform(n, 3, 1)
    limit = continue_on_sphere(x0[:300], beta, [0.0], np.log(n), halvings=0)
    ends = nc.uniform(limit.moved.size // 3, 3, 2).reshape(limit.moved.shape)  # made up: other in every cell
    limit = limit._replace(moved=ends - limit.start)
    bins = bins_of(300, n)
    k = np.arange(300, n)
    cell = np.minimum(
        ((np.log(k + 0.5) - np.log(300)) / (limit.s[1] - limit.s[0])).astype(int), len(limit.s) - 1
    )
    start = np.random.default_rng(0).integers(0, len(limit.start), len(k))
    x0[300:] = limit.start[start]
    end = x0.copy()
    end[300:] = limit.start[start] + limit.moved[cell, start]
    np.testing.assert_allclose(near_shares(x0, end, limit, bins, beta), 1.0)
    end[bins.edges[2] : bins.edges[3]] *= -1.0
    expected = np.ones(len(bins.s))
    expected[2] = 0.0
    np.testing.assert_allclose(near_shares(x0, end, limit, bins, beta), expected)


def test_no_start_has_a_seed_of_another_nor_of_an_earlier_run() -> None:
    own = []
    for p in (P, SPHERE_SHAPE):
        counts = [case.starts for case in cases(p)] + [p["far"]["starts"]]
        own += [case_seed(p, number, i) for number, count in enumerate(counts) for i in range(count)]
    both = own + [seed + 500 for seed in own]
    assert len(set(both)) == len(both)
    earlier = study_script("front_masses")
    assert min(both) > earlier.FIRST_SEED + 1000 * (len(earlier.BETAS) - 1) + earlier.STARTS
    assert min(both) > find("causal-front").parameters["first_seed"] + 5000


def test_the_study_runs_goes_on_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {
        **P,
        "cases": [[3, 6.0, 1500, 2]],
        "least": 400,
        "times": [0.0, 2.0, 4.0, 6.0],
        "halvings": 1,
        "far": {"beta": 3.0, "begin": 7.0, "end": 14.0, "t": 8.0, "starts": 2, "halved": 1},
        "first_seed": 1,
    }
    study = study_script("causal_front_sphere")
    monkeypatch.setattr(study, "SPHERE_LIMIT", small)
    for computed in (True, False):
        study.main(str(tmp_path))
        said = capsys.readouterr().out
        assert said.startswith(f"About {study.COST}, less what")
        assert said.count("observed: ") + said.count("undecided: ") == 5
        if computed:
            first, path = said, tmp_path / "data" / "causal-front-sphere-limit" / "far-0000.zarr"
            written = path.stat().st_mtime_ns
    assert said == first
    assert path.stat().st_mtime_ns == written
    assert (tmp_path / "figures" / "causal-front-limit-sphere.png").stat().st_size > 10_000


def test_the_second_set_judges_profiles_of_every_token_and_nothing_far_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {**SPHERE_SHAPE, "cases": [[3, 6.0, 800, 2]], "least": 400, "halvings": 0, "first_seed": 1}
    study, asked = study_script("causal_front_sphere"), list[float]()
    monkeypatch.setattr(study, "SPHERE_SHAPE", small | {"times": [0.0, 2.0, 4.0, 6.0]})

    def seen(x: Array, beta: float) -> Array:
        asked.append(beta)
        return x[:, 0]

    monkeypatch.setattr("nucleate.theory.causal_front_sphere.seen_on_sphere", seen)
    study.main(str(tmp_path), "shape")
    said = capsys.readouterr().out
    assert said.count("observed: ") + said.count("undecided: ") == 3
    assert len(asked) == 8  # two starts, four times
    assert not (tmp_path / "figures").exists()


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    told: list[float] = []
    small = {
        **P,
        "cases": [[3, 3.0, 500, 3]],
        "times": [0.0, 2.0],
        "halvings": 0,
        "far": {"beta": 3.0, "begin": 6.0, "end": 8.0, "t": 2.0, "starts": 1, "halved": 0},
    }
    workspace = ItemWorkspace("causal-front", tmp_path, small, lambda done, total: told.append(done / total))
    data = run_sphere_limit(workspace)
    assert told == sorted(told)
    assert told[0] < 0.9
    assert told[-1] == pytest.approx(1.0)
    assert set(data) == {"d3_beta3", "far"}
