"""The sums of one large system, in low dimensions: tiles of rows against chunks of columns.

A task is one tile of rows (tokens that look) against one chunk of columns (tokens that are seen).  Columns
come through fast memory, many at a time; a thread carries several rows, so that a column is fetched once for
all of them.  What a task summed goes to a place of its own, see large_system.

Weights are 2^(s - shift), with the token's own score as shift: it sees itself, so its weight is 1.  A score
that exceeds the shift by more than `MAX_RISE` becomes the new shift, and what was summed is scaled down.
"""

from typing import Any, NamedTuple

from numba import cuda, float32, float64, uint64

from nucleate.gpu.device import SIMULATED, device_function, kernel, made_once
from nucleate.gpu.exponential import exp2_double, exp2_single
from nucleate.gpu.pair_sums import Arithmetic

__all__ = [
    "MAX_RISE",
    "SumsKernel",
    "sees_column",
    "suits_tile",
    "takes_differences",
    "tile_sums",
]

THREADS = 4 if SIMULATED else 128
MAX_COLUMNS, TILE_BYTES = 4 if SIMULATED else 256, 2**15  # in fast memory at a time
MAX_RISE = 16.0  # of a score above the shift, a power of two
MAX_DIFFERENCES = 4  # dimensions up to which single precision takes differences of places


class SumsKernel(NamedTuple):
    """A kernel of sums, and how it is launched."""

    launch: Any
    rows: int  # of a tile
    columns: int  # a chunk is a multiple of this
    threads: int
    shared: int  # bytes of fast memory beyond what the kernel declares
    tasks: int  # about so many fill the card evenly


def takes_differences(arithmetic: Arithmetic) -> bool:
    """Whether sums are of w (x_j - x_k) with w from |x_j - x_k|^2, which keeps single precision good where
    tokens are near; else of w x_j with w from products."""
    return arithmetic.mixed and arithmetic.gaussian and arithmetic.d <= MAX_DIFFERENCES


@device_function
def sees_column(j, k, m, n, w, full):
    """Whether token k sees column j: frozen tokens are the first m columns."""
    return j < m or (j - m < n if full else k - w < j - m <= k)


def rows_per_thread(arithmetic: Arithmetic) -> int:
    """As many as registers allow; measured."""
    if SIMULATED:
        return 2
    d = arithmetic.d
    return (
        (2 if d <= 4 else 3 if d <= 16 else 2 if d <= 32 else 1) if arithmetic.mixed else 2 if d <= 16 else 1
    )


def suits_tile(arithmetic: Arithmetic) -> bool:
    """Whether registers hold whole rows; measured."""
    return arithmetic.d <= (12 if SIMULATED else 32)


