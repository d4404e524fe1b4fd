"""One large system: its velocities by the whole card, its steps without leaving it.

The sums of tile_sums or product_sums go to parts of their own, one per chunk of columns, and are added up in
order: the same bits always.  The loop over steps runs in Python, see step_loop; the state, the stages and
the error stay on the card, and three numbers a step come back.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.gpu.device import (
    SIMULATED,
    allow_shared_memory,
    check_gpu,
    free_memory,
    kernel,
    made_once,
    shared_memory,
)
from nucleate.gpu.pair_sums import LOG2_E, Arithmetic
from nucleate.gpu.product_sums import MAX_DIMENSION, product_sums
from nucleate.gpu.step_loop import INITIAL_ERROR_BEFORE, StepFunctions, make_loop, table_weights
from nucleate.gpu.tile_sums import SumsKernel, suits_tile, takes_differences, tile_sums
from nucleate.gpu.token_steps import MIN_DIVISOR, token_steps, width
from nucleate.integrate.run_buffers import RunBuffers
from nucleate.integrate.status import RUNNING
from nucleate.integrate.tableau import Tableau
from nucleate.kernels.model_shape import FULL, ModelShape, ordinary_shape

__all__ = ["LargeSystem", "gpu_drift", "integrate_large"]

THREADS = 4 if SIMULATED else 128  # of a block, a token each
MAX_CARD_DIMENSION = 1024  # more does not fit into fast memory
POLL_SECONDS = 0.0005  # between two looks at what the card has done
MAX_QUEUED_PAIRS = 1e11  # handed to the card before it is waited for: Ctrl-C need not wait longer


class Kernels(NamedTuple):
    """Compiled for one arithmetic."""

    sums: SumsKernel
    place: Any
    finish: Any
    errors: Any
    largest: Any
    write_frame: Any
    accept: Any


def sums_kernel(arithmetic: Arithmetic) -> SumsKernel:
    """The kernel of sums that suits the dimension."""
    if suits_tile(arithmetic) or arithmetic.d > MAX_DIMENSION:
        return tile_sums(arithmetic)
    return product_sums(arithmetic)


@made_once
def kernels(arithmetic: Arithmetic) -> Kernels:
    """The kernels for this arithmetic."""
    D, WIDTH, ANGLE = arithmetic.d, width(arithmetic.d), arithmetic.d == 2
    GAUSSIAN, MIXED, DIFFERENCES = arithmetic.gaussian, arithmetic.mixed, takes_differences(arithmetic)
    real = float32 if MIXED else float64
    put_on_sphere, combine, token_errors, frame_place, accept_token = token_steps(D)

    @kernel(arithmetic)
    def place(rows, size, weights, i, h, y, A, beta, m, places, seen, u_all, own):
        """Every token where stage i is taken: its place, in double precision and as pairs see it; u = beta
        log2(e) K^T Q x, and its score with itself."""
        k = cuda.grid(1)
        if k * WIDTH >= size:
            return
        x = cuda.local.array(D, float64)
        combine(rows, size, weights, i, i, h, k, y, x)
        put_on_sphere(x)
        scale, score = beta * LOG2_E, 0.0
        for c in range(D):
            places[m + k, c], seen[m + k, c] = x[c], real(x[c])
            total = x[c]
            if not GAUSSIAN:
                total = 0.0
                for e in range(D):
                    total += A[c, e] * x[e]
            score += scale * total * x[c]
            u_all[k, c] = real(x[c]) if DIFFERENCES else real(scale * total)
        own[k] = real(-0.5 * scale if DIFFERENCES else score)

    @kernel(arithmetic)
    def finish(places, V, n, m, chunks, tile_rows, parts, rows, size, i):
        """Row i = the velocities: the parts that a token has, added up in order, and projected."""
        k = cuda.grid(1)
        if k >= n:
            return
        S, out = cuda.local.array(D, float64), cuda.local.array(D, float64)
        first, last = chunks[k // tile_rows, 0], chunks[k // tile_rows, 1]
        begin = first - 1 if m > 0 and first > 0 else first  # frozen tokens are in the first part
        shift = parts[first, D + 1, k]
        if not GAUSSIAN:  # else all parts have the same
            for at in range(begin, last):
                shift = max(shift, parts[0 if at < first else at, D + 1, k])
        Z = 0.0
        for c in range(D):
            S[c] = 0.0
        for at in range(begin, last):
            part = 0 if at < first else at
            shrink = 1.0 if GAUSSIAN else 2.0 ** (parts[part, D + 1, k] - shift)
            Z += shrink * parts[part, D, k]
            for c in range(D):
                S[c] += shrink * parts[part, c, k]
        for c in range(D):
            S[c] = S[c] / Z + places[m + k, c] if DIFFERENCES else S[c] / Z
        along = 0.0
        for c in range(D):
            value = 0.0
            for e in range(D):
                value += V[c, e] * S[e]
            out[c] = value
            along += value * places[m + k, c]
        for c in range(D):
            out[c] -= along * places[m + k, c]
        if ANGLE:
            rows[i * size + k] = out[1] * places[m + k, 0] - out[0] * places[m + k, 1]
        else:
            for c in range(D):
                rows[i * size + k * D + c] = out[c]

    @kernel(arithmetic)
    def errors(rows, size, E, E_low, gap, found):
        """What `token_errors` says of every token."""
        k = cuda.grid(1)
        if k * WIDTH < size:
            found[0, k], found[1, k], found[2, k] = token_errors(rows, size, E, E_low, gap, k)

    @kernel(arithmetic)
    def largest(values, found):
        """found[row, block] = the largest of a row's values that the block looks at; NaN counts as
        infinite."""
        scratch = cuda.shared.array(THREADS, float64)
        t, row, worst = cuda.threadIdx.x, cuda.blockIdx.y, 0.0
        for i in range(cuda.grid(1), values.shape[1], cuda.gridsize(1)):
            value = abs(values[row, i])
            worst = max(worst, value) if value < np.inf else np.inf
        scratch[t] = worst
        cuda.syncthreads()
        reach = THREADS // 2
        while reach > 0:
            if t < reach:
                scratch[t] = max(scratch[t], scratch[t + reach])
            cuda.syncthreads()
            reach //= 2
        if t == 0:
            found[row, cuda.blockIdx.x] = scratch[0]

    @kernel(arithmetic)
    def write_frame(rows, size, weights, step_row, P, theta, h, y, frame):
        k = cuda.grid(1)
        if k * WIDTH >= size:
            return
        x = cuda.local.array(D, float64)
        frame_place(rows, size, weights, step_row, P, theta, h, k, y, x)
        for c in range(D):
            frame[k, c] = x[c]

    @kernel(arithmetic)
    def accept(rows, size, weights, step_row, h, y):
        k = cuda.grid(1)
        if k * WIDTH < size:
            x = cuda.local.array(D, float64)
            accept_token(rows, size, weights, step_row, h, k, y, x)

    return Kernels(sums_kernel(arithmetic), place, finish, errors, largest, write_frame, accept)


class LargeSystem:
    """One system on the card."""

    def __init__(
        self, shape: ModelShape, mixed: bool, exact: bool = True, table: Tableau | None = None
    ) -> None:
        """Without a table there is room for one velocity only."""
        check_gpu()
        n, d, m = ordinary_shape(shape).n, shape.d, len(shape.frozen)
        self.n, self.d, self.m, self.w, self.full = n, d, m, shape.w, shape.mask == FULL
        if d > MAX_CARD_DIMENSION:
            raise InputError(
                f"The card takes dimensions up to {MAX_CARD_DIMENSION}, but d is {d}. Leave device out."
            )
        self.compiled = kernels(Arithmetic(d, shape.gaussian, mixed, exact, m > 0))
        sums = self.compiled.sums
        if sums.shared > shared_memory():
            raise InputError(
                f"Dimension {d} takes {sums.shared} bytes of the card's fast memory, but it has"
                f" {shared_memory()}. Leave device out."
            )
        tasks, chunks, self.chunk, count = _tasks(n, m, shape.w, self.full, sums)
        weights = table_weights(table) if table is not None else None
        self.step_row = 0 if table is None else len(table.B)
        self.stages = 1 if weights is None else len(weights.A)
        self.size, self.y = n * width(d), self.stages
        room = 8.0 * (count * (d + 2) * n + (self.stages + 4) * n * d)
        if room > 0.9 * free_memory():
            raise InputError(
                f"{n} tokens in dimension {d} take {room / 2**30:.3g} GiB on the card, but it has"
                f" {free_memory() / 2**30:.3g} free. Use fewer tokens, or leave device out."
            )
        self.tasks, self.chunks = cuda.to_device(tasks), cuda.to_device(chunks)
        self.parts = cuda.device_array((count, d + 2, n))  # sums of places and weights, the shift
        places = np.concatenate([shape.frozen, np.zeros((n, d))])
        self.places = cuda.to_device(places)  # (m + n, d)
        self.seen = cuda.to_device(places.astype(np.float32)) if mixed else self.places
        self.u = cuda.device_array((n, d), dtype=np.float32 if mixed else np.float64)
        self.own = cuda.device_array(n, dtype=np.float32 if mixed else np.float64)
        self.frozen_weights = cuda.to_device(np.concatenate([shape.frozen_weight, np.ones(n)]))
        self.A, self.V, self.beta = cuda.to_device(shape.A.copy()), cuda.to_device(shape.V.copy()), shape.beta
        self.rows = cuda.device_array((self.stages + 1) * self.size)
        self.table = [cuda.to_device(np.ascontiguousarray(one)) for one in weights or (np.zeros((1, 1)),)]
        self.found = cuda.device_array((3, n))
        self.blocks = -(-n // THREADS)
        self.maxima_blocks = min(self.blocks, 4 if SIMULATED else 64)
        self.maxima = cuda.device_array((3, self.maxima_blocks))
        self.frame = cuda.device_array((n, d))
        pairs = _pairs(n, m, shape.w, self.full)
        self.waits = pairs > MAX_QUEUED_PAIRS
        self.allowed = False

    def put(self, x: Array) -> None:
        """The tokens stand at x (n, d)."""
        state = np.arctan2(x[:, 1], x[:, 0]) if self.d == 2 else np.ascontiguousarray(x).reshape(-1)
        self.rows[self.y * self.size :].copy_to_device(state)

    def take_stage(self, i: int, h: float) -> None:
        """Row i = the velocities where stage i is taken."""
        grid, compiled, sums = (self.blocks, THREADS), self.compiled, self.compiled.sums
        compiled.place[grid](
            self.rows, self.size, self.table[0], i, h, self.y, self.A, self.beta, self.m,
            self.places, self.seen, self.u, self.own,
        )  # fmt: skip
        arguments = (
            self.seen, self.frozen_weights, self.u, self.own, self.n, self.m, self.w, self.full,
            self.tasks, self.chunk, self.parts,
        )  # fmt: skip
        if not self.allowed:
            allow_shared_memory(sums.launch, sums.shared, arguments)
            self.allowed = True
        sums.launch[len(self.tasks), sums.threads, 0, sums.shared](*arguments)
        compiled.finish[grid](
            self.places, self.V, self.n, self.m, self.chunks, sums.rows, self.parts, self.rows, self.size, i
        )
        if self.waits:
            self.wait()

    def wait(self) -> None:
        """Until the card has done what it was given; Ctrl-C is heard meanwhile."""
        if SIMULATED:
            return
        event = cuda.event()
        event.record()
        while not event.query():
            time.sleep(POLL_SECONDS)

    def velocity(self) -> Array:
        """The velocities of row 0, (n, d)."""
        row = self.rows[: self.size].copy_to_host()
        if self.d > 2:
            return row.reshape(self.n, self.d)
        x = self.places[self.m :].copy_to_host()
        return np.stack([-row * x[:, 1], row * x[:, 0]], axis=1)

    def fastest(self) -> float:
        return float(self._maxima(self.rows[: self.size].reshape(1, self.size))[0])

    def error_and_decay(self) -> tuple[float, float]:
        _, E, E_low, gap, *_ = self.table
        self.compiled.errors[self.blocks, THREADS](self.rows, self.size, E, E_low, gap, self.found)
        worst, steep, apart = np.sqrt(self._maxima(self.found))
        return float(worst), float(steep / (apart + MIN_DIVISOR))

    def last_term(self) -> float:
        """By NumPy: it is asked for seldom."""
        rows = self.rows[: self.y * self.size].copy_to_host().reshape(self.stages, self.size)
        total = np.abs(self.table[5].copy_to_host() @ rows)
        return float(total.max()) if np.isfinite(total).all() else np.inf

    def write_frame(self, frame: Array, theta: float, h: float) -> None:
        weights, P = self.table[0], self.table[4]
        self.compiled.write_frame[self.blocks, THREADS](
            self.rows, self.size, weights, self.step_row, P, theta, h, self.y, self.frame
        )
        self.frame.copy_to_host(frame)

    def accept(self, h: float) -> None:
        self.compiled.accept[self.blocks, THREADS](
            self.rows, self.size, self.table[0], self.step_row, h, self.y
        )

    def _maxima(self, values: Any) -> Array:
        grid = (self.maxima_blocks, len(values)), THREADS
        self.compiled.largest[grid](values, self.maxima)
        self.wait()
        found: Array = self.maxima.copy_to_host()[: len(values)].max(axis=1)
        return found


def gpu_drift(shapes: Sequence[ModelShape], x: Array, mixed: bool) -> Array:
    """The velocity of every token of x (b, n, d); one shape for all runs, or one each."""
    velocity = np.empty_like(x)
    for run in range(len(x)):
        if run < len(shapes):
            system = LargeSystem(shapes[run], mixed)
        system.put(x[run])
        system.take_stage(0, 0.0)
        velocity[run] = system.velocity()
    return velocity


def integrate_large(
    shape: ModelShape, table: Tableau, buffers: RunBuffers, mixed: bool, exact: bool, tell: Callable[[], int]
) -> int:
    """Carry the one run of `buffers` to its end; `tell` is called after every step, and stops the run by
    answering why.  Returns that reason, or 0."""
    system = LargeSystem(shape, mixed, exact, table)
    frames = buffers.frames[0]
    functions = StepFunctions(
        LargeSystem.take_stage,
        LargeSystem.fastest,
        LargeSystem.error_and_decay,
        LargeSystem.last_term,
        lambda system, saved, theta, h: system.write_frame(frames[saved], theta, h),
        LargeSystem.accept,
    )
    first_step, loop = make_loop(
        functions, width(shape.d), lambda function: getattr(function, "py_func", function)
    )
    orders = float(table.order), table.max_stable_decay
    saved, stop = 0, 0
    if buffers.times[0] == 0.0:
        frames[0], saved = buffers.start[0], 1
    system.put(buffers.start[0])
    with np.errstate(all="ignore"):
        wanted, h, status = first_step(system, buffers.final, buffers.tolerance, buffers.dt, orders[0])
        counts, numbers = (saved, 0, 0, status, 0, 1), (0.0, h, wanted, INITIAL_ERROR_BEFORE, 0.0, 0.0)
        while counts[3] == RUNNING and not stop:
            counts, numbers = loop(
                system, buffers.times, counts, numbers, system.stages, system.step_row, orders,
                buffers.final, buffers.tolerance, buffers.dt, buffers.max_steps, 1,
            )  # fmt: skip
            buffers.saved[0], buffers.steps[0], buffers.rejected[0], buffers.status[0] = counts[:4]
            stop = tell()
    buffers.saved[0], buffers.status[0] = counts[0], counts[3]
    return stop


def _pairs(n: int, m: int, w: int, full: bool) -> float:
    """That one velocity takes."""
    return n * (m + (n if full else min(w, (n + 1) / 2)))


def _tasks(
    n: int, m: int, w: int, full: bool, sums: SumsKernel
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """(row tile, column chunk) of every task, long tiles first; the chunks of each row tile, first and one
    past the last (frozen tokens, in the first chunk, apart); the length of a chunk; how many there are."""
    rows, columns = sums.rows, sums.columns
    tiles = -(-n // rows)
    low = np.zeros(tiles, dtype=np.int64) if full else np.maximum(0, np.arange(tiles) * rows - w + 1)
    high = np.full(tiles, n) if full else np.minimum(n, (np.arange(tiles) + 1) * rows)
    seen = int((high - low).sum()) + m * tiles
    chunk = max(2 * columns, -(-m // columns) * columns, -(-seen // sums.tasks // columns) * columns)
    used = np.stack([(m + low) // chunk, (m + high - 1) // chunk + 1], axis=1)
    tasks = [
        (tile, part)
        for tile in range(tiles - 1, -1, -1)
        for part in sorted({*range(used[tile, 0], used[tile, 1]), *([0] if m > 0 else [])})
    ]
    return np.array(tasks, dtype=np.int64), used, chunk, -(-(m + n) // chunk)
