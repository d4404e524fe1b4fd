"""Heads of a block on the circle (d = 2) in linear time, by the sums over modes that a single head uses
(`circle_sums.py`): softmax or exponential weights, any mask, Q, K, V, frozen tokens; ALiBi where K^T Q = I
and the mask is causal.

One head after the other adds its outputs, along x_k and across it, to the frames of the tokens.  Where a
block has nothing but such heads, the last one also writes the velocities.  A token that sees a sum of weights
too small against its number of terms (`circle.py`) is left to the sums over pairs, head by head.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.block_shape import NGPT, PERI, POST, PRE
from nucleate.kernels.circle import (
    MAX_Z,
    frozen_sums,
    lanes_for,
    modes,
    note_few,
    plain_coefficients,
    roundoff,
    usual_ratio,
)
from nucleate.kernels.circle_sums import (
    begin_anew,
    begin_sums,
    deal,
    fixed_tokens,
    general_tokens,
    lane_bases,
    lane_totals,
    running_tokens,
)
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import CAUSAL, EXPONENTIAL, FULL, HARDMAX, WINDOW, ModelShape, mean_seen
from nucleate.kernels.simd import (
    LANES,
    PART,
    fma,
    fms,
    hsum,
    lane,
    load,
    load_as,
    load_part,
    set_lane,
    splat,
    splat_as,
    sqrt,
    store,
    vmax,
    zero_below,
)
from nucleate.kernels.vector_math import exp

__all__ = [
    "Modes",
    "has_modes",
    "modes_base",
    "modes_block",
    "modes_deal",
    "modes_of",
    "modes_outputs",
    "modes_pay",
    "modes_totals",
    "ratio_of",
]

MODE_COST, GENERAL_MODE_COST = 1.2, 2.5  # of a mode, in pairs; without K^T Q = I, or under a window
MAX_SLOPE = 100.0  # beyond it ALiBi leaves nothing of the others: e^-100 beside 1
MAX_GROWTH = 1e50  # of the weights of tokens in their running sums: its square, times e^400, is a double
MIN_SQUARE = 1e-300  # added to a divisor that may be zero


class Modes(NamedTuple):
    """What the heads of a block need for sums over modes; `few` and all before it are those of
    `circle_sums.py`.  Without superblocks where no head is summed so."""

    cosine: Array  # (B, c, 8)
    sine: Array  # (B, c, 8)
    present: Array  # (B, c, 8)
    few: Array  # (B, c, 8)
    totals: Array  # (B, M + 2, 2, 8)
    base: Array  # (B, M + 2, 2, 8)
    sums: Array  # (M + 2, 2, 8) each thread needs its own, as of the next
    ratios: Array  # (M + 2, 8)
    bessel: Array  # (H, M + 2, 3)
    frozen: Array  # (H, M + 2, 2) sums over the frozen tokens
    frame: Array  # (2, B, c, 8) the outputs of all these heads together, along x_k and across it
    over_pairs: NDArray[np.uint8]  # (H + 1, n) 1 where head h leaves a token to the pairs; last row: any does
    left: NDArray[np.int64]  # (B,) how many tokens of a superblock some head leaves
    first: int  # the first head that is summed so
    last: int  # the last one, -1 where none is
    alone: bool  # the block has nothing but such heads


def has_modes(head: ModelShape) -> bool:
    """Whether the head can be summed over modes at all."""
    return (
        head.d == 2
        and head.rope_base == 0.0
        and head.weights != HARDMAX
        and (head.slope == 0.0 or (head.gaussian and head.mask == CAUSAL))
        and head.z <= MAX_Z
    )


def modes_pay(head: ModelShape, tolerance: float) -> bool:
    """Whether the head is summed faster over modes, and to `tolerance` |V|."""
    if not has_modes(head) or roundoff(head.z) * usual_ratio(head.z) > tolerance:
        return False
    cost = MODE_COST if head.gaussian and head.mask != WINDOW else GENERAL_MODE_COST
    return mean_seen(head.mask, head.n, head.w) > modes(head.z) * cost


def ratio_of(head: ModelShape, tolerance: float) -> float:
    """How small the sum of weights may be against its number of terms."""
    return max(tolerance / roundoff(head.z), usual_ratio(head.z))


def modes_of(heads: tuple[ModelShape, ...], orders: list[int], n: int, alone: bool) -> Modes:
    """Tables for heads of so many orders, 0 for those summed over pairs."""
    most, count = max(orders, default=0), len(heads)
    n = n if most else 0
    lanes = lanes_for(n, most)
    bessel, frozen = np.zeros((count, most, 3)), np.zeros((count, most, 2))
    for h, (head, own) in enumerate(zip(heads, orders, strict=True)):
        if own:
            bessel[h, :own], frozen[h, :own] = plain_coefficients(head.z, own - 2), frozen_sums(head, own)
    return Modes(
        **lanes,
        bessel=bessel,
        frozen=frozen,
        frame=np.zeros((2, *lanes["few"].shape)),
        over_pairs=np.zeros((count + 1, n), np.uint8),
        left=np.zeros(len(lanes["few"]), np.int64),
        first=min((h for h, own in enumerate(orders) if own), default=0),
        last=max((h for h, own in enumerate(orders) if own), default=-1),
        alone=alone and count > 0 and min(orders) > 0,
    )


@uncounted
def modes_outputs(p, velocity, stop):
    """All that is summed over modes, on one thread; p is a `Heads`.  Returns at once when stop[0] is set."""
    blocks = p.modes.left.size
    for b in range(blocks):
        if stop[0]:
            return
        _deal(p, b)
    for h in range(p.heads.size):
        if p.heads[h].orders > 0:
            for b in range(blocks):
                if stop[0]:
                    return
                _totals(p, h, b)
            _base(p, h)
            for b in range(blocks):
                if stop[0]:
                    return
                _block(p, h, b, velocity)


# Its steps, for a team


@uncounted
def modes_deal(p, b):
    """The first, for every superblock b."""
    _deal(p, b)


@uncounted
def modes_totals(p, h, b):
    """Then for every head h with modes, for every superblock."""
    _totals(p, h, b)


@uncounted
def modes_base(p, h):
    """Once they are all done."""
    _base(p, h)


@uncounted
def modes_block(p, h, b, velocity):
    """Again for every superblock."""
    _block(p, h, b, velocity)


@inlined
def _deal(p, b):
    """The tokens of superblock b into its eight lanes."""
    s = p.modes
    deal(s, p.x, p.frozen_weight.size - LANES, p.n, b)
    if s.left[b] > 0:
        size, s.left[b] = s.cosine.shape[1] * LANES, 0
        for h in range(s.over_pairs.shape[0]):
            for k in range(b * size, min((b + 1) * size, p.n)):
                s.over_pairs[h, k] = 0


@inlined
def _totals(p, h, b):
    """The sums over each lane of superblock b."""
    if p.heads[h].slope > 0.0:
        lane_totals(p.modes, b, p.heads[h].orders, _decay(p.heads[h]))
    else:
        lane_totals(p.modes, b, p.heads[h].orders, None)


@inlined
def _base(p, h):
    """The sums before every lane."""
    head = p.heads[h]
    if head.slope > 0.0:
        lane_bases(p.modes, p.modes.frozen[h], head.orders, head.mask, head.w, _decay(head))
    else:
        lane_bases(p.modes, p.modes.frozen[h], head.orders, head.mask, head.w, None)


@inlined
def _decay(head):
    """ALiBi's, per place."""
    return math.exp(-min(head.slope, MAX_SLOPE))


