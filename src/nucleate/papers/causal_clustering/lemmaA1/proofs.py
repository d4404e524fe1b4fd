"""Lemma A.1 without beta: each claim is reduced to inequalities in y = x^2 alone, which are proved on whole
intervals.

With T_m(y) = 1/m! - y/(m+2)! + y^2/(m+4)! - ...:   x - sin x = x^3 T_3,   sin x - x + x^3/6 = x^5 T_5,   cos
x - 1 + x^2/2 = x^4 T_4, 1 - x^2/2 + x^4/24 - cos x = x^6 T_6.  Where all four are positive, both bounds on h
and the first on g follow factor by factor, for every beta. tau* solves beta = cos x / sin^2 x, so its bounds
are inequalities in x, too.  The second bound on g says F(beta, x) = beta (x^2 e^{beta r} - sin^2 x) + cos x >
0 with r = x^6 T_6; F rises with beta, so that one beta settles all larger ones, and beyond pi 1/pi^2 is
enough, for there x^2 - sin^2 x >= pi^2.
"""

from collections.abc import Callable

import numpy as np

from nucleate.papers.causal_clustering.shared.interval_arithmetic import (
    Interval,
    Proof,
    prove,
    series_remainder,
)

__all__ = ["PROOFS", "proofs", "second_bound_threshold"]


# ends of intervals of y = x^2
ABOVE_2PI_SQUARED = 40.0  # (2 pi)^2 = 39.47841...
ABOVE_HALF_PI_SQUARED = 2.4675  # (pi/2)^2 = 2.46740...
ABOVE_PI_SQUARED = 9.8697  # pi^2 = 9.86960...
PIECES_NEAR_THRESHOLD = 4096  # to begin with
EXPONENTIAL_TERMS = 12  # for 0 <= z <= 1: the remainder of e^z is below 3 z^12 / 12!


def _sinc(y: Interval) -> Interval:
    return 1.0 - y * series_remainder(y, 3)


def _cosine(y: Interval) -> Interval:
    return 1.0 - y * 0.5 + y * y * series_remainder(y, 4)


def _above_lower(y: Interval) -> Interval:
    """(cos x + x^2 s^2/2 - s^2) / x^2 with s = sin x / x: positive where tau* > (beta + 1/2)^(-1/2)."""
    T3, T4, s = series_remainder(y, 3), series_remainder(y, 4), _sinc(y)
    return T3 * 2.0 - 0.5 + y * (T4 - T3 * T3) + s * s * 0.5


def _below_upper(y: Interval) -> Interval:
    """(s^2 - cos x) / x^2: positive where tau* < beta^(-1/2)."""
    T3, T4 = series_remainder(y, 3), series_remainder(y, 4)
    return 0.5 - T3 * 2.0 + y * (T3 * T3 - T4)


def _exponential(z: Interval) -> Interval:
    """e^z for 0 <= z <= 1."""
    # e^z times the last term covers what follows it
    total = Interval(np.ones_like(z.low), np.full_like(z.high, 3.0))
    for i in range(EXPONENTIAL_TERMS, 0, -1):
        total = 1.0 + (z * total).over(i)
    return total


def second_bound(beta: float) -> Callable[[Interval], Interval]:
    """F(beta, x) as a function of y = x^2 <= pi^2: positive where the second bound on g holds."""

    def F(y: Interval) -> Interval:
        s, z = _sinc(y), y * y * y * series_remainder(y, 6) * beta
        return y * (_exponential(z) - s * s) * beta + _cosine(y)

    return F


def second_bound_threshold(within: float = 1e-5) -> tuple[float, float]:
    """(false, true): the second bound on g is refuted for some x at the first beta and proved for every x > 0
    at the second, by bisection."""
    bad, good = 0.11, 1.0  # above 1/pi^2 = 0.1013, which settles x >= pi
    if (
        prove(second_bound(bad), 0.0, ABOVE_PI_SQUARED).holds
        or not prove(second_bound(good), 0.0, ABOVE_PI_SQUARED).holds
    ):
        return np.nan, np.nan
    while good - bad > within:
        beta = 0.5 * (bad + good)
        if prove(second_bound(beta), 0.0, ABOVE_PI_SQUARED, PIECES_NEAR_THRESHOLD).holds:
            good = beta
        elif _refuted(beta):
            bad = beta
        else:
            break  # neither: rounding decides no more
    return bad, good


def _refuted(beta: float) -> bool:
    """Whether F(beta, x) is surely at most 0 at one x of a fine grid."""
    y = np.linspace(ABOVE_HALF_PI_SQUARED, np.pi**2, 6001)
    return bool((second_bound(beta)(Interval(y, y)).high <= 0.0).any())


PROOFS: dict[str, tuple[str, Callable[[Interval], Interval], float]] = {
    "sine_below": ("sin x < x on (0, 2π]", lambda y: series_remainder(y, 3), ABOVE_2PI_SQUARED),
    "sine_above": ("sin x > x − x³/6 on (0, 2π]", lambda y: series_remainder(y, 5), ABOVE_2PI_SQUARED),
    "cosine_above": ("cos x > 1 − x²/2 on (0, 2π]", lambda y: series_remainder(y, 4), ABOVE_2PI_SQUARED),
    "cosine_below": (
        "cos x < 1 − x²/2 + x⁴/24 on (0, 2π]",
        lambda y: series_remainder(y, 6),
        ABOVE_2PI_SQUARED,
    ),
    "tau_above": (
        "τ* > (β + ½)^(−1/2), that is cos x / sin² x + ½ > 1/x² on (0, π/2)",
        _above_lower,
        ABOVE_HALF_PI_SQUARED,
    ),
    "tau_below": (
        "τ* < β^(−1/2), that is x² cos x < sin² x on (0, π/2)",
        _below_upper,
        ABOVE_HALF_PI_SQUARED,
    ),
    "slope_far": (
        "F(1, x) > 0 on (0, π]: the second bound on g at β = 1, and with it at every larger β",
        second_bound(1.0),
        ABOVE_PI_SQUARED,
    ),
}


def proofs() -> dict[str, Proof]:
    """Every inequality, each on its whole interval of y = x^2 from 0 on."""
    return {name: prove(positive, 0.0, end) for name, (_, positive, end) in PROOFS.items()}
