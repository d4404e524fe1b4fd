"""One token of a causal step, low dimensions, any Q, K, V: its weights, and its blocks of the Jacobian at the
present places."""

import numpy as np

from nucleate.integrate.causal_state import first_seen_slot
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.simd import LANES, TAIL, fma, hmax, hsum, load, splat, store, vmax
from nucleate.kernels.vector_math import exp

__all__ = ["attend", "frobenius_norm", "linearise", "place_chart"]


@uncounted
def place_chart(s, k):
    """x_k and the basis B_k of its tangent space: the quarter turn on the circle, elsewhere the columns of
    the reflection of x onto -side e_d, the side being the same for all tokens of a group."""
    places, x, basis, m = s.system.x, s.x, s.basis, s.system.m
    d = x.size
    for c in range(d):
        x[c] = places[c, m + k]
    if d == 2:
        basis[0, 0], basis[1, 0] = -x[1], x[0]
        return
    side = 1.0 if places[d - 1, m + s.first_token[s.slot_of[k]]] >= 0.0 else -1.0
    scale = 1.0 / (1.0 + side * x[d - 1])  # 2 / |w|^2 for w = x + side e_d
    for e in range(d - 1):
        for c in range(d):
            w = x[c] + (side if c == d - 1 else 0.0)
            basis[c, e] = (1.0 if c == e else 0.0) - scale * w * x[e]


@uncounted
def linearise(s, k, used):
    """Weights, D_k, J_kk and the row of blocks J_kj, at the present places; returns how large the terms are
    that a force is summed from.

    J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B - <x_k, V (x_k + D)>,
    J_kj = B_k^T V p_kj ((x_j - x_k - D) (A x_k)^T + 1) B_j,

    Cov the p-covariance of the x_j, A = beta K^T Q; and for V = c I  p_kk - <x_k, x_k + D> is taken as
    -sum_{j != k} p_kj + sum_j p_kj |x_j - x_k|^2 / 2.
    """
    system, x, mean, covariance = s.system, s.x, s.mean, s.covariance
    V, d = system.V, x.size
    place_chart(s, k)
    for c in range(d):
        s.places[c, used] = x[c]
    low = first_seen_slot(s, k)
    own, Z = attend(s, s.places, x, s.score, low, used)
    others = _moments(s, low, used) / Z
    own /= Z
    half = 0.0
    for c in range(d):
        mean[c] = s.image[c] / Z
    for c in range(d):
        half += 0.5 * covariance[c, c] / Z
        for e in range(d):
            covariance[c, e] = covariance[c, e] / Z - mean[c] * mean[e]
    shift = system.scale * (half - others)
    if not system.scalar:
        shift = 0.0
        for c in range(d):
            for e in range(d):
                shift -= x[c] * V[c, e] * (x[e] + mean[e])
    _own_block(s, own, shift)
    for f in range(d - 1):
        _row(s, f, 1.0 / Z, low, used)
    # at least sum_j p_kj |x_j - x_k|
    return abs(system.scale) * np.sqrt(2.0 * half * others) if system.scalar else frobenius_norm(V)


@inlined
def attend(s, places, at, score, low, used):
    """score = A at; w_kj of the frozen slots and of low .. used-1, for a token at the point `at`; returns its
    own weight and the sum of all."""
    A, beta, gaussian, weight, count = s.system.A, s.system.beta, s.system.gaussian, s.weight, s.multiplicity
    d, width = places.shape
    for c in range(d):
        total = 0.0
        for e in range(d):
            total += A[c, e] * at[e]
        score[c] = total
    top, own_score = 0.0, 0.0
    if not gaussian:
        for c in range(d):
            own_score += score[c] * at[c]
        top = own_score
    for part in range(2):
        first, end = (low, used) if part else (0, s.frozen_slots)
        largest = splat(top)
        for j in range(first, end, LANES):
            exponent = splat(0.0)
            if gaussian:
                for c in range(d):
                    step = load(places, c * width + j) - at[c]
                    exponent = fma(step, step, exponent)
                exponent = exponent * (-0.5 * beta)
            else:
                for c in range(d):
                    exponent = fma(splat(score[c]), load(places, c * width + j), exponent)
                largest = vmax(largest, exponent + load(TAIL, max(0, LANES - (end - j))))
            store(weight, j, exponent)
        if not gaussian:
            top = hmax(largest)
    Z = 0.0
    for part in range(2):
        first, end = (low, used) if part else (0, s.frozen_slots)
        sums = splat(0.0)
        for j in range(first, end, LANES):
            w = exp(load(weight, j) + load(TAIL, max(0, LANES - (end - j))) - top)
            store(weight, j, w)
            sums = fma(w, load(count, j), sums)
        Z += hsum(sums)
    own = np.exp(own_score - top)
    return own, Z + own


