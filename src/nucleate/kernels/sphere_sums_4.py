"""Sums over the spherical harmonics of d = 4 (`harmonics_4`), eight tokens in the lanes of a vector: those of
the tokens of a tile, and at the tokens that read them.  `s` is a `Sphere`, of which

    totals, base  (B, rows)        the sums of (P, Q, k), four in turn: Re a^P Re b^Q, Re Im, Im Re, Im Im
    field         (rows / 4, 12)   what multiplies q_PQk: D_PQk, for the derivative by |a|^2 - |b|^2
                                   (k + 1) D_{P-1,Q-1,k+1}, and A_PQk; four of each
    sums          (L / 2 + 1, 4, 8)
    powers        (T / 8, 5, 8)    a^P and b^Q of a tile, and |a|^2 - |b|^2
    room          (6, 8)
"""

from nucleate.kernels.compile import inlined
from nucleate.kernels.simd import (
    LANES,
    PART,
    PRESENT,
    fma,
    fms,
    hsum,
    load,
    load_part,
    splat,
    splat_as,
    store,
)

__all__ = ["far_sums_4", "make_field_4", "tile_totals_4"]

FOUR = 4 * LANES  # from the sums of k to those of k + 1
FIVE = 5 * LANES  # from the powers of eight tokens to those of the next


@inlined
def tile_totals_4(s, b):
    """The sums of the tokens of tile b."""
    sums, totals, L = s.sums, s.totals, s.L
    first = b * s.T
    last = min(first + s.T, s.pair.n)
    at = 0
    for P in range(L + 1):
        for k in range(first, last, LANES):
            _next_first_power(s, P, k, first, last)
        for Q in range(L + 1 - P):
            count = (L - P - Q) // 2 + 1
            for i in range(0, count * FOUR, LANES):
                store(sums, i, splat(0.0))
            for k in range(first, last, 2 * LANES):
                # two groups of eight, because the sums have to be fetched and put back
                place = (k - first) * 5
                _next_second_power(s, Q, place, k)
                if k + LANES < last:
                    _next_second_power(s, Q, place + FIVE, k + LANES)
                    _deposit(s, at, count, place, place + FIVE, True)
                else:
                    _deposit(s, at, count, place, place, None)
            for i in range(4 * count):
                totals[b, 4 * at + i] = hsum(load(sums, i * LANES))
            at += count


@inlined
def _next_first_power(s, P, k, first, last):
    """a^P of eight tokens, from the power before, times what ALiBi leaves of them at the end of their tile; 0
    beyond the last token."""
    x, powers = s.pair.x, s.powers
    place, here, width = (k - first) * 5, s.pair.m + k, s.pair.x.shape[1]
    x_1, x_2 = load(x, here), load(x, width + here)
    if P == 0:
        x_3, x_4 = load(x, 2 * width + here), load(x, 3 * width + here)
        store(powers, place, load(PRESENT, max(0, LANES - (last - k))) * load(s.to_end, k - first))
        store(powers, place + LANES, splat(0.0))
        store(powers, place + 4 * LANES, fma(x_1, x_1, x_2 * x_2) - fma(x_3, x_3, x_4 * x_4))
    else:
        real, imag = load(powers, place), load(powers, place + LANES)
        store(powers, place, fms(real, x_1, imag * x_2))
        store(powers, place + LANES, fma(real, x_2, imag * x_1))


@inlined
def _next_second_power(s, Q, place, k):
    """b^Q of eight tokens, from the power before."""
    x, powers, here, width = s.pair.x, s.powers, s.pair.m + k, s.pair.x.shape[1]
    real, imag = splat(1.0), splat(0.0)
    if Q > 0:
        real, imag = load(powers, place + 2 * LANES), load(powers, place + 3 * LANES)
        x_3, x_4 = load(x, 2 * width + here), load(x, 3 * width + here)
        real, imag = fms(real, x_3, imag * x_4), fma(real, x_4, imag * x_3)
    store(powers, place + 2 * LANES, real)
    store(powers, place + 3 * LANES, imag)


