"""The velocities of a block for large d: as `heads.py`, in tiles of scores and of weighted sums through BLAS.

Softmax and exponential weights differ only in what the sums are divided by.  For hardmax the product finds
the few tokens whose score may be the highest, within rounding; these are compared by scores taken one by one
as in `heads.py`, which tell neighbours apart that a product cannot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import EPS, Array
from nucleate.kernels.block_shape import BlockShape
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.heads import (
    activated,
    decay_sum,
    head_records,
    mask_of,
    pairs_of,
    stacked,
    turns,
    write_velocity,
)
from nucleate.kernels.model_shape import EXPONENTIAL, FULL, HARDMAX, WINDOW
from nucleate.kernels.own_term import NO_TERM, add_own_term, own_term
from nucleate.kernels.pairwise import put_on_sphere
from nucleate.kernels.simd import LANES, hmax, hsum, load, splat, store, vmax
from nucleate.kernels.vector_math import exp

__all__ = [
    "HEAD_ROWS",
    "HeadTiles",
    "head_tiles_block",
    "head_tiles_images",
    "head_tiles_place",
    "head_tiles_system",
]

HEAD_ROWS, COLUMNS = 64, 256  # of a tile


class HeadTiles(NamedTuple):
    """One run of a block for the tile kernel.  M frozen tokens of all heads together, m rows of the MLP."""

    x: Array  # (M + n, d) frozen tokens first
    logs: Array  # (M,) logarithms of the frozen tokens' weights
    heads: NDArray[np.void]  # (H,) of HEAD
    A: Array  # (H, d, d) transposed: (beta K^T Q)^T; (beta Q)^T for a head with RoPE
    K: Array  # (H, d, d) transposed, used with RoPE
    V: Array  # (H, d, d) transposed, used unless V = c I
    turn: Array  # (H, n, d) cos and sin of RoPE's angles in turn; (0, n, d) where no head has RoPE
    keys: Array  # (H, n, d) R_j K x_j; (0, n, d) likewise
    W: Array  # (m, d) transposed
    a: Array  # (d, m) transposed
    b: Array  # (m,)
    own: int  # the address of the term of one's own, or NO_TERM
    added: Array  # (n, d) what the term of one's own gives; (0, d) without
    u: Array  # (HEAD_ROWS, d) scratch, like those below; each thread needs its own
    scores: Array  # (HEAD_ROWS, COLUMNS)
    sums: Array  # (HEAD_ROWS, d)
    part: Array  # (HEAD_ROWS, d)
    values: Array  # (HEAD_ROWS, d)
    out: Array  # (HEAD_ROWS, d) outputs less their parts along x_k
    radial: Array  # (HEAD_ROWS,) those parts
    Z: Array  # (HEAD_ROWS,)
    largest: Array  # (HEAD_ROWS,) scores so far
    margin: Array  # (HEAD_ROWS,) for hardmax: by how much a score of the product may be wrong
    highest: Array  # (HEAD_ROWS,) the product's highest score so far
    hidden: Array  # (HEAD_ROWS, m)
    n: int
    norm: int  # POST, PRE, PERI or NGPT
    activation: int
    alpha: float
    exclude_self: bool

    @property
    def places(self) -> Array:
        """(d, n) where the tokens stand."""
        return self.x[len(self.logs) :].T

    @property
    def mask(self) -> int:
        """That of the head that takes longest."""
        return mask_of(self.heads)

    @property
    def pairs(self) -> float:
        """How many pairs one evaluation sums over."""
        return pairs_of(self.heads, self.n)


def head_tiles_system(shape: BlockShape) -> HeadTiles:
    """The system of one run."""
    n, d, heads = shape.n, shape.d, shape.heads
    turn = turns(heads, n, d)
    return HeadTiles(
        x=np.concatenate([*(head.frozen for head in heads), np.zeros((n, d))]),
        logs=np.log(np.concatenate([np.zeros(0), *(head.frozen_weight for head in heads)])),
        heads=head_records(heads),
        A=stacked([(head.beta * (head.Q if head.rope_base > 0.0 else head.A)).T for head in heads], d),
        K=stacked([head.K.T for head in heads], d),
        V=stacked([head.V.T for head in heads], d),
        turn=turn,
        keys=np.zeros(turn.shape),
        W=shape.W.T.copy(),
        a=shape.a.T.copy(),
        b=shape.b.copy(),
        own=own_term(shape.own),
        added=np.zeros((0 if shape.own is None else n, d)),
        u=np.zeros((HEAD_ROWS, d)),
        scores=np.zeros((HEAD_ROWS, COLUMNS)),
        sums=np.zeros((HEAD_ROWS, d)),
        part=np.zeros((HEAD_ROWS, d)),
        values=np.zeros((HEAD_ROWS, d)),
        out=np.zeros((HEAD_ROWS, d)),
        radial=np.zeros(HEAD_ROWS),
        Z=np.zeros(HEAD_ROWS),
        largest=np.zeros(HEAD_ROWS),
        margin=np.zeros(HEAD_ROWS),
        highest=np.zeros(HEAD_ROWS),
        hidden=np.zeros((HEAD_ROWS, len(shape.b))),
        n=n,
        norm=shape.norm,
        activation=shape.activation,
        alpha=shape.alpha,
        exclude_self=shape.exclude_self,
    )


@compiled
def head_tiles_place(p, y):
    """Put the state y, (n * d,) coordinates, on the sphere as rows of p.x."""
    put_on_sphere(y, p.x[p.logs.size :].T)


@compiled
def head_tiles_images(p):
    """Once the tokens are placed: the keys of heads with RoPE, and the term of one's own."""
    tokens = p.x[p.logs.size :]  # (n, d)
    for h in range(p.turn.shape[0]):
        if p.heads[h].rope:
            np.dot(tokens, p.K[h], p.keys[h])
            _turn_rows(p.keys[h], p.turn[h], p.n)
    if p.own != NO_TERM:
        p.added[:] = 0.0
        add_own_term(p.own, tokens, p.added)


