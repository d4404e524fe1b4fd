"""The drift as a sum over pairs, compiled: any dimension, any Q, K, V, any mask, frozen tokens; memory O(n
d).

For token k the weights w_kj are made strip by strip and dropped; what is kept is Z_k and

    D_k = (1/Z_k) sum_j w_kj (x_j - x_k),      so that      dx_k/dt = P_{x_k} V (x_k + D_k).

Differences of positions are taken directly: for V = c I the self term c P_{x_k} x_k = 0 is never computed,
token 1 stands still to the last bit, and forces far below rounding of x keep their relative accuracy.
Where K^T Q = I the exponent beta (<x_k, x_j> - 1) is taken as -beta |x_j - x_k|^2 / 2, at most 0 and 0 for
the token itself.
"""

from typing import NamedTuple

import numpy as np

from nucleate.attention import Attention, Window
from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner, take_next
from nucleate.kernels.simd import LANES, exp, exp2, fma, hmax, hsum, load, sincos, splat, store, vmax

__all__ = [
    "Pairwise",
    "base_2",
    "pairwise_block",
    "pairwise_many",
    "pairwise_place",
    "pairwise_system",
    "pairwise_token",
]

CAUSAL, FULL, WINDOW = 0, 1, 2
LOG2_E = 1.4426950408889634
STRIP = 1024  # pairs whose weights are held at a time: 8 KiB, inside the first-level cache
# load(TAIL, 8 - r) is r zeros, then -inf: added to the exponents of a last, partial group of r pairs
TAIL = np.concatenate([np.zeros(LANES), np.full(LANES, -np.inf)])


class Pairwise(NamedTuple):
    """One system for the pairwise kernel; `x` is scratch that `pairwise_place` fills."""

    x: Array  # (d, m + n + 8) coordinates apart, frozen tokens first, padded
    a: Array  # (m + 8,) weights of the frozen tokens
    A: Array  # (d, d) beta K^T Q, used unless `gaussian`
    V: Array  # (d, d), used unless `scalar`
    work: Array  # a strip of weights, then u_k, then D_k; each thread needs its own
    beta: float
    scale: float  # V = scale * I where `scalar`
    n: int
    m: int  # frozen tokens
    w: int  # the window
    mask: int
    gaussian: bool  # K^T Q = I
    scalar: bool
    angle: bool  # the state is the tokens' angles (d = 2), not their coordinates


def pairwise_system(model: Attention, n: int, d: int, run: int = 0, angle: bool = False) -> Pairwise:
    """The system of one run of `model`, for n tokens in dimension d."""
    beta, Q, K, V = one_run(model, d, run)
    A = K.T @ Q  # (d, d)
    frozen, weight = one_frozen(model, d, run)
    m = len(frozen)
    x = np.zeros((d, m + n + LANES))
    x[:, :m] = frozen.T
    a = np.ones(m + LANES)
    a[:m] = weight
    mask = FULL if model.mask == "full" else WINDOW if isinstance(model.mask, Window) else CAUSAL
    window = min(model.mask.w, n) if isinstance(model.mask, Window) else n
    scalar = bool((V == V[0, 0] * np.eye(d)).all())
    gaussian = bool((A == np.eye(d)).all())
    work = np.zeros(STRIP + LANES + 2 * d)
    return Pairwise(
        x, a, beta * A, V, work, beta, float(V[0, 0]), n, m, window, mask, gaussian, scalar, angle
    )


def one_run(model: Attention, d: int, run: int) -> tuple[float, Array, Array, Array]:
    """beta, Q, K, V of one run."""
    beta, Q, K, V = model.parameters(d)
    # copies: read-only arrays are another type to Numba
    Q, K, V = (np.array(M if M.ndim == 2 else M[run]) for M in (Q, K, V))
    return float(model.beta if model.beta.ndim == 0 else model.beta[run]), Q, K, V


def one_frozen(model: Attention, d: int, run: int) -> tuple[Array, Array]:
    """Frozen tokens (m, d) and their weights (m,) of one run; none gives m = 0."""
    if model.frozen is None:
        return np.empty((0, d)), np.empty(0)
    if model.frozen.x.ndim == 2:
        return model.frozen.x, model.frozen.weight
    return model.frozen.x[run], model.frozen.weight[run]


