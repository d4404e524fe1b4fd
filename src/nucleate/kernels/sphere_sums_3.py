"""Sums over the spherical harmonics of d = 3 (`harmonics`), eight tokens in the lanes of a vector: those of
the tokens of a tile, and at the tokens that read them.  `s` is a `Sphere`, of which

    totals, base  (B, rows)      S_lm, real and imaginary parts in turn
    field         (rows / 2, 6)  what multiplies q_lm at order m: D_lm, for the derivative by x_3
                                 (l - m + 1) D_{l,m-1}, and A_lm; real and imaginary parts of each
    sums          (L + 1, 2, 8)
    powers        (T / 8, 2, 8)  (x_1 + i x_2)^m of a tile
"""

from nucleate.kernels.compile import inlined
from nucleate.kernels.simd import LANES, PRESENT, fma, fms, hsum, load, splat, store

__all__ = ["far_sums_3", "make_field_3", "tile_totals_3"]


@inlined
def tile_totals_3(s, b):
    """S_lm of the tokens of tile b."""
    x, recurrence, sums, totals = s.pair.x, s.recurrence, s.sums, s.totals
    m0, width, n, L = s.pair.m, s.pair.x.shape[1], s.pair.n, s.L
    first = b * s.T
    last = min(first + s.T, n)
    at = 0
    for m in range(L + 1):
        for i in range(0, (L + 1 - m) * 2 * LANES, LANES):
            store(sums, i, splat(0.0))
        for k in range(first, last, 2 * LANES):
            # two groups of eight, because the sums have to be fetched and put back
            real, imag = _next_power(s, m, k, first, last, m0 + k)
            real_2, imag_2, x_3 = splat(0.0), splat(0.0), splat(0.0)
            if k + LANES < last:
                real_2, imag_2 = _next_power(s, m, k + LANES, first, last, m0 + k + LANES)
                x_3 = load(x, 2 * width + m0 + k + LANES)
            _deposit(
                recurrence, at, sums, L + 1 - m, load(x, 2 * width + m0 + k), real, imag, x_3, real_2, imag_2
            )
        for i in range(L + 1 - m):
            totals[b, 2 * (at + i)] = hsum(load(sums, i * 2 * LANES))
            totals[b, 2 * (at + i) + 1] = hsum(load(sums, i * 2 * LANES + LANES))
        at += L + 1 - m


@inlined
def _next_power(s, m, k, first, last, here):
    """(x_1 + i x_2)^m of eight tokens, from the power before, times what ALiBi leaves of them at the end of
    their tile; 0 beyond the last token."""
    x, powers = s.pair.x, s.powers
    place = (k - first) * 2
    real, imag = load(PRESENT, max(0, LANES - (last - k))) * load(s.to_end, k - first), splat(0.0)
    if m > 0:
        real, imag = load(powers, place), load(powers, place + LANES)
        x_1, x_2 = load(x, here), load(x, x.shape[1] + here)
        real, imag = fms(real, x_1, imag * x_2), fma(real, x_2, imag * x_1)
    store(powers, place, real)
    store(powers, place + LANES, imag)
    return real, imag


@inlined
def _deposit(recurrence, at, sums, count, s, real, imag, s_2, real_2, imag_2):
    """sums[l] += q_lm(s) (real + i imag) for the `count` degrees of one order, of two groups of tokens."""
    q, before, q_2, before_2 = splat(1.0), splat(0.0), splat(1.0), splat(0.0)
    for i in range(count):
        here, b = i * 2 * LANES, splat(recurrence[at + i])
        store(sums, here, fma(q, real, fma(q_2, real_2, load(sums, here))))
        store(sums, here + LANES, fma(q, imag, fma(q_2, imag_2, load(sums, here + LANES))))
        q, before = fms(s, q, before * b), q
        q_2, before_2 = fms(s_2, q_2, before_2 * b), q_2


@inlined
def make_field_3(s, b):
    """What multiplies q_lm at order m: D_lm, for the derivative by x_3 (l - m + 1) D_{l,m-1}, and A_lm; real
    and imaginary parts of each."""
    base, value, field, L = s.base, s.value, s.field, s.L
    at, below = 0, 0  # of (m, m), and of (m, m - 1)
    for m in range(L + 1):
        for i in range(L + 1 - m):
            real, imag = base[b, 2 * (at + i)], base[b, 2 * (at + i) + 1]
            field[at + i, 0], field[at + i, 1] = value[at + i, 0] * real, value[at + i, 0] * imag
            field[at + i, 4], field[at + i, 5] = value[at + i, 1] * real, value[at + i, 1] * imag
            if m > 0:
                field[at + i, 2] = (i + 1.0) * field[below + i, 0]
                field[at + i, 3] = (i + 1.0) * field[below + i, 1]
        below = at + 1
        at += L + 1 - m


@inlined
def far_sums_3(s, y, along):
    """(Z - c_0 S_00) / z of eight points, its gradient in space, and the sum along y."""
    recurrence, field, L, (y_1, y_2, y_3) = s.recurrence, s.field, s.L, y
    value, g_1, g_2, g_3, ahead = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    real, imag = splat(1.0), splat(0.0)  # (y_1 + i y_2)^m
    below, below_i = splat(0.0), splat(0.0)  # the power before
    at = 0
    for m in range(L + 1):
        q, before = splat(1.0), splat(0.0)
        D, D_i, E, E_i, A, A_i = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for i in range(at, at + L + 1 - m):
            D, D_i = fma(q, splat(field[i, 0]), D), fma(q, splat(field[i, 1]), D_i)
            E, E_i = fma(q, splat(field[i, 2]), E), fma(q, splat(field[i, 3]), E_i)
            if along is not None:
                A, A_i = fma(q, splat(field[i, 4]), A), fma(q, splat(field[i, 5]), A_i)
            q, before = fms(y_3, q, before * recurrence[i]), q
        at += L + 1 - m
        value = fma(real, D, fma(imag, D_i, value))
        if along is not None:
            ahead = fma(real, A, fma(imag, A_i, ahead))
        g_3 = fma(below, E, fma(below_i, E_i, g_3))
        below, below_i = below * float(m), below_i * float(m)
        g_1 = fma(below, D, fma(below_i, D_i, g_1))
        g_2 = g_2 + fms(below, D_i, below_i * D)
        below, below_i = real, imag
        real, imag = fms(real, y_1, imag * y_2), fma(real, y_2, imag * y_1)
    return value, (g_1, g_2, g_3), ahead
