"""The causal solver: implicit steps by forward substitution, for times up to 1e300.

Token k feels only tokens j <= k, so the Jacobian is block lower triangular and a linearly implicit step is solved token by token: each needs
its own weights, one row of blocks J_kj and one small matrix, made once a step and dropped.  No n x n array is stored or factorised.

The method is the linearly implicit Euler rule, extrapolated (Deuflhard; Hairer and Wanner, Solving ODEs II, IV.9).  Column c = 1 .. K takes c
substeps of length h/c with the Jacobian J of the step's beginning,

    (c/h - J) u = F(v),      v <- v + u,

and the K results, polynomials in h/c up to a remainder, are extrapolated to h/c = 0: order K, L-stable in each column, K from the tolerance.
The error of a step is the difference of the last two extrapolations.  Near a merger the solution is a logarithm of the time left, and a
high order takes a third of the drift evaluations of a Rosenbrock method of order 4, a sixth at tight tolerances.

Coordinates.  Each step lives in the gnomonic chart at the tokens' present places: y = x_k + B_k v_k, B_k an orthonormal basis of the tangent
space, x = y / |y|.  There the equation reads v_k' = B_k^T |y| (f_k - <x_k, f_k> y), and at v = 0 its Jacobian is B_k^T (df_k/dx_j) B_j.
Nothing is left in the normal direction that a step of 1e50 could blow up.

Small forces.  With D_k = sum_j p_kj (x_j - x_k), f_k = P_{x_k} V (x_k + D_k).  For V = c I the self term drops out and every entry of the
Jacobian is a sum of small terms, so forces of 1e-300 keep their relative accuracy.  For other V forces below about 1e-16 |V| are noise.

Groups.  Tokens within a radius act on later ones as one place, their mean, with a count.  What that changes in the forces is second order in
the distance: (beta radius)^2 / 2 = (rtol + atol) / 10, as a share of them.  In the Jacobian it is first order, but the extrapolation's
order does not rest on an exact Jacobian.  Late in a run a few groups stand for all tokens.
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
    STALLED,
    STATE,
    STEPS,
    UNDERFLOW,
)
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.pairwise import TAIL, WINDOW, Pairwise
from nucleate.kernels.simd import LANES, exp, fma, hmax, hsum, load, splat, store, vmax

__all__ = ["CLOCK", "HANDED_BACK", "Causal", "T", "causal_memory", "causal_step", "columns_for", "march_causal", "new_causal"]

# Of the clock: the time as a sum of two doubles (t + h = t would stall), the next step, 1 after a rejection, the last step and its error.
T, REST, H, HELD, BEFORE, ERROR = range(6)
CLOCK = 6
SLOWEST, FASTEST = 0.1, 10.0
CARE = 10.0  # the error is counted ten times, a fifth more steps: what a long rest or a rotation amplifies then stays near the tolerance
GROUPED = 0.2  # (beta radius)^2 over the tolerance
HANDED_BACK = -2  # what march_causal returns when it leaves a stretch to the explicit solver
TRIAL, SHORT = 100, 30.0  # steps looked at, and their mean length below which explicit ones cost less
LATEST = 1e9  # a time from which explicit steps would be lost beside it
OWN, MEAN, SCORE, PLACE, DRIFT, IMAGE = range(6)  # rows of Causal.vectors
FORCE, V_NOW, U, TABLE = range(4)  # rows of Causal.small


class Causal(NamedTuple):
    """One run under way.  A slot is a frozen token or a group of tokens; the token at work uses the next free slot as its own."""

    pair: Pairwise  # parameters; pair.x[:, m:] are the tokens' present places
    slots: Array  # (d, width) places of the slots
    tally: Array  # (width,) tokens in a slot, or the weight of a frozen one
    places: Array  # (K (K-1) / 2, d, width) places of the slots in the substeps that begin away from v = 0
    pushes: Array  # (K (K+1) / 2, d - 1, width) sums of u over the tokens of a slot
    bases: Array  # (d, d - 1, width) B_j of the slots
    row: Array  # (d - 1, d - 1, width) J_kj of the token at work
    weight: Array  # (width,) w_kj of the token at work
    ends: Array  # (d - 1, n) v after the step
    group: NDArray[np.int64]  # (n,) the slot of each token
    member: NDArray[np.int64]  # (width,) the first token of each slot
    basis: Array  # (d, d - 1) B_k
    block: Array  # (d - 1, d - 1) J_kk
    factors: Array  # (d - 1, d - 1) of c/h - J_kk
    pivot: NDArray[np.int64]  # (d - 1,)
    spread: Array  # (d, d)
    vectors: Array  # (6, d) x_k; D_k; A x_k; y; f_k; scratch
    small: Array  # (3 + K, d - 1) force, v, u, then the table of the extrapolation
    held: int  # slots of frozen tokens, a whole number of vectors: what is left over repeats the first with no weight
    radius: float  # tokens this close form a group; 0: none do
    noise: float  # what the extrapolation makes of rounding


def columns_for(tolerance: float) -> int:
    """The order that costs least for the tolerance, measured on v' = e^v."""
    return int(np.clip(np.rint(4.0 - 0.5 * np.log10(tolerance)), 5, 9))


