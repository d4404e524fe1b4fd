"""Heads of a block on the circle (d = 2) in linear time, by the modes and running sums of `circle.py`:
K^T Q = I, causal or full mask, softmax or exponential weights, ALiBi under the causal mask; no frozen tokens.

With scores scaled by e^{-beta}, and q = e^{-slope} ALiBi's decay per place, token k needs

    S_m(k) = sum_{j<k} q^{k-j} e^{i m theta_j},   so that   S_m(k+1) = q (S_m(k) + e^{i m theta_k}),

and its sums are, with T_m = e^{-i m theta_k} S_m(k) and the token itself as the terms 1:

    Z_k                             = 1 + I_0 S_0 + 2 sum_m I_m Re T_m
    sum_j w_kj cos(theta_j-theta_k) = 1 + I_1 S_0 + sum_m (I_{m-1} + I_{m+1}) Re T_m
    sum_j w_kj sin(theta_j-theta_k) =               sum_m (I_{m-1} - I_{m+1}) Im T_m

Under the full mask S_m is the sum over all tokens, and the terms 1 are in it.  Lanes, chunks and accuracy are
those of `circle.py`: a token with S_0 + 1 > ratio Z_k is left to the sums over pairs.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from nucleate.checks import Array
from nucleate.kernels.circle import CHUNK, MAX_Z, modes, roundoff, usual_ratio
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import CAUSAL, EXPONENTIAL, FULL, HARDMAX, ModelShape, mean_seen
from nucleate.kernels.simd import LANES, fma, fms, lane, load, splat, store

__all__ = ["Modes", "circle_outputs", "has_modes", "modes_of", "modes_pay", "ratio_of"]

MODE_COST = 1.2  # of a mode, in pairs


class Modes(NamedTuple):
    """What the heads of a block need for sums over modes; all of it empty where no head is summed so."""

    bessel: Array  # (H, M + 2, 3) e^{-beta} times 2 I_m (I_0 for m = 0), I_{m-1} + I_{m+1}, I_{m-1} - I_{m+1}
    frame: Array  # (n, 2) the outputs of all these heads together, along x_k and across it
    over_pairs: NDArray[np.uint8]  # (H + 1, n) 1 where head h leaves a token to the pairs; last row: any does
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
        frame=np.zeros((n if most else 0, 2)),
        over_pairs=np.zeros((count + 1, n if most else 0), np.uint8),
        tokens=np.zeros((3, c, LANES)),
        sums=np.zeros((most, 2, LANES)),
        base=np.zeros((most, 2, 2)),
    )


@uncounted
def circle_outputs(s, x, heads, V, n, exclude_self):
    """The outputs of all tokens, columns of x (2, >= n), under the heads that are summed over modes."""
    for k in range(n):
        s.frame[k, 0], s.frame[k, 1], s.over_pairs[heads.size, k] = 0.0, 0.0, 0
    for h in range(heads.size):
        if heads[h].orders > 0:
            if heads[h].slope > 0.0:
                _one_head(s, x, heads[h], V, h, n, exclude_self, math.exp(-heads[h].slope))
            else:
                _one_head(s, x, heads[h], V, h, n, exclude_self, None)


@inlined
def _one_head(s, x, head, V, h, n, exclude_self, decay):
    """The same for one head; without ALiBi the decay is None, and nothing of it is compiled."""
    orders, base, c = head.orders, s.base, s.tokens.shape[1]
    blocks = (n + LANES * c - 1) // (LANES * c)
    full = head.mask == FULL
    for m in range(orders):
        for part in range(2):
            base[m, part, 0], base[m, part, 1] = 0.0, 0.0
    if full:
        for b in range(blocks):
            _deal(s.tokens, x, b, n)
            _total(s.tokens, s.sums, orders, None)
            _carry(s.sums, base, orders, None, c)
        for m in range(orders):
            for part in range(2):
                store(s.sums, (m * 2 + part) * LANES, splat(base[m, part, 0] + base[m, part, 1]))
    for b in range(blocks):
        _deal(s.tokens, x, b, n)
        if not full:
            _total(s.tokens, s.sums, orders, decay)
            _carry(s.sums, base, orders, decay, c)
        _evaluate(s, head, V, h, b, n, exclude_self, decay)


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


@uncounted
def _total(tokens, sums, orders, decay):
    """sums = S_m behind the last token of every lane, of its own tokens alone, two tokens at a time."""
    c = tokens.shape[1]
    row = c * LANES
    for at in range(0, orders * 2 * LANES, LANES):
        store(sums, at, splat(0.0))
    for i in range(c % 2, c, 2):
        at = i * LANES
        x, y, real, imag = load(tokens, at), load(tokens, row + at), load(tokens, 2 * row + at), splat(0.0)
        at += LANES
        x2, y2, real2, imag2 = (
            load(tokens, at),
            load(tokens, row + at),
            load(tokens, 2 * row + at),
            splat(0.0),
        )
        if decay is not None:
            real, real2 = real * (decay * decay), real2 * decay
        for m in range(orders):
            to = m * 2 * LANES
            S_real, S_imag = load(sums, to), load(sums, to + LANES)
            if decay is not None:
                S_real, S_imag = S_real * (decay * decay), S_imag * (decay * decay)
            store(sums, to, S_real + (real + real2))
            store(sums, to + LANES, S_imag + (imag + imag2))
            real, imag = fms(real, x, imag * y), fma(real, y, imag * x)
            real2, imag2 = fms(real2, x2, imag2 * y2), fma(real2, y2, imag2 * x2)
    if c % 2:  # the first token of every lane, c places before the end
        x, y, real, imag = load(tokens, 0), load(tokens, row), load(tokens, 2 * row), splat(0.0)
        if decay is not None:
            real = real * decay**c
        for m in range(orders):
            to = m * 2 * LANES
            store(sums, to, load(sums, to) + real)
            store(sums, to + LANES, load(sums, to + LANES) + imag)
            real, imag = fms(real, x, imag * y), fma(real, y, imag * x)


@uncounted
def _carry(sums, base, orders, decay, c):
    """Each lane's own sums become what stands before the lane; the last lane's end is kept, compensated."""
    whole = 1.0  # the decay from one lane to the next
    if decay is not None:
        whole = decay**c
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


@uncounted
def _evaluate(s, head, V, h, b, n, exclude_self, decay):
    """The outputs of the tokens of superblock b, which join the sums unless the mask is full."""
    tokens, sums, bessel, exponential = s.tokens, s.sums, s.bessel, head.weights == EXPONENTIAL
    c, orders, full, largest = tokens.shape[1], head.orders, head.mask == FULL, splat(math.exp(head.beta))
    if not exponential:
        largest = splat(1.0)
    row = c * LANES
    for i in range(0, c, 2):
        at = i * LANES
        x, y, here = load(tokens, at), load(tokens, row + at), load(tokens, 2 * row + at)
        x2, y2, here2 = x, y, splat(0.0)
        if i + 1 < c:
            at += LANES
            x2, y2, here2 = load(tokens, at), load(tokens, row + at), load(tokens, 2 * row + at)
        if full:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = _fixed_tokens(
                x, y, here, x2, y2, here2, sums, bessel, h, orders
            )
        else:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = _running_tokens(
                x, y, here, x2, y2, here2, sums, bessel, h, orders, decay
            )
        factor, factor2 = largest / (S if exponential else Z), largest / (S2 if exponential else Z2)
        few, few2 = S - Z * head.ratio, S2 - Z2 * head.ratio
        ahead, across, ahead2, across2 = ahead * factor, across * factor, ahead2 * factor2, across2 * factor2
        for at in range(LANES):
            k = (b * LANES + at) * c + i
            if k < n:
                _add(s, head, V, h, k, exclude_self, x, y, few, ahead, across, at)
            if k + 1 < n and i + 1 < c:
                _add(s, head, V, h, k + 1, exclude_self, x2, y2, few2, ahead2, across2, at)


@inlined
def _add(s, head, V, h, k, exclude_self, x, y, few, ahead, across, at):
    """Add V (ahead x_k + across x_k turned by a right angle) to the frame of token k, in lane `at`."""
    s.over_pairs[h, k] = 0
    if not lane(few, at) <= 0.0:
        s.over_pairs[h, k], s.over_pairs[s.over_pairs.shape[0] - 1, k] = 1, 1
    elif head.scalar:
        s.frame[k, 0] += 0.0 if exclude_self else head.scale * lane(ahead, at)
        s.frame[k, 1] += head.scale * lane(across, at)
    else:
        x_k, y_k, along, turn = lane(x, at), lane(y, at), lane(ahead, at), lane(across, at)
        p, q = along * x_k - turn * y_k, along * y_k + turn * x_k
        A_x, A_y = V[h, 0, 0] * p + V[h, 0, 1] * q, V[h, 1, 0] * p + V[h, 1, 1] * q
        if exclude_self:
            v_x, v_y = V[h, 0, 0] * x_k + V[h, 0, 1] * y_k, V[h, 1, 0] * x_k + V[h, 1, 1] * y_k
            square = v_x * v_x + v_y * v_y
            loss = (A_x * v_x + A_y * v_y) / square if square > 0.0 else 0.0
            A_x, A_y = A_x - loss * v_x, A_y - loss * v_y
        s.frame[k, 0] += A_x * x_k + A_y * y_k
        s.frame[k, 1] += A_y * x_k - A_x * y_k


@inlined
def _decayed(S, decay):
    """q S."""
    if decay is not None:
        return S * decay
    return S


@inlined
def _running_tokens(x, y, here, x2, y2, here2, sums, bessel, h, orders, decay):
    """The number of terms, Z_k and the two other sums of two consecutive tokens in each lane; then they
    join."""
    real, imag, real2, imag2 = here, splat(0.0), here2, splat(0.0)
    S = load(sums, 0)
    S2 = _decayed(S + real, decay)
    store(sums, 0, _decayed(S2 + real2, decay))
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
        S_real, S_imag = _decayed(S_real + real, decay), _decayed(S_imag + imag, decay)
        T = fma(real2, S_real, imag2 * S_imag)
        Z2, ahead2 = fma(b_Z, T, Z2), fma(b_ahead, T, ahead2)
        across2 = fma(b_across, fms(real2, S_imag, imag2 * S_real), across2)
        store(sums, at, _decayed(S_real + real2, decay))
        store(sums, at + LANES, _decayed(S_imag + imag2, decay))
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
