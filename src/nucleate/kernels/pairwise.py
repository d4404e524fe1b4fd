"""The drift as a sum over pairs, compiled: any dimension, any Q, K, V, any mask, frozen tokens;
memory O(n d).

For token k the weights w_kj are made strip by strip and dropped; what is kept is Z_k and

    D_k = (1/Z_k) sum_j w_kj (x_j - x_k),      so that      dx_k/dt = P_{x_k} V (x_k + D_k).

Differences of positions are taken directly: for V = c I the self term c P_{x_k} x_k = 0 is never computed,
token 1 stands still to the last bit, and forces far below rounding of x keep their relative accuracy.
Where K^T Q = I the exponent beta (<x_k, x_j> - 1) is taken as -beta |x_j - x_k|^2 / 2, at most 0 and 0 for
the token itself.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner, take_next
from nucleate.kernels.model_shape import FULL, WINDOW, ModelShape, ordinary_shape
from nucleate.kernels.simd import LANES, TAIL, fma, hmax, hsum, load, splat, store, vabs, vmax
from nucleate.kernels.threads import Stop, share
from nucleate.kernels.vector_math import exp, exp2, sincos

__all__ = [
    "Pairwise",
    "add_differences",
    "base_2",
    "fall_with_places",
    "gaussian_sum",
    "gaussian_sum_in_registers",
    "pairwise_block",
    "pairwise_place",
    "pairwise_system",
    "pairwise_token",
    "pairwise_velocities",
    "place_angles",
    "put_on_sphere",
    "score_sum",
    "seen_range",
]

LOG2_E = 1.4426950408889634
TWO, THREE = (0, 1), (0, 1, 2)  # the axes; the length of a tuple is known to the compiler, unlike an array's
PLACES = np.arange(float(LANES))
STRIP = 1024  # pairs whose weights are held at a time: 8 KiB, inside the first-level cache
U = STRIP + LANES  # where u_k begins in `work`, D_k behind it; arrays of their own would cost 7 % at n = 200


class Pairwise(NamedTuple):
    """One system for the pairwise kernel; `x` is filled by `pairwise_place`."""

    x: Array  # (d, m + n + 8) coordinates apart, frozen tokens first, padded
    a: Array  # (m + 8,) weights of the frozen tokens
    A: Array  # (d, d) beta K^T Q, used unless `gaussian`
    V: Array  # (d, d), used unless `scalar`
    work: Array  # (U + 2 d,) scratch: a strip of weights, u_k, D_k; each thread needs its own
    beta: float
    scale: float  # V = scale * I where `scalar`
    n: int
    m: int  # frozen tokens
    w: int  # the window
    mask: int  # CAUSAL, FULL or WINDOW
    gaussian: bool  # K^T Q = I
    scalar: bool
    angle: bool  # the state is the tokens' angles (d = 2), not their coordinates

    @property
    def places(self) -> Array:
        """(d, n) where the tokens stand."""
        return self.x[:, self.m : self.m + self.n]


def pairwise_system(shape: ModelShape, angle: bool = False) -> Pairwise:
    """The system of one run."""
    n, d, m = ordinary_shape(shape).n, shape.d, len(shape.frozen)
    x, a = np.zeros((d, m + n + LANES)), np.ones(m + LANES)
    x[:, :m], a[:m] = shape.frozen.T, shape.frozen_weight
    return Pairwise(
        x=x,
        a=a,
        A=shape.beta * shape.A,
        V=shape.V.copy(),  # read-only is another type to Numba
        work=np.zeros(U + 2 * d),
        beta=shape.beta,
        scale=shape.scale,
        n=n,
        m=m,
        w=shape.w,
        mask=shape.mask,
        gaussian=shape.gaussian,
        scalar=shape.scalar,
        angle=angle,
    )


def pairwise_velocities(shape: ModelShape, x: Array, velocity: Array, threads: int, stop: Stop) -> None:
    """velocity = drift of tokens x (b, n, d), runs of one model, one after the other on every thread."""
    if not x.flags.writeable:  # another type to Numba
        x = x.copy()
    queue = np.zeros(1, dtype=np.int64)
    systems = [pairwise_system(shape) for _ in range(min(threads, len(x)))]
    share([partial(_runs_in_queue, queue, system, x, velocity, stop) for system in systems])


@compiled
def _runs_in_queue(queue, p, tokens, velocity, stop):
    """Take the next run of tokens (b, n, d) until none is left."""
    b, n, d = tokens.shape
    flat = np.empty(n * d)
    while not stop[0]:
        run = take_next(queue)
        if run >= b:
            return
        for k in range(n):
            for c in range(d):
                p.x[c, p.m + k] = tokens[run, k, c]
        pairwise_block(p, 0, n, flat, stop)
        for k in range(n):
            for c in range(d):
                velocity[run, k, c] = flat[k * d + c]


@compiled
def pairwise_place(p, y):
    """Put the state y, (n * d,) coordinates or (n,) angles padded by 8, on the sphere as columns of p.x."""
    if p.angle:
        place_angles(y, p.x, p.m, p.n)
    else:
        put_on_sphere(y, p.x[:, p.m : p.m + p.n])


@inner
def place_angles(y, x, m, n):
    """Columns m .. m+n-1 of x (2, >= m + n + 8) = the points at the angles y, padded by 8."""
    for k in range(0, n, LANES):
        sine, cosine = sincos(load(y, k))
        store(x, m + k, cosine)
        store(x, x.shape[1] + m + k, sine)


@inner
def put_on_sphere(y, places):
    """places (d, n) = the tokens y, (n * d,), made unit."""
    d, n = places.shape
    for k in range(n):
        square = 0.0
        for c in range(d):
            square += y[k * d + c] * y[k * d + c]
        inverse = 1.0 / np.sqrt(square)
        for c in range(d):
            places[c, k] = y[k * d + c] * inverse


@compiled
def pairwise_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1, into the layout of the state; returns at once when stop[0] is
    set."""
    # taken out once: a field access inside the loop would count references
    x, a, A, V, work = p.x, p.a, p.A, p.V, p.work
    n, m, w, mask, gaussian, beta = p.n, p.m, p.w, p.mask, p.gaussian, p.beta
    scalar, scale, angle = p.scalar, p.scale, p.angle
    d = x.shape[0]
    D = U + d
    for k in range(first, last):
        if stop[0]:
            return
        if gaussian:
            here = m + k
            low, high = seen_range(k, n, m, mask, w)
            for c in range(d):
                work[D + c] = 0.0
            Z = gaussian_sum(x, a, beta, work, here, 0, m, True, None) if m > 0 else 0.0
            if d == 2:
                Z += gaussian_sum_in_registers(x, beta, work, here, low, high, TWO, None)
            elif d == 3:
                Z += gaussian_sum_in_registers(x, beta, work, here, low, high, THREE, None)
            else:
                Z += gaussian_sum(x, a, beta, work, here, low, high, False, None)
        else:
            Z = token_by_scores(x, a, A, work, k, n, m, mask, w)
        _project(x, V, work, k, m, Z, scalar, scale, angle, velocity)


