"""Pair sums of eight whole runs at once inside the solver, a run in every lane: d = 3 to 8, any Q, K, V, any
mask, no frozen tokens; for loose tolerances.

With u_k = beta K^T Q x_k the weights are e^{<u_k, x_j> - |u_k|}, never above 1.  No row of pairs is partial
and no lane is ever summed across, and the exponential is only as exact as loose velocities have to be.

The tokens stand as y[(token * d + coordinate) * 8 + lane].  beta, Q, K, V may differ between lanes.  Each
lane sees exactly the operations it would see alone: a run's bits do not depend on its neighbours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nucleate.checks import EPS, Array
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.model_shape import FULL, ModelShape, ordinary_shape
from nucleate.kernels.pairwise import LOG2_E
from nucleate.kernels.simd import LANES, fma, load, splat, sqrt, store
from nucleate.kernels.vector_math import EXP2_BRIEF_ERROR, exp2_brief

__all__ = [
    "PairwiseLanes",
    "pairwise_lanes_drift",
    "pairwise_lanes_enter",
    "pairwise_lanes_error",
    "pairwise_lanes_system",
    "suits_pairwise_lanes",
]

MAX_LANES_Z = 340.0  # e^{-2 z} is a normal number: no weight is lost
MIN_LANES_DIMENSION, MAX_LANES_DIMENSION = 3, 8


def pairwise_lanes_error(z: float) -> float:
    """The error of a velocity against |V|: that of the exponential and the rounding of a score, both counted
    in sum and norm."""
    return 2.0 * EXP2_BRIEF_ERROR + 16.0 * max(1.0, z) * EPS


def suits_pairwise_lanes(shape: ModelShape, tolerance: float) -> bool:
    """Whether a run can share the lanes of a vector with others above the circle, its velocities good to
    `tolerance` |V|."""
    if not (shape.ordinary and MIN_LANES_DIMENSION <= shape.d <= MAX_LANES_DIMENSION):
        return False
    return len(shape.frozen) == 0 and shape.z <= MAX_LANES_Z and pairwise_lanes_error(shape.z) <= tolerance


class PairwiseLanes(NamedTuple):
    """b runs of which eight are under way; the tables hold one row for all runs, or one per run."""

    scores: Array  # (1 or b, d, d) beta K^T Q log2(e)
    values: Array  # (1 or b, d, d) V
    A: Array  # (d, d, 8) scores of the runs under way
    V: Array  # (d, d, 8)
    x: Array  # (n, d, 8) the tokens
    u: Array  # (d, 8) scratch: u_k
    weights: Array  # (n + 1, 8) scratch
    sums: Array  # (d, 8) scratch: sum_j w_kj x_j
    out: Array  # (d, 8) scratch
    n: int
    w: int  # the window; n without one
    full: bool  # under the full mask
    plain: bool  # K^T Q = I and V = c I in the runs under way


def pairwise_lanes_system(shapes: Sequence[ModelShape], plain: bool) -> PairwiseLanes:
    """Tables for the runs, which may share one shape; those under way are all plain or none is."""
    first = ordinary_shape(shapes[0])
    n, d = first.n, first.d
    return PairwiseLanes(
        scores=np.array([shape.beta * LOG2_E * shape.A for shape in shapes]),
        values=np.array([shape.V for shape in shapes]),
        A=np.zeros((d, d, LANES)),
        V=np.zeros((d, d, LANES)),
        x=np.zeros((n, d, LANES)),
        u=np.zeros((d, LANES)),
        weights=np.zeros((n + 1, LANES)),
        sums=np.zeros((d, LANES)),
        out=np.zeros((d, LANES)),
        n=n,
        w=first.w,
        full=first.mask == FULL,
        plain=plain,
    )


@compiled
def pairwise_lanes_enter(s, at, run):
    """Give lane `at` to a run."""
    row = run if s.scores.shape[0] > 1 else 0
    d = s.u.shape[0]
    for c in range(d):
        for e in range(d):
            s.A[c, e, at], s.V[c, e, at] = s.scores[row, c, e], s.values[row, c, e]


@compiled
def pairwise_lanes_drift(s, y, velocity, stop):
    """Velocities of all tokens in all lanes; what a lane without a run gets is not used."""
    x, u, sums, out, weights, A, V = s.x, s.u, s.sums, s.out, s.weights, s.A, s.V
    n, d, w, full, plain = s.n, s.u.shape[0], s.w, s.full, s.plain
    _place(y, x, n, d)
    for k in range(n):
        if stop[0]:
            return
        here = k * d * LANES
        if plain:
            # u_k is a multiple of x_k, and the token itself has the weight 1
            length = load(A, 0)
            for c in range(d):
                store(u, c * LANES, length * load(x, here + c * LANES))
            own = splat(1.0)
        else:
            length, own = _query(x, A, u, here, d)
        low = max(0, k - w + 1)
        if d == 3:
            Z = _sums_in_registers(x, u, sums, length, low, k, n if full else k)
        else:
            Z = _sums(x, u, sums, weights, length, low, k, n if full else k, d)
        inverse = 1.0 / (Z + own)
        # what is along x_k counts only where V turns it: so the first token of V = c I stands still exactly
        if not plain:
            for c in range(d):
                at = c * LANES
                store(sums, at, fma(own, load(x, here + at), load(sums, at)))
        along = splat(0.0)
        for c in range(d):
            if plain:
                value = load(V, 0) * load(sums, c * LANES)
            else:
                value = splat(0.0)
                for e in range(d):
                    value = fma(load(V, (c * d + e) * LANES), load(sums, e * LANES), value)
            value = value * inverse
            store(out, c * LANES, value)
            along = fma(value, load(x, here + c * LANES), along)
        for c in range(d):
            at = c * LANES
            store(velocity, here + at, load(out, at) - along * load(x, here + at))


@inner
def _place(y, x, n, d):
    """x = the state y, made unit; nothing where a lane is empty."""
    for k in range(n):
        row = k * d * LANES
        square = splat(0.0)
        for c in range(d):
            square = fma(load(y, row + c * LANES), load(y, row + c * LANES), square)
        inverse = 1.0 / sqrt(square)
        for c in range(d):
            store(x, row + c * LANES, load(y, row + c * LANES) * inverse)


@inner
def _query(x, A, u, here, d):
    """u_k into `u`; its length, and the token's own weight."""
    square, score = splat(0.0), splat(0.0)
    for c in range(d):
        value = splat(0.0)
        for e in range(d):
            value = fma(load(A, (c * d + e) * LANES), load(x, here + e * LANES), value)
        store(u, c * LANES, value)
        square, score = fma(value, value, square), fma(value, load(x, here + c * LANES), score)
    length = sqrt(square)
    return length, exp2_brief(score - length)


