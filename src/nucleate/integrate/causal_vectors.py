"""One token of a causal step from dimension VECTORS_FROM on, any Q, K, V, written as products of matrices.

Increments.  What earlier tokens did goes through as the vectors U_j = B_j u_j in space,

    sum_j J_kj u_j = B_k^T V sum_j p_kj ((x_j - x_k - D) <A x_k, U_j> + U_j),

and rests on nothing that token k does within the step.  So it is made for all substeps of all columns before
the first of them: one pass over the U_j, then a product of matrices, <A x_k, U_j> times x_j - x_k - D.

Bases.  B_k is the reflection that takes x_k to -side e_d, without its last column: B_k v and B_k^T y take a
time O(d), and B_k^T M B_k is M with two changes of rank one.
"""

import numpy as np

from nucleate.integrate.blocked_lu import factor_transpose, inverse_norm, solve_by_transpose
from nucleate.integrate.causal_extrapolate import add_column, steadiest
from nucleate.integrate.causal_state import first_seen_slot
from nucleate.integrate.vector_arrays import BLOCK, PANEL
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.panels import GROUP, add_product, set_product
from nucleate.kernels.simd import LANES, fma, hmax, hsum, load, splat, store, vmax
from nucleate.kernels.vector_math import exp

__all__ = [
    "add_increments",
    "extrapolate_vectors",
    "join_group_of_vectors",
    "linearise_vectors",
    "move_in_chart",
]


# Vectors, padded by zeros