@inner
def _turn_rows(q, turn, count):
    """R_k q_k for the first rows k of q (count, d); turn (count, d)."""
    for k in range(count):
        for c in range(0, q.shape[1], 2):
            cosine, sine, even, odd = turn[k, c], turn[k, c + 1], q[k, c], q[k, c + 1]
            q[k, c], q[k, c + 1] = even * cosine - odd * sine, even * sine + odd * cosine


@compiled
def head_tiles_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1, first a multiple of HEAD_ROWS; returns at once when stop[0] is
    set."""
    x, out, part, hidden, radial = p.x, p.out, p.part, p.hidden, p.radial
    M, d = p.logs.size, p.x.shape[1]
    for k0 in range(first, last, HEAD_ROWS):
        k1 = min(k0 + HEAD_ROWS, last)
        rows = k1 - k0
        here = x[M + k0 : M + k1]  # (rows, d)
        for row in range(rows):
            radial[row] = 0.0
            for c in range(d):
                out[row, c] = p.added[k0 + row, c] if p.added.shape[0] > 0 else 0.0
        for h in range(p.heads.size):
            if stop[0]:
                return
            _head_tile_sums(p, h, k0, k1, stop)
            _add_outputs(p, h, k0, rows, here)
        if p.b.size > 0:
            np.dot(here, p.a, hidden[:rows])
            for row in range(rows):
                for i in range(p.b.size):
                    hidden[row, i] = activated(p.activation, hidden[row, i] + p.b[i])
            np.dot(hidden[:rows], p.W, part[:rows])
            for row in range(rows):
                for c in range(d):
                    out[row, c] += part[row, c]
        for row in range(rows):
            write_velocity(out[row], here[row], radial[row], p.norm, p.alpha, False, velocity, k0 + row)


@inner
def _head_tile_sums(p, h, k0, k1, stop):
    """Of one head: p.sums = sum_j w_kj x_j and p.Z, for tokens k0 .. k1-1, weights relative to the largest
    score."""
    x, u, scores, sums, part, Z, largest = p.x, p.u, p.scores, p.sums, p.part, p.Z, p.largest
    head, n, M, d = p.heads[h], p.n, p.logs.size, p.x.shape[1]
    rows = k1 - k0
    np.dot(x[M + k0 : M + k1], p.A[h], u[:rows])
    if head.rope:
        _turn_rows(u, p.turn[h, k0:k1], rows)
    for row in range(rows):
        Z[row], largest[row] = 0.0, -np.inf
        for c in range(d):
            sums[row, c] = 0.0
    if head.weights == HARDMAX:
        _set_margins(p, h, rows)
    low = max(0, k0 - head.w + 1) // COLUMNS * COLUMNS if head.mask == WINDOW else 0
    for tokens in range(0 if head.last > head.first else 1, 2):
        start = M + low if tokens else head.first
        end = (M + n if head.mask == FULL else M + k1) if tokens else head.last
        for j0 in range(start, end, COLUMNS):
            if stop[0]:
                return
            j1 = min(j0 + COLUMNS, end)
            tile = scores[:rows].reshape(-1)[: rows * (j1 - j0)].reshape(rows, j1 - j0)
            if head.rope:
                np.dot(u[:rows], p.keys[h][j0 - M : j1 - M].T, tile)
            else:
                np.dot(u[:rows], x[j0:j1].T, tile)
            if head.slope > 0.0:
                for row in range(rows):
                    for j in range(j1 - j0):
                        tile[row, j] -= head.slope * abs(k0 + row - (j0 - M + j))
            if head.weights == HARDMAX:
                for row in range(rows):
                    _take_best(p, h, tile, row, k0 + row, j0)
                continue
            for row in range(rows):
                _weigh(tile, row, k0 + row, j0, M, head.mask, head.w, p.logs, sums, Z, largest)
            np.dot(tile, x[j0:j1], part[:rows])
            for row in range(rows):
                for c in range(d):
                    sums[row, c] += part[row, c]


@inner
def _set_margins(p, h, rows):
    """d roundings of every product <u_k, key_j>, and those of ALiBi, several times over."""
    head, d = p.heads[h], p.x.shape[1]
    longest = np.sqrt((p.K[h] * p.K[h]).sum()) if head.rope else 1.0  # of a key
    for row in range(rows):
        length = np.sqrt((p.u[row] * p.u[row]).sum()) * longest
        p.margin[row] = 8.0 * (d + 8.0) * EPS * (length + head.slope * p.n)
        p.highest[row] = -np.inf


@inner
def _take_best(p, h, tile, row, k, j0):
    """Hardmax: p.sums = sum of x_j - x_k over all j != k with the highest score so far, p.Z how many."""
    x, u, sums, Z, largest, highest = p.x, p.u, p.sums, p.Z, p.largest, p.highest
    head, M, d, columns = p.heads[h], p.logs.size, p.x.shape[1], tile.shape[1]
    first = max(0, M + k - head.w + 1 - j0) if head.mask == WINDOW else 0
    last = columns if head.mask == FULL else min(columns, M + k + 1 - j0)
    if first <= M + k - j0 < last:
        tile[row, M + k - j0] = -np.inf  # not the token itself
    start, best_8, whole = row * columns, splat(highest[row]), first + max(0, last - first) // LANES * LANES
    for j in range(first, whole, LANES):
        best_8 = vmax(best_8, load(tile, start + j))
    highest[row] = hmax(best_8)
    for j in range(whole, last):
        highest[row] = max(highest[row], tile[row, j])
    least = highest[row] - 2.0 * p.margin[row]
    for j in range(first, last):
        if not tile[row, j] >= least or tile[row, j] == -np.inf:
            continue
        score = -head.slope * abs(M + k - j0 - j)
        if head.gaussian:
            square = 0.0
            for c in range(d):
                square += (x[j0 + j, c] - x[M + k, c]) ** 2
            score -= 0.5 * head.beta * square
        elif head.rope:
            for c in range(d):
                score += u[row, c] * p.keys[h, j0 + j - M, c]
        else:
            for c in range(d):
                score += u[row, c] * x[j0 + j, c]
        if score > largest[row]:
            largest[row], Z[row] = score, 0.0
            for c in range(d):
                sums[row, c] = 0.0
        if score == largest[row]:
            Z[row] += 1.0
            for c in range(d):
                sums[row, c] += x[j0 + j, c] - x[M + k, c]


@inner
def _add_outputs(p, h, k0, rows, here):
    """out += V (total x_k + D_k) of one head, for V = c I without the part along x_k, which goes to
    `radial`."""
    head, sums, part, values, out, n = p.heads[h], p.sums, p.part, p.values, p.out, p.n
    d = here.shape[1]
    for row in range(rows):
        total, k = 1.0, k0 + row
        if head.weights == EXPONENTIAL:
            before = k if head.mask == FULL else min(k, head.w - 1)
            after = n - 1 - k if head.mask == FULL else 0
            count = head.mass + decay_sum(head.slope, before) + decay_sum(head.slope, after) - 1.0
            total = np.exp(p.largest[row]) * (p.Z[row] / count)
        factor = total / p.Z[row]
        # for V = c I without the self term: nothing is left where nothing pulls
        self_term = total if head.scalar else 0.0
        if head.weights == HARDMAX:  # differences from x_k already
            total = min(p.Z[row], 1.0)
            factor, self_term = 1.0 / max(p.Z[row], 1.0), 0.0 if head.scalar else -total
        for c in range(d):
            sums[row, c] = sums[row, c] * factor - self_term * here[row, c]
        if head.scalar:
            along = 0.0
            if p.exclude_self:
                for c in range(d):
                    along += sums[row, c] * here[row, c]
            else:
                p.radial[row] += head.scale * total
            for c in range(d):
                out[row, c] += head.scale * (sums[row, c] - along * here[row, c])
    if head.scalar:
        return
    np.dot(sums[:rows], p.V[h], part[:rows])
    if p.exclude_self:
        np.dot(here, p.V[h], values[:rows])
    for row in range(rows):
        along, square = 0.0, 0.0
        if p.exclude_self:
            for c in range(d):
                along += part[row, c] * values[row, c]
                square += values[row, c] * values[row, c]
        loss = along / square if square > 0.0 else 0.0
        for c in range(d):
            out[row, c] += part[row, c] - loss * values[row, c]


@inner
def _weigh(tile, row, k, j0, m, mask, w, logs, sums, Z, largest):
    """Scores of one row into weights exp(score - largest), zero for tokens k does not see; what was summed
    before is rescaled to the new largest score."""
    columns = tile.shape[1]
    for j in range(j0, min(m, j0 + columns)):
        tile[row, j - j0] += logs[j]
    if mask != FULL:
        for j in range(max(j0, m + k + 1), j0 + columns):
            tile[row, j - j0] = -np.inf
    if mask == WINDOW:
        for j in range(max(j0, m), min(j0 + columns, m + k - w + 1)):
            tile[row, j - j0] = -np.inf
    whole = columns // LANES * LANES
    start = row * columns
    best_8 = splat(largest[row])
    for j in range(0, whole, LANES):
        best_8 = vmax(best_8, load(tile, start + j))
    best = hmax(best_8)
    for j in range(whole, columns):
        best = max(best, tile[row, j])
    if best == -np.inf:  # nothing of this tile is seen
        for j in range(columns):
            tile[row, j] = 0.0
        return
    if best > largest[row]:
        shrink = np.exp(largest[row] - best)
        Z[row] *= shrink
        for c in range(sums.shape[1]):
            sums[row, c] *= shrink
        largest[row] = best
    total = splat(0.0)
    for j in range(0, whole, LANES):
        weight = exp(load(tile, start + j) - best)
        store(tile, start + j, weight)
        total = total + weight
    rest = 0.0
    for j in range(whole, columns):
        tile[row, j] = np.exp(tile[row, j] - best)
        rest += tile[row, j]
    Z[row] += hsum(total) + rest
