"""Sums over modes on the circle, eight chunks of consecutive tokens in the eight lanes of a vector: what a
head's velocities (`circle.py`) and the outputs of a block's heads (`circle_heads.py`) have in common.

Token b * 8c + l * c + i stands in superblock b, lane l, place i: flat index ((b * c) + i) * 8 + l.  `s` is a
record with the fields

    cosine, sine, present  (B, c, 8)         the tokens, and 1, or 0 for padding
    few                    (B, c, 8)         above 0 where the modes are not accurate enough
    totals, base           (B, M + 2, 2, 8)  sums of cos(m theta), sin(m theta) over a chunk, and before it
    sums                   (M + 2, 2, 8)     the running sums; each thread needs its own, as of the next
    ratios                 (M + 2, 8)        I_m / I_{m-1}

With ALiBi's decay q per place the sums before token k are

    S_m(k) = sum_{j<k} q^{k-1-j} e^{i m theta_j},      of which the token sees q S_m(k).

That costs no more than without: token j of a chunk that begins at k0 joins the running sums with the weight
g_j = q^{-(j-k0+1)}, so that they are g_k q S_m(k), and its powers e^{i m theta_k} carry the same weight.
Where g grows large, the sums are divided by it (`begin_anew`).  Without ALiBi decay and growth are None, and
nothing of them is compiled.
"""

from nucleate.kernels.compile import inlined
from nucleate.kernels.model_shape import FULL, WINDOW
from nucleate.kernels.simd import (
    LANES,
    fma,
    fms,
    load,
    load_as,
    load_part,
    set_lane,
    splat,
    splat_as,
    sqrt,
    store,
)

__all__ = [
    "begin_anew",
    "begin_sums",
    "deal",
    "fixed_tokens",
    "general_tokens",
    "lane_bases",
    "lane_totals",
    "running_tokens",
]

LENGTH_OF_ZERO = 1e-150  # gives u = 0 a direction, psi = 0, and is lost in rounding beside any other u


@inlined
def deal(s, x, m, n, b):
    """The tokens of superblock b, columns m .. m+n-1 of x, into its eight lanes."""
    cosine, sine, c = s.cosine, s.sine, s.cosine.shape[1]
    for at in range(LANES):
        first = (b * LANES + at) * c
        for i in range(min(c, n - first)):
            cosine[b, i, at] = x[0, m + first + i]
            sine[b, i, at] = x[1, m + first + i]


@inlined
def lane_totals(s, b, orders, decay):
    """The sums behind the last token of every lane of superblock b, over its own tokens alone.  Two tokens at
    a time: two independent recurrences hide each other's latency."""
    cosine, sine, present, totals, c = s.cosine, s.sine, s.present, s.totals, s.cosine.shape[1]
    out = b * totals.shape[1] * 2 * LANES
    for at in range(out, out + orders * 2 * LANES, LANES):
        store(totals, at, splat(0.0))
    row, pairs, weight = b * c * LANES, c // 2, 1.0
    if decay is not None:
        weight = decay ** (c % 2)  # of the last token before those summed
    for pair in range(pairs):
        at = row + pair * 2 * LANES
        if decay is not None:  # from the end, where weights are 1
            at = row + (pairs - 1 - pair) * 2 * LANES
        x, y, x2, y2 = load(cosine, at), load(sine, at), load(cosine, at + LANES), load(sine, at + LANES)
        real, imag, real2, imag2 = load(present, at), splat(0.0), load(present, at + LANES), splat(0.0)
        if decay is not None:
            real, real2, weight = real * (weight * decay), real2 * weight, weight * (decay * decay)
        for m in range(orders):
            here = out + m * 2 * LANES
            store(totals, here, load(totals, here) + (real + real2))
            store(totals, here + LANES, load(totals, here + LANES) + (imag + imag2))
            real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
            real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)
    if c % 2:
        at = row + (c - 1) * LANES
        join(totals, out, orders, load(cosine, at), load(sine, at), load(present, at))


