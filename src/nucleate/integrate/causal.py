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

Rounding.  A token near a shallow equilibrium answers a force with that force over |J|; rounding errors too,
and the extrapolation multiplies these by hundreds.  Where that explains its error, or the error of a token
that follows it, no shorter step would help, and all would be held up: such a token takes the steadiest of its
extrapolations instead of the last.

Groups.  Tokens within a radius act on later ones as one place, their mean, with a count.  What that changes
in the forces is second order in the distance: (beta radius)^2 / 2 = (rtol + atol) / 10, as a share of them.
In the Jacobian it is first order, but the extrapolation's order does not rest on an exact Jacobian.  Late in
a run a few groups stand for all tokens.
"""

import numpy as np

from nucleate.checks import EPS
from nucleate.integrate.accept_or_reject import MIN_STEP, accept_or_reject_causal
from nucleate.integrate.causal_circle import extrapolate_on_circle, join_group_on_circle
from nucleate.integrate.causal_extrapolate import extrapolate
from nucleate.integrate.causal_groups import form_groups, groups_in_use, join_group
from nucleate.integrate.causal_linearise import linearise, place_chart
from nucleate.integrate.causal_vectors import (
    extrapolate_vectors,
    join_group_of_vectors,
    linearise_vectors,
    move_in_chart,
)
from nucleate.integrate.frames import write_columns, write_start
from nucleate.integrate.run_buffers import ENDED, FULL_BUFFER, HANDED_BACK
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING, STALLED, UNDERFLOW
from nucleate.integrate.vector_arrays import BLOCK
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import WINDOW
from nucleate.kernels.vector_math import MIN_EXP

__all__ = ["causal_step", "integrate_causal"]

# the error is counted ten times, a fifth more steps: what a long wait or a rotation amplifies then stays near
# the tolerance
ERROR_FACTOR = 10.0
SHORT_STEPS_IN_A_ROW = 6  # after which explicit steps are taken to be cheaper


@uncounted
def integrate_causal(s, buffers, clocks, short_step, short_step_per_group, stop):
    """Carry the one run to its end; ENDED when it has, FULL_BUFFER when frames need more room.

    HANDED_BACK when SHORT_STEPS_IN_A_ROW steps were shorter than `short_step`, or than `short_step_per_group`
    times the number of groups: explicit ones would cost less.
    """
    run, clock, short_steps = 0, clocks[0], 0
    if buffers.status[run] != RUNNING:
        return ENDED
    if clock.h == 0.0:
        _begin_run(s, buffers, clock, run)
    while short_steps < SHORT_STEPS_IN_A_ROW:
        saved, wanted, every_step = buffers.saved[run], clock.h, buffers.every_step
        asked = not every_step and saved < buffers.times.size
        until = min(buffers.times[saved], buffers.final) if asked else buffers.final
        left = (until - clock.t) - clock.t_low
        lands = wanted >= left * (1.0 - 1e-6)
        h = left if lands else wanted
        error = ERROR_FACTOR * causal_step(s, h, stop) / buffers.tolerance
        if stop[0]:
            buffers.status[run] = stop[0]
            return ENDED
        if accept_or_reject_causal(clock, h, error, s.columns, lands, until):
            buffers.steps[run] += 1
            is_short = max(h, wanted) < max(short_step, short_step_per_group * groups_in_use(s))
            short_steps = short_steps + 1 if is_short else 0
            farthest = _move_tokens(s, s.vectors)
            full = False
            if every_step or (lands and asked):
                full = write_columns(buffers, run, s.system.x, s.system.m, clock.t)
            if lands and until == buffers.final:
                blind = s.system.scalar and farthest < 4.0 * EPS and _some_forces_underflow(s.system)
                buffers.status[run] = UNDERFLOW if blind else DONE
                return ENDED
            if full:
                return FULL_BUFFER
        else:
            buffers.rejected[run] += 1
            finite = np.isfinite(error)
            if not finite:
                _clear_slots(s, s.vectors)
            if clock.h < MIN_STEP:
                buffers.status[run] = STALLED if finite else NON_FINITE
                return ENDED
        if buffers.steps[run] + buffers.rejected[run] >= buffers.max_steps:
            buffers.status[run] = MAX_STEPS
            return ENDED
    return HANDED_BACK


@inlined
def _begin_run(s, buffers, clock, run):
    """The start becomes the present places; the first step from the tolerance."""
    x, m, start = s.system.x, s.system.m, buffers.start[run]
    for k in range(start.shape[0]):
        for c in range(start.shape[1]):
            x[c, m + k] = start[k, c]
    write_start(buffers, run)
    clock.h = min(0.1 * buffers.tolerance ** (1.0 / s.columns), buffers.final - clock.t)


@inlined
def _clear_slots(s, vectors):
    """Clear what a step that was not finite left in the slots of tokens: zero times NaN is NaN."""
    places, increments = s.substep_places, s.increments
    if vectors is not None:
        first = s.frozen_slots // BLOCK
        places[:, first:] = 0.0
        vectors.blocks[first:] = 0.0
        vectors.images[:] = 0.0  # products add zeros to its padding
    else:
        places[:, :, s.frozen_slots * (places.shape[2] // s.multiplicity.size) :] = 0.0
    increments[:] = 0.0


@inlined
def _move_tokens(s, vectors):
    """The new places of an accepted step; returns how far the farthest token went."""
    x, ends, basis, m = s.system.x, s.ends, s.basis, s.system.m
    d = x.shape[0]
    farthest = 0.0
    # downwards: the side of a group's charts is that of its first token, which must move last
    for k in range(s.system.n - 1, -1, -1):
        reach = 0.0
        for e in range(d - 1):
            reach = max(reach, abs(ends[e, k]))
        farthest = max(farthest, reach)
        if reach == 0.0:
            continue
        if vectors is not None:
            move_in_chart(s, k)
        else:
            place_chart(s, k)
            square = 0.0
            for c in range(d):
                for e in range(d - 1):
                    x[c, m + k] += basis[c, e] * ends[e, k]
                square += x[c, m + k] ** 2
            length = np.sqrt(square)
            for c in range(d):
                x[c, m + k] /= length
    return farthest


@inlined
def _some_forces_underflow(system):
    """Whether some token has others before it and feels none of them: its forces underflowed to zero."""
    m = system.m
    for k in range(system.n):
        first = m + max(0, k - system.w + 1) if system.mask == WINDOW else m
        feels = m == 0 and first == m + k  # no other token is there to be felt
        for j in range(m + k):
            if feels:
                break
            feels = (j < m or j >= first) and _log_weight(system, m + k, j) > MIN_EXP
        if not feels:
            return True
    return False


@inlined
def _log_weight(system, i, j):
    """The logarithm of w_ij / w_ii, for columns i and j of system.x."""
    x, A = system.x, system.A
    d = x.shape[0]
    exponent = 0.0
    for c in range(d):
        if system.gaussian:
            exponent -= 0.5 * system.beta * (x[c, j] - x[c, i]) ** 2
        else:
            for e in range(d):
                exponent += (x[c, j] - x[c, i]) * A[c, e] * x[e, i]
    return exponent


@uncounted
def causal_step(s, h, stop):
    """`ends` of a step of length h from the present places; returns the error of the worst token, NaN when
    not finite."""
    form_groups(s)
    used, worst = s.frozen_slots, 0.0
    for k in range(s.system.n):
        if stop[0]:
            return np.nan
        error = _step_of_token(s, s.vectors, k, used, h)
        if not error <= worst:
            worst = error
            if np.isnan(error):
                return error
        used = _join_group(s, s.vectors, k, used)
    return worst


# Where `vectors` is None nothing of them is compiled, and else nothing of the other layouts.


@inlined
def _step_of_token(s, vectors, k, used, h):
    """The ends of token k's step; returns its error."""
    if vectors is not None:
        return extrapolate_vectors(s, k, used, h, linearise_vectors(s, k, used))
    else:
        if s.on_circle:
            return extrapolate_on_circle(s, k, used, h)
        return extrapolate(s, k, used, h, linearise(s, k, used))


@inlined
def _join_group(s, vectors, k, used):
    """Token k joins its group, or opens one; returns the slots in use."""
    if vectors is not None:
        return join_group_of_vectors(s, k, used)
    else:
        return join_group_on_circle(s, k, used) if s.on_circle else join_group(s, k, used)
