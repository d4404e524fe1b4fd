"""How frames are written: the points that a run passes at the times asked for, or at every step."""

import numpy as np

from nucleate.checks import ROUNDING
from nucleate.kernels.compile import inlined
from nucleate.kernels.simd import LANES, lane, load
from nucleate.kernels.vector_math import sincos

__all__ = ["write_columns", "write_passed_frames", "write_start"]


@inlined
def write_start(buffers, run):
    """The start as first frame, if it was not written yet, and if time 0 is asked for or every step."""
    start, frames = buffers.start, buffers.frames
    if buffers.saved[run] == 0 and (buffers.every_step or buffers.times[0] == 0.0):
        for k in range(start.shape[1]):
            for c in range(start.shape[2]):
                frames[run, 0, k, c] = start[run, k, c]
        for k in range(buffers.norms.shape[2]):
            buffers.norms[run, 0, k] = buffers.start_norms[run, k]
        buffers.times[0], buffers.saved[run] = 0.0, 1


@inlined
def write_columns(buffers, run, x, first, t):
    """One more frame, at time t: the columns of x from `first` on; True when that was the last there is room
    for."""
    frames, saved = buffers.frames, buffers.saved[run]
    for k in range(frames.shape[2]):
        for c in range(x.shape[0]):
            frames[run, saved, k, c] = x[c, first + k]
    buffers.times[saved] = t
    buffers.saved[run] = saved + 1
    return buffers.every_step and saved + 1 >= buffers.times.size


@inlined
def write_passed_frames(state, buffers, table, at, t, new):
    """Every time asked for in (t, new], by the interpolant; or the new point itself when every step is kept.

    True when there is room for no more.
    """
    run = state.run[at]
    saved, times = buffers.saved[run], buffers.times
    if buffers.every_step:
        times[saved] = buffers.begin + new
    while saved < times.size and (buffers.every_step or times[saved] - buffers.begin <= new):
        asked = new if buffers.every_step else times[saved] - buffers.begin
        _interpolate(state, table.P, at, (asked - t) / (new - t) if asked < new else 1.0)
        _write_points(state, buffers.start[run], buffers.frames[run, saved], buffers.norms[run, saved], at)
        saved += 1
        buffers.saved[run] = saved
        if buffers.every_step:
            return saved >= times.size
    return False


@inlined
def _interpolate(state, P, at, theta):
    """scratch = the state of one lane at t + theta h."""
    y, stages, scratch, lanes = state.y, state.stages, state.scratch, state.lanes
    count = state.tokens * state.width
    if theta == 1.0:
        y = state.trial
    for i in range(count):
        scratch[i] = y[i * lanes + at]
    if theta == 1.0:
        return
    for j in range(P.shape[0]):
        weight = 0.0
        for p in range(P.shape[1] - 1, -1, -1):
            weight = (weight + P[j, p]) * theta
        weight *= state.h[at]
        for i in range(count):
            scratch[i] += weight * stages[j, i * lanes + at]


@inlined
def _write_points(state, start, out, norms, at):
    """`scratch` as points: the start turned by how far each angle went, or coordinates made unit, and their
    lengths where these count."""
    scratch, start_angle, lanes = state.scratch, state.start_y, state.lanes
    n, d = start.shape
    if state.width == 1:
        for k in range(n):
            scratch[k] -= start_angle[k * lanes + at]
        for k0 in range(0, n, LANES):
            sine, cosine = sincos(load(scratch, k0))
            for i in range(min(LANES, n - k0)):
                x, y, c, s = start[k0 + i, 0], start[k0 + i, 1], lane(cosine, i), lane(sine, i)
                out[k0 + i, 0] = x * c - y * s
                out[k0 + i, 1] = y * c + x * s
        for k in range(norms.size):
            norms[k] = 1.0
        return
    for k in range(n):
        square = 0.0
        for c in range(d):
            square += scratch[k * d + c] ** 2
        inverse = 1.0 / np.sqrt(square) if abs(square - 1.0) > ROUNDING else 1.0
        for c in range(d):
            out[k, c] = scratch[k * d + c] * inverse
        if norms.size > 0:
            norms[k] = np.sqrt(square) if state.free else 1.0