@inlined
def join(sums, out, orders, x, y, weight):
    """sums[m] += weight e^{i m theta}, the sums lying at flat index `out`."""
    real, imag = weight, splat_as(weight, 0.0)
    for m in range(orders):
        here = out + m * 2 * LANES
        store(sums, here, load_as(weight, sums, here) + real)
        store(sums, here + LANES, load_as(weight, sums, here + LANES) + imag)
        real, imag = fms(real, x, imag * y), fma(real, y, imag * x)


@inlined
def lane_bases(s, frozen, orders, mask, w, decay):
    """What every chunk's tokens have before them: compensated running sums over chunks, begun with the frozen
    tokens' (orders, 2); under the full mask the grand total; under a window the tokens in it."""
    totals, base = s.totals, s.base
    B, c = totals.shape[0], s.cosine.shape[1]
    whole = 1.0  # the decay from one lane to the next
    if decay is not None:
        whole = decay**c
    for m in range(orders):
        for part in range(2):
            total, error = frozen[m, part], 0.0
            for b in range(B):
                for at in range(LANES):
                    if mask == WINDOW:
                        base[b, m, part, at] = frozen[m, part]
                        continue
                    base[b, m, part, at] = total + error
                    add = totals[b, m, part, at]
                    if decay is not None:
                        total, error = total * whole, error * whole
                    new = total + add
                    error += (total - new) + add if abs(total) >= abs(add) else (add - new) + total
                    total = new
            if mask == FULL:
                for b in range(B):
                    for at in range(LANES):
                        base[b, m, part, at] = total + error
    if mask == WINDOW:
        _window_base(s.cosine, s.sine, s.present, totals, base, orders, w, c)


