"""One token of a causal step on the circle with K^T Q = I and V = c I: all columns at once, a column in every
lane of a vector.

With s_j = <b, x_j - x_k>, b the quarter turn of x_k, and p_kj the attention, f = c sum_j p_kj s_j is the
velocity in radians, and

    J_kj = c p_kj ((1 - |x_j - x_k|^2 / 2) - beta s_j (s_j - f / c)),      J_kk = -sum_{j<k} J_kj,

sums of small terms all.  In the chart v = tan(phi), dv/dt = (1 + v^2) phi'.
"""

from nucleate.integrate.causal_state import HALF_LANES, first_seen_slot
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.pairwise import base_2
from nucleate.kernels.simd import (
    LANES,
    TAIL,
    add_halves,
    fma,
    hsum,
    join_halves,
    lane,
    load,
    repeat_low_half,
    splat,
    splat_halves,
    sqrt,
    store,
)
from nucleate.kernels.vector_math import exp2

__all__ = ["extrapolate_on_circle", "join_group_on_circle", "linearise_on_circle"]


@inlined
def extrapolate_on_circle(s, k, used, h):
    """All columns of one token, extrapolated into `ends`; returns the error."""
    x, m, low, ends = s.system.x, s.system.m, first_seen_slot(s, k), s.ends
    x_0, x_1 = x[0, m + k], x[1, m + k]
    s.places[0, used], s.places[1, used], s.multiplicity[used], s.row[0, 0, used] = x_0, x_1, 0.0, 0.0
    velocity, slope = linearise_on_circle(s, x_0, x_1, low, used)
    v = _column_ends(s, x_0, x_1, velocity, 1.0 / (load(s.column, 0) / h - slope), low, used)
    longest = lane(v, 0)
    v = v - longest  # the factors add up to 1
    ends[0, k] = longest + hsum(v * load(s.last, 0))
    other = longest + hsum(v * load(s.before_last, 0))
    return max(0.0, abs(ends[0, k] - other) - s.roundoff) + (other - other)  # NaN stays NaN


@uncounted
def linearise_on_circle(s, x_0, x_1, low, used):
    """J_kj into `row`, the velocity and J_kk of a token at (x_0, x_1) that sees the frozen slots and low ..
    used-1."""
    places, count, weight, row, frozen = s.places, s.multiplicity, s.weight, s.row, s.frozen_slots
    beta, scale, width = s.system.beta, s.system.scale, places.shape[1]
    c, b_0, b_1 = splat(base_2(beta)), -x_1, x_0
    total, moment = splat(0.0), splat(0.0)
    for part in range(0 if frozen > 0 else 1, 2):
        start, end = (low, used) if part else (0, frozen)
        for j in range(start, end, LANES):
            step_0, step_1 = load(places, j) - x_0, load(places, width + j) - x_1
            w = exp2(fma(c, fma(step_0, step_0, step_1 * step_1), load(TAIL, max(0, LANES - (end - j)))))
            store(weight, j, w)
            w = w * load(count, j)
            total = total + w
            moment = fma(w, fma(splat(b_0), step_0, b_1 * step_1), moment)
    inverse = 1.0 / (1.0 + hsum(total))
    mean = hsum(moment) * inverse  # f / c
    slope = splat(0.0)
    for part in range(0 if frozen > 0 else 1, 2):
        start, end = (low, used) if part else (0, frozen)
        for j in range(start, end, LANES):
            step_0, step_1 = load(places, j) - x_0, load(places, width + j) - x_1
            sine = fma(splat(b_0), step_0, b_1 * step_1)
            bracket = 1.0 - fma(0.5 * step_0, step_0, (0.5 * step_1) * step_1) - beta * sine * (sine - mean)
            entry = load(weight, j) * bracket * (scale * inverse)
            slope = fma(load(count, j), entry, slope)
            store(row, j, entry)
    return scale * mean, -hsum(slope)


