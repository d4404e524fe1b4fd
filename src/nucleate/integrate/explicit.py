"""The explicit solver: Runge-Kutta steps on the sphere, one run or eight at a time, no Python inside.

The state is flat: angles on the circle, coordinates elsewhere.  The drift normalises what it is given, f(y) =
f(y / |y|): a smooth extension off the sphere whose flow keeps |y|, so a step of order p followed by y / |y|
still has order p, for attraction and repulsion alike.

The error of a step is that of the worst token, in radians, against atol + rtol: a token in flight is not
averaged away among a hundred at rest.

`march` is ordinary Python that Numba compiles.  A team of threads on one large system runs the same source
uncompiled, its loops in the compiled functions below.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from nucleate.checks import ROUNDING, Array
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING, STALLED
from nucleate.integrate.tableau import Tableau
from nucleate.kernels.circle_batch import Lanes, lanes_enter, lanes_leave
from nucleate.kernels.compile import compiled, inner, take_next
from nucleate.kernels.dispatch import drift_into
from nucleate.kernels.simd import LANES, fma, hmax, hsum, lane, load, sincos, splat, sqrt, store, vabs, vmax

__all__ = [
    "FULL_BUFFER",
    "Book",
    "March",
    "march",
    "march_in_python",
    "new_march",
    "places_of",
]

Integers = NDArray[np.int64]

FULL_BUFFER = -1  # what march returns when it needs room for more frames
EPS = float(np.finfo(np.float64).eps)
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 8.0  # of the step size controller (Hairer, Norsett, Wanner, II.4)
TINY = 1e-300
ROUGHEST = 4.0  # tolerances in the last term of the interpolant, which errs less than that term
EDGE = 3.0  # h times a rate of decay from which the interpolant of order 8 is not trusted
ROUNDED = 1e-6  # of the tolerance: below it the rate is made of rounding errors
MEMORY = 0.04  # its share of the error before: smooths the step where stability limits it
FREE = -1  # a lane without a run
SAVED, STEPS, REJECTED, STATE = range(4)  # rows of Book.counts
Y, TRIAL, ORIGIN, FRAME, SPARE, K = range(6)  # rows of March.rows
T, H, ERROR, BEFORE, WANTED, RATE, ROUGH = range(7)  # rows of March.clock
RUN, FRESH, HELD = range(3)  # rows of March.flags


class Book(NamedTuple):
    """What is asked and what is handed back, per run."""

    start: Array  # (b, n, d)
    times: Array  # (m,) asked for, or (room,) written when `every`
    frames: Array  # (b, m or room, n, d)
    counts: Integers  # (4, b) rows SAVED frames, accepted STEPS, REJECTED steps, STATE: a number of STATUS
    order: Integers  # the runs to begin, in this order
    queue: Integers  # (1,) how many of them were begun, shared by all threads
    last: int  # how many there are
    # the time of the start: `times` count from 0, `final` and the march's own clock from here, or steps would
    # be lost beside 1e16
    origin: float
    final: float  # the last time
    tolerance: float  # atol + rtol
    dt: float  # fixed step, or 0
    limit: int  # accepted and rejected steps allowed
    every: bool  # keep every accepted step


class March(NamedTuple):
    """The runs under way: `lanes` of them, 1 or 8, interleaved as y[coordinate * lanes + lane]."""

    # (5 + s + 1 + r, size) rows Y the state, TRIAL, ORIGIN the start, FRAME, SPARE, then the stages from K
    # on; size padded by 8
    rows: Array
    # (7, 8) rows T, H, ERROR, BEFORE: the error of the step before, WANTED: the step not cut short, RATE: h
    # times the fastest
    clock: Array
    # decay, ROUGH: the error of the interpolant over the tolerance; a column per lane, with one lane all of H
    # are equal (3, 8) rows RUN, its number or FREE; FRESH, first stage still to be computed; HELD, may not
    # grow after a rejection
    flags: Integers
    lanes: int
    width: int  # coordinates per token: 1 on the circle
    tokens: int


def new_march(table: Tableau, n: int, d: int, lanes: int) -> March:
    """Room for `lanes` runs of n tokens in dimension d."""
    width = 1 if d == 2 else d
    size = -(-n * width * lanes // LANES) * LANES + LANES
    flags = np.zeros((3, LANES), dtype=np.int64)
    flags[RUN] = FREE
    return March(np.zeros((K + len(table.P), size)), np.zeros((7, LANES)), flags, lanes, width, n)


def march_in_python(system: Any, table: Tableau, state: March, book: Book, stop: NDArray[np.uint8]) -> int:
    """Carry the runs of the book to their end; 0 when none is left, FULL_BUFFER when frames need more
    room."""
    stages = len(table.B)
    while True:
        for at in range(state.lanes):
            if state.flags[RUN, at] == FREE and book.queue[0] < book.last:
                place = take_next(book.queue)
                if place < book.last:
                    run = book.order[place]
                    tell(system, at, run)
                    enter(state, book, at, run)
        if not any_under_way(state):
            return 0
        if any_fresh(state):
            drift_into(system, state.rows[Y], state.rows[TRIAL], stop)
            begin(state, book, table)
        for i in range(1, stages):
            combine(state, table.A[i], i, TRIAL)
            drift_into(system, state.rows[TRIAL], state.rows[K + i], stop)
        combine(state, table.B, stages, TRIAL)
        drift_into(system, state.rows[TRIAL], state.rows[K + stages], stop)
        estimate(state, table.E, table.E_low, table.gap)
        if needs_extra(state, book, table):
            for i in range(table.extra.shape[0]):
                combine(state, table.extra[i], stages + 1 + i, SPARE)
                drift_into(system, state.rows[SPARE], state.rows[K + stages + 1 + i], stop)
            inspect(state, book, table)
        full = False
        for at in range(state.lanes):
            if state.flags[RUN, at] != FREE:
                full |= judge(state, book, table, at, stop[0])
                if state.flags[RUN, at] == FREE:
                    dismiss(system, at)
        if full:
            return FULL_BUFFER


march = compiled(march_in_python)


def tell(system, at, run):
    """Lanes hold tables per run and must learn which run they carry; a system of one run has nothing to
    learn."""


@overload(tell)
def _tell_by_type(system, at, run):
    if isinstance(system, types.BaseNamedTuple) and system.instance_class is Lanes:
        return lambda system, at, run: lanes_enter(system, at, run)
    return lambda system, at, run: None


def dismiss(system, at):
    """The run in lane `at` has ended, and the lane may have no other."""


@overload(dismiss)
def _dismiss_by_type(system, at):
    if isinstance(system, types.BaseNamedTuple) and system.instance_class is Lanes:
        return lambda system, at: lanes_leave(system, at)
    return lambda system, at: None


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
    state.clock[T, at], state.clock[BEFORE, at], state.clock[RATE, at], state.clock[ROUGH, at] = (
        0.0,
        1e-4,
        0.0,
        0.0,
    )
    book.counts[STATE, run] = RUNNING
    if book.counts[SAVED, run] == 0 and (book.every or book.times[0] == 0.0):
        for k in range(n):
            for c in range(d):
                book.frames[run, 0, k, c] = start[k, c]
        book.times[0] = 0.0
        book.counts[SAVED, run] = 1


@compiled
def begin(state, book, table):
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
        guess = min(0.01, book.tolerance ** (1.0 / table.order)) / fastest if fastest > 0.0 else book.final
        _aim(state, book, table, at, state.clock[T, at], guess if book.dt == 0.0 else book.dt)
        if not np.isfinite(fastest):
            _end(state, book, at, NON_FINITE)


@inner
def _set_step(state, at, h):
    state.clock[H, at] = h
    if state.lanes == 1:
        for i in range(LANES):
            state.clock[H, i] = h


@inner
def _target(state, book, table, at):
    """The time a step may not pass: the end, or the next time asked for where the interpolant is not to be
    trusted."""
    saved = book.counts[SAVED, state.flags[RUN, at]]
    if _at_the_edge(state, table, at) and not book.every and saved < book.times.size:
        return min(book.times[saved] - book.origin, book.final)
    return book.final


@inner
def _at_the_edge(state, table, at):
    """Whether the interpolant is not to be trusted: it errs more than the tolerance, or stability limits the
    step."""
    return table.extra.shape[0] > 0 and (state.clock[RATE, at] > EDGE or state.clock[ROUGH, at] > ROUGHEST)


@compiled
def needs_extra(state, book, table):
    """Whether some lane's step will be accepted and passes a time asked for."""
    if table.extra.shape[0] == 0 or book.every:
        return False
    for at in range(state.lanes):
        if _passes_a_frame(state, book, table, at):
            return True
    return False