@made_once
def tile_sums(arithmetic: Arithmetic) -> SumsKernel:
    """The kernel for this arithmetic."""
    D, R = arithmetic.d, rows_per_thread(arithmetic)
    GAUSSIAN, MIXED, FROZEN = arithmetic.gaussian, arithmetic.mixed, arithmetic.frozen
    DIFFERENCES = takes_differences(arithmetic)
    STRIDE = 4 if D == 3 else D + D % 2  # loads of 16 bytes need an even place
    real = float32 if MIXED else float64
    room = max(1, TILE_BYTES // ((4 if MIXED else 8) * STRIDE))
    COLUMNS = min(MAX_COLUMNS, 1 << (room.bit_length() - 1))
    TILE, ROWS, RD = COLUMNS * STRIDE, THREADS * R, D * R
    exp2 = exp2_single() if MIXED else exp2_double(arithmetic.exact)
    RISE = real(MAX_RISE)
    total_real = float64 if D <= MAX_DIFFERENCES else real  # of the sums over tiles, in single precision

    @device_function
    def rescale(shrink, r, S, Z, S_all, Z_all):
        Z[r] *= shrink
        for c in range(r * D, r * D + D):
            S[c] *= shrink
        if MIXED:
            Z_all[r] *= total_real(shrink)
            for c in range(r * D, r * D + D):
                S_all[c] *= total_real(shrink)

    @device_function
    def add(tile, at, weight, u, shift, r, seen, S, Z, S_all, Z_all):
        """The column at `at` joins the sums of the thread's row r, if it is seen."""
        if DIFFERENCES:  # u is where the token stands, shift the factor of the squared distance
            total = real(0.0)
            for c in range(D):
                step = tile[at + uint64(c)] - u[r * D + c]
                total += step * step
            power = shift[r] * total
        else:
            power = -shift[r]
            for c in range(D):
                power += u[r * D + c] * tile[at + uint64(c)]
            if not GAUSSIAN and power > RISE and seen:
                rescale(exp2(-power), r, S, Z, S_all, Z_all)
                shift[r] += power
                power = real(0.0)
        w = exp2(power)
        if FROZEN:
            w *= weight
        if not seen:
            w = real(0.0)
        Z[r] += w
        for c in range(D):
            place = tile[at + uint64(c)]
            S[r * D + c] += w * (place - u[r * D + c]) if DIFFERENCES else w * place

    @kernel(arithmetic, fastmath=MIXED)
    def sums(places, weights, u_all, own, n, m, w, full, tasks, chunk, parts):
        if SIMULATED:
            tile = cuda.shared.array(TILE, real)
        else:
            tile = cuda.shared.array(TILE, real, alignment=16)
        # a line of its own: the simulator tells shared arrays apart by their lines
        tile_weight = cuda.shared.array(COLUMNS, real)
        u, S, S_all = cuda.local.array(RD, real), cuda.local.array(RD, real), cuda.local.array(RD, total_real)
        shift, Z, Z_all = (
            cuda.local.array(R, real),
            cuda.local.array(R, real),
            cuda.local.array(R, total_real),
        )
        t = cuda.threadIdx.x
        first_row, part = tasks[cuda.blockIdx.x, 0] * ROWS, tasks[cuda.blockIdx.x, 1]
        for r in range(R):
            k = min(first_row + r * THREADS + t, n - 1)
            shift[r], Z[r], Z_all[r] = own[k], real(0.0), total_real(0.0)
            for c in range(D):
                u[r * D + c], S[r * D + c], S_all[r * D + c] = u_all[k, c], real(0.0), total_real(0.0)
        begin, end = part * chunk, min((part + 1) * chunk, m + n)
        for first in range(begin, end, COLUMNS):
            count = min(COLUMNS, end - first)
            cuda.syncthreads()
            for i in range(t, count * D, THREADS):
                tile[(i // D) * STRIDE + i % D] = places[first + i // D, i % D]
            if FROZEN:
                for i in range(t, count, THREADS):
                    tile_weight[i] = real(weights[first + i])
            cuda.syncthreads()
            at = uint64(0)
            # all rows see all columns of this tile, or each pair is asked
            if first >= m and (
                full or (first + count - 1 - m <= first_row and first - m > first_row + ROWS - 1 - w)
            ):
                for j in range(count):
                    for r in range(R):
                        add(tile, at, tile_weight[j], u, shift, r, True, S, Z, S_all, Z_all)
                    at += uint64(STRIDE)
            else:
                for j in range(count):
                    for r in range(R):
                        seen = sees_column(first + j, first_row + r * THREADS + t, m, n, w, full)
                        add(tile, at, tile_weight[j], u, shift, r, seen, S, Z, S_all, Z_all)
                    at += uint64(STRIDE)
            if MIXED:
                for r in range(R):
                    Z_all[r] += total_real(Z[r])
                    Z[r] = real(0.0)
                for c in range(RD):
                    S_all[c] += total_real(S[c])
                    S[c] = real(0.0)
        for r in range(R):
            k = first_row + r * THREADS + t
            if k < n:
                for c in range(D):
                    parts[part, c, k] = float64(S_all[r * D + c]) + float64(S[r * D + c])
                parts[part, D, k] = float64(Z_all[r]) + float64(Z[r])
                parts[part, D + 1, k] = 0.0 if DIFFERENCES else float64(shift[r])

    tasks = 8000 if MIXED and D > MAX_DIFFERENCES else 16000
    return SumsKernel(sums, ROWS, COLUMNS, THREADS, 0, 4 if SIMULATED else tasks)
