"""The drift on the sphere (d = 3 and 4) in linear time: spherical harmonics and running sums; any V, mask,
frozen tokens; K^T Q a multiple of an orthogonal matrix; ALiBi, but under the full mask.

With beta K^T Q x_k = z y_k, y_k unit, the weights of token k are e^{z <y_k, x_j>}, and what it feels are sums
over spherical harmonics (`harmonics`, `harmonics_4`): of the tokens before it, and then of all that are near
by in order.  How the sums are taken depends on d (`sphere_sums_3`, `sphere_sums_4`); the rest is here.

The tokens stand in tiles of consecutive ones.  Every tile sums up its own harmonics; the compensated running
sum over tiles tells each what came before it; then eight tokens at a time are evaluated, and the pairs within
their tile added one by one.  Under a window the sum over tiles drops those that leave it, and what is in no
whole tile is added by pairs too.  With ALiBi, where no token is frozen, the sums of a tile fall with every
tile that follows, and from token to token within the tile that reads them.

Accuracy.  As on the circle: the error of Z_k and of the sums is absolute, at most `sphere_roundoff` plus
the truncation, times the number of tokens seen.  A token whose sum of weights is small against that number,
k > ratio * Z_k, is computed by pairs instead.  So velocities are good to the tolerance asked for, or to that
error times `usual_sphere_ratio` where that is more.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from nucleate.checks import EPS, Array, check_memory
from nucleate.kernels import harmonics, harmonics_4
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.compile import INLINED, inlined, uncounted
from nucleate.kernels.harmonics import IntArray, coefficients, degrees
from nucleate.kernels.model_shape import FULL, SOFTMAX, WINDOW, ModelShape
from nucleate.kernels.pairwise import LOG2_E, PLACES, Pairwise, base_2, pairwise_system, pairwise_token
from nucleate.kernels.simd import (
    LANES,
    PRESENT,
    TAIL,
    add_scaled,
    aligned_zeros,
    dot,
    fma,
    hsum,
    less,
    load,
    load_rows,
    scaled,
    splat,
    splat_rows,
    store,
    store_lane,
    transformed,
    vmax,
)
from nucleate.kernels.sphere_sums_3 import far_sums_3, make_field_3, tile_totals_3
from nucleate.kernels.sphere_sums_4 import far_sums_4, make_field_4, tile_totals_4
from nucleate.kernels.threads import Stopped, is_stopped
from nucleate.kernels.vector_math import exp2

__all__ = [
    "MAX_FROZEN_WEIGHT",
    "MAX_SLOPE",
    "MAX_SPHERE_Z",
    "MAX_TURNED_Z",
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

MAX_SPHERE_Z = {3: 2000.0, 4: 200.0}  # by d: beyond it the harmonics number hundreds of thousands
# beyond it ALiBi leaves nothing of the others: e^-100 beside 1, a token's own weight where K^T Q = I
MAX_SLOPE = 100.0
# with ALiBi and another K^T Q, where a token's own weight, at least e^-2z, may be alone in its sum
MAX_TURNED_Z = 300.0
MAX_FROZEN_WEIGHT = 1e100  # sums of heavier tokens might overflow
HIDDEN = np.concatenate([np.full(LANES, -np.inf), np.zeros(LANES)])  # load(HIDDEN, 8 - r): r times -inf
BLOCK_TOKENS = 4096  # that a thread takes at a time at most, about
BLOCK_WORK = 3_000_000  # the same times terms


def sphere_roundoff(z: float, d: int) -> float:
    """The absolute error of a sum of weights, per token summed: rounding of sums and of polynomials, weighted
    by c_l.  In d = 4 it does not grow with z: at most 4.4 EPS where it was looked for, z to 200, tokens in
    clusters of many widths."""
    return EPS * (8.0 + 2.0 * float(np.sqrt(z)) if d == 3 else 7.0)


def usual_sphere_ratio(z: float, d: int) -> float:
    """k / Z_k for uniform tokens is 2 z in d = 3 and (pi / 2)^{1/2} z^{3/2} in d = 4; eight times that leaves
    room for uneven ones."""
    return 16.0 * max(z, 1.0) if d == 3 else 10.0 * max(z, 1.0) ** 1.5


def sphere_truncation(z: float, d: int, tolerance: float) -> float:
    """What may be left out of a sum of weights, per token summed."""
    return max(EPS, tolerance / (32.0 * usual_sphere_ratio(z, d)))


def has_harmonics(shape: ModelShape) -> bool:
    """Whether this kernel is for such a model: K^T Q is a multiple of an orthogonal matrix, and weights are
    neither too sharp nor too heavy."""
    if shape.d not in MAX_SPHERE_Z or shape.weights != SOFTMAX or shape.rope_base:
        return False
    if shape.z > MAX_SPHERE_Z[shape.d] or (shape.slope and shape.mask == FULL):
        return False
    if shape.slope and not shape.gaussian and (shape.slope > MAX_SLOPE or shape.z > MAX_TURNED_Z):
        return False
    if shape.frozen_weight.max(initial=0.0) > MAX_FROZEN_WEIGHT:
        return False
    A = shape.A / max(float(np.abs(shape.A).max()), 1e-300)  # (d, d), so that squares stay in range
    square = A @ A.T  # (d, d)
    return bool(np.abs(square - square[0, 0] * np.eye(shape.d)).max() <= 16.0 * EPS * square[0, 0])


class Sphere(NamedTuple):
    """One system for the sphere kernel.  A term is a pair (l, m) for d = 3, of two numbers, and a triple
    (P, Q, k) for d = 4, of four; `sphere_sums_3` and `sphere_sums_4` say how they stand."""

    axes: tuple[int, ...]  # d of them, whose number is known when the code is compiled
    pair: Pairwise  # the same system for the pairwise kernel: holds x, and computes what harmonics cannot
    totals: Array  # (B, rows) sums of every tile over the numbers of all terms, padded to eights
    base: Array  # (B or 1, rows) what the tokens of a tile all see, from other tiles and frozen tokens
    frozen: Array  # (rows,) the sums of the frozen tokens
    running: Array  # (2, rows) a sum and its error
    middle: Array  # (terms,) of d = 4; none for d = 3
    recurrence: Array  # (terms,)
    value: Array  # (terms, 2) kappa c_l / z, kappa a_l
    # of these five each thread needs its own
    field: Array  # (terms, 6 or 12) what multiplies polynomials
    sums: Array  # (terms of one m, or of one (P, Q), 2 or 4, 8)
    powers: Array  # (T / 8, 2 or 5, 8) of the coordinates of a tile
    room: Array  # (6, 8) of d = 4: eight points, and their sums
    few: Array  # (T,) above 0 where harmonics are not accurate enough

    to_end: Array  # (T,) what ALiBi leaves of a token of a tile at the tile's last place
    from_end: Array  # (T,) and at each place of the next tile of what was there at its tile's last
    turn: Array  # (d, d) y_k = turn x_k
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
        """(d, n) where the tokens stand."""
        return self.pair.places


class _Terms(NamedTuple):
    """What a system needs to know of the harmonics up to degree L."""

    degree: IntArray  # (terms,)
    kappa: Array  # (terms,)
    middle: Array  # (terms,) or none
    recurrence: Array  # (terms,)
    numbers: int  # of a term: 2 or 4
    most: int  # terms of one m, or of one (P, Q)
    powers: int  # numbers that are kept of eight tokens of a tile
    tile: int  # tokens of a tile: more of them mean more pairs, fewer more sums of tiles; measured


def _terms(d: int, L: int) -> _Terms:
    if d == 3:
        degree, _ = harmonics.pairs_of(L)
        kappa, recurrence = harmonics.norms(L)
        tile = max(4 * (L + 1), (L + 1) ** 2 // 16)
        return _Terms(degree, kappa, np.zeros(0), recurrence, 2, L + 1, 2, tile)
    P, Q, k = harmonics_4.triples_of(L)
    kappa, middle, recurrence = harmonics_4.norms(L)
    tile = max(4 * (L + 1), len(k) // 12)
    return _Terms(P + Q + 2 * k, kappa, middle, recurrence, 4, L // 2 + 1, 5, tile)


def sphere_system(shape: ModelShape, tolerance: float = TOLERANCE, tile: int | None = None) -> Sphere:
    """The system of one run on the sphere, velocities good to `tolerance` |V|, or to what is left out and
    rounded of a sum times `usual_sphere_ratio` where that is more; `tile`: tokens of a tile, a multiple of
    32, left out as many as were fastest."""
    largest = float(np.abs(shape.A).max())
    scale = largest * float(np.linalg.norm(shape.A[0] / largest)) if largest > 0.0 else 0.0
    z = shape.beta * scale
    truncation = sphere_truncation(z, shape.d, tolerance)
    L = degrees(z, shape.d, truncation)
    terms = _terms(shape.d, L)
    c_0, across, along = coefficients(z, L, shape.d)
    count, numbers = len(terms.degree), terms.numbers
    rows = -(-numbers * count // LANES) * LANES
    T = tile or max(32, terms.tile // 32 * 32)
    B = -(-shape.n // T)
    check_memory(16.0 * B * rows, f"keeping sums over {numbers * count} harmonics for {shape.n} tokens")
    totals = np.zeros((B, rows))
    slope = min(shape.slope, MAX_SLOPE)
    base = (
        np.zeros((1, rows)) if shape.mask == FULL else np.zeros((B, rows)) if shape.mask == WINDOW else totals
    )
    system = Sphere(
        axes=tuple(range(shape.d)),
        pair=pairwise_system(replace(shape, slope=0.0)),
        totals=totals,
        base=base,
        frozen=np.zeros(rows),
        running=np.zeros((2, rows)),
        middle=terms.middle.copy(),
        recurrence=terms.recurrence.copy(),
        value=np.stack([terms.kappa * across[terms.degree], terms.kappa * along[terms.degree]], axis=1),
        field=np.zeros((count, 3 * numbers)),
        sums=np.zeros((terms.most, numbers, LANES)),
        powers=np.zeros((T // LANES, terms.powers, LANES)),
        room=aligned_zeros(6, LANES),
        few=np.zeros(T),
        to_end=np.exp(-slope * np.arange(T - 1.0, -1.0, -1.0)),
        from_end=np.exp(-slope * np.arange(1.0, T + 1.0)),
        turn=np.eye(shape.d) if scale == 0.0 or shape.gaussian else shape.A / scale,
        z=z,
        c_0=c_0,
        ratio=max(tolerance / (sphere_roundoff(z, shape.d) + truncation), usual_sphere_ratio(z, shape.d)),
        mass=float(shape.frozen_weight.sum()),
        slope=slope,
        reach=1.0 / -np.expm1(-slope) if slope else np.inf,
        L=L,
        T=T,
        tiles=max(1, min(BLOCK_TOKENS, BLOCK_WORK // count) // T),
        plain=shape.plain,
    )
    _sum_frozen(system, shape)
    return system


def _sum_frozen(s: Sphere, shape: ModelShape) -> None:
    """The sums of the frozen tokens into `frozen`: as those of a tile of others, with weights in the place of
    what ALiBi leaves."""
    for first in range(0, len(shape.frozen), s.T):
        if is_stopped():
            raise Stopped
        some = slice(first, first + s.T)
        x, weight, count = np.zeros((shape.d, s.T + LANES)), np.zeros(s.T), len(shape.frozen[some])
        x[:, :count], weight[:count] = shape.frozen[some].T, shape.frozen_weight[some]
        totals = np.zeros((1, len(s.frozen)))
        tile = s._replace(pair=s.pair._replace(x=x, m=0, n=count), totals=totals, to_end=weight)
        sphere_totals(tile, 0)
        s.frozen[:] += totals[0]


# What depends on d: the sums over the tokens of a tile, and at eight tokens


def _dimension(s: Any) -> int:
    """d, of the type of a system."""
    return int(s.types[s.fields.index("axes")].count)


def _tile_totals(s: Sphere, b: int) -> None:
    """The sums of tile b, into `totals`."""


@overload(_tile_totals, jit_options=INLINED)
def _tile_totals_by_dimension(s, b):
    return (lambda s, b: tile_totals_3(s, b)) if _dimension(s) == 3 else lambda s, b: tile_totals_4(s, b)


def _make_field(s: Sphere, b: int) -> None:
    """What multiplies the polynomials, from the sums of row b of `base`, into `field`."""


@overload(_make_field, jit_options=INLINED)
def _make_field_by_dimension(s, b):
    return (lambda s, b: make_field_3(s, b)) if _dimension(s) == 3 else lambda s, b: make_field_4(s, b)


def _far_sums(s: Sphere, y: Any, along: Any) -> Any:
    """Of eight points y, from `field`: Z less its mean, over z; its gradient in space; the sum along y."""


@overload(_far_sums, jit_options=INLINED)
def _far_sums_by_dimension(s, y, along):
    if _dimension(s) == 3:
        return lambda s, y, along: far_sums_3(s, y, along)
    return lambda s, y, along: far_sums_4(s, y, along)


# The sums of tiles


@uncounted
def sphere_totals(s, block):
    """The sums of the tokens of every tile of a block."""
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
    sphere_base(s, stop)
    for b in range(blocks):
        sphere_block(s, b, velocity, stop)


@uncounted
def sphere_base(s, stop):
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
        if stop[0]:
            return
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
    _make_field(s, 0 if s.pair.mask == FULL else b)
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
def _eight_tokens(s, k, first, velocity, along, alibi):
    """Velocities of tokens k .. k+7 of the tile that begins at `first`; returns above 0 where a sum of
    weights is too small.  `along` is None where what is along x_k is not needed, `alibi` without it."""
    pair = s.pair
    n, mask = pair.n, pair.mask
    y = _turned(s, k, along)
    value, g, ahead = _far_sums(s, y, along)
    Z = fma(splat(s.z), value, splat(s.c_0 * s.base[0 if mask == FULL else k // s.T, 0]))
    if alibi is not None:
        left = load(s.from_end, k - first)
        Z, ahead, g = Z * left, ahead * left, scaled(g, left)
    g = _across(g, y)
    terms = s.mass + float(n)
    if mask != FULL:
        Z_near, g = near_sums(s, k, first, y, g, alibi)
        Z = Z + Z_near
        ahead = ahead + Z_near
        terms = s.mass + min(float(min(k + LANES, pair.w)), s.reach)
    v = _velocities(s, k, y, Z, g, ahead, along)
    for at in range(min(LANES, n - k)):
        store_lane(velocity, (k + at) * len(s.axes), v, at)
    return splat(terms) - Z * s.ratio


@inlined
def _token_by_pairs(s, k, velocity, along):
    """The velocity of one token with ALiBi, in the first of eight lanes."""
    y = _turned(s, k, along)
    Z, g = near_sums(s, k, 0, y, scaled(y, splat(0.0)), True)
    store_lane(velocity, k * len(s.axes), _velocities(s, k, y, Z, g, Z, along), 0)


@inlined
def _turned(s, k, along):
    """y of tokens k .. k+7."""
    x = load_rows(s.axes, s.pair.x, s.pair.m + k)
    if along is None:
        return x
    return transformed(s.turn, x)


@inlined
def _across(a, x):
    """What of the vectors a is across the unit vectors x."""
    return add_scaled(a, dot(a, x, splat(0.0)) * (-1.0), x)


@inlined
def _velocities(s, k, y, Z, g, ahead, along):
    """Those of tokens k .. k+7, from their sums."""
    x = load_rows(s.axes, s.pair.x, s.pair.m + k)
    if along is None:
        return _across(scaled(g, s.pair.scale / Z), x)
    return _across(scaled(transformed(s.pair.V, add_scaled(g, ahead, y)), 1.0 / Z), x)


@inlined
def near_sums(s, k, first, y, g, alibi):
    """Z and sum_j w_kj (x_j - y_k), added to g, over the pairs that the sums of tiles leave out."""
    pair, T, half = s.pair, s.T, base_2(s.z)
    n, w = pair.n, pair.w
    Z, start = splat(0.0), first
    if pair.mask == WINDOW:
        oldest = max(0, k - w + 1)
        left = min(first, _first_tile(first // T, T, w) * T)
        for j in range(oldest, left):
            Z, g = _one_pair(s, j, half, y, Z, g, k, True, alibi)
        start = max(first, oldest)
        for j in range(start, min(k + LANES, n)):
            Z, g = _one_pair(s, j, half, y, Z, g, k, True, alibi)
        return Z, g
    for j in range(start, k):
        Z, g = _one_pair(s, j, half, y, Z, g, k, None, alibi)
    for j in range(k, min(k + LANES, n)):
        Z, g = _one_pair(s, j, half, y, Z, g, k, True, alibi)
    return Z, g


@inlined
def _one_pair(s, j, half, y, Z, g, k, edge, alibi):
    """Token j joins the sums of tokens k .. k+7, of those that see it where it stands at an edge."""
    step = less(splat_rows(s.axes, s.pair.x, s.pair.m + j), y)
    exponent = half * dot(step, step, splat(0.0))
    if alibi is not None:
        exponent = fma(splat(-LOG2_E * s.slope), load(PLACES, 0) + float(k - j), exponent)
    if edge is not None:
        hidden = min(LANES, max(0, j - k))  # the lanes of earlier tokens
        seen = min(LANES, max(0, j - (k - s.pair.w)))  # those for which it is not yet out of the window
        exponent = exponent + (load(HIDDEN, LANES - hidden) + load(TAIL, LANES - seen))
    weight = exp2(exponent)
    return Z + weight, add_scaled(g, weight, step)
