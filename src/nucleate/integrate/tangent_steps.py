"""Tokens and their tangent vectors moved together, compiled: u_k' = J_k u_k of `variational`, token by token.

A run is a state (n, 1 + p, d): of every token its place and p tangent vectors.  Steps are those of Dormand
and Prince, order 5(4), with the error of places, and of vectors as a share of their lengths, below the
tolerance; before they grow, shrink or turn much the vectors of each token are made orthonormal again
(Benettin), and the logarithms of their lengths add up to exponents.
"""

import numpy as np

from nucleate.kernels.compile import compiled, uncounted

__all__ = ["move", "rates"]

SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 5.0  # of a step to the next
MIN_STEP = 1e-12  # of the longest: a run that needs shorter ones is given up
MAX_TURN = 2.0  # of vectors between two orthonormalisations: the integral of |u'| / |u|


@uncounted
def rates(y, A, V, w, rate, s, C, room, stop):
    """rate = the velocities of the state y, (n, 1 + p, d) both; A is beta K^T Q, w the window.  s (n,), C
    (d, d) and room (4, d) are for what is kept of one token.  Returns at once when stop[0] is set."""
    m, Ax, Vm, change = room[0], room[1], room[2], room[3]
    n, vectors, d = y.shape
    for k in range(n):
        if stop[0]:
            return
        first, top = max(0, k - w + 1), -np.inf
        _product(A, y[k, 0], Ax)
        for j in range(first, k + 1):
            s[j] = 0.0
            for a in range(d):
                s[j] += y[j, 0, a] * Ax[a]
            top = max(top, s[j])
        Z = 0.0
        for a in range(d):
            m[a] = 0.0
            for b in range(d):
                C[a, b] = 0.0
        for j in range(first, k + 1):
            weight = np.exp(s[j] - top)
            Z += weight
            for a in range(d):
                m[a] += weight * y[j, 0, a]
                for b in range(a + 1):
                    C[a, b] += weight * y[j, 0, a] * y[j, 0, b]
        own = np.exp(s[k] - top) / Z
        for a in range(d):
            m[a] /= Z
            for b in range(a + 1):
                C[a, b] = C[a, b] / Z - m[a] * m[b]
                C[b, a] = C[a, b]
        _product(V, m, Vm)
        height = 0.0
        for a in range(d):
            height += y[k, 0, a] * Vm[a]
        for a in range(d):
            rate[k, 0, a] = Vm[a] - height * y[k, 0, a]
        for v in range(1, vectors):
            along, across = 0.0, 0.0
            for a in range(d):
                along += Ax[a] * y[k, v, a]
            _product(A, y[k, v], change)
            _product(C, change, rate[k, v])
            for a in range(d):
                change[a] = rate[k, v, a] + own * ((y[k, 0, a] - m[a]) * along + y[k, v, a])
            _product(V, change, rate[k, v])
            for a in range(d):
                across += y[k, 0, a] * rate[k, v, a] + y[k, v, a] * Vm[a]
            for a in range(d):
                rate[k, v, a] -= across * y[k, 0, a] + height * y[k, v, a]


@uncounted
def _product(M, vector, out):
    """out = M vector."""
    for a in range(len(out)):
        out[a] = 0.0
        for b in range(len(out)):
            out[a] += M[a, b] * vector[b]


@compiled
def move(y, A, V, w, times, tolerance, longest, table, weights, errors, logs, places, stop):
    """Move the state y (n, 1 + p, d) from 0 through the times (m,): there the tokens are put on the sphere,
    the vectors made orthonormal, logs[i] (n, p) the logarithms of their lengths, and places[i] (n, d) the
    tokens. Returns how many times were reached, and the steps.

    longest   the longest step; table (6, 6), weights (6,), errors (7,) of the method
    """
    n, vectors, d = y.shape
    stages, trial = np.empty((7, n, vectors, d)), np.empty_like(y)
    s, C, room = np.empty(n), np.empty((d, d)), np.empty((4, d))
    t, h, steps, turned = 0.0, longest / 8.0, 0, 0.0
    rates(y, A, V, w, stages[0], s, C, room, stop)
    for i in range(len(times)):
        logs[i] = 0.0
        while t < times[i]:
            if stop[0] or not h > MIN_STEP * longest:
                return i, steps
            cut = min(h, times[i] - t)
            for stage in range(1, 7):
                for k in range(n):
                    for v in range(vectors):
                        for a in range(d):
                            total = 0.0
                            for q in range(stage):
                                part = table[stage, q] if stage < 6 else weights[q]
                                total += part * stages[q, k, v, a]
                            trial[k, v, a] = y[k, v, a] + cut * total
                rates(trial, A, V, w, stages[stage], s, C, room, stop)
            worst = 0.0
            for k in range(n):
                for v in range(vectors):
                    size = _largest(y[k, v]) if v > 0 else 1.0
                    for a in range(d):
                        total = 0.0
                        for q in range(7):
                            total += errors[q] * stages[q, k, v, a]
                        off = abs(cut * total) / size
                        if worst == worst and not off <= worst:  # NaN stays
                            worst = off
            error = worst / tolerance
            steps += 1
            if error <= 1.0:
                t = times[i] if cut >= times[i] - t else t + cut
                for k in range(n):
                    for v in range(vectors):
                        for a in range(d):
                            y[k, v, a] = trial[k, v, a]
                            stages[0, k, v, a] = stages[6, k, v, a]
                turned += cut * _turning(y, stages[0])
                if turned > MAX_TURN and t < times[i]:
                    turned = 0.0
                    _make_orthonormal(y, logs[i])
                    rates(y, A, V, w, stages[0], s, C, room, stop)
                if cut < h and error > 0.0:  # cut to end here: says little about the next
                    h = min(longest, max(h, cut * min(MAX_FACTOR, SAFETY * error**-0.2)))
                else:
                    h = min(longest, h * min(MAX_FACTOR, SAFETY * max(error, 1e-10) ** -0.2))
            else:
                h = cut * (max(MIN_FACTOR, SAFETY * error**-0.2) if np.isfinite(error) else MIN_FACTOR)
        turned = 0.0
        _make_orthonormal(y, logs[i])
        for k in range(n):
            for a in range(d):
                places[i, k, a] = y[k, 0, a]
        rates(y, A, V, w, stages[0], s, C, room, stop)
    return len(times), steps


@uncounted
def _largest(vector):
    """Its largest component."""
    largest = 0.0
    for a in range(len(vector)):
        largest = max(largest, abs(vector[a]))
    return largest


@uncounted
def _turning(y, rate):
    """The largest |u'| / |u| of all tangent vectors u."""
    most = 0.0
    for k in range(y.shape[0]):
        for v in range(1, y.shape[1]):
            most = max(most, _largest(rate[k, v]) / _largest(y[k, v]))
    return most


@uncounted
def _make_orthonormal(y, logs):
    """Tokens onto the sphere; the vectors of each tangent there and orthonormal, one after the other; to logs
    (n, p) come the logarithms of their lengths before."""
    n, vectors, d = y.shape
    for k in range(n):
        for v in range(vectors):
            for before in range(v):
                along = 0.0
                for a in range(d):
                    along += y[k, before, a] * y[k, v, a]
                for a in range(d):
                    y[k, v, a] -= along * y[k, before, a]
            square = 0.0
            for a in range(d):
                square += y[k, v, a] ** 2
            length = np.sqrt(square)
            for a in range(d):
                y[k, v, a] /= length
            if v > 0:
                logs[k, v - 1] += np.log(length)
