"""Pair sums of eight runs at once, a run in every lane: K^T Q = I, d = 2 or 3, causal or full mask, for
batches of small systems.

No group of pairs is partial and no lane is ever summed across: at n = 200 twice the rate of eight pairs of
one run at a time.

The sum over j is a line of three stations, or the long chain from a distance to its weight would leave the
processor waiting: while the distance to token j is measured, the weight of token j-1 is half made, and that
of token j-2 is finished and summed.
"""

from nucleate.kernels.compile import compiled, inner, take_next
from nucleate.kernels.pairwise import base_2
from nucleate.kernels.simd import (
    LANES,
    LOWEST_2,
    exp2_series,
    exp2_split,
    fma,
    hsum,
    load,
    splat,
    store,
    vabs,
    vmax,
    zero_below,
)

__all__ = ["side_by_side"]


@compiled
def side_by_side(queue, tokens, velocity, beta, scale, full, too_far, columns, stop):
    """velocity = scale P_x D for tokens (b, n, d), the next eight runs in the queue until none is left;
    `columns` is (2, n, d, 8) of scratch.

    Returns whether all squared lengths are less than `too_far` from 1, reckoned as `check_tokens` does, and
    ends where one is not: looked at on the way, that costs nothing; before, it would take a tenth of the
    time.
    """
    b, n, d = tokens.shape
    out = n * d * LANES
    gentle = 4.0 * base_2(beta) > LOWEST_2  # no weight can underflow, and none needs to be looked at for it
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
        if not _on_sphere(columns, n, d, too_far):
            queue[0] = b  # the others need not go on
            return False
        for k in range(n):
            if stop[0]:
                break
            if d == 2:
                _token_2(columns, k, n if full else k, beta, gentle, scale, out)
            else:
                _token_3(columns, k, n if full else k, beta, gentle, scale, out)
        for i in range(n * d):
            for at in range(LANES if whole else count):
                rows_out[start + at, i] = columns_out[i, at]
    return True


@inner
def _on_sphere(columns, n, d, too_far):
    """Whether the squared lengths of all tokens, in all lanes, are less than `too_far` from 1."""
    strays = splat(0.0)
    for k in range(n):
        square = load(columns, k * d * LANES) * load(columns, k * d * LANES)
        for c in range(1, d):
            square = square + load(columns, (k * d + c) * LANES) * load(columns, (k * d + c) * LANES)
        strays = strays + zero_below(vabs(square - 1.0), splat(too_far), splat(1.0))  # NaN counts
    return hsum(strays) == 0.0


@inner
def _half_made(exponent, gentle):
    """2^exponent is a + a f exp2_series(f): a and f."""
    if gentle:
        return exp2_split(exponent)
    a, f = exp2_split(vmax(splat(LOWEST_2), exponent))
    return zero_below(exponent, splat(LOWEST_2), a), f


@inner
def _token_2(columns, k, end, beta, gentle, scale, out):
    half, here, none = splat(base_2(beta)), k * 2 * LANES, splat(0.0)
    x, y = load(columns, here), load(columns, here + LANES)
    # the token itself is on the line already; where j = k comes again, less that
    Z, sum_x, sum_y = splat(0.0 if end == k else -1.0), none, none
    a, f, dx, dy = splat(1.0), none, none, none
    b, c, p, ex, ey = none, none, none, none, none
    for j in range(end):
        new_x, new_y = load(columns, j * 2 * LANES) - x, load(columns, (j * 2 + 1) * LANES) - y
        new_a, new_f = _half_made(half * fma(new_x, new_x, new_y * new_y), gentle)
        w = fma(c, p, b)
        Z, sum_x, sum_y = Z + w, fma(w, ex, sum_x), fma(w, ey, sum_y)
        b, c, p, ex, ey = a, a * f, exp2_series(f), dx, dy
        a, f, dx, dy = new_a, new_f, new_x, new_y
    for _ in range(2):  # what is still on the line
        w = fma(c, p, b)
        Z, sum_x, sum_y = Z + w, fma(w, ex, sum_x), fma(w, ey, sum_y)
        b, c, p, ex, ey = a, a * f, exp2_series(f), dx, dy
    share = scale / Z
    sum_x, sum_y = sum_x * share, sum_y * share
    along = fma(sum_x, x, sum_y * y)
    store(columns, out + here, sum_x - along * x)
    store(columns, out + here + LANES, sum_y - along * y)


@inner
def _token_3(columns, k, end, beta, gentle, scale, out):
    half, here, none = splat(base_2(beta)), k * 3 * LANES, splat(0.0)
    x, y, z = load(columns, here), load(columns, here + LANES), load(columns, here + 2 * LANES)
    Z, sum_x, sum_y, sum_z = splat(0.0 if end == k else -1.0), none, none, none
    a, f, dx, dy, dz = splat(1.0), none, none, none, none
    b, c, p, ex, ey, ez = none, none, none, none, none, none
    for j in range(end):
        at = j * 3 * LANES
        new_x, new_y, new_z = (
            load(columns, at) - x,
            load(columns, at + LANES) - y,
            load(columns, at + 2 * LANES) - z,
        )
        new_a, new_f = _half_made(half * fma(new_x, new_x, fma(new_y, new_y, new_z * new_z)), gentle)
        w = fma(c, p, b)
        Z, sum_x, sum_y, sum_z = Z + w, fma(w, ex, sum_x), fma(w, ey, sum_y), fma(w, ez, sum_z)
        b, c, p, ex, ey, ez = a, a * f, exp2_series(f), dx, dy, dz
        a, f, dx, dy, dz = new_a, new_f, new_x, new_y, new_z
    for _ in range(2):
        w = fma(c, p, b)
        Z, sum_x, sum_y, sum_z = Z + w, fma(w, ex, sum_x), fma(w, ey, sum_y), fma(w, ez, sum_z)
        b, c, p, ex, ey, ez = a, a * f, exp2_series(f), dx, dy, dz
    share = scale / Z
    sum_x, sum_y, sum_z = sum_x * share, sum_y * share, sum_z * share
    along = fma(sum_x, x, fma(sum_y, y, sum_z * z))
    store(columns, out + here, sum_x - along * x)
    store(columns, out + here + LANES, sum_y - along * y)
    store(columns, out + here + 2 * LANES, sum_z - along * z)
