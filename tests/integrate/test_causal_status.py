"""The causal solver at its edges: every way to end, and starts at which nothing moves."""

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from support.places import apart, on_circle
from support.time_limits import patient, within_wall_seconds

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import Array, InputError


def endless(**options: Any) -> Any:
    """A rotation: steps of about 1 for a time of 1e12."""
    V = np.zeros((3, 3))
    V[0, 1], V[1, 0] = -1.0, 1.0
    return nc.simulate(
        Attention(1.0, V=V),
        nc.uniform(10, 3, seed=0),
        1e12,
        method="causal",
        max_steps=options.pop("max_steps", 10**12),
        **options,
    )


def test_max_steps_keeps_what_was_computed() -> None:
    run = endless(save="steps", max_steps=50)
    assert run.status == "max steps"
    assert 0 < run.steps <= 50
    assert len(run.t) == run.steps + 1
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("method", ["causal", "auto"])
@patient
def test_time_limit_and_cancelling_end_a_long_run(method: Any) -> None:
    endless(max_steps=3)  # compile
    with within_wall_seconds(3.0):
        assert endless(time_limit=0.3, save="steps").status == "time limit"
        assert endless(on_frames=lambda t, x: False).status == "cancelled"
    assert (
        nc.simulate(Attention(64.0), nc.uniform(400, 2, seed=0), 1e60, method=method, time_limit=0.05).status
        == "time limit"
    )


@patient
def test_ctrl_c_ends_a_long_run_with_its_own_status() -> None:
    endless(max_steps=3)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with within_wall_seconds(3.0):
        run = endless()
    timer.join()
    assert run.status == "interrupted"


def test_on_frames_sees_every_frame_once() -> None:
    seen: list[Array] = []
    run = endless(save="steps", on_frames=lambda t, x: seen.append(t), time_limit=0.7)
    assert len(seen) >= 2
    together = np.concatenate(seen)
    assert np.array_equal(together, run.t[: len(together)])


def test_velocities_beyond_doubles_are_non_finite() -> None:
    for d in (2, 3):
        run = nc.simulate(
            Attention(0.0, V=np.full((d, d), 1.7e308)), nc.uniform(20, d, seed=0), 1.0, method="causal"
        )
        assert run.status == "non-finite"
        assert np.isfinite(run.x).all()


def test_forces_that_underflow_are_reported_and_not_taken_for_an_equilibrium() -> None:
    x0 = on_circle([0.0, 2.0, 2.0, 4.0])
    for d in (2, 3):
        x = np.pad(x0, ((0, 0), (0, d - 2)))
        for method in ("causal", "auto"):
            run = nc.simulate(Attention(1000.0), x, 1e60, method=method)
            assert run.status == "underflow"
            assert not run.done
    # e^{-128} does not underflow, and its wait is awaited
    assert nc.simulate(Attention(64.0), on_circle([0.0, 3.0]), 1e60, method="causal").status == "done"


@pytest.mark.parametrize("d", [2, 3])
def test_coincident_and_antipodal_tokens(d: int) -> None:
    e = np.eye(d)
    run = nc.simulate(Attention(9.0), np.stack([e[0]] * 3), 1e60, method="causal")
    assert run.status == "done"
    assert np.array_equal(run.x[-1], np.stack([e[0]] * 3))
    run = nc.simulate(Attention(9.0), np.stack([e[0], -e[0], e[1]]), 1e60, method="causal")
    assert run.status == "done"
    assert np.array_equal(run.x[-1, 1], -e[0])  # an exact, unstable balance
    assert np.isfinite(run.x).all()


def test_no_attention_at_all_and_no_forces_at_all() -> None:
    x0 = nc.uniform(5, 3, seed=0)
    run = nc.simulate(Attention(0.0), x0, 1e60, method="causal")
    assert run.status == "done"
    assert apart(run.x[-1], x0[0]) < 1e-9
    run = nc.simulate(Attention(9.0, V=np.zeros((3, 3))), x0, 1e60, method="causal")
    assert run.status == "done"
    assert np.array_equal(run.x[-1], run.x[0])


def test_a_full_mask_is_refused_with_a_reason() -> None:
    with pytest.raises(InputError, match=r'mask is "full"'):
        nc.simulate(Attention(1.0, mask="full"), nc.uniform(3, 2, seed=0), 1.0, method="causal")


def test_rows_of_blocks_beyond_memory_are_refused_before_they_are_made() -> None:
    # 2 d^2 numbers for every token: 500 GiB here.
    x0 = np.zeros((30_000, 1024))
    x0[:, 0] = 1.0
    with pytest.raises(InputError, match="GiB"):
        nc.simulate(Attention(1.0), x0, 1.0, save=2, method="causal")
