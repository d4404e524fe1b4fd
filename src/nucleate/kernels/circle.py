"""The drift on the circle (d = 2) in linear time: Fourier modes and running sums; any Q, K, V, mask, frozen
tokens.

With u_k = beta K^T Q x_k = z_k (cos psi_k, sin psi_k) the weight of the pair is

    exp(<u_k, x_j>) = sum_m I_m(z_k) e^{i m (theta_j - psi_k)},      I_m the modified Bessel functions,

so token k needs only the sums S_m(k) = sum_{j<=k} e^{i m theta_j}, |m| <= M, and causality costs nothing:
they are running sums. With T_m = e^{-i m psi_k} S_m(k) and I_m scaled by e^{-z_k}:

    Z_k                                   = I_0 S_0 + 2 sum_m I_m Re T_m
    <sum_j w_kj x_j, (cos psi, sin psi)>  = I_1 S_0 + sum_m (I_{m-1} + I_{m+1}) Re T_m
    <sum_j w_kj x_j, (-sin psi, cos psi)> =           sum_m (I_{m-1} - I_{m+1}) Im T_m

For Q = K = I, psi = theta and the last line is all there is to know.

Eight chunks of consecutive tokens travel in the eight lanes of a vector.  A first sweep makes each chunk's
totals, their running sum (compensated) tells every chunk what came before it, a second sweep evaluates.

Accuracy.  The error of Z_k and of the sums is absolute, at most `roundoff(z)` * k.  A token whose sum of
weights is small against the number of tokens it sees, k > ratio * Z_k, is therefore computed by the pairwise
kernel instead; all others have |error| <= ratio * roundoff(z) * |V|. `ratio` follows from the tolerance asked
for: 1e-11 |V| unless the caller says otherwise, or what beta allows.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ive

from nucleate.checks import EPS, Array
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.model_shape import CAUSAL, FULL, WINDOW, ModelShape
from nucleate.kernels.pairwise import Pairwise, pairwise_system, pairwise_token
from nucleate.kernels.simd import LANES, fma, fms, hmax, lane, load, set_lane, splat, sqrt, store, vmax

__all__ = [
    "MAX_Z",
    "TOLERANCE",
    "Circle",
    "circle_base",
    "circle_block",
    "circle_system",
    "circle_totals",
    "frozen_sums",
    "modes",
    "plain_coefficients",
    "roundoff",
    "usual_ratio",
]

MAX_Z = 1e7  # beyond it the modes number tens of thousands
LENGTH_OF_ZERO = 1e-150  # gives u = 0 a direction, psi = 0, and is lost in rounding beside any other u
TOLERANCE = 1e-11  # of a velocity, against |V|
CHUNK = 512  # tokens per lane between two compensated sums


def roundoff(z: float) -> float:
    """The absolute error of a sum of weights, per token summed: truncation, rounding of S_m and of e^{i m
    psi}, weighted by I_m(z)."""
    return EPS * (8.0 + 2.0 * float(np.sqrt(z)))


def usual_ratio(z: float) -> float:
    """k / Z_k for uniform tokens is sqrt(2 pi z); eight times that leaves room for uneven ones."""
    return 8.0 * float(np.sqrt(2.0 * np.pi * max(z, 1.0)))


@cache
def modes(z: float, truncation: float = EPS) -> int:
    """The smallest M with 2 sum_{m>M} e^{-z} I_m(z) max(1, m/z) < truncation."""
    guess = 16
    while True:
        m = np.arange(guess + 1)
        tail = 2.0 * ive(m, z) * np.maximum(1.0, m / max(z, 1e-300))  # (guess + 1,)
        if tail[-1] < 1e-3 * truncation:
            remaining = np.cumsum(tail[::-1])[::-1]  # sum over m' >= m
            return max(1, int(np.argmax(remaining < truncation)) - 1)
        guess *= 2


@cache
def plain_coefficients(beta: float, M: int) -> Array:
    """(M + 2, 2): e^{-beta} I_0, then 2 e^{-beta} I_m; and e^{-beta} (I_{m-1} - I_{m+1}) = (2m/beta)
    e^{-beta} I_m."""
    m = np.arange(M + 2)
    table = np.stack([2.0 * ive(m, beta), ive(np.abs(m - 1), beta) - ive(m + 1, beta)], axis=1)
    table[0] = ive(0, beta), 0.0
    table.flags.writeable = False
    return table


def frozen_sums(shape: ModelShape, orders: int) -> Array:
    """(orders, 2): the weighted sums of cos(m theta) and sin(m theta) over the frozen tokens."""
    angle = np.arctan2(shape.frozen[:, 1], shape.frozen[:, 0])
    phase = np.arange(orders)[:, None] * angle  # (orders, frozen tokens)
    return np.stack([np.cos(phase) @ shape.frozen_weight, np.sin(phase) @ shape.frozen_weight], axis=1)


class Circle(NamedTuple):
    """One system for the circle kernel; the two sweeps fill `cosine`, `sine`, `Z`, `totals` and `base`.

    Token b * 8c + l * c + i stands in superblock b, lane l, place i: flat index ((b * c) + i) * 8 + l.
    """

    pair: Pairwise  # the same system for the pairwise kernel: holds x, and computes what the modes cannot
    cosine: Array  # (B, c, 8)
    sine: Array  # (B, c, 8)
    present: Array  # (B, c, 8) 1, or 0 for padding
    Z: Array  # (B, c, 8)
    totals: Array  # (B, M + 2, 2, 8) per chunk: sum of cos(m theta), sum of sin(m theta)
    base: Array  # (B, M + 2, 2, 8) the same over all tokens before the chunk
    frozen: Array  # (M + 2, 2) the same over the frozen tokens
    # (M + 2, 2, 8) 2 e^{-beta} I_m and e^{-beta} (I_{m-1} - I_{m+1}), in every lane, for `plain`
    bessel: Array
    sums: Array  # (M + 2, 2, 8) the running sums; each thread needs its own, as of the next and of the pair's
    ratios: Array  # (M + 2, 8) I_m / I_{m-1}
    mass: float  # the frozen tokens' weights together
    z: float  # beta |K^T Q|, the largest z_k
    ratio: float
    plain: bool  # K^T Q = I, V = c I, causal

    @property
    def places(self) -> Array:
        """(2, n) where the tokens stand."""
        return self.pair.places


def circle_system(shape: ModelShape, tolerance: float = TOLERANCE) -> Circle:
    """The system of one run on the circle, velocities good to `tolerance` |V|."""
    M = modes(shape.z)
    c = min(CHUNK, -(-shape.n // LANES))
    blocks = -(-shape.n // (LANES * c))
    # (B, c, 8) token numbers
    index = np.arange(blocks * LANES * c).reshape(blocks, LANES, c).transpose(0, 2, 1)
    frozen = frozen_sums(shape, M + 2)
    return Circle(
        pair=pairwise_system(shape, angle=True),
        cosine=np.zeros((blocks, c, LANES)),
        sine=np.zeros((blocks, c, LANES)),
        present=np.ascontiguousarray(index < shape.n, dtype=np.float64),
        Z=np.zeros((blocks, c, LANES)),
        totals=np.zeros((blocks, M + 2, 2, LANES)),
        base=np.zeros((blocks, M + 2, 2, LANES)),
        frozen=frozen,
        bessel=np.repeat(plain_coefficients(shape.z, M)[:, :, None], LANES, axis=2),
        sums=np.zeros((M + 2, 2, LANES)),
        ratios=np.zeros((M + 2, LANES)),
        mass=float(frozen[0, 0]),
        z=shape.z,
        ratio=max(tolerance / roundoff(shape.z), usual_ratio(shape.z)),
        plain=shape.plain and shape.mask == CAUSAL,
    )


@compiled
def circle_totals(s, b):
    """Deal the tokens of superblock b into its eight lanes, and sum each lane up."""
    cosine, sine, present, totals = s.cosine, s.sine, s.present, s.totals
    x, n, m, c = s.pair.x, s.pair.n, s.pair.m, cosine.shape[1]
    for at in range(LANES):
        first = (b * LANES + at) * c
        for i in range(min(c, n - first)):
            cosine[b, i, at] = x[0, m + first + i]
            sine[b, i, at] = x[1, m + first + i]
    orders = totals.shape[1]
    out = b * orders * 2 * LANES
    for at in range(out, out + orders * 2 * LANES, LANES):
        store(totals, at, splat(0.0))
    row = b * c * LANES
    for at in range(row, row + (c // 2) * 2 * LANES, 2 * LANES):
        _join_two(cosine, sine, present, at, totals, out, orders)
    if c % 2:
        at = row + (c - 1) * LANES
        join(totals, out, orders, load(cosine, at), load(sine, at), load(present, at))


@inner
def join(sums, out, orders, c, s, weight):
    """sums[m] += weight e^{i m theta}, the sums lying at flat index `out`."""
    real, imag = weight, splat(0.0)
    for m in range(orders):
        here = out + m * 2 * LANES
        store(sums, here, load(sums, here) + real)
        store(sums, here + LANES, load(sums, here + LANES) + imag)
        real, imag = fms(real, c, imag * s), fma(real, s, imag * c)


@inner
def _join_two(cosine, sine, present, at, sums, out, orders):
    """`join` for two rows at once: two independent recurrences hide each other's latency."""
    c, s, c2, s2 = load(cosine, at), load(sine, at), load(cosine, at + LANES), load(sine, at + LANES)
    real, imag, real2, imag2 = load(present, at), splat(0.0), load(present, at + LANES), splat(0.0)
    for m in range(orders):
        here = out + m * 2 * LANES
        store(sums, here, load(sums, here) + (real + real2))
        store(sums, here + LANES, load(sums, here + LANES) + (imag + imag2))
        real, imag = fms(real, c, imag * s), fma(real, s, imag * c)
        real2, imag2 = fms(real2, c2, imag2 * s2), fma(real2, s2, imag2 * c2)


