"""Eight whole runs at once on the circle: K^T Q = I, V = c I, causal; the circle kernel with a run in every
lane.

The powers e^{i m theta} come from e_{m+1} = 2 cos(theta) e_m - e_{m-1}: half the work of a complex product,
and an error that grows as m^2, which `circle_batch_roundoff` counts; runs that ask for more accuracy take
products, which cost a quarter more in all.

The angles stand as y[token * 8 + lane].  beta, c and the frozen tokens may differ between lanes.  Each lane
sees exactly the operations it would see alone: a run's bits do not depend on its neighbours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import EPS, Array
from nucleate.kernels.circle import (
    MAX_Z,
    TOLERANCE,
    frozen_sums,
    modes,
    plain_coefficients,
    roundoff,
    usual_ratio,
)
from nucleate.kernels.compile import compiled, inlined
from nucleate.kernels.model_shape import ACCURACIES, CAUSAL, Accuracy, ModelShape, ordinary_shape
from nucleate.kernels.pairwise import base_2
from nucleate.kernels.simd import (
    LANES,
    PART,
    aligned_zeros,
    fma,
    fms,
    lane,
    lanes_of,
    load,
    load_part,
    splat,
    splat_as,
    store,
    vmax,
)
from nucleate.kernels.threads import Stop, share
from nucleate.kernels.vector_math import exp2, sincos

__all__ = [
    "CircleBatch",
    "circle_batch_accuracy",
    "circle_batch_drift",
    "circle_batch_enter",
    "circle_batch_leave",
    "circle_batch_system",
    "circle_batch_velocities",
]


# Each token's powers form one chain of dependent operations: two tokens at a time hide its latency, where
# there are registers for them.  Without AVX-512 there are not, and the chain is no longer than the work.
IN_PAIRS = PART == LANES


def circle_batch_roundoff(beta: float, products: bool) -> float:
    """The absolute error of a sum of weights, per token summed: m^2 roundings in e^{i m theta}, or m if it is
    made by products, weighted by I_m."""
    return roundoff(beta) if products else EPS * (8.0 + 2.0 * beta)


def circle_batch_accuracy(shape: ModelShape, tolerance: float) -> Accuracy | None:
    """How a run can share the lanes of a vector with others on the circle, its velocities good to `tolerance`
    |V| with ordinary tokens summed over modes, "whole" by products; truncation may take half of it."""
    if not (shape.ordinary and shape.d == 2 and shape.plain and shape.mask == CAUSAL and shape.beta <= MAX_Z):
        return None
    for accuracy in ACCURACIES:
        error = circle_batch_roundoff(shape.beta, accuracy == "whole")
        if 2.0 * error * usual_ratio(shape.beta) <= tolerance:
            return accuracy
    return None


class CircleBatch(NamedTuple):
    """b runs of which eight are under way; the tables hold one row for all runs, or one per run."""

    coefficients: Array  # (1 or b, M + 2, 2) Bessel functions
    frozen: Array  # (1 or b, M + 2, 2) sums over the frozen tokens
    scale: Array  # (1 or b,) V = scale * I
    beta: Array  # (1 or b,)
    frozen_angle: Array  # (1 or b, m)
    frozen_weight: Array  # (1 or b, m)
    ratio: Array  # (1 or b,) k / Z_k up to which the modes are accurate enough
    n: int
    products: bool  # powers by products
    bessel: Array  # (M + 2, 2, 8) coefficients of the runs under way, like all up to `runs`
    start: Array  # (M + 2, 2, 8) their frozen sums
    factor: Array  # (8,) their scale
    mass: Array  # (8,) the sum of their frozen weights
    limit: Array  # (8,) their ratio; infinite in a lane without a run, where nothing is computed again
    exponent: Array  # (8,) log2 of a weight over the distance squared
    runs: NDArray[np.int64]  # (8,) the number of the run in each lane
    Z: Array  # (n, 8) scratch
    place: Array  # (n, 2, 8) scratch: cosines and sines
    sums: Array  # (M + 2, 2, 8) scratch


def circle_batch_system(
    shapes: Sequence[ModelShape],
    tolerance: Array,
    accuracy: Accuracy,
    runs: NDArray[np.int64] | None = None,
) -> CircleBatch:
    """Tables for the runs, which may share one shape; velocities good to `tolerance` (1 or b,) |V|.  With
    `runs`, rows of no others are filled: their modes may be very many.

    Every row depends on its own run alone, so a run's bits do not depend on the company it travels in.
    """
    count, n = len(shapes), ordinary_shape(shapes[0]).n
    rows = range(count) if count == 1 or runs is None else runs.tolist()
    allowed = np.broadcast_to(tolerance if count > 1 else tolerance[:1], count)
    truncation = [
        max(EPS, t / (2.0 * usual_ratio(shape.beta))) for shape, t in zip(shapes, allowed, strict=True)
    ]
    own_modes = {row: modes(shapes[row].beta, truncation[row]) for row in rows}
    orders = max(own_modes.values()) + 2
    # modes beyond a run's own stay zero: they add nothing to its bits
    coefficients, frozen = np.zeros((2, count, orders, 2))
    for row, M in own_modes.items():
        coefficients[row, : M + 2] = plain_coefficients(shapes[row].beta, M)[:, ::2]
        frozen[row, : M + 2] = frozen_sums(shapes[row], M + 2)
    ratio = [
        t / (circle_batch_roundoff(shape.beta, accuracy == "whole") + cut)
        for shape, t, cut in zip(shapes, allowed, truncation, strict=True)
    ]
    return CircleBatch(
        coefficients=coefficients,
        frozen=frozen,
        scale=np.array([shape.scale for shape in shapes]),
        beta=np.array([shape.beta for shape in shapes]),
        frozen_angle=np.array([np.arctan2(shape.frozen[:, 1], shape.frozen[:, 0]) for shape in shapes]),
        frozen_weight=np.array([shape.frozen_weight for shape in shapes]),
        ratio=np.array(ratio),
        n=n,
        products=accuracy == "whole",
        bessel=aligned_zeros(orders, 2, LANES),
        start=aligned_zeros(orders, 2, LANES),
        factor=np.zeros(LANES),
        mass=np.zeros(LANES),
        limit=np.full(LANES, np.inf),
        exponent=np.zeros(LANES),
        runs=np.zeros(LANES, dtype=np.int64),
        Z=aligned_zeros(n, LANES),
        place=aligned_zeros(n, 2, LANES),
        sums=aligned_zeros(orders, 2, LANES),
    )


def circle_batch_velocities(shape: ModelShape, x: Array, velocity: Array, threads: int, stop: Stop) -> None:
    """velocity = drift of tokens x (b, n, 2), runs of one model."""
    b, n, _ = x.shape
    angle, turn = np.arctan2(x[..., 1], x[..., 0]), np.empty((b, n))  # (b, n)
    groups = iter(range(0, b, LANES))
    accuracy = circle_batch_accuracy(shape, TOLERANCE)
    assert accuracy is not None

    def work() -> None:
        system = circle_batch_system([shape], np.array([TOLERANCE]), accuracy)
        state, out = aligned_zeros(n, LANES), aligned_zeros(n, LANES)
        for start in groups:  # a range iterator's next is atomic
            count = min(LANES, b - start)
            state[:, :count] = angle[start : start + count].T
            for at in range(count):
                circle_batch_enter(system, at, start + at)
            circle_batch_drift(system, state.reshape(-1), out.reshape(-1), stop)
            turn[start : start + count] = out[:, :count].T

    share([work] * min(threads, -(-b // LANES)))
    np.multiply(x[..., 1], -turn, out=velocity[..., 0])
    np.multiply(x[..., 0], turn, out=velocity[..., 1])


@compiled
def circle_batch_enter(s, at, run):
    """Give lane `at` to a run."""
    bessel, start, coefficients, frozen = s.bessel, s.start, s.coefficients, s.frozen
    row = run if coefficients.shape[0] > 1 else 0
    for m in range(bessel.shape[0]):
        for part in range(2):
            bessel[m, part, at] = coefficients[row, m, part]
            start[m, part, at] = frozen[row, m, part]
    s.factor[at], s.mass[at], s.limit[at] = s.scale[row], frozen[row, 0, 0], s.ratio[row]
    s.exponent[at] = base_2(s.beta[row])
    s.runs[at] = run


@compiled
def circle_batch_leave(s, at):
    """The run in lane `at` has ended."""
    s.limit[at] = np.inf


@compiled
def circle_batch_drift(s, y, velocity, stop):
    """Angular velocities of all tokens in all lanes; where a part of them has no run nothing is done."""
    place, beyond = s.place, False
    for at in range(0, s.n * LANES, PART):
        sine, cosine = sincos(load_part(y, at))
        k, part = at // LANES, at % LANES
        store(place, 2 * k * LANES + part, cosine)
        store(place, (2 * k + 1) * LANES + part, sine)
    for part in range(0, LANES, PART):
        if np.isinf(s.limit[part : part + PART]).all():
            continue
        if s.products:
            beyond |= _by_modes(s, velocity, part, stop, True)
        else:
            beyond |= _by_modes(s, velocity, part, stop, None)
    if beyond:
        _by_pairs(s, y, velocity, stop)


@inlined
def _by_modes(s, velocity, part, stop, products):
    """The lanes that begin at `part`, by sums over modes; whether some token is beyond their accuracy.  What
    `products` None leaves out is not compiled."""
    bessel, start, sums, Zs, place = s.bessel, s.start, s.sums, s.Z, s.place
    n, orders = s.n, s.bessel.shape[0]
    factor, mass, ratio = load_part(s.factor, part), load_part(s.mass, part), load_part(s.limit, part)
    for at in range(part, orders * 2 * LANES, LANES):
        store(sums, at, load_part(start, at))
    worst, pairs = splat_as(factor, -1.0), n // 2 if IN_PAIRS else 0
    for k in range(0, 2 * pairs, 2):
        if stop[0]:
            return False
        row, at = k * LANES + part, 2 * k * LANES + part
        c, s_, c2, s2 = (
            load_part(place, at),
            load_part(place, at + LANES),
            load_part(place, at + 2 * LANES),
            load_part(place, at + 3 * LANES),
        )
        Z, force, Z2, force2 = _two_tokens(c, s_, c2, s2, bessel, sums, orders, part, products)
        store(velocity, row, force * factor / Z)
        store(velocity, row + LANES, force2 * factor / Z2)
        store(Zs, row, Z)
        store(Zs, row + LANES, Z2)
        worst = vmax(worst, mass + vmax((k + 1.0) - Z * ratio, (k + 2.0) - Z2 * ratio))
    for k in range(2 * pairs, n):
        if stop[0]:
            return False
        row, at = k * LANES + part, 2 * k * LANES + part
        c, s_ = load_part(place, at), load_part(place, at + LANES)
        Z, force = _one_token(c, s_, bessel, sums, orders, part, products)
        store(velocity, row, force * factor / Z)
        store(Zs, row, Z)
        worst = vmax(worst, mass + ((k + 1.0) - Z * ratio))
    return _any_positive(worst)


@inlined
def _one_token(c, s, bessel, sums, orders, part, products):
    """Z_k and sum_j w_kj sin(theta_j - theta_k) of a token in each lane; then it joins the sums."""
    one, none = splat_as(c, 1.0), splat_as(c, 0.0)
    twice = c + c
    before, before_i = one, none  # e_{m-1}
    real, imag = c, s  # e_m
    total = load_part(sums, part)
    Z, force = fma(load_part(bessel, part), total, one), none
    store(sums, part, total + 1.0)
    for m in range(1, orders):
        here = m * 2 * LANES + part
        S_real, S_imag = load_part(sums, here), load_part(sums, here + LANES)
        b_Z, b_force = load_part(bessel, here), load_part(bessel, here + LANES)
        Z = fma(b_Z, fma(real, S_real, imag * S_imag), Z)
        force = fma(b_force, fms(real, S_imag, imag * S_real), force)
        store(sums, here, S_real + real)
        store(sums, here + LANES, S_imag + imag)
        if products is None:
            before, real = real, fms(twice, real, before)
            before_i, imag = imag, fms(twice, imag, before_i)
        else:
            real, imag = fms(real, c, imag * s), fma(real, s, imag * c)
    return Z, force


@inlined
def _two_tokens(c, s, c2, s2, bessel, sums, orders, part, products):
    """The same of two consecutive tokens in each lane, to the same bits."""
    one, none = splat_as(c, 1.0), splat_as(c, 0.0)
    twice, twice2 = c + c, c2 + c2
    before, before_i, before2, before2_i = one, none, one, none  # e_{m-1}
    real, imag, real2, imag2 = c, s, c2, s2  # e_m
    total, b0 = load_part(sums, part), load_part(bessel, part)
    Z, Z2 = fma(b0, total, one), fma(b0, total + 1.0, one)
    force, force2 = none, none
    store(sums, part, total + 2.0)
    for m in range(1, orders):
        here = m * 2 * LANES + part
        S_real, S_imag = load_part(sums, here), load_part(sums, here + LANES)
        b_Z, b_force = load_part(bessel, here), load_part(bessel, here + LANES)
        Z = fma(b_Z, fma(real, S_real, imag * S_imag), Z)
        force = fma(b_force, fms(real, S_imag, imag * S_real), force)
        S_real, S_imag = S_real + real, S_imag + imag
        Z2 = fma(b_Z, fma(real2, S_real, imag2 * S_imag), Z2)
        force2 = fma(b_force, fms(real2, S_imag, imag2 * S_real), force2)
        store(sums, here, S_real + real2)
        store(sums, here + LANES, S_imag + imag2)
        if products is None:
            before, real = real, fms(twice, real, before)
            before_i, imag = imag, fms(twice, imag, before_i)
            before2, real2 = real2, fms(twice2, real2, before2)
            before2_i, imag2 = imag2, fms(twice2, imag2, before2_i)
        else:
            real, imag = fms(real, c, imag * s), fma(real, s, imag * c)
            real2, imag2 = fms(real2, c2, imag2 * s2), fma(real2, s2, imag2 * c2)
    return Z, force, Z2, force2


@inlined
def _any_positive(vector):
    """Whether any lane is above zero; one that is not a number says nothing about the others."""
    for at in range(lanes_of(vector)):
        if lane(vector, at) > 0.0:
            return True
    return False


@inlined
def _by_pairs(s, y, velocity, stop):
    """Tokens beyond the accuracy of the modes, pair by pair: computed in all lanes, kept where needed."""
    place, n = s.place, s.n
    mass, limit = load(s.mass, 0), load(s.limit, 0)
    for k in range(n):
        if stop[0]:
            return
        beyond = mass + ((k + 1.0) - limit * load(s.Z, k * LANES))
        if not _any_positive(beyond):
            continue
        Z, force = _pair_sums(place, load(s.exponent, 0), k)
        for at in range(LANES):
            if lane(beyond, at) > 0.0:
                own_Z, own_force = _with_frozen(s, at, y[k * LANES + at], lane(Z, at), lane(force, at))
                velocity[k * LANES + at] = s.factor[at] * own_force / own_Z


@inlined
def _pair_sums(place, exponent, k):
    """Z_k and sum_j w_kj sin(theta_j - theta_k) of one token in each lane, from differences of points: good
    to a rounding of 1, not of itself, which is what is asked."""
    c, s = load(place, 2 * k * LANES), load(place, (2 * k + 1) * LANES)
    Z, sum_x, sum_y = splat(1.0), splat(0.0), splat(0.0)
    for j in range(k):
        dx, dy = load(place, 2 * j * LANES) - c, load(place, (2 * j + 1) * LANES) - s
        w = exp2(exponent * fma(dx, dx, dy * dy))
        Z, sum_x, sum_y = Z + w, fma(w, dx, sum_x), fma(w, dy, sum_y)
    return Z, fms(c, sum_y, s * sum_x)


@inlined
def _with_frozen(s, at, here, Z, force):
    """The same with the frozen tokens of one lane's run."""
    row = s.runs[at] if s.beta.size > 1 else 0
    for j in range(s.frozen_angle.shape[1]):
        gap = s.frozen_angle[row, j] - here
        w = s.frozen_weight[row, j] * np.exp(-2.0 * s.beta[row] * np.sin(0.5 * gap) ** 2)
        Z += w
        force += w * np.sin(gap)
    return Z, force
