"""Prepared runs: thinned where they are long, refused where they are too large, with their scene."""

from pathlib import Path

import numpy as np
import pytest
from support.made_runs import one_run

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.prepared_run import (
    PreparedRun,
    begun_message,
    compute,
    prepare_scene,
    prepare_stored,
    thinned,
)
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.stored_runs import open_folder


def test_long_recordings_are_thinned_but_keep_their_ends() -> None:
    run = one_run(m=2500)
    prepared = prepare_stored(run, 0, "long")
    assert len(prepared.times) == 1000
    assert prepared.frames_before_thinning == 2500
    assert (prepared.times[0], prepared.times[-1]) == (run.t[0], run.t[-1])
    assert len(thinned(run, 9 * 2 * 50).t) == 50


def test_a_stored_run_of_the_family_is_shown_with_its_own_model_and_lengths() -> None:
    heads = [nc.Attention([1.0, 2.0], mask="full"), nc.Attention(3.0, weights="exponential")]
    block = nc.Block(heads, norm="pre", radius=2.0)
    layers = nc.Layers([block, block], dt=1.5)
    lengths = np.arange(2 * 40 * 9, dtype=float).reshape(2, 40, 9) + 1.0
    x = np.broadcast_to(nc.uniform(9, 3, 0), (2, 40, 9, 3))
    status, steps = ("done", "done"), np.array([3, 4])
    run = nc.Run(layers, np.linspace(0.0, 3.0, 40), x, status, steps, {"method": "auto"}, norms=lengths)
    prepared = prepare_stored(run, 1, "layers")
    made = prepared.model
    assert isinstance(made, nc.Layers)
    assert made.blocks[0] is made.blocks[1]  # still shared: heads are told once
    assert [float(head.beta) for head in made.blocks[0].heads] == [2.0, 3.0]
    assert (made.norm, made.dt, float(made.blocks[0].radius)) == ("pre", 1.5, 2.0)
    assert np.array_equal(compute(prepared).norms, lengths[1])  # type: ignore[arg-type]  # it has some
    thin = thinned(compute(prepared), 9 * 3 * 10)
    assert np.array_equal(thin.norms, lengths[1][[0, 4, 9, 13, 17, 22, 26, 30, 35, 39]])  # type: ignore[arg-type]  # it has some
    begun = begun_message(prepared, 0)
    assert begun["centers"] == {"renyi": [], "strong": []}
    assert [head["weights"] for head in begun["blocks"][0]] == ["softmax", "exponential"]
    assert begun["family"]["layers"] == {"dt": 1.5, "discrete": False, "count": 2}
    assert begun["lengths"]


def test_too_large_a_recording_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="shows at most"):
        prepare_stored(one_run(d=70), 0, "wide")


def test_a_run_saved_by_the_explorer_brings_its_scene_back(tmp_path: Path) -> None:
    scene = parse_scene({"n": 6, "t": 2.0, "frames": 4, "c": 2.5, "moved": {"1": [1, 1]}})
    compute(prepare_scene(scene)).save(tmp_path / "run.zarr")
    prepared = open_folder(tmp_path / "run.zarr").prepare("run.zarr", 0)
    assert isinstance(prepared, PreparedRun)
    assert prepared.scene == scene
    assert prepared.c == 2.5