@inner
def pairwise_token(p, k, velocity):
    """The velocity of one token, whatever K^T Q: what the circle kernel falls back to."""
    Z = token_by_scores(p.x, p.a, p.A, p.work, k, p.n, p.m, p.mask, p.w)
    _project(p.x, p.V, p.work, k, p.m, Z, p.scalar, p.scale, p.angle, velocity)


@inner
def seen_range(k, n, m, mask, w):
    """The columns low .. high-1 of p.x that token k sees, the frozen ones apart."""
    return m + max(0, k - w + 1) if mask == WINDOW else m, m + n if mask == FULL else m + k + 1


@inner
def token_by_scores(x, a, A, work, k, n, m, mask, w):
    """Z_k and Z_k D_k of one token by scores <u_k, x_j>, u_k = beta K^T Q x_k, less the largest of them."""
    d = x.shape[0]
    D = U + d
    here = m + k
    for c in range(d):
        score = 0.0
        for e in range(d):
            score += A[c, e] * x[e, here]
        work[U + c], work[D + c] = score, 0.0
    low, high = seen_range(k, n, m, mask, w)
    Z, largest = 0.0, -np.inf
    # the frozen tokens if there are any, then the others: one call for both keeps compilation short
    for part in range(0 if m > 0 else 1, 2):
        start, end = low if part else 0, high if part else m
        Z, largest = score_sum(x, None, x, a, work, here, start, end, None, Z, largest)
    return Z


