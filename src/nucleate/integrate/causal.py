"""The causal solver: implicit steps by forward substitution, for times up to 1e300.

Token k feels only tokens j <= k, so the Jacobian is block lower triangular and a linearly implicit step is solved token by token: each
needs its own weights and one small matrix, made once a step and dropped.  No n x n array, no factorisation but of (d-1) x (d-1) blocks.

The method is RODAS of order 4(3), L-stable and stiffly accurate (Hairer and Wanner, Solving ODEs II, IV.7; coefficients of their rodas.f).
With u_1 .. u_6 the stages, gamma = 1/4:

    (1/(h gamma) - J) u_i = F(v + sum_{l<i} a_il u_l) + (1/h) sum_{l<i} c_il u_l,      v' = v + sum_l a_6l u_l + u_6,      error = u_6.

Coordinates.  Each step lives in the gnomonic chart at the tokens' present places: y = x_k + B_k v_k, B_k an orthonormal basis of the tangent
space, x = y / |y|.  There the equation reads v_k' = B_k^T |y| (f_k - <x_k, f_k> y), and at v = 0 its Jacobian is B_k^T (df_k/dx_j) B_j.
Nothing is left in the normal direction that a step of 1e50 could blow up.

Small forces.  With D_k = sum_j p_kj (x_j - x_k), f_k = P_{x_k} V (x_k + D_k).  For V = c I the self term drops out and every entry of the
Jacobian is written as a sum of small terms, so forces of 1e-300 keep their relative accuracy.  For other V forces below about 1e-16 |V| are noise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.integrate.explicit import (
    DONE,
    EPS,
    FULL_BUFFER,
    MAX_STEPS,
    NON_FINITE,
    REJECTED,
    RUNNING,
    SAFETY,
    SAVED,
    SLOWEST,
    STALLED,
    STATE,
    STEPS,
    UNDERFLOW,
)
from nucleate.kernels.compile import compiled
from nucleate.kernels.pairwise import (
    LANES,
    STRIP,
    TAIL,
    WINDOW,
    Pairwise,
    gaussian_sum,
    gaussian_sum_2,
    gaussian_sum_3,
    token_by_scores,
)
from nucleate.kernels.simd import exp, fma, hmax, hsum, load, splat, store, vmax

__all__ = ["CLOCK", "Causal", "causal_step", "march_causal", "new_causal"]

T, REST, H, BEFORE, LAST, HELD = range(6)  # of the clock
CLOCK = 6
FASTEST = 10.0
GAMMA = 0.25
STAGES = 6
A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1.544, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0, 0.0],
        [3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0, 0.0],
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 0.0, 0.0],
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0, 0.0],
    ]
)
C = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-5.6688, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0, 0.0],
        [-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0, 0.0],
        [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0.0, 0.0],
        [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054, 0.0],
    ]
)
# The interpolant v(theta) = theta v' + theta (1 - theta) (sum_l D_2l u_l + theta sum_l D_3l u_l).
DENSE = np.array(
    [
        [10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662, 0.0],
        [-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872, 0.0],
    ]
)


ARG, PLACE, DRIFT, TOTAL, SCORE, MEAN = range(6)  # rows of Causal.vectors: sum a_il u_l; y; f_k; sum_j J_kj u_j; A x_k; D_k


class Causal(NamedTuple):
    """Scratch of one run's steps; `pair.x` holds the present places."""

    pair: Pairwise
    places: Array  # (6, d, width) of the stages, frozen tokens first, coordinates apart
    pushes: Array  # (6, d, width) B_k u_i in the surrounding space
    u: Array  # (6, n, d - 1)
    weight: Array  # (width + 8,) p_kj of the token at work: frozen tokens from 0, the others from m + 8
    push: Array  # (width + 8,) p_kj <A x_k, u_j>
    basis: Array  # (d, d - 1) B_k
    block: Array  # (d - 1, d - 1) the factors of 1/(h gamma) - J_kk
    pivot: NDArray[np.int64]  # (d - 1,)
    spread: Array  # (d, d) sum_j p_kj (x_j - x_k) (x_j - x_k)^T, then the covariance, then V times what B_k multiplies
    vectors: Array  # (6, d) rows ARG .. MEAN


