"""Where a step is accepted or rejected, and the length of the next one chosen: for both solvers.

A step is accepted when its error is at most the tolerance.  The explicit solver's next step follows a
proportional-integral controller (Hairer, Norsett, Wanner, Solving ODEs I, II.4), the causal solver's
Gustafsson's predictive one.  The functions of numbers alone are compiled for a GPU too.
"""

import numpy as np

from nucleate.checks import EPS, ROUNDING
from nucleate.integrate.frames import write_passed_frames
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, STALLED
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.simd import LANES
from nucleate.kernels.systems import NO_RUN

__all__ = [
    "accept_or_reject",
    "accept_or_reject_causal",
    "cut_step",
    "doubtful_interpolant",
    "end_run",
    "passes_a_frame",
    "set_next_step",
    "shorter_step",
    "too_short",
    "wanted_step",
]

MIN_STEP = 1e-300  # a run that needs shorter ones is given up
SAFETY = 0.9  # share taken of the step that ought to meet the tolerance
MIN_FACTOR, MAX_FACTOR = 0.2, 8.0  # of a step to the next, explicit
NON_FINITE_FACTOR = 0.1  # the same where the error is not finite
MIN_FACTOR_CAUSAL, MAX_FACTOR_CAUSAL = 0.1, 10.0
ERROR_BEFORE_EXPONENT = 0.04  # of the error before: makes the steps even where stability limits them
# Errors in tolerances.
MIN_ERROR = 1e-10  # smaller ones count as this
INITIAL_ERROR_BEFORE = 1e-4
MIN_ERROR_FOR_DECAY = 1e-6  # below it the rate of decay is made of rounding errors
MAX_INTERPOLANT_ERROR = 4.0  # in the last term of the interpolant, which errs less than that term
MAX_DECAY_INTERPOLATED = 3.0  # h times a rate of decay up to which the interpolant of order 8 is trusted


@uncounted
def accept_or_reject(state, buffers, table, at, stop):
    """Accept or reject the step of one lane, write the frames it passes, choose the next step; True when
    frames need more room."""
    run, t, h = state.run[at], state.t[at], state.h[at]
    error = state.error[at] / buffers.tolerance
    fixed, finite = buffers.dt > 0.0, np.isfinite(error)
    if stop or (fixed and not finite):
        end_run(state, buffers, at, stop if stop else NON_FINITE)
        return False
    if not fixed and not error <= 1.0:
        _reject(state, buffers, table, at, error)
        return False
    saved = buffers.saved[run]
    if (
        _doubts_interpolant(state, table, at)
        and not buffers.every_step
        and saved < buffers.times.size
        and t < buffers.times[saved] - buffers.begin < (t + h) * (1.0 - 4.0 * EPS)
    ):
        set_next_step(state, buffers, table, at, t, h)  # take the step again, up to the time asked for
        return False
    buffers.steps[run] += 1
    new = buffers.steps[run] * buffers.dt if fixed else t + h
    latest = _latest_end(state, buffers, table, at)
    if new >= latest * (1.0 - 4.0 * EPS) or (fixed and new >= latest - 1e-9 * buffers.dt):
        new = latest
    full = write_passed_frames(state, buffers, table, at, t, new)
    _accept(state, at, len(table.B))
    state.t[at] = new
    if new == buffers.final:
        end_run(state, buffers, at, DONE)
    elif _steps_used_up(buffers, run):
        end_run(state, buffers, at, MAX_STEPS)
    elif fixed:
        set_next_step(state, buffers, table, at, new, buffers.dt)
    else:
        _choose_next_step(state, buffers, table, at, new, error)
    return full


@inlined
def _reject(state, buffers, table, at, error):
    """The step is taken again, shorter, if that is possible."""
    run = state.run[at]
    buffers.rejected[run] += 1
    h = shorter_step(state.h[at], error, table.order)
    _set_step(state, at, h)
    state.wanted[at], state.after_rejection[at] = h, 1
    if too_short(state.t[at], h):
        end_run(state, buffers, at, STALLED if np.isfinite(error) else NON_FINITE)
    elif _steps_used_up(buffers, run):
        end_run(state, buffers, at, MAX_STEPS)


@inlined
def _accept(state, at, last):
    """The trial becomes the state, on the sphere unless it is free; its velocity, stage `last`, the first of
    the next step."""
    y, trial, stages, lanes, width = state.y, state.trial, state.stages, state.lanes, state.width
    for token in range(state.tokens):
        inverse = 1.0
        if width > 1 and not state.free:
            square = 0.0
            for c in range(width):
                square += trial[(token * width + c) * lanes + at] ** 2
            # a token that stands still keeps its bits
            inverse = 1.0 / np.sqrt(square) if abs(square - 1.0) > ROUNDING else 1.0
        for c in range(width):
            i = (token * width + c) * lanes + at
            y[i] = trial[i] * inverse
            stages[0, i] = stages[last, i]


@inlined
def _choose_next_step(state, buffers, table, at, t, error):
    """The step after one of the given error, which ended at time t."""
    wanted = wanted_step(
        state.h[at],
        state.wanted[at],
        error,
        state.error_before[at],
        state.after_rejection[at] == 1,
        state.decay[at],
        table.order,
        table.max_stable_decay,
    )
    state.error_before[at], state.after_rejection[at] = max(error, INITIAL_ERROR_BEFORE), 0
    # a step that ended at a time asked for says nothing about the interpolant; it gets another chance
    state.interpolant_error[at] *= 0.5
    state.decay[at] *= wanted / state.h[at]  # to be expected: a step to be taken again costs a whole one
    set_next_step(state, buffers, table, at, t, wanted)
    if t + state.h[at] == t:
        end_run(state, buffers, at, STALLED)