def causal_memory(n: int, m: int, d: int, tolerance: float) -> float:
    """Bytes that `new_causal` takes."""
    K = columns_for(tolerance)
    return 8.0 * (n + m + 3 * LANES) * (d * K * (K - 1) / 2 + (d - 1) * K * (K + 1) / 2 + 2.0 * d * d)


def new_causal(pair: Pairwise, tolerance: float) -> Causal:
    """Room for one run of the system."""
    d, n, m, K = pair.x.shape[0], pair.n, pair.m, columns_for(tolerance)
    held = -(-m // LANES) * LANES
    width = -(-(held + n + 1) // LANES) * LANES + LANES
    slots, tally = np.zeros((d, width)), np.ones(width)
    if m:
        slots[:, :held], tally[:held] = pair.x[:, :1], 0.0
        slots[:, :m], tally[:m] = pair.x[:, :m], pair.a[:m]
    places, pushes = np.zeros((K * (K - 1) // 2, d, width)), np.zeros((K * (K + 1) // 2, d - 1, width))
    places[:, :, :held] = slots[:, :held]
    bases, row = np.zeros((d, d - 1, width)), np.zeros((d - 1, d - 1, width))
    group, member, pivot = (np.zeros(size, dtype=np.int64) for size in (n, width, d - 1))
    basis, block, factors = np.zeros((d, d - 1)), np.zeros((d - 1, d - 1)), np.zeros((d - 1, d - 1))
    radius = 0.0 if pair.mask == WINDOW else float(np.sqrt(GROUPED * tolerance)) / max(1.0, float(np.linalg.norm(pair.A, 2)))
    c = np.arange(1.0, K + 1)
    factor = [np.prod([j / (j - i) for i in c if i != j]) for j in c]  # of column j in the extrapolated value
    scratch = (
        basis,
        block,
        factors,
        pivot,
        np.zeros((d, d)),
        np.zeros((6, d)),
        np.zeros((3 + K, d - 1)),
        held,
        radius,
        EPS * float(np.abs(factor).sum()),
    )
    return Causal(pair, slots, tally, places, pushes, bases, row, np.zeros(width), np.zeros((d - 1, n)), group, member, *scratch)


@compiled
def march_causal(s, book, clock, patience, stop):
    """Carry the one run of the book to its end; 0 when it has ended, FULL_BUFFER when frames need more room.

    With `patience`, a time, HANDED_BACK when the last `TRIAL` steps were shorter than `SHORT` of it on average: explicit ones would cost less.
    """
    run = 0
    if book.counts[STATE, run] != RUNNING:
        return 0
    if clock[H] == 0.0:
        _enter(s, book, clock, run)
    order = s.small.shape[0] - 3
    trial, gone = 0, 0.0
    while True:
        if patience > 0.0 and trial == TRIAL:
            if gone < TRIAL * SHORT * patience < book.final - clock[T] and clock[T] < LATEST * patience:
                return HANDED_BACK
            trial, gone = 0, 0.0
        saved = book.counts[SAVED, run]
        until = book.final if book.every or saved >= book.times.size else min(book.times[saved], book.final)
        left = (until - clock[T]) - clock[REST]
        lands = clock[H] >= left * (1.0 - 1e-6)
        h = left if lands else clock[H]
        error = CARE * causal_step(s, h, stop) / book.tolerance
        if stop[0]:
            book.counts[STATE, run] = stop[0]
            return 0
        finite = np.isfinite(error)
        factor = SAFETY * max(error, 1e-10) ** (-1.0 / order) if finite else SLOWEST
        if not error <= 1.0:
            book.counts[REJECTED, run] += 1
            clock[H], clock[HELD] = h * max(SLOWEST, factor), 1.0
            if not finite:
                _forget(s)
            if clock[H] < 1e-300:
                book.counts[STATE, run] = NON_FINITE if not finite else STALLED
                return 0
        else:
            book.counts[STEPS, run] += 1
            trial, gone = trial + 1, gone + h
            moved = _accept(s)
            if lands:
                clock[T], clock[REST] = until, 0.0
            else:
                rest = clock[REST] + h
                new = clock[T] + rest
                clock[REST] = rest - (new - clock[T])
                clock[T] = new
            if clock[BEFORE] > 0.0:  # Gustafsson's prediction: towards a merger every step must be shorter than the last
                factor = min(factor, factor * h / clock[BEFORE] * (clock[ERROR] / max(error, 1e-10)) ** (1.0 / order))
            factor = min(1.0 if clock[HELD] > 0.0 else FASTEST, max(SLOWEST, factor))
            clock[BEFORE], clock[ERROR], clock[HELD] = h, max(error, 1e-10), 0.0
            clock[H] = max(h * factor, clock[H]) if lands and h < clock[H] else h * factor
            full = False
            if book.every or (lands and saved < book.times.size):
                full = _write_frame(s.pair, book, run, saved, clock[T])
            if lands and until == book.final:
                book.counts[STATE, run] = UNDERFLOW if s.pair.scalar and moved < 4.0 * EPS and _blind(s) else DONE
                return 0
            if full:
                return FULL_BUFFER
        if book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
            book.counts[STATE, run] = MAX_STEPS
            return 0


@inner
def _forget(s):
    """Clear what a step that was not finite left behind: zero times NaN is NaN."""
    places, pushes = s.places, s.pushes
    for j in range(s.held, places.shape[2]):
        for c in range(places.shape[1]):
            for i in range(places.shape[0]):
                places[i, c, j] = 0.0
        for e in range(pushes.shape[1]):
            for i in range(pushes.shape[0]):
                pushes[i, e, j] = 0.0


@inner
def _enter(s, book, clock, run):
    """The start becomes the present places; the first step from the tolerance and the fastest token."""
    p, start = s.pair, book.start[run]
    x, m = p.x, p.m
    n, d = start.shape
    for k in range(n):
        for c in range(d):
            x[c, m + k] = start[k, c]
    if book.counts[SAVED, run] == 0 and (book.every or book.times[0] == 0.0):
        _write_frame(p, book, run, 0, 0.0)
    clock[H] = min(0.1 * book.tolerance ** (1.0 / (s.small.shape[0] - 3)), book.final - clock[T])


@inner
def _write_frame(p, book, run, saved, t):
    """The present places as one more frame; True when that was the last there is room for."""
    x, m, frames = p.x, p.m, book.frames
    for k in range(p.n):
        for c in range(x.shape[0]):
            frames[run, saved, k, c] = x[c, m + k]
    book.times[saved] = t
    book.counts[SAVED, run] = saved + 1
    return book.every and saved + 1 >= book.times.size


@inner
def _accept(s):
    """The new places; returns how far the farthest token went."""
    x, ends, basis, m = s.pair.x, s.ends, s.basis, s.pair.m
    d = x.shape[0]
    farthest = 0.0
    for k in range(s.pair.n - 1, -1, -1):  # downwards: a group's side is that of its first token, which must move last
        reach = 0.0
        for e in range(d - 1):
            reach = max(reach, abs(ends[e, k]))
        farthest = max(farthest, reach)
        if reach == 0.0:
            continue
        for c in range(d):
            s.vectors[OWN, c] = x[c, m + k]
        tangent_basis(s.vectors, basis, _side(s, k))
        square = 0.0
        for c in range(d):
            for e in range(d - 1):
                x[c, m + k] += basis[c, e] * ends[e, k]
            square += x[c, m + k] ** 2
        length = np.sqrt(square)
        for c in range(d):
            x[c, m + k] /= length
    return farthest


@inner
def _blind(s):
    """Whether some token has others before it and feels none of them: its forces underflowed to zero."""
    p = s.pair
    _form_groups(s)
    used = s.held
    for k in range(p.n):
        _linearise(s, k, used)
        first = s.held + max(0, k - p.w + 1) if p.mask == WINDOW else s.held
        others = 0.0
        for j in range(s.held):
            others += s.weight[j]
        for j in range(first, used):
            others += s.weight[j]
        if (used > first or p.m > 0) and others == 0.0:
            return True
        used = _join(s, k, used)
    return False


@compiled
def causal_step(s, h, stop):
    """`ends` of a step of length h from the present places; returns the error of the worst token, NaN when not finite."""
    _form_groups(s)
    p = s.pair
    places, pushes, row, count, vectors, basis, block, small, ends = s.places, s.pushes, s.row, s.tally, s.vectors, s.basis, s.block, s.small, s.ends
    circle, scale, beta, m, windowed = p.gaussian and p.scalar and ends.shape[0] == 1, p.scale, p.beta, s.held, p.mask == WINDOW
    used, worst = m, 0.0
    for k in range(p.n):
        if stop[0]:
            return np.nan
        _linearise(s, k, used)
        if circle:
            low = m + max(0, k - p.w + 1) if windowed else m
            error = _columns_on_circle(places, pushes, row, count, vectors, basis, block[0, 0], small, ends, scale, beta, s.noise, k, h, m, low, used)
        else:
            error = _columns(s, k, used, h)
        if not error <= worst:
            worst = error
            if np.isnan(error):
                return error
        used = _join(s, k, used)
    return worst


@compiled
def _form_groups(s):
    """Give every token a slot: that of the first token within the radius, or a new one."""
    x, m, n, group, member = s.pair.x, s.pair.m, s.pair.n, s.group, s.member
    d = x.shape[0]
    used = s.held
    limit = s.radius * s.radius
    for k in range(n):
        slot = used
        if limit > 0.0:
            for j in range(s.held, used):
                first = m + member[j]
                square = 0.0
                for c in range(d):
                    square += (x[c, m + k] - x[c, first]) ** 2
                    if square > limit:
                        break
                if square <= limit:
                    slot = j
                    break
        if slot == used:
            member[used] = k
            used += 1
        group[k] = slot


@inner
def _side(s, k):
    """The side of the Householder reflection, the same for all tokens of a group."""
    x = s.pair.x
    return 1.0 if x[x.shape[0] - 1, s.pair.m + s.member[s.group[k]]] >= 0.0 else -1.0


@compiled
def tangent_basis(vectors, basis, side):
    """Columns orthonormal to each other and to row OWN: the quarter turn on the circle, elsewhere those of the reflection of x onto -side e_d."""
    d = basis.shape[0]
    if d == 2:
        basis[0, 0], basis[1, 0] = -vectors[OWN, 1], vectors[OWN, 0]
        return
    scale = 1.0 / (1.0 + side * vectors[OWN, d - 1])  # 2 / |w|^2 for w = x + side e_d
    for e in range(d - 1):
        for c in range(d):
            w = vectors[OWN, c] + (side if c == d - 1 else 0.0)
            basis[c, e] = (1.0 if c == e else 0.0) - scale * w * vectors[OWN, e]


@compiled
def _join(s, k, used):
    """The token's place and pushes, left in slot `used`, go into its group's slot; returns the number of slots in use."""
    slots, count, places, pushes, bases, slot = s.slots, s.tally, s.places, s.pushes, s.bases, s.group[k]
    d = slots.shape[0]
    if slot == used:
        count[used] = 1.0
        for c in range(d):
            for e in range(d - 1):
                bases[c, e, used] = s.basis[c, e]
        return used + 1
    count[slot] += 1.0
    share = 1.0 / count[slot]
    for c in range(d):
        slots[c, slot] += share * (slots[c, used] - slots[c, slot])
        for i in range(places.shape[0]):
            places[i, c, slot] += share * (places[i, c, used] - places[i, c, slot])
    for i in range(pushes.shape[0]):
        for e in range(d - 1):
            pushes[i, e, slot] += pushes[i, e, used]
    return used


@compiled
def _linearise(s, k, used):
    """Weights, D_k, J_kk and the row of blocks J_kj, at the present places.

    J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B - <x_k, V (x_k + D)>,   Cov the p-covariance of the x_j, A = beta K^T Q,
    J_kj = B_k^T V p_kj ((x_j - x_k - D) (A x_k)^T + 1) B_j,

    and for V = c I  p_kk - <x_k, x_k + D> is taken as  -sum_{j != k} p_kj + sum_j p_kj |x_j - x_k|^2 / 2.
    """
    p, slots, vectors, basis, block, spread = s.pair, s.slots, s.vectors, s.basis, s.block, s.spread
    x, A, V, m = p.x, p.A, p.V, p.m
    d = x.shape[0]
    for c in range(d):
        vectors[OWN, c] = slots[c, used] = x[c, m + k]
    tangent_basis(vectors, basis, _side(s, k))
    held = s.held
    low = held + max(0, k - p.w + 1) if p.mask == WINDOW else held
    _scores(A, vectors, OWN)
    own, Z = _attend(slots, s.tally, s.weight, vectors, p.gaussian, p.beta, held, low, used, OWN)
    others = _spread(slots, s.tally, s.weight, vectors, spread, held, low, used) / Z
    own /= Z
    half = 0.0
    for c in range(d):
        vectors[MEAN, c] = vectors[IMAGE, c] / Z
    for c in range(d):
        half += 0.5 * spread[c, c] / Z
        for e in range(d):
            spread[c, e] = spread[c, e] / Z - vectors[MEAN, c] * vectors[MEAN, e]
    shift = p.scale * (half - others)
    if not p.scalar:
        shift = 0.0
        for c in range(d):
            for e in range(d):
                shift -= vectors[OWN, c] * V[c, e] * (vectors[OWN, e] + vectors[MEAN, e])
    for e in range(d - 1):
        across = 0.0
        for c in range(d):
            across += vectors[SCORE, c] * basis[c, e]
        if p.gaussian:
            across = 0.0
        for c in range(d):  # row PLACE: A B_e
            image = 0.0
            for b in range(d):
                image += A[c, b] * basis[b, e]
            vectors[PLACE, c] = image
        for c in range(d):  # row IMAGE: (Cov A + p_kk (1 - D (A x_k)^T)) B_e
            image = -own * vectors[MEAN, c] * across
            if not p.scalar:
                image += own * basis[c, e]
            for b in range(d):
                image += spread[c, b] * vectors[PLACE, b]
            vectors[IMAGE, c] = image
        for f in range(d - 1):
            entry = 0.0
            for c in range(d):
                if p.scalar:
                    entry += basis[c, f] * p.scale * vectors[IMAGE, c]
                else:
                    for b in range(d):
                        entry += basis[c, f] * V[c, b] * vectors[IMAGE, b]
            block[f, e] = entry
        block[e, e] += shift
    for f in range(d - 1):
        for c in range(d):  # row IMAGE: V^T B_f
            image = p.scale * basis[c, f]
            if not p.scalar:
                image = 0.0
                for b in range(d):
                    image += V[b, c] * basis[b, f]
            vectors[IMAGE, c] = image
        _row(slots, s.weight, s.bases, s.row, vectors, f, 1.0 / Z, low, used)


@inner
def _scores(A, vectors, source):
    """Row SCORE = A times the given row."""
    d = A.shape[0]
    for c in range(d):
        score = 0.0
        for e in range(d):
            score += A[c, e] * vectors[source, e]
        vectors[SCORE, c] = score


@inner
def _attend(x, count, weight, vectors, gaussian, beta, m, low, high, source):
    """w_kj of the slots below m and of low .. high-1, for a token at row `source`; returns its own weight and the sum of all."""
    d, width = x.shape
    top, own_score = 0.0, 0.0
    if not gaussian:
        for c in range(d):
            own_score += vectors[SCORE, c] * vectors[source, c]
        top = own_score
    for part in range(2):
        first, end = (low, high) if part else (0, m)
        largest = splat(top)
        for j in range(first, end, LANES):
            exponent = splat(0.0)
            if gaussian:
                for c in range(d):
                    step = load(x, c * width + j) - vectors[source, c]
                    exponent = fma(step, step, exponent)
                exponent = exponent * (-0.5 * beta)
            else:
                for c in range(d):
                    exponent = fma(splat(vectors[SCORE, c]), load(x, c * width + j), exponent)
                largest = vmax(largest, exponent + load(TAIL, max(0, LANES - (end - j))))
            store(weight, j, exponent)
        if not gaussian:
            top = hmax(largest)
    Z = 0.0
    for part in range(2):
        first, end = (low, high) if part else (0, m)
        total = splat(0.0)
        for j in range(first, end, LANES):
            w = exp(load(weight, j) + load(TAIL, max(0, LANES - (end - j))) - top)
            store(weight, j, w)
            total = fma(w, load(count, j), total)
        Z += hsum(total)
    own = np.exp(own_score - top)
    return own, Z + own


@inner
def _spread(x, count, weight, vectors, spread, m, low, high):
    """sum_j w_kj (x_j - x_k) into row IMAGE, sum_j w_kj (x_j - x_k)(x_j - x_k)^T into `spread`; returns the sum of w_kj over j != k."""
    d, width = x.shape
    others = 0.0
    for c in range(d):
        vectors[IMAGE, c] = 0.0
        for e in range(d):
            spread[c, e] = 0.0
    for part in range(2):
        first, end = (low, high) if part else (0, m)
        total = splat(0.0)
        for j in range(first, end, LANES):
            total = fma(load(weight, j), load(count, j), total)
        others += hsum(total)
        for c in range(d):
            at_c, moment = splat(vectors[OWN, c]), splat(0.0)
            for j in range(first, end, LANES):
                moment = fma(load(weight, j) * load(count, j), load(x, c * width + j) - at_c, moment)
            vectors[IMAGE, c] += hsum(moment)
            for e in range(c + 1):
                at_e, both = splat(vectors[OWN, e]), splat(0.0)
                for j in range(first, end, LANES):
                    both = fma(load(weight, j) * load(count, j) * (load(x, c * width + j) - at_c), load(x, e * width + j) - at_e, both)
                spread[c, e] += hsum(both)
    for c in range(d):
        for e in range(c):
            spread[e, c] = spread[c, e]
    return others


@inner
def _row(x, weight, bases, row, vectors, f, inverse, low, high):
    """row[f, e, j] = p_kj (<V^T B_f, x_j - x_k - D> <A x_k, B_j e> + <V^T B_f, B_j e>), V^T B_f in row IMAGE."""
    d, width = x.shape
    for j in range(low, high, LANES):
        reach = splat(0.0)
        for c in range(d):
            reach = fma(splat(vectors[IMAGE, c]), load(x, c * width + j) - vectors[OWN, c] - vectors[MEAN, c], reach)
        p = load(weight, j) * inverse
        for e in range(d - 1):
            turn, same = splat(0.0), splat(0.0)
            for c in range(d):
                b = load(bases, (c * (d - 1) + e) * width + j)
                turn = fma(splat(vectors[SCORE, c]), b, turn)
                same = fma(splat(vectors[IMAGE, c]), b, same)
            store(row, (f * (d - 1) + e) * width + j, p * fma(reach, turn, same))


@inner
def _columns(s, k, used, h):
    """All columns of one token, extrapolated into `ends`; returns the error."""
    p, vectors, basis, small, ends = s.pair, s.vectors, s.basis, s.small, s.ends
    free = basis.shape[1]
    K = small.shape[0] - 3
    low = s.held + max(0, k - p.w + 1) if p.mask == WINDOW else s.held
    substep, away = 0, 0
    error = 0.0
    for c in range(1, K + 1):
        _factor(s.block, s.factors, s.pivot, c / h)
        for e in range(free):
            small[V_NOW, e] = 0.0
        for i in range(c):
            if i > 0:
                _chart_force(s, s.places[away], low, used)
                away += 1
            elif c == 1:
                _first_force(p, vectors, basis, small)
            for e in range(free):
                small[U, e] = ends[e, k] if i == 0 and c > 1 else small[FORCE, e]
            if i == 0 and c == 1:
                for e in range(free):
                    ends[e, k] = small[FORCE, e]  # kept for the other columns, which begin at the same place
            _push(s.row, s.pushes, small, substep, low, used)
            _solve(s.factors, s.pivot, small)
            for e in range(free):
                s.pushes[substep, e, used] = small[U, e]
                small[V_NOW, e] += small[U, e]
            substep += 1
        for e in range(free):  # Neville's scheme, in place: TABLE + j holds the value extrapolated from columns c - j .. c
            value = small[V_NOW, e]
            for j in range(1, c):
                older = small[TABLE + j - 1, e]
                small[TABLE + j - 1, e] = value
                value += (value - older) / (c / (c - j) - 1.0)
            if c == K:
                error += (value - small[TABLE + c - 2, e]) ** 2
            small[TABLE + c - 1, e] = value
    for e in range(free):
        ends[e, k] = small[TABLE + K - 1, e]
    return max(0.0, np.sqrt(error) - s.noise) + (error - error)  # NaN stays NaN


@inner
def _columns_on_circle(places, pushes, row, count, vectors, basis, slope, small, ends, scale, beta, noise, k, h, m, low, used):
    """`_columns` for d = 2, K^T Q = I and V = c I: v = tan(phi), dv/dt = (1 + v^2) phi'."""
    K, width = small.shape[0] - 3, count.size
    x_0, x_1, b_0, b_1 = vectors[OWN, 0], vectors[OWN, 1], basis[0, 0], basis[1, 0]
    first = scale * (b_0 * vectors[MEAN, 0] + b_1 * vectors[MEAN, 1])
    half = splat(-0.5 * beta)
    substep, away, value = 0, 0, 0.0
    for c in range(1, K + 1):
        inverse, v = 1.0 / (c / h - slope), 0.0
        for i in range(c):
            at = substep * width
            push = splat(0.0)
            if i == 0:
                for j in range(low, used, LANES):
                    push = fma(load(row, j), load(pushes, at + j), push)
                u = inverse * (first + hsum(push))
            else:
                stretch = 1.0 + v * v
                shrink = 1.0 / np.sqrt(stretch)
                p_0, p_1 = (x_0 + b_0 * v) * shrink, (x_1 + b_1 * v) * shrink
                here, here_0, here_1 = away * 2 * width, splat(p_0), splat(p_1)
                total, sum_0, sum_1 = splat(0.0), splat(0.0), splat(0.0)
                for part in range(0 if m > 0 else 1, 2):
                    start, end = (low, used) if part else (0, m)
                    for j in range(start, end, LANES):
                        step_0, step_1 = load(places, here + j) - here_0, load(places, here + width + j) - here_1
                        w = exp(fma(half, fma(step_0, step_0, step_1 * step_1), load(TAIL, max(0, LANES - (end - j))))) * load(count, j)
                        total = total + w
                        sum_0, sum_1 = fma(w, step_0, sum_0), fma(w, step_1, sum_1)
                        if part:
                            push = fma(load(row, j), load(pushes, at + j), push)
                force = scale * stretch * (p_0 * hsum(sum_1) - p_1 * hsum(sum_0)) / (1.0 + hsum(total))
                u = inverse * (force + hsum(push))
                places[away, 0, used], places[away, 1, used] = p_0, p_1
                away += 1
            pushes[substep, 0, used] = u
            v += u
            substep += 1
        value = v
        for j in range(1, c):  # Neville's scheme, as in `_columns`
            older = small[TABLE + j - 1, 0]
            small[TABLE + j - 1, 0] = value
            value += (value - older) / (c / (c - j) - 1.0)
        small[TABLE + c - 1, 0] = value
    ends[0, k] = value
    return max(0.0, abs(value - small[TABLE + K - 2, 0]) - noise) + (value - value)  # NaN stays NaN


@inner
def _first_force(p, vectors, basis, small):
    """B^T V (x_k + D_k) at v = 0, from the mean already there."""
    d, free = basis.shape
    for e in range(free):
        force = 0.0
        for c in range(d):
            value = p.scale * vectors[MEAN, c]
            if not p.scalar:
                value = 0.0
                for b in range(d):
                    value += p.V[c, b] * (vectors[OWN, b] + vectors[MEAN, b])
            force += basis[c, e] * value
        small[FORCE, e] = force


@inner
def _chart_force(s, places, low, used):
    """The token's force in the chart at v, its place into the slot: B^T |y| (f - <x_k, f> y), f = P V (x + D) at x = y / |y|."""
    p, vectors, basis, small = s.pair, s.vectors, s.basis, s.small
    d, free = basis.shape
    width = places.shape[1]
    square = 0.0
    for c in range(d):
        y = vectors[OWN, c]
        for e in range(free):
            y += basis[c, e] * small[V_NOW, e]
        vectors[PLACE, c] = y
        square += y * y
    length = np.sqrt(square)
    for c in range(d):
        vectors[PLACE, c] /= length
        places[c, used] = vectors[PLACE, c]
    _scores(p.A, vectors, PLACE)
    _, Z = _attend(places, s.tally, s.weight, vectors, p.gaussian, p.beta, s.held, low, used, PLACE)
    for c in range(d):
        total = 0.0
        for part in range(2):
            first, end = (low, used) if part else (0, s.held)
            at, moment = splat(vectors[PLACE, c]), splat(0.0)
            for j in range(first, end, LANES):
                moment = fma(load(s.weight, j) * load(s.tally, j), load(places, c * width + j) - at, moment)
            total += hsum(moment)
        vectors[IMAGE, c] = total
    along, radial = 0.0, 0.0
    for c in range(d):
        value = p.scale * vectors[IMAGE, c] / Z
        if not p.scalar:
            value = 0.0
            for b in range(d):
                value += p.V[c, b] * (vectors[PLACE, b] + vectors[IMAGE, b] / Z)
        vectors[DRIFT, c] = value
        along += value * vectors[PLACE, c]
    for c in range(d):
        vectors[DRIFT, c] -= along * vectors[PLACE, c]
        radial += vectors[OWN, c] * vectors[DRIFT, c]
    for e in range(free):
        force = -radial * small[V_NOW, e]
        for c in range(d):
            force += basis[c, e] * vectors[DRIFT, c]
        small[FORCE, e] = length * force


@inner
def _push(row, pushes, small, substep, low, used):
    """Row U += sum_{j<k} J_kj u_j of the substep."""
    free, _, width = row.shape
    start = substep * free * width
    for f in range(free):
        total = splat(0.0)
        for e in range(free):
            at, to = (f * free + e) * width, start + e * width
            for j in range(low, used, LANES):
                total = fma(load(row, at + j), load(pushes, to + j), total)
        small[U, f] += hsum(total)


@inner
def _factor(block, factors, pivot, diagonal):
    """LU factors of diagonal - block, rows exchanged for the largest pivot."""
    n = block.shape[0]
    for c in range(n):
        for e in range(n):
            factors[c, e] = (diagonal if c == e else 0.0) - block[c, e]
    for c in range(n):
        best = c
        for r in range(c + 1, n):
            if abs(factors[r, c]) > abs(factors[best, c]):
                best = r
        pivot[c] = best
        if best != c:
            for e in range(n):
                factors[c, e], factors[best, e] = factors[best, e], factors[c, e]
        for r in range(c + 1, n):
            factors[r, c] /= factors[c, c]
            for e in range(c + 1, n):
                factors[r, e] -= factors[r, c] * factors[c, e]


@inner
def _solve(factors, pivot, small):
    """Row U = factors^{-1} row U."""
    n = factors.shape[0]
    for c in range(n):
        best = pivot[c]
        if best != c:
            small[U, c], small[U, best] = small[U, best], small[U, c]
    for c in range(n):
        for r in range(c + 1, n):
            small[U, r] -= factors[r, c] * small[U, c]
    for c in range(n - 1, -1, -1):
        for e in range(c + 1, n):
            small[U, c] -= factors[c, e] * small[U, e]
        small[U, c] /= factors[c, c]
