"""One small system on the circle: K^T Q = I, V = c I, causal; the circle kernel with eight modes in the lanes
of a vector, one token after the other.

In `circle.py` chunks of tokens travel in the lanes, and every chunk needs to know what came before it: a
sweep of its own, and sums over chunks, which take longer than the velocities where tokens are few.  Here a
token meets the running sums S_m = sum_j e^{i m theta_j} as they are.  Lane l holds the modes

    m = l + 1, l + 9, l + 17, ...,      e_m = e^{i m theta} from  e_{m+8} = 2 cos(8 theta) e_m - e_{m-8},

an eighth as many steps as the recurrence of `circle_batch.py` and so an error of m^2 / 64, which
`circle_small_roundoff` counts.  As sums are not compensated, tokens are few: at most `MAX_TOKENS`.
"""

from typing import NamedTuple

import numpy as np

from nucleate.checks import EPS, Array
from nucleate.kernels.circle import frozen_sums, modes, plain_coefficients, usual_ratio
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import CAUSAL, ModelShape
from nucleate.kernels.pairwise import Pairwise, pairwise_system, pairwise_token
from nucleate.kernels.simd import (
    LANES,
    PART,
    aligned_zeros,
    fma,
    fms,
    hsum,
    load,
    load_as,
    load_part,
    splat_as,
    store,
)

__all__ = [
    "MAX_TOKENS",
    "CircleSmall",
    "circle_small_modes",
    "circle_small_roundoff",
    "circle_small_sweep",
    "circle_small_system",
]

MAX_TOKENS = 512  # as many as a lane of circle.py sums up without compensation
MAX_MODES = 1024  # so that one thread is enough
POWERS = 4  # the powers of e^{i theta} that every token needs: 1, 2, 4, 8
# Which lanes, from 0, hold a mode l + 1 with the factor e^{i theta}, e^{2 i theta}, e^{4 i theta} beside the
# first: the bits of l
WITH = np.array([[(lane >> bit) & 1 for lane in range(LANES)] for bit in range(3)], dtype=np.float64)
WITHOUT = 1.0 - WITH


def circle_small_roundoff(beta: float) -> float:
    """The absolute error of a sum of weights, per token summed: rounding of S_m, and (m / 8)^2 roundings in
    e^{i m theta}, weighted by I_m."""
    return EPS * (8.0 + 2.0 * float(np.sqrt(beta)) + beta / 4.0)


def circle_small_modes(shape: ModelShape, tolerance: float) -> int | None:
    """How many modes give velocities to `tolerance` |V|, with ordinary tokens summed over modes; truncation
    may take half of it.  None: the run is none for this kernel."""
    suited = (
        shape.ordinary and shape.d == 2 and shape.plain and shape.mask == CAUSAL and shape.n <= MAX_TOKENS
    )
    if not suited or 2.0 * circle_small_roundoff(shape.beta) * usual_ratio(shape.beta) > tolerance:
        return None
    count = modes(shape.beta, _truncation(shape.beta, tolerance))
    return count if count <= MAX_MODES else None


def _truncation(beta: float, tolerance: float) -> float:
    """The share of a sum of weights that the modes left out may have."""
    return max(EPS, tolerance / (2.0 * usual_ratio(beta)))


class CircleSmall(NamedTuple):
    """One run; G vectors hold the modes."""

    pair: Pairwise  # the same system for the pairwise kernel: holds x, and computes what the modes cannot
    bessel: Array  # (G, 2, 8) 2 I_m and I_{m-1} - I_{m+1}, times e^{-beta}; 0 beyond the last mode
    frozen: Array  # (G, 2, 8) sums over the frozen tokens
    sums: Array  # (G, 2, 8) scratch: the running sums
    powers: Array  # (n / 8, 4, 2, 8) scratch: e^{i theta}, e^{2 i theta}, e^{4 i theta}, e^{8 i theta}
    parts: Array  # (n, 2, 8) scratch: Z_k and sum_j w_kj sin(theta_j - theta_k), lane by lane
    constant: float  # e^{-beta} I_0
    mass: float  # the sum of the frozen tokens' weights
    ratio: float  # k / Z_k up to which the modes are accurate enough

    @property
    def places(self) -> Array:
        """(2, n) where the tokens stand."""
        return self.pair.places


