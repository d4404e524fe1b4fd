"""Pair sums of up to eight whole runs at once inside the solver: d = 3 to 8, any Q, K, V, any mask, no frozen
tokens.

With u_k = beta K^T Q x_k the weights are e^{<u_k, x_j> - |u_k|}, never above 1.  No row of pairs is partial
and no lane is ever summed across; for loose tolerances the exponential is a brief one.

Every lane has a run of its own where there are as many.  Where there are fewer, the tokens of a run are dealt
out to 2, 4 or 8 lanes, which all meet the same others: with a spread of s, lane q of a run has the tokens
s i + q in row i.  So a single run takes about a quarter of the time of eight, for an eighth of the sums.

The tokens stand as y[(token * d + coordinate) * 8 + lane].  beta, Q, K, V may differ between lanes.  Every
token's sums are taken as they would be alone: a run's bits do not depend on its company.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import EPS, Array
from nucleate.kernels.compile import compiled, inlined
from nucleate.kernels.model_shape import ACCURACIES, FULL, Accuracy, ModelShape, ordinary_shape
from nucleate.kernels.pairwise import LOG2_E
from nucleate.kernels.simd import (
    LANES,
    PART,
    add_scaled,
    aligned_zeros,
    dot,
    fma,
    load_each,
    load_part,
    splat_as,
    sqrt,
    store,
    store_each,
    zero_below,
)
from nucleate.kernels.vector_math import (
    EXP2_BRIEF_ERROR,
    exp2_brief_power,
    exp2_brief_split,
    exp2_normal,
)

__all__ = [
    "PairwiseLanes",
    "pairwise_lanes_accuracy",
    "pairwise_lanes_drift",
    "pairwise_lanes_enter",
    "pairwise_lanes_error",
    "pairwise_lanes_leave",
    "pairwise_lanes_system",
]

MAX_LANES_Z = 340.0  # e^{-2 z} is a normal number: no weight is lost
MIN_LANES_DIMENSION, MAX_LANES_DIMENSION = 3, 8
EMPTY = -1  # in the place of a run's number
TILE_BYTES = 32768  # of tokens, with their sums, that meet the others together: what the nearest cache holds


def pairwise_lanes_error(z: float, accuracy: Accuracy) -> float:
    """The error of a velocity against |V|: that of a brief exponential and the rounding of a score, both
    counted in sum and norm; what the rounding of long sums adds stays below it."""
    return (2.0 * EXP2_BRIEF_ERROR if accuracy == "brief" else 0.0) + 16.0 * max(1.0, z) * EPS


def pairwise_lanes_accuracy(shape: ModelShape, tolerance: float) -> Accuracy | None:
    """How a run can share the lanes of a vector with others above the circle, its velocities good to
    `tolerance` |V|."""
    if not (shape.ordinary and MIN_LANES_DIMENSION <= shape.d <= MAX_LANES_DIMENSION):
        return None
    if len(shape.frozen) > 0 or shape.z > MAX_LANES_Z:
        return None
    for accuracy in ACCURACIES:
        if pairwise_lanes_error(shape.z, accuracy) <= tolerance:
            return accuracy
    return None


class PairwiseLanes(NamedTuple):
    """b runs of which up to eight are under way; the tables hold one row for all runs, or one per run."""

    scores: Array  # (1 or b, d, d) beta K^T Q log2(e)
    values: Array  # (1 or b, d, d) V
    runs: NDArray[np.int64]  # (8,) the run in each lane of the state, or EMPTY
    # how they go through the kernel, in parts of PART lanes
    spread: NDArray[np.int64]  # (1,) lanes that share the tokens of a run, a power of two
    shift: NDArray[np.int64]  # (1,) which one
    parts: NDArray[np.int64]  # (1,) in use
    carried: NDArray[np.int64]  # (8,) the lane of the state that each lane of the parts works for
    turn: Array  # (8,) and which of the run's lanes it is
    A: Array  # (parts, d, d, PART) scores of the runs under way
    V: Array  # (parts, d, d, PART)
    # of the lanes of one part
    x: Array  # (n + 3, d, PART) the tokens; nobody sees the last three
    dealt: Array  # (rows, d, PART) those of each lane, where a run has several
    u: Array  # (n, d, PART) scratch: u_k, at the end the velocities
    least: Array  # (n, PART) scratch: -|u_k|
    own: Array  # (n, PART) scratch: the weight of the token itself
    Z: Array  # (n, PART) scratch: sum_j w_kj
    sums: Array  # (n, d, PART) scratch: sum_j w_kj x_j
    out: Array  # (d, PART) scratch
    origin: tuple[float, ...]  # d zeros: each d is compiled for itself, and sums stay in registers
    n: int
    w: int  # the window; n without one
    full: bool  # under the full mask
    plain: bool  # K^T Q = I and V = c I in the runs under way
    brief: bool  # weights by the brief exponential


def pairwise_lanes_system(shapes: Sequence[ModelShape], plain: bool, accuracy: Accuracy) -> PairwiseLanes:
    """Tables for the runs, which may share one shape; those under way are all plain or none is."""
    first = ordinary_shape(shapes[0])
    n, d = first.n, first.d
    return PairwiseLanes(
        scores=np.array([shape.beta * LOG2_E * shape.A for shape in shapes]),
        values=np.array([shape.V for shape in shapes]),
        runs=np.full(LANES, EMPTY),
        spread=np.ones(1, dtype=np.int64),
        shift=np.zeros(1, dtype=np.int64),
        parts=np.zeros(1, dtype=np.int64),
        carried=np.zeros(LANES, dtype=np.int64),
        turn=np.zeros(LANES),
        A=aligned_zeros(LANES // PART, d, d, PART),
        V=aligned_zeros(LANES // PART, d, d, PART),
        x=aligned_zeros(n + 3, d, PART),
        dealt=aligned_zeros(n // 2 + 1, d, PART),
        u=aligned_zeros(n, d, PART),
        least=aligned_zeros(n, PART),
        own=aligned_zeros(n, PART),
        Z=aligned_zeros(n, PART),
        sums=aligned_zeros(n, d, PART),
        out=aligned_zeros(d, PART),
        origin=(0.0,) * d,
        n=n,
        w=first.w,
        full=first.mask == FULL,
        plain=plain,
        brief=accuracy == "brief",
    )


@compiled
def pairwise_lanes_enter(s, at, run):
    """Give lane `at` of the state to a run."""
    s.runs[at] = run
    _deal_lanes(s)


@compiled
def pairwise_lanes_leave(s, at):
    """The run in lane `at` has ended."""
    s.runs[at] = EMPTY
    _deal_lanes(s)


@inlined
def _deal_lanes(s):
    """Which lane of the parts works for which run, and its tables; left-over ones do what others do."""
    d, count = len(s.origin), 0
    for at in range(LANES):
        count += s.runs[at] != EMPTY
    if count == 0:
        s.parts[0] = 0
        return
    spread, shift = 1, 0
    while 2 * spread * count <= PART:
        spread, shift = 2 * spread, shift + 1
    runs_of_part = PART // spread
    s.spread[0], s.shift[0] = spread, shift
    s.parts[0] = (count + runs_of_part - 1) // runs_of_part
    for part in range(s.parts[0]):
        for i in range(PART):
            nth, at = min(part * runs_of_part + i % runs_of_part, count - 1), 0
            while s.runs[at] == EMPTY or nth > 0:
                nth -= s.runs[at] != EMPTY
                at += 1
            s.carried[part * PART + i], s.turn[part * PART + i] = at, i // runs_of_part
            row = s.runs[at] if s.scores.shape[0] > 1 else 0
            for c in range(d):
                for e in range(d):
                    s.A[part, c, e, i], s.V[part, c, e, i] = s.scores[row, c, e], s.values[row, c, e]


@compiled
def pairwise_lanes_drift(s, y, velocity, stop):
    """Velocities of all tokens of the runs under way."""
    if stop[0]:
        return
    for part in range(s.parts[0]):
        if s.brief:
            _part_drift(s, y, velocity, part, stop, True)
        else:
            _part_drift(s, y, velocity, part, stop, None)


@inlined
def _part_drift(s, y, velocity, part, stop, brief):
    """The same of one part: what every token asks, the sums, and the velocities.  What `brief` None leaves
    out is not compiled."""
    spread = s.spread[0]
    rows = (s.n + spread - 1) // spread
    straight = spread == 1  # every lane of the part carries its own lane of the state
    for i in range(part * PART, (part + 1) * PART):
        straight = straight and s.carried[i] == i
    _place(s, y, part, straight)
    tokens = s.x
    if spread > 1:
        tokens = s.dealt
        _deal_tokens(s, rows, part)
    _ask(s, tokens, rows, part, brief)
    tile = TILE_BYTES // (8 * PART * (2 * len(s.origin) + 2))
    for low in range(0, rows, tile):
        _add_up(s, low, min(low + tile, rows), part, stop, brief)
    if straight:
        _finish(s, tokens, rows, part, velocity, part * PART, LANES)
    else:
        _finish(s, tokens, rows, part, s.u, 0, PART)
        _hand_out(s, velocity, rows, part)


@inlined
def _add_up(s, low, high, part, stop, brief):
    """What the tokens in rows low .. high-1 see, to their sums: four tokens are met by all who see them, then
    the next four, so that loops are long and their ends foreseen.  Every sum is taken in the order of the
    tokens."""
    n, w, full, spread, shift = s.n, s.w, s.full, s.spread[0], s.shift[0]
    first = 0 if full else max(0, low * spread - w + 1) // 4 * 4
    for j in range(first, n if full else min(n, high * spread), 4):
        if stop[0]:
            return
        behind = (j + 3 + spread) >> shift  # rows from here on hold later tokens alone
        end = max(behind, n if full else (j + w) >> shift)
        # the rows of which all tokens see all four, and those of which some see some: two ranges of each
        if full and j + 4 > n:
            whole, some = ((low, low), (low, low)), ((low, high), (low, low))
        else:
            whole = (low, min(high, j >> shift) if full else low), (max(low, behind), min(high, end))
            some = (
                (max(low, j >> shift), min(high, behind)),
                (max(low, end), min(high, (j + w + 2 + spread) >> shift)),
            )
        for begin, last in some:
            _add_four(s, j, begin, last, part, brief, True)
        for begin, last in whole:
            _add_four(s, j, begin, last, part, brief, None)


@inlined
def _add_four(s, j, low, high, part, brief, some):
    """Tokens j .. j + 3 to the sums of rows low .. high-1, all of which see all of them if `some` is None.

    A weight is a long chain of dependent operations, of which the processor can hold few in waiting: a turn
    adds up the weights of one row, makes those of the next, and takes the scores of the one after."""
    if low >= high:
        return
    at = j * len(s.origin) * PART
    score, score2, score3, score4 = _four_scores(s, at, low)
    one = splat_as(score, 0.0)
    two, three, four, done = one, one, one, low
    for row in range(low, high):
        _add_weighted(s, at, done, one, two, three, four)
        one, two = _weight(score, brief), _weight(score2, brief)
        three, four = _weight(score3, brief), _weight(score4, brief)
        score, score2, score3, score4 = _four_scores(s, at, min(row + 1, high - 1))
        if some is not None:
            k = load_part(s.turn, part * PART) + float(row * s.spread[0])
            one, two = one * _seen(s, k, j), two * _seen(s, k, j + 1)
            three, four = three * _seen(s, k, j + 2), four * _seen(s, k, j + 3)
        done = row
    _add_weighted(s, at, done, one, two, three, four)


@inlined
def _seen(s, k, j):
    """1 in the lanes whose token k sees token j, itself apart, else 0."""
    one, none = splat_as(k, 1.0), splat_as(k, 0.0)
    if s.full:
        itself = zero_below(k, splat_as(k, j - 0.5), zero_below(none - k, splat_as(k, -j - 0.5), one))
        return one - itself if j < s.n else none
    return zero_below(k, splat_as(k, j + 0.5), zero_below(none - k, splat_as(k, 0.5 - j - s.w), one))


@inlined
def _add_weighted(s, at, to, one, two, three, four):
    x, row = s.x, len(s.origin) * PART
    store(s.Z, to * PART, load_part(s.Z, to * PART) + ((one + two) + (three + four)))
    total = load_each(s.origin, s.sums, to * row)
    total = add_scaled(total, one, load_each(s.origin, x, at))
    total = add_scaled(total, two, load_each(s.origin, x, at + row))
    total = add_scaled(total, three, load_each(s.origin, x, at + 2 * row))
    total = add_scaled(total, four, load_each(s.origin, x, at + 3 * row))
    store_each(s.sums, to * row, total)


@inlined
def _four_scores(s, at, of):
    """<u_k, x_j> - |u_k| of the tokens in row `of` and the four tokens from flat index `at` on."""
    x, row = s.x, len(s.origin) * PART
    query, least = load_each(s.origin, s.u, of * row), load_part(s.least, of * PART)
    return (
        dot(query, load_each(query, x, at), least),
        dot(query, load_each(query, x, at + row), least),
        dot(query, load_each(query, x, at + 2 * row), least),
        dot(query, load_each(query, x, at + 3 * row), least),
    )


@inlined
def _place(s, y, part, straight):
    """x = the states of the runs in a part, made unit."""
    x, d, first = s.x, len(s.origin), part * PART
    if straight:
        _make_unit(y, first, LANES, x, s.n, d)
        return
    for k in range(s.n):
        for c in range(d):
            for i in range(PART):
                x[k, c, i] = y[(k * d + c) * LANES + s.carried[first + i]]
    # not in the loops above: a vector stored number by number cannot be loaded at once
    _make_unit(x, 0, PART, x, s.n, d)


@inlined
def _make_unit(y, first, stride, x, n, d):
    """x = the tokens whose coordinates stand in y at `first` and every `stride` behind, made unit."""
    for at in range(0, n * d, d):
        square = splat_as(load_part(y, 0), 0.0)
        for i in range(at, at + d):
            square = fma(load_part(y, first + i * stride), load_part(y, first + i * stride), square)
        inverse = 1.0 / sqrt(square)
        for i in range(at, at + d):
            store(x, i * PART, load_part(y, first + i * stride) * inverse)


@inlined
def _deal_tokens(s, rows, part):
    """To each lane of a run its tokens; beyond the last one, that."""
    for row in range(rows):
        for i in range(PART):
            k = min(row * s.spread[0] + int(s.turn[part * PART + i]), s.n - 1)
            for c in range(len(s.origin)):
                s.dealt[row, c, i] = s.x[k, c, i]


@inlined
def _hand_out(s, velocity, rows, part):
    """The velocities, left in u, to where the runs have theirs."""
    d, spread = len(s.origin), s.spread[0]
    for i in range(PART):
        turn = int(s.turn[part * PART + i])
        for row in range(rows if (rows - 1) * spread + turn < s.n else rows - 1):
            for c in range(d):
                at = ((row * spread + turn) * d + c) * LANES + s.carried[part * PART + i]
                velocity[at] = s.u[row, c, i]


@inlined
def _ask(s, tokens, rows, part, brief):
    """u_k of every token, its length and the token's own weight; no sums yet."""
    u, A, d = s.u, s.A, len(s.origin)
    table = part * d * d * PART
    none = splat_as(load_part(A, table), 0.0)
    for row in range(rows):
        here = row * d * PART
        if s.plain:
            # u_k is a multiple of x_k, and the token itself has the weight 1
            length, own = load_part(A, table), none + 1.0
            for c in range(0, d * PART, PART):
                store(u, here + c, length * load_part(tokens, here + c))
        else:
            square, score = none, none
            for c in range(d):
                value, at = none, here + c * PART
                for e in range(d):
                    entry = load_part(A, table + (c * d + e) * PART)
                    value = fma(entry, load_part(tokens, here + e * PART), value)
                store(u, at, value)
                square, score = fma(value, value, square), fma(value, load_part(tokens, at), score)
            length = sqrt(square)
            own = _weight(score - length, brief)
        store(s.least, row * PART, none - length)
        store(s.own, row * PART, own)
        store(s.Z, row * PART, none)
        for c in range(0, d * PART, PART):
            store(s.sums, here + c, none)