@inlined
def _window_base(cosine, sine, present, totals, base, orders, w, c):
    """Under a window: the w tokens before each chunk, as whole chunks plus the end of one more."""
    B = totals.shape[0]
    whole = w // c
    rest = w - whole * c
    for chunk in range(B * LANES):
        b, at = chunk // LANES, chunk % LANES
        for back in range(1, min(whole, chunk) + 1):
            other = chunk - back
            for m in range(orders):
                for part in range(2):
                    base[b, m, part, at] += totals[other // LANES, m, part, other % LANES]
        other = chunk - whole - 1
        if other >= 0:
            ob, oat = other // LANES, other % LANES
            for i in range(c - rest, c):
                real, imag = present[ob, i, oat], 0.0
                cos, sin = cosine[ob, i, oat], sine[ob, i, oat]
                for m in range(orders):
                    base[b, m, 0, at] += real
                    base[b, m, 1, at] += imag
                    real, imag = real * cos - imag * sin, real * sin + imag * cos


@inlined
def begin_sums(s, b, orders):
    """The running sums as they are before superblock b."""
    source = b * s.base.shape[1] * 2 * LANES
    for at in range(0, orders * 2 * LANES, LANES):
        store(s.sums, at, load(s.base, source + at))


@inlined
def begin_anew(s, part, orders, growth):
    """The running sums of the lanes that begin at `part`, divided by the weight with which the last token
    joined."""
    for at in range(part, orders * 2 * LANES, LANES):
        sums = load_part(s.sums, at)
        store(s.sums, at, sums / splat_as(sums, growth))


# K^T Q = I: the outputs in units of e^beta, along x_k and across it.  `bessel` (H, M + 2, 3) holds e^{-beta}
# times 2 I_m (I_0 for m = 0), I_{m-1} + I_{m+1} and I_{m-1} - I_{m+1}; where `along` is None that sum is left
# out.  Two consecutive tokens in each lane, because each one's powers e^{i m theta} form one chain of
# dependent operations; of the lanes that begin at `part`, as many as there are in x.


@inlined
def running_tokens(x, y, here, x2, y2, here2, sums, part, bessel, h, orders, growth, growth2, along):
    """The number of terms, Z_k, sum_j w_kj cos(theta_j - theta_k) and the same with sin, of two tokens that
    see those before them and themselves; then they join the sums, with the weights `growth`."""
    real, imag, real2, imag2, own, own2 = (
        here,
        splat_as(x, 0.0),
        here2,
        splat_as(x, 0.0),
        splat_as(x, 1.0),
        splat_as(x, 1.0),
    )
    if growth is not None:  # the token itself has the weight 1, and all is divided by g^2 in the end
        real, real2, own, own2 = here * growth, here2 * growth2, splat_as(x, growth), splat_as(x, growth2)
    S = load_as(x, sums, part)
    S2 = S + real
    store(sums, part, S2 + real2)
    Z, Z2 = fma(splat_as(x, bessel[h, 0, 0]), S, own), fma(splat_as(x, bessel[h, 0, 0]), S2, own2)
    ahead, ahead2 = fma(splat_as(x, bessel[h, 0, 1]), S, own), fma(splat_as(x, bessel[h, 0, 1]), S2, own2)
    if growth is not None:
        Z, Z2, ahead, ahead2 = Z * own, Z2 * own2, ahead * own, ahead2 * own2
    across, across2 = splat_as(x, 0.0), splat_as(x, 0.0)
    for m in range(1, orders):
        at = m * 2 * LANES + part
        real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
        real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)
        b_Z, b_across = splat_as(x, bessel[h, m, 0]), splat_as(x, bessel[h, m, 2])
        S_real, S_imag = load_as(x, sums, at), load_as(x, sums, at + LANES)
        T = fma(real, S_real, imag * S_imag)
        Z, across = fma(b_Z, T, Z), fma(b_across, fms(real, S_imag, imag * S_real), across)
        S_real, S_imag = S_real + real, S_imag + imag
        T2 = fma(real2, S_real, imag2 * S_imag)
        Z2, across2 = fma(b_Z, T2, Z2), fma(b_across, fms(real2, S_imag, imag2 * S_real), across2)
        if along is not None:
            b_ahead = splat_as(x, bessel[h, m, 1])
            ahead, ahead2 = fma(b_ahead, T, ahead), fma(b_ahead, T2, ahead2)
        store(sums, at, S_real + real2)
        store(sums, at + LANES, S_imag + imag2)
    if growth is not None:
        shrink, shrink2 = 1.0 / growth, 1.0 / growth2
        S, S2, shrink, shrink2 = S * shrink, S2 * shrink2, shrink * shrink, shrink2 * shrink2
        Z, ahead, across = Z * shrink, ahead * shrink, across * shrink
        Z2, ahead2, across2 = Z2 * shrink2, ahead2 * shrink2, across2 * shrink2
    return S + 1.0, Z, ahead, across, S2 + 1.0, Z2, ahead2, across2


@inlined
def fixed_tokens(x, y, x2, y2, sums, part, bessel, h, orders, along):
    """The same of two tokens that see all, themselves among them."""
    real, imag, real2, imag2 = splat_as(x, 1.0), splat_as(x, 0.0), splat_as(x, 1.0), splat_as(x, 0.0)
    S = load_as(x, sums, part)
    Z, ahead, across = S * bessel[h, 0, 0], S * bessel[h, 0, 1], splat_as(x, 0.0)
    Z2, ahead2, across2 = Z, ahead, across
    for m in range(1, orders):
        at = m * 2 * LANES + part
        real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
        real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)
        b_Z, b_across = splat_as(x, bessel[h, m, 0]), splat_as(x, bessel[h, m, 2])
        S_real, S_imag = load_as(x, sums, at), load_as(x, sums, at + LANES)
        T, T2 = fma(real, S_real, imag * S_imag), fma(real2, S_real, imag2 * S_imag)
        Z, across = fma(b_Z, T, Z), fma(b_across, fms(real, S_imag, imag * S_real), across)
        Z2, across2 = fma(b_Z, T2, Z2), fma(b_across, fms(real2, S_imag, imag2 * S_real), across2)
        if along is not None:
            b_ahead = splat_as(x, bessel[h, m, 1])
            ahead, ahead2 = fma(b_ahead, T, ahead), fma(b_ahead, T2, ahead2)
    return S, Z, ahead, across, S, Z2, ahead2, across2


