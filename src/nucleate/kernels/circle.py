"""The drift on the circle (d = 2) in linear time: Fourier modes and running sums; any Q, K, V, mask, frozen
tokens.

With u_k = beta K^T Q x_k = z_k (cos psi_k, sin psi_k) the weight of the pair is

    exp(<u_k, x_j>) = sum_m I_m(z_k) e^{i m (theta_j - psi_k)},      I_m the modified Bessel functions,

so token k needs only the sums S_m(k) = sum_{j<=k} e^{i m theta_j}, |m| <= M, and causality costs nothing:
they are running sums. With T_m = e^{-i m psi_k} S_m(k) and I_m scaled by e^{-z_k}:

    Z_k                                   = I_0 S_0 + 2 sum_m I_m Re T_m
    <sum_j w_kj x_j, (cos psi, sin psi)>  = I_1 S_0 + sum_m (I_{m-1} + I_{m+1}) Re T_m
    <sum_j w_kj x_j, (-sin psi, cos psi)> =           sum_m (I_{m-1} - I_{m+1}) Im T_m

Eight chunks of consecutive tokens travel in the eight lanes of a vector (`circle_sums.py`).  A first sweep
makes each chunk's totals, their running sum (compensated) tells every chunk what came before it, a second
sweep evaluates.  Where K^T Q = I, psi = theta, and the Bessel functions are those of one z = beta.

Accuracy.  The error of Z_k and of the sums is absolute, at most `roundoff(z)` * k.  A token whose sum of
weights is small against the number of tokens it sees, k > ratio * Z_k, is therefore computed by the pairwise
kernel instead; all others have |error| <= ratio * roundoff(z) * |V|. `ratio` follows from the tolerance asked
for: 1e-11 |V| unless the caller says otherwise, or what beta allows.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from nucleate.checks import EPS, Array
from nucleate.kernels.circle_sums import (
    begin_sums,
    deal,
    fixed_tokens,
    general_tokens,
    lane_bases,
    lane_totals,
    running_tokens,
)
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import FULL, WINDOW, ModelShape
from nucleate.kernels.pairwise import Pairwise, pairwise_system, pairwise_token
from nucleate.kernels.simd import (
    LANES,
    PART,
    aligned_zeros,
    fma,
    fms,
    hsum,
    lane,
    load,
    load_as,
    load_part,
    splat,
    splat_as,
    store,
    vmax,
)
from nucleate.kernels.threads import Stopped, is_stopped

__all__ = [
    "MAX_Z",
    "TOLERANCE",
    "Circle",
    "circle_base",
    "circle_block",
    "circle_sweep",
    "circle_system",
    "circle_totals",
    "frozen_sums",
    "lanes_for",
    "modes",
    "note_few",
    "plain_coefficients",
    "roundoff",
    "usual_ratio",
]

MAX_Z = 1e7  # beyond it the modes number tens of thousands
TOLERANCE = 1e-11  # of a velocity, against |V|
CHUNK = 512  # tokens per lane between two compensated sums
FROZEN_AT_ONCE = 4096  # frozen tokens whose modes are held at a time


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
    from scipy.special import ive  # slow to import, and needed on the circle alone

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
    """(M + 2, 3): e^{-beta} times I_0, then 2 I_m; I_{m-1} + I_{m+1}, I_1 for m = 0; I_{m-1} - I_{m+1}."""
    from scipy.special import ive  # slow to import, and needed on the circle alone

    m = np.arange(M + 2)
    below, above = ive(np.abs(m - 1), beta), ive(m + 1, beta)
    table = np.stack([2.0 * ive(m, beta), below + above, below - above], axis=1)
    table[0] = ive(0, beta), ive(1, beta), 0.0
    table.flags.writeable = False
    return table


def frozen_sums(shape: ModelShape, orders: int) -> Array:
    """(orders, 2): the weighted sums of cos(m theta) and sin(m theta) over the frozen tokens."""
    sums = np.zeros((orders, 2))
    for first in range(0, len(shape.frozen), FROZEN_AT_ONCE):
        if is_stopped():
            raise Stopped
        some, weight = (one[first : first + FROZEN_AT_ONCE] for one in (shape.frozen, shape.frozen_weight))
        phase = np.arange(orders)[:, None] * np.arctan2(some[:, 1], some[:, 0])  # (orders, some)
        sums += np.stack([np.cos(phase) @ weight, np.sin(phase) @ weight], axis=1)
    return sums


class Circle(NamedTuple):
    """One system for the circle kernel; the two sweeps fill the arrays that `circle_sums.py` describes."""

    pair: Pairwise  # the same system for the pairwise kernel: holds x, and computes what the modes cannot
    cosine: Array  # (B, c, 8)
    sine: Array  # (B, c, 8)
    present: Array  # (B, c, 8)
    few: Array  # (B, c, 8)
    totals: Array  # (B, M + 2, 2, 8)
    base: Array  # (B, M + 2, 2, 8)
    sums: Array  # (M + 2, 2, 8) each thread needs its own, as of the next and of the pair's
    ratios: Array  # (M + 2, 8)
    frozen: Array  # (M + 2, 2) sums over the frozen tokens
    bessel: Array  # (1, M + 2, 3) where K^T Q = I
    A: Array  # (1, 2, 2) beta K^T Q
    ratio: float  # how small the sum of weights may be against its number of terms
    gaussian: bool  # K^T Q = I, and no window

    @property
    def blocks(self) -> int:
        """The number of superblocks."""
        return len(self.totals)

    @property
    def places(self) -> Array:
        """(2, n) where the tokens stand."""
        return self.pair.places


def circle_system(shape: ModelShape, tolerance: float = TOLERANCE) -> Circle:
    """The system of one run on the circle, velocities good to `tolerance` |V|."""
    M = modes(shape.z)
    return Circle(
        pair=pairwise_system(shape, angle=True),
        **lanes_for(shape.n, M + 2),
        frozen=frozen_sums(shape, M + 2),
        bessel=plain_coefficients(shape.z, M)[None].copy(),
        A=shape.beta * shape.A[None],
        ratio=max(tolerance / roundoff(shape.z), usual_ratio(shape.z)),
        gaussian=shape.gaussian and shape.mask != WINDOW,
    )


def lanes_for(n: int, orders: int) -> dict[str, Array]:
    """The arrays of `circle_sums.py` for n tokens."""
    c = max(1, min(CHUNK, -(-n // LANES)))
    B = -(-n // (LANES * c))
    cosine, present = aligned_zeros(2, B, c, LANES)
    present[:] = 1.0
    if B:
        last = np.arange((B - 1) * LANES * c, B * LANES * c).reshape(LANES, c).T  # (c, 8) token numbers
        present[-1] = last < n
        cosine[-1] = 1.0  # where there is no token: 0 has no direction, and its modes underflow
    return {
        "cosine": cosine,
        "sine": aligned_zeros(B, c, LANES),
        "present": present,
        "few": aligned_zeros(B, c, LANES),
        "totals": aligned_zeros(B, orders, 2, LANES),
        "base": aligned_zeros(B, orders, 2, LANES),
        "sums": aligned_zeros(orders, 2, LANES),
        "ratios": aligned_zeros(orders, LANES),
    }


@uncounted
def circle_totals(s, b):
    """Deal the tokens of superblock b into its eight lanes, and sum each lane up."""
    deal(s, s.pair.x, s.pair.m, s.pair.n, b)
    lane_totals(s, b, s.totals.shape[1], None)


@uncounted
def circle_base(s, stop):
    """What every chunk's tokens have before them."""
    if stop[0]:
        return
    lane_bases(s, s.frozen, s.totals.shape[1], s.pair.mask, s.pair.w, None)


