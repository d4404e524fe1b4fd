"""The overlap rho of equiangular tokens under full attention with Q = K = V = I.

    rho' = 2 e^{beta rho} (1 - rho) ((n - 1) rho + 1) / (e^beta + (n - 1) e^{beta rho})   (SA)

and the same with the denominator n for exponential weights (USA).
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array

__all__ = ["overlap", "rate", "time_to_reach"]

TOLERANCE = 1e-12  # of the overlap and of the time


def rate(
    rho: ArrayLike, n: int, beta: float, weights: Literal["softmax", "exponential"] = "softmax"
) -> Array:
    """rho' for an array of overlaps."""
    rho = np.asarray(rho, dtype=np.float64)
    pull = 2.0 * (1.0 - rho) * ((n - 1.0) * rho + 1.0)
    if weights == "exponential":
        return np.asarray(np.exp(beta * rho) * pull / n)
    return np.asarray(pull / (np.exp(beta * (1.0 - rho)) + n - 1.0))


def overlap(rho0: float, t: ArrayLike, n: int, beta: float) -> Array:
    """rho at rising times t (times,), from rho0 at time 0, for SA; by log(1 - rho), which keeps its"
    " digits."""
    from scipy.integrate import solve_ivp

    t = np.asarray(t, dtype=np.float64)

    def q_rate(_: float, q: Array) -> Array:
        gap = np.exp(-q)  # 1 - rho
        return 2.0 * ((n - 1.0) * (1.0 - gap) + 1.0) / (np.exp(beta * gap) + n - 1.0)

    q = solve_ivp(q_rate, (0.0, t[-1]), [-np.log1p(-rho0)], "DOP853", t, rtol=TOLERANCE, atol=TOLERANCE).y[0]
    return np.asarray(-np.expm1(-q))


def time_to_reach(
    rho: float, n: int, beta: float, rho0: float = 0.0, weights: Literal["softmax", "exponential"] = "softmax"
) -> float:
    """The time from rho0 to rho: the integral of 1 / rho'."""
    from scipy.integrate import quad

    return float(
        quad(
            lambda r: 1.0 / float(rate(r, n, beta, weights)), rho0, rho, epsabs=0.0, epsrel=1e-10, limit=400
        )[0]
    )
