"""The drift for large d: tiles of scores and of weighted sums as products of matrices (`panels.py`), the
softmax between them by eight lanes.

A tile of rows k meets a tile of columns j; its weights are made and dropped, so no n x n array exists.  Any
Q, K, V, any mask, frozen tokens.  With u_k = beta K^T Q x_k the weights are e^{<u_k, x_j> - |u_k|}, never
above 1.  Where they could all be too small for a number, the largest score so far is kept per row instead,
and what was summed before is rescaled.

Every sum over j runs in the order of j, in pieces of COLUMNS that begin at multiples of it: bits depend on
neither the rows of a tile nor the threads.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from nucleate.checks import Array, InputError
from nucleate.kernels.compile import compiled, inlined, uncounted
from nucleate.kernels.model_shape import FULL, WINDOW, ModelShape, ordinary_shape
from nucleate.kernels.pairwise import LOG2_E, put_on_sphere
from nucleate.kernels.panels import GROUP, VECTORS, add_product, panel_width, panels_of, set_product
from nucleate.kernels.simd import (
    LANES,
    SINGLE_LANES,
    Singles,
    aligned_zeros,
    fma,
    hmax,
    hsum,
    lanes_of,
    load,
    splat_as,
    store,
    vmax,
)
from nucleate.kernels.vector_math import exp2, exp2_normal, exp2_singles

__all__ = [
    "COLUMNS",
    "MAX_SINGLE_Z",
    "ROWS",
    "Tiles",
    "tiles_block",
    "tiles_images",
    "tiles_place",
    "tiles_system",
]

ROWS, COLUMNS = 96, 64  # of a tile: whole groups, and whole panels
# e^{-2 z} is a normal number, in double and in single precision: no weight is lost
MAX_TILES_Z, MAX_SINGLE_Z = 340.0, 40.0


class Tiles(NamedTuple):
    """One system for the tile kernel; D is d up to whole vectors, with zeros."""

    x: Array  # (m + n + GROUP, D) frozen tokens first, padded
    keys: Array  # all tokens as a matrix (d, m + n) in panels, the last filled up
    values: Array  # all tokens as a matrix (m + n, D) in panels
    a: Array  # (m,) weights of the frozen tokens
    A: Array  # (beta K^T Q)^T in panels, used unless `gaussian`
    V: Array  # V^T in panels, used unless `scalar`
    u: Array  # (ROWS, D) scratch, like those below; each thread needs its own
    scores: Array  # (ROWS, COLUMNS)
    sums: Array  # (ROWS, D) sum_j w_kj x_j, without j = k where `scalar`
    part: Array  # (ROWS, D)
    Z: Array  # (ROWS, lanes) the sum of these weights, lane by lane
    own: Array  # (ROWS,) the weight of the token itself where `scalar`
    least: Array  # (ROWS,) what is subtracted from the scores of a row
    n: int
    d: int
    m: int
    w: int
    mask: int  # CAUSAL, FULL or WINDOW
    beta: float  # times log2(e) where `bounded`, here and in A
    scale: float  # V = scale * I where `scalar`
    gaussian: bool  # K^T Q = I
    scalar: bool
    bounded: bool  # what is subtracted is |u_k|, not the largest score so far
    unit: float  # the weights are 2^(unit (score - least))

    @property
    def places(self) -> Array:
        """(d, n) where the tokens stand."""
        return self.x[self.m : self.m + self.n, : self.d].T


def tiles_system(shape: ModelShape, single: bool = False) -> Tiles:
    """The system of one run; `single`: everything but its velocities in single precision."""
    n, d, m = ordinary_shape(shape).n, shape.d, len(shape.frozen)
    real, lanes = (np.float32, SINGLE_LANES) if single else (np.float64, LANES)
    D, panel = panel_width(d, lanes), VECTORS * lanes
    if single and not shape.scores_up_to(MAX_SINGLE_Z):
        raise InputError(
            f"Tiles in single precision need beta |K^T Q| up to {MAX_SINGLE_Z:g}, but it is {shape.z:g}."
            " Use double precision."
        )
    bounded = shape.scores_up_to(MAX_TILES_Z)
    beta = shape.beta * LOG2_E if bounded else shape.beta
    x = aligned_zeros(m + n + GROUP, D, dtype=real)
    x[:m, :d] = shape.frozen
    return Tiles(
        x=x,
        keys=aligned_zeros(-(-(m + n) // panel) * panel * d, dtype=real),
        values=aligned_zeros((m + n) * D, dtype=real),
        a=shape.frozen_weight.copy(),
        A=(np.zeros(0) if shape.gaussian else panels_of(beta * shape.A.T, lanes)).astype(real),
        V=(np.zeros(0) if shape.scalar else panels_of(shape.V.T, lanes)).astype(real),
        u=aligned_zeros(ROWS, D, dtype=real),
        scores=aligned_zeros(ROWS, COLUMNS, dtype=real),
        sums=aligned_zeros(ROWS, D, dtype=real),
        part=aligned_zeros(ROWS, D, dtype=real),
        Z=aligned_zeros(ROWS, lanes, dtype=real),
        own=np.zeros(ROWS),
        least=np.zeros(ROWS),
        n=n,
        d=d,
        m=m,
        w=shape.w,
        mask=shape.mask,
        beta=beta,
        scale=shape.scale,
        gaussian=shape.gaussian,
        scalar=shape.scalar,
        bounded=bounded,
        unit=1.0 if bounded else LOG2_E,
    )


@compiled
def tiles_place(p, y):
    """Put the state y, (n * d,) coordinates, on the sphere as rows of p.x."""
    put_on_sphere(y, p.x[p.m : p.m + p.n, : p.d].T)


@uncounted
def tiles_images(p):
    """Once the tokens are placed: lay them out in panels, as keys and as values."""
    lanes = lanes_of(p.x)
    panel = VECTORS * lanes
    x, keys, values, d, D = p.x, p.keys, p.values, p.d, p.x.shape[1]
    N = p.m + p.n
    for j in range(N):
        at = (j // panel) * d * panel + j % panel
        for c in range(d):
            keys[at + c * panel] = x[j, c]
    for c in range(0, D, panel):
        width = min(panel, D - c)
        for j in range(N):
            for v in range(0, width, lanes):
                store(values, c * N + j * width + v, load(x, j * D + c + v))


@uncounted
def tiles_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1; returns at once when stop[0] is set."""
    n, m, mask, w = p.n, p.m, p.mask, p.w
    for k0 in range(first, last, ROWS):
        k1 = min(k0 + ROWS, last)
        _begin(p, k0, k1)
        low = m + max(0, k0 - w + 1) if mask == WINDOW else m
        high = m + n if mask == FULL else m + k1
        for j0 in range(0, high, COLUMNS):
            if stop[0]:
                return
            j1 = min(j0 + COLUMNS, high)
            if j0 < m or j1 > low:
                _weights(p, k0, k1, j0, j1)
                _add_values(p, k0, k1, j0, j1)
        _end(p, k0, k1, velocity)