@inlined
def _column_ends(s, x_0, x_1, velocity, inverse, low, used):
    """v at the end of every column, (8,); `inverse` is 1 / (c/h - J_kk)."""
    row, increments, K = s.row, s.increments, s.columns
    total = splat(0.0)
    for j in range(low, used):
        total = fma(splat(row[0, 0, j]), load(increments, LANES * j), total)
    v = inverse * (velocity + total)
    store(increments, LANES * used, v)
    for i in range(1, K - HALF_LANES):
        v = _substep(s, x_0, x_1, v, inverse, i, low, used, None)
    ended, v, inverse = v, repeat_low_half(v), repeat_low_half(inverse)
    for i in range(K - HALF_LANES, K):
        v = _substep(s, x_0, x_1, v, inverse, i, low, used, HALF_LANES)
    return join_halves(v, ended)


@inlined
def _substep(s, x_0, x_1, v, inverse, i, low, used, half):
    """v after substep i of the columns that have it: eight of them and slot by slot, or if `half` four of
    them, in both halves of a vector, and two slots at a time."""
    places, increments, row, count = s.substep_places, s.increments, s.row, s.multiplicity
    frozen = s.system.m  # the slots that fill up a vector have no weight
    width, size = count.size, LANES if half is None else HALF_LANES
    at, here = i * LANES * width, (i - 1) * 2 * LANES * width
    there = here + LANES * width
    stretch = fma(v, v, splat(1.0))  # 1 + v^2
    shrink = 1.0 / sqrt(stretch)
    p_0, p_1 = fma(v, splat(-x_1), splat(x_0)) * shrink, fma(v, splat(x_0), splat(x_1)) * shrink
    total, sum_0, sum_1, others = splat(1.0 if half is None else 0.0), splat(0.0), splat(0.0), splat(0.0)
    c = splat(base_2(s.system.beta))
    for part in range(0 if frozen > 0 else 1, 2):
        start, end = (low, used) if part else (0, frozen)
        # a last, single slot is paired with the next, which has no weight and no row
        for j in range(start, end, 1 if half is None else 2):
            step_0, step_1 = load(places, here + size * j) - p_0, load(places, there + size * j) - p_1
            w = exp2(c * fma(step_0, step_0, step_1 * step_1))
            w = w * (splat(count[j]) if half is None else splat_halves(count[j], count[j + 1]))
            total, sum_0, sum_1 = total + w, fma(w, step_0, sum_0), fma(w, step_1, sum_1)
            if part:
                entry = splat(row[0, 0, j]) if half is None else splat_halves(row[0, 0, j], row[0, 0, j + 1])
                others = fma(entry, load(increments, at + size * j), others)
    if half is not None:
        total, others = 1.0 + add_halves(total), add_halves(others)
        sum_0, sum_1 = add_halves(sum_0), add_halves(sum_1)
    force = s.system.scale * stretch * (p_0 * sum_1 - p_1 * sum_0) / total
    u = inverse * (force + others)
    store(places, here + size * used, p_0)
    store(places, there + size * used, p_1)
    store(increments, at + size * used, u)
    return fma(load(s.active, i * LANES), u, v)


@inlined
def join_group_on_circle(s, k, used):
    """The token's places and increments, left in slot `used`, go into its group's slot; returns the number of
    slots in use."""
    places, count, substep_places, increments = s.places, s.multiplicity, s.substep_places, s.increments
    slot = s.slot_of[k]
    if slot == used:
        count[used] = 1.0
        return used + 1
    count[slot] += 1.0
    width, share = count.size, 1.0 / count[slot]
    for c in range(2):
        places[c, slot] += share * (places[c, used] - places[c, slot])
    for i in range(s.columns):
        size = LANES if i == 0 or s.columns - i > HALF_LANES else HALF_LANES
        at = i * LANES * width
        new = load(increments, at + size * slot) + load(increments, at + size * used)
        _put(increments, at + size * slot, new, size)
        for c in range(2 if i > 0 else 0):
            here = (2 * (i - 1) + c) * LANES * width
            old = load(substep_places, here + size * slot)
            new = fma(splat(share), load(substep_places, here + size * used) - old, old)
            _put(substep_places, here + size * slot, new, size)
    return used


@inlined
def _put(array, index, value, size):
    """The first `size` lanes of `value` into array[index ...]: what stands behind them is another slot's."""
    store(array, index, value if size == LANES else join_halves(value, load(array, index)))
