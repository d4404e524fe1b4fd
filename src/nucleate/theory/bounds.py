"""What the paper proves about metastable clusters on the circle (d = 2, Q = K = V = I): Lemma 5.1 and Theorem
5.2.

c and eps are in units of beta^(-1/2), as in the paper; indices s of centers count from 1, as in the paper.
"""

from dataclasses import dataclass

import numpy as np

from nucleate.checks import InputError, finite_number, whole_number
from nucleate.theory.interaction import interaction, interaction_slope, strongest_distance

__all__ = [
    "FrozenConditions",
    "Guarantee",
    "best_guarantee",
    "frozen_conditions",
    "frozen_sufficient",
    "guaranteed_time",
]


@dataclass(frozen=True)
class Guarantee:
    """Lemma 5.1: strong centers that start farther apart than separation * beta^(-1/2) move less than eps c
    beta^(-1/2) until `time(s)`."""

    beta: float
    separation: float  # c (1 + 2 eps)
    c: float
    eps: float
    product: float  # time * s, the same for all centers

    @property
    def displacement(self) -> float:
        """How far a center moves at most: eps c beta^(-1/2)."""
        return self.eps * self.c * self.beta**-0.5

    def time(self, s: int) -> float:
        """Until when center s, the s-th token counted from 1, stays."""
        return self.product / whole_number(
            "s", s, least=1, help="It is the index of the center, counted from 1."
        )


def guaranteed_time(s: int, beta: float, c: float, eps: float) -> float:
    """T = eps c beta^(-1/2) / (s h(c beta^(-1/2))): until then a strong center of index s (from 1) moves less
    than eps c beta^(-1/2).

    For centers more than c (1 + 2 eps) beta^(-1/2) apart (Lemma 5.1).  c must be greater than beta^(1/2)
    tau*, for which c >= 1 is enough.
    """
    beta = finite_number("beta", beta, above=0.0, help="It is the inverse temperature.")
    c, eps = finite_number("c", c, above=0.0), finite_number("eps", eps, above=0.0)
    _check_separation(beta, c * (1.0 + 2.0 * eps))
    if c <= _least_separation(beta):
        raise InputError(
            f"c must be greater than beta^(1/2) tau* = {_least_separation(beta):.6g}, but is {c:g}. Nearer"
            " than tau*, Lemma 5.1 says nothing."
        )
    return Guarantee(beta, c * (1.0 + 2.0 * eps), c, eps, _product(beta, c, eps)).time(s)


def best_guarantee(beta: float, separation: float = 4.0) -> Guarantee:
    """The c and eps with c (1 + 2 eps) = separation for which Lemma 5.1 promises the longest time.

    T s = (separation - c) / 2 * beta^(-1/2) / h(c beta^(-1/2)).  From c = beta^(1/2) tau* on it may first
    fall, then rises to one maximum and falls to 0 at c = separation; the best is that maximum, or the lower
    end, which the lemma excludes but to which c may come as close as one likes.
    """
    from scipy.optimize import minimize_scalar

    beta = finite_number("beta", beta, above=0.0, help="It is the inverse temperature.")
    separation = finite_number(
        "separation", separation, above=0.0, help="It is a distance in units of beta^(-1/2)."
    )
    _check_separation(beta, separation)
    least = _least_separation(beta)
    if separation <= least:
        raise InputError(
            f"separation must be greater than beta^(1/2) tau* = {least:.6g}, but is {separation:g}. Lemma 5.1"
            " needs room for c."
        )

    def worse(c: float) -> float:  # -log(T s), up to a constant
        x = c * beta**-0.5
        return float(-np.log(separation - c) + np.log(np.sin(x)) - 2.0 * beta * np.sin(x / 2.0) ** 2)

    grid = np.linspace(np.nextafter(least, np.inf), separation, 1001)[:-1]  # (1000,)
    start = int(np.argmin([worse(c) for c in grid]))
    c = float(grid[start])
    if start > 0:
        bounds = (float(grid[start - 1]), float(grid[start + 1]) if start + 1 < len(grid) else separation)
        c = float(
            minimize_scalar(worse, bounds=bounds, method="bounded", options={"xatol": 1e-12 * separation}).x
        )
    eps = (separation / c - 1.0) / 2.0
    return Guarantee(beta, separation, c, eps, _product(beta, c, eps))


