"""One token of a causal step, low dimensions, any Q, K, V: the substeps of all its columns, extrapolated."""

import numpy as np

from nucleate.integrate.causal_linearise import attend, frobenius_norm
from nucleate.integrate.causal_state import first_seen_slot
from nucleate.integrate.small_lu import factor, inverse_norm, solve
from nucleate.kernels.compile import inlined
from nucleate.kernels.simd import LANES, fma, hsum, load, splat

__all__ = ["add_column", "extrapolate", "steadiest"]


@inlined
def extrapolate(s, k, used, h, largest_term):
    """All columns of one token, extrapolated into `ends`; returns the error.  Forces are sums of terms as
    large as `largest_term`."""
    ends, force, v, u, table, K = s.ends, s.force, s.v, s.u, s.extrapolated, s.columns
    low, free = first_seen_slot(s, k), u.size
    substep, away = 0, 0
    error = 0.0
    for c in range(1, K + 1):
        factor(s.block, c / h, s.factors, s.pivot)
        for e in range(free):
            v[e] = 0.0
        for i in range(c):
            if i > 0:
                _force_in_chart(s, s.substep_places[away], low, used)
                away += 1
            elif c == 1:
                _force_at_origin(s)
                for e in range(free):
                    ends[e, k] = force[e]  # kept for the other columns, which begin at the same place
            for e in range(free):
                u[e] = ends[e, k] if i == 0 else force[e]
            _add_increments(s, substep, low, used)
            solve(s.factors, s.pivot, u)
            for e in range(free):
                v[e] += u[e]
                s.increments[substep, e, used] = u[e]
            substep += 1
        error += add_column(table, v, c)
    for e in range(free):
        ends[e, k] = table[K - 1, e]
    excess = np.sqrt(error) - s.roundoff
    s.rounding[used] = 0.0
    if excess > 0.0:
        rounding = s.roundoff * largest_term + _rounding_of_others(s, low, used)
        rounding *= inverse_norm(s.factors, s.pivot, u)
        if excess <= rounding:
            excess, s.rounding[used] = steadiest(table, ends, k) - s.roundoff, rounding
    return max(0.0, excess) + (error - error)  # NaN stays NaN


@inlined
def _force_at_origin(s):
    """B^T V (x_k + D_k) at v = 0, from the mean already there."""
    system, x, mean, basis = s.system, s.x, s.mean, s.basis
    d, free = basis.shape
    for e in range(free):
        force = 0.0
        for c in range(d):
            value = system.scale * mean[c]
            if not system.scalar:
                value = 0.0
                for b in range(d):
                    value += system.V[c, b] * (x[b] + mean[b])
            force += basis[c, e] * value
        s.force[e] = force


@inlined
def _force_in_chart(s, places, low, used):
    """The token's force in the chart at v, its place into the slot: B^T |y| (f - <x_k, f> y), f = P V (x + D)
    at x = y / |y|."""
    system, basis, x, y, v, drift, moment = s.system, s.basis, s.x, s.y, s.v, s.drift, s.image
    weight, count = s.weight, s.multiplicity
    d, free = basis.shape
    width = places.shape[1]
    square = 0.0
    for c in range(d):
        value = x[c]
        for e in range(free):
            value += basis[c, e] * v[e]
        y[c] = value
        square += value * value
    length = np.sqrt(square)
    for c in range(d):
        y[c] /= length
        places[c, used] = y[c]
    _, Z = attend(s, places, y, s.y_score, low, used)
    for c in range(d):
        total = 0.0
        for part in range(2):
            first, end = (low, used) if part else (0, s.frozen_slots)
            y_c, sums = splat(y[c]), splat(0.0)
            for j in range(first, end, LANES):
                sums = fma(load(weight, j) * load(count, j), load(places, c * width + j) - y_c, sums)
            total += hsum(sums)
        moment[c] = total
    along, radial = 0.0, 0.0
    for c in range(d):
        value = system.scale * moment[c] / Z
        if not system.scalar:
            value = 0.0
            for b in range(d):
                value += system.V[c, b] * (y[b] + moment[b] / Z)
        drift[c] = value
        along += value * y[c]
    for c in range(d):
        drift[c] -= along * y[c]
        radial += x[c] * drift[c]
    for e in range(free):
        force = -radial * v[e]
        for c in range(d):
            force += basis[c, e] * drift[c]
        s.force[e] = length * force


@inlined
def _add_increments(s, substep, low, used):
    """u += sum_{j<k} J_kj u_j of the substep."""
    row, increments, u = s.row, s.increments, s.u
    free, _, width = row.shape
    start = substep * free * width
    for f in range(free):
        total = splat(0.0)
        for e in range(free):
            here, there = (f * free + e) * width, start + e * width
            for j in range(low, used, LANES):
                total = fma(load(row, here + j), load(increments, there + j), total)
        u[f] += hsum(total)


@inlined
def add_column(table, v, c):
    """Neville's scheme, in place: row j of the table (K, d - 1) holds the value extrapolated from columns
    c - j .. c, of which the last ended at v; returns the square of the last change if c = K, else 0."""
    K, free = table.shape
    error = 0.0
    for e in range(free):
        value = v[e]
        for j in range(1, c):
            older = table[j - 1, e]
            table[j - 1, e] = value
            value += (value - older) / (c / (c - j) - 1.0)
        if c == K:
            error += (value - table[c - 2, e]) ** 2
        table[c - 1, e] = value
    return error


@inlined
def _rounding_of_others(s, low, used):
    """sum_j |J_kj| rounding_j over all tokens of all slots."""
    total = 0.0
    for j in range(low, used):
        if s.rounding[j] > 0.0:
            total += s.multiplicity[j] * frobenius_norm(s.row[:, :, j]) * s.rounding[j]
    return total


@inlined
def steadiest(table, ends, k):
    """The extrapolation that differs least from the one before, into `ends`; returns the difference."""
    best, least = 0, np.inf
    for j in range(1, table.shape[0]):
        square = 0.0
        for e in range(table.shape[1]):
            square += (table[j, e] - table[j - 1, e]) ** 2
        if square < least:
            best, least = j, square
    for e in range(table.shape[1]):
        ends[e, k] = table[best, e]
    return np.sqrt(least)