@inner
def _project(x, V, work, k, m, Z, scalar, scale, angle, velocity):
    """velocity_k = P_{x_k} V (x_k + D_k), for V = c I as c P_{x_k} D_k."""
    d = x.shape[0]
    D = U + d
    here = m + k
    inverse = 1.0 / Z
    for c in range(d):
        work[D + c] *= inverse
    for c in range(d):
        value = scale * work[D + c]
        if not scalar:
            value = 0.0
            for e in range(d):
                value += V[c, e] * (x[e, here] + work[D + e])
        work[U + c] = value
    if angle:
        velocity[k] = work[U + 1] * x[0, here] - work[U] * x[1, here]
        return
    along = 0.0
    for c in range(d):
        along += work[U + c] * x[c, here]
    for c in range(d):
        velocity[k * d + c] = work[U + c] - along * x[c, here]


@inner
def base_2(beta):
    """c with exp(-beta s / 2) = 2^(c s)."""
    return -0.5 * beta * LOG2_E


@inner
def fall_with_places(slope, here, j):
    """-slope |k - j| of eight tokens j, j + 1, ...: what ALiBi adds to their scores."""
    return vabs(load(PLACES, 0) + float(j - here)) * (-slope)


@inner
def gaussian_sum(x, a, beta, work, here, low, high, weighted, slope):
    """Add w_kj and w_kj (x_j - x_k) for j in low .. high-1, w_kj = exp(-beta |x_j - x_k|^2 / 2); returns the
    sum of weights.  Here and below a slope is that of ALiBi, or None: then nothing of it is compiled."""
    d, width = x.shape
    half = splat(base_2(beta))
    total = splat(0.0)
    for start in range(low, high, STRIP):
        end = min(start + STRIP, high)
        for j in range(start, end, 2 * LANES):
            # two groups of eight: what is fetched of x_k is used twice, and no chain of sums waits for itself
            after = min(j + LANES, end - 1)  # without a second group: something that may be read
            square, square_2 = splat(0.0), splat(0.0)
            for c in range(d):
                at = splat(x[c, here])
                step, step_2 = load(x, c * width + j) - at, load(x, c * width + after) - at
                square, square_2 = fma(step, step, square), fma(step_2, step_2, square_2)
            for group in range(2 if j + LANES < end else 1):
                first = j + group * LANES
                least = load(TAIL, max(0, LANES - (end - first)))
                if slope is not None:
                    least = least + fall_with_places(slope * LOG2_E, here, first)
                w = exp2(fma(half, square_2 if group else square, least))
                if weighted:
                    w = w * load(a, first)
                store(work, first - start, w)
                total = total + w
        add_differences(x, work, here, start, end)
    return hsum(total)