@inlined
def _begin(p, k0, k1):
    """u_k, what is subtracted from the scores, and no sums yet."""
    lanes = lanes_of(p.x)
    x, u, D = p.x, p.u, p.x.shape[1]
    rows = -(-(k1 - k0) // GROUP) * GROUP  # whole groups: what stands in for the missing rows is not used
    if p.gaussian:
        for i in range(0, rows * D, lanes):
            store(u, i, splat_as(u, p.beta) * load(x, (p.m + k0) * D + i))
    else:
        _times(x, (p.m + k0) * D, p.A, u, rows, p.d, D)
    for row in range(rows):
        square = splat_as(x, 0.0)
        for c in range(0, D, lanes):
            square = fma(load(u, row * D + c), load(u, row * D + c), square)
            store(p.sums, row * D + c, splat_as(x, 0.0))
        store(p.Z, row * lanes, splat_as(x, 0.0))
        p.own[row] = 0.0
        p.least[row] = np.sqrt(hsum(square)) if p.bounded else -np.inf


@inlined
def _times(rows_of, at, panels, out, rows, d, D):
    """out (ROWS, D) = rows (rows, D), which begin at a flat index, times a matrix (d, d) in panels."""
    panel = VECTORS * lanes_of(panels)
    for c in range(0, D, panel):
        for g in range(0, rows, GROUP):
            set_product(rows_of, at + g * D, D, panels, c * d, min(panel, D - c), d, out, g * D + c, D)


@inlined
def _last_seen(p, k1, k):
    """The columns that a group of rows from k on sees end here."""
    return p.m + (p.n if p.mask == FULL else min(k + GROUP, k1))


@inlined
def _weights(p, k0, k1, j0, j1):
    """The weights of a tile into p.scores, their sums into p.Z."""
    panel = VECTORS * lanes_of(p.x)
    u, keys, scores, d, D = p.u, p.keys, p.scores, p.d, p.x.shape[1]
    for j in range(j0, j1, panel):
        for g in range(0, k1 - k0, GROUP):
            if j >= _last_seen(p, k1, k0 + g):
                continue
            at = g * COLUMNS + j - j0
            set_product(u, g * D, D, keys, (j // panel) * d * panel, panel, d, scores, at, COLUMNS)
            if p.bounded:
                if _all_seen(p, k0 + g, min(k0 + g + GROUP, k1) - 1, j):
                    _weigh_whole(p, g, at)
                else:
                    for row in range(g, min(g + GROUP, k1 - k0)):
                        _exponentials(p, row, j - j0, panel)
                        _leave_out(p, row, k0 + row, j0, j - j0, panel)
    if not p.bounded:
        for row in range(k1 - k0):
            count = min(j1, _last_seen(p, k1, k0 + row // GROUP * GROUP)) - j0
            if count > 0:
                _weigh_by_largest(p, row, k0 + row, j0, -(-count // panel) * panel)


@inlined
def _all_seen(p, first, last, j):
    """Whether tokens first .. last see all of a panel, themselves and frozen tokens not among it."""
    panel = VECTORS * lanes_of(p.x)
    m, end = p.m, j + panel
    if j < m or end > m + p.n or (p.mask == WINDOW and j < m + last - p.w + 1):
        return False
    return end <= m + first or (p.mask == FULL and j > m + last)


@inlined
def _weigh_whole(p, g, at):
    """Weights of a group of rows and a panel, all of which count."""
    lanes = lanes_of(p.x)
    panel = VECTORS * lanes
    scores, Z, least = p.scores, p.Z, p.least
    for row in range(g, g + GROUP):
        total, shift = load(Z, row * lanes), splat_as(scores, least[row])
        for i in range(at, at + panel, lanes):
            w = _power_of_two(load(scores, i) - shift)
            store(scores, i, w)
            total = total + w
        store(Z, row * lanes, total)
        at += COLUMNS


@inlined
def _exponentials(p, row, first, count):
    """exp(score - least) of one row, columns first .. first+count-1 of the tile."""
    lanes = lanes_of(p.x)
    scores, at = p.scores, row * COLUMNS + first
    shift = splat_as(scores, p.least[row])
    for i in range(at, at + count, lanes):
        store(scores, i, _clipped_power_of_two(p.unit * (load(scores, i) - shift)))


@inlined
def _leave_out(p, row, k, j0, first, count):
    """Zero for columns of a row that token k does not see, frozen tokens with their weights; the sum into
    p.Z.  The token itself, where V = c I, goes to p.own instead."""
    lanes = lanes_of(p.x)
    scores, m = p.scores, p.m
    low = m + max(0, k - p.w + 1) if p.mask == WINDOW else m
    high = m + p.n if p.mask == FULL else m + k + 1
    for i in range(first, first + count):
        j = j0 + i
        if j < m:
            scores[row, i] *= p.a[j]
        elif not low <= j < high:
            scores[row, i] = 0.0
        elif j == m + k and p.scalar:
            p.own[row] = scores[row, i]
            scores[row, i] = 0.0
    total = load(p.Z, row * lanes)
    for i in range(first, first + count, lanes):
        total = total + load(scores, row * COLUMNS + i)
    store(p.Z, row * lanes, total)


@inlined
def _weigh_by_largest(p, row, k, j0, count):
    """The weights of one row relative to its largest score so far; what was summed before is rescaled."""
    lanes = lanes_of(p.x)
    scores, m, least = p.scores, p.m, p.least
    low = m + max(0, k - p.w + 1) if p.mask == WINDOW else m
    high = m + p.n if p.mask == FULL else m + k + 1
    for i in range(count):
        if j0 + i >= m and not low <= j0 + i < high:
            scores[row, i] = -np.inf
    best_8 = splat_as(scores, least[row])
    for i in range(0, count, lanes):
        best_8 = vmax(load(scores, row * COLUMNS + i), best_8)
    best = hmax(best_8)
    if best == -np.inf:  # nothing of this tile is seen
        for i in range(count):
            scores[row, i] = 0.0
        return
    if best > least[row]:
        shrink = np.exp(least[row] - best)
        D = p.sums.shape[1]
        for c in range(row * D, row * D + D, lanes):
            store(p.sums, c, shrink * load(p.sums, c))
        store(p.Z, row * lanes, shrink * load(p.Z, row * lanes))
        p.own[row] *= shrink
        least[row] = best
    _exponentials(p, row, 0, count)
    _leave_out(p, row, k, j0, 0, count)


@inlined
def _add_values(p, k0, k1, j0, j1):
    """sums += weights of the tile times the tokens of its columns."""
    panel = VECTORS * lanes_of(p.x)
    scores, values, sums, D, N = p.scores, p.values, p.sums, p.x.shape[1], p.m + p.n
    for c in range(0, D, panel):
        width = min(panel, D - c)
        for g in range(0, k1 - k0, GROUP):
            count = min(j1, _last_seen(p, k1, k0 + g)) - j0
            at = g * COLUMNS
            add_product(scores, at, COLUMNS, values, c * N + j0 * width, width, count, sums, g * D + c, D)


@inlined
def _end(p, k0, k1, velocity):
    """The velocities of a tile of rows, from its sums."""
    lanes = lanes_of(p.x)
    x, sums, part, D, d = p.x, p.sums, p.part, p.x.shape[1], p.d
    for row in range(k1 - k0):
        here = (p.m + k0 + row) * D
        others = hsum(load(p.Z, row * lanes))
        inverse = 1.0 / (others + p.own[row])
        for c in range(0, D, lanes):
            value = load(sums, row * D + c)
            if p.scalar:
                # without the self term: nothing is left where nothing pulls
                value = p.scale * (value - others * load(x, here + c))
                store(part, row * D + c, inverse * value)
            else:
                store(sums, row * D + c, inverse * value)
    if not p.scalar:
        _times(sums, 0, p.V, part, k1 - k0, d, D)
    for row in range(k1 - k0):
        k = k0 + row
        along = splat_as(x, 0.0)
        for c in range(0, D, lanes):
            along = fma(load(part, row * D + c), load(x, (p.m + k) * D + c), along)
        total = hsum(along)
        for c in range(d):
            velocity[k * d + c] = part[row, c] - total * x[p.m + k, c]


# The exponential that goes with the precision


def _power_of_two(x):
    """2^x for weights that are normal numbers."""


@overload(_power_of_two, jit_options={"nogil": True})
def _power_by_type(x):
    return (lambda x: exp2_singles(x)) if x == Singles else (lambda x: exp2_normal(x))


def _clipped_power_of_two(x):
    """2^x; 0 where that is no normal number, which in single precision does not occur."""


@overload(_clipped_power_of_two, jit_options={"nogil": True})
def _clipped_by_type(x):
    return (lambda x: exp2_singles(x)) if x == Singles else (lambda x: exp2(x))