@compiled
def circle_base(s):
    """What every chunk's tokens have before them: compensated running sums over chunks; under the full mask
    the grand total; under a window the tokens in it."""
    totals, base, frozen, mask, w = s.totals, s.base, s.frozen, s.pair.mask, s.pair.w
    B, orders, _, _ = totals.shape
    c = s.cosine.shape[1]
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
                    new = total + add
                    error += (total - new) + add if abs(total) >= abs(add) else (add - new) + total
                    total = new
            if mask == FULL:
                for b in range(B):
                    for at in range(LANES):
                        base[b, m, part, at] = total + error
    if mask == WINDOW:
        _window_base(s.cosine, s.sine, s.present, totals, base, w, c)


@inner
def _window_base(cosine, sine, present, totals, base, w, c):
    """Under a window: the w tokens before each chunk, as whole chunks plus the end of one more."""
    B, orders, _, _ = totals.shape
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


@compiled
def circle_block(s, b, velocity, stop):
    """Velocities of the tokens of superblock b; tokens beyond the accuracy of the modes by the pairwise
    kernel."""
    if stop[0]:
        return
    base, sums = s.base, s.sums
    n, c, orders = s.pair.n, s.cosine.shape[1], s.base.shape[1]
    source = b * orders * 2 * LANES
    for at in range(0, orders * 2 * LANES, LANES):
        store(sums, at, load(base, source + at))
    first = b * LANES * c
    worst = _plain_block(s, b, velocity) if s.plain else _general_block(s, b, velocity)
    if b == 0 and s.pair.m == 0 and s.pair.mask != FULL and s.pair.scalar:
        velocity[0] = 0.0  # the first token sees itself alone: exactly, where the modes know it to rounding
    if hmax(worst) > 0.0:
        Z = s.Z
        for at in range(LANES):
            for i in range(c):
                k = first + at * c + i
                if stop[0]:
                    return
                if k < n and not s.mass + seen(s.pair, k) <= s.ratio * Z[b, i, at]:
                    pairwise_token(s.pair, k, velocity)


