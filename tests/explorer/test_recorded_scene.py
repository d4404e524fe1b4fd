"""What is said of a stored run is true of it, or is not said; and its Python redoes it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import small

import nucleate as nc
from nucleate.explorer.prepared_run import PreparedRun, begun_message, compute, prepare_scene, prepare_stored
from nucleate.explorer.python_code import python_code
from nucleate.explorer.recorded_scene import python_of_recording, scene_of_run
from nucleate.explorer.stored_runs import open_folder


def simulated(
    beta: float = 10.0, t: float = 20.0, frames: Any = 12, rtol: float = 1e-8, noted_seed: int = 7
) -> nc.Run:
    """As `nucleate simulate` makes a run: 9 tokens from seed 7."""
    run = nc.simulate(nc.Attention(beta), nc.uniform(9, 3, 7), t, save=frames, rtol=rtol, atol=rtol / 100.0)
    return replace(run, notes={"start": "uniform(n, d, seed)", "seed": noted_seed})


def redone(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> nc.Run:
    """The run that lines of Python make, beside the files of a folder."""
    monkeypatch.chdir(folder)
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(code, "copied", "exec"), space)
    found: nc.Run = space["run"]
    return found


@pytest.mark.parametrize(("t", "clock"), [(20.0, "linear"), (1e4, "log")])
def test_a_run_of_the_command_line_has_its_own_seed_end_frames_and_tolerance(t: float, clock: str) -> None:
    run = simulated(t=t, rtol=1e-6)
    scene = prepare_stored(run, 0, "seven.zarr").scene
    assert scene is not None
    assert (scene.n, scene.d, scene.beta, scene.seed, scene.t) == (9, 3, 10.0, 7, t)
    assert (scene.frames, scene.clock, scene.tolerance) == (12, clock, 1e-6)
    again = compute(prepare_scene(scene))
    assert np.array_equal(again.x, run.x)
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(python_code(scene), "copied", "exec"), space)
    assert np.array_equal(space["run"].x, run.x)


def test_a_scene_is_claimed_only_if_it_makes_the_run() -> None:
    run = simulated()
    assert scene_of_run(run) is not None
    x = run.x.copy()
    x[0, 3] = -x[0, 3]
    others = [
        simulated(noted_seed=8),  # a note that is not true
        replace(run, notes={}),
        replace(run, notes={"start": "mine.npy", "seed": 7}),
        replace(run, x=x),
        replace(run, t=run.t**1.5),
        replace(run, settings={**run.settings, "method": "explicit"}),
        replace(run, settings={**run.settings, "atol": 1e-9}),
        replace(run, settings={**run.settings, "device": "gpu"}),
        replace(run, model=nc.Attention(10.0, frozen=nc.Frozen(nc.uniform(1, 3, 0)))),
        replace(run, notes={"scene": {"n": 9, "d": 3, "seed": 7, "beta": 11.0, "t": 20.0, "frames": 12}}),
    ]
    assert [scene_of_run(other) for other in others] == [None] * len(others)


def test_what_a_file_does_not_say_is_unknown_and_never_a_default() -> None:
    run = replace(simulated(frames=[0.0, 0.5, 3.0, 4.0], rtol=1e-5), notes={})
    begun = begun_message(prepare_stored(run, 0, "mine.zarr"), 0)
    assert begun["scene"] is None
    assert begun["known"] == {
        "seed": None,
        "start": None,
        "t": 20.0,
        "frames": 4,
        "clock": None,
        "tolerance": 1e-5,
    }
    bare = replace(run, settings={"method": "euler", "dt": 0.1, "rtol": 1e-8})
    known = begun_message(prepare_stored(bare, 0, "bare.zarr"), 0)["known"]
    assert (known["t"], known["tolerance"]) == (None, None)  # fixed steps have no tolerance


def test_a_thinned_recording_says_how_many_frames_its_run_has() -> None:
    run = replace(simulated(frames=1500), notes={})
    begun = begun_message(prepare_stored(run, 0, "long.zarr"), 0)
    assert (begun["frames"], begun["known"]["frames"]) == (1000, 1500)


def test_python_redoes_a_recording_that_no_scene_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = nc.Attention(4.0, frozen=nc.Frozen(nc.uniform(2, 3, 5)))
    one = nc.simulate(still, nc.uniform(6, 3, 1), 3.0, save=[0.0, 1.0, 3.0], rtol=1e-5, max_steps=500)
    several = nc.simulate(nc.Attention(9.0), nc.uniform(6, 2, 0, runs=3), 9.0, save=5)
    for name, run, which in (("one.zarr", one, 0), ("several.npz", several, 2)):
        run.save(tmp_path / name)
        prepared = open_folder(tmp_path / name).prepare(name, which)
        assert isinstance(prepared, PreparedRun)
        assert prepared.python is not None
        again = redone(prepared.python, tmp_path, monkeypatch)
        assert np.array_equal(again.x, run.x)
        assert again.settings == run.settings


def test_python_says_why_a_recording_cannot_be_redone() -> None:
    run = simulated(frames=[0.5, 1.0, 2.0])
    assert prepare_stored(run, 0, "late.zarr").python == (
        "# 'late.zarr' cannot be redone: its first frame is at t = 0.5, and its start is not in the file.\n"
    )
    bare = replace(simulated(), settings={}, notes={})
    assert "does not say how it was computed" in str(prepare_stored(bare, 0, "bare.zarr").python)


def test_a_name_with_a_line_break_stays_a_comment() -> None:
    x = simulated().x.copy()
    x[-1] = np.nan
    broken = [
        simulated(frames=[0.5, 1.0, 2.0]),
        replace(simulated(), settings={}, notes={}),
        replace(simulated(), x=x, notes={}),
    ]
    for run in broken:
        assert python_of_recording(run, "a\nraise SystemExit\n.zarr", 0).count("\n") == 1


def test_python_computes_a_run_of_an_ensemble_as_the_explorer_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nc.ensemble(small(runs=2, observables={"ends": {"kind": "points"}}), tmp_path / "study.zarr")
    prepared = open_folder(tmp_path / "study.zarr").prepare("study.zarr", 3)
    assert isinstance(prepared, PreparedRun)
    assert prepared.python is not None
    again = redone(prepared.python, tmp_path, monkeypatch)
    assert np.array_equal(again.x, compute(prepared).x)
    assert prepared.known is not None
    assert (prepared.known["seed"], prepared.known["t"], prepared.known["tolerance"]) == (None, 3.0, 1e-6)
