"""How many centers to expect among independent uniform tokens (paper, section 5 and Lemma C.1).

Strong centers: token k is one if all earlier ones lie outside its cap of radius delta, with probability (1 -
sigma)^(k-1).  Summed, (1 - (1 - sigma)^n) / sigma; 1 / sigma for infinitely many tokens.  Exact in every
dimension.

Renyi centers on the circle, infinitely many tokens: after the first center an arc is left into which the
others park like cars of length delta in a street of length 2 pi - delta, hence 1 + M(2 pi / delta - 1) with
Renyi's
    M(x) = 0 for x <= 1,      M(x) = 1 + 2/(x - 1) * (integral of M from 0 to x - 1) for x > 1.
(The paper's M(1) = 1 is that of cars which may touch; centers are strictly farther apart than delta, so delta
= pi leaves one center.) For other n and d no formula is known; `monte_carlo_centers` counts instead.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from nucleate.checks import Array, InputError, check_memory, finite_number, true_or_false, whole_number
from nucleate.observe.centers import renyi_centers
from nucleate.sphere import uniform

__all__ = [
    "MonteCarlo",
    "cap_share",
    "expected_centers",
    "monte_carlo_centers",
    "parked_cars",
    "renyi_constant",
]

# from this length on M(x) is c_R x + c_R - 1; what is missing is below (2e/x)^(x - 3/2) = 1e-23 (Dvoretzky
# and Robbins)
LONG_STREET = 32
# in a unit of length; the nearest singularity, one unit away, leaves 5.8^-32 = 1e-24
NODES_PER_UNIT = 32


def cap_share(delta: float, d: int) -> float:
    """sigma: the share of the sphere S^{d-1} within distance delta of a point.

    (1 - cos theta)/2 of a uniform point has the distribution Beta((d-1)/2, (d-1)/2), so sigma =
    I_{sin^2(delta/2)}((d-1)/2, (d-1)/2); delta/pi on the circle, sin^2(delta/2) for d = 3.
    """
    from scipy.special import betainc

    delta, d = _radius(delta), _dimension(d)
    if d == 2:
        return delta / np.pi
    return float(betainc((d - 1) / 2.0, (d - 1) / 2.0, np.sin(delta / 2.0) ** 2))


def expected_centers(delta: float, d: int, n: int | None = None, strong: bool = False) -> float:
    """The mean number of (strong) Renyi centers among n independent uniform tokens of S^{d-1}, by formula.

    delta      the geodesic distance that centers keep; the paper takes 4 / sqrt(beta)
    n          the number of tokens; None stands for infinitely many

    Exact for strong centers; for Renyi centers on the circle with n = None; and wherever there can be no more
    than two of them.  Elsewhere the number is an open problem, and the error says how to estimate it.  inf if
    it is beyond 1e308.
    """
    delta, d = _radius(delta), _dimension(d)
    sigma = cap_share(delta, d)
    n = (
        None
        if n is None
        else whole_number("n", n, least=1, help="It is the number of tokens, or None for infinitely many.")
    )
    if true_or_false("strong", strong):
        return _strong(sigma, n)
    # no three points are farther than 120 degrees from each other
    if delta >= 2.0 * np.pi / 3.0 or (n is not None and n <= 2):
        # the chance that no token is far from the first
        lasting = float(sigma == 1.0) if n is None else sigma ** (n - 1)
        return 2.0 - lasting
    if d == 2 and n is None:
        return 1.0 + parked_cars(2.0 * np.pi / delta - 1.0)
    why = (
        "is an open problem, as far as known here, for finitely many tokens on the circle"
        if d == 2
        else f"is an open problem for d = {d}"
    )
    call = f"nucleate.theory.counts.monte_carlo_centers({delta:g}, {d}, {'n' if n is None else n})"
    raise InputError(f"The mean number of Renyi centers {why}. Estimate it with its standard error: {call}.")


def _strong(sigma: float, n: int | None) -> float:
    """(1 - (1 - sigma)^n) / sigma, without cancelling."""
    if sigma == 0.0:  # below what a double can hold
        return np.inf if n is None else float(n)
    # ln 0 for the whole sphere; 1 / sigma may be beyond doubles
    with np.errstate(divide="ignore", over="ignore"):
        covered = 1.0 if n is None else -np.expm1(n * np.log1p(-sigma))
        return float(np.divide(covered, sigma))


@cache
def renyi_constant() -> float:
    """c_R = lim M(x)/x = integral over t > 0 of exp(-2 Ein(t)) = 0.74759792..., Ein(t) the integral of (1 -
    e^{-s})/s from 0 to t.

    Ein(t) = E1(t) + ln t + gamma, and E1(40) is below 1e-18, so that the rest beyond 40 is e^{-2 gamma} / 40.
    """
    from scipy.special import exp1

    t, step = np.polynomial.legendre.leggauss(NODES_PER_UNIT)  # (NODES_PER_UNIT,) on [-1, 1]
    t = (np.arange(40)[:, None] + (t + 1.0) / 2.0).ravel()  # (40 NODES_PER_UNIT,)
    bulk = np.tile(step / 2.0, 40) @ np.exp(-2.0 * (exp1(t) + np.log(t) + np.euler_gamma))
    return float(bulk + np.exp(-2.0 * np.euler_gamma) / 40.0)


def parked_cars(x: float) -> float:
    """M(x): the mean number of cars of length 1 that park at random in a street of length x until none fits
    (Renyi)."""
    x = finite_number("x", x, least=0.0, help="It is a length, in cars.")
    if x <= 1.0:
        return 0.0
    if x <= 2.0:
        return 1.0
    c = renyi_constant()
    if x >= LONG_STREET:
        return c * x + c - 1.0
    k = int(np.ceil(x)) - 1  # x in (k, k + 1]
    return float(np.polynomial.chebyshev.chebval(2.0 * (x - k) - 1.0, _streets()[k]))


@cache
def _streets() -> Array:
    """M on [k, k + 1] as Chebyshev series in 2 (x - k) - 1; (LONG_STREET, NODES_PER_UNIT), the first two rows
    for the constants 0 and 1.

    From one unit to the next: M(x) = 1 + 2 I(x - 1)/(x - 1), I the integral of M.
    """
    C = np.polynomial.chebyshev
    node = C.chebpts1(NODES_PER_UNIT)  # (NODES_PER_UNIT,)
    series = np.zeros((LONG_STREET, NODES_PER_UNIT))
    series[1, 0] = 1.0
    before = 0.0  # I(k)
    for k in range(1, LONG_STREET - 1):
        integral = C.chebint(series[k], lbnd=-1.0, scl=0.5)  # (NODES_PER_UNIT + 1,) of M from k on
        at = k + (node + 1.0) / 2.0  # (NODES_PER_UNIT,) x - 1 for x in [k + 1, k + 2]
        series[k + 1] = C.chebfit(
            node, 1.0 + 2.0 * (before + C.chebval(node, integral)) / at, NODES_PER_UNIT - 1
        )
        before += float(C.chebval(1.0, integral))
    return series


@dataclass(frozen=True)
class MonteCarlo:
    """A mean over independent runs, with its standard error."""

    mean: float
    standard_error: float
    runs: int
    seed: int

    def __str__(self) -> str:
        return f"{self.mean:.6g} ± {self.standard_error:.2g} ({self.runs} runs, seed {self.seed})"


def monte_carlo_centers(
    delta: float, d: int, n: int, strong: bool = False, runs: int = 1000, seed: int = 0
) -> MonteCarlo:
    """The mean number of (strong) Renyi centers among n uniform tokens of S^{d-1}, counted in `runs` starts
    made from `seed`, with its standard error."""
    delta, d = _radius(delta), _dimension(d)
    n = whole_number("n", n, least=1, help="It is the number of tokens in one run.")
    runs = whole_number("runs", runs, least=2, help="One run has no standard error.")
    seed = whole_number("seed", seed, least=0, help="Any such number will do.")
    check_memory(8.0 * runs, f"monte_carlo_centers(runs={runs})")
    starts = (uniform(n, d, np.random.SeedSequence(seed, spawn_key=(run,))) for run in range(runs))
    # (runs,)
    counts = np.array([len(renyi_centers(x, delta, strong=strong)) for x in starts], dtype=np.float64)
    return MonteCarlo(float(counts.mean()), float(counts.std(ddof=1) / np.sqrt(runs)), runs, seed)


def _radius(delta: float) -> float:
    delta = finite_number(
        "delta", delta, above=0.0, help="It is a geodesic distance; the paper takes 4 / sqrt(beta)."
    )
    if delta > np.pi:
        raise InputError(
            f"delta must be at most pi, but is {delta}. No two points of a sphere are farther apart than pi."
        )
    return delta


def _dimension(d: int) -> int:
    return whole_number("d", d, least=2, help="It is the dimension of the space around the sphere.")