@inlined
def _finish(s, tokens, rows, part, velocity, first, stride):
    """The velocities, from the sums: the coordinates to `first` and every `stride` behind."""
    sums, out, V, d = s.sums, s.out, s.V, len(s.origin)
    table = part * d * d * PART
    for row in range(rows):
        here, own = row * d * PART, load_part(s.own, row * PART)
        none = splat_as(own, 0.0)
        inverse = 1.0 / (load_part(s.Z, row * PART) + own)
        # what is along x_k counts only where V turns it: so the first token of V = c I stands still exactly
        if not s.plain:
            for at in range(here, here + d * PART, PART):
                store(sums, at, fma(own, load_part(tokens, at), load_part(sums, at)))
        along = none
        for c in range(d):
            if s.plain:
                value = load_part(V, table) * load_part(sums, here + c * PART)
            else:
                value = none
                for e in range(d):
                    entry = load_part(V, table + (c * d + e) * PART)
                    value = fma(entry, load_part(sums, here + e * PART), value)
            value = value * inverse
            store(out, c * PART, value)
            along = fma(value, load_part(tokens, here + c * PART), along)
        for c in range(d):
            turned = load_part(out, c * PART) - along * load_part(tokens, here + c * PART)
            store(velocity, first + (row * d + c) * stride, turned)


@inlined
def _weight(score, brief):
    """2^score."""
    if brief is None:
        return exp2_normal(score)
    a, f = exp2_brief_split(score)
    return exp2_brief_power(a, f)