# Any K^T Q, any mask


@inlined
def general_tokens(s, x, m, n, b, i, orders, mask, w, A, h):
    """One token in each lane, place i of superblock b, which joins the sums first: the number of terms, z_k,
    Z_k and the sum of w_kj x_j in units of e^{z_k}, along x_k and across it; A (H, 2, 2) is beta K^T Q."""
    sums, c = s.sums, s.cosine.shape[1]
    row = (b * c + i) * LANES
    cosine, sine = load(s.cosine, row), load(s.sine, row)
    if mask != FULL:
        join(sums, 0, orders, cosine, sine, load(s.present, row))
    if mask == WINDOW:
        old_x, old_y, old = splat(0.0), splat(0.0), splat(0.0)
        for at in range(LANES):
            k = (b * LANES + at) * c + i - w
            if 0 <= k < n:
                old_x = set_lane(old_x, at, x[0, m + k])
                old_y = set_lane(old_y, at, x[1, m + k])
                old = set_lane(old, at, -1.0)
        join(sums, 0, orders, old_x, old_y, old)
    u_x = fma(cosine, splat(A[h, 0, 0]), fma(sine, splat(A[h, 0, 1]), splat(LENGTH_OF_ZERO)))
    u_y = fma(cosine, splat(A[h, 1, 0]), sine * A[h, 1, 1])
    z = sqrt(fma(u_x, u_x, u_y * u_y))
    inverse = 1.0 / z
    u_x, u_y = u_x * inverse, u_y * inverse  # (cos psi, sin psi)
    Z, ahead, across = _general_sums(sums, s.ratios, orders, z, u_x, u_y)
    sum_x, sum_y = fms(ahead, u_x, across * u_y), fma(ahead, u_y, across * u_x)
    ahead, across = fma(sum_x, cosine, sum_y * sine), fms(sum_y, cosine, sum_x * sine)
    return load(sums, 0), z, Z, ahead, across


@inlined
def _general_sums(sums, ratios, orders, z, c, s):
    """Z_k and the two components of sum_j w_kj x_j along (cos psi, sin psi) and across it."""
    ratio, tail = splat(0.0), splat(0.0)  # I_m / I_{m-1} backwards, and sum_{m' >= m} I_{m'} / I_{m-1}
    for m in range(orders, 0, -1):
        ratio = z / fma(z, ratio, splat(2.0 * m))
        tail = fma(ratio, tail, ratio)
        store(ratios, (m - 1) * LANES, ratio)
    below = 1.0 / fma(splat(2.0), tail, splat(1.0))  # e^{-z} I_0, because I_0 + 2 (I_1 + I_2 + ...) = e^z
    bessel = below * load(ratios, 0)
    Z = below * load(sums, 0)
    ahead, across = bessel * load(sums, 0), splat(0.0)
    real, imag = c, s
    for m in range(1, orders - 1):
        above = bessel * load(ratios, m * LANES)
        here = m * 2 * LANES
        S_real, S_imag = load(sums, here), load(sums, here + LANES)
        T_real, T_imag = fma(real, S_real, imag * S_imag), fms(real, S_imag, imag * S_real)
        Z = fma(bessel + bessel, T_real, Z)
        ahead = fma(below + above, T_real, ahead)
        across = fma(below - above, T_imag, across)
        below, bessel = bessel, above
        real, imag = fms(real, c, imag * s), fma(real, s, imag * c)
    return Z, ahead, across