def new_causal(pair: Pairwise) -> Causal:
    """Scratch for the system."""
    d, width = pair.x.shape
    places, pushes = np.zeros((STAGES, d, width)), np.zeros((STAGES, d, width))
    places[:, :, : pair.m] = pair.x[:, : pair.m]
    weight, push = np.zeros(width + LANES), np.zeros(width + LANES)
    basis, block, pivot = np.zeros((d, d - 1)), np.zeros((d - 1, d - 1)), np.zeros(d - 1, dtype=np.int64)
    return Causal(pair, places, pushes, np.zeros((STAGES, pair.n, d - 1)), weight, push, basis, block, pivot, np.zeros((d, d)), np.zeros((6, d)))


@compiled
def march_causal(s, book, clock, run, stop):
    """Carry one run to its end; 0 when it has ended, FULL_BUFFER when frames need more room.

    clock holds T and REST, the time as a sum of two doubles (t + h = t would stall), H, the last error, and whether a rejection came before.
    """
    if book.counts[STATE, run] != RUNNING:
        return 0
    if clock[H] == 0.0:
        _enter(s, book, clock, run)
    while True:
        h = clock[H]
        error = causal_step(s, h, stop) / book.tolerance
        if stop[0]:
            book.counts[STATE, run] = stop[0]
            return 0
        if not error <= 1.0:
            book.counts[REJECTED, run] += 1
            clock[H] = h * (max(SLOWEST, SAFETY * error**-0.25) if np.isfinite(error) else 0.1)
            clock[HELD] = 1.0
            if clock[H] < 1e-300:
                book.counts[STATE, run] = STALLED if np.isfinite(error) else NON_FINITE
                return 0
        else:
            book.counts[STEPS, run] += 1
            rest = clock[REST] + h
            new = clock[T] + rest
            rest -= new - clock[T]
            last = new >= book.final * (1.0 - 4.0 * EPS)
            new = book.final if last else new
            full = _write_frames(s, book, clock, run, new, h)
            moved = _accept(s)
            clock[T], clock[REST] = new, rest
            if last:
                blind = moved < 4.0 * EPS and _blind(s)
                book.counts[STATE, run] = UNDERFLOW if blind else DONE
                return 0
            small = max(error, 1e-8)
            factor = min(1.0 if clock[HELD] > 0.0 else FASTEST, max(SLOWEST, SAFETY * small**-0.25))
            if clock[BEFORE] > 0.0 and error > 0.0:  # Gustafsson's prediction, from how the error changed over the last two steps
                trend = h / clock[LAST] * (clock[BEFORE] / small) ** 0.25
                factor = min(factor, max(SLOWEST, factor * trend))
            clock[BEFORE], clock[LAST], clock[HELD] = small, h, 0.0
            clock[H] = min(h * factor, book.final - new)
            if full:
                return FULL_BUFFER
        if book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
            book.counts[STATE, run] = MAX_STEPS
            return 0


@compiled
def _enter(s, book, clock, run):
    """The start becomes the present places; the first step from the fastest token."""
    p, start = s.pair, book.start[run]
    n, d = start.shape
    for k in range(n):
        for c in range(d):
            p.x[c, p.m + k] = start[k, c]
    if book.every or book.times[0] == 0.0:
        for k in range(n):
            for c in range(d):
                book.frames[run, 0, k, c] = start[k, c]
        book.times[0] = 0.0
        book.counts[SAVED, run] = 1
    fastest = 0.0
    for k in range(n):
        low = p.m + max(0, k - p.w + 1) if p.mask == WINDOW else p.m
        _drift(p, p.x, k, low, s.vectors)
        for c in range(d):
            fastest = max(fastest, abs(s.vectors[DRIFT, c]))
    clock[H] = min(min(0.01, book.tolerance**0.25) / fastest, book.final) if fastest > 0.0 else book.final