@inner
def seen(p, k):
    """The number of tokens that token k sees, frozen ones apart."""
    return float(p.n if p.mask == FULL else min(k + 1, p.w))


@inner
def _plain_block(s, b, velocity):
    """K^T Q = I, V = c I, causal: `sums` holds the tokens before k; the token itself adds 1 to Z_k and
    nothing to the drift."""
    cosine, sine, present, bessel, sums, Zs = s.cosine, s.sine, s.present, s.bessel, s.sums, s.Z
    n, scale, ratio = s.pair.n, s.pair.scale, s.ratio
    _, c, _ = cosine.shape
    orders = bessel.shape[0]
    first = b * LANES * c
    worst = splat(-1.0)
    count = splat(0.0)
    for at in range(LANES):
        count = set_lane(count, at, s.mass + first + at * c)
    for i in range(0, c, 2):
        row = (b * c + i) * LANES
        x, y, here = load(cosine, row), load(sine, row), load(present, row)
        x2, y2, here2 = x, y, splat(0.0)
        if i + 1 < c:
            x2, y2, here2 = load(cosine, row + LANES), load(sine, row + LANES), load(present, row + LANES)
        Z, force, Z2, force2 = plain_tokens(x, y, here, x2, y2, here2, bessel, sums, orders)
        force, force2 = force * scale / Z, force2 * scale / Z2
        store(Zs, row, Z)
        worst = vmax(worst, (count + 1.0 - Z * ratio) * here)
        if i + 1 < c:
            store(Zs, row + LANES, Z2)
            worst = vmax(worst, (count + 2.0 - Z2 * ratio) * here2)
        count = count + 2.0
        for at in range(LANES):
            k = first + at * c + i
            if k < n:
                velocity[k] = lane(force, at)
            if k + 1 < n and i + 1 < c:
                velocity[k + 1] = lane(force2, at)
    return worst


