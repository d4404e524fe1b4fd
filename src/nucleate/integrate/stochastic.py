"""The solver of runs with noise: equal steps of `nucleate.noise`, one run after the other, no Python inside.

The state is coordinates in every dimension, (n * d,) flat and padded by 8.  Steps are counted, not measured:
step i goes from i dt to (i+1) dt and reads the path's increments 2 i and 2 i + 1, so that a run can be
carried in pieces, from any step to any other, each with a system of its own (`layers.Layers`).

`integrate_stochastic` is ordinary Python that Numba compiles.  A team of threads on one large system runs the
same source uncompiled, its loops in the compiled functions below.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.integrate.brownian import Path, increment_into
from nucleate.integrate.frames import write_start
from nucleate.integrate.run_buffers import ENDED, Integers, RunBuffers
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING
from nucleate.kernels.compile import inlined, take_next, uncounted
from nucleate.kernels.simd import LANES, lane, load, set_lane, splat, vmax
from nucleate.kernels.systems import drift_into
from nucleate.kernels.threads import Stop
from nucleate.kernels.vector_math import sincos
from nucleate.noise import width

__all__ = [
    "StochasticState",
    "integrate_stochastic",
    "integrate_stochastic_in_python",
    "new_stochastic_state",
]

MIN_DIVISOR = 1e-300  # in place of a divisor that may be zero


class StochasticState(NamedTuple):
    """The run under way."""

    y: Array  # (n * d + 8,) the tokens
    trial: Array  # (n * d + 8,) where the second velocity is taken
    k1: Array  # (n * d + 8,) the two velocities of Heun's method
    k2: Array
    w: Array  # (n * m + 8,) an increment of the path
    z: Array  # (n * m + 8,) scratch; angles, where the system takes them
    n: int
    d: int
    angular: bool  # the system's state is angles, and its velocities are theirs


def new_stochastic_state(n: int, d: int, angular: bool) -> StochasticState:
    """Room for a run of n tokens in dimension d."""
    y, trial, k1, k2 = np.zeros((4, n * d + LANES))
    w, z = np.zeros((2, n * width(d) + LANES))
    return StochasticState(y, trial, k1, k2, w, z, n, d, angular)


def integrate_stochastic_in_python(
    system: Any,
    path: Path,
    state: StochasticState,
    buffers: RunBuffers,
    frame_steps: Integers,
    steps: int,
    first: int,
    last: int,
    stop: Stop,
) -> int:
    """Carry the runs of the queue from step `first` to step `last` of `steps`, and keep a frame after as many
    steps as `frame_steps` says, (m,).  A run that does not begin at step 0 goes on from the state."""
    n = state.n
    while True:
        place = take_next(buffers.queue)
        if place >= buffers.order.size:
            return ENDED
        run = buffers.order[place]
        if first == 0:
            begin_run(state, buffers, run)
        for step in range(first, last):
            if buffers.status[run] != RUNNING:
                break
            increment_into(path, run, 2 * step, n * path.m, state.w, state.z)
            diffuse(state)
            for stage in range(2):
                here, velocity = (state.y, state.k1) if stage == 0 else (state.trial, state.k2)
                if state.angular:
                    angles_into(here, state.z, n)
                    drift_into(system, state.z, velocity, stop)
                    turns_to_velocities(here, velocity, n)
                else:
                    drift_into(system, here, velocity, stop)
                if stage == 0:
                    put_on_sphere(state, state.trial, buffers.dt, 0.0)
            finite = put_on_sphere(state, state.y, 0.5 * buffers.dt, 0.5 * buffers.dt)
            increment_into(path, run, 2 * step + 1, n * path.m, state.w, state.z)
            diffuse(state)
            end_step(state, buffers, frame_steps, steps, run, step + 1, finite, stop[0])


integrate_stochastic = uncounted(integrate_stochastic_in_python)


@uncounted
def begin_run(state, buffers, run):
    """The start becomes the state, and the first frame if time 0 is asked for."""
    for k in range(state.n):
        for c in range(state.d):
            state.y[k * state.d + c] = buffers.start[run, k, c]
    buffers.status[run] = RUNNING
    write_start(buffers, run)


@uncounted
def diffuse(state):
    """y moved along great circles by w, which carries the spread; eight tokens at a time."""
    y, w, n, d = state.y, state.w, state.n, state.d
    for k0 in range(0, n, LANES):
        count = min(LANES, n - k0)
        if d == 2:
            sine, cosine = sincos(load(w, k0))
            for at in range(count):
                i, c, s = 2 * (k0 + at), lane(cosine, at), lane(sine, at)
                y[i], y[i + 1] = c * y[i] - s * y[i + 1], c * y[i + 1] + s * y[i]
        else:
            angle = splat(0.0)
            for at in range(count):
                angle = set_lane(angle, at, project(y, w, (k0 + at) * d, d))
            sine, cosine = sincos(angle)
            sine = sine / vmax(angle, splat(MIN_DIVISOR))
            for at in range(count):
                i, c, s = (k0 + at) * d, lane(cosine, at), lane(sine, at)
                square = 0.0
                for e in range(d):
                    y[i + e] = c * y[i + e] + s * w[i + e]
                    square += y[i + e] * y[i + e]
                inverse = 1.0 / math.sqrt(square)
                for e in range(d):
                    y[i + e] *= inverse


@inlined
def project(y, w, i, d):
    """w = P_y w for the token whose coordinates begin at i; its length."""
    along, square = 0.0, 0.0
    for e in range(d):
        along += y[i + e] * w[i + e]
    for e in range(d):
        w[i + e] -= along * y[i + e]
        square += w[i + e] * w[i + e]
    return math.sqrt(square)


@uncounted
def put_on_sphere(state, out, h1, h2):
    """out = y + h1 k1 + h2 k2, made unit; whether all of it is finite."""
    y, k1, k2, d = state.y, state.k1, state.k2, state.d
    finite = True
    for i in range(0, state.n * d, d):
        square = 0.0
        for c in range(d):
            value = y[i + c] + h1 * k1[i + c]
            if h2 != 0.0:  # k2 may not be there yet
                value += h2 * k2[i + c]
            out[i + c] = value
            square += value * value
        inverse = 1.0 / math.sqrt(square)
        finite &= inverse > 0.0 and inverse < np.inf
        for c in range(d):
            out[i + c] *= inverse
    return finite


@uncounted
def angles_into(y, angle, n):
    """The angles of tokens y on the circle."""
    for k in range(n):
        angle[k] = math.atan2(y[2 * k + 1], y[2 * k])


@uncounted
def turns_to_velocities(y, velocity, n):
    """velocity = how the coordinates y change, (n * 2,), where it was how their angles do, (n,)."""
    for k in range(n - 1, -1, -1):
        turn = velocity[k]
        velocity[2 * k], velocity[2 * k + 1] = -turn * y[2 * k + 1], turn * y[2 * k]


@uncounted
def end_step(state, buffers, frame_steps, steps, run, step, finite, stopped):
    """Keep the frame that is due after `step` steps, and end the run where it has to."""
    if stopped:  # perhaps in the middle of a velocity
        buffers.status[run] = stopped
        return
    if not finite:
        buffers.status[run] = NON_FINITE
        return
    buffers.steps[run] = step
    saved = buffers.saved[run]
    if saved < frame_steps.size and frame_steps[saved] == step:
        frame = buffers.frames[run, saved]
        for k in range(state.n):
            for c in range(state.d):
                frame[k, c] = state.y[k * state.d + c]
        buffers.saved[run] = saved + 1
    if step == steps:
        buffers.status[run] = DONE
    elif step >= buffers.max_steps:
        buffers.status[run] = MAX_STEPS
