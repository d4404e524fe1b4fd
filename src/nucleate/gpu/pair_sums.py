"""One token's sum over the tokens it sees, and its velocity, as functions for kernels.

    S_k = sum_j w_kj x_j,   Z_k = sum_j w_kj,   dx_k/dt = P_{x_k} V S_k / Z_k,

w_kj = 2^(<u_k, x_j> - shift), u_k = beta log2(e) K^T Q x_k.  V is applied to the sum, so that any V costs as
much as the identity.  Where K^T Q = I the shift is the token's own score, the largest; else a first pass
finds the largest.  Places are held one token after the other, `STRIDE` numbers each, frozen tokens first.

In mixed precision scores, weights and sums are single, of differences x_j - x_k of places rounded to single;
state, steps and errors are double.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, uint64

from nucleate.gpu.device import device_function, made_once
from nucleate.gpu.exponential import exp2_double, exp2_single

__all__ = ["Arithmetic", "stride", "velocity_function"]

LOG2_E = 1.4426950408889634


class Arithmetic(NamedTuple):
    """What kernels are compiled for."""

    d: int
    gaussian: bool  # K^T Q = I
    mixed: bool  # pairs in single precision
    exact: bool  # weights to the last bits, not to eight digits
    frozen: bool  # whether there are frozen tokens


def stride(arithmetic: Arithmetic) -> int:
    """Numbers per token: loads of 16 bytes need an even place."""
    d = arithmetic.d
    return 4 if d == 3 or (d == 2 and arithmetic.mixed) else d


@made_once
def velocity_function(arithmetic: Arithmetic) -> Any:
    """The function that computes the velocity of one token."""
    D, STRIDE = arithmetic.d, stride(arithmetic)
    GAUSSIAN, MIXED, FROZEN = arithmetic.gaussian, arithmetic.mixed, arithmetic.frozen
    real = float32 if MIXED else float64
    exp2 = exp2_single() if MIXED else exp2_double(arithmetic.exact)

    @device_function
    def score(places, at, u, shift):
        """<u, x_j> - shift."""
        total = -shift
        for c in range(D):
            total += u[c] * places[at + uint64(c)]
        return total

    @device_function
    def largest_score(places, u, low, high, largest):
        at = uint64(low * STRIDE)
        for _ in range(high - low):
            largest = max(largest, score(places, at, u, real(0.0)))
            at += uint64(STRIDE)
        return largest

    @device_function
    def add(places, at, u, here, shift, weight, S):
        """The weight of the token at `at`, its place added to S."""
        if GAUSSIAN and MIXED:  # here u is the factor of the squared distance
            square = real(0.0)
            for c in range(D):
                step = places[at + uint64(c)] - here[c]
                square += step * step
            w = exp2(shift * square)
        else:
            w = exp2(score(places, at, u, shift))
        if FROZEN:
            w *= weight
        for c in range(D):
            if MIXED:
                S[c] += w * (places[at + uint64(c)] - here[c])
            else:
                S[c] += w * places[at + uint64(c)]
        return w

    @device_function
    def velocity(places, weights, m, low, high, A, V, beta, x, out, scratch):
        """out = the velocity of a token at x, which sees the frozen tokens 0 .. m-1 and the tokens low ..
        high-1 among `places`; A is K^T Q.  `scratch` is three arrays (D,) as precise as pairs, and one of
        doubles: made by the caller, as the simulator knows them in the module of the kernel only."""
        u, here, S, mean = scratch
        scale = beta * LOG2_E
        for c in range(D):
            here[c], S[c] = real(x[c]), real(0.0)
            total = 0.0
            if GAUSSIAN:
                total = x[c]
            else:
                for e in range(D):
                    total += A[c, e] * x[e]
            u[c] = real(scale * total)
        shift = real(-0.5 * scale) if MIXED else real(scale)
        if not GAUSSIAN:
            shift = real(-np.inf)
            if FROZEN:
                shift = largest_score(places, u, 0, m, shift)
            shift = largest_score(places, u, low, high, shift)
        Z = real(0.0)
        if FROZEN:
            for j in range(m):
                Z += add(places, uint64(j * STRIDE), u, here, shift, real(weights[j]), S)
        at, end = uint64(low * STRIDE), uint64(high * STRIDE)
        while at + uint64(3 * STRIDE) < end:  # four at a time: counting costs as much as a token
            for i in range(4):
                Z += add(places, at + uint64(i * STRIDE), u, here, shift, real(1.0), S)
            at += uint64(4 * STRIDE)
        while at < end:
            Z += add(places, at, u, here, shift, real(1.0), S)
            at += uint64(STRIDE)
        inverse = 1.0 / float64(Z)
        for c in range(D):
            mean[c] = float64(S[c]) * inverse
            if MIXED:
                mean[c] += x[c]
        along = 0.0
        for c in range(D):
            value = 0.0
            for e in range(D):
                value += V[c, e] * mean[e]
            out[c] = value
            along += value * x[c]
        for c in range(D):
            out[c] -= along * x[c]

    return velocity