@inner
def _passes_a_frame(state, book, table, at):
    """Whether this lane's step will be accepted and passes a time asked for."""
    run = state.flags[RUN, at]
    if (
        run == FREE
        or not state.clock[ERROR, at] <= book.tolerance
        or book.counts[SAVED, run] >= book.times.size
    ):
        return False
    t = book.times[book.counts[SAVED, run]] - book.origin
    return t < state.clock[T, at] + state.clock[H, at] and t < _target(state, book, table, at)


@inner
def _aim(state, book, table, at, t, wanted):
    """The next step: as long as wanted, or up to the target, or half-way there rather than leaving a
    sliver."""
    left = _target(state, book, table, at) - t
    state.clock[WANTED, at] = wanted
    if wanted >= left * (1.0 - 1e-9):
        wanted = left
    elif book.dt == 0.0 and wanted > 0.5 * left:
        wanted = 0.5 * left
    _set_step(state, at, wanted)


@inner
def _end(state, book, at, status):
    book.counts[STATE, state.flags[RUN, at]] = status
    state.flags[RUN, at] = FREE


@compiled
def combine(state, weights, count, into):
    """Row `into` = y + h sum_{j<count} weights_j k_j."""
    rows, size = state.rows, state.rows.shape[1]
    h = load(state.clock, H * LANES)
    for i in range(0, size - LANES + 1, LANES):
        total = load(rows, K * size + i) * weights[0]
        for j in range(1, count):
            total = fma(splat(weights[j]), load(rows, (K + j) * size + i), total)
        store(rows, into * size + i, fma(h, total, load(rows, Y * size + i)))


