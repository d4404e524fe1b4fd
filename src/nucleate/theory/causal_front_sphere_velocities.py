"""The velocities of `causal_front_sphere`'s limit equation, compiled: sums over spherical harmonics
(`kernels.harmonics`), cell by cell, as every cell needs only those before it.

The harmonics are q_lm(x_3) w^m, w = x_1 + i x_2, in rows (l, m).  Of a cell's tokens only what differs from
their starts is summed up, as the starts' own sums are 0 and would drown the rest where next to nothing has
moved:

    q w^m - q' w'^m = (q - q') w^m + q' (w^m - w'^m),      q', w' those of the start,

with recurrences of their own for both differences.  q' is the same for all starts of a ring.
"""

from typing import Any, NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inlined
from nucleate.kernels.simd import LANES, fma, fms, hsum, load, splat, store
from nucleate.kernels.sphere_sums_3 import far_sums_3, make_field_3

__all__ = ["PAIR", "HarmonicField", "gradients_into", "seen_into", "velocities_into"]

PAIR = 2 * LANES  # starts of a ring come in so many: two groups of eight keep the processor busy


class HarmonicField(NamedTuple):
    """A sum over harmonics Re sum conj(S_lm) q_lm w^m, times a number of each row, for `far_sums_3`."""

    base: Array  # (1, 2 rows) S_lm, real and imaginary parts in turn
    value: Array  # (rows, 2) the numbers, and none
    field: Array  # (rows, 6) room
    recurrence: Array  # (rows,) b_lm
    L: int


@compiled
def gradients_into(some: HarmonicField, start: Array, found: Array) -> None:
    """Gradients on the sphere of that sum at the places start (3, P), into found (3, P)."""
    P = start.shape[1]
    make_field_3(some, 0)
    for p in range(0, P, LANES):
        x, y, z = load(start, p), load(start, P + p), load(start, 2 * P + p)
        _, (g_1, g_2, g_3), _ = far_sums_3(some, (x, y, z), None)
        inward = fma(g_1, x, fma(g_2, y, g_3 * z))
        store(found, p, g_1 - inward * x)
        store(found, P + p, g_2 - inward * y)
        store(found, 2 * P + p, g_3 - inward * z)


@compiled
def velocities_into(
    first: Array,
    moved: Array,
    start: Array,
    share: Array,
    at_start: Array,
    tokens: Array,
    some: HarmonicField,
    beta: float,
    drift: Array,
    way: Array,
    seen: Array,
) -> None:
    """Of first tokens (n, 3) and cells moved (C, 3, P) into drift (n, 3), way (C, 3, P) and seen (C,).

    start (3, P), ring by ring; share (rings,) of a cell's tokens at each start of a ring; at_start (rings,
    rows) q_lm there; tokens (C,) of a cell; the numbers of `some`: those with which its sum is (zeta - 1) /
    beta, if S_lm is a mean."""
    _, rows = at_start.shape
    C, _, P = moved.shape
    total, own = np.zeros(2 * rows), np.zeros(2 * rows)
    _first_tokens(first, beta, drift)
    _first_sums(first, some.recurrence, some.L, total)
    power = np.zeros(4 * P)  # w^m, real and imaginary, and what it differs from the start's
    sums = np.zeros((some.L + 1) * 2 * LANES)
    count = float(len(first))
    for c in range(C):
        _cell_sums(moved, c, start, share, at_start, some.recurrence, some.L, power, sums, own)
        middle = count + tokens[c] / 2.0  # tokens before the cell's middle
        for i in range(2 * rows):
            some.base[0, i] = (total[i] + own[i] * tokens[c] / 2.0) / middle
            total[i] += own[i] * tokens[c]
        some.base[0, 0] = 0.0
        make_field_3(some, 0)
        seen[c] = _cell_velocities(moved, c, start, share, some, beta, way)
        count += tokens[c]