@uncounted
def circle_block(s, b, velocity, stop):
    """Velocities of the tokens of superblock b; tokens beyond the accuracy of the modes by the pairwise
    kernel."""
    if stop[0]:
        return
    few, n, c, orders = s.few, s.pair.n, s.cosine.shape[1], s.totals.shape[1]
    begin_sums(s, b, orders)
    first = b * LANES * c
    beyond = 0.0
    if not s.gaussian:
        beyond = _general_block(s, b, orders, velocity)
    elif s.pair.scalar:
        for part in range(0, LANES, PART):
            beyond += _gaussian_block(s, b, part, orders, velocity, None)
    else:
        for part in range(0, LANES, PART):
            beyond += _gaussian_block(s, b, part, orders, velocity, True)
    if b == 0 and s.pair.m == 0 and s.pair.mask != FULL and s.pair.scalar:
        velocity[0] = 0.0  # the first token sees itself alone: exactly, where the modes know it to rounding
    if not beyond <= 0.0:
        for at in range(LANES):
            for i in range(c):
                k = first + at * c + i
                if stop[0]:
                    return
                if k < n and not few[b, i, at] <= 0.0:
                    pairwise_token(s.pair, k, velocity)


@uncounted
def circle_sweep(s, velocity, stop):
    """All velocities of tokens already placed, on one thread."""
    for b in range(s.totals.shape[0]):
        if stop[0]:
            return
        circle_totals(s, b)
    circle_base(s, stop)
    for b in range(s.totals.shape[0]):
        circle_block(s, b, velocity, stop)