@compiled
def estimate(state, weights, low, gap):
    """The error of each lane, of its worst token, in radians, NaN where a stage is not finite; and h times
    the fastest rate of decay.

    Where a second, lower estimate is given (Hairer's for order 8), the error e is taken as e^2 / sqrt(e^2 +
    (e_low / 10)^2). The last two stages belong to the same time, at points `gap` apart: their difference over
    that of the points is the rate.
    """
    rows, clock = state.rows, state.clock
    stages, size = weights.size, rows.shape[1]
    if state.width > 1:
        error, steep, apart = _worst_token(rows, weights, low, gap, state.tokens, state.width)
        clock[ERROR, 0], clock[RATE, 0] = clock[H, 0] * error, steep / (apart + TINY)
        return
    worst, poison, steep, apart = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for i in range(0, state.tokens * state.lanes, LANES):
        k = load(rows, K * size + i)
        total, other, distance = k * weights[0], splat(0.0), k * gap[0]
        if low.size > 0:
            other = k * low[0]
        for j in range(1, stages):
            k = load(rows, (K + j) * size + i)
            total = fma(splat(weights[j]), k, total)
            distance = fma(splat(gap[j]), k, distance)
            if low.size > 0:
                other = fma(splat(low[j]), k, other)
        if low.size > 0:
            total = total * total / sqrt(fma(total, total, other * other * 0.01 + TINY))
        worst = vmax(worst, vabs(total))
        poison = poison + (total - total)  # vmax passes over NaN, this does not
        steep = vmax(steep, vabs(k - load(rows, (K + stages - 2) * size + i)))
        apart = vmax(apart, vabs(distance))
    if state.lanes == 1:
        clock[ERROR, 0], clock[RATE, 0] = (
            clock[H, 0] * (hmax(worst) + hsum(poison)),
            hmax(steep) / (hmax(apart) + TINY),
        )
    else:
        store(clock, ERROR * LANES, load(clock, H * LANES) * (worst + poison))
        store(clock, RATE * LANES, steep / (apart + TINY))


@compiled
def inspect(state, book, table):
    """The error of the interpolant, over the tolerance, of each lane that needs it; the others must not learn
    that a neighbour did."""
    weights = table.rough
    rows, size = state.rows, state.rows.shape[1]
    worst = splat(0.0)
    for i in range(0, state.tokens * state.width * state.lanes, LANES):
        total = splat(0.0)
        for j in range(weights.size):
            total = fma(splat(weights[j]), load(rows, (K + j) * size + i), total)
        worst = vmax(worst, vabs(total))
    scale = np.sqrt(float(state.width)) / book.tolerance
    for at in range(state.lanes):
        if _passes_a_frame(state, book, table, at):
            state.clock[ROUGH, at] = (
                scale * state.clock[H, at] * (hmax(worst) if state.lanes == 1 else lane(worst, at))
            )


@inner
def _worst_token(rows, weights, low, gap, tokens, width):
    """What `estimate` needs, for coordinates: the largest error, difference of velocities and distance of
    points of any token."""
    stages = weights.size
    worst, steep, apart = 0.0, 0.0, 0.0
    for token in range(tokens):
        square, other, turn, distance = 0.0, 0.0, 0.0, 0.0
        for c in range(width):
            i = token * width + c
            total, second, third = 0.0, 0.0, 0.0
            for j in range(stages):
                total += weights[j] * rows[K + j, i]
                third += gap[j] * rows[K + j, i]
                if low.size > 0:
                    second += low[j] * rows[K + j, i]
            square += total * total
            other += second * second
            turn += (rows[K + stages - 1, i] - rows[K + stages - 2, i]) ** 2
            distance += third * third
        if low.size > 0:
            square *= square / (square + 0.01 * other + TINY)
        if np.isnan(square):
            return np.nan, 0.0, 1.0
        worst, steep, apart = max(worst, square), max(steep, turn), max(apart, distance)
    return np.sqrt(worst), np.sqrt(steep), np.sqrt(apart)


