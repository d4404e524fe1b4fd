"""Scenes: what a page may describe, and that the run it stands for is the run that Python makes of it."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.matrices import matrix
from nucleate.explorer.presets import FIGURE_2_SEED, presets
from nucleate.explorer.python import as_python
from nucleate.explorer.scene import LIMITS, Scene, parse_scene
from nucleate.explorer.starts import cap, planted

SMALL = {"n": 7, "t": 3.0, "frames": 5, "beta": 5.0}
SCENES: dict[str, dict[str, Any]] = {
    "circle": SMALL,
    "long": {**SMALL, "t": 1e40, "frames": 9},
    "linear": {**SMALL, "clock": "linear", "d": 3},
    "cap": {**SMALL, "d": 3, "start": {"kind": "cap", "angle": 0.7}, "seed": 5},
    "planted": {**SMALL, "d": 4, "start": {"kind": "planted", "clusters": 3, "spread": 0.2}, "mask": "full"},
    "moved": {**SMALL, "d": 3, "moved": {"2": [1, 2, 3], "0": [0.1, -1e-9, 4]}, "mask": {"window": 2}},
    "rows": {
        **SMALL,
        "d": 3,
        "V": {"preset": "row2"},
        "Q": {"matrix": [[1, 0.1, 0], [0, -0.0, 2], [1 / 3, 0, 1]]},
        "K": {"preset": "mirror"},
    },
    "random": {
        **SMALL,
        "d": 6,
        "V": {"preset": "gaussian", "seed": 4},
        "Q": {"preset": "head"},
        "K": {"preset": "defective"},
        "tolerance": 1e-5,
    },
    "short": {**SMALL, "t": 1e-3, "frames": 3},
}


@pytest.mark.parametrize("name", SCENES)
def test_copied_python_redoes_the_run_to_the_last_bit(name: str) -> None:
    scene = parse_scene(SCENES[name])
    run = nc.simulate(
        scene.model, scene.x0, scene.t, save=scene.times, rtol=scene.tolerance, atol=scene.tolerance / 100
    )
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(as_python(scene), "copied", "exec"), space)
    assert np.array_equal(space["run"].t, run.t)
    assert np.array_equal(space["run"].x, run.x)
    assert space["run"].steps == run.steps


def test_copied_python_has_about_ten_lines() -> None:
    lines = [[line for line in as_python(preset.scene).splitlines() if line] for preset in presets()]
    assert all(6 <= len(one) <= 12 for one in lines)


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


@pytest.mark.parametrize("d", [2, 3, 5, 64])
@pytest.mark.parametrize(
    ("name", "row"),
    [("identity", 1), ("row2", 2), ("row3", 3), ("row4", 4), ("row5", 5), ("minus-identity", 4)],
)
def test_there_is_a_matrix_for_every_row_of_table_1(name: str, row: int, d: int) -> None:
    if name == "row2" and d == 2:
        with pytest.raises(InputError, match="needs a dimension from 3"):
            matrix(name, d)
    else:
        assert nc.atlas(matrix(name, d)).row == row


@pytest.mark.parametrize("d", [2, 3, 5])
def test_complex_defective_and_zero_tops_are_what_their_names_say(d: int) -> None:
    assert nc.atlas(matrix("complex", d)).kind == "complex"
    assert nc.atlas(matrix("defective", d)).kind == "defective"
    assert nc.atlas(matrix("zero", d)).lambda_max == 0.0


def test_matrices_of_three_dimensions_are_those_of_figure_1() -> None:
    from nucleate.papers.causal_clustering.figure1.data import PANELS

    named = {"row1": "identity"}
    for panel in PANELS:
        assert np.array_equal(matrix(named.get(panel.name, panel.name), 3), panel.matrix), panel.name


def test_the_head_is_drawn_like_figure_5_and_has_its_spectral_radius() -> None:
    radius = np.abs(np.linalg.eigvals(matrix("head", 64, 1))).max()
    assert 0.8 < radius < 1.25  # the circular law gives 1, with a spread of about d^(-1/2)
    assert not np.array_equal(matrix("head", 8, 0), matrix("head", 8, 1))
    assert np.array_equal(matrix("gaussian", 8, 3), matrix("gaussian", 8, 3))


@pytest.mark.parametrize("d", [2, 3, 4, 10, 64])
@pytest.mark.parametrize("angle", [0.01, 0.5, 2.0, np.pi])
def test_a_cap_is_filled_uniformly(d: int, angle: float) -> None:
    n = 4000
    x = cap(n, d, angle, seed=1)
    theta = nc.distance(x, np.eye(d)[:1])  # (n,) from the first axis
    assert theta.max() <= angle + 1e-7  # an angle near pi is known to the square root of rounding
    slow = _cap_shares(theta, angle, d)  # (n,) of the cap inside each token: uniform on [0, 1]
    gap = np.abs(np.sort(slow) - (np.arange(n) + 0.5) / n).max()
    assert gap < 1.95 / np.sqrt(n)  # Kolmogorov's statistic: once in a thousand above 1.95
    if d == 2:
        assert 0.4 < (x[:, 1] > 0).mean() < 0.6  # both sides


def _cap_shares(theta: Any, angle: float, d: int) -> Any:
    """Twin: the area of a cap by adding up strips."""
    grid = np.linspace(0.0, angle, 20_001)
    with np.errstate(under="ignore"):
        strips = (np.sin(grid) / np.sin(min(angle, np.pi / 2))) ** (d - 2)
    area = np.concatenate([[0.0], np.cumsum((strips[1:] + strips[:-1]) / 2)])
    return np.interp(theta, grid, area / area[-1])


def test_planted_tokens_lie_around_their_cluster() -> None:
    x = planted(60, 3, 4, 0.05, seed=2)
    for k in range(4):
        mine = x[k::4]
        assert nc.distance(mine, nc.retract(mine.mean(0)[None])).max() < 0.3  # six spreads
    assert nc.clusters(x, 0.2).max() + 1 == 4
    apart = planted(60, 3, 4, 0.0, seed=2)[:4] - nc.uniform(4, 3, np.random.default_rng(2))
    assert np.abs(apart).max() < 1e-15  # divided by its length once more: a rounding or two


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
    ({"mask": {"window": 0}}, "window"),
    ({"mask": {"window": 10_001}}, "window"),
    ({"mask": {"w": 3}}, "mask has no"),
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
    ({"V": "identity"}, "V must"),
    ({"V": {}}, "V must"),
    ({"V": {"preset": "row9"}}, "no matrix named"),
    ({"V": {"preset": ["row3"]}}, "V must"),
    ({"V": {"preset": "row2"}}, "dimension"),
    ({"V": {"preset": "row3", "seed": 1}}, "V has no"),
    ({"V": {"preset": "gaussian", "seed": -1}}, "seed"),
    ({"V": {"matrix": [[1, 0]]}}, "rows"),
    ({"V": {"matrix": [[1, 0], [0]]}}, "row 1"),
    ({"V": {"matrix": [[1, 0], [0, None]]}}, "row 1"),
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
    assert scene.n <= LIMITS["n"]
    assert scene.d <= LIMITS["d"]
    assert scene.n * scene.d * scene.frames <= LIMITS["numbers"]
    assert parse_scene(scene.plain()) == scene


# --- presets


def test_presets_have_names_of_their_own_and_words_for_everything() -> None:
    names = [preset.name for preset in presets()]
    assert len(set(names)) == len(names)
    for preset in presets():
        assert preset.title
        assert preset.explain.endswith(".")


def test_there_is_a_preset_for_every_figure_of_the_paper_and_the_life() -> None:
    from nucleate.papers.causal_clustering.figure1.data import PANELS as FIRST
    from nucleate.papers.causal_clustering.figure6.data import PANELS as SIXTH

    named = {preset.name: preset.scene for preset in presets()}
    for key, panels in (("figure1", FIRST), ("figure6", SIXTH)):
        for panel in panels:
            scene = named[f"{key}-{panel.name}"]
            V = scene.model.V
            assert (scene.n, scene.d, scene.beta, scene.t) == (32, 3, 9.0, 5000.0)
            assert np.array_equal(np.eye(3) if V is None else V, panel.matrix)
    for key in ("figure2", "figure3"):
        assert (named[key].n, named[key].d, named[key].beta, named[key].t, named[key].c) == (
            200,
            2,
            64.0,
            150.0,
            4.0,
        )
    assert {75.0, 150.0} <= set(named["figure2"].times.tolist())
    assert named["figure4"].beta == 10.0
    assert named["figure5"].V == {"preset": "head", "seed": 0}
    assert (named["life"].n, named["life"].beta, named["life"].t) == (200, 64.0, 1e60)


def test_figure_2_starts_from_the_seed_that_the_reproduction_finds() -> None:
    from nucleate.papers.causal_clustering.figure2.data import chosen_seed

    assert chosen_seed() == FIGURE_2_SEED


def test_the_counter_example_ends_off_the_eigenvector() -> None:
    scene = next(preset.scene for preset in presets() if preset.name == "counter-example")
    run = nc.simulate(scene.model, scene.x0, scene.t, save=scene.times)
    assert abs(run.x[-1, 1, 0]) == pytest.approx(0.47081, abs=1e-5)  # as printed, five digits
