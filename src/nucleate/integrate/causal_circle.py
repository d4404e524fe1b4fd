"""One token of a causal step on the circle with K^T Q = I and V = c I: all columns at once, a column in every
lane of a vector.

With s_j = <b, x_j - x_k>, b the quarter turn of x_k, and p_kj the attention, f = c sum_j p_kj s_j is the
velocity in radians, and

    J_kj = c p_kj ((1 - |x_j - x_k|^2 / 2) - beta s_j (s_j - f / c)),      J_kk = -sum_{j<k} J_kj,

sums of small terms all.  In the chart v = tan(phi), dv/dt = (1 + v^2) phi'.
"""

import numpy as np

from nucleate.integrate.causal_state import ACTIVE, BEFORE_LAST, COLUMN, FEW, LAST, seen_from
from nucleate.kernels.compile import compiled, inner
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

__all__ = ["linearise_on_circle", "step_on_circle"]


@compiled
def step_on_circle(s, h, stop):
    """`ends` of a step of length h for tokens whose groups are formed; returns the error of the worst token,
    NaN when not finite."""
    p = s.pair
    x, m, n, scale, held, K = p.x, p.m, p.n, p.scale, s.held, s.K
    slots, tally, places, pushes, row, weight, ends, lanes, group = (
        s.slots,
        s.tally,
        s.places,
        s.pushes,
        s.row,
        s.weight,
        s.ends,
        s.lanes,
        s.group,
    )
    rate, T, worst = load(lanes, COLUMN * LANES) / h, splat(0.0), 0.0
    used = held
    for k in range(n):
        if stop[0]:
            return np.nan
        x_0, x_1, low = x[0, m + k], x[1, m + k], seen_from(s, k)
        slots[0, used], slots[1, used], tally[used], row[0, 0, used] = x_0, x_1, 0.0, 0.0
        first, slope = linearise_on_circle(
            slots, tally, weight, row, x_0, x_1, p.beta, scale, held, low, used
        )
        T = _columns(
            places,
            pushes,
            row,
            tally,
            lanes,
            1.0 / (rate - slope),
            first,
            x_0,
            x_1,
            p.beta,
            scale,
            K,
            m,
            low,
            used,
        )
        longest = lane(T, 0)
        T = T - longest  # the factors add up to 1
        ends[0, k] = longest + hsum(T * load(lanes, LAST * LANES))
        other = longest + hsum(T * load(lanes, BEFORE_LAST * LANES))
        error = max(0.0, abs(ends[0, k] - other) - s.noise) + (other - other)  # NaN stays NaN
        if not error <= worst:
            worst = error
            if np.isnan(error):
                return error
        used = _join(slots, tally, places, pushes, group[k], K, used)
    return worst


@compiled
def linearise_on_circle(slots, tally, weight, row, x_0, x_1, beta, scale, held, low, used):
    """J_kj into `row`, the velocity and J_kk of a token at (x_0, x_1) that sees slots 0 .. held-1 and low ..
    used-1."""
    width = slots.shape[1]
    c, b_0, b_1 = splat(base_2(beta)), -x_1, x_0
    total, moment = splat(0.0), splat(0.0)
    for part in range(0 if held > 0 else 1, 2):
        start, end = (low, used) if part else (0, held)
        for j in range(start, end, LANES):
            step_0, step_1 = load(slots, j) - x_0, load(slots, width + j) - x_1
            w = exp2(fma(c, fma(step_0, step_0, step_1 * step_1), load(TAIL, max(0, LANES - (end - j)))))
            store(weight, j, w)
            w = w * load(tally, j)
            total = total + w
            moment = fma(w, fma(splat(b_0), step_0, b_1 * step_1), moment)
    inverse = 1.0 / (1.0 + hsum(total))
    mean = hsum(moment) * inverse  # f / c
    slope = splat(0.0)
    for part in range(0 if held > 0 else 1, 2):
        start, end = (low, used) if part else (0, held)
        for j in range(start, end, LANES):
            step_0, step_1 = load(slots, j) - x_0, load(slots, width + j) - x_1
            sine = fma(splat(b_0), step_0, b_1 * step_1)
            bracket = 1.0 - fma(0.5 * step_0, step_0, (0.5 * step_1) * step_1) - beta * sine * (sine - mean)
            entry = load(weight, j) * bracket * (scale * inverse)
            slope = fma(load(tally, j), entry, slope)
            store(row, j, entry)
    return scale * mean, -hsum(slope)


