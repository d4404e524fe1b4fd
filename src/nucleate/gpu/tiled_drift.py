"""The velocities of one large system: row tiles against chunks of columns, nothing of size n^2 stored.

A task is one tile of rows (tokens that look) against one chunk of columns (tokens that are seen); its sums go
to a place of their own, and are added up in order: the same bits always.  Columns come through fast memory,
`COLUMNS` at a time.  Any Q, K, V, any mask, frozen tokens; see pair_sums for the sums.

Where K^T Q is not the identity every task keeps its largest score, and what was summed is rescaled when a
larger one comes.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64, uint64
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.gpu.device import SIMULATED, check_gpu, device_function, kernel
from nucleate.gpu.exponential import exp2_double, exp2_single
from nucleate.gpu.pair_sums import LOG2_E
from nucleate.kernels.model_shape import FULL, ModelShape
from nucleate.kernels.threads import Stop

__all__ = ["GpuSystem", "gpu_drift"]

ROWS = 4 if SIMULATED else 128  # of a tile: threads of a block, a token each
COLUMNS = 4 if SIMULATED else 128  # in fast memory at a time
TASKS = 4 if SIMULATED else 8000  # about so many fill the card evenly
LOWEST = -1e30  # less than any score


class Kernels(NamedTuple):
    """Compiled for one dimension and arithmetic."""

    sums: Any
    finish: Any


@cache
def kernels(d: int, gaussian: bool, mixed: bool, frozen: bool) -> Kernels:
    """The kernels for tokens in dimension d."""
    D, STRIDE = d, 4 if d == 3 else d
    GAUSSIAN, MIXED, FROZEN = gaussian, mixed, frozen
    real = float32 if MIXED else float64
    exp2 = exp2_single() if MIXED else exp2_double(True)
    TILE = COLUMNS * STRIDE

    @device_function
    def score(tile, at, u):
        total = u[0] * tile[at]
        for c in range(1, D):
            total += u[c] * tile[at + uint64(c)]
        return total

    @device_function
    def exponent(tile, at, u, here, factor):
        """Of the weight of the token at `at`, to the base 2, before the largest is taken off."""
        if GAUSSIAN:
            square = real(0.0)
            for c in range(D):
                step = tile[at + uint64(c)] - here[c]
                square += step * step
            return factor * square
        return score(tile, at, u)

    @device_function
    def sees(j, k, m, n, w, full):
        """Whether token k sees column j: frozen tokens are the first m columns."""
        return j < m or (j - m < n if full else k - w < j - m <= k)

    @kernel()
    def sums(columns, weights, A, beta, n, m, w, full, tasks, chunk, parts):
        tile = cuda.shared.array(TILE, real)
        # a line of its own: the simulator tells shared arrays apart by their lines
        tile_weight = cuda.shared.array(COLUMNS, real)
        here, u, S = cuda.local.array(D, real), cuda.local.array(D, real), cuda.local.array(D, real)
        S_all = cuda.local.array(D, float64)
        t = cuda.threadIdx.x
        first_row, part = tasks[cuda.blockIdx.x, 0] * ROWS, tasks[cuda.blockIdx.x, 1]
        k = first_row + t
        own = m + min(k, n - 1)
        scale = beta * LOG2_E
        factor = real(-0.5 * scale)
        for c in range(D):
            here[c] = real(columns[own, c])
            total = 0.0
            if not GAUSSIAN:
                for e in range(D):
                    total += A[c, e] * columns[own, e]
            u[c], S_all[c] = real(scale * total), 0.0
        Z_all, largest = 0.0, real(0.0 if GAUSSIAN else LOWEST)
        begin, end = part * chunk, min((part + 1) * chunk, m + n)
        for first in range(begin, end, COLUMNS):
            count = min(COLUMNS, end - first)
            cuda.syncthreads()
            for i in range(t, count * D, ROWS):
                tile[(i // D) * STRIDE + i % D] = real(columns[first + i // D, i % D])
            if FROZEN:
                for i in range(t, count, ROWS):
                    tile_weight[i] = real(weights[first + i])
            cuda.syncthreads()
            # all rows see all columns of this tile, or each pair is asked
            whole = first >= m and (
                full or (first + count - 1 - m <= first_row and first - m > first_row + ROWS - 1 - w)
            )
            if not GAUSSIAN:
                best, at = largest, uint64(0)
                for j in range(count):
                    if whole or sees(first + j, k, m, n, w, full):
                        best = max(best, score(tile, at, u))
                    at += uint64(STRIDE)
                if best > largest:
                    shrink = float64(exp2(largest - best))
                    Z_all *= shrink
                    for c in range(D):
                        S_all[c] *= shrink
                    largest = best
            Z, at = real(0.0), uint64(0)
            for c in range(D):
                S[c] = real(0.0)
            for j in range(count):
                if whole or sees(first + j, k, m, n, w, full):
                    power = exponent(tile, at, u, here, factor) - largest
                    weight = exp2(power)
                    if FROZEN:
                        weight *= tile_weight[j]
                    Z += weight
                    for c in range(D):
                        S[c] += weight * (tile[at + uint64(c)] - here[c])
                at += uint64(STRIDE)
            Z_all += float64(Z)
            for c in range(D):
                S_all[c] += float64(S[c])
        if k < n:
            for c in range(D):
                parts[part, c, k] = S_all[c]
            parts[part, D, k], parts[part, D + 1, k] = Z_all, float64(largest)

    @kernel()
    def finish(columns, V, n, m, used, parts, velocity):
        """Add the parts that a token has up, in order, and project."""
        k = cuda.grid(1)
        if k >= n:
            return
        S, out = cuda.local.array(D, float64), cuda.local.array(D, float64)
        first, last = used[k // ROWS, 0], used[k // ROWS, 1]
        largest = LOWEST
        for part in range(first, last):
            largest = max(largest, parts[part, D + 1, k])
        if m > 0 and first > 0:
            largest = max(largest, parts[0, D + 1, k])
        Z = 0.0
        for c in range(D):
            S[c] = 0.0
        for i in range(first - 1 if m > 0 and first > 0 else first, last):
            part = 0 if i < first else i  # frozen tokens are in the first part
            shrink = 2.0 ** (parts[part, D + 1, k] - largest)
            Z += shrink * parts[part, D, k]
            for c in range(D):
                S[c] += shrink * parts[part, c, k]
        along = 0.0
        for c in range(D):
            value = 0.0
            for e in range(D):
                value += V[c, e] * (columns[m + k, e] + S[e] / Z)
            out[c] = value
            along += value * columns[m + k, c]
        for c in range(D):
            velocity[k, c] = out[c] - along * columns[m + k, c]

    return Kernels(sums, finish)


class GpuSystem:
    """One system whose velocities the card computes; the solver sees it as it sees a team of threads."""

    def __init__(self, shape: ModelShape, mixed: bool) -> None:
        check_gpu()
        n, d, m = shape.n, shape.d, len(shape.frozen)
        self.n, self.d, self.m, self.w, self.full = n, d, m, shape.w, shape.mask == FULL
        self.compiled = kernels(d, shape.gaussian, mixed, m > 0)
        tasks, used, self.chunk, count = _tasks(n, m, shape.w, self.full)
        self.tasks, self.used = cuda.to_device(tasks), cuda.to_device(used)
        self.parts = cuda.device_array((count, d + 2, n))  # sums of places and weights, the largest score
        self.columns = cuda.pinned_array((m + n, d))
        self.columns[:m] = shape.frozen
        self.on_card = cuda.device_array((m + n, d))
        self.weights = cuda.to_device(np.concatenate([shape.frozen_weight, np.ones(n)]))
        self.A, self.V = cuda.to_device(shape.A.copy()), cuda.to_device(shape.V.copy())
        self.beta = shape.beta
        self.out = cuda.device_array((n, d))
        self.velocity = cuda.pinned_array((n, d))

    def place(self, y: Array) -> None:
        """Put the state y, flat and padded by 8, on the sphere."""
        n, d = self.n, self.d
        if d == 2:
            self.columns[self.m :, 0], self.columns[self.m :, 1] = np.cos(y[:n]), np.sin(y[:n])
            return
        x = y[: n * d].reshape(n, d)
        np.divide(x, np.sqrt(np.einsum("ij,ij->i", x, x))[:, None], out=self.columns[self.m :])

    def sweep(self, velocity: Array, stop: Stop) -> None:
        """The velocities of tokens already placed, flat and padded by 8."""
        if stop[0]:
            return
        self.compute()
        if self.d == 2:
            x = self.columns[self.m :]
            velocity[: self.n] = self.velocity[:, 1] * x[:, 0] - self.velocity[:, 0] * x[:, 1]
        else:
            velocity[: self.n * self.d] = self.velocity.ravel()

    def compute(self) -> None:
        """self.velocity = the velocities at self.columns."""
        self.on_card.copy_to_device(self.columns)
        arguments = self.on_card, self.weights, self.A, self.beta, self.n, self.m, self.w, self.full
        self.compiled.sums[len(self.tasks), ROWS](*arguments, self.tasks, self.chunk, self.parts)
        blocks = -(-self.n // ROWS)
        self.compiled.finish[blocks, ROWS](
            self.on_card, self.V, self.n, self.m, self.used, self.parts, self.out
        )
        self.out.copy_to_host(self.velocity)


def gpu_drift(shapes: Sequence[ModelShape], x: Array, mixed: bool) -> Array:
    """The velocity of every token of x (b, n, d); one shape for all runs, or one each."""
    velocity = np.empty_like(x)
    for run in range(len(x)):
        if run < len(shapes):
            system = GpuSystem(shapes[run], mixed)
        system.columns[system.m :] = x[run]
        system.compute()
        velocity[run] = system.velocity
    return velocity


def _tasks(n: int, m: int, w: int, full: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """(row tile, column chunk) of every task, long tiles first; the chunks of each row tile, first and one
    past the last (frozen tokens, in the first chunk, apart); the length of a chunk; how many there are."""
    tiles = -(-n // ROWS)
    low = np.zeros(tiles, dtype=np.int64) if full else np.maximum(0, np.arange(tiles) * ROWS - w + 1)
    high = np.full(tiles, n) if full else np.minimum(n, (np.arange(tiles) + 1) * ROWS)
    seen = int((high - low).sum()) + m * tiles
    chunk = max(2 * COLUMNS, m, -(-seen // TASKS // COLUMNS) * COLUMNS)
    used = np.stack([(m + low) // chunk, (m + high - 1) // chunk + 1], axis=1)
    tasks = [
        (tile, part)
        for tile in range(tiles - 1, -1, -1)
        for part in sorted({*range(used[tile, 0], used[tile, 1]), *([0] if m > 0 else [])})
    ]
    return np.array(tasks, dtype=np.int64), used, chunk, -(-(m + n) // chunk)
