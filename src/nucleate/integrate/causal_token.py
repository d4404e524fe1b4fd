"""One token of a causal step, any dimension, any Q, K, V: its weights, its rows of the Jacobian, its columns,
and what later tokens see of it."""

import numpy as np

from nucleate.integrate.causal_state import seen_from
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.simd import LANES, TAIL, fma, hmax, hsum, load, splat, store, vmax
from nucleate.kernels.vector_math import exp

__all__ = ["columns", "join", "linearise", "push_vectors", "side_of", "tangent_basis"]

OWN, MEAN, SCORE, PLACE, DRIFT, IMAGE, OWN_SCORE = range(7)  # rows of Causal.vectors
FORCE, V_NOW, U, TABLE = range(4)  # rows of Causal.small


@inner
def side_of(s, k):
    """The side of the Householder reflection, the same for all tokens of a group."""
    x = s.pair.x
    return 1.0 if x[x.shape[0] - 1, s.pair.m + s.member[s.group[k]]] >= 0.0 else -1.0


@compiled
def tangent_basis(vectors, basis, side):
    """Columns orthonormal to each other and to row OWN: the quarter turn on the circle, elsewhere those of
    the reflection of x onto -side e_d."""
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
def join(s, k, used):
    """The token's place and pushes, left in slot `used`, go into its group's slot; returns the number of
    slots in use."""
    slots, count, places, pushes, bases, slot = s.slots, s.tally, s.places, s.pushes, s.bases, s.group[k]
    d = slots.shape[0]
    if slot == used:
        count[used] = 1.0
        for c in range(d):
            for e in range(d - 1):
                bases[c, e, used] = s.basis[c, e]
        return used + 1
    count[slot] += 1.0
    s.blur[slot] = max(s.blur[slot], s.blur[used])
    share = 1.0 / count[slot]
    for c in range(d):
        slots[c, slot] += share * (slots[c, used] - slots[c, slot])
        for i in range(places.shape[0]):
            places[i, c, slot] += share * (places[i, c, used] - places[i, c, slot])
    for i in range(pushes.shape[0]):
        for e in range(pushes.shape[1]):
            pushes[i, e, slot] += pushes[i, e, used]
    return used


@compiled
def linearise(s, k, used):
    """Weights, D_k, J_kk and the row of blocks J_kj (unless `tall`), at the present places; returns how large
    the terms are that a force is summed from.

    J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B - <x_k, V (x_k + D)>,   Cov the p-covariance of the x_j, A
                                                                            = beta K^T Q,
    J_kj = B_k^T V p_kj ((x_j - x_k - D) (A x_k)^T + 1) B_j,

    and for V = c I  p_kk - <x_k, x_k + D> is taken as  -sum_{j != k} p_kj + sum_j p_kj |x_j - x_k|^2 / 2.
    """
    p, slots, vectors, basis, spread = s.pair, s.slots, s.vectors, s.basis, s.spread
    x, A, V, m = p.x, p.A, p.V, p.m
    d = x.shape[0]
    for c in range(d):
        vectors[OWN, c] = slots[c, used] = x[c, m + k]
    tangent_basis(vectors, basis, side_of(s, k))
    held = s.held
    low = seen_from(s, k)
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
    _own_block(s, own, shift)
    _rows(s, Z, low, used)
    # at least sum_j p_kj |x_j - x_k|
    return abs(p.scale) * np.sqrt(2.0 * half * others) if p.scalar else _size(V)


@inner
def _own_block(s, own, shift):
    """J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B + shift; for V = c I without the term p_kk, which is in
    the shift."""
    p, vectors, basis, block = s.pair, s.vectors, s.basis, s.block
    d = basis.shape[0]
    image, other = s.product[0], s.product[1]
    other[:] = 0.0
    _add_product(p.A, basis, other)
    for e in range(d - 1):
        across = 0.0
        if not p.gaussian:
            for c in range(d):
                across += vectors[SCORE, c] * basis[c, e]
        for c in range(d):
            image[c, e] = (0.0 if p.scalar else own * basis[c, e]) - own * vectors[MEAN, c] * across
    _add_product(s.spread, other, image)
    if not p.scalar:
        other[:] = 0.0
        _add_product(p.V, image, other)
        image = other
    block[:] = 0.0
    _add_product(basis.T, image, block)
    for f in range(d - 1):
        if p.scalar:
            for e in range(d - 1):
                block[f, e] *= p.scale
        block[f, f] += shift


