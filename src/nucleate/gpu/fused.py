"""The explicit solver on the card: one block of threads carries one run to its end, all of it in fast memory.

The same method as integrate/explicit.py, with its tableau and its controller: the state is angles on the
circle and coordinates elsewhere, the error of a step is that of its worst token.  Every thread of a block
keeps the numbers of the run (time, step, errors) for itself; they are the same in all, as they come from
maxima over the whole block.  A launch takes at most `piece` steps of every run, and keeps what the next one
needs.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64

from nucleate.checks import EPS, Array
from nucleate.gpu.device import SIMULATED, device_function, kernel
from nucleate.gpu.pair_sums import Arithmetic, stride, velocity_function
from nucleate.integrate import accept_or_reject as controller
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING, STALLED
from nucleate.integrate.tableau import Tableau

__all__ = ["COUNTS", "NUMBERS", "Weights", "fused_kernel", "rows_of", "shared_bytes", "table_weights"]

MIN_DIVISOR = 1e-300  # added to a divisor that may be zero
INITIAL_ERROR_BEFORE = controller.INITIAL_ERROR_BEFORE
# What is kept of a run between two launches, in this order.
COUNTS = ("saved", "steps", "rejected", "status", "after_rejection", "begun")
NUMBERS = ("t", "h", "wanted", "error_before", "decay", "interpolant_error")
REGISTERS = 64  # a thread, so that enough blocks fit on a multiprocessor; measured


class Weights(NamedTuple):
    """A tableau as kernels want it."""

    A: Array  # (s + 1 + r, s + 1 + r) row i: where stage i is taken; row s is the step itself
    E: Array  # (s + 1,)
    E_low: Array  # (s + 1,) or (0,)
    gap: Array  # (s + 1,)
    P: Array  # (s + 1 + r, q)
    last_term: Array  # (s + 1 + r,)
    orders: Array  # (2,) the order, and the largest stable decay


def table_weights(table: Tableau) -> Weights:
    """The weights of a tableau."""
    s, r = len(table.B), len(table.extra)
    A = np.zeros((s + 1 + r, s + 1 + r))
    A[:s, :s], A[s, :s] = table.A, table.B
    A[s + 1 :, : table.extra.shape[1]] = table.extra
    orders = np.array([float(table.order), table.max_stable_decay])
    return Weights(A, table.E, table.E_low, table.gap, table.P, table.last_term, orders)


def rows_of(table: Tableau) -> int:
    """Rows that a run holds: its stages, and where it is."""
    return len(table.P) + 1


def shared_bytes(arithmetic: Arithmetic, n: int, m: int, rows: int, threads: int) -> int:
    """Fast memory of a block that holds `rows` rows there, or none of them."""
    width = 1 if arithmetic.d == 2 else arithmetic.d
    return 8 * (
        _place_doubles((n + m) * stride(arithmetic), arithmetic.mixed) + rows * n * width + 3 * threads
    )


def _place_doubles(numbers: int, mixed: bool) -> int:
    """Room for so many coordinates, in doubles, a multiple of 16 bytes; the simulator knows one type only."""
    return (numbers + 3) // 4 * 2 if mixed and not SIMULATED else (numbers + 1) // 2 * 2


def _sincospi() -> Any:
    """The sine and cosine of pi x."""
    if SIMULATED:
        return device_function(lambda x: (math.sin(math.pi * x), math.cos(math.pi * x)))
    from numba.cuda import libdevice

    return libdevice.sincospi


@cache
def fused_kernel(arithmetic: Arithmetic, threads: int, rows_shared: bool) -> Any:
    """The kernel for this arithmetic and so many threads a block; a run's rows are in fast memory or not."""
    D, STRIDE, MIXED, THREADS = arithmetic.d, stride(arithmetic), arithmetic.mixed, threads
    WIDTH, ANGLE = (1 if D == 2 else D), D == 2
    LOW_PARTS = MIXED and D == 2  # what single precision leaves of a place is kept beside it
    ROWS_SHARED, real = rows_shared, float32 if MIXED else float64
    token_velocity, place_doubles = velocity_function(arithmetic), device_function(_place_doubles)
    shorter_step, too_short, wanted_step, cut_step, doubtful_interpolant = map(
        device_function,
        (
            controller.shorter_step,
            controller.too_short,
            controller.wanted_step,
            controller.cut_step,
            controller.doubtful_interpolant,
        ),
    )

    sincospi = _sincospi()

    @device_function
    def put_on_sphere(x):
        """x = the point that the state x of a token stands for."""
        if ANGLE:
            x[1], x[0] = sincospi(x[0] * (1.0 / math.pi))
            return
        square = 0.0
        for c in range(D):
            square += x[c] * x[c]
        inverse = 1.0 / math.sqrt(square)
        for c in range(D):
            x[c] *= inverse

    @device_function
    def combine(rows, weights, i, count, h, n, k, y, x):
        """x = the state of token k at y + h sum_{j<count} weights_ij k_j."""
        for c in range(WIDTH):
            at = k * WIDTH + c
            total = 0.0
            for j in range(count):
                total += weights[i, j] * rows[j * n * WIDTH + at]
            x[c] = rows[y * n * WIDTH + at] + h * total

    @device_function
    def place(places, k, x):
        """Token k, k counted from the first frozen one, stands at x."""
        for c in range(D):
            places[k * STRIDE + c] = real(x[c])
            if LOW_PARTS:
                places[k * STRIDE + D + c] = real(x[c] - float64(real(x[c])))

    @device_function
    def take_stage(rows, places, system, A_stage, i, h, n, y):
        """Row i = the velocities where stage i is taken."""
        weights, m, w, full, A, V, beta = system
        x, out, mean = (
            cuda.local.array(D, float64),
            cuda.local.array(D, float64),
            cuda.local.array(D, float64),
        )
        u, here = cuda.local.array(D, real), cuda.local.array(D, real)
        S, T = cuda.local.array(D, real), cuda.local.array(D, real)
        for k in range(cuda.threadIdx.x, n, THREADS):
            combine(rows, A_stage, i, i, h, n, k, y, x)
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
                    combine(rows, A_stage, i, i, h, n, k, y, x)
                    put_on_sphere(x)
                low, high = m + max(0, k - w + 1), m + n if full else m + k + 1
                token_velocity(places, weights, m, low, high, A, V, beta, x, out, (u, here, S, T, mean))
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
    def worst_of(rows, weights, n, scratch):
        """The largest coordinate of sum_j weights_j k_j."""
        worst = 0.0
        for at in range(cuda.threadIdx.x, n * WIDTH, THREADS):
            total = 0.0
            for j in range(weights.shape[0]):
                total += weights[j] * rows[j * n * WIDTH + at]
            worst = max(worst, abs(total)) if total == total else np.inf
        return largest(scratch, worst, 0.0, 0.0)[0]

    @device_function
    def error_and_decay(rows, E, E_low, gap, n, scratch):
        """Of the worst token: the error over h, and the rate of decay (see `explicit.estimate_error`)."""
        worst, steep, apart, count = 0.0, 0.0, 0.0, E.shape[0]
        for k in range(cuda.threadIdx.x, n, THREADS):
            square, other, turn, distance = 0.0, 0.0, 0.0, 0.0
            for c in range(WIDTH):
                total, second, third = 0.0, 0.0, 0.0
                for j in range(count):
                    v = rows[(j * n + k) * WIDTH + c]
                    total += E[j] * v
                    third += gap[j] * v
                    if E_low.shape[0] > 0:
                        second += E_low[j] * v
                dv = rows[((count - 1) * n + k) * WIDTH + c] - rows[((count - 2) * n + k) * WIDTH + c]
                square += total * total
                other += second * second
                turn += dv * dv
                distance += third * third
            if E_low.shape[0] > 0:
                square *= square / (square + 0.01 * other + MIN_DIVISOR)
            if not square < np.inf:
                square = np.inf
            worst, steep, apart = max(worst, square), max(steep, turn), max(apart, distance)
        worst, steep, apart = largest(scratch, worst, steep, apart)
        return math.sqrt(worst), math.sqrt(steep) / (math.sqrt(apart) + MIN_DIVISOR)

    @device_function
    def write_frame(rows, A_stage, step_row, P, theta, h, n, frame, y):
        """The tokens at t + theta h, by the interpolant."""
        x = cuda.local.array(D, float64)
        for k in range(cuda.threadIdx.x, n, THREADS):
            if theta < 1.0:
                for c in range(WIDTH):
                    total = 0.0
                    for j in range(P.shape[0]):
                        weight = 0.0
                        for p in range(P.shape[1] - 1, -1, -1):
                            weight = (weight + P[j, p]) * theta
                        total += weight * rows[(j * n + k) * WIDTH + c]
                    x[c] = rows[(y * n + k) * WIDTH + c] + h * total
            else:
                combine(rows, A_stage, step_row, step_row, h, n, k, y, x)
            put_on_sphere(x)
            for c in range(D):
                frame[k, c] = x[c]

    @device_function
    def accept(rows, A_stage, step_row, h, n, y):
        """The end of the step becomes the state, on the sphere; its velocity the first of the next step."""
        x = cuda.local.array(D, float64)
        for k in range(cuda.threadIdx.x, n, THREADS):
            combine(rows, A_stage, step_row, step_row, h, n, k, y, x)
            if not ANGLE:
                put_on_sphere(x)
            for c in range(WIDTH):
                rows[(y * n + k) * WIDTH + c] = x[c]
                rows[k * WIDTH + c] = rows[(step_row * n + k) * WIDTH + c]
        cuda.syncthreads()

    @kernel(REGISTERS)
    def fused(
        start, times, frames, counts, numbers, kept, work,
        A_stage, E, E_low, gap, P, last_term, orders,
        A_all, V_all, beta_all, frozen, frozen_weight, w, full,
        final, tolerance, dt, max_steps, piece,
    ):  # fmt: skip
        run, tid, n, m = cuda.blockIdx.x, cuda.threadIdx.x, start.shape[1], frozen.shape[1]
        if counts[3, run] != RUNNING:
            return
        A, V = A_all[min(run, A_all.shape[0] - 1)], V_all[min(run, V_all.shape[0] - 1)]
        beta = beta_all[min(run, beta_all.shape[0] - 1)]
        own = min(run, frozen.shape[0] - 1)
        weights = frozen_weight[own]
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
        system = weights, m, w, full, A, V, beta
        order, max_stable_decay = orders[0], orders[1]
        saved, steps, rejected = counts[0, run], counts[1, run], counts[2, run]
        status, after_rejection, begun = counts[3, run], counts[4, run] == 1, counts[5, run] == 1
        t, h, wanted = numbers[0, run], numbers[1, run], numbers[2, run]
        error_before, decay, interpolant_error = numbers[3, run], numbers[4, run], numbers[5, run]
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
            take_stage(rows, places, system, A_stage, 0, 0.0, n, y)
            fastest = 0.0
            for at in range(tid, size, THREADS):
                fastest = max(fastest, abs(rows[at])) if rows[at] == rows[at] else np.inf
            fastest = largest(scratch, fastest, 0.0, 0.0)[0]
            wanted = dt
            if dt == 0.0:
                wanted = min(0.01, tolerance ** (1.0 / order)) / fastest if fastest > 0.0 else final
            h, error_before = cut_step(wanted, final, dt > 0.0), INITIAL_ERROR_BEFORE
            if not fastest < np.inf:
                status = NON_FINITE
        done = 0
        while status == RUNNING and done < piece:
            done += 1
            for i in range(1, step_row + 1):
                take_stage(rows, places, system, A_stage, i, h, n, y)
            error, decay = error_and_decay(rows, E, E_low, gap, n, scratch)
            error *= h / tolerance
            if dt > 0.0 and not error < np.inf:
                status = NON_FINITE
                continue
            if dt == 0.0 and not error <= 1.0:
                rejected += 1
                h = shorter_step(h, error, order)
                wanted, after_rejection = h, True
                if too_short(t, h):
                    status = STALLED if error < np.inf else NON_FINITE
                elif steps + rejected >= max_steps:
                    status = MAX_STEPS
                continue
            extra = stages - 1 - step_row
            asked = times[saved] if saved < times.shape[0] else np.inf
            latest = final
            if extra > 0 and doubtful_interpolant(decay, interpolant_error):
                latest = min(asked, final)
            if extra > 0 and asked < t + h and asked < latest:  # the interpolant has stages of its own
                for i in range(step_row + 1, stages):
                    take_stage(rows, places, system, A_stage, i, h, n, y)
                interpolant_error = (
                    math.sqrt(float(WIDTH)) * h / tolerance * worst_of(rows, last_term, n, scratch)
                )
                if doubtful_interpolant(decay, interpolant_error):
                    latest = min(asked, final)
            if latest < final and t < asked < (t + h) * (1.0 - 4.0 * EPS):
                wanted = h
                h = cut_step(wanted, latest - t, False)  # take the step again, up to the time asked for
                continue
            steps += 1
            new = steps * dt if dt > 0.0 else t + h
            if new >= latest * (1.0 - 4.0 * EPS) or (dt > 0.0 and new >= latest - 1e-9 * dt):
                new = latest
            while saved < times.shape[0] and times[saved] <= new:
                theta = (times[saved] - t) / (new - t) if times[saved] < new else 1.0
                write_frame(rows, A_stage, step_row, P, theta, h, n, frames[run, saved], y)
                saved += 1
            cuda.syncthreads()
            accept(rows, A_stage, step_row, h, n, y)
            t = new
            if t == final:
                status = DONE
            elif steps + rejected >= max_steps:
                status = MAX_STEPS
            elif dt > 0.0:
                h = cut_step(dt, final - t, True)
            else:
                wanted = wanted_step(
                    h, wanted, error, error_before, after_rejection, decay, order, max_stable_decay
                )
                error_before, after_rejection = max(error, INITIAL_ERROR_BEFORE), False
                interpolant_error *= 0.5
                latest = final
                if extra > 0 and saved < times.shape[0] and doubtful_interpolant(decay, interpolant_error):
                    latest = min(times[saved], final)
                h = cut_step(wanted, latest - t, False)
                if t + h == t:
                    status = STALLED
        for at in range(tid, size, THREADS):
            kept[run, 0, at], kept[run, 1, at] = rows[y * size + at], rows[at]
        if tid == 0:
            counts[0, run], counts[1, run], counts[2, run] = saved, steps, rejected
            counts[3, run], counts[4, run], counts[5, run] = status, after_rejection, 1
            numbers[0, run], numbers[1, run], numbers[2, run] = t, h, wanted
            numbers[3, run], numbers[4, run], numbers[5, run] = error_before, decay, interpolant_error

    return fused
