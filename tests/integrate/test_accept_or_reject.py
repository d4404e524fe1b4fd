"""Where steps are accepted and rejected: what becomes of the time, the step and the counters."""

from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import Array
from nucleate.integrate.accept_or_reject import (
    MAX_FACTOR,
    MAX_FACTOR_CAUSAL,
    MIN_FACTOR,
    MIN_FACTOR_CAUSAL,
    SAFETY,
    accept_or_reject,
    accept_or_reject_causal,
)
from nucleate.integrate.causal_state import new_causal_clock
from nucleate.integrate.run_buffers import RunBuffers, new_run_buffers
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING, STATUS
from nucleate.integrate.step_state import StepState, new_step_state
from nucleate.integrate.tableau import dormand_prince_8
from nucleate.kernels.compile import uncounted
from nucleate.kernels.systems import NO_RUN

TABLE, TOLERANCE = dormand_prince_8(), 1e-6


def under_way(t: float, h: float, **buffers: Any) -> tuple[StepState, RunBuffers, Array]:
    """A run in the middle of its way to time 10, with a step from t by h tried; and where it would arrive."""
    x0 = nc.uniform(4, 3, seed=0)
    made = new_run_buffers(x0[None], np.array([10.0]), False, 10.0, TOLERANCE, 0.0, 100)._replace(**buffers)
    state, arrival = new_step_state(TABLE, 4, 3, lanes=1), nc.uniform(4, 3, seed=1)
    state.y[:12], state.trial[:12] = x0.ravel(), arrival.ravel()
    state.run[0], state.t[0], state.h[:], state.wanted[0], state.error_before[0] = 0, t, h, h, 1.0
    return state, made, arrival


def judged(state: StepState, buffers: RunBuffers, error: float, stop: int = 0) -> bool:
    """Accept or reject, for an error in tolerances; whether it was accepted."""
    state.error[0] = error * TOLERANCE
    accept_or_reject(state, buffers, TABLE, 0, stop)
    return bool(buffers.steps[0])


@pytest.mark.parametrize(
    ("error", "accepted"), [(0.0, True), (0.5, True), (1.0, True), (1.01, False), (1e9, False)]
)
def test_a_step_is_accepted_when_its_error_is_at_most_the_tolerance(error: float, accepted: bool) -> None:
    state, buffers, arrival = under_way(1.0, 0.25)
    before = state.y.copy()
    assert judged(state, buffers, error) == accepted
    assert (buffers.steps[0], buffers.rejected[0]) == (int(accepted), int(not accepted))
    assert state.t[0] == (1.25 if accepted else 1.0)
    assert np.allclose(state.y[:12], arrival.ravel() if accepted else before[:12], rtol=0, atol=1e-15)


def test_the_next_step_follows_the_error_within_bounds() -> None:
    for error, factor in ((1e9, MIN_FACTOR), (2.0, SAFETY * 2.0 ** (-1 / 8)), (0.0, MAX_FACTOR)):
        state, buffers, _ = under_way(1.0, 0.25)
        judged(state, buffers, error)
        assert state.h[0] == pytest.approx(0.25 * factor)


def test_a_step_may_not_grow_right_after_a_rejection() -> None:
    state, buffers, _ = under_way(1.0, 0.25)
    assert not judged(state, buffers, 2.0)
    shorter = float(state.h[0])
    assert judged(state, buffers, 0.0)
    assert state.h[0] == shorter
    judged(state, buffers, 0.0)
    assert state.h[0] > shorter


@pytest.mark.parametrize(
    ("error", "stop", "options", "status"),
    [
        (np.nan, 0, {}, RUNNING),  # tried again, shorter
        (np.nan, 0, {"dt": 0.25}, NON_FINITE),
        (0.5, 0, {"max_steps": 1}, MAX_STEPS),
        (2.0, 0, {"max_steps": 1}, MAX_STEPS),
        (0.5, 5, {}, 5),
        (0.5, 0, {"final": 1.25}, DONE),
    ],
)
def test_a_run_ends_with_the_status_that_fits(error: float, stop: int, options: Any, status: int) -> None:
    state, buffers, _ = under_way(1.0, 0.25, **options)
    judged(state, buffers, error, stop)
    assert STATUS[buffers.status[0]] == STATUS[status]
    assert (state.run[0] == NO_RUN) == (status != RUNNING)


@uncounted
def judged_causal(clocks, h, error, order, lands, until):  # type: ignore[no-untyped-def]  # Numba infers its types
    return accept_or_reject_causal(clocks[0], h, error, order, lands, until)


def test_the_causal_clock_loses_no_step_beside_a_long_time() -> None:
    clock = new_causal_clock(1e20)
    for _ in range(1000):
        assert judged_causal(clock, 1.0, 0.5, 8, False, 1e30)
    assert clock["t"][0] == 1e20
    assert clock["t_low"][0] == 1000.0
    assert judged_causal(clock, 1e30 - 1e20, 0.5, 8, True, 1e30)
    assert (clock["t"][0], clock["t_low"][0]) == (1e30, 0.0)


def test_a_rejected_causal_step_leaves_the_time_and_is_tried_shorter() -> None:
    clock = new_causal_clock(3.0)
    for error, factor in (
        (2.0, SAFETY * 2.0 ** (-1 / 8)),
        (1e30, MIN_FACTOR_CAUSAL),
        (np.nan, MIN_FACTOR_CAUSAL),
    ):
        assert not judged_causal(clock, 1.0, error, 8, False, 1e30)
        assert (clock["t"][0], clock["t_low"][0]) == (3.0, 0.0)
        assert clock["h"][0] == pytest.approx(factor)
    assert judged_causal(clock, 0.5, 0.0, 8, False, 1e30)
    assert clock["h"][0] == 0.5  # no longer after a rejection
    assert judged_causal(clock, 0.5, 0.0, 8, False, 1e30)
    assert clock["h"][0] == 0.5 * MAX_FACTOR_CAUSAL