@compiled
def _accept(s):
    """The new places; returns how far the farthest token went."""
    p, u, basis = s.pair, s.u, s.basis
    x = p.x
    d = x.shape[0]
    farthest = 0.0
    for k in range(p.n):
        here = p.m + k
        tangent_basis(x, here, basis)
        reach = 0.0
        for e in range(d - 1):
            step = u[STAGES - 1, k, e]
            for i in range(STAGES - 1):
                step += A[STAGES - 1, i] * u[i, k, e]
            s.vectors[ARG, e] = step
            reach = max(reach, abs(step))
        farthest = max(farthest, reach)
        if reach == 0.0:
            continue
        _place(x, here, basis, s.vectors, d)
        for c in range(d):
            x[c, here] = s.vectors[PLACE, c]
    return farthest


@compiled
def _place(x, here, basis, vectors, d):
    """The point of the sphere at the chart coordinates in row ARG, into row PLACE."""
    square = 0.0
    for c in range(d):
        y = x[c, here]
        for e in range(d - 1):
            y += basis[c, e] * vectors[ARG, e]
        vectors[PLACE, c] = y
        square += y * y
    length = np.sqrt(square)
    for c in range(d):
        vectors[PLACE, c] /= length


@compiled
def _write_frames(s, book, clock, run, new, h):
    """Every asked time up to `new` by the interpolant, or the new point itself when every step is kept; True when room runs out."""
    p, u, basis, vectors, times = s.pair, s.u, s.basis, s.vectors, book.times
    d = p.x.shape[0]
    saved = book.counts[SAVED, run]
    if book.every:
        times[saved] = new
    while saved < times.size and times[saved] <= new:
        theta = ((times[saved] - clock[T]) - clock[REST]) / h if times[saved] < new else 1.0
        for k in range(p.n):
            here = p.m + k
            tangent_basis(p.x, here, basis)
            for e in range(d - 1):
                end, two, three = u[STAGES - 1, k, e], 0.0, 0.0
                for i in range(STAGES - 1):
                    end += A[STAGES - 1, i] * u[i, k, e]
                    two += DENSE[0, i] * u[i, k, e]
                    three += DENSE[1, i] * u[i, k, e]
                vectors[ARG, e] = theta * (end + (1.0 - theta) * (two + theta * three))
            _place(p.x, here, basis, vectors, d)
            for c in range(d):
                book.frames[run, saved, k, c] = vectors[PLACE, c]
        saved += 1
        book.counts[SAVED, run] = saved
        if book.every:
            return saved >= times.size
    return False


@compiled
def _blind(s):
    """Whether some token has others before it and feels none of them: its forces underflowed to zero."""
    p = s.pair
    for k in range(1 if p.m == 0 else 0, p.n):
        here = p.m + k
        low = p.m + max(0, k - p.w + 1) if p.mask == WINDOW else p.m
        for c in range(p.x.shape[0]):
            s.vectors[SCORE, c] = p.beta * p.x[c, here]
            if not p.gaussian:
                s.vectors[SCORE, c] = 0.0
                for e in range(p.x.shape[0]):
                    s.vectors[SCORE, c] += p.A[c, e] * p.x[e, here]
        _weights(s, here, low)
        if (low < here or p.m > 0) and _moments(s, here, low) == 0.0:
            return True
    return False


@compiled
def causal_step(s, h, stop):
    """The stages of one step of length h from the places in pair.x; the error of the worst token, NaN when not finite."""
    worst = 0.0
    for k in range(s.pair.n):
        if stop[0]:
            return np.nan
        error = _token(s, k, h)
        if not error <= worst:
            worst = error
            if np.isnan(error):
                return error
    return worst