@inlined
def _products(powers, place):
    """Re a^P Re b^Q, Re Im, Im Re, Im Im."""
    a, a_i = load(powers, place), load(powers, place + LANES)
    b, b_i = load(powers, place + 2 * LANES), load(powers, place + 3 * LANES)
    return a * b, a * b_i, a_i * b, a_i * b_i


@inlined
def _deposit(s, at, count, place, place_2, both):
    """sums[k] += q_PQk(s) times those products for the `count` degrees of one (P, Q), of two groups of
    tokens, or of one where `both` is None."""
    powers, sums, middle, recurrence = s.powers, s.sums, s.middle, s.recurrence
    f_1, f_2, f_3, f_4 = _products(powers, place)
    g_1, g_2, g_3, g_4 = _products(powers, place_2)
    height, height_2 = load(powers, place + 4 * LANES), load(powers, place_2 + 4 * LANES)
    q, before, q_2, before_2 = splat(1.0), splat(0.0), splat(1.0), splat(0.0)
    if both is None:
        q_2 = splat(0.0)
    for i in range(count):
        here, m, b = i * FOUR, splat(middle[at + i]), splat(recurrence[at + i])
        store(sums, here, fma(q, f_1, fma(q_2, g_1, load(sums, here))))
        store(sums, here + LANES, fma(q, f_2, fma(q_2, g_2, load(sums, here + LANES))))
        store(sums, here + 2 * LANES, fma(q, f_3, fma(q_2, g_3, load(sums, here + 2 * LANES))))
        store(sums, here + 3 * LANES, fma(q, f_4, fma(q_2, g_4, load(sums, here + 3 * LANES))))
        q, before = fms(height - m, q, before * b), q
        q_2, before_2 = fms(height_2 - m, q_2, before_2 * b), q_2


@inlined
def make_field_4(s, b):
    """What multiplies q_PQk: D_PQk, for the derivative by |a|^2 - |b|^2 (k + 1) D_{P-1,Q-1,k+1}, and A_PQk;
    four of each."""
    base, value, field, L = s.base, s.value, s.field, s.L
    at, above = 0, 0  # of (P, Q, 0), and of (P - 1, 0, 0)
    for P in range(L + 1):
        start, below = at, above  # of (P, 0, 0), and of (P - 1, Q - 1, 0)
        for Q in range(L + 1 - P):
            count = (L - P - Q) // 2 + 1
            for i in range(count):
                for c in range(4):
                    total = base[b, 4 * (at + i) + c]
                    field[at + i, c] = value[at + i, 0] * total
                    field[at + i, 8 + c] = value[at + i, 1] * total
                    if P > 0 and Q > 0:
                        field[at + i, 4 + c] = (i + 1.0) * field[below + i + 1, c]
            if P > 0 and Q > 0:
                below += count + 1
            at += count
        above = start


@inlined
def far_sums_4(s, y, along):
    """(Z - c_0 S_000) / z of eight points, its gradient in space, and the sum along y; a part of the lanes
    after the other, so that the sums of k stay in registers."""
    room, (y_1, y_2, y_3, y_4) = s.room, y
    store(room, 0, y_1)
    store(room, LANES, y_2)
    store(room, 2 * LANES, y_3)
    store(room, 3 * LANES, y_4)
    for part in range(0, LANES, PART):
        _far_sums_of_part(s, part, along)
    g = load(room, 0), load(room, LANES), load(room, 2 * LANES), load(room, 3 * LANES)
    return load(room, 4 * LANES), g, load(room, 5 * LANES)