@inner
def _sums_in_registers(x, u, sums, length, low, k, end):
    """The sum of weights, and sum_j w_kj x_j into `sums`, over j = low .. end-1 but k, for d = 3."""
    u_0, u_1, u_2, none = load(u, 0), load(u, LANES), load(u, 2 * LANES), splat(0.0)
    least = none - length
    Z, sum_0, sum_1, sum_2 = none, none, none, none
    for part in range(2):
        for j in range(k + 1 if part else low, end if part else k):
            at = j * 3 * LANES
            x_0, x_1, x_2 = load(x, at), load(x, at + LANES), load(x, at + 2 * LANES)
            weight = exp2_brief(fma(u_0, x_0, fma(u_1, x_1, fma(u_2, x_2, least))))
            Z = Z + weight
            sum_0, sum_1, sum_2 = fma(weight, x_0, sum_0), fma(weight, x_1, sum_1), fma(weight, x_2, sum_2)
    store(sums, 0, sum_0)
    store(sums, LANES, sum_1)
    store(sums, 2 * LANES, sum_2)
    return Z


@inner
def _sums(x, u, sums, weights, length, low, k, end, d):
    """The same for any d: all weights first, two tokens at a time, then up to four coordinates at a time, so
    that what is fetched is used more than once."""
    Z, none = splat(0.0), splat(0.0)
    least, high = none - length, max(end, k)
    for j in range(low, high, 2):
        at, to = j * d * LANES, min(j + 1, high - 1) * d * LANES
        score, score_2 = least, least
        for c in range(0, d * LANES, LANES):
            u_c = load(u, c)
            score, score_2 = fma(u_c, load(x, at + c), score), fma(u_c, load(x, to + c), score_2)
        store(weights, j * LANES, exp2_brief(score))
        store(weights, (j + 1) * LANES, exp2_brief(score_2))
    if low <= k < high:
        store(weights, k * LANES, none)  # the token itself is counted apart
    c = 0
    while c + 4 <= d:
        one, two, three, four = none, none, none, none
        for j in range(low, high):
            at, weight = (j * d + c) * LANES, load(weights, j * LANES)
            one, two = fma(weight, load(x, at), one), fma(weight, load(x, at + LANES), two)
            three = fma(weight, load(x, at + 2 * LANES), three)
            four = fma(weight, load(x, at + 3 * LANES), four)
        store(sums, c * LANES, one)
        store(sums, (c + 1) * LANES, two)
        store(sums, (c + 2) * LANES, three)
        store(sums, (c + 3) * LANES, four)
        c += 4
    while c < d:
        one = none
        for j in range(low, high):
            one = fma(load(weights, j * LANES), load(x, (j * d + c) * LANES), one)
        store(sums, c * LANES, one)
        c += 1
    for j in range(low, high):
        Z = Z + load(weights, j * LANES)
    return Z