@inner
def _columns(places, pushes, row, tally, lanes, inverse, first, x_0, x_1, beta, scale, K, m, low, used):
    """v at the end of every column, (8,); `inverse` is 1 / (c/h - J_kk)."""
    width = tally.size
    push = splat(0.0)
    for j in range(low, used):
        push = fma(splat(row[0, 0, j]), load(pushes, LANES * j), push)
    v = inverse * (first + push)
    store(pushes, LANES * used, v)
    for i in range(1, K):
        if K - i <= FEW:
            break
        p_0, p_1, stretch = _place(v, x_0, x_1)
        at, here = i * LANES * width, (i - 1) * 2 * LANES * width
        there = here + LANES * width
        total, sum_0, sum_1, push = splat(1.0), splat(0.0), splat(0.0), splat(0.0)
        c = splat(base_2(beta))
        for part in range(0 if m > 0 else 1, 2):
            start, end = (low, used) if part else (0, m)
            for j in range(start, end):
                step_0, step_1 = load(places, here + LANES * j) - p_0, load(places, there + LANES * j) - p_1
                w = exp2(c * fma(step_0, step_0, step_1 * step_1)) * tally[j]
                total, sum_0, sum_1 = total + w, fma(w, step_0, sum_0), fma(w, step_1, sum_1)
                if part:
                    push = fma(splat(row[0, 0, j]), load(pushes, at + LANES * j), push)
        force = scale * stretch * (p_0 * sum_1 - p_1 * sum_0) / total
        u = inverse * (force + push)
        store(places, here + LANES * used, p_0)
        store(places, there + LANES * used, p_1)
        store(pushes, at + LANES * used, u)
        v = fma(load(lanes, (ACTIVE + i) * LANES), u, v)
    ended, v, inverse = v, repeat_low_half(v), repeat_low_half(inverse)
    for i in range(max(1, K - FEW), K):
        p_0, p_1, stretch = _place(v, x_0, x_1)
        at, here = i * LANES * width, (i - 1) * 2 * LANES * width
        there = here + LANES * width
        total, sum_0, sum_1, push = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        c = splat(base_2(beta))
        for part in range(0 if m > 0 else 1, 2):
            start, end = (low, used) if part else (0, m)
            # a last, single slot is paired with the next, which has no weight and no row
            for j in range(start, end, 2):
                step_0, step_1 = load(places, here + FEW * j) - p_0, load(places, there + FEW * j) - p_1
                w = exp2(c * fma(step_0, step_0, step_1 * step_1)) * splat_halves(tally[j], tally[j + 1])
                total, sum_0, sum_1 = total + w, fma(w, step_0, sum_0), fma(w, step_1, sum_1)
                if part:
                    push = fma(splat_halves(row[0, 0, j], row[0, 0, j + 1]), load(pushes, at + FEW * j), push)
        total, sum_0, sum_1, push = (
            1.0 + add_halves(total),
            add_halves(sum_0),
            add_halves(sum_1),
            add_halves(push),
        )
        force = scale * stretch * (p_0 * sum_1 - p_1 * sum_0) / total
        u = inverse * (force + push)
        store(places, here + FEW * used, p_0)
        store(places, there + FEW * used, p_1)
        store(pushes, at + FEW * used, u)
        v = fma(load(lanes, (ACTIVE + i) * LANES), u, v)
    return join_halves(v, ended)


@inner
def _place(v, x_0, x_1):
    """The point of the circle at v, and 1 + v^2."""
    stretch = fma(v, v, splat(1.0))
    shrink = 1.0 / sqrt(stretch)
    return fma(v, splat(-x_1), splat(x_0)) * shrink, fma(v, splat(x_0), splat(x_1)) * shrink, stretch


@inner
def _join(slots, tally, places, pushes, slot, K, used):
    """The token's place and pushes, left in slot `used`, go into its group's slot; returns the number of
    slots in use."""
    if slot == used:
        tally[used] = 1.0
        return used + 1
    tally[slot] += 1.0
    width, share = tally.size, 1.0 / tally[slot]
    for c in range(2):
        slots[c, slot] += share * (slots[c, used] - slots[c, slot])
    for i in range(K):
        size = LANES if i == 0 or K - i > FEW else FEW
        at = i * LANES * width
        new = load(pushes, at + size * slot) + load(pushes, at + size * used)
        _put(pushes, at + size * slot, new, size)
        for c in range(2 if i > 0 else 0):
            here = (2 * (i - 1) + c) * LANES * width
            old = load(places, here + size * slot)
            _put(
                places,
                here + size * slot,
                fma(splat(share), load(places, here + size * used) - old, old),
                size,
            )
    return used


@inner
def _put(array, index, value, size):
    """The first `size` lanes of `value` into array[index ...]: what stands behind them is another slot's."""
    if size == LANES:
        store(array, index, value)
    else:
        store(array, index, join_halves(value, load(array, index)))