@compiled
def tangent_basis(x, here, basis):
    """Columns orthonormal to x[:, here] and to each other: a Householder reflection's, or the quarter turn on the circle."""
    d = x.shape[0]
    if d == 2:
        basis[0, 0], basis[1, 0] = -x[1, here], x[0, here]
        return
    last = x[d - 1, here]
    sign = 1.0 if last >= 0.0 else -1.0
    scale = 1.0 / (1.0 + abs(last))  # 2 / |w|^2 for w = x + sign e_d
    for e in range(d - 1):
        for c in range(d):
            w = x[c, here] + (sign if c == d - 1 else 0.0)
            basis[c, e] = (1.0 if c == e else 0.0) - scale * w * x[e, here]


@compiled
def _token(s, k, h):
    """All stages of one token; returns the length of its last, the error."""
    p, places, pushes, u, basis, vectors = s.pair, s.places, s.pushes, s.u, s.basis, s.vectors
    x = p.x
    d = x.shape[0]
    here = p.m + k
    low = p.m + max(0, k - p.w + 1) if p.mask == WINDOW else p.m
    tangent_basis(x, here, basis)
    _linearise(s, k, low, h)
    for i in range(STAGES):
        stage = places[i]
        for e in range(d - 1):
            step = 0.0
            for before in range(i):
                step += A[i, before] * u[before, k, e]
            vectors[ARG, e] = step
        square = 0.0
        for c in range(d):
            y = x[c, here]
            for e in range(d - 1):
                y += basis[c, e] * vectors[ARG, e]
            vectors[PLACE, c] = y
            square += y * y
        length = np.sqrt(square) if i > 0 else 1.0
        for c in range(d):
            stage[c, here] = vectors[PLACE, c] / length
        _drift(p, stage, k, low, vectors)
        _pushed(s, pushes[i], k, low)
        along = 0.0
        for c in range(d):
            along += x[c, here] * vectors[DRIFT, c]
        for e in range(d - 1):
            force, linear = -along * vectors[ARG, e], 0.0
            for c in range(d):
                force += basis[c, e] * vectors[DRIFT, c]
                linear += basis[c, e] * vectors[TOTAL, c]
            value = length * force + linear
            for before in range(i):
                value += C[i, before] / h * u[before, k, e]
            u[i, k, e] = value
        _solve(s.block, s.pivot, u, i, k)
        for c in range(d):
            push = 0.0
            for e in range(d - 1):
                push += basis[c, e] * u[i, k, e]
            pushes[i, c, here] = push
    square = 0.0
    for e in range(d - 1):
        square += u[STAGES - 1, k, e] ** 2
    return np.sqrt(square)


@compiled
def _drift(p, x, k, low, vectors):
    """f_k at the places x: P_{x_k} V (x_k + D_k)."""
    work, V = p.work, p.V
    d = x.shape[0]
    D = STRIP + LANES + d
    here = p.m + k
    if p.gaussian:
        for c in range(d):
            work[D + c] = 0.0
        Z = gaussian_sum(x, p.a, p.beta, work, here, 0, p.m, True) if p.m > 0 else 0.0
        if d == 2:
            Z += gaussian_sum_2(x, p.beta, work, here, low, here + 1)
        elif d == 3:
            Z += gaussian_sum_3(x, p.beta, work, here, low, here + 1)
        else:
            Z += gaussian_sum(x, p.a, p.beta, work, here, low, here + 1, False)
    else:
        Z = token_by_scores(x, p.a, p.A, work, k, p.n, p.m, p.mask, p.w)
    along = 0.0
    for c in range(d):
        value = p.scale * work[D + c] / Z
        if not p.scalar:
            value = 0.0
            for e in range(d):
                value += V[c, e] * (x[e, here] + work[D + e] / Z)
        vectors[DRIFT, c] = value
        along += value * x[c, here]
    for c in range(d):
        vectors[DRIFT, c] -= along * x[c, here]


