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
    same_each,
    splat_as,
    sqrt,
    store,
    store_each,
)
from nucleate.kernels.vector_math import EXP2_BRIEF_ERROR, exp2_brief, exp2_normal

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


def pairwise_lanes_error(z: float, accuracy: Accuracy) -> float:
    """The error of a velocity against |V|: that of a brief exponential and the rounding of a score, both
    counted in sum and norm."""
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
    x: Array  # (n, d, PART) the tokens
    u: Array  # (d, PART) scratch: u_k
    sums: Array  # (d, PART) scratch: sum_j w_kj x_j
    out: Array  # (d, PART) scratch
    origin: tuple[float, ...]  # d zeros: each d is compiled for itself, and sums stay in registers
    n: int
    w: int  # the window; n without one
    full: bool  # under the full mask
    plain: bool  # K^T Q = I and V = c I in the runs under way
    brief: bool  # which exponential


def pairwise_lanes_system(shapes: Sequence[ModelShape], plain: bool, accuracy: Accuracy) -> PairwiseLanes:
    """Tables for the runs, which may share one shape; those under way are all plain or none is."""
    first = ordinary_shape(shapes[0])
    n, d = first.n, first.d
    return PairwiseLanes(
        scores=np.array([shape.beta * LOG2_E * shape.A for shape in shapes]),
        values=np.array([shape.V for shape in shapes]),
        A=aligned_zeros(d, d, LANES),
        V=aligned_zeros(d, d, LANES),
        x=aligned_zeros(n, d, PART),
        u=aligned_zeros(d, PART),
        sums=aligned_zeros(d, PART),
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
    d = s.u.shape[0]
    for c in range(d):
        for e in range(d):
            s.A[c, e, at], s.V[c, e, at] = s.scores[row, c, e], s.values[row, c, e]


@compiled
def pairwise_lanes_drift(s, y, velocity, stop):
    """Velocities of all tokens in all lanes; what a lane without a run gets is not used."""
    for part in range(0, LANES, PART):
        if s.brief:
            _part_drift(s, y, velocity, part, stop, True)
        else:
            _part_drift(s, y, velocity, part, stop, None)


@inlined
def _part_drift(s, y, velocity, part, stop, brief):
    """The same of the lanes that begin at `part`."""
    x, u, sums, out, A, V = s.x, s.u, s.sums, s.out, s.A, s.V
    n, d, w, full, plain = s.n, len(s.origin), s.w, s.full, s.plain
    _place(y, x, n, d, part)
    some = load_part(A, part)
    none, one = splat_as(some, 0.0), splat_as(some, 1.0)
    for k in range(n):
        if stop[0]:
            return
        here = k * d * PART
        if plain:
            # u_k is a multiple of x_k, and the token itself has the weight 1
            length = load_part(A, part)
            for c in range(0, d * PART, PART):
                store(u, c, length * load_part(x, here + c))
            own = one
        else:
            length, own = _query(x, A, u, here, d, part, brief)
        low = max(0, k - w + 1)
        Z = _sums(s, none - length, low, k, n if full else k, brief)
        inverse = 1.0 / (Z + own)
        # what is along x_k counts only where V turns it: so the first token of V = c I stands still exactly
        if not plain:
            for c in range(0, d * PART, PART):
                store(sums, c, fma(own, load_part(x, here + c), load_part(sums, c)))
        along = none
        for c in range(d):
            if plain:
                value = load_part(V, part) * load_part(sums, c * PART)
            else:
                value = none
                for e in range(d):
                    value = fma(load_part(V, (c * d + e) * LANES + part), load_part(sums, e * PART), value)
            value = value * inverse
            store(out, c * PART, value)
            along = fma(value, load_part(x, here + c * PART), along)
        for c in range(d):
            turned = load_part(out, c * PART) - along * load_part(x, here + c * PART)
            store(velocity, (k * d + c) * LANES + part, turned)


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
def _query(x, A, u, here, d, part, brief):
    """u_k into `u`; its length, and the token's own weight."""
    none = splat_as(load_part(A, part), 0.0)
    square, score = none, none
    for c in range(d):
        value = none
        for e in range(d):
            value = fma(load_part(A, (c * d + e) * LANES + part), load_part(x, here + e * PART), value)
        store(u, c * PART, value)
        square, score = fma(value, value, square), fma(value, load_part(x, here + c * PART), score)
    length = sqrt(square)
    return length, _power(score - length, brief)


@inlined
def _sums(s, least, low, k, end, brief):
    """The sum of weights, and sum_j w_kj x_j into `sums`, over j = low .. end-1 but k."""
    none = splat_as(least, 0.0)
    query, nowhere = load_each(s.origin, s.u, 0), same_each(s.origin, none)
    Z, total = _add_tokens(s.x, query, least, low, k, none, nowhere, brief)
    Z, total = _add_tokens(s.x, query, least, k + 1, end, Z, total, brief)
    store_each(s.sums, 0, total)
    return Z


@inlined
def _add_tokens(x, query, least, low, high, Z, total, brief):
    """Z and total with tokens low .. high-1.  The weight of each is made beside the sums of the one before:
    it is a long chain of dependent operations, the sums wait for nothing."""
    if low >= high:
        return Z, total
    row = len(query) * PART
    weight = _power(dot(query, load_each(query, x, low * row), least), brief)
    for j in range(low + 1, high):
        after = _power(dot(query, load_each(query, x, j * row), least), brief)
        Z, total = Z + weight, add_scaled(total, weight, load_each(query, x, (j - 1) * row))
        weight = after
    return Z + weight, add_scaled(total, weight, load_each(query, x, (high - 1) * row))


@inlined
def _power(x, brief):
    """2^x."""
    return exp2_normal(x) if brief is None else exp2_brief(x)
