"""The drift for large d: tiles of scores and of weighted sums through BLAS, the softmax between them by eight
lanes.

A tile of rows k meets a tile of columns j; the largest score so far is kept per row and what was summed
before is rescaled, so no n x n array exists.  Any Q, K, V, any mask, frozen tokens.
"""

from typing import NamedTuple

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.pairwise import FULL, WINDOW, pairwise_system
from nucleate.kernels.simd import LANES, exp, hmax, hsum, load, splat, store, vmax

__all__ = ["Tiles", "tiles_block", "tiles_place", "tiles_system"]

ROWS, COLUMNS = 64, 256


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
    top: Array  # (ROWS,)
    n: int
    m: int
    w: int
    mask: int
    scale: float  # V = scale * I where `scalar`
    scalar: bool


def tiles_system(model: Attention, n: int, d: int, run: int = 0) -> Tiles:
    """The system of one run of `model`, for n tokens in dimension d."""
    p = pairwise_system(model, n, d, run)
    x = np.ascontiguousarray(p.x[:, : p.m + n].T)
    scratch = (
        np.zeros((ROWS, COLUMNS)),
        np.zeros((ROWS, d)),
        np.zeros((ROWS, d)),
        np.zeros(ROWS),
        np.zeros(ROWS),
    )
    return Tiles(
        x,
        np.zeros((n, d)),
        np.log(p.a[: p.m]),
        np.ascontiguousarray(p.A.T),
        np.ascontiguousarray(p.V.T),
        *scratch,
        n,
        p.m,
        p.w,
        p.mask,
        p.scale,
        p.scalar,
    )


@compiled
def tiles_place(p, y):
    """Put the state y, (n * d,) coordinates, on the sphere as rows of p.x."""
    x, n, m = p.x, p.n, p.m
    d = x.shape[1]
    for k in range(n):
        square = 0.0
        for c in range(d):
            square += y[k * d + c] * y[k * d + c]
        inverse = 1.0 / np.sqrt(square)
        for c in range(d):
            x[m + k, c] = y[k * d + c] * inverse


@compiled
def tiles_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1; returns at once when stop[0] is set."""
    x, u, scores, sums, part, Z, top = p.x, p.u, p.scores, p.sums, p.part, p.Z, p.top
    n, m, mask, w = p.n, p.m, p.mask, p.w
    d = x.shape[1]
    for k0 in range(first, last, ROWS):
        k1 = min(k0 + ROWS, last)
        rows = k1 - k0
        np.dot(x[m + k0 : m + k1], p.A, u[k0:k1])
        for row in range(rows):
            Z[row], top[row] = 0.0, -np.inf
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
                _soften(tile, row, k0 + row, j0, m, mask, w, p.logs, sums, Z, top)
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
def _soften(tile, row, k, j0, m, mask, w, logs, sums, Z, top):
    """Scores of one row into weights exp(score - top), zero for tokens k does not see; earlier sums rescaled
    to the new top."""
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
    largest = splat(top[row])
    for j in range(0, whole, LANES):
        largest = vmax(largest, load(tile, start + j))
    best = hmax(largest)
    for j in range(whole, columns):
        best = max(best, tile[row, j])
    if best == -np.inf:  # nothing of this tile is seen
        for j in range(columns):
            tile[row, j] = 0.0
        return
    if best > top[row]:
        shrink = np.exp(top[row] - best)
        Z[row] *= shrink
        for c in range(sums.shape[1]):
            sums[row, c] *= shrink
        top[row] = best
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