@inner
def _rows(s, Z, low, used):
    """What the pushes of earlier tokens go through: the blocks J_kj, or if `tall` the shares p_kj and the
    scores A x_k."""
    p, vectors, basis = s.pair, s.vectors, s.basis
    d = basis.shape[0]
    if s.tall:
        for c in range(d):
            vectors[OWN_SCORE, c] = vectors[SCORE, c]
        for j in range(low, used, LANES):
            store(s.share, j, load(s.weight, j) * (1.0 / Z))
        return
    for f in range(d - 1):
        for c in range(d):  # row IMAGE: V^T B_f
            value = p.scale * basis[c, f]
            if not p.scalar:
                value = 0.0
                for b in range(d):
                    value += p.V[b, c] * basis[b, f]
            vectors[IMAGE, c] = value
        _row(s.slots, s.weight, s.bases, s.row, vectors, f, 1.0 / Z, low, used)


@inner
def _add_product(A, B, out):
    """out += A B, row by row, so that the innermost loop is one of independent sums."""
    for c in range(A.shape[0]):
        for b in range(A.shape[1]):
            factor = A[c, b]
            for e in range(B.shape[1]):
                out[c, e] += factor * B[b, e]


@inner
def _size(M):
    """The root of the sum of squares."""
    square = 0.0
    for c in range(M.shape[0]):
        for e in range(M.shape[1]):
            square += M[c, e] ** 2
    return np.sqrt(square)


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
    """w_kj of the slots below m and of low .. high-1, for a token at row `source`; returns its own weight and
    the sum of all."""
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
    """sum_j w_kj (x_j - x_k) into row IMAGE, sum_j w_kj (x_j - x_k)(x_j - x_k)^T into `spread`; returns the
    sum of w_kj over j != k."""
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
                    both = fma(
                        load(weight, j) * load(count, j) * (load(x, c * width + j) - at_c),
                        load(x, e * width + j) - at_e,
                        both,
                    )
                spread[c, e] += hsum(both)
    for c in range(d):
        for e in range(c):
            spread[e, c] = spread[c, e]
    return others


@inner
def _row(x, weight, bases, row, vectors, f, inverse, low, high):
    """row[f, e, j] = p_kj (<V^T B_f, x_j - x_k - D> <A x_k, B_j e> + <V^T B_f, B_j e>), V^T B_f in row
    IMAGE."""
    d, width = x.shape
    for j in range(low, high, LANES):
        reach = splat(0.0)
        for c in range(d):
            reach = fma(
                splat(vectors[IMAGE, c]), load(x, c * width + j) - vectors[OWN, c] - vectors[MEAN, c], reach
            )
        p = load(weight, j) * inverse
        for e in range(d - 1):
            turn, same = splat(0.0), splat(0.0)
            for c in range(d):
                b = load(bases, (c * (d - 1) + e) * width + j)
                turn = fma(splat(vectors[SCORE, c]), b, turn)
                same = fma(splat(vectors[IMAGE, c]), b, same)
            store(row, (f * (d - 1) + e) * width + j, p * fma(reach, turn, same))


@inner
def columns(s, k, used, h, rough):
    """All columns of one token, extrapolated into `ends`; returns the error. Forces are sums of terms as
    large as `rough`."""
    p, vectors, basis, small, ends = s.pair, s.vectors, s.basis, s.small, s.ends
    free = basis.shape[1]
    K = s.K
    low = seen_from(s, k)
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
            if s.tall:
                push_vectors(s, substep, low, used)
            else:
                _push(s.row, s.pushes, small, substep, low, used)
            _solve(s.factors, s.pivot, small)
            for e in range(free):
                small[V_NOW, e] += small[U, e]
            _leave_push(s, substep, used)
            substep += 1
        # Neville's scheme, in place: TABLE + j holds the value extrapolated from columns c - j .. c
        for e in range(free):
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
    excess = np.sqrt(error) - s.noise
    s.blur[used] = 0.0
    if excess > 0.0:
        blur = (s.noise * rough + _blur_of_others(s, low, used)) * _amplified(s.factors, s.pivot, small)
        if excess <= blur:
            excess, s.blur[used] = _steadiest(small, ends, k, K) - s.noise, blur
    return max(0.0, excess) + (error - error)  # NaN stays NaN


