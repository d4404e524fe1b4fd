"""The engine inside an exported page: what it computes, the recorded runs it goes on from, and that the cases
it is held to (web/tests/engine_cases.json) are what Python says today."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import engine_cases

import nucleate as nc
from nucleate.explorer import page_engine
from nucleate.explorer.page_engine import computed_in_page, live_part
from nucleate.explorer.prepared_run import compute, prepare_scene, prepare_stored
from nucleate.explorer.scene import parse_scene


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    cases: dict[str, Any] = json.loads(engine_cases.CASES.read_text(encoding="utf-8"))
    return cases


def test_the_recorded_draws_are_numpys(recorded: dict[str, Any]) -> None:
    assert recorded["random"] == [engine_cases.random_case(seed) for seed in engine_cases.SEEDS]


@pytest.mark.parametrize("name", ["moved", "turning"])
def test_a_recorded_scene_is_what_python_says_of_it_today(recorded: dict[str, Any], name: str) -> None:
    then = next(case for case in recorded["scenes"] if case["name"] == name)
    now = json.loads(json.dumps(engine_cases.scene_case(name)))
    # Another kind of processor adds in another order; on one with AVX2 a recorded time has another last bit.
    for key in ("end", "middle"):
        assert np.abs(np.array(then.pop(key)) - np.array(now.pop(key))).max() < 1e-10
    np.testing.assert_array_max_ulp(np.array(then.pop("times")), np.array(now.pop("times")), 4)
    assert then == now


def test_the_recorded_mergers_are_what_python_finds_today(recorded: dict[str, Any]) -> None:
    then, now = recorded["mergers"], engine_cases.mergers_case()
    assert then["labels"] == now["labels"]
    assert [event[1:] for event in then["events"]] == [event[1:] for event in now["events"]]
    assert [event[0] for event in then["events"]] == pytest.approx([event[0] for event in now["events"]])


def test_every_scene_is_recorded_and_computed_by_the_page(recorded: dict[str, Any]) -> None:
    assert [case["name"] for case in recorded["scenes"]] == list(engine_cases.SCENES)
    assert all(computed_in_page(parse_scene(scene)) for scene in engine_cases.SCENES.values())


def test_the_tableau_of_the_page_is_ours() -> None:
    assert engine_cases.TABLEAU.read_text(encoding="utf-8") == engine_cases.tableau_text()


def test_both_sides_name_the_same_limits() -> None:
    source = (engine_cases.WEB / "src" / "engine" / "scene.ts").read_text(encoding="utf-8")
    for name in ("MAX_TOKENS", "MAX_DIMENSION", "MAX_TIME"):
        (there,) = re.findall(rf"export const {name} = ([0-9e]+);", source)
        assert float(there) == getattr(page_engine, name)


@pytest.mark.parametrize(
    ("part", "inside"),
    [
        ({}, True),
        ({"n": 500, "d": 8, "t": 1e5}, True),
        ({"n": 501}, False),
        ({"d": 9}, False),
        ({"t": 1.1e5}, False),
        ({"family": {"norm": "pre"}}, False),
    ],
)
def test_what_the_page_computes(part: dict[str, Any], inside: bool) -> None:
    assert computed_in_page(parse_scene(part)) is inside


def test_a_recording_of_the_explorer_goes_on_from_its_scene() -> None:
    prepared = prepare_scene(parse_scene({"n": 5, "t": 1.0, "frames": 5, "seed": 7}))
    live = live_part(prepared, compute(prepared))
    assert live is not None
    assert live["scene"]["seed"] == 7
    assert live["greeting"]["presets"] == []


def test_a_run_of_unknown_origin_goes_on_from_its_own_start() -> None:
    model = nc.Attention(9.0, V=np.diag([1.0, 0.5, 0.2]), mask=nc.Window(4))
    run = nc.simulate(model, nc.uniform(12, 3, seed=5), 4.0, save=9)
    prepared = prepare_stored(run, 0, "run")
    live = live_part(prepared, run)
    assert live is not None
    scene = parse_scene(live["scene"])
    assert np.abs(scene.x0 - run.x[0]).max() < 1e-15
    assert scene.t == run.t[-1]
    again = compute(prepare_scene(scene))
    assert np.abs(again.x[-1] - run.x[-1]).max() < 1e-6


def test_what_the_page_cannot_compute_is_only_played() -> None:
    frozen = nc.Attention(2.0, frozen=nc.Frozen([[1.0, 0.0]]))
    block = nc.Block(nc.Attention(2.0), norm="pre")
    for model in (frozen, block):
        run = nc.simulate(model, nc.uniform(3, 2), 1.0, save=5)
        assert live_part(prepare_stored(run, 0, "run"), run) is None


def test_the_cases_lie_where_the_page_is_tested() -> None:
    assert Path("web/tests/engine_cases.json").name in engine_cases.CASES.as_posix()
    assert engine_cases.CASES.stat().st_size < 300_000
