"""The sums of one large system, in middle dimensions: the same tasks as tile_sums, as two products of
matrices per tile with the exponential between them.

Threads stand in a grid of `across` x `down`.  First each has the scores of `rows_each` rows with
`columns_each` columns; their weights go through fast memory; then it adds, for the same rows, its share of
the coordinates of all columns of the tile.  So a number that is fetched takes part in several products, and
fast memory is read and written 16 bytes at a time.
"""

from numba import cuda, float32, float64, uint64

from nucleate.gpu.device import SIMULATED, device_function, kernel, made_once
from nucleate.gpu.exponential import exp2_double, exp2_single
from nucleate.gpu.pair_sums import Arithmetic
from nucleate.gpu.tile_sums import MAX_RISE, SumsKernel, sees_column

__all__ = ["MAX_DIMENSION", "product_sums"]

MAX_DIMENSION = 128  # beyond it a thread has too many sums


def grid(arithmetic: Arithmetic) -> tuple[int, int, int, int]:
    """across, down, rows_each, columns_each: as many products to a fetch as registers allow; measured."""
    if SIMULATED:
        return 2, 2, 2, 4
    if arithmetic.mixed:
        return (8, 16, 8, 8) if arithmetic.d <= 64 else (16, 16, 8, 4)
    return 16, 8, 8, 4


