"""The explicit solver on the card: one block of threads carries one run to its end, all of it in fast memory.

Every thread of a block keeps the numbers of the run (time, step, errors) for itself; they are the same in
all, as they come from maxima over the whole block.  A launch takes at most `piece` steps of every run, and
keeps what the next one needs.
"""

import math
from typing import Any

import numpy as np
from numba import cuda, float32, float64

from nucleate.gpu.device import SIMULATED, device_function, kernel, made_once
from nucleate.gpu.pair_sums import Arithmetic, stride, velocity_function
from nucleate.gpu.step_loop import INITIAL_ERROR_BEFORE, StepFunctions, make_loop
from nucleate.gpu.token_steps import MIN_DIVISOR, token_steps, width
from nucleate.integrate.status import RUNNING
from nucleate.integrate.tableau import Tableau

__all__ = ["fused_kernel", "rows_of", "shared_bytes"]


def registers(arithmetic: Arithmetic) -> int:
    """Of a thread, so that enough blocks fit on a multiprocessor; measured."""
    if arithmetic.d > 2:
        return 96 if arithmetic.mixed else 128
    return 48


def rows_of(table: Tableau) -> int:
    """Rows that a run holds: its stages, and where it is."""
    return len(table.P) + 1


def shared_bytes(arithmetic: Arithmetic, n: int, m: int, rows: int, threads: int) -> int:
    """Fast memory of a block that holds `rows` rows there, or none of them."""
    places = _place_doubles((n + m) * stride(arithmetic), arithmetic.mixed)
    return 8 * (places + rows * n * width(arithmetic.d) + 3 * threads)


def _place_doubles(numbers: int, mixed: bool) -> int:
    """Room for so many coordinates, in doubles, a multiple of 16 bytes; the simulator knows one type only."""
    return (numbers + 3) // 4 * 2 if mixed and not SIMULATED else (numbers + 1) // 2 * 2


