"""Runge-Kutta methods as data: one frozen record per method, its declared order a tested property.

Every method ends a step with the velocity at the new point, which is the next step's first stage; the interpolant may use it.
The coefficients of Dormand and Prince's pair, 5(4) with Shampine's interpolant, are those SciPy publishes as `scipy.integrate.RK45`.
"""

from typing import NamedTuple

import numpy as np

from nucleate.checks import Array

__all__ = ["FIXED", "Tableau", "dormand_prince", "fixed_step"]

FIXED = ("euler", "heun", "rk4")


class Tableau(NamedTuple):
    """s stages: y_i = y + h sum_j A_ij k_j; y' = y + h sum_i B_i k_i; error h sum_i E_i k_i; y(theta) = y + h sum_i k_i sum_p P_ip theta^{p+1}."""

    A: Array  # (s, s)
    B: Array  # (s,)
    E: Array  # (s + 1,) zero for methods without error control
    P: Array  # (s + 1, q)
    order: int


def dormand_prince() -> Tableau:
    """The adaptive method: order 5, error estimate of order 4, interpolant of order 4."""
    from scipy.integrate import RK45

    A = np.zeros((6, 6))
    A[:, :5] = RK45.A
    return Tableau(A, np.array(RK45.B), np.array(RK45.E), np.array(RK45.P), 5)


def fixed_step(name: str) -> Tableau:
    """Euler, Heun and the classical fourth-order method, with the cubic Hermite interpolant between steps."""
    methods: dict[str, tuple[list[list[float]], list[float], int]] = {
        "euler": ([[]], [1.0], 1),
        "heun": ([[], [1.0]], [0.5, 0.5], 2),
        "rk4": ([[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], 4),
    }
    rows, B, order = methods[name]
    s = len(B)
    A = np.zeros((s, s))
    for i, row in enumerate(rows):
        A[i, : len(row)] = row
    # y(theta) = y + theta^2 (3 - 2 theta) (y' - y) + h theta (1 - theta)^2 k_first + h theta^2 (theta - 1) k_next, as powers theta, theta^2, theta^3
    P = np.zeros((s + 1, 3))
    P[:s] = np.outer(B, [0.0, 3.0, -2.0])
    P[0] += [1.0, -2.0, 1.0]
    P[s] += [0.0, -1.0, 1.0]
    return Tableau(A, np.array(B), np.zeros(s + 1), P, order)