@inlined
def _dot(a, b):
    total = splat(0.0)
    for c in range(0, b.size // LANES * LANES, LANES):
        total = fma(load(a, c), load(b, c), total)
    return hsum(total)


@inlined
def _times(columns, z, out):
    """out = M z, from the columns of M, (d, D)."""
    d, D = columns.shape
    for c in range(0, D, LANES):
        even, odd = splat(0.0), splat(0.0)
        for b in range(0, d - 1, 2):
            even = fma(splat(z[b]), load(columns, b * D + c), even)
            odd = fma(splat(z[b + 1]), load(columns, (b + 1) * D + c), odd)
        if d % 2:
            even = fma(splat(z[d - 1]), load(columns, (d - 1) * D + c), even)
        store(out, c, even + odd)


@inlined
def _to_space(a, v, out):
    """out = B_k v."""
    along = _dot(v, a.x)  # v has no last coordinate
    for c in range(0, a.x.size, LANES):
        store(out, c, load(v, c) - along * load(a.mirror, c))


@inlined
def _to_chart(a, y, at, out, out_at):
    """out = B_k^T y, for vectors that begin at the indices `at` and `out_at`."""
    total = splat(0.0)
    for c in range(0, a.x.size, LANES):
        total = fma(load(y, at + c), load(a.mirror, c), total)
    along = hsum(total)
    for c in range(0, a.x.size, LANES):
        store(out, out_at + c, (load(y, at + c) - along * load(a.x, c)) * load(a.in_chart, c))


@inlined
def _place_chart(s, k):
    """x_k and the reflection, whose side is the same for all tokens of a group."""
    places, a, m = s.system.x, s.vectors, s.system.m
    d = places.shape[0]
    side = 1.0 if places[d - 1, m + s.first_token[s.slot_of[k]]] >= 0.0 else -1.0
    scale = 1.0 / (1.0 + side * places[d - 1, m + k])  # 2 / |w|^2 for w = x + side e_d
    for c in range(d):
        a.x[c] = places[c, m + k]
        a.mirror[c] = scale * (a.x[c] + (side if c == d - 1 else 0.0))


@inlined
def move_in_chart(s, k):
    """x_k + B_k v_k, of the step's end, on the sphere."""
    places, a, m, ends = s.system.x, s.vectors, s.system.m, s.ends
    d = places.shape[0]
    _place_chart(s, k)
    for e in range(d - 1):
        a.v[e] = ends[e, k]
    _to_space(a, a.v, a.y)
    square = 0.0
    for c in range(d):
        places[c, m + k] += a.y[c]
        square += places[c, m + k] ** 2
    length = np.sqrt(square)
    for c in range(d):
        places[c, m + k] /= length


# The token against the slots


@inlined
def _first_block(slot):
    return slot // BLOCK * BLOCK


@inlined
def _attend(s, places, start, at, score, low, used):
    """score = A at; w_kj of the frozen slots and of low .. used-1 for a token at the point `at`, with the
    slots in blocks from places[start] on; `moment` = sum_j w_kj (x_j - at); returns its own weight and the
    sum of the others."""
    a, weight, count, gaussian = s.vectors, s.weight, s.multiplicity, s.system.gaussian
    d, frozen = s.system.x.shape[0], s.frozen_slots
    top, own_score = 0.0, 0.0
    if gaussian:
        for c in range(0, score.size, LANES):
            store(score, c, s.system.beta * load(at, c))
    else:
        _times(a.A_columns, at, score)
        own_score = _dot(score, at)
        largest = splat(own_score)
        for part in range(2):
            begin, first, end = (low, _first_block(low), used) if part else (0, 0, frozen)
            for j in range(first, end, BLOCK):
                _score_block(s, places, start + j * d, at, score, j, begin, end)
                largest = vmax(vmax(largest, load(weight, j)), load(weight, j + LANES))
        top = hmax(largest)
    for c in range(d):
        store(a.sums, c * LANES, splat(0.0))
    total = splat(0.0)
    for part in range(2):
        begin, first, end = (low, _first_block(low), used) if part else (0, 0, frozen)
        for j in range(first, end, BLOCK):
            if gaussian:
                _score_block(s, places, start + j * d, at, score, j, begin, end)
            one, other = exp(load(weight, j) - top), exp(load(weight, j + LANES) - top)
            store(weight, j, one)
            store(weight, j + LANES, other)
            one, other = one * load(count, j), other * load(count, j + LANES)
            total = total + (one + other)
            for c in range(d):
                here, at_c = start + j * d + c * BLOCK, splat(at[c])
                moment = fma(one, load(places, here) - at_c, load(a.sums, c * LANES))
                store(a.sums, c * LANES, fma(other, load(places, here + LANES) - at_c, moment))
    for c in range(d):
        a.moment[c] = hsum(load(a.sums, c * LANES))
    return np.exp(own_score - top), hsum(total)


@inlined
def _score_block(s, places, here, at, score, j, begin, end):
    """The exponents of the block of slots from j on into `weight`; -infinity outside begin .. end-1."""
    weight, d = s.weight, s.system.x.shape[0]
    one, other = splat(0.0), splat(0.0)
    if s.system.gaussian:
        for c in range(d):
            step, step_2 = load(places, here) - at[c], load(places, here + LANES) - at[c]
            one, other = fma(step, step, one), fma(step_2, step_2, other)
            here += BLOCK
        half = -0.5 * s.system.beta
        one, other = one * half, other * half
    else:
        for c in range(d):
            score_c = splat(score[c])
            one = fma(score_c, load(places, here), one)
            other = fma(score_c, load(places, here + LANES), other)
            here += BLOCK
    store(weight, j, one)
    store(weight, j + LANES, other)
    for i in range(j, begin):
        weight[i] = -np.inf
    for i in range(end, j + BLOCK):
        weight[i] = -np.inf


# The Jacobian


@uncounted
def linearise_vectors(s, k, used):
    """Weights, D_k, J_kk^T at the present places; returns how large the terms are that a force is summed
    from.  The formulas are those of `causal_linearise.linearise`."""
    system, a, weight = s.system, s.vectors, s.weight
    x, mean, covariance, low = a.x, a.mean, a.covariance, first_seen_slot(s, k)
    d, D, width = system.x.shape[0], x.size, weight.size
    _place_chart(s, k)
    for c in range(d):
        a.blocks[used // BLOCK, c * BLOCK + used % BLOCK] = x[c]
        a.panels[_in_panels(c, used, D, width)] = x[c]
    own, others = _attend(s, a.blocks, 0, x, a.score, low, used)
    inverse = 1.0 / (own + others)
    own, others = own * inverse, others * inverse
    for c in range(d):
        mean[c] = a.moment[c] * inverse
    _covariance(s, low, used)
    half = 0.0
    for c in range(d):
        half += 0.5 * covariance[c, c] * inverse
    for c in range(d):
        for e in range(0, D, LANES):
            product = load(covariance, c * D + e) * inverse - mean[c] * load(mean, e)
            store(covariance, c * D + e, product)
    shift = system.scale * (half - others)
    if not system.scalar:
        for c in range(D):
            a.y[c] = x[c] + mean[c]
        _times(a.V_columns, a.y, a.drift)
        shift = -_dot(a.drift, x)
    _own_block(s, own, shift)
    first = _first_block(low)
    for j in range(first, used, BLOCK):
        store(s.attention, j, load(weight, j) * inverse)
        store(s.attention, j + LANES, load(weight, j + LANES) * inverse)
    for panel in range(0, D, PANEL):
        wide = min(PANEL, D - panel)
        for j in range(first, used):
            here = panel * width + j * wide
            for c in range(0, wide, LANES):
                store(a.offset_panels, here + c, load(a.offset_panels, here + c) - load(mean, panel + c))
    # at least sum_j p_kj |x_j - x_k|
    return a.V_norm * np.sqrt(2.0 * half * others) if system.scalar else a.V_norm


@inlined
def _in_panels(c, slot, D, width):
    """The index of a coordinate of a slot in `panels`."""
    panel = c // PANEL * PANEL
    return panel * width + slot * min(PANEL, D - panel) + c - panel


@inlined
def _covariance(s, low, used):
    """sum_j w_kj (x_j - x_k)(x_j - x_k)^T into `covariance`, the factors into `offset_rows` and
    `offset_panels`."""
    a, weight, count, x = s.vectors, s.weight, s.multiplicity, s.vectors.x
    d, D, width = s.system.x.shape[0], x.size, weight.size
    for part in range(2):
        first, end = (_first_block(low), used) if part else (0, s.frozen_slots)
        for j in range(first, end, BLOCK):
            one = load(weight, j) * load(count, j)
            other = load(weight, j + LANES) * load(count, j + LANES)
            for c in range(d):
                here, there = j * d + c * BLOCK, c * width + j
                store(a.offset_rows, there, one * (load(a.blocks, here) - x[c]))
                store(a.offset_rows, there + LANES, other * (load(a.blocks, here + LANES) - x[c]))
        for panel in range(0, D, PANEL):
            wide = min(PANEL, D - panel)
            for j in range(first, end):
                here = panel * width + j * wide
                for c in range(0, wide, LANES):
                    store(a.offset_panels, here + c, load(a.panels, here + c) - load(x, panel + c))
            for r in range(0, d, GROUP):
                at, start, out = r * width + first, panel * width + first * wide, r * D + panel
                rows, panels, covariance, some = a.offset_rows, a.offset_panels, a.covariance, end - first
                if part:
                    add_product(rows, at, width, panels, start, wide, some, covariance, out, D)
                else:
                    set_product(rows, at, width, panels, start, wide, some, covariance, out, D)


@inlined
def _own_block(s, own, shift):
    """J_kk^T, of J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B + shift; for V = c I without the term p_kk,
    which is in the shift."""
    system, a = s.system, s.vectors
    x, matrix, mirror, turned, across = a.x, a.matrix, a.mirror, a.y, a.moment
    d, D = system.x.shape[0], a.x.size
    if system.gaussian:  # and (A x_k)^T B = 0
        for e in range(0, d * D, LANES):
            store(matrix, e, load(a.covariance, e) * system.beta)
    else:
        _multiply(a.covariance, a.A_panels, matrix, d, d)
        for c in range(d):
            share = splat(-own * a.mean[c])
            for e in range(0, D, LANES):
                store(matrix, c * D + e, fma(share, load(a.score, e), load(matrix, c * D + e)))
    if not system.scalar:
        for c in range(d):
            matrix[c, c] += own
        for panel in range(0, D, PANEL):
            wide = min(PANEL, D - panel)
            for c in range(d):
                for e in range(0, wide, LANES):
                    store(a.product, panel * d + c * wide + e, load(matrix, c * D + panel + e))
        _multiply(a.V_rows, a.product, matrix, d, d)
    scale = system.scale if system.scalar else 1.0
    for e in range(0, D, LANES):  # M^T mirror, and M mirror
        total = splat(0.0)
        for c in range(d):
            total = fma(splat(mirror[c]), load(matrix, c * D + e), total)
        store(turned, e, total)
    for c in range(d):
        total = splat(0.0)
        for e in range(0, D, LANES):
            total = fma(load(matrix, c * D + e), load(mirror, e), total)
        across[c] = hsum(total)
    both = _dot(mirror, across)
    stride = a.transpose.shape[1]
    for c in range(0, D, LANES):
        store(turned, c, load(turned, c) - both * load(x, c))
    for e in range(d - 1):
        if system.gaussian and system.scalar:  # J is symmetric
            for f in range(0, D, LANES):
                value = load(matrix, e * D + f) - x[e] * load(turned, f) - across[e] * load(x, f)
                store(a.transpose, e * stride + f, value * scale * load(a.in_chart, f))
        else:
            for f in range(d - 1):
                a.transpose[f, e] = scale * (matrix[e, f] - x[e] * turned[f] - across[e] * x[f])
    for e in range(d - 1):
        a.transpose[e, e] += shift


@inlined
def _multiply(rows, panels, out, count, d):
    """out = the product of `count` rows, each of d numbers, with a matrix (d, D) in panels."""
    step, D = rows.shape[1], out.shape[1]
    for panel in range(0, D, PANEL):
        for r in range(0, count, GROUP):
            wide = min(PANEL, D - panel)
            set_product(rows, r * step, step, panels, panel * d, wide, d, out, r * D + panel, D)


# The substeps


@uncounted
def add_increments(s, low, used):
    """`from_others`[i] = sum_{j<k} J_kj u_j for every substep i."""
    system, a, increments, attention = s.system, s.vectors, s.increments, s.attention
    d, D, width, substeps = system.x.shape[0], a.x.size, attention.size, increments.shape[0]
    first = _first_block(low)
    for i in range(substeps):
        for c in range(d):
            store(a.sums, c * LANES, splat(0.0))
        for j in range(first, used, BLOCK):
            p, p_2 = load(attention, j), load(attention, j + LANES)
            turn, turn_2, here = splat(0.0), splat(0.0), (i * width + j) * d
            for c in range(d):
                one, other, score = load(increments, here), load(increments, here + LANES), splat(a.score[c])
                turn, turn_2 = fma(score, one, turn), fma(score, other, turn_2)
                store(a.sums, c * LANES, fma(p, one, fma(p_2, other, load(a.sums, c * LANES))))
                here += BLOCK
            store(a.turned, i * width + j, p * turn)
            store(a.turned, i * width + j + LANES, p_2 * turn_2)
        for c in range(d):
            a.images[i, c] = hsum(load(a.sums, c * LANES))
    for panel in range(0, D, PANEL):
        wide = min(PANEL, D - panel)
        for i in range(0, substeps, GROUP):
            at, start, out = i * width + first, panel * width + first * wide, i * D + panel
            add_product(a.turned, at, width, a.offset_panels, start, wide, used - first, a.images, out, D)
    if not system.scalar:
        _multiply(a.images, a.V_panels, a.from_others, substeps, d)
    for i in range(substeps):
        if system.scalar:
            for c in range(0, D, LANES):
                store(a.from_others, i * D + c, system.scale * load(a.images, i * D + c))
        _to_chart(a, a.from_others, i * D, a.from_others, i * D)


@inlined
def extrapolate_vectors(s, k, used, h, largest_term):
    """All columns of one token, extrapolated into `ends`; returns the error.  Forces are sums of terms as
    large as `largest_term`."""
    a, ends, table, K = s.vectors, s.ends, s.extrapolated, s.columns
    v, u, force, low, D = a.v, a.u, a.force, first_seen_slot(s, k), a.x.size
    free = ends.shape[0]
    add_increments(s, low, used)
    _force_at_origin(s)
    substep, away, error = 0, 0, 0.0
    for c in range(1, K + 1):
        factor_transpose(a.transpose, free, c / h, a.factors, s.pivot, a.panel)
        for e in range(0, v.size, LANES):
            store(v, e, splat(0.0))
            store(u, e, splat(0.0))
        for i in range(c):
            if i > 0:
                _force_in_chart(s, away, low, used)
                away += 1
            for e in range(0, D, LANES):
                felt = load(a.force_at_origin, e) if i == 0 else load(force, e)
                store(u, e, felt + load(a.from_others, substep * D + e))
            solve_by_transpose(a.factors, free, s.pivot, u)
            for e in range(0, D, LANES):
                store(v, e, load(v, e) + load(u, e))
            _to_space(a, u, a.drift)
            for e in range(free + 1):
                s.increments[substep, used // BLOCK, e * BLOCK + used % BLOCK] = a.drift[e]
            substep += 1
        error += add_column(table, v, c)
    for e in range(free):
        ends[e, k] = table[K - 1, e]
    excess = np.sqrt(error) - s.roundoff
    s.rounding[used] = 0.0
    if excess > 0.0:
        rounding = s.roundoff * largest_term + _rounding_of_others(s, low, used)
        if excess <= rounding * _bound_of_inverse(a.transpose, free, K / h):
            rounding *= inverse_norm(a.factors, free, a.inverse)
            if excess <= rounding:
                excess, s.rounding[used] = steadiest(table, ends, k) - s.roundoff, rounding
    return max(0.0, excess) + (error - error)  # NaN stays NaN


@inlined
def _force_at_origin(s):
    """B^T V (x_k + D_k) at v = 0, from the mean already there."""
    a, D = s.vectors, s.vectors.x.size
    if s.system.scalar:
        for c in range(0, D, LANES):
            store(a.drift, c, s.system.scale * load(a.mean, c))
    else:
        for c in range(0, D, LANES):
            store(a.y, c, load(a.x, c) + load(a.mean, c))
        _times(a.V_columns, a.y, a.drift)
    _to_chart(a, a.drift, 0, a.force_at_origin, 0)


@inlined
def _force_in_chart(s, away, low, used):
    """The token's force in the chart at v, its place into the slot: B^T |y| (f - <x_k, f> y), f = P V (x + D)
    at x = y / |y|."""
    system, a, places, y, drift = s.system, s.vectors, s.substep_places, s.vectors.y, s.vectors.drift
    d, D = system.x.shape[0], y.size
    _to_space(a, a.v, y)
    for c in range(0, D, LANES):
        store(y, c, load(y, c) + load(a.x, c))
    length = np.sqrt(_dot(y, y))
    for c in range(0, D, LANES):
        store(y, c, load(y, c) / length)
    for c in range(d):
        places[away, used // BLOCK, c * BLOCK + used % BLOCK] = y[c]
    own, others = _attend(s, places, away * s.weight.size * d, y, a.y_score, low, used)
    share = 1.0 / (own + others)
    if system.scalar:
        for c in range(0, D, LANES):
            store(drift, c, load(a.moment, c) * (system.scale * share))
    else:
        for c in range(0, D, LANES):
            store(a.y_score, c, fma(load(a.moment, c), splat(share), load(y, c)))
        _times(a.V_columns, a.y_score, drift)
    along = _dot(drift, y)
    for c in range(0, D, LANES):
        store(drift, c, load(drift, c) - along * load(y, c))
    radial = _dot(drift, a.x)
    _to_chart(a, drift, 0, a.force, 0)
    for c in range(0, D, LANES):
        store(a.force, c, length * (load(a.force, c) - radial * load(a.v, c)))


@inlined
def _bound_of_inverse(matrix, n, diagonal):
    """The Frobenius norm of (diagonal - matrix)^{-1} is no larger than this: infinity, or where the matrix is
    near a multiple of 1 less."""
    trace, squares, stride = 0.0, splat(0.0), matrix.shape[1]
    for e in range(n):
        trace += matrix[e, e]
    for e in range(0, n * stride, LANES):
        squares = fma(load(matrix, e), load(matrix, e), squares)
    # rounded up: of squares that are nearly equal
    far = np.sqrt(max(0.0, hsum(squares) * (1.0 + 1e-12) - trace * trace / n))
    least = abs(diagonal - trace / n) - far
    return np.sqrt(n) / least if least > 0.0 else np.inf


@inlined
def _rounding_of_others(s, low, used):
    """A bound of sum_j |J_kj| rounding_j over all tokens of all slots."""
    a, count, rounding = s.vectors, s.multiplicity, s.rounding
    score = _dot(a.score, a.score)
    total = 0.0
    for j in range(low, used):
        if rounding[j] > 0.0:
            reach = 0.0
            for c in range(s.system.x.shape[0]):
                place = a.blocks[j // BLOCK, c * BLOCK + j % BLOCK]
                reach += (place - a.x[c] - a.mean[c]) ** 2
            total += count[j] * s.attention[j] * a.V_norm * (1.0 + np.sqrt(reach * score)) * rounding[j]
    return total


@uncounted
def join_group_of_vectors(s, k, used):
    """The token's places and increments, left in slot `used`, go into its group's slot; returns the number of
    slots in use."""
    a, count, places, increments, slot = (
        s.vectors,
        s.multiplicity,
        s.substep_places,
        s.increments,
        s.slot_of[k],
    )
    d, D, width = s.system.x.shape[0], a.x.size, count.size
    if slot == used:
        count[used] = 1.0
        return used + 1
    count[slot] += 1.0
    s.rounding[slot] = max(s.rounding[slot], s.rounding[used])
    share = 1.0 / count[slot]
    block, block_2, at, at_2 = slot // BLOCK, used // BLOCK, slot % BLOCK, used % BLOCK
    for c in range(d):
        here, there = c * BLOCK + at, c * BLOCK + at_2
        a.blocks[block, here] += share * (a.blocks[block_2, there] - a.blocks[block, here])
        a.panels[_in_panels(c, slot, D, width)] = a.blocks[block, here]
        for i in range(places.shape[0]):
            places[i, block, here] += share * (places[i, block_2, there] - places[i, block, here])
        for i in range(increments.shape[0]):
            increments[i, block, here] += increments[i, block_2, there]
    return used