@inner
def gaussian_sum_in_registers(x, beta, work, here, low, high, axes, slope):
    """`gaussian_sum` for d = 2 and 3, axes = TWO or THREE."""
    d, width = len(axes), x.shape[1]
    D = U + d
    half, here_0, here_1, here_2 = base_2(beta), x[0, here], x[1, here], x[d - 1, here]
    total, sum_0, sum_1, sum_2, step_2 = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    whole = low + (high - low) // LANES * LANES
    for j in range(low, high, LANES):
        step_0, step_1 = load(x, j) - here_0, load(x, width + j) - here_1
        square = step_1 * step_1
        if d == 3:
            step_2 = load(x, 2 * width + j) - here_2
            square = fma(step_1, step_1, step_2 * step_2)
        exponent = half * fma(step_0, step_0, square)
        if slope is not None:
            exponent = exponent + fall_with_places(slope * LOG2_E, here, j)
        if j == whole:
            exponent = exponent + load(TAIL, LANES - (high - j))
        w = exp2(exponent)
        total = total + w
        sum_0, sum_1 = fma(w, step_0, sum_0), fma(w, step_1, sum_1)
        if d == 3:
            sum_2 = fma(w, step_2, sum_2)
    work[D] += hsum(sum_0)
    work[D + 1] += hsum(sum_1)
    if d == 3:
        work[D + 2] += hsum(sum_2)
    return hsum(total)


@inner
def score_sum(keys, at, x, a, work, here, low, high, slope, Z, largest):
    """The same for w_kj = exp(<u_k, key_j> - largest), the largest score so far: what was summed before is
    rescaled.  The keys, d rows as wide as x, begin at the flat index `at`; where it is None they are x."""
    d, width = x.shape
    D = U + d
    weighted = high <= a.size - LANES  # only frozen tokens carry weights
    for start in range(low, high, STRIP):
        end = min(start + STRIP, high)
        best = splat(-np.inf)
        for j in range(start, end, LANES):
            score = load(TAIL, max(0, LANES - (end - j)))
            if slope is not None:
                score = score + fall_with_places(slope, here, j)
            for c in range(d):
                if at is not None:
                    score = fma(splat(work[U + c]), load(keys, at + c * width + j), score)
                else:
                    score = fma(splat(work[U + c]), load(x, c * width + j), score)
            store(work, j - start, score)
            best = vmax(best, score)
        new = max(largest, hmax(best))
        if new > largest:
            shrink = np.exp(largest - new)
            Z *= shrink
            for c in range(d):
                work[D + c] *= shrink
            largest = new
        total = splat(0.0)
        for j in range(start, end, LANES):
            w = exp(load(work, j - start) - largest)
            if weighted:
                w = w * load(a, j)
            store(work, j - start, w)
            total = total + w
        Z += hsum(total)
        add_differences(x, work, here, start, end)
    return Z, largest


@inner
def add_differences(x, work, here, start, end):
    """D += sum_j w_kj (x_j - x_k) over one strip, two coordinates at a time, each in two partial sums to hide
    latency."""
    d, width = x.shape
    D = U + d
    for c in range(0, d - 1, 2):
        even, odd, even_2, odd_2 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        at, at_2, row = splat(x[c, here]), splat(x[c + 1, here]), c * width
        j = start
        while j + LANES < end:
            w, w_2 = load(work, j - start), load(work, j - start + LANES)
            even = fma(w, load(x, row + j) - at, even)
            odd = fma(w_2, load(x, row + j + LANES) - at, odd)
            even_2 = fma(w, load(x, row + width + j) - at_2, even_2)
            odd_2 = fma(w_2, load(x, row + width + j + LANES) - at_2, odd_2)
            j += 2 * LANES
        if j < end:
            even = fma(load(work, j - start), load(x, row + j) - at, even)
            even_2 = fma(load(work, j - start), load(x, row + width + j) - at_2, even_2)
        work[D + c] += hsum(even + odd)
        work[D + c + 1] += hsum(even_2 + odd_2)
    for c in range(d // 2 * 2, d):
        even, odd = splat(0.0), splat(0.0)
        at = splat(x[c, here])
        row = c * width
        j = start
        while j + LANES < end:
            even = fma(load(work, j - start), load(x, row + j) - at, even)
            odd = fma(load(work, j - start + LANES), load(x, row + j + LANES) - at, odd)
            j += 2 * LANES
        if j < end:
            even = fma(load(work, j - start), load(x, row + j) - at, even)
        work[D + c] += hsum(even + odd)
