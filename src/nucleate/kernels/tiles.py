"""The drift for large d: tiles of scores and of weighted sums through BLAS, the softmax between them by eight
lanes.

A tile of rows k meets a tile of columns j; the largest score so far is kept per row and what was summed
before is rescaled, so no n x n array exists.  Any Q, K, V, any mask, frozen tokens.
"""

from typing import NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.model_shape import FULL, WINDOW, ModelShape, ordinary_shape
from nucleate.kernels.pairwise import put_on_sphere
from nucleate.kernels.simd import LANES, hmax, hsum, load, splat, store, vmax
from nucleate.kernels.vector_math import exp

__all__ = ["COLUMNS", "ROWS", "Tiles", "tiles_block", "tiles_place", "tiles_system", "weigh"]

ROWS, COLUMNS = 64, 256  # of a tile


class Tiles(NamedTuple):
    """One system for the tile kernel."""

    x: Array  # (m + n, d) frozen tokens first
    u: Array  # (n, d) beta K^T Q x_k
    logs: Array  # (m,) logarithms of the frozen tokens' weights
    A: Array  # (d, d) transposed: (beta K^T Q)^T
    V: Array  # (d, d) transposed
    scores: Array  # (ROWS, COLUMNS) scratch, like those below; each thread needs its own
    sums: Array  # (ROWS, d)
    part: Array  # (ROWS, d)
    Z: Array  # (ROWS,)
    largest: Array  # (ROWS,) scores so far
    n: int
    m: int
    w: int
    mask: int  # CAUSAL, FULL or WINDOW
    scale: float  # V = scale * I where `scalar`
    scalar: bool

    @property
    def places(self) -> Array:
        """(d, n) where the tokens stand."""
        return self.x[self.m :].T


def tiles_system(shape: ModelShape) -> Tiles:
    """The system of one run."""
    n, d, m = ordinary_shape(shape).n, shape.d, len(shape.frozen)
    return Tiles(
        x=np.concatenate([shape.frozen, np.zeros((n, d))]),
        u=np.zeros((n, d)),
        logs=np.log(shape.frozen_weight),
        A=np.ascontiguousarray((shape.beta * shape.A).T),
        V=shape.V.T.copy(),
        scores=np.zeros((ROWS, COLUMNS)),
        sums=np.zeros((ROWS, d)),
        part=np.zeros((ROWS, d)),
        Z=np.zeros(ROWS),
        largest=np.zeros(ROWS),
        n=n,
        m=m,
        w=shape.w,
        mask=shape.mask,
        scale=shape.scale,
        scalar=shape.scalar,
    )


@compiled
def tiles_place(p, y):
    """Put the state y, (n * d,) coordinates, on the sphere as rows of p.x."""
    put_on_sphere(y, p.x[p.m :].T)


@compiled
def tiles_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1; returns at once when stop[0] is set."""
    x, u, scores, sums, part, Z, largest = p.x, p.u, p.scores, p.sums, p.part, p.Z, p.largest
    n, m, mask, w = p.n, p.m, p.mask, p.w
    d = x.shape[1]
    for k0 in range(first, last, ROWS):
        k1 = min(k0 + ROWS, last)
        rows = k1 - k0
        np.dot(x[m + k0 : m + k1], p.A, u[k0:k1])
        for row in range(rows):
            Z[row], largest[row] = 0.0, -np.inf
            for c in range(d):
                sums[row, c] = 0.0
        low = m + max(0, k0 - w + 1) if mask == WINDOW else m
        high = m + n if mask == FULL else m + k1
        for j0 in range(0, high, COLUMNS):
            if stop[0]:
                return
            j1 = min(j0 + COLUMNS, high)
            if j0 >= m and j1 <= low:
                continue
            tile = scores[:rows].reshape(-1)[: rows * (j1 - j0)].reshape(rows, j1 - j0)
            np.dot(u[k0:k1], x[j0:j1].T, tile)
            for row in range(rows):
                weigh(tile, row, k0 + row, j0, m, mask, w, p.logs, sums, Z, largest)
            np.dot(tile, x[j0:j1], part[:rows])
            for row in range(rows):
                for c in range(d):
                    sums[row, c] += part[row, c]
        for row in range(rows):
            for c in range(d):
                sums[row, c] /= Z[row]
                if p.scalar:
                    # without the self term: nothing is left where nothing pulls
                    part[row, c] = p.scale * (sums[row, c] - x[m + k0 + row, c])
        if not p.scalar:
            np.dot(sums[:rows], p.V, part[:rows])
        for row in range(rows):
            k = k0 + row
            along = 0.0
            for c in range(d):
                along += part[row, c] * x[m + k, c]
            for c in range(d):
                velocity[k * d + c] = part[row, c] - along * x[m + k, c]


@inner
def weigh(tile, row, k, j0, m, mask, w, logs, sums, Z, largest):
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