@compiled
def pairwise_place(p, y):
    """Put the state y, (n * d,) coordinates or (n,) angles padded by 8, on the sphere as columns of p.x."""
    if p.angle:
        width = p.x.shape[1]
        for k in range(0, p.n, LANES):
            sine, cosine = sincos(load(y, k))
            store(p.x, p.m + k, cosine)
            store(p.x, width + p.m + k, sine)
        return
    d = p.x.shape[0]
    for k in range(p.n):
        square = 0.0
        for c in range(d):
            square += y[k * d + c] * y[k * d + c]
        inverse = 1.0 / np.sqrt(square)
        for c in range(d):
            p.x[c, p.m + k] = y[k * d + c] * inverse


@compiled
def pairwise_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1, into the layout of the state; returns at once when stop[0] is
    set."""
    # taken out once: a field access inside the loop would count references
    x, a, A, V, work = p.x, p.a, p.A, p.V, p.work
    n, m, w, mask, gaussian, beta, scalar, scale, angle = (
        p.n,
        p.m,
        p.w,
        p.mask,
        p.gaussian,
        p.beta,
        p.scalar,
        p.scale,
        p.angle,
    )
    d = x.shape[0]
    D = STRIP + LANES + d
    for k in range(first, last):
        if stop[0]:
            return
        if gaussian:
            here = m + k
            low = m if mask != WINDOW else m + max(0, k - w + 1)
            high = m + n if mask == FULL else here + 1
            for c in range(d):
                work[D + c] = 0.0
            Z = gaussian_sum(x, a, beta, work, here, 0, m, True) if m > 0 else 0.0
            if d == 2:
                Z += gaussian_sum_2(x, beta, work, here, low, high)
            elif d == 3:
                Z += gaussian_sum_3(x, beta, work, here, low, high)
            else:
                Z += gaussian_sum(x, a, beta, work, here, low, high, False)
        else:
            Z = token_by_scores(x, a, A, work, k, n, m, mask, w)
        _project(x, V, work, k, m, Z, scalar, scale, angle, velocity)


@inner
def pairwise_token(p, k, velocity):
    """The velocity of one token, whatever K^T Q: what the circle kernel falls back to."""
    Z = token_by_scores(p.x, p.a, p.A, p.work, k, p.n, p.m, p.mask, p.w)
    _project(p.x, p.V, p.work, k, p.m, Z, p.scalar, p.scale, p.angle, velocity)


@inner
def token_by_scores(x, a, A, work, k, n, m, mask, w):
    """Z_k and Z_k D_k of one token by scores <u_k, x_j>, u_k = beta K^T Q x_k, less the largest of them."""
    d = x.shape[0]
    u, D = STRIP + LANES, STRIP + LANES + d
    here = m + k
    for c in range(d):
        score = 0.0
        for e in range(d):
            score += A[c, e] * x[e, here]
        work[u + c] = score
        work[D + c] = 0.0
    low = m if mask != WINDOW else m + max(0, k - w + 1)
    high = m + n if mask == FULL else here + 1
    Z, top = 0.0, -np.inf
    for part in range(2):  # the frozen tokens, then the others: one call for both keeps compilation short
        Z, top = _score_sum(x, a, work, here, low if part else 0, high if part else m, Z, top)
    return Z


@inner
def _project(x, V, work, k, m, Z, scalar, scale, angle, velocity):
    """velocity_k = P_{x_k} V (x_k + D_k), for V = c I as c P_{x_k} D_k."""
    d = x.shape[0]
    u, D = STRIP + LANES, STRIP + LANES + d
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
        work[u + c] = value
    if angle:
        velocity[k] = work[u + 1] * x[0, here] - work[u] * x[1, here]
        return
    along = 0.0
    for c in range(d):
        along += work[u + c] * x[c, here]
    for c in range(d):
        velocity[k * d + c] = work[u + c] - along * x[c, here]


@compiled
def pairwise_many(queue, p, tokens, velocity, stop):
    """The drift of runs of tokens (b, n, d), by one system whose state is coordinates: of the next in the
    queue until none is left."""
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


@inner
def base_2(beta):
    """c with exp(-beta s / 2) = 2^(c s)."""
    return -0.5 * beta * LOG2_E


@inner
def gaussian_sum(x, a, beta, work, here, low, high, weighted):
    """Add w_kj and w_kj (x_j - x_k) for j in low .. high-1, w_kj = exp(-beta |x_j - x_k|^2 / 2); returns the
    sum of weights."""
    d, width = x.shape
    half = splat(base_2(beta))
    total = splat(0.0)
    for start in range(low, high, STRIP):
        end = min(start + STRIP, high)
        for j in range(start, end, LANES):
            square = splat(0.0)
            for c in range(d):
                step = load(x, c * width + j) - x[c, here]
                square = fma(step, step, square)
            w = exp2(fma(half, square, load(TAIL, max(0, LANES - (end - j)))))
            if weighted:
                w = w * load(a, j)
            store(work, j - start, w)
            total = total + w
        _add_differences(x, work, here, start, end)
    return hsum(total)


@inner
def gaussian_sum_2(x, beta, work, here, low, high):
    """`gaussian_sum` for d = 2, everything in registers."""
    width = x.shape[1]
    D = STRIP + LANES + 2
    half, here_0, here_1 = splat(base_2(beta)), splat(x[0, here]), splat(x[1, here])
    total, sum_0, sum_1 = splat(0.0), splat(0.0), splat(0.0)
    whole = low + (high - low) // LANES * LANES
    for j in range(low, high, LANES):
        step_0, step_1 = load(x, j) - here_0, load(x, width + j) - here_1
        exponent = half * fma(step_0, step_0, step_1 * step_1)
        if j == whole:
            exponent = exponent + load(TAIL, LANES - (high - j))
        w = exp2(exponent)
        total = total + w
        sum_0, sum_1 = fma(w, step_0, sum_0), fma(w, step_1, sum_1)
    work[D] += hsum(sum_0)
    work[D + 1] += hsum(sum_1)
    return hsum(total)


@inner
def gaussian_sum_3(x, beta, work, here, low, high):
    """`gaussian_sum` for d = 3, everything in registers."""
    width = x.shape[1]
    D = STRIP + LANES + 3
    half, here_0, here_1, here_2 = (
        splat(base_2(beta)),
        splat(x[0, here]),
        splat(x[1, here]),
        splat(x[2, here]),
    )
    total, sum_0, sum_1, sum_2 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    whole = low + (high - low) // LANES * LANES
    for j in range(low, high, LANES):
        step_0, step_1, step_2 = (
            load(x, j) - here_0,
            load(x, width + j) - here_1,
            load(x, 2 * width + j) - here_2,
        )
        exponent = half * fma(step_0, step_0, fma(step_1, step_1, step_2 * step_2))
        if j == whole:
            exponent = exponent + load(TAIL, LANES - (high - j))
        w = exp2(exponent)
        total = total + w
        sum_0, sum_1, sum_2 = fma(w, step_0, sum_0), fma(w, step_1, sum_1), fma(w, step_2, sum_2)
    work[D] += hsum(sum_0)
    work[D + 1] += hsum(sum_1)
    work[D + 2] += hsum(sum_2)
    return hsum(total)


@inner
def _score_sum(x, a, work, here, low, high, Z, top):
    """The same for w_kj = exp(<u_k, x_j> - top), top the largest score so far: what was summed before is
    rescaled."""
    d, width = x.shape
    weighted = high <= a.size - LANES  # only frozen tokens carry weights
    u, D = STRIP + LANES, STRIP + LANES + d
    for start in range(low, high, STRIP):
        end = min(start + STRIP, high)
        largest = splat(-np.inf)
        for j in range(start, end, LANES):
            score = load(TAIL, max(0, LANES - (end - j)))
            for c in range(d):
                score = fma(splat(work[u + c]), load(x, c * width + j), score)
            store(work, j - start, score)
            largest = vmax(largest, score)
        best = max(top, hmax(largest))
        if best > top:
            shrink = np.exp(top - best)
            Z *= shrink
            for c in range(d):
                work[D + c] *= shrink
            top = best
        total = splat(0.0)
        for j in range(start, end, LANES):
            w = exp(load(work, j - start) - top)
            if weighted:
                w = w * load(a, j)
            store(work, j - start, w)
            total = total + w
        Z += hsum(total)
        _add_differences(x, work, here, start, end)
    return Z, top


@inner
def _add_differences(x, work, here, start, end):
    """D += sum_j w_kj (x_j - x_k) over one strip, two partial sums to hide latency."""
    d, width = x.shape
    D = STRIP + LANES + d
    for c in range(d):
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
