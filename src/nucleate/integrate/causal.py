"""The causal solver: implicit steps by forward substitution, for times up to 1e300.

Token k feels only tokens j <= k, so the Jacobian is block lower triangular and a linearly implicit step is
solved token by token: each needs its own weights, one row of blocks J_kj and one small matrix, made once a
step and dropped.  No n x n array is stored or factorised.

The method is the linearly implicit Euler rule, extrapolated (Deuflhard; Hairer and Wanner, Solving ODEs II,
IV.9).  Column c = 1 .. K takes c substeps of length h/c with the Jacobian J of the step's beginning,

    (c/h - J) u = F(v),      v <- v + u,

and the K results, polynomials in h/c up to a remainder, are extrapolated to h/c = 0: order K, L-stable in
each column, K from the tolerance. The error of a step is the difference of the last two extrapolations.  Near
a merger the solution is a logarithm of the time left, and a high order takes a third of the drift evaluations
of a Rosenbrock method of order 4, a sixth at tight tolerances.

Coordinates.  Each step lives in the gnomonic chart at the tokens' present places: y = x_k + B_k v_k, B_k an
orthonormal basis of the tangent space, x = y / |y|.  There the equation reads v_k' = B_k^T |y| (f_k - <x_k,
f_k> y), and at v = 0 its Jacobian is B_k^T (df_k/dx_j) B_j. Nothing is left in the normal direction that a
step of 1e50 could blow up.

Small forces.  With D_k = sum_j p_kj (x_j - x_k), f_k = P_{x_k} V (x_k + D_k).  For V = c I the self term
drops out and every entry of the Jacobian is a sum of small terms, so forces of 1e-300 keep their relative
accuracy.  For other V forces below about 1e-16 |V| are noise.

Rounding.  A token in a shallow rest answers a force with that force over |J|; rounding errors too, and the
extrapolation multiplies these by hundreds.  Where that explains its error, or the error of a token that
follows it, no shorter step would help, and all would be held up: such a token takes the steadiest of its
extrapolations instead of the last.

Groups.  Tokens within a radius act on later ones as one place, their mean, with a count.  What that changes
in the forces is second order in the distance: (beta radius)^2 / 2 = (rtol + atol) / 10, as a share of them.
In the Jacobian it is first order, but the extrapolation's order does not rest on an exact Jacobian.  Late in
a run a few groups stand for all tokens.
"""

import numpy as np

from nucleate.integrate.causal_circle import step_on_circle
from nucleate.integrate.causal_state import causal_memory, new_causal
from nucleate.integrate.causal_token import OWN, columns, join, linearise, side_of, tangent_basis
from nucleate.integrate.explicit import EPS, FULL_BUFFER, REJECTED, SAFETY, SAVED, STATE, STEPS
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING, STALLED, UNDERFLOW
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.pairwise import WINDOW
from nucleate.kernels.simd import LOWEST

__all__ = [
    "CLOCK",
    "HANDED_BACK",
    "H",
    "T",
    "causal_memory",
    "causal_step",
    "form_groups",
    "march_causal",
    "new_causal",
]

# Of the clock: the time as a sum of two doubles (t + h = t would stall), the next step, 1 after a rejection,
# the last step and its error.
T, REST, H, HELD, BEFORE, ERROR = range(6)
CLOCK = 6
SLOWEST, FASTEST = 0.1, 10.0
# the error is counted ten times, a fifth more steps: what a long rest or a rotation amplifies then stays near
# the tolerance
CARE = 10.0
HANDED_BACK = -2  # what march_causal returns when it leaves a stretch to the explicit solver
MANY = 6  # short steps in a row mean that tokens are in flight


@compiled
def march_causal(s, book, clock, short, stop):
    """Carry the one run of the book to its end; 0 when it has ended, FULL_BUFFER when frames need more room.

    HANDED_BACK when `MANY` steps in a row were shorter than short[0], and than short[1] times the number of
    slots: explicit ones would cost less.
    """
    run = 0
    if book.counts[STATE, run] != RUNNING:
        return 0
    if clock[H] == 0.0:
        _enter(s, book, clock, run)
    order = s.K
    hurried = 0
    while True:
        if hurried == MANY:
            return HANDED_BACK
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
            hurried = hurried + 1 if max(h, clock[H]) < max(short[0], short[1] * _slots_in_use(s)) else 0
            moved = _accept(s)
            if lands:
                clock[T], clock[REST] = until, 0.0
            else:
                rest = clock[REST] + h
                new = clock[T] + rest
                clock[REST] = rest - (new - clock[T])
                clock[T] = new
            # Gustafsson's prediction: towards a merger every step must be shorter than the last
            if clock[BEFORE] > 0.0:
                factor = min(
                    factor, factor * h / clock[BEFORE] * (clock[ERROR] / max(error, 1e-10)) ** (1.0 / order)
                )
            factor = min(1.0 if clock[HELD] > 0.0 else FASTEST, max(SLOWEST, factor))
            clock[BEFORE], clock[ERROR], clock[HELD] = h, max(error, 1e-10), 0.0
            clock[H] = max(h * factor, clock[H]) if lands and h < clock[H] else h * factor
            full = False
            if book.every or (lands and saved < book.times.size):
                full = _write_frame(s.pair, book, run, saved, clock[T])
            if lands and until == book.final:
                book.counts[STATE, run] = (
                    UNDERFLOW if s.pair.scalar and moved < 4.0 * EPS and _blind(s) else DONE
                )
                return 0
            if full:
                return FULL_BUFFER
        if book.counts[STEPS, run] + book.counts[REJECTED, run] >= book.limit:
            book.counts[STATE, run] = MAX_STEPS
            return 0


