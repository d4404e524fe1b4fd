"""Eight whole runs at once on the circle: Q = K = I, V = c I, causal; the circle kernel with a run in every
lane.

The powers e^{i m theta} come from e_{m+1} = 2 cos(theta) e_m - e_{m-1}: half the work of a complex product,
and an error that grows as m^2, which `lanes_roundoff` counts; runs that ask for more accuracy go one by one
through the circle or the pairwise kernel.

The angles stand as y[token * 8 + lane].  beta, c and the frozen tokens may differ between lanes.  Each lane
sees exactly the operations it would see alone: a run's bits do not depend on its neighbours.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.kernels.circle import EPS, modes, plain_coefficients, usual_ratio
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.pairwise import base_2, one_frozen, one_run
from nucleate.kernels.simd import LANES, exp2, fma, fms, lane, load, sincos, splat, store, vmax

__all__ = [
    "Lanes",
    "lanes_drift",
    "lanes_enter",
    "lanes_leave",
    "lanes_roundoff",
    "lanes_suffice",
    "lanes_system",
]


def lanes_roundoff(beta: float) -> float:
    """The absolute error of a sum of weights, per token summed: m^2 roundings in e^{i m theta}, weighted by
    I_m."""
    return EPS * (8.0 + 2.0 * beta)


def lanes_suffice(beta: Array, tolerance: Array) -> NDArray[np.bool_]:
    """Whether lanes keep velocities to `tolerance` |V| without falling back for ordinary tokens; truncation
    may take the other half."""
    pairs = zip(*(array.tolist() for array in np.broadcast_arrays(beta, tolerance)), strict=True)
    return np.array([2.0 * lanes_roundoff(z) * usual_ratio(z) <= t for z, t in pairs])


class Lanes(NamedTuple):
    """b runs of which eight are under way; the tables hold one row for all runs, or one per run."""

    coefficients: Array  # (1 or b, M + 2, 2) Bessel functions
    frozen: Array  # (1 or b, M + 2, 2) sums over the frozen tokens
    scale: Array  # (1 or b,) V = scale * I
    beta: Array  # (1 or b,)
    frozen_angle: Array  # (1 or b, m)
    frozen_weight: Array  # (1 or b, m)
    frozen_mass: Array  # (1 or b,) the sum of them
    ratio: Array  # (1 or b,)
    n: int
    bessel: Array  # (M + 2, 2, 8) of the runs under way, like all below
    start: Array  # (M + 2, 2, 8)
    factor: Array  # (8,)
    mass: Array  # (8,)
    limit: Array  # (8,) the ratio; infinite in a lane without a run, where no token is worth mending
    sharp: Array  # (8,) log2 of a weight over the distance squared
    runs: NDArray[np.int64]  # (8,) the number of the run in each lane
    Z: Array  # (n, 8) scratch
    place: Array  # (n, 2, 8) scratch
    sums: Array  # (M + 2, 2, 8) scratch


def lanes_system(model: Attention, n: int, tolerance: Array) -> Lanes:
    """Tables for the runs of `model`, which must have Q = K = I and V = c I; velocities good to `tolerance`
    (1 or b,) |V|.

    Every row depends on its own run alone, so a run's bits do not depend on the company it travels in.
    """
    count = 1 if model.runs is None else model.runs
    parts = [(*one_run(model, 2, run), *one_frozen(model, 2, run)) for run in range(count)]
    beta, scale = np.array([part[0] for part in parts]), np.array([part[3][0, 0] for part in parts])
    allowed = np.broadcast_to(tolerance if count > 1 else tolerance[:1], count)
    truncation = [max(EPS, t / (2.0 * usual_ratio(z))) for z, t in zip(beta, allowed, strict=True)]
    ratio = np.array(
        [t / (lanes_roundoff(z) + cut) for z, t, cut in zip(beta, allowed, truncation, strict=True)]
    )
    M = [modes(z, cut) for z, cut in zip(beta, truncation, strict=True)]
    order = np.arange(max(M) + 2)
    # modes beyond a run's own M stay zero: they add nothing to its bits
    coefficients = np.zeros((count, len(order), 2))
    frozen = np.zeros_like(coefficients)
    angle = np.array([np.arctan2(part[4][:, 1], part[4][:, 0]) for part in parts])  # (rows, m)
    weight = np.array([part[5] for part in parts])
    for row, own in enumerate(M):
        coefficients[row, : own + 2] = plain_coefficients(beta[row], own)
        phase = order[:, None] * angle[row]  # (M + 2, m)
        frozen[row] = np.stack([np.cos(phase) @ weight[row], np.sin(phase) @ weight[row]], axis=1)
    bessel, start, sums = (np.zeros((len(order), 2, LANES)) for _ in range(3))
    under_way = (
        np.zeros(LANES),
        np.zeros(LANES),
        np.full(LANES, np.inf),
        np.zeros(LANES),
        np.zeros(LANES, dtype=np.int64),
    )
    scratch = np.zeros((n, LANES)), np.zeros((n, 2, LANES)), sums
    return Lanes(
        coefficients,
        frozen,
        scale,
        beta,
        angle,
        weight,
        weight.sum(1),
        ratio,
        n,
        bessel,
        start,
        *under_way,
        *scratch,
    )


@compiled
def lanes_enter(s, at, run):
    """Give lane `at` to a run."""
    bessel, start, coefficients, frozen = s.bessel, s.start, s.coefficients, s.frozen
    row = run if coefficients.shape[0] > 1 else 0
    for m in range(bessel.shape[0]):
        for part in range(2):
            bessel[m, part, at] = coefficients[row, m, part]
            start[m, part, at] = frozen[row, m, part]
    s.factor[at] = s.scale[row]
    s.mass[at], s.limit[at], s.sharp[at] = s.frozen_mass[row], s.ratio[row], base_2(s.beta[row])
    s.runs[at] = run


@compiled
def lanes_leave(s, at):
    """The run in lane `at` has ended."""
    s.limit[at] = np.inf


@compiled
def lanes_drift(s, y, velocity, stop):
    """Angular velocities of all tokens in all lanes."""
    bessel, start, sums, Zs = s.bessel, s.start, s.sums, s.Z
    n, orders = s.n, s.bessel.shape[0]
    factor, mass, ratio = load(s.factor, 0), load(s.mass, 0), load(s.limit, 0)
    for at in range(0, orders * 2 * LANES, LANES):
        store(sums, at, load(start, at))
    worst = splat(-1.0)
    for k in range(0, n - 1, 2):
        if stop[0]:
            return
        row = k * LANES
        sine, cosine = sincos(load(y, row))
        sine2, cosine2 = sincos(load(y, row + LANES))
        Z, force, Z2, force2 = _two_tokens(cosine, sine, cosine2, sine2, bessel, sums, orders)
        store(velocity, row, force * factor / Z)
        store(velocity, row + LANES, force2 * factor / Z2)
        store(Zs, row, Z)
        store(Zs, row + LANES, Z2)
        worst = vmax(worst, mass + vmax((k + 1.0) - Z * ratio, (k + 2.0) - Z2 * ratio))
    if n % 2:
        row = (n - 1) * LANES
        sine, cosine = sincos(load(y, row))
        Z, force, _, _ = _two_tokens(cosine, sine, cosine, sine, bessel, sums, orders)
        store(velocity, row, force * factor / Z)
        store(Zs, row, Z)
        worst = vmax(worst, mass + (float(n) - Z * ratio))
    if _any_positive(worst):
        _mend(s, y, velocity, stop)


@inner
def _two_tokens(c, s, c2, s2, bessel, sums, orders):
    """Z_k and sum_j w_kj sin(theta_j - theta_k) of two consecutive tokens in each lane; then they join the
    sums.

    Two at a time, because each token's powers form one chain of dependent operations.
    """
    twice, twice2 = c + c, c2 + c2
    before, before_i, before2, before2_i = splat(1.0), splat(0.0), splat(1.0), splat(0.0)  # e_{m-1}
    real, imag, real2, imag2 = c, s, c2, s2  # e_m
    total, b0 = load(sums, 0), load(bessel, 0)
    Z, Z2 = fma(b0, total, splat(1.0)), fma(b0, total + 1.0, splat(1.0))
    force, force2 = splat(0.0), splat(0.0)
    store(sums, 0, total + 2.0)
    for m in range(1, orders):
        here = m * 2 * LANES
        S_real, S_imag, b_Z, b_force = (
            load(sums, here),
            load(sums, here + LANES),
            load(bessel, here),
            load(bessel, here + LANES),
        )
        Z = fma(b_Z, fma(real, S_real, imag * S_imag), Z)
        force = fma(b_force, fms(real, S_imag, imag * S_real), force)
        S_real, S_imag = S_real + real, S_imag + imag
        Z2 = fma(b_Z, fma(real2, S_real, imag2 * S_imag), Z2)
        force2 = fma(b_force, fms(real2, S_imag, imag2 * S_real), force2)
        store(sums, here, S_real + real2)
        store(sums, here + LANES, S_imag + imag2)
        before, before_i, real, imag = real, imag, fms(twice, real, before), fms(twice, imag, before_i)
        before2, before2_i, real2, imag2 = (
            real2,
            imag2,
            fms(twice2, real2, before2),
            fms(twice2, imag2, before2_i),
        )
    return Z, force, Z2, force2


@inner
def _any_positive(vector):
    """Whether any lane is above zero; one that is not a number says nothing about the others."""
    for at in range(LANES):
        if lane(vector, at) > 0.0:
            return True
    return False


@inner
def _mend(s, y, velocity, stop):
    """Tokens beyond the accuracy of the modes, pair by pair; all lanes go along with the one that needs
    it."""
    place, n = s.place, s.n
    mass, limit = load(s.mass, 0), load(s.limit, 0)
    for k in range(n):
        sine, cosine = sincos(load(y, k * LANES))
        store(place, 2 * k * LANES, cosine)
        store(place, (2 * k + 1) * LANES, sine)
    for k in range(n):
        if stop[0]:
            return
        beyond = mass + ((k + 1.0) - limit * load(s.Z, k * LANES))
        if not _any_positive(beyond):
            continue
        Z, force = _pair_by_pair(place, load(s.sharp, 0), k)
        for at in range(LANES):
            if lane(beyond, at) > 0.0:
                own_Z, own_force = _with_frozen(s, at, y[k * LANES + at], lane(Z, at), lane(force, at))
                velocity[k * LANES + at] = s.factor[at] * own_force / own_Z


@inner
def _pair_by_pair(place, sharp, k):
    """Z_k and sum_j w_kj sin(theta_j - theta_k) of one token in each lane, from differences of points: good
    to a rounding of 1, not of itself, which is what is asked."""
    c, s = load(place, 2 * k * LANES), load(place, (2 * k + 1) * LANES)
    Z, sum_x, sum_y = splat(1.0), splat(0.0), splat(0.0)
    for j in range(k):
        dx, dy = load(place, 2 * j * LANES) - c, load(place, (2 * j + 1) * LANES) - s
        w = exp2(sharp * fma(dx, dx, dy * dy))
        Z, sum_x, sum_y = Z + w, fma(w, dx, sum_x), fma(w, dy, sum_y)
    return Z, fms(c, sum_y, s * sum_x)


@inner
def _with_frozen(s, at, here, Z, force):
    """The same with the frozen tokens of one lane's run."""
    row = s.runs[at] if s.beta.size > 1 else 0
    for j in range(s.frozen_angle.shape[1]):
        gap = s.frozen_angle[row, j] - here
        w = s.frozen_weight[row, j] * np.exp(-2.0 * s.beta[row] * np.sin(0.5 * gap) ** 2)
        Z += w
        force += w * np.sin(gap)
    return Z, force
