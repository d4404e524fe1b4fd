"""The explicit solver: Runge-Kutta steps on the sphere, one run or eight at a time, no Python inside.

The state is flat: angles on the circle, coordinates elsewhere.  The drift normalises what it is given, f(y) = f(y / |y|): a smooth extension
off the sphere whose flow keeps |y|, so a step of order p followed by y / |y| still has order p, for attraction and repulsion alike.

The error of a step is that of the worst token, in radians, against atol + rtol: a token in flight is not averaged away among a hundred at rest.

`march` is ordinary Python that Numba compiles.  A team of threads on one large system runs the same source uncompiled, its loops in the compiled
functions below.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.integrate.tableau import Tableau
from nucleate.kernels.choose import drift_into
from nucleate.kernels.compile import compiled, take_next
from nucleate.kernels.lanes import Lanes, lanes_enter
from nucleate.kernels.simd import LANES, fma, hmax, hsum, lane, load, sincos, splat, store, vabs, vmax

__all__ = ["CANCELLED", "DONE", "FULL_BUFFER", "STATUS", "Book", "March", "march", "march_in_python", "new_march", "places_of"]

Integers = NDArray[np.int64]

STATUS = ("running", "done", "max steps", "stalled", "non-finite", "cancelled", "time limit", "interrupted", "underflow")
RUNNING, DONE, MAX_STEPS, STALLED, NON_FINITE, CANCELLED, TIME_LIMIT, INTERRUPTED, UNDERFLOW = range(9)
FULL_BUFFER = -1  # what march returns when it needs room for more frames
EPS = float(np.finfo(np.float64).eps)
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 8.0  # of the step size controller (Hairer, Norsett, Wanner, II.4)
MEMORY = 0.04  # its share of the error before: smooths the step where stability limits it
FREE = -1  # a lane without a run
SAVED, STEPS, REJECTED, STATE = range(4)  # rows of Book.counts
Y, TRIAL, ORIGIN, FRAME, K = range(5)  # rows of March.rows
T, H, ERROR, BEFORE = range(4)  # rows of March.clock
RUN, FRESH, HELD = range(3)  # rows of March.flags


class Book(NamedTuple):
    """What is asked and what is handed back, per run."""

    start: Array  # (b, n, d)
    times: Array  # (m,) asked for, or (room,) written when `every`
    frames: Array  # (b, m or room, n, d)
    counts: Integers  # (4, b) rows SAVED frames, accepted STEPS, REJECTED steps, STATE: a number of STATUS
    queue: Integers  # (1,) the next run to begin, shared by all threads
    last: int  # one past the last run to begin
    begin: float  # the time of the start
    final: float  # the last time
    tolerance: float  # atol + rtol
    dt: float  # fixed step, or 0
    limit: int  # accepted and rejected steps allowed
    every: bool  # keep every accepted step


class March(NamedTuple):
    """The runs under way: `lanes` of them, 1 or 8, interleaved as y[coordinate * lanes + lane]."""

    rows: Array  # (4 + s + 1, size) rows Y the state, TRIAL, ORIGIN the start, FRAME, then the stages from K on; size padded by 8
    clock: Array  # (4, 8) rows T, H, ERROR and BEFORE, the error of the step before; a column per lane, with one lane all of H are equal
    flags: Integers  # (3, 8) rows RUN, its number or FREE; FRESH, first stage still to be computed; HELD, may not grow after a rejection
    lanes: int
    width: int  # coordinates per token: 1 on the circle
    tokens: int


def new_march(table: Tableau, n: int, d: int, lanes: int) -> March:
    """Room for `lanes` runs of n tokens in dimension d."""
    width = 1 if d == 2 else d
    size = -(-n * width * lanes // LANES) * LANES + LANES
    flags = np.zeros((3, LANES), dtype=np.int64)
    flags[RUN] = FREE
    return March(np.zeros((K + len(table.B) + 1, size)), np.zeros((4, LANES)), flags, lanes, width, n)


def march_in_python(system: Any, table: Tableau, state: March, book: Book, stop: NDArray[np.uint8]) -> int:
    """Carry the runs of the book to their end; 0 when none is left, FULL_BUFFER when frames need more room."""
    stages = len(table.B)
    while True:
        for at in range(state.lanes):
            if state.flags[RUN, at] == FREE and book.queue[0] < book.last:
                run = take_next(book.queue)
                if run < book.last:
                    tell(system, at, run)
                    enter(state, book, at, run)
        if not any_under_way(state):
            return 0
        if any_fresh(state):
            drift_into(system, state.rows[Y], state.rows[TRIAL], stop)
            begin(state, book, table.order)
        for i in range(1, stages):
            combine(state, table.A[i], i)
            drift_into(system, state.rows[TRIAL], state.rows[K + i], stop)
        combine(state, table.B, stages)
        drift_into(system, state.rows[TRIAL], state.rows[K + stages], stop)
        estimate(state, table.E)
        full = False
        for at in range(state.lanes):
            if state.flags[RUN, at] != FREE:
                full |= judge(state, book, table, at, stop[0])
        if full:
            return FULL_BUFFER


march = compiled(march_in_python)


def tell(system, at, run):
    """Lanes hold tables per run and must learn which run they carry; a system of one run has nothing to learn."""


@overload(tell)
def _tell_by_type(system, at, run):
    if isinstance(system, types.BaseNamedTuple) and system.instance_class is Lanes:
        return lambda system, at, run: lanes_enter(system, at, run)
    return lambda system, at, run: None


@compiled
def any_under_way(state):
    """Whether any lane holds a run."""
    for at in range(state.lanes):
        if state.flags[RUN, at] != FREE:
            return True
    return False


@compiled
def any_fresh(state):
    """Whether any lane has just been given a run."""
    for at in range(state.lanes):
        if state.flags[FRESH, at]:
            return True
    return False


@compiled
def enter(state, book, at, run):
    """Give a lane to a run: its start becomes the state."""
    start = book.start[run]
    n, d = start.shape
    for k in range(n):
        if state.width == 1:
            state.rows[Y, k * state.lanes + at] = np.arctan2(start[k, 1], start[k, 0])
        else:
            for c in range(d):
                state.rows[Y, (k * d + c) * state.lanes + at] = start[k, c]
    for i in range(n * state.width):
        state.rows[ORIGIN, i * state.lanes + at] = state.rows[Y, i * state.lanes + at]
    state.flags[RUN, at], state.flags[FRESH, at], state.flags[HELD, at] = run, 1, 0
    state.clock[T, at], state.clock[BEFORE, at] = book.begin, 1e-4
    book.counts[STATE, run] = RUNNING
    if book.counts[SAVED, run] == 0 and (book.every or book.times[0] == 0.0):
        for k in range(n):
            for c in range(d):
                book.frames[run, 0, k, c] = start[k, c]
        book.times[0] = 0.0
        book.counts[SAVED, run] = 1


@compiled
def begin(state, book, order):
    """First stage and first step of fresh lanes, from the velocities just put into `trial`."""
    for at in range(state.lanes):
        if not state.flags[FRESH, at]:
            continue
        state.flags[FRESH, at] = 0
        fastest = 0.0
        for i in range(state.tokens * state.width):
            velocity = state.rows[TRIAL, i * state.lanes + at]
            state.rows[K, i * state.lanes + at] = velocity
            if not abs(velocity) <= fastest:  # NaN passes
                fastest = abs(velocity)
        guess = min(0.01, book.tolerance ** (1.0 / order)) / fastest if fastest > 0.0 else book.final - book.begin
        _set_step(state, at, min(guess if book.dt == 0.0 else book.dt, book.final - book.begin))
        if not np.isfinite(fastest):
            _end(state, book, at, NON_FINITE)


@compiled
def _set_step(state, at, h):
    state.clock[H, at] = h
    if state.lanes == 1:
        for i in range(LANES):
            state.clock[H, i] = h


@compiled
def _end(state, book, at, status):
    book.counts[STATE, state.flags[RUN, at]] = status
    state.flags[RUN, at] = FREE


@compiled
def combine(state, weights, count):
    """trial = y + h sum_{j<count} weights_j k_j."""
    rows, size = state.rows, state.rows.shape[1]
    h = load(state.clock, H * LANES)
    for i in range(0, size - LANES + 1, LANES):
        total = load(rows, K * size + i) * weights[0]
        for j in range(1, count):
            total = fma(splat(weights[j]), load(rows, (K + j) * size + i), total)
        store(rows, TRIAL * size + i, fma(h, total, load(rows, Y * size + i)))


@compiled
def estimate(state, weights):
    """The error of each lane: of its worst token, in radians; NaN where a stage is not finite."""
    rows, clock = state.rows, state.clock
    stages, size = rows.shape[0] - K, rows.shape[1]
    if state.width > 1:
        clock[ERROR, 0] = clock[H, 0] * _worst_token(rows, weights, state.tokens, state.width)
        return
    worst, poison = splat(0.0), splat(0.0)
    for i in range(0, state.tokens * state.lanes, LANES):
        total = load(rows, K * size + i) * weights[0]
        for j in range(1, stages):
            total = fma(splat(weights[j]), load(rows, (K + j) * size + i), total)
        worst = vmax(worst, vabs(total))
        poison = poison + (total - total)  # vmax passes over NaN, this does not
    if state.lanes == 1:
        clock[ERROR, 0] = clock[H, 0] * (hmax(worst) + hsum(poison))
    else:
        store(clock, ERROR * LANES, load(clock, H * LANES) * (worst + poison))


@compiled
def _worst_token(rows, weights, tokens, width):
    worst = 0.0
    for token in range(tokens):
        square = 0.0
        for c in range(width):
            total = 0.0
            for j in range(rows.shape[0] - K):
                total += weights[j] * rows[K + j, token * width + c]
            square += total * total
        if not square <= worst:  # NaN passes, and stays
            worst = square
            if np.isnan(square):
                return np.nan
    return np.sqrt(worst)


@compiled
def judge(state, book, table, at, stop):
    """Accept or reject the step of one lane, write the frames it passes, choose the next step; True when frames need more room."""
    run, t, h = state.flags[RUN, at], state.clock[T, at], state.clock[H, at]
    scaled = state.clock[ERROR, at] / book.tolerance
    if stop:
        _end(state, book, at, stop)
        return False
    fixed = book.dt > 0.0
    finite = np.isfinite(scaled)
    if fixed and not finite:
        _end(state, book, at, NON_FINITE)
        return False
    if not fixed and not scaled <= 1.0:
        book.counts[REJECTED, run] += 1
        factor = max(SLOWEST, SAFETY * scaled ** (-1.0 / table.order)) if finite else 0.1
        _set_step(state, at, h * factor)
        state.flags[HELD, at] = 1
        if h * factor <= 8.0 * EPS * t or h * factor < 1e-300:
            _end(state, book, at, STALLED if finite else NON_FINITE)
        elif book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
            _end(state, book, at, MAX_STEPS)
        return False
    book.counts[STEPS, run] += 1
    new = t + h
    if fixed:
        new = book.counts[STEPS, run] * book.dt
    if new >= book.final * (1.0 - 4.0 * EPS) or (fixed and new >= book.final - 1e-9 * book.dt):
        new = book.final
    full = _write_frames(state, book, table, at, t, new)
    _accept(state, at)
    state.clock[T, at] = new
    if new == book.final:
        _end(state, book, at, DONE)
    elif book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
        _end(state, book, at, MAX_STEPS)
    elif fixed:
        _set_step(state, at, min(book.dt, book.final - new))
    else:
        small = max(scaled, 1e-10)
        factor = SAFETY * small ** (-1.0 / table.order + 0.75 * MEMORY) * state.clock[BEFORE, at] ** MEMORY
        factor = min(1.0 if state.flags[HELD, at] else FASTEST, max(SLOWEST, factor))
        state.clock[BEFORE, at], state.flags[HELD, at] = max(scaled, 1e-4), 0
        step = h * factor
        left = book.final - new
        if step >= left:
            step = left
        elif step > 0.5 * left:
            step = 0.5 * left  # two even steps rather than one and a sliver
        _set_step(state, at, step)
        if new + step == new:
            _end(state, book, at, STALLED)
    return full


@compiled
def _accept(state, at):
    """The trial becomes the state, on the sphere; its velocity the first stage of the next step."""
    rows, lanes, width = state.rows, state.lanes, state.width
    last = rows.shape[0] - 1
    for token in range(state.tokens):
        inverse = 1.0
        if width > 1:
            square = 0.0
            for c in range(width):
                square += rows[TRIAL, token * width + c] ** 2
            inverse = 1.0 / np.sqrt(square)
        for c in range(width):
            i = (token * width + c) * lanes + at
            rows[Y, i] = rows[TRIAL, i] * inverse
            rows[K, i] = rows[last, i]


@compiled
def _write_frames(state, book, table, at, t, new):
    """Every asked time in (t, new], by the interpolant; or the new point itself when every step is kept."""
    run = state.flags[RUN, at]
    saved, times = book.counts[SAVED, run], book.times
    if book.every:
        times[saved] = new
    while saved < times.size and times[saved] <= new:
        _gather(state, table.P, at, (times[saved] - t) / (new - t) if times[saved] < new else 1.0)
        _draw(state, book.start[run], book.frames[run, saved], at)
        saved += 1
        book.counts[SAVED, run] = saved
        if book.every:
            return saved >= times.size
    return False


@compiled
def _gather(state, P, at, theta):
    """frame = the state of one lane at t + theta h."""
    rows, lanes = state.rows, state.lanes
    count = state.tokens * state.width
    source = TRIAL if theta == 1.0 else Y
    for i in range(count):
        rows[FRAME, i] = rows[source, i * lanes + at]
    if source == TRIAL:
        return
    for j in range(P.shape[0]):
        weight = 0.0
        for p in range(P.shape[1] - 1, -1, -1):
            weight = (weight + P[j, p]) * theta
        weight *= state.clock[H, at]
        for i in range(count):
            rows[FRAME, i] += weight * rows[K + j, i * lanes + at]


@compiled
def _draw(state, start, out, at):
    """Write `frame` as points: the start turned by how far each angle went, or coordinates made unit."""
    rows, lanes, size = state.rows, state.lanes, state.rows.shape[1]
    n, d = start.shape
    if state.width == 1:
        for k in range(n):
            rows[FRAME, k] -= rows[ORIGIN, k * lanes + at]
        for k0 in range(0, n, LANES):
            sine, cosine = sincos(load(rows, FRAME * size + k0))
            for i in range(min(LANES, n - k0)):
                x, y, c, s = start[k0 + i, 0], start[k0 + i, 1], lane(cosine, i), lane(sine, i)
                out[k0 + i, 0] = x * c - y * s
                out[k0 + i, 1] = y * c + x * s
        return
    for k in range(n):
        square = 0.0
        for c in range(d):
            square += rows[FRAME, k * d + c] ** 2
        inverse = 1.0 / np.sqrt(square)
        for c in range(d):
            out[k, c] = rows[FRAME, k * d + c] * inverse


def places_of(state: March, start: Array) -> Array:
    """Where the tokens of a single run stand, (n, d)."""
    n, d = start.shape
    if state.width > 1:
        return state.rows[Y, : n * d].reshape(n, d).copy()
    turn = state.rows[Y, :n] - state.rows[ORIGIN, :n]
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.stack([start[:, 0] * cosine - start[:, 1] * sine, start[:, 1] * cosine + start[:, 0] * sine], axis=1)