@inlined
def _far_sums_of_part(s, part, along):
    """The same from and into `room`: the gradient in the place of y, and behind it the two others."""
    room, field, middle, recurrence, L = s.room, s.field, s.middle, s.recurrence, s.L
    y_1, y_2 = load_part(room, part), load_part(room, part + LANES)
    y_3, y_4 = load_part(room, part + 2 * LANES), load_part(room, part + 3 * LANES)
    zero, one = splat_as(y_1, 0.0), splat_as(y_1, 1.0)
    height = fma(y_1, y_1, y_2 * y_2) - fma(y_3, y_3, y_4 * y_4)
    value, slope, ahead = zero, zero, zero
    g_1, g_2, g_3, g_4 = zero, zero, zero, zero
    a, a_i, a_before, a_before_i = one, zero, zero, zero  # a^P, a^(P-1)
    at = 0
    for P in range(L + 1):
        b, b_i, b_before, b_before_i = one, zero, zero, zero  # b^Q, b^(Q-1)
        # what multiplies a^P in the value, a^(P-1) in the derivative by |a|^2 - |b|^2, a^P in the sum along y
        u, u_i, e, e_i, t, t_i = zero, zero, zero, zero, zero, zero
        for Q in range(L + 1 - P):
            q, before = one, zero
            D_1, D_2, D_3, D_4 = zero, zero, zero, zero
            E_1, E_2, E_3, E_4 = zero, zero, zero, zero
            A_1, A_2, A_3, A_4 = zero, zero, zero, zero
            end = at + (L - P - Q) // 2 + 1
            for i in range(at, end):
                D_1, D_2 = fma(q, splat_as(q, field[i, 0]), D_1), fma(q, splat_as(q, field[i, 1]), D_2)
                D_3, D_4 = fma(q, splat_as(q, field[i, 2]), D_3), fma(q, splat_as(q, field[i, 3]), D_4)
                E_1, E_2 = fma(q, splat_as(q, field[i, 4]), E_1), fma(q, splat_as(q, field[i, 5]), E_2)
                E_3, E_4 = fma(q, splat_as(q, field[i, 6]), E_3), fma(q, splat_as(q, field[i, 7]), E_4)
                if along is not None:
                    A_1, A_2 = fma(q, splat_as(q, field[i, 8]), A_1), fma(q, splat_as(q, field[i, 9]), A_2)
                    A_3, A_4 = fma(q, splat_as(q, field[i, 10]), A_3), fma(q, splat_as(q, field[i, 11]), A_4)
                q, before = fms(height - middle[i], q, before * recurrence[i]), q
            at = end
            u, u_i = fma(D_1, b, fma(D_2, b_i, u)), fma(D_3, b, fma(D_4, b_i, u_i))
            e = fma(E_1, b_before, fma(E_2, b_before_i, e))
            e_i = fma(E_3, b_before, fma(E_4, b_before_i, e_i))
            if along is not None:
                t, t_i = fma(A_1, b, fma(A_2, b_i, t)), fma(A_3, b, fma(A_4, b_i, t_i))
            v, v_i = fma(D_1, a, D_3 * a_i), fma(D_2, a, D_4 * a_i)  # what multiplies b^Q
            b_before, b_before_i = b_before * float(Q), b_before_i * float(Q)
            g_3 = fma(b_before, v, fma(b_before_i, v_i, g_3))
            g_4 = g_4 + fms(b_before, v_i, b_before_i * v)
            b_before, b_before_i = b, b_i
            b, b_i = fms(b, y_3, b_i * y_4), fma(b, y_4, b_i * y_3)
        value = fma(a, u, fma(a_i, u_i, value))
        if along is not None:
            ahead = fma(a, t, fma(a_i, t_i, ahead))
        slope = fma(a_before, e, fma(a_before_i, e_i, slope))
        a_before, a_before_i = a_before * float(P), a_before_i * float(P)
        g_1 = fma(a_before, u, fma(a_before_i, u_i, g_1))
        g_2 = g_2 + fms(a_before, u_i, a_before_i * u)
        a_before, a_before_i = a, a_i
        a, a_i = fms(a, y_1, a_i * y_2), fma(a, y_2, a_i * y_1)
    slope = slope * 2.0
    g_3, g_4 = g_3 - slope * y_3, g_4 - slope * y_4
    store(room, part, fma(slope, y_1, g_1))
    store(room, part + LANES, fma(slope, y_2, g_2))
    store(room, part + 2 * LANES, g_3)
    store(room, part + 3 * LANES, g_4)
    store(room, part + 4 * LANES, value)
    store(room, part + 5 * LANES, ahead)