@inner
def _blur_of_others(s, low, used):
    """sum_j |J_kj| blur_j over all tokens of all slots, or a bound of it where there are no blocks."""
    row, vectors, slots = s.row, s.vectors, s.slots
    size = (abs(s.pair.scale) if s.pair.scalar else _size(s.pair.V)) if s.tall else 0.0
    total = 0.0
    for j in range(low, used):
        if s.blur[j] > 0.0 and s.tall:
            reach, score = 0.0, 0.0
            for c in range(slots.shape[0]):
                reach += (slots[c, j] - vectors[OWN, c] - vectors[MEAN, c]) ** 2
                score += vectors[OWN_SCORE, c] ** 2
            total += s.tally[j] * s.share[0, j] * size * (1.0 + np.sqrt(reach * score)) * s.blur[j]
        elif s.blur[j] > 0.0:
            square = 0.0
            for f in range(row.shape[0]):
                for e in range(row.shape[1]):
                    square += row[f, e, j] ** 2
            total += s.tally[j] * np.sqrt(square) * s.blur[j]
    return total


@inner
def _steadiest(small, ends, k, K):
    """The extrapolation that differs least from the one before, into `ends`; returns the difference."""
    best, least = 0, np.inf
    for j in range(1, K):
        square = 0.0
        for e in range(small.shape[1]):
            square += (small[TABLE + j, e] - small[TABLE + j - 1, e]) ** 2
        if square < least:
            best, least = j, square
    for e in range(small.shape[1]):
        ends[e, k] = small[TABLE + best, e]
    return np.sqrt(least)


@inner
def _amplified(factors, pivot, small):
    """How much larger the answer to a force can be than the force."""
    free, square = factors.shape[0], 0.0
    for e in range(free):
        for f in range(free):
            small[U, f] = 1.0 if f == e else 0.0
        _solve(factors, pivot, small)
        for f in range(free):
            square += small[U, f] ** 2
    return np.sqrt(square)


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
    """The token's force in the chart at v, its place into the slot: B^T |y| (f - <x_k, f> y), f = P V (x + D)
    at x = y / |y|."""
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


@compiled
def push_vectors(s, substep, low, used):
    """The same from vectors: B_k^T V sum_j p_kj ((x_j - x_k - D) <A x_k, B_j u_j> + B_j u_j)."""
    p, slots, pushes, share, vectors, basis, small = (
        s.pair,
        s.slots,
        s.pushes,
        s.share,
        s.vectors,
        s.basis,
        s.small,
    )
    d, width = slots.shape
    start = substep * d * width
    for j in range(low, used, LANES):
        turn = splat(0.0)
        for c in range(d):
            turn = fma(splat(vectors[OWN_SCORE, c]), load(pushes, start + c * width + j), turn)
        store(share, width + j, turn * load(share, j))
    for c in range(d):
        at, mean, total = splat(vectors[OWN, c]), splat(vectors[MEAN, c]), splat(0.0)
        for j in range(low, used, LANES):
            total = fma(load(share, width + j), load(slots, c * width + j) - at - mean, total)
            total = fma(load(share, j), load(pushes, start + c * width + j), total)
        vectors[IMAGE, c] = hsum(total)
    for c in range(d):
        value = p.scale * vectors[IMAGE, c]
        if not p.scalar:
            value = 0.0
            for b in range(d):
                value += p.V[c, b] * vectors[IMAGE, b]
        for e in range(d - 1):
            small[U, e] += basis[c, e] * value


@inner
def _leave_push(s, substep, used):
    """What later tokens see of row U: itself, or as a vector."""
    pushes, basis, small = s.pushes, s.basis, s.small
    d, free = basis.shape
    if not s.tall:
        for e in range(free):
            pushes[substep, e, used] = small[U, e]
        return
    for c in range(d):
        value = 0.0
        for e in range(free):
            value += basis[c, e] * small[U, e]
        pushes[substep, c, used] = value


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
