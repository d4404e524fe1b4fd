"""The explicit solver: Runge-Kutta steps on the sphere, one run or eight at a time, no Python inside.

The state is flat: angles on the circle, coordinates elsewhere.  The drift normalises what it is given, f(y) =
f(y / |y|): a smooth extension off the sphere whose flow keeps |y|, so a step of order p followed by y / |y|
still has order p, for attraction and repulsion alike.  A free state is y = r theta, whose lengths move too
(norms "pre" and "peri"): there the drift is that of y, and nothing is put back.

The error of a step is that of the worst token, in radians, against atol + rtol: a token on its way is not
averaged away among a hundred that stand still.  Of a free state it is |error| / |y|: radians of the
direction, and relative for the length.

`integrate_runs` is ordinary Python that Numba compiles.  A team of threads on one large system runs the same
source uncompiled, its loops in the compiled functions below.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.integrate.accept_or_reject import (
    INITIAL_ERROR_BEFORE,
    accept_or_reject,
    end_run,
    passes_a_frame,
    set_next_step,
)
from nucleate.integrate.frames import write_start
from nucleate.integrate.run_buffers import ENDED, FULL_BUFFER, RunBuffers
from nucleate.integrate.status import NON_FINITE, RUNNING
from nucleate.integrate.step_state import StepState
from nucleate.integrate.tableau import Tableau
from nucleate.kernels.compile import inlined, take_next, uncounted
from nucleate.kernels.simd import LANES, fma, hmax, hsum, lane, load, splat, sqrt, store, vabs, vmax
from nucleate.kernels.systems import NO_RUN, drift_into, tell_lane

__all__ = ["integrate_runs", "integrate_runs_in_python"]

MIN_DIVISOR = 1e-300  # added to a divisor that may be zero


def integrate_runs_in_python(
    system: Any, table: Tableau, state: StepState, buffers: RunBuffers, stop: NDArray[np.uint8]
) -> int:
    """Carry the runs to their end; ENDED when none is left, FULL_BUFFER when frames need more room."""
    stages = len(table.B)
    while True:
        running, fresh = False, False
        for at in range(state.most):
            if state.run[at] == NO_RUN and buffers.queue[0] < buffers.order.size:
                place = take_next(buffers.queue)
                if place < buffers.order.size:
                    begin_run(state, buffers, at, buffers.order[place])
                    tell_lane(system, at, state.run[at])
            running |= state.run[at] != NO_RUN
            fresh |= state.fresh[at] == 1
        if not running:
            return ENDED
        # where it is stopped, nothing more is computed of a step that will not be taken
        if fresh:
            drift_into(system, state.y, state.trial, stop)
            if not stop[0]:
                first_step(state, buffers, table)
        for i in range(1, stages):
            if stop[0]:
                break
            combine_stages(state, table.A[i], i, state.trial)
            drift_into(system, state.trial, state.stages[i], stop)
        if not stop[0]:
            combine_stages(state, table.B, stages, state.trial)
            drift_into(system, state.trial, state.stages[stages], stop)
        if not stop[0]:
            estimate_error(state, table.E, table.E_low, table.gap)
        if not stop[0] and needs_interpolant(state, buffers, table):
            for i in range(table.extra.shape[0]):
                combine_stages(state, table.extra[i], stages + 1 + i, state.scratch)
                drift_into(system, state.scratch, state.stages[stages + 1 + i], stop)
            interpolant_error(state, buffers, table)
        full = False
        for at in range(state.lanes):
            if state.run[at] != NO_RUN:
                full |= accept_or_reject(state, buffers, table, at, stop[0])
                if state.run[at] == NO_RUN:
                    tell_lane(system, at, NO_RUN)
        if full:
            return FULL_BUFFER


integrate_runs = uncounted(integrate_runs_in_python)


@uncounted
def begin_run(state, buffers, at, run):
    """Give a lane to a run: its start becomes the state."""
    start, width = buffers.start[run], state.width
    for k in range(state.tokens):
        length = buffers.start_norms[run, k] if state.free else 1.0
        for c in range(width):
            i = (k * width + c) * state.lanes + at
            state.y[i] = np.arctan2(start[k, 1], start[k, 0]) if width == 1 else start[k, c] * length
            state.start_y[i] = state.y[i]
    state.run[at], state.fresh[at], state.after_rejection[at] = run, 1, 0
    state.t[at], state.error_before[at] = 0.0, INITIAL_ERROR_BEFORE
    state.decay[at], state.interpolant_error[at] = 0.0, 0.0
    buffers.status[run] = RUNNING
    write_start(buffers, run)


@uncounted
def first_step(state, buffers, table):
    """First stage and first step of fresh lanes, from the velocities just put into `trial`."""
    for at in range(state.lanes):
        if not state.fresh[at]:
            continue
        state.fresh[at] = 0
        fastest = 0.0
        for i in range(at, state.tokens * state.width * state.lanes, state.lanes):
            velocity = state.trial[i]
            state.stages[0, i] = velocity
            if not abs(velocity) <= fastest:  # NaN passes
                fastest = abs(velocity)
        if state.free:
            fastest /= _shortest(state)
        h = min(0.01, buffers.tolerance ** (1.0 / table.order)) / fastest if fastest > 0.0 else buffers.final
        if buffers.first_h > 0.0:
            h = buffers.first_h
        set_next_step(state, buffers, table, at, state.t[at], h if buffers.dt == 0.0 else buffers.dt)
        if not np.isfinite(fastest):
            end_run(state, buffers, at, NON_FINITE)


@inlined
def _shortest(state):
    """The length of the shortest token of a free state."""
    shortest = np.inf
    for token in range(state.tokens):
        shortest = min(shortest, _square(state.y, token, state.width))
    return np.sqrt(shortest)


@inlined
def _square(y, token, width):
    """|y|^2 of one token of a single run."""
    square = 0.0
    for i in range(token * width, (token + 1) * width):
        square += y[i] * y[i]
    return square


@uncounted
def combine_stages(state, weights, count, out):
    """out = y + h sum_{j<count} weights_j k_j."""
    y, stages, h, size = state.y, state.stages, load(state.h, 0), state.y.size
    for i in range(0, size - LANES + 1, LANES):
        total = load(stages, i) * weights[0]
        for j in range(1, count):
            total = fma(splat(weights[j]), load(stages, j * size + i), total)
        store(out, i, fma(h, total, load(y, i)))


@uncounted
def estimate_error(state, weights, low, gap):
    """The error of each lane, of its worst token, in radians, NaN where a stage is not finite; and h times
    the fastest rate of decay.

    Where a second, lower estimate is given (Hairer's for order 8), the error e is taken as e^2 / sqrt(e^2 +
    (e_low / 10)^2). The last two stages belong to the same time, at points `gap` apart: their difference over
    that of the points is the rate.
    """
    stages, h, size = state.stages, state.h, state.y.size
    count = weights.size
    if state.width > 1 and state.lanes > 1:
        _worst_tokens(state, weights, low, gap)
        return
    if state.width > 1:
        error, steep, apart = _worst_token(state, weights, low, gap)
        state.error[0], state.decay[0] = h[0] * error, steep / (apart + MIN_DIVISOR)
        return
    worst, poison, steep, apart = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for i in range(0, state.tokens * state.lanes, LANES):
        k = load(stages, i)
        total, other, distance = k * weights[0], splat(0.0), k * gap[0]
        if low.size > 0:
            other = k * low[0]
        for j in range(1, count):
            k = load(stages, j * size + i)
            total = fma(splat(weights[j]), k, total)
            distance = fma(splat(gap[j]), k, distance)
            if low.size > 0:
                other = fma(splat(low[j]), k, other)
        if low.size > 0:
            total = total * total / sqrt(fma(total, total, other * other * 0.01 + MIN_DIVISOR))
        worst = vmax(worst, vabs(total))
        poison = poison + (total - total)  # vmax passes over NaN, this does not
        steep = vmax(steep, vabs(k - load(stages, (count - 2) * size + i)))
        apart = vmax(apart, vabs(distance))
    if state.lanes == 1:
        state.error[0] = h[0] * (hmax(worst) + hsum(poison))
        state.decay[0] = hmax(steep) / (hmax(apart) + MIN_DIVISOR)
    else:
        store(state.error, 0, load(h, 0) * (worst + poison))
        store(state.decay, 0, steep / (apart + MIN_DIVISOR))


@inlined
def _worst_token(state, weights, low, gap):
    """What `estimate_error` needs, for coordinates: the largest error, difference of velocities and distance
    of points of any token.  Eight coordinates at a time, of which each token then collects its own."""
    stages, width, count, size = state.stages, state.width, weights.size, state.y.size
    worst, steep, apart = 0.0, 0.0, 0.0
    square, other, turn, distance, collected, used = 0.0, 0.0, 0.0, 0.0, 0, state.tokens * width
    for i in range(0, used, LANES):
        total, second, third = splat(0.0), splat(0.0), splat(0.0)
        for j in range(count):
            k = load(stages, j * size + i)
            total, third = total + k * weights[j], third + k * gap[j]
            if low.size > 0:
                second = second + k * low[j]
        change = load(stages, (count - 1) * size + i) - load(stages, (count - 2) * size + i)
        total, second, third, change = total * total, second * second, third * third, change * change
        for at in range(min(LANES, used - i)):
            square, other = square + lane(total, at), other + lane(second, at)
            turn, distance = turn + lane(change, at), distance + lane(third, at)
            collected += 1
            if collected < width:
                continue
            if state.free:
                unit = 1.0 / _square(state.y, (i + at) // width, width)
                square, other, turn, distance = square * unit, other * unit, turn * unit, distance * unit
            if low.size > 0:
                square *= square / (square + 0.01 * other + MIN_DIVISOR)
            if np.isnan(square):
                return np.nan, 0.0, 1.0
            worst, steep, apart = max(worst, square), max(steep, turn), max(apart, distance)
            square, other, turn, distance, collected = 0.0, 0.0, 0.0, 0.0, 0
    return np.sqrt(worst), np.sqrt(steep), np.sqrt(apart)


@inlined
def _worst_tokens(state, weights, low, gap):
    """The same for coordinates of eight runs, into `error` and `decay` of their lanes."""
    stages, width, count, size = state.stages, state.width, weights.size, state.y.size
    worst, poison, steep, apart = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for token in range(state.tokens):
        square, other, turn, distance = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for i in range(token * width * LANES, (token + 1) * width * LANES, LANES):
            total, second, third = splat(0.0), splat(0.0), splat(0.0)
            for j in range(count):
                k = load(stages, j * size + i)
                total, third = fma(splat(weights[j]), k, total), fma(splat(gap[j]), k, third)
                if low.size > 0:
                    second = fma(splat(low[j]), k, second)
            change = load(stages, (count - 1) * size + i) - load(stages, (count - 2) * size + i)
            square, other = fma(total, total, square), fma(second, second, other)
            turn, distance = fma(change, change, turn), fma(third, third, distance)
        if low.size > 0:
            square = square * square / (square + other * 0.01 + MIN_DIVISOR)
        worst, steep, apart = vmax(worst, square), vmax(steep, turn), vmax(apart, distance)
        poison = poison + (square - square)  # vmax passes over NaN, this does not
    store(state.error, 0, load(state.h, 0) * (sqrt(worst) + poison))
    store(state.decay, 0, sqrt(steep) / (sqrt(apart) + MIN_DIVISOR))


@uncounted
def needs_interpolant(state, buffers, table):
    """Whether some lane's step will be accepted and passes a time asked for, by a method whose interpolant
    has stages of its own."""
    if table.extra.shape[0] == 0 or buffers.every_step:
        return False
    for at in range(state.lanes):
        if passes_a_frame(state, buffers, table, at):
            return True
    return False


@uncounted
def interpolant_error(state, buffers, table):
    """The error of the interpolant, in tolerances, in each lane that needs it: in the others nothing may
    depend on their neighbours."""
    stages, weights, size = state.stages, table.last_term, state.y.size
    if state.free:
        if passes_a_frame(state, buffers, table, 0):
            state.interpolant_error[0] = state.h[0] * _largest_term(state, weights) / buffers.tolerance
        return
    worst = splat(0.0)
    for i in range(0, state.tokens * state.width * state.lanes, LANES):
        total = splat(0.0)
        for j in range(weights.size):
            total = fma(splat(weights[j]), load(stages, j * size + i), total)
        worst = vmax(worst, vabs(total))
    scale = np.sqrt(float(state.width)) / buffers.tolerance
    for at in range(state.lanes):
        if passes_a_frame(state, buffers, table, at):
            largest = hmax(worst) if state.lanes == 1 else lane(worst, at)
            state.interpolant_error[at] = scale * state.h[at] * largest


@inlined
def _largest_term(state, weights):
    """The interpolant's last term over |y|, of the token where it is largest, for a free state."""
    largest = 0.0
    for token in range(state.tokens):
        square = 0.0
        for i in range(token * state.width, (token + 1) * state.width):
            total = 0.0
            for j in range(weights.size):
                total += weights[j] * state.stages[j, i]
            square += total * total
        largest = max(largest, square / _square(state.y, token, state.width))
    return np.sqrt(largest)