@compiled
def judge(state, book, table, at, stop):
    """Accept or reject the step of one lane, write the frames it passes, choose the next step; True when
    frames need more room."""
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
        state.clock[WANTED, at], state.flags[HELD, at] = h * factor, 1
        if h * factor <= 8.0 * EPS * t or h * factor < 1e-300:
            _end(state, book, at, STALLED if finite else NON_FINITE)
        elif book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
            _end(state, book, at, MAX_STEPS)
        return False
    saved = book.counts[SAVED, run]
    if (
        _at_the_edge(state, table, at)
        and not book.every
        and saved < book.times.size
        and t < book.times[saved] - book.origin < (t + h) * (1.0 - 4.0 * EPS)
    ):
        _aim(state, book, table, at, t, h)  # take the step again, up to the time asked for
        return False
    book.counts[STEPS, run] += 1
    new = t + h
    if fixed:
        new = book.counts[STEPS, run] * book.dt
    target = _target(state, book, table, at)
    if new >= target * (1.0 - 4.0 * EPS) or (fixed and new >= target - 1e-9 * book.dt):
        new = target
    full = _write_frames(state, book, table, at, t, new)
    _accept(state, at, K + len(table.B))
    state.clock[T, at] = new
    if new == book.final:
        _end(state, book, at, DONE)
    elif book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
        _end(state, book, at, MAX_STEPS)
    elif fixed:
        _aim(state, book, table, at, new, book.dt)
    else:
        small = max(scaled, 1e-10)
        factor = SAFETY * small ** (-1.0 / table.order + 0.75 * MEMORY) * state.clock[BEFORE, at] ** MEMORY
        factor = min(1.0 if state.flags[HELD, at] else FASTEST, max(SLOWEST, factor))
        state.clock[BEFORE, at], state.flags[HELD, at] = max(scaled, 1e-4), 0
        # stay inside the region of stability: at its edge errors no longer decay
        if scaled > ROUNDED and state.clock[RATE, at] > 0.0:
            factor = min(factor, max(0.5, table.reach / state.clock[RATE, at]))
        # a step that ended at a time asked for says nothing about the interpolant; it gets another chance
        state.clock[ROUGH, at] *= 0.5
        wanted = h * factor
        if h < state.clock[WANTED, at]:  # cut short: its error says little about how long a step may be
            wanted = max(wanted, state.clock[WANTED, at])
        _aim(state, book, table, at, new, wanted)
        if new + state.clock[H, at] == new:
            _end(state, book, at, STALLED)
    return full


@inner
def _accept(state, at, last):
    """The trial becomes the state, on the sphere; its velocity the first stage of the next step."""
    rows, lanes, width = state.rows, state.lanes, state.width
    for token in range(state.tokens):
        inverse = 1.0
        if width > 1:
            square = 0.0
            for c in range(width):
                square += rows[TRIAL, token * width + c] ** 2
            # a token that stands still keeps its bits
            inverse = 1.0 / np.sqrt(square) if abs(square - 1.0) > ROUNDING else 1.0
        for c in range(width):
            i = (token * width + c) * lanes + at
            rows[Y, i] = rows[TRIAL, i] * inverse
            rows[K, i] = rows[last, i]


@inner
def _write_frames(state, book, table, at, t, new):
    """Every asked time in (t, new], by the interpolant; or the new point itself when every step is kept."""
    run = state.flags[RUN, at]
    saved, times = book.counts[SAVED, run], book.times
    if book.every:
        times[saved] = book.origin + new
    while saved < times.size and (book.every or times[saved] - book.origin <= new):
        asked = new if book.every else times[saved] - book.origin
        _gather(state, table.P, at, (asked - t) / (new - t) if asked < new else 1.0)
        _draw(state, book.start[run], book.frames[run, saved], at)
        saved += 1
        book.counts[SAVED, run] = saved
        if book.every:
            return saved >= times.size
    return False


@inner
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


@inner
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
        inverse = 1.0 / np.sqrt(square) if abs(square - 1.0) > ROUNDING else 1.0
        for c in range(d):
            out[k, c] = rows[FRAME, k * d + c] * inverse


def places_of(state: March, start: Array) -> Array:
    """Where the tokens of a single run stand, (n, d)."""
    n, d = start.shape
    if state.width > 1:
        return state.rows[Y, : n * d].reshape(n, d).copy()
    turn = state.rows[Y, :n] - state.rows[ORIGIN, :n]
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.stack(
        [start[:, 0] * cosine - start[:, 1] * sine, start[:, 1] * cosine + start[:, 0] * sine], axis=1
    )
