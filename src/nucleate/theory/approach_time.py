"""How long a token takes to reach a cluster that stays: the two-token law, for any Q and K and any weight.

The token x moves along the great circle through x and the place y of m tokens that stay.  V = c I, A = K^T Q,
phi the angle between x and y, e the unit vector at a right angle to y with x = y cos phi + e sin phi:

    phi' = -c sin phi  m e^{beta <y, A x>} / (m e^{beta <y, A x>} + e^{beta <x, A x>}),

so that the time from phi down to r is, with s = log tan(phi / 2) and ds = d phi / sin phi,

    T = (1/c) int (1 + e^{E(phi)} / m) ds,     E(phi) = beta (<x, A x> - <y, A x>).

With V = c I the pull of y is towards y whatever Q and K are, so that x stays on that great circle in any
dimension.  For A = I, E = beta (1 - cos phi), and with u = cos phi this is

    T = (1/c) int (1 + m e^{beta (u - 1)}) / (m e^{beta (u - 1)} (1 - u^2)) du.

All is done with logarithms: for beta = 1e4 times reach e^{20000}.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_array, finite_number

__all__ = ["log_approach_time", "log_approach_times"]

NEGLIGIBLE_EXPONENT = 70.0  # e^-70 of the largest term, times all that is left out, is nothing
MAX_EXPONENT_STEP = 2.0  # by which E may change over a panel of the quadrature
MAX_PANEL = 0.5  # in s
SMALLEST = 5e-324  # half of it is 0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)  # (16,) on (-1, 1)


def log_approach_time(
    beta: float, angle: float, radius: float, weight: float = 1.0, scores: ArrayLike = (1.0, 0.0, 0.0, 1.0)
) -> float:
    """log T from `angle` down to `radius` with V = I; -inf if it is there already, inf from the opposite
    point.

    weight   m, how many tokens stay at y
    scores   <y, A y>, <y, A e>, <e, A y>, <e, A e>: (4,); A = I unless given
    """
    beta = finite_number("beta", beta, least=0.0, help="It is the inverse temperature.")
    angle = finite_number("angle", angle, least=0.0, help="It is a distance on the sphere.")
    if angle > np.pi:
        raise InputError(f"angle must be at most pi, but is {angle}. No two points are farther apart.")
    radius = finite_number("radius", radius, above=0.0, help="It is where the token has arrived.")
    weight = finite_number("weight", weight, above=0.0, help="It is how many tokens stay.")
    scores = finite_array("scores", scores)
    if scores.shape != (4,):
        raise InputError(f"scores must be four numbers, but have shape {scores.shape}. A = I: 1, 0, 0, 1.")
    return float(log_approach_times(beta, np.array([angle]), radius, np.array([weight]), scores[None])[0])


def log_approach_times(beta: float, angle: Array, radius: float, weight: Array, scores: Array) -> Array:
    """The same for many at once, unchecked: angle (p,), weight (p,), scores (p, 4) -> (p,)."""
    log_time = np.full(len(angle), -np.inf)  # (p,)
    log_time[angle >= np.pi] = np.inf
    on_the_way = np.flatnonzero((angle > radius) & (angle < np.pi))
    if on_the_way.size:
        phi, score = angle[on_the_way], scores[on_the_way]  # (q,), (q, 4)
        way = _s(phi) - _s(np.array(radius))  # (q,)
        integral = _log_integrals(beta, np.full(len(phi), radius), phi, score)  # (q,)
        log_time[on_the_way] = np.logaddexp(np.log(way), integral - np.log(weight[on_the_way]))
    return log_time


def _s(phi: Array) -> Array:
    return np.asarray(np.log(np.maximum(np.tan(phi / 2.0), SMALLEST)))


def _exponent(beta: float, phi: Array, scores: Array) -> Array:
    """E(phi), in differences that do not cancel for small phi; phi (p, ...), scores (p, 4)."""
    yy, ye, ey, ee = (one.reshape(-1, *[1] * (phi.ndim - 1)) for one in scores.T)
    half, sine = np.sin(phi / 2.0) ** 2, np.sin(phi)  # 1 - cos phi = 2 half
    cosine = 1.0 - 2.0 * half
    return np.asarray(
        beta * (sine * (ey * cosine - 2.0 * ye * half) + ee * sine**2 - 2.0 * yy * cosine * half)
    )


def _log_integrals(beta: float, low: Array, high: Array, scores: Array) -> Array:
    """log of the integral of e^{E} over s, between angles low and high (q,), scores (q, 4) -> (q,).

    Panels are halved until E changes little over each; those whose largest E is far below the largest of all
    are left out first.  |E'| <= beta (|ee - yy| + |ye + ey| + |(yy, ye)|).
    """
    count = len(low)
    yy, ye, ey, ee = scores.T  # (q,) each
    slope = beta * (np.abs(ee - yy) + np.abs(ye + ey) + np.hypot(yy, ye))  # (q,)
    own: NDArray[np.int64] = np.arange(count)  # (panels,) whose panel it is
    a, b = _s(low), _s(high)  # (panels,)
    largest = np.maximum(*(_exponent(beta, phi, scores) for phi in (low, high)))  # (q,)
    done: list[tuple[NDArray[np.int64], Array, Array]] = []
    while own.size:
        left, right = 2.0 * np.arctan(np.exp(a)), 2.0 * np.arctan(np.exp(b))
        change = slope[own] * (right - left)  # (panels,)
        middle = _exponent(beta, (left + right) / 2.0, scores[own])  # (panels,)
        np.maximum.at(largest, own, middle)
        counts = middle + change / 2.0 > largest[own] - NEGLIGIBLE_EXPONENT
        fine = (change <= MAX_EXPONENT_STEP) & (b - a <= MAX_PANEL)
        done.append((own[counts & fine], a[counts & fine], b[counts & fine]))
        own, a, b = (one[counts & ~fine] for one in (own, a, b))
        half = (a + b) / 2.0
        own, a, b = np.concatenate([own, own]), np.concatenate([a, half]), np.concatenate([half, b])
    own, a, b = (np.concatenate(column) for column in zip(*done, strict=True))
    s = (a + b)[:, None] / 2.0 + (b - a)[:, None] / 2.0 * NODES  # (panels, 16)
    E = _exponent(beta, 2.0 * np.arctan(np.exp(s)), scores[own])  # (panels, 16)
    np.maximum.at(largest, own, E.max(1))
    total = np.zeros(count)  # (q,) in units of e^{largest}
    np.add.at(total, own, (np.exp(E - largest[own, None]) @ WEIGHTS) * (b - a) / 2.0)
    return np.asarray(largest + np.log(total))
