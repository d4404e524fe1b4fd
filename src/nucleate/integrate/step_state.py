"""The record of the runs under way in the explicit solver: states, stages, and a few numbers per lane."""

from typing import NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.integrate.run_buffers import Integers
from nucleate.integrate.tableau import Tableau
from nucleate.kernels.simd import LANES, aligned_zeros
from nucleate.kernels.systems import NO_RUN

__all__ = ["StepState", "new_step_state", "tokens_of"]


class StepState(NamedTuple):
    """The runs under way, interleaved as y[coordinate * lanes + at], `at` the number of a lane, of 1 or 8.
    Arrays of `size` are padded by 8."""

    y: Array  # (size,) the state
    start_y: Array  # (size,) the state at the start
    trial: Array  # (size,) the end of the step that is tried
    scratch: Array  # (size,) where a stage of the interpolant is taken; one run's state at a time asked for
    stages: Array  # (s + 1 + r, size) velocities
    # a number per lane, (8,)
    t: Array
    h: Array  # all equal with one lane
    wanted: Array  # h if it were not cut short
    error: Array  # of the step, in radians
    error_before: Array  # of the step before, in tolerances
    decay: Array  # h times the fastest rate of decay
    interpolant_error: Array  # in tolerances
    run: Integers  # its number, or NO_RUN
    fresh: Integers  # 1 if the first stage is still to be computed
    after_rejection: Integers  # 1 if the step was rejected before, and the next one may not grow
    lanes: int
    most: int  # lanes that carry a run, at most
    width: int  # coordinates per token: 1 where the state is angles
    tokens: int
    # the state is y = r theta, whose length counts: nothing puts it back onto the sphere, and errors are
    # relative to it
    free: bool


def new_step_state(
    table: Tableau,
    n: int,
    d: int,
    lanes: int,
    angles: bool = True,
    free: bool = False,
    most: int = LANES,
) -> StepState:
    """Room for `lanes` runs of n tokens in dimension d; on the circle as angles, unless told otherwise."""
    width = 1 if d == 2 and angles else d
    size = -(-n * width * lanes // LANES) * LANES + LANES
    run, fresh, after_rejection = np.zeros((3, LANES), dtype=np.int64)
    run[:] = NO_RUN
    stages = aligned_zeros(len(table.P), size)
    y, start_y, trial, scratch = aligned_zeros(4, size)
    t, h, wanted, error, error_before, decay, interpolant_error = aligned_zeros(7, LANES)
    numbers = t, h, wanted, error, error_before, decay, interpolant_error, run, fresh, after_rejection
    return StepState(y, start_y, trial, scratch, stages, *numbers, lanes, min(lanes, most), width, n, free)


def tokens_of(state: StepState, start: Array) -> Array:
    """Where the tokens of a single run stand, (n, d); of a free state with their lengths."""
    n, d = start.shape
    if state.width > 1:
        return state.y[: n * d].reshape(n, d).copy()
    turn = state.y[:n] - state.start_y[:n]
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.stack(
        [start[:, 0] * cosine - start[:, 1] * sine, start[:, 1] * cosine + start[:, 0] * sine], axis=1
    )