@compiled
def _linearise(s, k, low, h):
    """Weights p_kj at the present places, D_k, and the factors of 1/(h gamma) - J_kk with

    J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B - <x_k, V (x_k + D)>,   Cov the p-covariance of the x_j,

    where for V = c I  p_kk - <x_k, x_k + D> is taken as  -sum_{j != k} p_kj + sum_j p_kj |x_j - x_k|^2 / 2.
    """
    p, basis, block, spread, vectors = s.pair, s.basis, s.block, s.spread, s.vectors
    x, V = p.x, p.V
    d = x.shape[0]
    here = p.m + k
    for c in range(d):
        score = p.beta * x[c, here]
        if not p.gaussian:
            score = 0.0
            for e in range(d):
                score += p.A[c, e] * x[e, here]
        vectors[SCORE, c] = score
    own = _weights(s, here, low)
    others = _moments(s, here, low)
    half = 0.0
    for c in range(d):
        half += 0.5 * spread[c, c]
    for c in range(d):
        for e in range(d):
            spread[c, e] -= vectors[MEAN, c] * vectors[MEAN, e]
    # TOTAL and PLACE serve as scratch here: column by column of B, (Cov A + p_kk (1 - D (A x_k)^T)) B_e, then V times it
    shift = p.scale * (half - others)
    if not p.scalar:
        shift = 0.0
        for c in range(d):
            for e in range(d):
                shift -= x[c, here] * V[c, e] * (x[e, here] + vectors[MEAN, e])
    for e in range(d - 1):
        across = 0.0
        for c in range(d):
            image = 0.0
            for b in range(d):
                image += (p.beta * (1.0 if b == c else 0.0) if p.gaussian else p.A[c, b]) * basis[b, e]
            vectors[TOTAL, c] = image
            across += vectors[SCORE, c] * basis[c, e]
        if p.gaussian:
            across = 0.0
        for c in range(d):
            image = -own * vectors[MEAN, c] * across
            if not p.scalar:
                image += own * basis[c, e]
            for b in range(d):
                image += spread[c, b] * vectors[TOTAL, b]
            vectors[PLACE, c] = image
        for f in range(d - 1):
            entry = 0.0
            for c in range(d):
                image = p.scale * vectors[PLACE, c]
                if not p.scalar:
                    image = 0.0
                    for b in range(d):
                        image += V[c, b] * vectors[PLACE, b]
                entry += basis[c, f] * image
            block[f, e] = -entry
        block[e, e] += 1.0 / (h * GAMMA) - shift
    _factor(block, s.pivot)


@compiled
def _weights(s, here, low):
    """p_kj of the frozen tokens and of tokens low .. here-1 into `weight`; returns p_kk."""
    p, weight = s.pair, s.weight
    x, m = p.x, p.m
    d, width = x.shape
    top = 0.0
    if not p.gaussian:
        top = 0.0
        for c in range(d):
            top += s.vectors[SCORE, c] * x[c, here]
    own_score = top
    for part in range(2):
        first, end, to = (low, here, LANES) if part else (0, m, 0)
        largest = splat(-np.inf)
        for j in range(first, end, LANES):
            exponent = load(TAIL, max(0, LANES - (end - j)))
            if p.gaussian:
                square = splat(0.0)
                for c in range(d):
                    step = load(x, c * width + j) - x[c, here]
                    square = fma(step, step, square)
                exponent = fma(splat(-0.5 * p.beta), square, exponent)
            else:
                for c in range(d):
                    exponent = fma(splat(s.vectors[SCORE, c]), load(x, c * width + j), exponent)
                largest = vmax(largest, exponent)
            store(weight, j + to, exponent)
        if not p.gaussian:
            top = max(top, hmax(largest))
    own = np.exp(own_score - top)
    Z = own
    for part in range(2):
        first, end, to = (low, here, LANES) if part else (0, m, 0)
        total = splat(0.0)
        for j in range(first, end, LANES):
            w = exp(load(weight, j + to) - top)
            if part == 0:
                w = w * load(p.a, j)
            store(weight, j + to, w)
            total = total + w
        Z += hsum(total)
    inverse = 1.0 / Z
    for part in range(2):
        first, end, to = (low, here, LANES) if part else (0, m, 0)
        for j in range(first, end, LANES):
            store(weight, j + to, load(weight, j + to) * inverse)
    return own * inverse


