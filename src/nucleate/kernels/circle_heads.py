"""Heads of a block on the circle (d = 2) in linear time, by the modes and running sums of `circle.py`:
K^T Q = I, causal or full mask, softmax or exponential weights, ALiBi under the causal mask; no frozen tokens.

With scores scaled by e^{-beta}, and q = e^{-slope} ALiBi's decay per place, token k needs

    S_m(k) = sum_{j<k} q^{k-j} e^{i m theta_j},   so that   S_m(k+1) = q (S_m(k) + e^{i m theta_k}),

and its moments are, with T_m = e^{-i m theta_k} S_m(k) and the token itself as the terms 1:

    Z_k                             = 1 + I_0 S_0 + 2 sum_m I_m Re T_m
    sum_j w_kj cos(theta_j-theta_k) = 1 + I_1 S_0 + sum_m (I_{m-1} + I_{m+1}) Re T_m
    sum_j w_kj sin(theta_j-theta_k) =               sum_m (I_{m-1} - I_{m+1}) Im T_m

Under the full mask S_m is the sum over all tokens, and the terms 1 are in it.  Lanes, chunks and accuracy are
those of `circle.py`: a token with S_0 + 1 > ratio Z_k is left to the sums over pairs.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ive

from nucleate.checks import Array
from nucleate.kernels.circle import CHUNK, MAX_Z, modes, roundoff, usual_ratio
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import CAUSAL, EXPONENTIAL, FULL, HARDMAX, ModelShape, mean_seen
from nucleate.kernels.simd import LANES, fma, fms, lane, load, splat, store

__all__ = ["Modes", "circle_moments", "has_modes", "modes_of", "modes_pay", "ratio_of"]

MODE_COST = 1.2  # of a mode, in pairs


class Modes(NamedTuple):
    """What the heads of a block need for sums over modes; all of it empty where no head is summed so."""

    bessel: Array  # (H, M + 2, 3) e^{-beta} times 2 I_m (I_0 for m = 0), I_{m-1} + I_{m+1}, I_{m-1} - I_{m+1}
    moments: (
        Array  # (H, n, 3) the means of cos and of sin, and the sum of weights; NaN: to be done over pairs
    )
    tokens: Array  # (3, c, 8) cos, sin, and 1 or 0 for padding: tokens of eight chunks
    sums: Array  # (M + 2, 2, 8) running sums
    base: Array  # (M + 2, 2, 2) sums over all tokens before a chunk, and what they lost to rounding


def has_modes(head: ModelShape) -> bool:
    """Whether the head can be summed over modes at all."""
    return (
        head.d == 2
        and head.gaussian
        and head.rope_base == 0.0
        and head.weights != HARDMAX
        and len(head.frozen) == 0
        and (head.mask == CAUSAL or (head.mask == FULL and head.slope == 0.0))
        and head.beta <= MAX_Z
    )


def modes_pay(head: ModelShape, tolerance: float) -> bool:
    """Whether the head is summed faster over modes, and to `tolerance` |V|."""
    if not has_modes(head) or roundoff(head.beta) * usual_ratio(head.beta) > tolerance:
        return False
    return mean_seen(head.mask, head.n, head.w) > modes(head.beta) * MODE_COST


def ratio_of(head: ModelShape, tolerance: float) -> float:
    """How small the sum of weights may be against its number of terms."""
    return max(tolerance / roundoff(head.beta), usual_ratio(head.beta))


def modes_of(heads: tuple[ModelShape, ...], orders: list[int], n: int) -> Modes:
    """Tables for heads of so many orders, 0 for those summed over pairs."""
    most = max(orders, default=0)
    count, c = (len(heads), min(CHUNK, -(-n // LANES))) if most else (0, 0)
    bessel = np.zeros((count, most, 3))
    for row, head, own in zip(bessel, heads, orders, strict=False):
        m = np.arange(own)
        below, above = ive(np.abs(m - 1), head.beta), ive(m + 1, head.beta)
        row[:own] = np.stack([2.0 * ive(m, head.beta), below + above, below - above], axis=1)
        if own:
            row[0] = ive(0, head.beta), ive(1, head.beta), 0.0
    return Modes(
        bessel=bessel,
        moments=np.full((count, n, 3), np.nan),
        tokens=np.zeros((3, c, LANES)),
        sums=np.zeros((most, 2, LANES)),
        base=np.zeros((most, 2, 2)),
    )


@uncounted
def circle_moments(s, x, head, h, n):
    """The moments of all tokens, columns of x (2, >= n), under head h."""
    orders, base, c = head.orders, s.base, s.tokens.shape[1]
    decay = math.exp(-head.slope)
    whole = decay**c  # from one chunk to the next
    blocks = (n + LANES * c - 1) // (LANES * c)
    full = head.mask == FULL
    for m in range(orders):
        for part in range(2):
            base[m, part, 0], base[m, part, 1] = 0.0, 0.0
    if full:
        for b in range(blocks):
            _deal(s.tokens, x, b, n)
            _total(s.tokens, s.sums, orders, 1.0)
            _carry(s.sums, base, orders, 1.0)
        for m in range(orders):
            for part in range(2):
                store(s.sums, (m * 2 + part) * LANES, splat(base[m, part, 0] + base[m, part, 1]))
    for b in range(blocks):
        _deal(s.tokens, x, b, n)
        if not full:
            _total(s.tokens, s.sums, orders, decay)
            _carry(s.sums, base, orders, whole)
        _evaluate(s, head, h, b, n, decay, full)


@inlined
def _deal(tokens, x, b, n):
    """The tokens of superblock b into eight lanes: token (8 b + l) c + i is place i of lane l."""
    c = tokens.shape[1]
    for at in range(LANES):
        first = (b * LANES + at) * c
        for i in range(c):
            here = first + i < n
            tokens[0, i, at] = x[0, first + i] if here else 1.0
            tokens[1, i, at] = x[1, first + i] if here else 0.0
            tokens[2, i, at] = 1.0 if here else 0.0


@inlined
def _total(tokens, sums, orders, decay):
    """sums = S_m behind the last token of every lane, of its own tokens alone, two tokens at a time."""
    c = tokens.shape[1]
    for at in range(0, orders * 2 * LANES, LANES):
        store(sums, at, splat(0.0))
    twice = splat(decay * decay)
    start = 0
    if c % 2:  # one alone, then pairs
        _join(tokens, 0, sums, orders, splat(decay))
        start = 1
    for i in range(start, c, 2):
        at, row = i * LANES, c * LANES
        x, y, here = load(tokens, at), load(tokens, row + at), load(tokens, 2 * row + at)
        x2, y2, here2 = (
            load(tokens, at + LANES),
            load(tokens, row + at + LANES),
            load(tokens, 2 * row + at + LANES),
        )
        real, imag, real2, imag2 = here * twice, splat(0.0), here2 * decay, splat(0.0)
        for m in range(orders):
            to = m * 2 * LANES
            store(sums, to, fma(twice, load(sums, to), real + real2))
            store(sums, to + LANES, fma(twice, load(sums, to + LANES), imag + imag2))
            real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
            real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)


@inlined
def _join(tokens, at, sums, orders, decay):
    """S_m = q (S_m + e^{i m theta}) with one token in every lane."""
    row = tokens.shape[1] * LANES
    x, y = load(tokens, at), load(tokens, row + at)
    real, imag = load(tokens, 2 * row + at) * decay, splat(0.0)
    for m in range(orders):
        to = m * 2 * LANES
        store(sums, to, fma(decay, load(sums, to), real))
        store(sums, to + LANES, fma(decay, load(sums, to + LANES), imag))
        real, imag = fms(real, x, imag * y), fma(real, y, imag * x)


@inlined
def _carry(sums, base, orders, whole):
    """Each lane's own sums become what stands before the lane; the last lane's end is kept, compensated."""
    for m in range(orders):
        for part in range(2):
            total, error = base[m, part, 0], base[m, part, 1]
            for at in range(LANES):
                add = sums[m, part, at]
                sums[m, part, at] = total + error
                total, error = total * whole, error * whole
                new = total + add
                error += (total - new) + add if abs(total) >= abs(add) else (add - new) + total
                total = new
            base[m, part, 0], base[m, part, 1] = total, error


@inlined
def _evaluate(s, head, h, b, n, decay, full):
    """The moments of the tokens of superblock b, which join the sums unless the mask is full."""
    tokens, sums, moments, bessel = s.tokens, s.sums, s.moments, s.bessel
    c, orders = tokens.shape[1], head.orders
    row = c * LANES
    for i in range(0, c, 2):
        at = i * LANES
        x, y, here = load(tokens, at), load(tokens, row + at), load(tokens, 2 * row + at)
        x2, y2, here2 = x, y, splat(0.0)
        if i + 1 < c:
            x2, y2 = load(tokens, at + LANES), load(tokens, row + at + LANES)
            here2 = load(tokens, 2 * row + at + LANES)
        if full:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = _fixed_tokens(
                x, y, here, x2, y2, here2, sums, bessel, h, orders
            )
        else:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = _running_tokens(
                x, y, here, x2, y2, here2, sums, bessel, h, orders, splat(decay)
            )
        for at_lane in range(LANES):
            k = (b * LANES + at_lane) * c + i
            if k < n:
                _write(
                    moments,
                    h,
                    k,
                    head,
                    lane(S, at_lane),
                    lane(Z, at_lane),
                    lane(ahead, at_lane),
                    lane(across, at_lane),
                )
            if k + 1 < n and i + 1 < c:
                _write(
                    moments,
                    h,
                    k + 1,
                    head,
                    lane(S2, at_lane),
                    lane(Z2, at_lane),
                    lane(ahead2, at_lane),
                    lane(across2, at_lane),
                )


@inlined
def _write(moments, h, k, head, count, Z, ahead, across):
    factor = 1.0 / Z
    total = 1.0
    if head.weights == EXPONENTIAL:
        factor = math.exp(head.beta) / count
        total = factor * Z
    moments[h, k, 0], moments[h, k, 1] = ahead * factor, across * factor
    moments[h, k, 2] = total if count <= head.ratio * Z else np.nan


@inlined
def _running_tokens(x, y, here, x2, y2, here2, sums, bessel, h, orders, decay):
    """The number of terms, Z_k and the two moments of two consecutive tokens in each lane; then they join."""
    real, imag, real2, imag2 = here, splat(0.0), here2, splat(0.0)
    S = load(sums, 0)
    S2 = decay * (S + real)
    store(sums, 0, decay * (S2 + real2))
    Z, Z2 = fma(splat(bessel[h, 0, 0]), S, splat(1.0)), fma(splat(bessel[h, 0, 0]), S2, splat(1.0))
    ahead, ahead2 = fma(splat(bessel[h, 0, 1]), S, splat(1.0)), fma(splat(bessel[h, 0, 1]), S2, splat(1.0))
    across, across2 = splat(0.0), splat(0.0)
    for m in range(1, orders):
        at = m * 2 * LANES
        real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
        real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)
        b_Z, b_ahead, b_across = splat(bessel[h, m, 0]), splat(bessel[h, m, 1]), splat(bessel[h, m, 2])
        S_real, S_imag = load(sums, at), load(sums, at + LANES)
        T = fma(real, S_real, imag * S_imag)
        Z, ahead = fma(b_Z, T, Z), fma(b_ahead, T, ahead)
        across = fma(b_across, fms(real, S_imag, imag * S_real), across)
        S_real, S_imag = decay * (S_real + real), decay * (S_imag + imag)
        T = fma(real2, S_real, imag2 * S_imag)
        Z2, ahead2 = fma(b_Z, T, Z2), fma(b_ahead, T, ahead2)
        across2 = fma(b_across, fms(real2, S_imag, imag2 * S_real), across2)
        store(sums, at, decay * (S_real + real2))
        store(sums, at + LANES, decay * (S_imag + imag2))
    return S + 1.0, Z, ahead, across, S2 + 1.0, Z2, ahead2, across2


@inlined
def _fixed_tokens(x, y, here, x2, y2, here2, sums, bessel, h, orders):
    """The same with sums over all tokens, themselves among them."""
    real, imag, real2, imag2 = here, splat(0.0), here2, splat(0.0)
    S = load(sums, 0)
    Z, ahead, across = S * bessel[h, 0, 0], S * bessel[h, 0, 1], splat(0.0)
    Z2, ahead2, across2 = Z, ahead, across
    for m in range(1, orders):
        at = m * 2 * LANES
        real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
        real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)
        b_Z, b_ahead, b_across = splat(bessel[h, m, 0]), splat(bessel[h, m, 1]), splat(bessel[h, m, 2])
        S_real, S_imag = load(sums, at), load(sums, at + LANES)
        T = fma(real, S_real, imag * S_imag)
        Z, ahead = fma(b_Z, T, Z), fma(b_ahead, T, ahead)
        across = fma(b_across, fms(real, S_imag, imag * S_real), across)
        T = fma(real2, S_real, imag2 * S_imag)
        Z2, ahead2 = fma(b_Z, T, Z2), fma(b_ahead, T, ahead2)
        across2 = fma(b_across, fms(real2, S_imag, imag2 * S_real), across2)
    return S, Z, ahead, across, S, Z2, ahead2, across2