@inner
def plain_tokens(c, s, present, c2, s2, present2, bessel, sums, orders):
    """Z_k and sum_j w_kj sin(theta_j - theta_k) of two consecutive tokens in each lane; then they join the
    sums.

    Two at a time, because each token's powers e^{i m theta} form one chain of dependent operations.
    """
    real, imag, real2, imag2 = present, splat(0.0), present2, splat(0.0)
    total, b0 = load(sums, 0), load(bessel, 0)
    Z, Z2 = fma(b0, total, splat(1.0)), fma(b0, total + real, splat(1.0))
    force, force2 = splat(0.0), splat(0.0)
    store(sums, 0, total + (real + real2))
    for m in range(1, orders):
        here = m * 2 * LANES
        real, imag = fms(real, c, imag * s), fma(real, s, imag * c)
        real2, imag2 = fms(real2, c2, imag2 * s2), fma(real2, s2, imag2 * c2)
        S_real, S_imag = load(sums, here), load(sums, here + LANES)
        b_Z, b_force = load(bessel, here), load(bessel, here + LANES)
        Z = fma(b_Z, fma(real, S_real, imag * S_imag), Z)
        force = fma(b_force, fms(real, S_imag, imag * S_real), force)
        S_real, S_imag = S_real + real, S_imag + imag
        Z2 = fma(b_Z, fma(real2, S_real, imag2 * S_imag), Z2)
        force2 = fma(b_force, fms(real2, S_imag, imag2 * S_real), force2)
        store(sums, here, S_real + real2)
        store(sums, here + LANES, S_imag + imag2)
    return Z, force, Z2, force2


@inner
def _general_block(s, b, velocity):
    """Any Q, K, V and mask: `sums` holds the tokens that token k sees, itself included."""
    cosine, sine, present, Zs, pair = s.cosine, s.sine, s.present, s.Z, s.pair
    sums, ratios = s.sums, s.ratios
    n, mask, w, ratio = pair.n, pair.mask, pair.w, s.ratio
    A, V = pair.A, pair.V
    _, c, _ = cosine.shape
    orders = s.base.shape[1]
    first = b * LANES * c
    worst = splat(-1.0)
    for i in range(c):
        row = (b * c + i) * LANES
        x, y, here = load(cosine, row), load(sine, row), load(present, row)
        if mask != FULL:
            join(sums, 0, orders, x, y, here)
        if mask == WINDOW:
            old_x, old_y, old = splat(0.0), splat(0.0), splat(0.0)
            for at in range(LANES):
                k = first + at * c + i - w
                if 0 <= k < n:
                    old_x = set_lane(old_x, at, pair.x[0, pair.m + k])
                    old_y = set_lane(old_y, at, pair.x[1, pair.m + k])
                    old = set_lane(old, at, -1.0)
            join(sums, 0, orders, old_x, old_y, old)
        u_x = fma(x, splat(A[0, 0]), fma(y, splat(A[0, 1]), splat(LENGTH_OF_ZERO)))
        u_y = fma(x, splat(A[1, 0]), y * A[1, 1])
        z = sqrt(fma(u_x, u_x, u_y * u_y))
        inverse = 1.0 / z
        u_x, u_y = u_x * inverse, u_y * inverse  # (cos psi, sin psi)
        Z, ahead, across = _general_token(sums, ratios, orders, z, u_x, u_y)
        mean_x, mean_y = fms(ahead, u_x, across * u_y), fma(ahead, u_y, across * u_x)
        inverse = 1.0 / Z
        mean_x, mean_y = mean_x * inverse, mean_y * inverse
        v_x = fma(mean_x, splat(V[0, 0]), mean_y * V[0, 1])
        v_y = fma(mean_x, splat(V[1, 0]), mean_y * V[1, 1])
        turn = fms(v_y, x, v_x * y)
        store(Zs, row, Z)
        for at in range(LANES):
            k = first + at * c + i
            if k < n:
                velocity[k] = lane(turn, at)
                if not s.mass + seen(pair, k) <= ratio * lane(Z, at):
                    worst = splat(1.0)
    return worst


@inner
def _general_token(sums, ratios, orders, z, c, s):
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