@inlined
def _moments(s, low, used):
    """sum_j w_kj (x_j - x_k) into `image`, sum_j w_kj (x_j - x_k)(x_j - x_k)^T into `covariance`; returns the
    sum of w_kj over j != k."""
    places, count, weight, x, image, covariance = (
        s.places,
        s.multiplicity,
        s.weight,
        s.x,
        s.image,
        s.covariance,
    )
    d, width = places.shape
    others = 0.0
    for c in range(d):
        image[c] = 0.0
        for e in range(d):
            covariance[c, e] = 0.0
    for part in range(2):
        first, end = (low, used) if part else (0, s.frozen_slots)
        total = splat(0.0)
        for j in range(first, end, LANES):
            total = fma(load(weight, j), load(count, j), total)
        others += hsum(total)
        for c in range(d):
            x_c, moment = splat(x[c]), splat(0.0)
            for j in range(first, end, LANES):
                moment = fma(load(weight, j) * load(count, j), load(places, c * width + j) - x_c, moment)
            image[c] += hsum(moment)
            for e in range(c + 1):
                x_e, both = splat(x[e]), splat(0.0)
                for j in range(first, end, LANES):
                    first_moment = load(weight, j) * load(count, j) * (load(places, c * width + j) - x_c)
                    both = fma(first_moment, load(places, e * width + j) - x_e, both)
                covariance[c, e] += hsum(both)
    for c in range(d):
        for e in range(c):
            covariance[e, c] = covariance[c, e]
    return others


@inlined
def _own_block(s, own, shift):
    """J_kk = B^T V (Cov A + p_kk (1 - D (A x_k)^T)) B + shift; for V = c I without the term p_kk, which is in
    the shift."""
    system, basis, block, image, other = s.system, s.basis, s.block, s.image_basis, s.product
    d = basis.shape[0]
    other[:] = 0.0
    _add_product(system.A, basis, other)
    for e in range(d - 1):
        across = 0.0
        if not system.gaussian:
            for c in range(d):
                across += s.score[c] * basis[c, e]
        for c in range(d):
            image[c, e] = (0.0 if system.scalar else own * basis[c, e]) - own * s.mean[c] * across
    _add_product(s.covariance, other, image)
    if not system.scalar:
        other[:] = 0.0
        _add_product(system.V, image, other)
        image = other
    block[:] = 0.0
    _add_product(basis.T, image, block)
    for f in range(d - 1):
        if system.scalar:
            for e in range(d - 1):
                block[f, e] *= system.scale
        block[f, f] += shift


@inlined
def _row(s, f, inverse, low, used):
    """row[f, e, j] = p_kj (<V^T B_f, x_j - x_k - D> <A x_k, B_j e> + <V^T B_f, B_j e>)."""
    system, places, weight, bases, row = s.system, s.places, s.weight, s.bases, s.row
    x, mean, score, basis, image = s.x, s.mean, s.score, s.basis, s.image
    d, width = places.shape
    for c in range(d):
        value = system.scale * basis[c, f]
        if not system.scalar:
            value = 0.0
            for b in range(d):
                value += system.V[b, c] * basis[b, f]
        image[c] = value  # V^T B_f
    for j in range(low, used, LANES):
        reach = splat(0.0)
        for c in range(d):
            reach = fma(splat(image[c]), load(places, c * width + j) - x[c] - mean[c], reach)
        p = load(weight, j) * inverse
        for e in range(d - 1):
            turn, same = splat(0.0), splat(0.0)
            for c in range(d):
                b = load(bases, (c * (d - 1) + e) * width + j)
                turn = fma(splat(score[c]), b, turn)
                same = fma(splat(image[c]), b, same)
            store(row, (f * (d - 1) + e) * width + j, p * fma(reach, turn, same))


@inlined
def _add_product(A, B, out):
    """out += A B, row by row, so that the innermost loop is one of independent sums."""
    for c in range(A.shape[0]):
        for b in range(A.shape[1]):
            factor = A[c, b]
            for e in range(B.shape[1]):
                out[c, e] += factor * B[b, e]


@inlined
def frobenius_norm(M):
    """The root of the sum of squares."""
    square = 0.0
    for c in range(M.shape[0]):
        for e in range(M.shape[1]):
            square += M[c, e] ** 2
    return np.sqrt(square)
