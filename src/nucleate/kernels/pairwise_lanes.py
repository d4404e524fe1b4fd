"""Pair sums of eight whole runs at once inside the solver, a run in every lane: d = 3 to 8, any Q, K, V, any
mask, no frozen tokens.

With u_k = beta K^T Q x_k the weights are e^{<u_k, x_j> - |u_k|}, never above 1.  No row of pairs is partial
and no lane is ever summed across; for loose tolerances the exponential is a brief one.

The tokens stand as y[(token * d + coordinate) * 8 + lane].  beta, Q, K, V may differ between lanes.  Each
lane sees exactly the operations it would see alone: a run's bits do not depend on its neighbours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
    "pairwise_lanes_system",
]

MAX_LANES_Z = 340.0  # e^{-2 z} is a normal number: no weight is lost
MIN_LANES_DIMENSION, MAX_LANES_DIMENSION = 3, 8
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
    """b runs of which eight are under way; the tables hold one row for all runs, or one per run."""

    scores: Array  # (1 or b, d, d) beta K^T Q log2(e)
    values: Array  # (1 or b, d, d) V
    A: Array  # (d, d, 8) scores of the runs under way
    V: Array  # (d, d, 8)
    # of the lanes under way, PART of the eight
    x: Array  # (n + 3, d, PART) the tokens; nobody sees the last three
    u: Array  # (n, d, PART) scratch: u_k
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
        A=aligned_zeros(d, d, LANES),
        V=aligned_zeros(d, d, LANES),
        x=aligned_zeros(n + 3, d, PART),
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
    """Give lane `at` to a run."""
    row = run if s.scores.shape[0] > 1 else 0
    d = len(s.origin)
    for c in range(d):
        for e in range(d):
            s.A[c, e, at], s.V[c, e, at] = s.scores[row, c, e], s.values[row, c, e]


@compiled
def pairwise_lanes_drift(s, y, velocity, stop):
    """Velocities of all tokens in all lanes; what a lane without a run gets is not used."""
    if stop[0]:
        return
    for part in range(0, LANES, PART):
        if s.brief:
            _part_drift(s, y, velocity, part, stop, True)
        else:
            _part_drift(s, y, velocity, part, stop, None)


@inlined
def _part_drift(s, y, velocity, part, stop, brief):
    """The same of the lanes that begin at `part`: what every token asks, the sums, and the velocities.  What
    `brief` None leaves out is not compiled."""
    n = s.n
    _place(y, s.x, n, len(s.origin), part)
    _ask(s, part, brief)
    tile = TILE_BYTES // (8 * PART * (2 * len(s.origin) + 2))
    for low in range(0, n, tile):
        _add_up(s, low, min(low + tile, n), stop, brief)
    for k in range(n):
        _finish(s, k, part, velocity)


@inlined
def _add_up(s, low, high, stop, brief):
    """What tokens low .. high-1 see, to their sums: four tokens are met by all who see them, then the next
    four, so that loops are long and their ends foreseen.  Every sum is taken in the order of the tokens."""
    n, w, full = s.n, s.w, s.full
    for j in range(0 if full else max(0, low - w + 1) // 4 * 4, n if full else high, 4):
        if stop[0]:
            return
        behind = j + 4
        end = max(behind, n if full else j + w)
        # the tokens that see all four, and those that see some of them: two ranges of each
        if full and behind > n:
            whole, some = ((low, low), (low, low)), ((low, high), (low, low))
        else:
            whole = (low, min(high, j) if full else low), (max(low, behind), min(high, end))
            some = (max(low, j), min(high, behind)), (max(low, end), min(high, j + w + 3))
        for first, last in some:
            _add_four(s, j, first, last, brief, True)
        for first, last in whole:
            _add_four(s, j, first, last, brief, None)


@inlined
def _add_four(s, j, low, high, brief, some):
    """Tokens j .. j + 3 to the sums of tokens low .. high-1, all of which see all of them if `some` is None.

    A weight is a long chain of dependent operations, of which the processor can hold few in waiting: a turn
    adds up the weights of one token, makes those of the next, and takes the scores of the one after."""
    if low >= high:
        return
    at = j * len(s.origin) * PART
    score, score2, score3, score4 = _four_scores(s, at, low)
    one = splat_as(score, 0.0)
    two, three, four, done = one, one, one, low
    for k in range(low, high):
        _add_weighted(s, at, done, one, two, three, four)
        one, two = _weight(score, brief), _weight(score2, brief)
        three, four = _weight(score3, brief), _weight(score4, brief)
        score, score2, score3, score4 = _four_scores(s, at, min(k + 1, high - 1))
        if some is not None:
            one, two = one * _seen(s, k, j), two * _seen(s, k, j + 1)
            three, four = three * _seen(s, k, j + 2), four * _seen(s, k, j + 3)
        done = k
    _add_weighted(s, at, done, one, two, three, four)


@inlined
def _seen(s, k, j):
    """1 if token k sees token j, itself apart, else 0."""
    return 1.0 if (j < s.n and j != k if s.full else k - s.w < j < k) else 0.0


@inlined
def _add_weighted(s, at, k, one, two, three, four):
    x, row = s.x, len(s.origin) * PART
    store(s.Z, k * PART, load_part(s.Z, k * PART) + ((one + two) + (three + four)))
    total = load_each(s.origin, s.sums, k * row)
    total = add_scaled(total, one, load_each(s.origin, x, at))
    total = add_scaled(total, two, load_each(s.origin, x, at + row))
    total = add_scaled(total, three, load_each(s.origin, x, at + 2 * row))
    total = add_scaled(total, four, load_each(s.origin, x, at + 3 * row))
    store_each(s.sums, k * row, total)


@inlined
def _four_scores(s, at, k):
    """<u_k, x_j> - |u_k| of the four tokens from flat index `at` on."""
    x, row = s.x, len(s.origin) * PART
    query, least = load_each(s.origin, s.u, k * row), load_part(s.least, k * PART)
    return (
        dot(query, load_each(query, x, at), least),
        dot(query, load_each(query, x, at + row), least),
        dot(query, load_each(query, x, at + 2 * row), least),
        dot(query, load_each(query, x, at + 3 * row), least),
    )


@inlined
def _place(y, x, n, d, part):
    """x = the state y, made unit; nothing where a lane is empty."""
    for k in range(n):
        row, here = k * d * LANES + part, k * d * PART
        square = splat_as(load_part(y, row), 0.0)
        for c in range(d):
            square = fma(load_part(y, row + c * LANES), load_part(y, row + c * LANES), square)
        inverse = 1.0 / sqrt(square)
        for c in range(d):
            store(x, here + c * PART, load_part(y, row + c * LANES) * inverse)


@inlined
def _ask(s, part, brief):
    """u_k of every token, its length and the token's own weight; no sums yet."""
    x, u, A, d = s.x, s.u, s.A, len(s.origin)
    none = splat_as(load_part(A, part), 0.0)
    for k in range(s.n):
        here = k * d * PART
        if s.plain:
            # u_k is a multiple of x_k, and the token itself has the weight 1
            length, own = load_part(A, part), none + 1.0
            for c in range(0, d * PART, PART):
                store(u, here + c, length * load_part(x, here + c))
        else:
            square, score = none, none
            for c in range(d):
                value, at = none, here + c * PART
                for e in range(d):
                    value = fma(
                        load_part(A, (c * d + e) * LANES + part), load_part(x, here + e * PART), value
                    )
                store(u, at, value)
                square, score = fma(value, value, square), fma(value, load_part(x, at), score)
            length = sqrt(square)
            own = _weight(score - length, brief)
        store(s.least, k * PART, none - length)
        store(s.own, k * PART, own)
        store(s.Z, k * PART, none)
        for c in range(0, d * PART, PART):
            store(s.sums, here + c, none)


