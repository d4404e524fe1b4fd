"""What a step does with one token, as functions for kernels: where a stage is taken, the token's share in the
error, its place in a frame, and its state after the step.

The state of a token is an angle on the circle and coordinates elsewhere: `width` numbers.  A run's rows are
held one after the other, `size` numbers each: the velocities of its stages, then where it is.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from nucleate.gpu.device import SIMULATED, device_function, made_once

__all__ = ["MIN_DIVISOR", "TokenSteps", "token_steps", "width"]

MIN_DIVISOR = 1e-300  # added to a divisor that may be zero


class TokenSteps(NamedTuple):
    """The functions for one dimension."""

    put_on_sphere: Any
    combine: Any
    errors: Any
    frame_place: Any
    accept: Any


def width(d: int) -> int:
    """Numbers in the state of a token."""
    return 1 if d == 2 else d


def _sincospi() -> Any:
    """The sine and cosine of pi x."""
    if SIMULATED:
        return device_function(lambda x: (math.sin(math.pi * x), math.cos(math.pi * x)))
    from numba.cuda import libdevice

    return libdevice.sincospi


@made_once
def token_steps(d: int) -> TokenSteps:
    """The functions for tokens in dimension d."""
    D, WIDTH, ANGLE = d, width(d), d == 2
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
    def combine(rows, size, weights, i, count, h, k, y, x):
        """x = the state of token k at y + h sum_{j<count} weights_ij k_j."""
        for c in range(WIDTH):
            at = k * WIDTH + c
            total = 0.0
            for j in range(count):
                total += weights[i, j] * rows[j * size + at]
            x[c] = rows[y * size + at] + h * total

    @device_function
    def errors(rows, size, E, E_low, gap, k):
        """Squares of token k's error over h, of the difference of its last two velocities, and of the
        distance between the points they belong to (see `explicit.estimate_error`)."""
        square, other, turn, distance, count = 0.0, 0.0, 0.0, 0.0, E.shape[0]
        for c in range(WIDTH):
            at = k * WIDTH + c
            total, second, third = 0.0, 0.0, 0.0
            for j in range(count):
                v = rows[j * size + at]
                total += E[j] * v
                third += gap[j] * v
                if E_low.shape[0] > 0:
                    second += E_low[j] * v
            dv = rows[(count - 1) * size + at] - rows[(count - 2) * size + at]
            square += total * total
            other += second * second
            turn += dv * dv
            distance += third * third
        if E_low.shape[0] > 0:
            square *= square / (square + 0.01 * other + MIN_DIVISOR)
        return square if square < np.inf else np.inf, turn, distance

    @device_function
    def frame_place(rows, size, weights, step_row, P, theta, h, k, y, x):
        """x = token k's point at t + theta h, by the interpolant."""
        if theta < 1.0:
            for c in range(WIDTH):
                total = 0.0
                for j in range(P.shape[0]):
                    weight = 0.0
                    for p in range(P.shape[1] - 1, -1, -1):
                        weight = (weight + P[j, p]) * theta
                    total += weight * rows[j * size + k * WIDTH + c]
                x[c] = rows[y * size + k * WIDTH + c] + h * total
        else:
            combine(rows, size, weights, step_row, step_row, h, k, y, x)
        put_on_sphere(x)

    @device_function
    def accept(rows, size, weights, step_row, h, k, y, x):
        """The end of the step becomes token k's state, on the sphere; its velocity the first of the next
        step."""
        combine(rows, size, weights, step_row, step_row, h, k, y, x)
        if not ANGLE:
            put_on_sphere(x)
        for c in range(WIDTH):
            at = k * WIDTH + c
            rows[y * size + at] = x[c]
            rows[at] = rows[step_row * size + at]

    return TokenSteps(put_on_sphere, combine, errors, frame_place, accept)
