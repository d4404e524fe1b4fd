"""The drift on the sphere (d = 3) in linear time: spherical harmonics and running sums; any V, mask, frozen
tokens; K^T Q a multiple of an orthogonal matrix; ALiBi, but under the full mask.

With beta K^T Q x_k = z y_k, y_k unit, the weights of token k are e^{z <y_k, x_j>}, and what it feels are sums
over spherical harmonics (`harmonics.py`): of the tokens before it, and then of all that are near by in order.

The tokens stand in tiles of consecutive ones.  Every tile sums up its own harmonics; the compensated running
sum over tiles tells each what came before it; then eight tokens at a time are evaluated, and the pairs within
their tile added one by one.  Under a window the sum over tiles drops those that leave it, and what is in no
whole tile is added by pairs too.  With ALiBi, where no token is frozen, the sums of a tile fall with every
tile that follows, and from token to token within the tile that reads them.

Accuracy.  As on the circle: the error of Z_k and of the sums is absolute, at most `sphere_roundoff(z)` plus
the truncation, times the number of tokens seen.  A token whose sum of weights is small against that number,
k > ratio * Z_k, is computed by pairs instead.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nucleate.checks import EPS, Array
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.harmonics import coefficients, degrees, harmonic_sums, norms, pairs_of
from nucleate.kernels.model_shape import FULL, SOFTMAX, WINDOW, ModelShape
from nucleate.kernels.pairwise import LOG2_E, PLACES, Pairwise, base_2, pairwise_system, pairwise_token
from nucleate.kernels.simd import LANES, TAIL, fma, fms, hsum, lane, load, splat, store, vmax
from nucleate.kernels.vector_math import exp2

__all__ = [
    "MAX_SPHERE_Z",
    "Sphere",
    "has_harmonics",
    "sphere_base",
    "sphere_block",
    "sphere_roundoff",
    "sphere_sweep",
    "sphere_system",
    "sphere_totals",
    "sphere_truncation",
    "usual_sphere_ratio",
]

MAX_SPHERE_Z = 2000.0  # beyond it the harmonics number hundreds of thousands
MAX_SLOPE = 100.0  # beyond it ALiBi leaves nothing of the others: e^-100 beside 1
PRESENT = np.concatenate([np.ones(LANES), np.zeros(LANES)])  # load(PRESENT, 8 - r): r ones, then zeros
HIDDEN = np.concatenate([np.full(LANES, -np.inf), np.zeros(LANES)])  # load(HIDDEN, 8 - r): r times -inf
BLOCK = 4096  # tokens that a thread takes at a time, about
PARTS = 6  # numbers of a field per (l, m)


def sphere_roundoff(z: float) -> float:
    """The absolute error of a sum of weights, per token summed: rounding of S_lm and of q_lm, weighted by
    c_l."""
    return EPS * (8.0 + 2.0 * float(np.sqrt(z)))


def usual_sphere_ratio(z: float) -> float:
    """k / Z_k for uniform tokens is 2 z; eight times that leaves room for uneven ones."""
    return 16.0 * max(z, 1.0)


def sphere_truncation(z: float, tolerance: float) -> float:
    """What may be left out of a sum of weights, per token summed."""
    return max(EPS, tolerance / (32.0 * usual_sphere_ratio(z)))


def has_harmonics(shape: ModelShape) -> bool:
    """Whether this kernel is for such a model: K^T Q is a multiple of an orthogonal matrix."""
    if shape.d != 3 or shape.weights != SOFTMAX or shape.rope_base:
        return False
    if shape.slope and shape.mask == FULL:
        return False
    A = shape.A / max(float(np.abs(shape.A).max()), 1e-300)  # (3, 3), so that squares stay in range
    square = A @ A.T  # (3, 3)
    return bool(np.abs(square - square[0, 0] * np.eye(3)).max() <= 16.0 * EPS * square[0, 0])


class Sphere(NamedTuple):
    """One system for the sphere kernel."""

    pair: Pairwise  # the same system for the pairwise kernel: holds x, and computes what harmonics cannot
    totals: Array  # (B, rows) S_lm of every tile, real and imaginary parts in turn, padded to eights
    base: Array  # (B or 1, rows) what the tokens of a tile all see, from other tiles and frozen tokens
    frozen: Array  # (rows,) S_lm of the frozen tokens
    running: Array  # (2, rows) a sum and its error
    recurrence: Array  # (rows / 2,) b_lm
    value: Array  # (rows / 2, 2) kappa_lm c_l / z, kappa_lm a_l
    field: Array  # (rows / 2, PARTS) what multiplies q_lm; each thread needs its own, as of the next three
    sums: Array  # (L + 1, 2, 8)
    powers: Array  # (T / 8, 2, 8) (x_1 + i x_2)^m of a tile
    few: Array  # (T,) above 0 where harmonics are not accurate enough
    to_end: Array  # (T,) what ALiBi leaves of a token of a tile at the tile's last place
    from_end: Array  # (T,) and at each place of the next tile of what was there at its tile's last
    turn: Array  # (3, 3) y_k = turn x_k
    z: float
    c_0: float
    ratio: float  # how small the sum of weights may be against its number of terms
    mass: float  # of the frozen tokens
    slope: float  # of ALiBi, 0 without
    reach: float  # the sum of what ALiBi leaves of every earlier token
    L: int
    T: int  # tokens of a tile
    tiles: int  # of a block, which is what a thread takes at a time
    plain: bool  # K^T Q = I and V = c I: what is along x_k is not needed

    @property
    def blocks(self) -> int:
        """How many there are."""
        return -(-len(self.totals) // self.tiles)

    @property
    def places(self) -> Array:
        """(3, n) where the tokens stand."""
        return self.pair.places


def tile_tokens(L: int) -> int:
    """Tokens of a tile: more of them mean more pairs, fewer more sums of tiles; measured."""
    return max(32, max(4 * (L + 1), (L + 1) ** 2 // 16) // 32 * 32)


def sphere_system(shape: ModelShape, tolerance: float = TOLERANCE) -> Sphere:
    """The system of one run on the sphere, velocities good to `tolerance` |V|."""
    largest = float(np.abs(shape.A).max())
    scale = largest * float(np.linalg.norm(shape.A[0] / largest)) if largest > 0.0 else 0.0
    z = shape.beta * scale
    truncation = sphere_truncation(z, tolerance)
    L = degrees(z, truncation)
    ell, _ = pairs_of(L)
    kappa, recurrence = norms(L)
    c_0, across, along = coefficients(z, L)
    rows = -(-2 * len(ell) // LANES) * LANES
    T = tile_tokens(L)
    B = -(-shape.n // T)
    totals = np.zeros((B, rows))
    frozen = np.zeros(rows)
    frozen[: 2 * len(ell)] = harmonic_sums(shape.frozen, shape.frozen_weight, L).reshape(-1)
    slope = min(shape.slope, MAX_SLOPE)
    base = (
        np.zeros((1, rows)) if shape.mask == FULL else np.zeros((B, rows)) if shape.mask == WINDOW else totals
    )
    return Sphere(
        pair=pairwise_system(replace(shape, slope=0.0)),
        totals=totals,
        base=base,
        frozen=frozen,
        running=np.zeros((2, rows)),
        recurrence=recurrence.copy(),
        value=np.stack([kappa * across[ell], kappa * along[ell]], axis=1),
        field=np.zeros((len(ell), PARTS)),
        sums=np.zeros((L + 1, 2, LANES)),
        powers=np.zeros((T // LANES, 2, LANES)),
        few=np.zeros(T),
        to_end=np.exp(-slope * np.arange(T - 1.0, -1.0, -1.0)),
        from_end=np.exp(-slope * np.arange(1.0, T + 1.0)),
        turn=np.eye(3) if scale == 0.0 or shape.gaussian else shape.A / scale,
        z=z,
        c_0=c_0,
        ratio=max(tolerance / (sphere_roundoff(z) + truncation), usual_sphere_ratio(z)),
        mass=float(shape.frozen_weight.sum()),
        slope=slope,
        reach=1.0 / -np.expm1(-slope) if slope else np.inf,
        L=L,
        T=T,
        tiles=max(1, BLOCK // T),
        plain=shape.plain,
    )


# The sums of tiles


@uncounted
def sphere_totals(s, block):
    """S_lm of the tokens of every tile of a block."""
    for b in range(block * s.tiles, min((block + 1) * s.tiles, s.totals.shape[0])):
        _tile_totals(s, b)


@uncounted
def sphere_sweep(s, velocity, stop):
    """All velocities of tokens already placed, on one thread."""
    blocks = -(-s.totals.shape[0] // s.tiles)
    for b in range(blocks):
        if stop[0]:
            return
        sphere_totals(s, b)
    sphere_base(s)
    for b in range(blocks):
        sphere_block(s, b, velocity, stop)


@inlined
def _tile_totals(s, b):
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


@uncounted
def sphere_base(s):
    """What every tile has before it: compensated running sums over tiles, begun with the frozen tokens';
    under the full mask the grand total; under a window the whole tiles that all tokens of a tile see."""
    totals, base, running, frozen = s.totals, s.base, s.running, s.frozen
    B, rows = totals.shape
    mask, kept = s.pair.mask, s.from_end[s.T - 1]
    for i in range(0, rows, LANES):
        store(running, i, load(frozen, i))
        store(running, rows + i, splat(0.0))
    oldest = 0
    for b in range(B):
        if mask == WINDOW:
            while oldest < min(b, _first_tile(b, s.T, s.pair.w)):
                left = -(kept ** (b - 1 - oldest))
                for i in range(0, rows, LANES):
                    _add(running, rows, i, left * load(totals, oldest * rows + i))
                oldest += 1
        for i in range(0, rows, LANES):
            new = load(totals, b * rows + i)
            if mask != FULL:
                store(base, b * rows + i, load(running, i) + load(running, rows + i))
            if s.slope > 0.0:
                store(running, i, kept * load(running, i))
                store(running, rows + i, kept * load(running, rows + i))
            _add(running, rows, i, new)
    if mask == FULL:
        for i in range(0, rows, LANES):
            store(base, i, load(running, i) + load(running, rows + i))


@inlined
def _first_tile(b, T, w):
    """The first tile that all tokens of tile b see whole, under a window."""
    return max(0, -(-((b + 1) * T - w) // T))


@inlined
def _add(running, rows, i, new):
    """running += new: the sum, and what rounding took from it."""
    total = load(running, i)
    after = total + new
    part = after - total
    lost = (total - (after - part)) + (new - part)
    store(running, i, after)
    store(running, rows + i, load(running, rows + i) + lost)


# The velocities


@uncounted
def sphere_block(s, block, velocity, stop):
    """Velocities of the tokens of a block of tiles; those beyond the accuracy of harmonics by the pairwise
    kernel."""
    for b in range(block * s.tiles, min((block + 1) * s.tiles, s.totals.shape[0])):
        if stop[0]:
            return
        _tile_velocities(s, b, velocity, stop)


@inlined
def _tile_velocities(s, b, velocity, stop):
    make_field(s, 0 if s.pair.mask == FULL else b)
    first, n = b * s.T, s.pair.n
    last = min(first + s.T, n)
    worst = splat(0.0)
    for k in range(first, last, LANES):
        if s.slope > 0.0:
            if s.plain:
                few = _eight_tokens(s, k, first, velocity, None, True)
            else:
                few = _eight_tokens(s, k, first, velocity, True, True)
        elif s.plain:
            few = _eight_tokens(s, k, first, velocity, None, None)
        else:
            few = _eight_tokens(s, k, first, velocity, True, None)
        few = few * load(PRESENT, max(0, LANES - (last - k)))
        store(s.few, k - first, few)
        worst = worst + vmax(splat(0.0), few)
    if not hsum(worst) <= 0.0:
        for k in range(first, last):
            if stop[0]:
                return
            if not s.few[k - first] <= 0.0:
                if s.slope == 0.0:
                    pairwise_token(s.pair, k, velocity)
                elif s.plain:
                    _token_by_pairs(s, k, velocity, None)
                else:
                    _token_by_pairs(s, k, velocity, True)


@inlined
def make_field(s, b):
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
def _eight_tokens(s, k, first, velocity, along, alibi):
    """Velocities of tokens k .. k+7 of the tile that begins at `first`; returns above 0 where a sum of
    weights is too small.  `along` is None where what is along x_k is not needed, `alibi` without it."""
    pair = s.pair
    n, mask = pair.n, pair.mask
    y_1, y_2, y_3 = _turned(s, k, along)
    value, g_1, g_2, g_3, ahead = far_sums(s, y_1, y_2, y_3, along)
    Z = fma(splat(s.z), value, splat(s.c_0 * s.base[0 if mask == FULL else k // s.T, 0]))
    if alibi is not None:
        left = load(s.from_end, k - first)
        Z, ahead = Z * left, ahead * left
        g_1, g_2, g_3 = g_1 * left, g_2 * left, g_3 * left
    inward = fma(g_1, y_1, fma(g_2, y_2, g_3 * y_3))
    g_1, g_2, g_3 = g_1 - inward * y_1, g_2 - inward * y_2, g_3 - inward * y_3
    terms = s.mass + float(n)
    if mask != FULL:
        Z_near, g_1, g_2, g_3 = near_sums(s, k, first, y_1, y_2, y_3, g_1, g_2, g_3, alibi)
        Z = Z + Z_near
        ahead = ahead + Z_near
        terms = s.mass + min(float(min(k + LANES, pair.w)), s.reach)
    v_1, v_2, v_3 = _velocities(s, k, y_1, y_2, y_3, Z, g_1, g_2, g_3, ahead, along)
    for at in range(min(LANES, n - k)):
        velocity[(k + at) * 3] = lane(v_1, at)
        velocity[(k + at) * 3 + 1] = lane(v_2, at)
        velocity[(k + at) * 3 + 2] = lane(v_3, at)
    return splat(terms) - Z * s.ratio


@inlined
def _token_by_pairs(s, k, velocity, along):
    """The velocity of one token with ALiBi, in the first of eight lanes."""
    y_1, y_2, y_3 = _turned(s, k, along)
    zero = splat(0.0)
    Z, g_1, g_2, g_3 = near_sums(s, k, 0, y_1, y_2, y_3, zero, zero, zero, True)
    v_1, v_2, v_3 = _velocities(s, k, y_1, y_2, y_3, Z, g_1, g_2, g_3, Z, along)
    velocity[k * 3], velocity[k * 3 + 1], velocity[k * 3 + 2] = lane(v_1, 0), lane(v_2, 0), lane(v_3, 0)


@inlined
def _turned(s, k, along):
    """y of tokens k .. k+7."""
    x, turn, width, here = s.pair.x, s.turn, s.pair.x.shape[1], s.pair.m + k
    x_1, x_2, x_3 = load(x, here), load(x, width + here), load(x, 2 * width + here)
    if along is None:
        return x_1, x_2, x_3
    return (
        fma(x_1, splat(turn[0, 0]), fma(x_2, splat(turn[0, 1]), x_3 * turn[0, 2])),
        fma(x_1, splat(turn[1, 0]), fma(x_2, splat(turn[1, 1]), x_3 * turn[1, 2])),
        fma(x_1, splat(turn[2, 0]), fma(x_2, splat(turn[2, 1]), x_3 * turn[2, 2])),
    )


@inlined
def _velocities(s, k, y_1, y_2, y_3, Z, g_1, g_2, g_3, ahead, along):
    """Those of tokens k .. k+7, from their sums."""
    pair = s.pair
    x, width, here = pair.x, pair.x.shape[1], pair.m + k
    x_1, x_2, x_3 = load(x, here), load(x, width + here), load(x, 2 * width + here)
    inverse = 1.0 / Z
    if along is None:
        v_1, v_2, v_3 = g_1 * pair.scale, g_2 * pair.scale, g_3 * pair.scale
    else:
        V = pair.V
        g_1, g_2, g_3 = fma(ahead, y_1, g_1), fma(ahead, y_2, g_2), fma(ahead, y_3, g_3)
        v_1 = fma(g_1, splat(V[0, 0]), fma(g_2, splat(V[0, 1]), g_3 * V[0, 2]))
        v_2 = fma(g_1, splat(V[1, 0]), fma(g_2, splat(V[1, 1]), g_3 * V[1, 2]))
        v_3 = fma(g_1, splat(V[2, 0]), fma(g_2, splat(V[2, 1]), g_3 * V[2, 2]))
    v_1, v_2, v_3 = v_1 * inverse, v_2 * inverse, v_3 * inverse
    radial = fma(v_1, x_1, fma(v_2, x_2, v_3 * x_3))
    return v_1 - radial * x_1, v_2 - radial * x_2, v_3 - radial * x_3


@inlined
def far_sums(s, y_1, y_2, y_3, along):
    """(Z - c_0 S_00) / z of eight points, its gradient in space, and the sum along y."""
    recurrence, field, L = s.recurrence, s.field, s.L
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
    return value, g_1, g_2, g_3, ahead


@inlined
def near_sums(s, k, first, y_1, y_2, y_3, g_1, g_2, g_3, alibi):
    """Z and sum_j w_kj (x_j - y_k), added to g, over the pairs that the sums of tiles leave out."""
    pair, T, half = s.pair, s.T, base_2(s.z)
    n, w = pair.n, pair.w
    Z, start = splat(0.0), first
    if pair.mask == WINDOW:
        oldest = max(0, k - w + 1)
        left = min(first, _first_tile(first // T, T, w) * T)
        for j in range(oldest, left):
            Z, g_1, g_2, g_3 = _one_pair(s, j, half, y_1, y_2, y_3, Z, g_1, g_2, g_3, k, True, alibi)
        start = max(first, oldest)
        for j in range(start, min(k + LANES, n)):
            Z, g_1, g_2, g_3 = _one_pair(s, j, half, y_1, y_2, y_3, Z, g_1, g_2, g_3, k, True, alibi)
        return Z, g_1, g_2, g_3
    for j in range(start, k):
        Z, g_1, g_2, g_3 = _one_pair(s, j, half, y_1, y_2, y_3, Z, g_1, g_2, g_3, k, None, alibi)
    for j in range(k, min(k + LANES, n)):
        Z, g_1, g_2, g_3 = _one_pair(s, j, half, y_1, y_2, y_3, Z, g_1, g_2, g_3, k, True, alibi)
    return Z, g_1, g_2, g_3


@inlined
def _one_pair(s, j, half, y_1, y_2, y_3, Z, g_1, g_2, g_3, k, edge, alibi):
    """Token j joins the sums of tokens k .. k+7, of those that see it where it stands at an edge."""
    x, column = s.pair.x, s.pair.m + j
    d_1, d_2, d_3 = splat(x[0, column]) - y_1, splat(x[1, column]) - y_2, splat(x[2, column]) - y_3
    exponent = half * fma(d_1, d_1, fma(d_2, d_2, d_3 * d_3))
    if alibi is not None:
        exponent = fma(splat(-LOG2_E * s.slope), load(PLACES, 0) + float(k - j), exponent)
    if edge is not None:
        hidden = min(LANES, max(0, j - k))  # the lanes of earlier tokens
        seen = min(LANES, max(0, j - (k - s.pair.w)))  # those for which it is not yet out of the window
        exponent = exponent + (load(HIDDEN, LANES - hidden) + load(TAIL, LANES - seen))
    weight = exp2(exponent)
    return Z + weight, fma(weight, d_1, g_1), fma(weight, d_2, g_2), fma(weight, d_3, g_3)