@compiled
def _first_tokens(first: Array, beta: float, drift: Array) -> None:
    """Every token sees those before it, and itself, pair by pair."""
    for j in range(len(first)):
        x, y, z = first[j, 0], first[j, 1], first[j, 2]
        Z, a, b, c = 0.0, 0.0, 0.0, 0.0
        for i in range(j + 1):
            w = np.exp(beta * (x * first[i, 0] + y * first[i, 1] + z * first[i, 2] - 1.0))
            Z += w
            a += w * first[i, 0]
            b += w * first[i, 1]
            c += w * first[i, 2]
        along = x * a + y * b + z * c
        drift[j, 0], drift[j, 1], drift[j, 2] = (
            (a - along * x) / Z,
            (b - along * y) / Z,
            (c - along * z) / Z,
        )


@compiled
def _first_sums(first: Array, recurrence: Array, L: int, total: Array) -> None:
    """S_lm of the first tokens, added to `total`."""
    for j in range(len(first)):
        x, y, z = first[j, 0], first[j, 1], first[j, 2]
        real, imaginary, at = 1.0, 0.0, 0
        for m in range(L + 1):
            q, before = 1.0, 0.0
            for _ in range(L + 1 - m):
                total[2 * at] += q * real
                total[2 * at + 1] += q * imaginary
                q, before = z * q - recurrence[at] * before, q
                at += 1
            real, imaginary = real * x - imaginary * y, real * y + imaginary * x


@compiled
def seen_into(x: Array, weight: Array, recurrence: Array, L: int, found: Array) -> None:
    """Of tokens x (n, 3), each of which sees those before it: sum of weight Re conj(S_lm) q_lm w^m, S_lm
    their means, into found (n,)."""
    total = np.zeros((len(weight), 2))
    for j in range(len(x)):
        real, imaginary, at, seen = 1.0, 0.0, 0, 0.0
        for m in range(L + 1):
            q, before, a, b = 1.0, 0.0, 0.0, 0.0
            for _ in range(L + 1 - m):
                a += weight[at] * q * total[at, 0]
                b += weight[at] * q * total[at, 1]
                total[at, 0] += q * real
                total[at, 1] += q * imaginary
                q, before = x[j, 2] * q - recurrence[at] * before, q
                at += 1
            seen += a * real + b * imaginary
            real, imaginary = (
                real * x[j, 0] - imaginary * x[j, 1],
                real * x[j, 1] + imaginary * x[j, 0],
            )
        found[j] = seen / max(j, 1)


@inlined
def _cell_sums(
    moved: Any, c: Any, start: Any, share: Any, at_start: Any, recurrence: Any, L: Any,
    power: Any, sums: Any, own: Any,
) -> None:  # fmt: skip
    """Means of harmonics over a cell's tokens, less those over its starts, which are 0, into `own`."""
    P, rings = moved.shape[2], at_start.shape[0]
    around, here, at = P // rings, c * 3 * P, 0
    for i in range(2 * at_start.shape[1]):
        own[i] = 0.0
    for m in range(L + 1):
        count = L + 1 - m
        for i in range(count * 2):
            store(sums, i * LANES, splat(0.0))
        for ring in range(rings):
            turned, turned_i = splat(0.0), splat(0.0)
            for p in range(ring * around, (ring + 1) * around, PAIR):
                d, d_i = _pair_sums(
                    moved, here, start, share, at_start, recurrence, ring, at, count, power, sums, m, p
                )
                turned, turned_i = turned + d, turned_i + d_i
            real, imaginary = hsum(turned) * share[ring], hsum(turned_i) * share[ring]
            for i in range(count):
                own[2 * (at + i)] += at_start[ring, at + i] * real
                own[2 * (at + i) + 1] += at_start[ring, at + i] * imaginary
        for i in range(count):
            own[2 * (at + i)] += hsum(load(sums, 2 * i * LANES))
            own[2 * (at + i) + 1] += hsum(load(sums, (2 * i + 1) * LANES))
        at += count


