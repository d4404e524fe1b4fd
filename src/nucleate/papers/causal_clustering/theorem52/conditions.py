"""Theorem 5.2's conditions: up to which N they hold, and at which N their conclusion begins to fail in the
worst placement.

Lengths are in units of beta^(-1/2), as in the theorem; N is the number of tokens plus the weights of the
frozen ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.checks import Array
from nucleate.theory.interaction import interaction, interaction_slope, strongest_distance

__all__ = [
    "CASES",
    "CONSTRUCTED",
    "EXAMPLE",
    "Case",
    "equilibrium_distance",
    "failure_limit",
    "limits",
    "tear_off",
]

# a case in which the first condition holds, and the second only as printed
CONSTRUCTED: dict[str, Any] = {"beta": 64.0, "c": 6.5, "eps": 0.99, "tokens": 70}

EXAMPLE = {"eps": 0.1, "c": 6.5}  # of the paper


@dataclass(frozen=True)
class Case:
    """One choice of epsilon, c and beta."""

    eps: float
    c: float
    beta: float

    @property
    def name(self) -> str:
        """For files and numbers."""
        return f"eps{self.eps:g}-c{self.c:g}-beta{self.beta:g}"

    @property
    def words(self) -> str:
        """For people."""
        return f"ε = {self.eps:g}, c = {self.c:g}, β = {self.beta:g}"

    @property
    def max_N(self) -> float:
        """N up to which both conditions hold, with the sign that the proof needs."""
        return float(min(limits(self.beta, self.c, self.eps)))


CASES = (Case(0.1, 6.5, 16.0), Case(0.1, 6.5, 64.0), Case(0.05, 6.0, 64.0), Case(0.3, 5.5, 64.0))


def limits(beta: float, c: float | Array, eps: float | Array) -> tuple[Array, Array]:
    """N up to which the first condition holds, and up to which the second does (0 where it holds for
    none)."""
    s = beta**-0.5
    force = interaction(np.asarray(eps) * s, beta) / interaction((c - 1.0 - 2.0 * np.asarray(eps)) * s, beta)
    slope = interaction_slope(np.asarray(eps) * s, beta) / -interaction_slope(
        (c - 2.0 * np.asarray(eps)) * s, beta
    )
    return np.asarray(force), np.maximum(slope, 0.0)


def tear_off(case: Case) -> tuple[float, float]:
    """(displacement, weight) at which a token of a frozen one of weight 1 is torn away by another of that
    weight at distance c: then h(y) = A h(c - y) has a double root, where h(y)/h(c - y) is largest.  A token
    of no frozen one stays farther away than this."""
    from scipy.optimize import minimize_scalar

    s = case.beta**-0.5
    strongest = float(strongest_distance(case.beta)) / s
    found = minimize_scalar(
        lambda y: (
            -float(np.log(interaction(y * s, case.beta)) - np.log(interaction((case.c - y) * s, case.beta)))
        ),
        bounds=(1e-6, strongest),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x), float(np.exp(-found.fun))


def failure_limit(case: Case) -> float:
    """N at which, in the worst placement, a token has its equilibrium at distance epsilon: h(eps) = A h(c -
    eps); infinite if it is torn away before."""
    if tear_off(case)[0] <= case.eps:
        return np.inf
    s = case.beta**-0.5
    return 2.0 + float(interaction(case.eps * s, case.beta) / interaction((case.c - case.eps) * s, case.beta))


def equilibrium_distance(case: Case, A: Array) -> Array:
    """How far from its frozen token of weight 1 a token has its equilibrium if one of weight A stands at
    distance c, in units of beta^(-1/2); NaN if it is torn away."""
    from scipy.optimize import brentq

    s, (y, max_weight) = case.beta**-0.5, tear_off(case)

    def pull(at: float, weight: float) -> float:
        return float(interaction(at * s, case.beta) - weight * interaction((case.c - at) * s, case.beta))

    return np.array([brentq(pull, 0.0, y, args=(weight,)) if weight < max_weight else np.nan for weight in A])
