"""Prepared runs: thinned where they are long, refused where they are too large, with their scene."""

from pathlib import Path

import pytest
from support.made_runs import one_run

from nucleate.checks import InputError
from nucleate.explorer.prepared_run import compute, prepare_scene, prepare_stored, thinned
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.stored_runs import open_folder


def test_long_recordings_are_thinned_but_keep_their_ends() -> None:
    run = one_run(m=2500)
    prepared = prepare_stored(run, 0, "long")
    assert len(prepared.times) == 1000
    assert prepared.frames_before_thinning == 2500
    assert (prepared.times[0], prepared.times[-1]) == (run.t[0], run.t[-1])
    assert len(thinned(run, 9 * 2 * 50).t) == 50


def test_too_large_a_recording_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="shows at most"):
        prepare_stored(one_run(d=70), 0, "wide")


def test_a_run_saved_by_the_explorer_brings_its_scene_back(tmp_path: Path) -> None:
    scene = parse_scene({"n": 6, "t": 2.0, "frames": 4, "c": 2.5, "moved": {"1": [1, 1]}})
    compute(prepare_scene(scene)).save(tmp_path / "run.zarr")
    prepared = open_folder(tmp_path / "run.zarr").prepare("run.zarr", 0)
    assert prepared.scene == scene
    assert prepared.c == 2.5
