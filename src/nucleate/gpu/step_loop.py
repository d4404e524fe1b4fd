"""The loop over steps: stages, error, accepted or rejected, frames, next step.

One source for both: compiled into the kernel that carries a small system, and run in Python for a large one,
whose stages are kernels of their own.  Tableau, norm and controller are those of integrate/explicit.py.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nucleate.checks import EPS, Array
from nucleate.integrate import accept_or_reject as controller
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING, STALLED
from nucleate.integrate.tableau import Tableau

__all__ = ["COUNTS", "NUMBERS", "StepFunctions", "Weights", "make_loop", "table_weights"]

INITIAL_ERROR_BEFORE = controller.INITIAL_ERROR_BEFORE
# What is kept of a run from one call of the loop to the next, in this order.
COUNTS = ("saved", "steps", "rejected", "status", "after_rejection", "begun")
NUMBERS = ("t", "h", "wanted", "error_before", "decay", "interpolant_error")


class StepFunctions(NamedTuple):
    """What the loop does to a system; the first argument of each is the system."""

    take_stage: Callable[..., Any]  # (system, i, h): row i = the velocities where stage i is taken
    fastest: Callable[..., Any]  # (system): the largest coordinate of row 0
    error_and_decay: Callable[..., Any]  # (system): the error over h of the worst token, the rate of decay
    last_term: Callable[..., Any]  # (system): the largest coordinate of the interpolant's last term
    write_frame: Callable[..., Any]  # (system, frame, theta, h)
    accept: Callable[..., Any]  # (system, h)


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


def make_loop(functions: StepFunctions, width: int, compile_one: Callable[[Any], Any]) -> Any:
    """The loop that calls these functions; `compile_one` makes of a function what the others can call."""
    take_stage, find_fastest, error_and_decay, last_term, write_frame, accept = functions
    shorter_step, too_short, wanted_step, cut_step, doubtful_interpolant = map(
        compile_one,
        (
            controller.shorter_step,
            controller.too_short,
            controller.wanted_step,
            controller.cut_step,
            controller.doubtful_interpolant,
        ),
    )
    WIDTH = float(width)

    @compile_one
    def first_step(system, final, tolerance, dt, order):
        """The velocities at the start; the step wanted, the step, the status."""
        take_stage(system, 0, 0.0)
        fastest = find_fastest(system)
        wanted = dt
        if dt == 0.0:
            wanted = min(0.01, tolerance ** (1.0 / order)) / fastest if fastest > 0.0 else final
        return wanted, cut_step(wanted, final, dt > 0.0), RUNNING if fastest < np.inf else NON_FINITE

    @compile_one
    def loop(
        system, times, counts, numbers, stages, step_row, orders, final, tolerance, dt, max_steps, piece
    ):
        """At most `piece` steps from where `counts` and `numbers` say; where it is then, as two tuples."""
        saved, steps, rejected, status, after_rejection, _ = counts
        t, h, wanted, error_before, decay, interpolant_error = numbers
        order, max_stable_decay = orders
        extra, done = stages - 1 - step_row, 0
        while status == RUNNING and done < piece:
            done += 1
            for i in range(1, step_row + 1):
                take_stage(system, i, h)
            error, decay = error_and_decay(system)
            error *= h / tolerance
            if dt > 0.0 and not error < np.inf:
                status = NON_FINITE
                continue
            if dt == 0.0 and not error <= 1.0:
                rejected += 1
                h = shorter_step(h, error, order)
                wanted, after_rejection = h, 1
                if too_short(t, h):
                    status = STALLED if error < np.inf else NON_FINITE
                elif steps + rejected >= max_steps:
                    status = MAX_STEPS
                continue
            asked = times[saved] if saved < times.shape[0] else np.inf
            latest = final
            if extra > 0 and doubtful_interpolant(decay, interpolant_error):
                latest = min(asked, final)
            if extra > 0 and asked < t + h and asked < latest:  # the interpolant has stages of its own
                for i in range(step_row + 1, stages):
                    take_stage(system, i, h)
                interpolant_error = math.sqrt(WIDTH) * h / tolerance * last_term(system)
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
                write_frame(system, saved, theta, h)
                saved += 1
            accept(system, h)
            t = new
            if t == final:
                status = DONE
            elif steps + rejected >= max_steps:
                status = MAX_STEPS
            elif dt > 0.0:
                h = cut_step(dt, final - t, True)
            else:
                wanted = wanted_step(
                    h, wanted, error, error_before, after_rejection == 1, decay, order, max_stable_decay
                )
                error_before, after_rejection = max(error, INITIAL_ERROR_BEFORE), 0
                interpolant_error *= 0.5
                decay *= wanted / h  # to be expected
                latest = final
                if extra > 0 and saved < times.shape[0] and doubtful_interpolant(decay, interpolant_error):
                    latest = min(times[saved], final)
                h = cut_step(wanted, latest - t, False)
                if t + h == t:
                    status = STALLED
        counts_now = saved, steps, rejected, status, after_rejection, 1
        return counts_now, (t, h, wanted, error_before, decay, interpolant_error)

    return first_step, loop