@inlined
def _block(p, h, b, velocity):
    """The outputs of the tokens of superblock b under head h; the last head of a block of nothing but such
    heads writes the velocities."""
    s, head = p.modes, p.heads[h]
    begin_sums(s, b, head.orders)
    across_alone = head.scalar and p.norm == POST
    beyond = 0.0
    if head.slope == 0.0 and (not head.gaussian or head.mask == WINDOW):
        beyond = _general_rows(p, s, head, h, b)
    else:
        for part in range(0, LANES, PART):
            if head.slope > 0.0 and across_alone:
                beyond += _gaussian_rows(p, s, head, h, b, part, _decay(head), None)
            elif head.slope > 0.0:
                beyond += _gaussian_rows(p, s, head, h, b, part, _decay(head), True)
            elif across_alone:
                beyond += _gaussian_rows(p, s, head, h, b, part, None, None)
            else:
                beyond += _gaussian_rows(p, s, head, h, b, part, None, True)
    if not beyond <= 0.0:
        _leave(s, h, b, p.n)
    if s.alone and h == s.last:
        _write_velocities(p, s, b, velocity)


@inlined
def _gaussian_rows(p, s, head, h, b, part, decay, along):
    """The lanes that begin at `part`: K^T Q = I, causal or full mask; `along` is None where only what is
    across x_k counts.  Returns what is positive, or not a number, where a token is left."""
    bessel, sums, c, orders, full = s.bessel, s.sums, s.cosine.shape[1], head.orders, head.mask == FULL
    exponential, some = head.weights == EXPONENTIAL, load_part(s.cosine, 0)
    nothing, largest = splat_as(some, 0.0), splat_as(some, math.exp(head.beta) if exponential else 1.0)
    beyond, growth, growth2 = nothing, decay, decay  # None without ALiBi
    if decay is not None:
        growth, growth2 = 1.0 / decay, 1.0 / (decay * decay)
    for i in range(0, c, 2):
        row = (b * c + i) * LANES + part
        x, y, here = load_part(s.cosine, row), load_part(s.sine, row), load_part(s.present, row)
        x2, y2, here2, after = x, y, nothing, row + LANES
        if i + 1 < c:
            x2, y2, here2 = load_part(s.cosine, after), load_part(s.sine, after), load_part(s.present, after)
        if full:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = fixed_tokens(
                x, y, x2, y2, sums, part, bessel, h, orders, along
            )
        else:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = running_tokens(
                x, y, here, x2, y2, here2, sums, part, bessel, h, orders, growth, growth2, along
            )
            if decay is not None:
                if growth2 > MAX_GROWTH:
                    begin_anew(s, part, orders, growth2)
                    growth2 = 1.0
                growth = growth2 / decay
                growth2 = growth / decay
        factor, factor2 = largest / (S if exponential else Z), largest / (S2 if exponential else Z2)
        few = note_few(s, row, S, Z, head.ratio)
        beyond = beyond + vmax(nothing, few)
        _add_row(p, s, head, h, row, x, y, few, ahead * factor, across * factor)
        if i + 1 < c:
            few = note_few(s, after, S2, Z2, head.ratio)
            beyond = beyond + vmax(nothing, few)
            _add_row(p, s, head, h, after, x2, y2, few, ahead2 * factor2, across2 * factor2)
    return hsum(beyond)