@inlined
def set_next_step(state, buffers, table, at, t, wanted):
    """The step from time t: as long as wanted, or up to the time it may not pass, or half-way there rather
    than leaving a sliver."""
    left = _latest_end(state, buffers, table, at) - t
    state.wanted[at] = wanted
    _set_step(state, at, cut_step(wanted, left, buffers.dt > 0.0))


@inlined
def _set_step(state, at, h):
    state.h[at] = h
    if state.lanes == 1:
        for i in range(LANES):
            state.h[i] = h


@inlined
def _latest_end(state, buffers, table, at):
    """The time a step may not pass: the end, or the next time asked for where the interpolant is in doubt."""
    saved = buffers.saved[state.run[at]]
    if _doubts_interpolant(state, table, at) and not buffers.every_step and saved < buffers.times.size:
        return min(buffers.times[saved] - buffers.begin, buffers.final)
    return buffers.final


@inlined
def _doubts_interpolant(state, table, at):
    """Whether the interpolant errs more than the tolerance, or stability limits the step."""
    return table.extra.shape[0] > 0 and doubtful_interpolant(state.decay[at], state.interpolant_error[at])


@inlined
def passes_a_frame(state, buffers, table, at):
    """Whether this lane's step will be accepted and passes a time asked for."""
    run = state.run[at]
    if run == NO_RUN or not state.error[at] <= buffers.tolerance or buffers.saved[run] >= buffers.times.size:
        return False
    t = buffers.times[buffers.saved[run]] - buffers.begin
    return t < state.t[at] + state.h[at] and t < _latest_end(state, buffers, table, at)


@inlined
def _steps_used_up(buffers, run):
    return buffers.steps[run] + buffers.rejected[run] >= buffers.max_steps


@inlined
def end_run(state, buffers, at, status):
    """The run in this lane has ended, and the lane is free."""
    buffers.status[state.run[at]] = status
    state.run[at] = NO_RUN


# Functions of numbers alone.


@inlined
def shorter_step(h, error, order):
    """The step after one that was rejected, its error in tolerances."""
    finite = abs(error) < np.inf
    return h * (max(MIN_FACTOR, SAFETY * error ** (-1.0 / order)) if finite else NON_FINITE_FACTOR)


@inlined
def too_short(t, h):
    """Whether a step no longer moves the time on."""
    return h <= 8.0 * EPS * t or h < MIN_STEP


@inlined
def wanted_step(h, wanted, error, error_before, after_rejection, decay, order, max_stable_decay):
    """The step after one that was accepted, errors in tolerances."""
    exponent = -1.0 / order + 0.75 * ERROR_BEFORE_EXPONENT
    factor = SAFETY * max(error, MIN_ERROR) ** exponent * error_before**ERROR_BEFORE_EXPONENT
    factor = min(1.0 if after_rejection else MAX_FACTOR, max(MIN_FACTOR, factor))
    # stay inside the region of stability: at its edge errors no longer decay
    if error > MIN_ERROR_FOR_DECAY and decay > 0.0:
        factor = min(factor, max(0.5, max_stable_decay / decay))
    if h < wanted:  # cut short: its error says little about how long a step may be
        return max(h * factor, wanted)
    return h * factor


@inlined
def cut_step(wanted, left, fixed):
    """As long as wanted, or all that is left, or half of it rather than leaving a sliver."""
    if wanted >= left * (1.0 - 1e-9):
        return left
    if not fixed and wanted > 0.5 * left:
        return 0.5 * left
    return wanted


@inlined
def doubtful_interpolant(decay, interpolant_error):
    """Whether the interpolant errs more than the tolerance, or stability limits the step."""
    return decay > MAX_DECAY_INTERPOLATED or interpolant_error > MAX_INTERPOLANT_ERROR


@inlined
def accept_or_reject_causal(clock, h, error, order, lands, until):
    """Whether a step of length h is accepted; the clock moves on, to `until` if it `lands` there, and holds
    the next step."""
    finite = np.isfinite(error)
    factor = SAFETY * max(error, MIN_ERROR) ** (-1.0 / order) if finite else MIN_FACTOR_CAUSAL
    if not error <= 1.0:
        clock.h, clock.after_rejection = h * max(MIN_FACTOR_CAUSAL, factor), 1.0
        return False
    if lands:
        clock.t, clock.t_low = until, 0.0
    else:
        low = clock.t_low + h
        t = clock.t + low
        clock.t_low = low - (t - clock.t)
        clock.t = t
    # Gustafsson's prediction: towards a merger every step must be shorter than the last
    if clock.h_before > 0.0:
        trend = (clock.error_before / max(error, MIN_ERROR)) ** (1.0 / order)
        factor = min(factor, factor * h / clock.h_before * trend)
    factor = min(1.0 if clock.after_rejection else MAX_FACTOR_CAUSAL, max(MIN_FACTOR_CAUSAL, factor))
    clock.h = max(h * factor, clock.h) if lands and h < clock.h else h * factor
    clock.h_before, clock.error_before, clock.after_rejection = h, max(error, MIN_ERROR), 0.0
    return True