@made_once
def product_sums(arithmetic: Arithmetic) -> SumsKernel:
    """The kernel for this arithmetic."""
    D, GAUSSIAN, FROZEN = arithmetic.d, arithmetic.gaussian, arithmetic.frozen
    MIXED = arithmetic.mixed
    ACROSS, DOWN, ROWS_EACH, COLUMNS_EACH = grid(arithmetic)
    THREADS, ROWS, COLUMNS = ACROSS * DOWN, DOWN * ROWS_EACH, ACROSS * COLUMNS_EACH
    real = float32 if MIXED else float64
    VECTOR = 4 if MIXED else 2  # numbers of 16 bytes
    exp2 = exp2_single() if MIXED else exp2_double(arithmetic.exact)
    RISE = real(MAX_RISE)
    GROUPS = -(-D // (ACROSS * VECTOR))  # of VECTOR coordinates, that a thread adds up
    SHARE, WIDE = GROUPS * VECTOR, GROUPS * VECTOR * ACROSS
    STRIDE, WEIGHT_STRIDE = WIDE + VECTOR, COLUMNS + VECTOR  # neighbours lie in different banks
    # where the parts of fast memory begin: u of the rows, places of the columns, weights, and numbers per row
    X = ROWS * STRIDE
    W = X + COLUMNS * STRIDE
    SHIFT = W + ROWS * WEIGHT_STRIDE
    RAISED, SHRINK, Z = SHIFT + ROWS, SHIFT + 2 * ROWS, SHIFT + 3 * ROWS
    END = Z + ROWS * ACROSS
    SUMS = ROWS_EACH * SHARE
    SCORES = max(ROWS_EACH * COLUMNS_EACH, SUMS if MIXED else 0)
    FETCHED = ROWS_EACH * VECTOR
    SCORE_STEPS, SUM_STEPS = -(-D // VECTOR), COLUMNS_EACH // VECTOR

    @device_function
    def fetch(shared, at, out, first):
        """out[first ..] = the VECTOR numbers from `at` on."""
        for e in range(VECTOR):
            out[first + e] = shared[at + uint64(e)]

    @device_function
    def fill(shared, at, count, tx, ty, rows, first, last):
        """`count` rows from the `first` on, to `at`; the last stands for those beyond it, seen by nobody."""
        for i in range(count // DOWN):
            r = ty + i * DOWN
            k = min(first + r, last)
            for g in range(GROUPS):
                for e in range(VECTOR):
                    c = (tx + g * ACROSS) * VECTOR + e
                    value = real(0.0)
                    if WIDE == D or c < D:
                        value = rows[uint64(k), uint64(c)]
                    shared[uint64(at + r * STRIDE + c)] = value

    @device_function
    def find_scores(shared, tx, ty, s, a, b):
        """s = the scores of rows ty, ty + DOWN ... with columns tx, tx + ACROSS ..."""
        for i in range(ROWS_EACH * COLUMNS_EACH):
            s[i] = real(0.0)
        at = uint64(0)
        for _ in range(SCORE_STEPS):
            for i in range(ROWS_EACH):
                fetch(shared, at + uint64((ty + i * DOWN) * STRIDE), a, i * VECTOR)
            for j in range(COLUMNS_EACH):
                fetch(shared, at + uint64(X + (tx + j * ACROSS) * STRIDE), b, 0)
                for i in range(ROWS_EACH):
                    for e in range(VECTOR):
                        s[i * COLUMNS_EACH + j] += a[i * VECTOR + e] * b[e]
            at += uint64(VECTOR)

    @device_function
    def own_place(tx, row, j):
        """Where the weight of a thread's column j lies: VECTOR columns of a thread side by side, then those
        of the next thread."""
        return uint64(W + row * WEIGHT_STRIDE + tx * VECTOR) + uint64(
            j // VECTOR * ACROSS * VECTOR + j % VECTOR
        )

    @device_function
    def put(shared, tx, ty, s):
        for i in range(ROWS_EACH):
            for j in range(COLUMNS_EACH):
                shared[own_place(tx, ty + i * DOWN, j)] = s[i * COLUMNS_EACH + j]

    @device_function
    def scores_to_weights(shared, tx, ty, s):
        """And their sums, by row and thread, where all pairs are seen."""
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            shift, total = shared[uint64(SHIFT + row)], real(0.0)
            for j in range(COLUMNS_EACH):
                s[i * COLUMNS_EACH + j] = exp2(s[i * COLUMNS_EACH + j] - shift)
                total += s[i * COLUMNS_EACH + j]
            shared[uint64(Z + row * ACROSS + tx)] += total

    @device_function
    def put_scores_to_weights(shared, tx, ty, weights, pairs):
        """The same in fast memory, where each pair is asked."""
        first, first_row, m, n, w, full = pairs
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            k, shift, total = min(first_row + row, n - 1), shared[SHIFT + row], real(0.0)
            for j in range(COLUMNS_EACH):
                at, column, weight = own_place(tx, row, j), first + tx + j * ACROSS, real(0.0)
                if sees_column(column, k, m, n, w, full):
                    weight = exp2(shared[at] - shift)
                    if FROZEN:
                        weight *= real(weights[column])
                total += weight
                shared[at] = weight
            shared[uint64(Z + row * ACROSS + tx)] += total

    @device_function
    def raise_shifts(shared, tx, ty, pairs):
        """Rows with a score far above their shift get a higher one, and SHRINK says by how much less their
        sums are then."""
        first, first_row, m, n, w, full = pairs
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            k = min(first_row + row, n - 1)
            for j in range(COLUMNS_EACH):
                score = shared[own_place(tx, row, j)]
                if score > shared[SHIFT + row] + RISE and sees_column(
                    first + tx + j * ACROSS, k, m, n, w, full
                ):
                    cuda.atomic.max(shared, RAISED + row, score)
        cuda.syncthreads()
        for row in range(cuda.threadIdx.x, ROWS, THREADS):
            shared[SHRINK + row] = exp2(shared[SHIFT + row] - shared[RAISED + row])
            shared[SHIFT + row] = shared[RAISED + row]
        cuda.syncthreads()

    @device_function
    def add(shared, tx, ty, S, a, b):
        """The columns of the tile join the sums."""
        at = uint64(W)
        for q in range(SUM_STEPS):
            column = uint64(X + q * VECTOR * ACROSS * STRIDE)
            for _ in range(ACROSS):
                for i in range(ROWS_EACH):
                    fetch(shared, at + uint64((ty + i * DOWN) * WEIGHT_STRIDE), a, i * VECTOR)
                for e in range(VECTOR):
                    for g in range(GROUPS):
                        fetch(shared, column + uint64(e * ACROSS * STRIDE + (tx + g * ACROSS) * VECTOR), b, 0)
                        for i in range(ROWS_EACH):
                            for f in range(VECTOR):
                                S[i * SHARE + g * VECTOR + f] += a[i * VECTOR + e] * b[f]
                at += uint64(VECTOR)
                column += uint64(STRIDE)

    @kernel(arithmetic, fastmath=MIXED)
    def sums(places, weights, u_all, own, n, m, w, full, tasks, chunk, parts):
        if SIMULATED:  # which knows no alignment
            shared = cuda.shared.array(0, real)
        else:
            shared = cuda.shared.array(0, real, alignment=16)
        s, S = cuda.local.array(SCORES, real), cuda.local.array(SUMS, real)
        a, b = cuda.local.array(FETCHED, real), cuda.local.array(VECTOR, real)
        t = cuda.threadIdx.x
        tx, ty = t % ACROSS, t // ACROSS
        first_row, part = tasks[cuda.blockIdx.x, 0] * ROWS, tasks[cuda.blockIdx.x, 1]
        fill(shared, 0, ROWS, tx, ty, u_all, first_row, n - 1)
        for row in range(t, ROWS, THREADS):
            shared[SHIFT + row] = shared[RAISED + row] = own[min(first_row + row, n - 1)]
        for i in range(t, ROWS * ACROSS, THREADS):
            shared[Z + i] = real(0.0)
        for i in range(SUMS):
            S[i] = real(0.0)
        begin, end = part * chunk, min((part + 1) * chunk, m + n)
        for first in range(begin, end, COLUMNS):
            cuda.syncthreads()
            fill(shared, X, COLUMNS, tx, ty, places, first, end - 1)
            cuda.syncthreads()
            # all rows see all columns of this tile, or each pair is asked
            whole = (
                first >= m
                and first + COLUMNS <= end
                and (full or (first + COLUMNS - 1 - m <= first_row and first - m > first_row + ROWS - 1 - w))
            )
            find_scores(shared, tx, ty, s, a, b)
            if GAUSSIAN and whole:
                scores_to_weights(shared, tx, ty, s)
                put(shared, tx, ty, s)
            else:
                put(shared, tx, ty, s)
                pairs = first, first_row, m, n, w, full
                if not GAUSSIAN:
                    raise_shifts(shared, tx, ty, pairs)
                    for i in range(ROWS_EACH):
                        shrink = shared[SHRINK + ty + i * DOWN]
                        shared[Z + (ty + i * DOWN) * ACROSS + tx] *= shrink
                        for j in range(SHARE):
                            S[i * SHARE + j] *= shrink
                put_scores_to_weights(shared, tx, ty, weights, pairs)
            cuda.syncthreads()
            if MIXED:  # the tile's sums first, in the place of its scores: rounding grows more slowly
                for i in range(SUMS):
                    s[i] = real(0.0)
                add(shared, tx, ty, s, a, b)
                for i in range(SUMS):
                    S[i] += s[i]
            else:
                add(shared, tx, ty, S, a, b)
        cuda.syncthreads()
        for i in range(ROWS_EACH):
            row = ty + i * DOWN
            if first_row + row < n:
                for j in range(SHARE):
                    c = (tx + j // VECTOR * ACROSS) * VECTOR + j % VECTOR
                    if c < D:
                        parts[part, c, first_row + row] = float64(S[i * SHARE + j])
        for row in range(t, min(ROWS, n - first_row), THREADS):
            total = 0.0
            for x in range(ACROSS):
                total += float64(shared[Z + row * ACROSS + x])
            parts[part, D, first_row + row] = total
            parts[part, D + 1, first_row + row] = float64(shared[SHIFT + row])

    size = END * (4 if MIXED else 8)
    return SumsKernel(sums, ROWS, COLUMNS, THREADS, size, 4 if SIMULATED else 8000)