@inlined
def _general_rows(p, s, head, h, b):
    """The same with any Q, K and mask."""
    x, A, M, c = p.x, p.A, p.frozen_weight.size - LANES, s.cosine.shape[1]
    first_alone = b == 0 and head.last == head.first and head.mask != FULL
    beyond = splat(0.0)
    for i in range(c):
        row = (b * c + i) * LANES
        S, z, Z, ahead, across = general_tokens(s, x, M, p.n, b, i, head.orders, head.mask, head.w, A, h)
        factor = 1.0 / Z
        if head.weights == EXPONENTIAL:
            factor = exp(z) / S
        if first_alone and i == 0:
            across = set_lane(across, 0, 0.0)  # exactly, where the modes know it to rounding
        few = note_few(s, row, S, Z, head.ratio)
        beyond = beyond + vmax(splat(0.0), few)
        _add_row(
            p, s, head, h, row, load(s.cosine, row), load(s.sine, row), few, ahead * factor, across * factor
        )
    return hsum(beyond)


@inlined
def _add_row(p, s, head, h, row, x, y, few, ahead, across):
    """Add V (ahead x_k + across x_k turned by a right angle) to the frames of the tokens in a vector,
    unless they are left to the pairs."""
    V, second = p.V, s.few.size + row
    if head.scalar:
        along, turn = ahead * head.scale, across * head.scale
        if p.exclude_self:
            along = splat_as(x, 0.0)
    else:
        sum_x, sum_y = fms(ahead, x, across * y), fma(ahead, y, across * x)
        A_x = fma(sum_x, splat_as(x, V[h, 0, 0]), sum_y * V[h, 0, 1])
        A_y = fma(sum_x, splat_as(x, V[h, 1, 0]), sum_y * V[h, 1, 1])
        if p.exclude_self:
            v_x, v_y = (
                fma(x, splat_as(x, V[h, 0, 0]), y * V[h, 0, 1]),
                fma(x, splat_as(x, V[h, 1, 0]), y * V[h, 1, 1]),
            )
            loss = fma(A_x, v_x, A_y * v_y) / (fma(v_x, v_x, v_y * v_y) + MIN_SQUARE)
            A_x, A_y = A_x - loss * v_x, A_y - loss * v_y
        along, turn = fma(A_x, x, A_y * y), fms(A_y, x, A_x * y)
    nothing = splat_as(x, 0.0)
    along, turn = zero_below(nothing, few, along), zero_below(nothing, few, turn)
    if h != s.first:
        along, turn = load_as(x, s.frame, row) + along, load_as(x, s.frame, second) + turn
    store(s.frame, row, along)
    store(s.frame, second, turn)


@inlined
def _leave(s, h, b, n):
    """Note the tokens of superblock b that head h leaves to the pairs."""
    c, any_head = s.cosine.shape[1], s.over_pairs.shape[0] - 1
    for at in range(LANES):
        for i in range(c):
            k = (b * LANES + at) * c + i
            if k < n and not s.few[b, i, at] <= 0.0:
                s.over_pairs[h, k], s.over_pairs[any_head, k] = 1, 1
                s.left[b] += 1


@inlined
def _write_velocities(p, s, b, velocity):
    """`write_velocity` of `heads.py` for eight tokens at a time, their outputs known by their frames."""
    n, c, norm, angle = p.n, s.cosine.shape[1], p.norm, p.angle
    for i in range(c):
        row = (b * c + i) * LANES
        x, y, along, across = (
            load(s.cosine, row),
            load(s.sine, row),
            splat(0.0),
            load(s.frame, s.few.size + row),
        )
        if norm in (PRE, PERI):
            along = load(s.frame, row)
        if norm in (PERI, NGPT):
            ahead = load(s.frame, row)
            length = sqrt(fma(ahead, ahead, across * across))
            factor = (p.alpha if norm == NGPT else 1.0) / vmax(splat(MIN_SQUARE), length)
            along, across = along * factor, across * factor
        v_x, v_y = fms(along, x, across * y), fma(along, y, across * x)
        for at in range(LANES):
            k = (b * LANES + at) * c + i
            if k < n:
                if angle:
                    velocity[k] = lane(across, at)
                else:
                    velocity[2 * k], velocity[2 * k + 1] = lane(v_x, at), lane(v_y, at)
