"""Scenes: what a page may describe, and what is refused."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from support.explorer_scenes import SCENES

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer import limits
from nucleate.explorer.scene import Scene, parse_scene


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_goes_over_the_wire_and_back_unchanged(name: str) -> None:
    scene = parse_scene(SCENES[name])
    again = parse_scene(json.loads(json.dumps(scene.plain())))
    assert again == scene
    assert np.array_equal(again.x0, scene.x0)


def test_a_uniform_start_is_that_of_nucleate() -> None:
    assert np.array_equal(parse_scene({"n": 50, "d": 5, "seed": 11}).x0, nc.uniform(50, 5, 11))


def test_frames_begin_at_0_and_end_at_t() -> None:
    for clock in ("log", "linear"):
        for t in (1e-6, 0.3, 150.0, 1e300):
            times = parse_scene({"t": t, "clock": clock, "frames": 17}).times
            assert times[0] == 0.0
            assert times[-1] == t
            assert (np.diff(times) > 0).all()


BAD: list[tuple[Any, str]] = [
    (None, "table"),
    ([], "table"),
    ({"m": 3}, "no 'm'"),
    ({"n": 0}, "n must"),
    ({"n": 10_001}, "n must be at most"),
    ({"n": 1e9}, "n must be at most"),
    ({"n": 10**400}, "n must"),
    ({"n": "7"}, "n must"),
    ({"n": True}, "n must"),
    ({"n": 3.5}, "n must"),
    ({"d": 1}, "d must"),
    ({"d": 65}, "d must"),
    ({"n": 10_000, "d": 64, "frames": 100}, "n \\* d \\* frames"),
    ({"frames": 2}, "frames"),
    ({"frames": 1001}, "frames"),
    ({"beta": -1}, "beta"),
    ({"beta": float("nan")}, "beta"),
    ({"beta": "64"}, "beta"),
    ({"beta": None}, "beta"),
    ({"beta": 1e7}, "beta"),
    ({"t": 0}, "t must"),
    ({"t": 1e301}, "t must"),
    ({"t": float("inf")}, "t must"),
    ({"clock": "lin"}, "clock"),
    ({"clock": ["log"]}, "clock"),
    ({"seed": -1}, "seed"),
    ({"seed": 2**53 + 1}, "seed"),
    ({"mask": "none"}, "mask"),
    ({"mask": {"window": 0}}, "Window w"),
    ({"mask": {"window": 10_001}}, "window"),
    ({"mask": {"w": 3}}, "mask must be"),
    ({"start": "uniform"}, "start"),
    ({"start": {}}, "start kind"),
    ({"start": {"kind": "uniform", "angle": 1}}, "start has no"),
    ({"start": {"kind": "cap"}}, "angle"),
    ({"start": {"kind": "cap", "angle": 4}}, "angle"),
    ({"start": {"kind": "planted", "clusters": 201, "spread": 0.1}}, "clusters"),
    ({"start": {"kind": "planted", "clusters": 2}}, "spread"),
    ({"moved": {"200": [1, 0]}}, "moved"),
    ({"moved": {"-1": [1, 0]}}, "moved"),
    ({"moved": {"01": [1, 0]}}, "moved"),
    ({"moved": {"٣": [1, 0]}}, "moved"),
    ({"moved": {"1": [1, 0, 0]}}, "moved"),
    ({"moved": {"1": [0, 0]}}, "zero"),
    ({"moved": {"1": ["a", 0]}}, "moved"),
    ({"moved": [1]}, "moved"),
    ({"V": "idenity"}, "Did you mean identity"),
    ({"V": 1e301}, "entries of at most 1e\\+300"),
    ({"V": {}}, "V must"),
    ({"V": {"preset": "row9"}}, "V must be a matrix"),
    ({"V": {"preset": ["row3"]}}, "V must"),
    ({"V": {"preset": "row2"}}, "dimension"),
    ({"V": {"preset": "row3", "seed": 1}}, "not random"),
    ({"V": {"preset": "gaussian", "seed": -1}}, "seed"),
    ({"V": {"matrix": [[1, 0]]}}, "square"),
    ({"V": {"matrix": [[1]]}}, "must have 2 rows"),
    ({"V": {"matrix": [[1, 0], [0]]}}, "rows of one length"),
    ({"V": {"matrix": [[1, 0], [0, None]]}}, "numbers only"),
    ({"V": {"matrix": [[1, 0], [0, 1]], "preset": "row3"}}, "V has no"),
    ({"Q": {"matrix": [[1e300, 0], [0, 1e300]]}, "K": {"matrix": [[1e300, 0], [0, 1]]}}, "overflows"),
    ({"c": 0}, "c must"),
    ({"tolerance": 1e-15}, "tolerance"),
    ({"tolerance": 1}, "tolerance"),
]


@pytest.mark.parametrize(("table", "words"), BAD, ids=str)
def test_a_bad_scene_is_refused_in_words(table: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        parse_scene(table)
    assert len(str(error.value)) < 400


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(some.dictionaries(some.sampled_from([one.name for one in fields(Scene)]), JSON, max_size=4))
def test_any_table_gives_a_scene_within_limits_or_an_input_error(table: dict[str, Any]) -> None:
    try:
        scene = parse_scene(table)
    except InputError:
        return
    assert scene.n <= limits.MAX_TOKENS
    assert scene.d <= limits.MAX_DIMENSION
    assert scene.n * scene.d * scene.frames <= limits.MAX_NUMBERS
    assert parse_scene(scene.plain()) == scene
