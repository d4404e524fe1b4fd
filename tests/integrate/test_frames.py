"""Frames come at the times asked for, or at every step."""

from typing import Any

import numpy as np
import pytest
from support.places import apart, on_circle

import nucleate as nc
from nucleate.attention import Attention


@pytest.mark.parametrize("method", ["causal", "auto"])
def test_frames_come_at_the_times_asked_for(method: Any) -> None:
    x0 = nc.uniform(6, 2, seed=0)
    for t in (30.0, 5e3, 1e20):
        run = nc.simulate(Attention(9.0), x0, t, save=17, method=method)
        assert len(run.t) == 17
        assert run.t[0] == 0.0
        assert run.t[-1] == t
        assert (np.diff(run.t) > 0).all()
        assert np.array_equal(run.x[0], x0)
    times = np.array([0.0, 1e-9, 0.5, 99.999, 100.0, 100.001, 1e3, 1e10, np.nextafter(1e10, 2e10)])
    run = nc.simulate(Attention(9.0), x0, 1e12, save=times, method=method)
    assert np.array_equal(run.t, times)
    later = nc.simulate(Attention(9.0), x0, 1e12, save=times[3:], method=method)
    assert np.array_equal(later.t, times[3:])
    assert apart(later.x, run.x[3:]) < 1e-6
    steps = nc.simulate(Attention(9.0), x0, 1e12, save="steps", method=method)
    assert len(steps.t) == steps.steps + 1
    assert (steps.t[0], steps.t[-1]) == (0.0, 1e12)
    assert (np.diff(steps.t) >= 0).all()


def test_every_step_of_a_long_life_can_be_kept_and_read_back(tmp_path: Any) -> None:
    run = nc.simulate(Attention(64.0), on_circle([0.0, 1.0, 2.5]), 1e60, save="steps", method="causal")
    assert (np.diff(run.t) == 0).any()  # t + h = t there
    run.save(tmp_path / "life.zarr")
    again = nc.load(tmp_path / "life.zarr")
    assert np.array_equal(again.t, run.t)
    assert np.array_equal(again.x, run.x)