@compiled
def _moments(s, here, low):
    """D_k into `vectors`, sum_j p_kj (x_j - x_k)(x_j - x_k)^T into `spread`; returns the sum of p_kj over j != k."""
    p, weight, spread, vectors = s.pair, s.weight, s.spread, s.vectors
    x = p.x
    d, width = x.shape
    others = 0.0
    for c in range(d):
        vectors[MEAN, c] = 0.0
        for e in range(d):
            spread[c, e] = 0.0
    for part in range(2):
        first, end, to = (low, here, LANES) if part else (0, p.m, 0)
        total = splat(0.0)
        for j in range(first, end, LANES):
            total = total + load(weight, j + to)
        others += hsum(total)
        for c in range(d):
            at_c = splat(x[c, here])
            moment = splat(0.0)
            for j in range(first, end, LANES):
                moment = fma(load(weight, j + to), load(x, c * width + j) - at_c, moment)
            vectors[MEAN, c] += hsum(moment)
            for e in range(c + 1):
                at_e = splat(x[e, here])
                both = splat(0.0)
                for j in range(first, end, LANES):
                    both = fma(load(weight, j + to) * (load(x, c * width + j) - at_c), load(x, e * width + j) - at_e, both)
                spread[c, e] += hsum(both)
    for c in range(d):
        for e in range(c):
            spread[e, c] = spread[c, e]
    return others


@compiled
def _pushed(s, pushes, k, low):
    """sum_{j<k} J_kj u_j = V sum_j p_kj (<A x_k, u_j> (x_j - x_k - D_k) + u_j), before projection, into row TOTAL."""
    p, weight, push, vectors = s.pair, s.weight, s.push, s.vectors
    x, V = p.x, p.V
    d, width = x.shape
    here = p.m + k
    total = splat(0.0)
    for j in range(low, here, LANES):
        r = splat(0.0)
        for c in range(d):
            r = fma(splat(vectors[SCORE, c]), load(pushes, c * width + j), r)
        r = r * load(weight, j + LANES)
        store(push, j + LANES, r)
        total = total + r
    mean = hsum(total)
    for c in range(d):
        at = splat(x[c, here])
        one, two = splat(0.0), splat(0.0)
        for j in range(low, here, LANES):
            one = fma(load(push, j + LANES), load(x, c * width + j) - at, one)
            two = fma(load(weight, j + LANES), load(pushes, c * width + j), two)
        vectors[PLACE, c] = hsum(one + two) - mean * vectors[MEAN, c]
    for c in range(d):
        value = p.scale * vectors[PLACE, c]
        if not p.scalar:
            value = 0.0
            for e in range(d):
                value += V[c, e] * vectors[PLACE, e]
        vectors[TOTAL, c] = value


@compiled
def _factor(block, pivot):
    """LU factors in place, rows exchanged for the largest pivot."""
    n = block.shape[0]
    for c in range(n):
        best = c
        for r in range(c + 1, n):
            if abs(block[r, c]) > abs(block[best, c]):
                best = r
        pivot[c] = best
        if best != c:
            for e in range(n):
                block[c, e], block[best, e] = block[best, e], block[c, e]
        for r in range(c + 1, n):
            block[r, c] /= block[c, c]
            for e in range(c + 1, n):
                block[r, e] -= block[r, c] * block[c, e]


@compiled
def _solve(block, pivot, u, i, k):
    """u[i, k] = block^{-1} u[i, k]."""
    n = block.shape[0]
    for c in range(n):
        best = pivot[c]
        if best != c:
            u[i, k, c], u[i, k, best] = u[i, k, best], u[i, k, c]
    for c in range(n):
        for r in range(c + 1, n):
            u[i, k, r] -= block[r, c] * u[i, k, c]
    for c in range(n - 1, -1, -1):
        for e in range(c + 1, n):
            u[i, k, c] -= block[c, e] * u[i, k, e]
        u[i, k, c] /= block[c, c]