@inner
def _forget(s):
    """Clear what a step that was not finite left behind, where frozen tokens do not stand: zero times NaN is
    NaN."""
    places, pushes, tokens, lanes = s.places, s.pushes, s.held, s.places.shape[2] // s.tally.size
    for i in range(places.shape[0]):
        for c in range(places.shape[1]):
            places[i, c, tokens * lanes :] = 0.0
    for i in range(pushes.shape[0]):
        for e in range(pushes.shape[1]):
            pushes[i, e, :] = 0.0


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
    clock[H] = min(0.1 * book.tolerance ** (1.0 / s.K), book.final - clock[T])


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
    # downwards: a group's side is that of its first token, which must move last
    for k in range(s.pair.n - 1, -1, -1):
        reach = 0.0
        for e in range(d - 1):
            reach = max(reach, abs(ends[e, k]))
        farthest = max(farthest, reach)
        if reach == 0.0:
            continue
        for c in range(d):
            s.vectors[OWN, c] = x[c, m + k]
        tangent_basis(s.vectors, basis, side_of(s, k))
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
def _exponent(p, i, j):
    """The logarithm of w_ij / w_ii, for columns i and j of p.x."""
    x, A = p.x, p.A
    d = x.shape[0]
    exponent = 0.0
    for c in range(d):
        if p.gaussian:
            exponent -= 0.5 * p.beta * (x[c, j] - x[c, i]) ** 2
        else:
            for e in range(d):
                exponent += (x[c, j] - x[c, i]) * A[c, e] * x[e, i]
    return exponent


@inner
def _blind(s):
    """Whether some token has others before it and feels none of them: its forces underflowed to zero."""
    p = s.pair
    m = p.m
    for k in range(p.n):
        first = m + max(0, k - p.w + 1) if p.mask == WINDOW else m
        feels = m == 0 and first == m + k  # nobody is there to be felt
        for j in range(m + k):
            if feels:
                break
            feels = (j < m or j >= first) and _exponent(p, m + k, j) > LOWEST
        if not feels:
            return True
    return False


@compiled
def causal_step(s, h, stop):
    """`ends` of a step of length h from the present places; returns the error of the worst token, NaN when
    not finite."""
    form_groups(s)
    if s.circle:
        return step_on_circle(s, h, stop)
    used, worst = s.held, 0.0
    for k in range(s.pair.n):
        if stop[0]:
            return np.nan
        rough = linearise(s, k, used)
        error = columns(s, k, used, h, rough)
        if not error <= worst:
            worst = error
            if np.isnan(error):
                return error
        used = join(s, k, used)
    return worst


@compiled
def form_groups(s):
    """Give every token a slot: that of the group it was in before if it is still within the radius of its
    first token, else that of the first group which is so near, or a new one."""
    x, m, n, group, member, leader = s.pair.x, s.pair.m, s.pair.n, s.group, s.member, s.leader
    used, limit = s.held, s.radius * s.radius
    for k in range(n):
        slot = used
        if limit > 0.0:
            old = group[leader[k]]
            if leader[k] < k and member[old] == leader[k] and _near(x, m + k, m + leader[k], limit):
                slot = old
            else:
                for j in range(s.held, used):
                    if _near(x, m + k, m + member[j], limit):
                        slot = j
                        break
        if slot == used:
            member[used] = k
            used += 1
        group[k], leader[k] = slot, member[slot]


@inner
def _slots_in_use(s):
    """Groups of tokens in the step just made."""
    most = 0
    for k in range(s.pair.n):
        most = max(most, s.group[k] + 1 - s.held)
    return most


@inner
def _near(x, i, j, limit):
    """Whether the squared distance of columns i and j is at most `limit`."""
    square = 0.0
    for c in range(x.shape[0]):
        square += (x[c, i] - x[c, j]) ** 2
        if square > limit:
            return False
    return True