@made_once
def fused_kernel(arithmetic: Arithmetic, threads: int, rows_shared: bool) -> Any:
    """The kernel for this arithmetic and so many threads a block; a run's rows are in fast memory or not."""
    D, STRIDE, MIXED, THREADS = arithmetic.d, stride(arithmetic), arithmetic.mixed, threads
    WIDTH, ANGLE = width(D), D == 2
    LOW_PARTS = MIXED and D == 2  # what single precision leaves of a place is kept beside it
    ROWS_SHARED, real = rows_shared, float32 if MIXED else float64
    token_velocity, place_doubles = velocity_function(arithmetic), device_function(_place_doubles)
    put_on_sphere, combine, token_errors, frame_place, accept_token = token_steps(D)

    @device_function
    def place(places, k, x):
        """Token k, k counted from the first frozen one, stands at x."""
        for c in range(D):
            places[k * STRIDE + c] = real(x[c])
            if LOW_PARTS:
                places[k * STRIDE + D + c] = real(x[c] - float64(real(x[c])))

    @device_function
    def take_stage(system, i, h):
        (rows, places, _, _, table), (n, size, y, _), (weights, m, w, full, A, V, beta) = system
        A_stage = table[0]
        x, out, mean = (
            cuda.local.array(D, float64),
            cuda.local.array(D, float64),
            cuda.local.array(D, float64),
        )
        u, here = cuda.local.array(D, real), cuda.local.array(D, real)
        S = cuda.local.array(D, real)
        for k in range(cuda.threadIdx.x, n, THREADS):
            combine(rows, size, A_stage, i, i, h, k, y, x)
            put_on_sphere(x)
            place(places, m + k, x)
        cuda.syncthreads()
        reverse = False
        # late tokens, which see most, first; to and fro, so that all threads get the same work
        for first in range(0, n, THREADS):
            lane = THREADS - 1 - cuda.threadIdx.x if reverse else cuda.threadIdx.x
            reverse = not reverse
            k = n - 1 - first - lane
            if k >= 0:
                for c in range(D):
                    x[c] = float64(places[(m + k) * STRIDE + c])
                    if LOW_PARTS:
                        x[c] += float64(places[(m + k) * STRIDE + D + c])
                if MIXED and not LOW_PARTS:
                    combine(rows, size, A_stage, i, i, h, k, y, x)
                    put_on_sphere(x)
                low, high = m + max(0, k - w + 1), m + n if full else m + k + 1
                token_velocity(places, weights, m, low, high, A, V, beta, x, out, (u, here, S, mean))
                if ANGLE:
                    rows[i * n + k] = out[1] * x[0] - out[0] * x[1]
                else:
                    for c in range(D):
                        rows[(i * n + k) * D + c] = out[c]
        cuda.syncthreads()

    @device_function
    def largest(scratch, first, second, third):
        """The largest of each value over all threads; one that is not a number counts as infinite."""
        t = cuda.threadIdx.x
        scratch[t] = first if first == first else np.inf
        scratch[THREADS + t], scratch[2 * THREADS + t] = second, third
        cuda.syncthreads()
        reach = THREADS // 2
        while reach > 0:
            for i in range(t, 3 * reach, THREADS):
                at = i // reach * THREADS + i % reach
                scratch[at] = max(scratch[at], scratch[at + reach])
            cuda.syncthreads()
            reach //= 2
        first, second, third = scratch[0], scratch[THREADS], scratch[2 * THREADS]
        cuda.syncthreads()
        return first, second, third

    @device_function
    def fastest(system):
        (rows, _, scratch, _, _), (_, size, _, _), _ = system
        worst = 0.0
        for at in range(cuda.threadIdx.x, size, THREADS):
            worst = max(worst, abs(rows[at])) if rows[at] == rows[at] else np.inf
        return largest(scratch, worst, 0.0, 0.0)[0]

    @device_function
    def last_term(system):
        (rows, _, scratch, _, table), (_, size, _, _), _ = system
        weights, worst = table[5], 0.0
        for at in range(cuda.threadIdx.x, size, THREADS):
            total = 0.0
            for j in range(weights.shape[0]):
                total += weights[j] * rows[j * size + at]
            worst = max(worst, abs(total)) if total == total else np.inf
        return largest(scratch, worst, 0.0, 0.0)[0]

    @device_function
    def error_and_decay(system):
        (rows, _, scratch, _, table), (n, size, _, _), _ = system
        _, E, E_low, gap, _, _ = table
        worst, steep, apart = 0.0, 0.0, 0.0
        for k in range(cuda.threadIdx.x, n, THREADS):
            square, turn, distance = token_errors(rows, size, E, E_low, gap, k)
            worst, steep, apart = max(worst, square), max(steep, turn), max(apart, distance)
        worst, steep, apart = largest(scratch, worst, steep, apart)
        return math.sqrt(worst), math.sqrt(steep) / (math.sqrt(apart) + MIN_DIVISOR)

    @device_function
    def write_frame(system, saved, theta, h):
        (rows, _, _, frames, table), (n, size, y, step_row), _ = system
        x = cuda.local.array(D, float64)
        for k in range(cuda.threadIdx.x, n, THREADS):
            frame_place(rows, size, table[0], step_row, table[4], theta, h, k, y, x)
            for c in range(D):
                frames[saved, k, c] = x[c]

    @device_function
    def accept(system, h):
        (rows, _, _, _, table), (n, size, y, step_row), _ = system
        x = cuda.local.array(D, float64)
        cuda.syncthreads()
        for k in range(cuda.threadIdx.x, n, THREADS):
            accept_token(rows, size, table[0], step_row, h, k, y, x)
        cuda.syncthreads()

    functions = StepFunctions(take_stage, fastest, error_and_decay, last_term, write_frame, accept)
    first_step, loop = make_loop(functions, WIDTH, device_function)

    # fastmath: functions that look for NaN are compiled without it; single 2^x is one instruction
    @kernel(arithmetic, threads, rows_shared, registers=registers(arithmetic), fastmath=MIXED)
    def fused(
        start, times, frames, counts, numbers, kept, work,
        A_stage, E, E_low, gap, P, last_weights, orders,
        A_all, V_all, beta_all, frozen, frozen_weight, w, full,
        final, tolerance, dt, max_steps, piece,
    ):  # fmt: skip
        run, tid, n, m = cuda.blockIdx.x, cuda.threadIdx.x, start.shape[1], frozen.shape[1]
        if counts[3, run] != RUNNING:
            return
        A, V = A_all[min(run, A_all.shape[0] - 1)], V_all[min(run, V_all.shape[0] - 1)]
        beta = beta_all[min(run, beta_all.shape[0] - 1)]
        own = min(run, frozen.shape[0] - 1)
        size, rest, stages = n * WIDTH, place_doubles((n + m) * STRIDE, MIXED), A_stage.shape[0]
        if SIMULATED:  # which knows no alignment, and one type
            shared = cuda.shared.array(0, float64)
            places = shared
        else:
            shared = cuda.shared.array(0, float64, alignment=16)
            places = cuda.shared.array(0, real, alignment=16)
        scratch = shared[rest : rest + 3 * THREADS]
        rows = shared[rest + 3 * THREADS :] if ROWS_SHARED else work[run]
        y, step_row = stages, E.shape[0] - 1
        system = (
            (rows, places, scratch, frames[run], (A_stage, E, E_low, gap, P, last_weights)),
            (n, size, y, step_row),
            (frozen_weight[own], m, w, full, A, V, beta),
        )
        saved, begun, status = counts[0, run], counts[5, run] == 1, counts[3, run]
        h, wanted, error_before = numbers[1, run], numbers[2, run], numbers[3, run]
        for j in range(tid, m, THREADS):
            place(places, j, frozen[own, j])
        for at in range(tid, size, THREADS):
            if begun:
                rows[y * size + at], rows[at] = kept[run, 0, at], kept[run, 1, at]
            elif ANGLE:
                rows[y * size + at] = math.atan2(start[run, at, 1], start[run, at, 0])
            else:
                rows[y * size + at] = start[run, at // D, at % D]
        cuda.syncthreads()
        if not begun:
            if times[0] == 0.0:
                for at in range(tid, n * D, THREADS):
                    frames[run, 0, at // D, at % D] = start[run, at // D, at % D]
                saved = 1
            wanted, h, status = first_step(system, final, tolerance, dt, orders[0])
            error_before = INITIAL_ERROR_BEFORE
        now_counts, now_numbers = loop(
            system,
            times,
            (saved, counts[1, run], counts[2, run], status, counts[4, run], 1),
            (numbers[0, run], h, wanted, error_before, numbers[4, run], numbers[5, run]),
            stages, step_row, (orders[0], orders[1]), final, tolerance, dt, max_steps, piece,
        )  # fmt: skip
        for at in range(tid, size, THREADS):
            kept[run, 0, at], kept[run, 1, at] = rows[y * size + at], rows[at]
        if tid == 0:
            for i in range(6):
                counts[i, run], numbers[i, run] = now_counts[i], now_numbers[i]

    return fused