@inlined
def _finish(s, k, part, velocity):
    """The velocity of token k, from its sums."""
    x, sums, out, V, d = s.x, s.sums, s.out, s.V, len(s.origin)
    here, own = k * d * PART, load_part(s.own, k * PART)
    none = splat_as(own, 0.0)
    inverse = 1.0 / (load_part(s.Z, k * PART) + own)
    # what is along x_k counts only where V turns it: so the first token of V = c I stands still exactly
    if not s.plain:
        for at in range(here, here + d * PART, PART):
            store(sums, at, fma(own, load_part(x, at), load_part(sums, at)))
    along = none
    for c in range(d):
        if s.plain:
            value = load_part(V, part) * load_part(sums, here + c * PART)
        else:
            value = none
            for e in range(d):
                weight = load_part(V, (c * d + e) * LANES + part)
                value = fma(weight, load_part(sums, here + e * PART), value)
        value = value * inverse
        store(out, c * PART, value)
        along = fma(value, load_part(x, here + c * PART), along)
    for c in range(d):
        turned = load_part(out, c * PART) - along * load_part(x, here + c * PART)
        store(velocity, (k * d + c) * LANES + part, turned)


@inlined
def _weight(score, brief):
    """2^score."""
    if brief is None:
        return exp2_normal(score)
    a, f = exp2_brief_split(score)
    return exp2_brief_power(a, f)
