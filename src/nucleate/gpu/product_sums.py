"""The sums of one large system, in middle dimensions: the same tasks as tile_sums, as two products of
matrices per tile with the exponential between them.

Threads stand in a grid of `across` x `down`.  First each has the scores of `rows_each` rows with
`columns_each` columns; their weights go through fast memory; then it adds, for the same rows, its share of
the coordinates of all columns of the tile.  So a number that is fetched takes part in several products.
"""

from numba import cuda, float32, float64, uint64

from nucleate.gpu.device import SIMULATED, device_function, kernel, made_once
from nucleate.gpu.exponential import exp2_double, exp2_single
from nucleate.gpu.pair_sums import Arithmetic
from nucleate.gpu.tile_sums import MAX_RISE, SumsKernel, sees_column

__all__ = ["MAX_DIMENSION", "product_sums"]

# across, down, rows_each, columns_each: as many products to a fetch as registers allow
DOUBLE_GRID, SINGLE_GRID = ((2, 2, 2, 2), (2, 2, 2, 2)) if SIMULATED else ((16, 8, 8, 4), (8, 16, 8, 8))
MAX_DIMENSION = 128  # beyond it a thread has too many sums


@made_once
def product_sums(arithmetic: Arithmetic) -> SumsKernel:
    """The kernel for this arithmetic."""
    D, GAUSSIAN, FROZEN = arithmetic.d, arithmetic.gaussian, arithmetic.frozen
    MIXED = arithmetic.mixed
    ACROSS, DOWN, ROWS_EACH, COLUMNS_EACH = SINGLE_GRID if MIXED else DOUBLE_GRID
    THREADS, ROWS, COLUMNS = ACROSS * DOWN, DOWN * ROWS_EACH, ACROSS * COLUMNS_EACH
    real = float32 if MIXED else float64
    VECTOR = 4 if MIXED else 2  # numbers of a load of 16 bytes
    exp2 = exp2_single() if MIXED else exp2_double(arithmetic.exact)
    RISE = real(MAX_RISE)
    SHARE = -(-D // ACROSS)  # coordinates of a thread
    WIDE = max(SHARE * ACROSS, -(-D // VECTOR) * VECTOR)
    STRIDE, WEIGHT_STRIDE = WIDE + VECTOR, COLUMNS + VECTOR  # neighbours lie in different banks
    # where the parts of fast memory begin: u of the rows, places of the columns, weights, and numbers per row
    X = ROWS * STRIDE
    W = X + COLUMNS * STRIDE
    SHIFT = W + ROWS * WEIGHT_STRIDE
    RAISED, SHRINK, Z = SHIFT + ROWS, SHIFT + 2 * ROWS, SHIFT + 3 * ROWS
    END = Z + ROWS * ACROSS
    SUMS = ROWS_EACH * SHARE
    SCORES = max(ROWS_EACH * COLUMNS_EACH, SUMS if MIXED else 0)
    FETCHED_ROWS, FETCHED_COLUMNS = ROWS_EACH * VECTOR, COLUMNS_EACH * VECTOR
    SCORE_STEPS, SUM_STEPS = -(-D // VECTOR), COLUMNS // VECTOR

    @device_function
    def fetch(shared, at, row, stride, step, count, out):
        """out = `count` rows, `step` apart, VECTOR numbers of each from `at` on."""
        for i in range(count):
            base = at + uint64((row + i * step) * stride)
            for e in range(VECTOR):
                out[i * VECTOR + e] = shared[base + uint64(e)]

    @device_function
    def scores(shared, tx, ty, s, a, b):
        """The scores of the thread's rows and columns, where their weights will be."""
        for i in range(ROWS_EACH * COLUMNS_EACH):
            s[i] = real(0.0)
        at = uint64(0)
        for _ in range(SCORE_STEPS):
            fetch(shared, at, ty, STRIDE, DOWN, ROWS_EACH, a)
            fetch(shared, at + uint64(X), tx, STRIDE, ACROSS, COLUMNS_EACH, b)
            for i in range(ROWS_EACH):
                for j in range(COLUMNS_EACH):
                    for e in range(VECTOR):
                        s[i * COLUMNS_EACH + j] += a[i * VECTOR + e] * b[j * VECTOR + e]
            at += uint64(VECTOR)
        for i in range(ROWS_EACH):
            for j in range(COLUMNS_EACH):
                shared[W + (ty + i * DOWN) * WEIGHT_STRIDE + tx + j * ACROSS] = s[i * COLUMNS_EACH + j]

    @device_function
    def raise_shifts(shared, tx, ty, pairs, whole):
        """Rows with a score far above their shift get a higher one, and SHRINK says by how much less their
        sums are then."""
        first, first_row, m, n, w, full = pairs
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            for j in range(COLUMNS_EACH):
                column = tx + j * ACROSS
                score = shared[W + row * WEIGHT_STRIDE + column]
                if score > shared[SHIFT + row] + RISE and (
                    whole or sees_column(first + column, first_row + row, m, n, w, full)
                ):
                    cuda.atomic.max(shared, RAISED + row, score)
        cuda.syncthreads()
        for row in range(cuda.threadIdx.x, ROWS, THREADS):
            shared[SHRINK + row] = exp2(shared[SHIFT + row] - shared[RAISED + row])
            shared[SHIFT + row] = shared[RAISED + row]
        cuda.syncthreads()

    @device_function
    def scores_to_weights(shared, tx, ty, weights, pairs, whole):
        """And their sums, by row and thread."""
        first, first_row, m, n, w, full = pairs
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            shift, total = shared[SHIFT + row], real(0.0)
            for j in range(COLUMNS_EACH):
                column = tx + j * ACROSS
                at = W + row * WEIGHT_STRIDE + column
                weight = exp2(shared[at] - shift)
                if not whole and not sees_column(first + column, first_row + row, m, n, w, full):
                    weight = real(0.0)
                elif FROZEN:
                    weight *= real(weights[first + column])
                total += weight
                shared[at] = weight
            shared[Z + row * ACROSS + tx] += total

    @device_function
    def add(shared, tx, ty, S, a):
        """The columns of the tile join the sums."""
        at, column = uint64(W), uint64(X + tx)
        for _ in range(SUM_STEPS):
            fetch(shared, at, ty, WEIGHT_STRIDE, DOWN, ROWS_EACH, a)
            for e in range(VECTOR):
                for j in range(SHARE):
                    place = shared[column + uint64(e * STRIDE + j * ACROSS)]
                    for i in range(ROWS_EACH):
                        S[i * SHARE + j] += a[i * VECTOR + e] * place
            column += uint64(VECTOR * STRIDE)
            at += uint64(VECTOR)

    @kernel(arithmetic, fastmath=MIXED)
    def sums(places, weights, u_all, own, n, m, w, full, tasks, chunk, parts):
        if SIMULATED:  # which knows no alignment
            shared = cuda.shared.array(0, real)
        else:
            shared = cuda.shared.array(0, real, alignment=16)
        s, S = cuda.local.array(SCORES, real), cuda.local.array(SUMS, real)
        a, b = cuda.local.array(FETCHED_ROWS, real), cuda.local.array(FETCHED_COLUMNS, real)
        t = cuda.threadIdx.x
        tx, ty = t % ACROSS, t // ACROSS
        first_row, part = tasks[cuda.blockIdx.x, 0] * ROWS, tasks[cuda.blockIdx.x, 1]
        for i in range(t, ROWS * WIDE, THREADS):
            k, c = min(first_row + i // WIDE, n - 1), i % WIDE
            shared[(i // WIDE) * STRIDE + c] = u_all[k, c] if c < D else real(0.0)
        for row in range(t, ROWS, THREADS):
            shared[SHIFT + row] = shared[RAISED + row] = own[min(first_row + row, n - 1)]
        for i in range(t, ROWS * ACROSS, THREADS):
            shared[Z + i] = real(0.0)
        for i in range(SUMS):
            S[i] = real(0.0)
        begin, end = part * chunk, min((part + 1) * chunk, m + n)
        for first in range(begin, end, COLUMNS):
            cuda.syncthreads()
            for i in range(t, COLUMNS * WIDE, THREADS):
                j, c = first + i // WIDE, i % WIDE
                shared[X + (i // WIDE) * STRIDE + c] = places[j, c] if c < D and j < end else real(0.0)
            cuda.syncthreads()
            # all rows see all columns of this tile, or each pair is asked
            whole = (
                first >= m
                and first + COLUMNS <= end
                and (full or (first + COLUMNS - 1 - m <= first_row and first - m > first_row + ROWS - 1 - w))
            )
            pairs = first, first_row, m, n, w, full
            scores(shared, tx, ty, s, a, b)
            if not GAUSSIAN:
                raise_shifts(shared, tx, ty, pairs, whole)
                for i in range(ROWS_EACH):
                    shrink = shared[SHRINK + ty + i * DOWN]
                    shared[Z + (ty + i * DOWN) * ACROSS + tx] *= shrink
                    for j in range(SHARE):
                        S[i * SHARE + j] *= shrink
            scores_to_weights(shared, tx, ty, weights, pairs, whole)
            cuda.syncthreads()
            if MIXED:  # the tile's sums first, in the place of its scores: rounding grows more slowly
                for i in range(SUMS):
                    s[i] = real(0.0)
                add(shared, tx, ty, s, a)
                for i in range(SUMS):
                    S[i] += s[i]
            else:
                add(shared, tx, ty, S, a)
        cuda.syncthreads()
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            if first_row + row < n:
                for j in range(SHARE):
                    if tx + j * ACROSS < D:
                        parts[part, tx + j * ACROSS, first_row + row] = float64(S[i * SHARE + j])
        for row in range(t, min(ROWS, n - first_row), THREADS):
            total = 0.0
            for x in range(ACROSS):
                total += float64(shared[Z + row * ACROSS + x])
            parts[part, D, first_row + row] = total
            parts[part, D + 1, first_row + row] = float64(shared[SHIFT + row])

    size = END * (4 if MIXED else 8)
    return SumsKernel(sums, ROWS, COLUMNS, THREADS, size, 4 if SIMULATED else 8000)