@inlined
def note_few(s, row, terms, Z, ratio):
    """`few` of the tokens in a vector: above 0, or not a number, where the sum of weights is too small."""
    few = (terms - Z * ratio) * load_as(Z, s.present, row)
    store(s.few, row, few)
    return few


@inlined
def _gaussian_block(s, b, part, orders, velocity, along):
    """The lanes that begin at `part`: K^T Q = I, causal or full mask; for V = c I what is along x_k is not
    needed, and `along` None."""
    cosine, sine, present, bessel, sums = s.cosine, s.sine, s.present, s.bessel, s.sums
    ratio, full, n, c = s.ratio, s.pair.mask == FULL, s.pair.n, s.cosine.shape[1]
    nothing = splat_as(load_part(cosine, 0), 0.0)
    beyond = nothing
    for i in range(0, c, 2):
        row = (b * c + i) * LANES + part
        x, y, here = load_part(cosine, row), load_part(sine, row), load_part(present, row)
        x2, y2, here2, after = x, y, nothing, row + LANES
        if i + 1 < c:
            x2, y2, here2 = load_part(cosine, after), load_part(sine, after), load_part(present, after)
        if full:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = fixed_tokens(
                x, y, x2, y2, sums, part, bessel, 0, orders, along
            )
        else:
            S, Z, ahead, across, S2, Z2, ahead2, across2 = running_tokens(
                x, y, here, x2, y2, here2, sums, part, bessel, 0, orders, None, None, along
            )
        beyond = beyond + vmax(nothing, note_few(s, row, S, Z, ratio))
        turn, turn2 = _turn(s, x, y, ahead, across, Z, along), _turn(s, x2, y2, ahead2, across2, Z2, along)
        if i + 1 < c:
            beyond = beyond + vmax(nothing, note_few(s, after, S2, Z2, ratio))
        for at in range(PART):
            k = (b * LANES + part + at) * c + i
            if k < n:
                velocity[k] = lane(turn, at)
            if k + 1 < n and i + 1 < c:
                velocity[k + 1] = lane(turn2, at)
    return hsum(beyond)


@inlined
def _general_block(s, b, orders, velocity):
    """Any Q, K, V and mask."""
    pair, c = s.pair, s.cosine.shape[1]
    beyond = splat(0.0)
    for i in range(c):
        row = (b * c + i) * LANES
        S, _, Z, ahead, across = general_tokens(
            s, pair.x, pair.m, pair.n, b, i, orders, pair.mask, pair.w, s.A, 0
        )
        beyond = beyond + vmax(splat(0.0), note_few(s, row, S, Z, s.ratio))
        turn = _turn(s, load(s.cosine, row), load(s.sine, row), ahead, across, Z, True)
        for at in range(LANES):
            k = (b * LANES + at) * c + i
            if k < pair.n:
                velocity[k] = lane(turn, at)
    return hsum(beyond)


@inlined
def _turn(s, x, y, ahead, across, Z, along):
    """The angular velocities of the tokens in a vector."""
    V = s.pair.V
    if along is None:
        return across * s.pair.scale / Z
    sum_x, sum_y = fms(ahead, x, across * y), fma(ahead, y, across * x)
    v_x = fma(sum_x, splat_as(x, V[0, 0]), sum_y * V[0, 1])
    v_y = fma(sum_x, splat_as(x, V[1, 0]), sum_y * V[1, 1])
    return fms(v_y, x, v_x * y) / Z