def circle_small_system(shape: ModelShape, tolerance: float) -> CircleSmall:
    """The system of one run, velocities good to `tolerance` |V|."""
    M = circle_small_modes(shape, tolerance)
    assert M is not None
    groups, blocks = -(-M // LANES), -(-shape.n // LANES)
    table, total = np.zeros((2, groups * LANES, 2))
    table[:M] = plain_coefficients(shape.beta, M)[1 : M + 1, ::2]
    total[:M] = frozen_sums(shape, M + 1)[1:]
    bessel, frozen, sums = aligned_zeros(3, groups, 2, LANES)
    bessel[:] = table.reshape(groups, LANES, 2).swapaxes(1, 2)
    frozen[:] = total.reshape(groups, LANES, 2).swapaxes(1, 2)
    return CircleSmall(
        pair=pairwise_system(shape, angle=True),
        bessel=bessel,
        frozen=frozen,
        sums=sums,
        powers=aligned_zeros(blocks, POWERS, 2, LANES),
        parts=aligned_zeros(shape.n, 2, LANES),
        constant=float(plain_coefficients(shape.beta, M)[0, 0]),
        mass=float(shape.frozen_weight.sum()),
        ratio=tolerance / (circle_small_roundoff(shape.beta) + _truncation(shape.beta, tolerance)),
    )


@uncounted
def circle_small_sweep(s, velocity, stop):
    """All velocities of tokens already placed."""
    pair, parts, sums, frozen = s.pair, s.parts, s.sums, s.frozen
    n, groups = pair.n, s.bessel.shape[0]
    _square_powers(s)
    for at in range(0, groups * 2 * LANES, LANES):
        store(sums, at, load(frozen, at))
    for k in range(n):
        if stop[0]:
            return
        _one_token(s, k, groups)
    for k in range(n):
        before = s.mass + k
        Z = 1.0 + s.constant * before + hsum(load(parts, 2 * k * LANES))
        velocity[k] = pair.scale * hsum(load(parts, (2 * k + 1) * LANES)) / Z
        if not before + 1.0 <= s.ratio * Z:
            pairwise_token(pair, k, velocity)
    if pair.m == 0 and n > 0:
        velocity[0] = 0.0  # the first token sees itself alone: exactly, where the modes know it to rounding


@inlined
def _square_powers(s):
    """e^{i theta}, and its powers 2, 4, 8, of eight tokens at a time."""
    x, powers, m = s.pair.x, s.powers, s.pair.m
    for block in range(powers.shape[0]):
        real, imag = load(x, m + block * LANES), load(x, x.shape[1] + m + block * LANES)
        for power in range(POWERS):
            at = (block * POWERS + power) * 2 * LANES
            store(powers, at, real)
            store(powers, at + LANES, imag)
            real, imag = fms(real, real, imag * imag), (real + real) * imag


@inlined
def _one_token(s, k, groups):
    """The parts of Z_k and of sum_j w_kj sin(theta_j - theta_k) in each lane; then token k joins the sums."""
    bessel, sums, powers, parts = s.bessel, s.sums, s.powers, s.parts
    block, at = k // LANES, k % LANES
    c, s_, c2, s2 = (
        powers[block, 0, 0, at],
        powers[block, 0, 1, at],
        powers[block, 1, 0, at],
        powers[block, 1, 1, at],
    )
    c4, s4, c8, s8 = (
        powers[block, 2, 0, at],
        powers[block, 2, 1, at],
        powers[block, 3, 0, at],
        powers[block, 3, 1, at],
    )
    for part in range(0, LANES, PART):
        nothing = splat_as(load_part(bessel, part), 0.0)
        Z, force = nothing, nothing
        # e_1, ..., e_8 in the lanes: e_1 times the powers that are the bits of the lane
        real, imag = splat_as(nothing, c), splat_as(nothing, s_)
        real, imag = _times_in_lanes(real, imag, part, c, s_)
        real, imag = _times_in_lanes(real, imag, LANES + part, c2, s2)
        real, imag = _times_in_lanes(real, imag, 2 * LANES + part, c4, s4)
        twice = splat_as(nothing, c8 + c8)
        after, after_imag = fms(real, splat_as(real, c8), imag * s8), fma(real, splat_as(real, s8), imag * c8)
        for group in range(groups):
            here = group * 2 * LANES + part
            S_real, S_imag = load_part(sums, here), load_part(sums, here + LANES)
            Z = fma(load_part(bessel, here), fma(real, S_real, imag * S_imag), Z)
            force = fma(load_part(bessel, here + LANES), fms(real, S_imag, imag * S_real), force)
            store(sums, here, S_real + real)
            store(sums, here + LANES, S_imag + imag)
            real, after = after, fms(twice, after, real)
            imag, after_imag = after_imag, fms(twice, after_imag, imag)
        store(parts, 2 * k * LANES + part, Z)
        store(parts, (2 * k + 1) * LANES + part, force)


@inlined
def _times_in_lanes(real, imag, row, c, s):
    """The vector times c + i s in the lanes that WITH names from flat index `row` on."""
    factor = fma(load_as(real, WITH, row), splat_as(real, c), load_as(real, WITHOUT, row))
    factor_imag = load_as(real, WITH, row) * s
    return fms(real, factor, imag * factor_imag), fma(real, factor_imag, imag * factor)
