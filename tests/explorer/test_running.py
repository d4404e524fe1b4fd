"""A run while it is computed: its start is there at once, and no frame is lost."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.explorer_scenes import simulated

import nucleate as nc
from nucleate.explorer.prepared_run import prepare_scene
from nucleate.explorer.running import RunningRun
from nucleate.explorer.scene import parse_scene


def test_the_start_is_there_before_the_engine_is_called() -> None:
    prepared = prepare_scene(parse_scene({"n": 5, "frames": 4}))
    running = RunningRun(prepared, lambda: None)
    assert running.ready == 1
    assert np.array_equal(running.x[0], prepared.x0)


def test_frames_computed_after_the_last_report_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulated({"n": 5, "frames": 6, "t": 1.0})

    def cut_short(prepared: Any, on_frames: Any) -> nc.Run:
        assert on_frames(whole.t[:2], whole.x[:2])
        return replace(whole, t=whole.t[:5], x=whole.x[:5], status="cancelled")

    monkeypatch.setattr("nucleate.explorer.running.compute", cut_short)
    running = RunningRun(prepare_scene(parse_scene({"n": 5, "frames": 6, "t": 1.0})), lambda: None)
    running.x[1:] = np.nan  # memory is handed out again with what was in it: the very frames, as it happens
    assert np.array_equal(running.compute().x, whole.x[:5])
    assert running.ready == 5