@inlined
def _pair_sums(
    moved: Any, here: Any, start: Any, share: Any, at_start: Any, recurrence: Any, ring: Any, at: Any,
    count: Any, power: Any, sums: Any, m: Any, p: Any,
) -> Any:  # fmt: skip
    """(q - q') w^m of two groups of eight, added to `sums`; the sum of their w^m - w'^m."""
    P, w = moved.shape[2], splat(share[ring])
    a, a_i, d, d_i = _next_power(moved, here, start, power, P, m, p)
    b, b_i, e, e_i = _next_power(moved, here, start, power, P, m, p + LANES)
    third, gone = load(start, 2 * P + p), load(moved, here + 2 * P + p)
    third_2, gone_2 = load(start, 2 * P + p + LANES), load(moved, here + 2 * P + p + LANES)
    _deposit(
        recurrence, at_start, ring, at, sums, count,
        third + gone, gone, a * w, a_i * w,
        third_2 + gone_2, gone_2, b * w, b_i * w,
    )  # fmt: skip
    return d + e, d_i + e_i


@inlined
def _next_power(moved: Any, here: Any, start: Any, power: Any, P: Any, m: Any, p: Any) -> Any:
    """w^m of eight tokens, and w^m - w'^m, from those of m - 1."""
    real, imaginary, off, off_i = splat(1.0), splat(0.0), splat(0.0), splat(0.0)
    if m > 0:
        real, imaginary = load(power, p), load(power, P + p)
        off, off_i = load(power, 2 * P + p), load(power, 3 * P + p)
        gone, gone_i = load(moved, here + p), load(moved, here + P + p)  # w - w'
        x, y = load(start, p) + gone, load(start, P + p) + gone_i
        before, before_i = real - off, imaginary - off_i  # w'^(m - 1)
        off, off_i = (
            fma(off, x, fma(before, gone, splat(0.0) - fma(off_i, y, before_i * gone_i))),
            fma(off, y, fma(off_i, x, fma(before, gone_i, before_i * gone))),
        )
        real, imaginary = fms(real, x, imaginary * y), fma(real, y, imaginary * x)
    store(power, p, real)
    store(power, P + p, imaginary)
    store(power, 2 * P + p, off)
    store(power, 3 * P + p, off_i)
    return real, imaginary, off, off_i


@inlined
def _deposit(
    recurrence: Any, at_start: Any, ring: Any, at: Any, sums: Any, count: Any,
    z: Any, gone: Any, real: Any, imaginary: Any,
    z_2: Any, gone_2: Any, real_2: Any, imaginary_2: Any,
) -> None:  # fmt: skip
    """sums[l] += (q_lm - q'_lm) (real + i imaginary), for the degrees of one order, of two groups of eight at
    the height z, `gone` above their starts."""
    q, before, q_2, before_2 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for i in range(count):
        here, b, then = i * 2 * LANES, splat(recurrence[at + i]), splat(at_start[ring, at + i])
        store(sums, here, fma(q, real, fma(q_2, real_2, load(sums, here))))
        store(sums, here + LANES, fma(q, imaginary, fma(q_2, imaginary_2, load(sums, here + LANES))))
        q, before = fma(z, q, fms(gone, then, before * b)), q
        q_2, before_2 = fma(z_2, q_2, fms(gone_2, then, before_2 * b)), q_2


@inlined
def _cell_velocities(moved: Any, c: Any, start: Any, share: Any, some: Any, beta: Any, way: Any) -> Any:
    """(grad zeta) / (beta zeta) of a cell's tokens; the mean of zeta - 1."""
    P, rings = moved.shape[2], share.shape[0]
    around, here, found = P // rings, c * 3 * P, 0.0
    for ring in range(rings):
        ahead = splat(0.0)
        for p in range(ring * around, (ring + 1) * around, LANES):
            x = load(start, p) + load(moved, here + p)
            y = load(start, P + p) + load(moved, here + P + p)
            z = load(start, 2 * P + p) + load(moved, here + 2 * P + p)
            value, (g_1, g_2, g_3), _ = far_sums_3(some, (x, y, z), None)
            ahead = ahead + value
            inverse = splat(1.0) / fma(splat(beta), value, splat(1.0))
            inward = fma(g_1, x, fma(g_2, y, g_3 * z))
            store(way, here + p, (g_1 - inward * x) * inverse)
            store(way, here + P + p, (g_2 - inward * y) * inverse)
            store(way, here + 2 * P + p, (g_3 - inward * z) * inverse)
        found += share[ring] * hsum(ahead)
    return beta * found