def _product(beta: float, c: float, eps: float) -> float:
    x = c * beta**-0.5
    with np.errstate(divide="ignore", over="ignore"):  # inf where the time is beyond doubles
        return float(eps * x / interaction(x, beta))


def _least_separation(beta: float) -> float:
    return float(np.sqrt(beta) * strongest_distance(beta))


def _check_separation(beta: float, separation: float) -> None:
    if separation * beta**-0.5 > np.pi:
        raise InputError(
            f"separation * beta^(-1/2) must be at most pi, but is {separation:g} * {beta**-0.5:.4g}. No two"
            " points of a circle are farther apart."
        )


@dataclass(frozen=True)
class FrozenConditions:
    """Theorem 5.2's two conditions as right side minus left side: one holds where its margin is positive."""

    force: float  # h(eps) - N h(c - 1 - 2 eps), arguments in units of beta^(-1/2)
    slope: float  # g(eps) + N g(c - 2 eps): with the minus sign that the proof needs
    slope_as_printed: float  # g(eps) - N g(c - 2 eps): without it

    @property
    def hold(self) -> bool:
        """Whether every token is bound to converge to within eps beta^(-1/2) of a frozen one."""
        return self.force > 0.0 and self.slope > 0.0

    @property
    def hold_as_printed(self) -> bool:
        """The same with the second condition as the paper prints it, which asks for nothing: there g(c - 2
        eps) is negative."""
        return self.force > 0.0 and self.slope_as_printed > 0.0


def frozen_conditions(beta: float, c: float, eps: float, N: float) -> FrozenConditions:
    """Theorem 5.2 for frozen tokens more than c beta^(-1/2) apart and N = n + sum of their weights:

    N h((c - 1 - 2 eps) beta^(-1/2)) < h(eps beta^(-1/2))   and   -N g((c - 2 eps) beta^(-1/2)) < g(eps
                                                            beta^(-1/2)).
    """
    beta = finite_number("beta", beta, above=0.0, help="It is the inverse temperature.")
    c, eps = _check_c_and_eps(c, eps)
    N = finite_number(
        "N", N, above=0.0, help="It is the number of tokens plus the weights of the frozen ones."
    )
    _check_separation(beta, c)
    near, far, farther = np.array([eps, c - 1.0 - 2.0 * eps, c - 2.0 * eps]) * beta**-0.5
    force = float(interaction(near, beta) - N * interaction(far, beta))
    there, here = float(interaction_slope(near, beta)), N * float(interaction_slope(farther, beta))
    return FrozenConditions(force, there + here, there - here)


def frozen_sufficient(c: float, eps: float) -> tuple[float, float]:
    """(least beta, greatest N) for which both conditions of Theorem 5.2 hold: (c-1-2 eps)^2 / 2 and eps/(c-1)
    e^{3 (c-1-2 eps)^2 / 8}.

    The paper's example, eps = 0.1 and c = 6.5, gives beta >= 14.045 and N <= 682 (printed as 14 and 700).
    """
    c, eps = _check_c_and_eps(c, eps)
    a = c - 1.0 - 2.0 * eps
    with np.errstate(over="ignore"):
        return a * a / 2.0, float(eps / (c - 1.0) * np.exp(3.0 * a * a / 8.0))


def _check_c_and_eps(c: float, eps: float) -> tuple[float, float]:
    c, eps = finite_number("c", c, above=0.0), finite_number("eps", eps, above=0.0)
    if c <= 2.0 + 2.0 * eps:
        raise InputError(
            f"c must be greater than 2 + 2 eps = {2.0 + 2.0 * eps:g}, but is {c:g}. Theorem 5.2 needs frozen"
            " tokens farther apart."
        )
    return c, eps
