"""Runge-Kutta methods as data: one frozen record per method, its declared order a tested property.

Every method ends a step with the velocity at the new point, which is the next step's first stage; the
interpolant may use it. The coefficients of Dormand and Prince's methods of order 5(4), with Shampine's
interpolant, and 8(5,3), Hairer's version, are those SciPy publishes as `scipy.integrate.RK45` and `DOP853`;
they are read from `dormand_prince.json`, because to import `scipy.integrate` takes half a second.
"""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nucleate.checks import Array

__all__ = [
    "FIXED_STEP_METHODS",
    "MIN_TOLERANCE_OF_ORDER_5",
    "Tableau",
    "dormand_prince_5",
    "dormand_prince_8",
    "fixed_step",
]

FIXED_STEP_METHODS = ("euler", "heun", "rk4")
MIN_TOLERANCE_OF_ORDER_5 = 3e-7  # below it order 8 costs less
# Order 5 has its error counted double, order 8 twelve times, a third more steps: its estimate is sharp, and
# where V rotates the errors of all steps add up.
ERROR_FACTOR_5, ERROR_FACTOR_8 = 2.0, 12.0


class Tableau(NamedTuple):
    """s stages: y_i = y + h sum_j A_ij k_j; y' = y + h sum_i B_i k_i; error h sum_i E_i k_i;
    y(theta) = y + h sum_i k_i sum_p P_ip theta^{p+1}."""

    A: Array  # (s, s)
    B: Array  # (s,)
    E: Array  # (s + 1,) zero for methods without error control
    E_low: Array  # (s + 1,) weights of a second estimate, or (0,)
    gap: Array  # (s + 1,) the last two stages' points, both at the step's end, differ by h sum_i gap_i k_i
    extra: Array  # (r, s + 1 + r) rows of A for stages that only the interpolant needs
    P: Array  # (s + 1 + r, q)
    last_term: Array  # (s + 1 + r,) h sum_i last_term_i k_i, the largest value of the interpolant's last term
    order: int
    max_stable_decay: float  # h times a rate of decay up to which errors decay by half or more a step


def _published(method: str) -> dict[str, Array]:
    """The coefficients of a method, by SciPy's names."""
    text = Path(__file__).with_name("dormand_prince.json").read_text(encoding="utf-8")
    return {name: np.array(values) for name, values in json.loads(text)[method].items()}


@cache
def dormand_prince_5() -> Tableau:
    """Order 5(4), interpolant of order 4: the cheapest at loose tolerances."""
    method = _published("RK45")
    A, B, E = np.zeros((6, 6)), method["B"], ERROR_FACTOR_5 * method["E"]
    A[:, :5] = method["A"]
    gap, none = np.append(B - A[-1], 0.0), np.zeros((0, 7))
    return Tableau(A, B, E, np.zeros(0), gap, none, method["P"], np.zeros(7), order=5, max_stable_decay=2.8)


@cache
def dormand_prince_8() -> Tableau:
    """Order 8(5,3), interpolant of order 7 with three more stages.

    SciPy adds the interpolant up as y + x (F_0 + (1 - x) (F_1 + x (F_2 + ...))), F_0 .. F_6 linear in the
    stages; here it is written out in powers of x.
    """
    method = _published("DOP853")
    A, B = method["A"], method["B"]
    first, last = np.eye(16)[0], np.eye(16)[12]
    step = np.append(B, np.zeros(4))  # (16,) y' - y = h sum_i step_i k_i
    F = np.vstack([step, first - step, 2.0 * step - first - last, method["D"]])  # (7, 16)
    P = np.zeros((16, 7))
    peak = (4 / 7) ** 4 * (3 / 7) ** 3  # of x^4 (1 - x)^3, the last term's
    shape = np.polynomial.Polynomial([1.0])
    x = np.polynomial.Polynomial([0.0, 1.0])
    for i, row in enumerate(F):
        shape = shape * (x if i % 2 == 0 else 1.0 - x)
        powers = np.asarray(shape.coef)
        P[:, : len(powers) - 1] += np.outer(row, powers[1:])
    E, E_low = ERROR_FACTOR_8 * method["E5"], ERROR_FACTOR_8 * method["E3"]
    gap, extra = np.append(B - A[-1], 0.0), method["A_EXTRA"]
    return Tableau(A, B, E, E_low, gap, extra, P, peak * F[-1], order=8, max_stable_decay=5.3)


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
    # y(theta) = y + theta^2 (3 - 2 theta) (y' - y) + h theta (1 - theta)^2 k_first + h theta^2 (theta - 1)
    # k_next, as powers theta, theta^2, theta^3
    P = np.zeros((s + 1, 3))
    P[:s] = np.outer(B, [0.0, 3.0, -2.0])
    P[0] += [1.0, -2.0, 1.0]
    P[s] += [0.0, -1.0, 1.0]
    zero, none = np.zeros(s + 1), np.zeros((0, s + 1))
    return Tableau(A, np.array(B), zero, np.zeros(0), zero, none, P, zero, order, max_stable_decay=np.inf)
