""" "auto" over long times: the explicit and the causal solver in alternation."""

import numpy as np
import pytest
from support.places import apart, on_circle

import nucleate as nc
from nucleate.attention import Attention


@pytest.mark.parametrize("d", [2, 3])
def test_auto_equals_either_solver(d: int) -> None:
    x0 = nc.uniform(12, d, seed=4)
    times = np.concatenate([np.linspace(0.0, 150.0, 8), np.geomspace(200.0, 4000.0, 8)])
    explicit, by_turns, implicit = (
        nc.simulate(Attention(4.0), x0, 4000.0, save=times, rtol=1e-9, atol=1e-11, method=m).x
        for m in ("explicit", "auto", "causal")
    )
    assert apart(explicit, implicit) < 1e-6
    assert apart(explicit, by_turns) < 1e-6


@pytest.mark.parametrize("d", [2, 3])
def test_auto_leaves_a_rotating_system_to_the_explicit_solver(d: int) -> None:
    V = np.diag([0.5, 0.5, -0.5][:d])
    V[0, 1], V[1, 0] = -1.0, 1.0
    x0 = nc.uniform(1, d, seed=6)
    times = np.linspace(0.0, 3000.0, 31)
    run = nc.simulate(Attention(2.0, V=V), x0, 3000.0, save=times, rtol=1e-9, atol=1e-11)
    assert run.status == "done"
    # e^{tV} turns the plane by t radians; the error adds up over some thousand steps along the orbit, never
    # across it.
    angle = np.arctan2(x0[0, 1], x0[0, 0]) + times
    assert apart(run.x[2:, 0, :2], on_circle(angle)[2:]) < 1e-4
    assert run.t.tolist() == times.tolist()


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_auto_reaches_the_end_at_any_tolerance(rtol: float) -> None:
    # Handed back at t = 1e17 an explicit step of 1 would be lost: t + 1 = t.
    for seed in range(2):
        x0 = nc.uniform(60, 2, seed)
        run = nc.simulate(Attention(64.0), x0, 1e60, rtol=rtol, atol=rtol / 100, max_steps=20_000)
        assert run.status == "done", seed
        assert apart(run.x[-1], x0[0]) < 1e-9
