"""Pair sums of eight runs at once, a run in every lane: K^T Q = I, V = c I, d = 2 or 3, no window, no frozen
tokens; for batches of small systems.

No group of pairs is partial and no lane is ever summed across: at n = 200 twice the rate of eight pairs of
one run at a time.

The sum over j is pipelined in three stages, because the chain of operations from a distance to its weight
is long: while the distance to token j is measured, the weight of token j-1 is half made, and that of token
j-2 is finished and summed.
"""

import math
from functools import partial

import numpy as np

from nucleate.checks import ROUNDING, Array
from nucleate.kernels.compile import compiled, inner, take_next
from nucleate.kernels.model_shape import FULL, ModelShape, ordinary_shape
from nucleate.kernels.pairwise import THREE, TWO, base_2
from nucleate.kernels.simd import LANES, aligned_zeros, fma, hsum, load, splat, store, vabs, vmax, zero_below
from nucleate.kernels.threads import Stop, share
from nucleate.kernels.vector_math import MIN_EXP2, exp2_series, exp2_split

__all__ = ["NOT_UNIT", "pairwise_batch_velocities"]

NOT_UNIT = math.nextafter(ROUNDING, 1.0)  # of a squared length, from 1: what `check_tokens` would not pass on


def pairwise_batch_velocities(
    shape: ModelShape, x: Array, velocity: Array, checked: bool, threads: int, stop: Stop
) -> bool:
    """velocity = drift of tokens x (b, n, d), runs of one model; False as soon as a token is found that is
    not unit, unless they were checked."""
    not_unit, shape = math.inf if checked else NOT_UNIT, ordinary_shape(shape)
    b, n, d = x.shape
    scratch = aligned_zeros(min(threads, -(-b // LANES)), 2, n, d, LANES)
    if not x.flags.writeable:  # another type to Numba
        x = x.copy()
    todo = np.zeros(1, dtype=np.int64), x, velocity, shape.beta, shape.scale, shape.mask == FULL, not_unit
    return all(share([partial(_drift, *todo, own, stop) for own in scratch]))


@compiled
def _drift(queue, tokens, velocity, beta, scale, full, not_unit, columns, stop):
    """velocity = scale P_x D for tokens (b, n, d), the next eight runs in the queue until none is left;
    `columns` is (2, n, d, 8) of scratch.

    Returns whether all squared lengths are less than `not_unit` from 1, reckoned as `check_tokens` does, and
    ends where one is not: looked at on the way, that costs nothing; before, it would take a tenth of the
    time.
    """
    b, n, d = tokens.shape
    out = n * d * LANES
    normal = 4.0 * base_2(beta) > MIN_EXP2  # no weight can underflow, and none is tested for it
    rows, rows_out = tokens.reshape((b, n * d)), velocity.reshape((b, n * d))
    columns_in, columns_out = columns[0].reshape((n * d, LANES)), columns[1].reshape((n * d, LANES))
    while not stop[0]:
        start = take_next(queue) * LANES
        if start >= b:
            break
        count = min(LANES, b - start)
        whole = count == LANES  # tested outside of the loops, which are twice as fast for it
        for i in range(n * d):
            for at in range(LANES):
                # lanes without a run repeat the last one
                columns_in[i, at] = rows[start + (at if whole else min(at, count - 1)), i]
        if not _on_sphere(columns, n, d, not_unit):
            queue[0] = b  # the others need not go on
            return False
        for k in range(n):
            if stop[0]:
                break
            if d == 2:
                _token(columns, k, n if full else k, TWO, beta, normal, scale, out)
            else:
                _token(columns, k, n if full else k, THREE, beta, normal, scale, out)
        for i in range(n * d):
            for at in range(LANES if whole else count):
                rows_out[start + at, i] = columns_out[i, at]
    return True


@inner
def _on_sphere(columns, n, d, not_unit):
    """Whether the squared lengths of all tokens, in all lanes, are less than `not_unit` from 1."""
    strays = splat(0.0)
    for k in range(n):
        square = load(columns, k * d * LANES) * load(columns, k * d * LANES)
        for c in range(1, d):
            square = square + load(columns, (k * d + c) * LANES) * load(columns, (k * d + c) * LANES)
        strays = strays + zero_below(vabs(square - 1.0), splat(not_unit), splat(1.0))  # NaN counts
    return hsum(strays) == 0.0


@inner
def _half_made(exponent, normal):
    """2^exponent is a + a f exp2_series(f): a and f."""
    if normal:
        return exp2_split(exponent)
    a, f = exp2_split(vmax(splat(MIN_EXP2), exponent))
    return zero_below(exponent, splat(MIN_EXP2), a), f


@inner
def _token(columns, k, end, axes, beta, normal, scale, out):
    """The velocity of token k, which sees tokens 0 .. end-1 and itself."""
    d = len(axes)
    half, here, none = splat(base_2(beta)), k * d * LANES, splat(0.0)
    x, y, z = load(columns, here), load(columns, here + LANES), load(columns, here + (d - 1) * LANES)
    # the token itself is in the pipeline from the beginning; where j = k comes again, less that
    Z, sum_x, sum_y, sum_z = splat(0.0 if end == k else -1.0), none, none, none
    a, f, dx, dy, dz = splat(1.0), none, none, none, none  # the second stage: the weight is a 2^f
    b, c, p, ex, ey, ez = none, none, none, none, none, none  # the third: it is b + c p
    new_z = none
    for j in range(end):
        at = j * d * LANES
        new_x, new_y = load(columns, at) - x, load(columns, at + LANES) - y
        square = new_y * new_y
        if d == 3:
            new_z = load(columns, at + 2 * LANES) - z
            square = fma(new_y, new_y, new_z * new_z)
        new_a, new_f = _half_made(half * fma(new_x, new_x, square), normal)
        w = fma(c, p, b)
        Z, sum_x, sum_y = Z + w, fma(w, ex, sum_x), fma(w, ey, sum_y)
        b, c, p, ex, ey = a, a * f, exp2_series(f), dx, dy
        a, f, dx, dy = new_a, new_f, new_x, new_y
        if d == 3:
            sum_z, ez, dz = fma(w, ez, sum_z), dz, new_z
    for _ in range(2):  # what is still in the pipeline
        w = fma(c, p, b)
        Z, sum_x, sum_y, sum_z = Z + w, fma(w, ex, sum_x), fma(w, ey, sum_y), fma(w, ez, sum_z)
        b, c, p, ex, ey, ez = a, a * f, exp2_series(f), dx, dy, dz
    share = scale / Z
    sum_x, sum_y, sum_z = sum_x * share, sum_y * share, sum_z * share
    square = sum_y * y
    if d == 3:
        square = fma(sum_y, y, sum_z * z)
    along = fma(sum_x, x, square)
    store(columns, out + here, sum_x - along * x)
    store(columns, out + here + LANES, sum_y - along * y)
    if d == 3:
        store(columns, out + here + 2 * LANES, sum_z - along * z)
