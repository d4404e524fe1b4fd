"""Tokens that all have the same overlap rho, full mask, Q = K = V = I, under each norm: two equations for n
tokens.

By symmetry the overlaps stay equal, and so do the lengths r.  Token i adds A_i = a theta_i + b sum_{l != i}
theta_l, with

    softmax (SA)       a = e^beta / Z,  b = e^{beta rho} / Z,   Z = e^beta + (n - 1) e^{beta rho}
    exponential (USA)  a = e^beta / n,  b = e^{beta rho} / n.

<P A_i, theta_j> = b (1 - rho) ((n - 1) rho + 1), so that with the s of the norm (`nucleate.norms`)

    rho' = 2 b (1 - rho) ((n - 1) rho + 1) / s,    r' = r (a + (n - 1) b rho) / s where the norm has a radius.

(2312.10794 for s = 1; 2510.22026 for the norms; the late laws of peri, ngpt, sqrt and mix are ours.)  They
are solved for q = -log(1 - rho), which keeps the digits of 1 - rho however small it is.

Late laws.  Near rho = 1 both a and b are g / n, g = 1 for softmax and e^beta for exponential weights, and
|A| = <theta, A> = g.  Then q' = 2 g / s, hence 1 - rho is, up to a factor,

    post e^{-2gt}   pre, peri t^{-2}   mix t^{-2} from tau on   ngpt e^{-2 alpha t}   sqrt e^{-4g sqrt(t+1)}.

For pre the tokens y_i = r theta_i obey (y_i - y_j)' = (a - b)(theta_i - theta_j), so that r^2 (1 - rho), half
the square of their distance, changes at the rate 2 (a - b) / r: it has a limit, as a - b = O(1 - rho), and is
constant for beta = 0.  For peri the same holds with (a - b) / |A|.  sqrt is post at the time 2 sqrt(t+1) - 2.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import (
    Array,
    InputError,
    finite_array,
    finite_number,
    shortened,
    true_or_false,
    whole_number,
)
from nucleate.norms import NORMS, Norm, has_radius

__all__ = ["Equiangular", "equiangular", "equiangular_rate", "equiangular_time", "late_law"]

Weights = Literal["softmax", "exponential"]
LARGEST_EXPONENT = 700.0  # whose exp is a double
RTOL, ATOL = 1e-11, 1e-12  # of q and r


@dataclass(frozen=True, eq=False)
class Equiangular:
    """The motion of equiangular tokens."""

    t: Array  # (m,) times
    gap: Array  # (m,) 1 - rho
    r: Array  # (m,) the length of every token; 1 where the norm has no radius

    @property
    def rho(self) -> Array:
        """The overlap of any two tokens, (m,)."""
        return 1.0 - self.gap


def equiangular_rate(n: int, beta: float, rho: ArrayLike, weights: Weights = "softmax") -> Array:
    """rho' under norm "post", of an overlap or an array of overlaps."""
    n, beta = _tokens_and_beta(n, beta)
    rho = finite_array("rho", rho)
    for worst in (rho.min(), rho.max()):
        _overlap("rho", float(worst), n)
    _, b = _shares(n, beta, 1.0 - rho, weights)
    return np.asarray(2.0 * b * (1.0 - rho) * ((n - 1) * rho + 1.0))


def equiangular(
    n: int,
    beta: float,
    rho0: float,
    t: ArrayLike,
    weights: Weights = "softmax",
    norm: Norm = "post",
    *,
    tau: float | None = None,
    alpha: float = 1.0,
    radius: float = 1.0,
    exclude_self: bool = False,
) -> Equiangular:
    """The overlap and the length of n equiangular tokens at the times t (m,), from rho0 on.

    tau, alpha, radius and exclude_self are those of `nucleate.Block`.  With exclude_self (XSA) only b counts:
    A becomes P A, r stays, and under "pre" 1 - rho falls like e^{-2 g t / r}.
    """
    from scipy.integrate import solve_ivp

    n, beta = _tokens_and_beta(n, beta)
    times = np.atleast_1d(finite_array("t", t))
    if times.ndim > 1 or times.size == 0 or times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise InputError(f"t must be times (m,) that rise, from 0 on, but is {shortened(times)}.")
    q0 = -float(np.log1p(-_overlap("rho0", rho0, n)))
    if beta * (1.0 - rho0) > LARGEST_EXPONENT:
        raise InputError(
            f"beta (1 - rho0) must be at most {LARGEST_EXPONENT:g}, but is {beta * (1.0 - rho0):g}. In no"
            " time that a double holds would the tokens move."
        )
    tau, alpha, radius = _check_norm(norm, tau, alpha, radius)
    alone = true_or_false("exclude_self", exclude_self)
    if alone and norm in ("peri", "ngpt"):
        raise InputError(
            f'exclude_self with norm "{norm}" moves all tokens at one speed, but then they meet in finite'
            ' time. There is no late law; use "post" or "pre".'
        )

    last = float(times[-1])
    phases: list[tuple[Norm, float]] = [(norm, last)]  # the norm, and until when
    if norm == "mix":
        phases = [("post", min(tau, last)), ("pre", last)]
    state, begin = np.array([q0, np.log(radius)]), 0.0  # q, log r
    found = np.empty((len(times), 2))
    found[times == 0.0] = state
    for kind, end in phases:
        if end > begin:
            here = (times > begin) & (times <= end)
            solved = solve_ivp(
                _rates,
                (begin, end),
                state,
                "DOP853",
                t_eval=np.union1d(times[here], [end]),
                rtol=RTOL,
                atol=ATOL,
                args=(n, beta, weights, kind, alpha, alone),
            )
            if not solved.success:
                raise InputError(f"The motion cannot be followed up to t = {end:g}: {solved.message}")
            found[here] = solved.y[:, : here.sum()].T  # (m', 2)
            state, begin = solved.y[:, -1], end
    return Equiangular(times, np.exp(-found[:, 0]), np.exp(found[:, 1]))


def equiangular_time(n: int, beta: float, rho0: float, rho: float, weights: Weights = "softmax") -> float:
    """The time from the overlap rho0 to rho under norm "post": the integral of 1 / rho'."""
    from scipy.integrate import quad

    n, beta = _tokens_and_beta(n, beta)
    begin, end = _overlap("rho0", rho0, n), _overlap("rho", rho, n)

    def slowness(overlap: float) -> float:
        return 1.0 / float(equiangular_rate(n, beta, overlap, weights))

    return float(quad(slowness, begin, end, epsabs=0.0, epsrel=1e-10, limit=400)[0])


def _rates(
    t: float, state: Array, n: int, beta: float, weights: Weights, norm: Norm, alpha: float, alone: bool
) -> Array:
    """q' and (log r)', (2,), of q and log r."""
    gap, r = np.exp(-state)
    rho, r = 1.0 - gap, 1.0 / r
    a, b = _shares(n, beta, gap, weights)
    along = 0.0 if alone else a + (n - 1) * b * rho  # <theta, A>
    across = np.sqrt(gap * (n - 1) * (1.0 + (n - 1) * rho)) * b  # |P A|
    length = np.hypot(along, across)
    s = {"pre": r, "peri": r * length, "ngpt": length / alpha, "sqrt": np.sqrt(t + 1.0)}.get(norm, 1.0)
    return np.array([2.0 * b * ((n - 1) * rho + 1.0) / s, along / s if has_radius(norm) else 0.0])


def late_law(
    norm: Norm,
    t: ArrayLike,
    weights: Weights = "softmax",
    beta: float = 0.0,
    *,
    tau: float | None = None,
    alpha: float = 1.0,
    radius: float = 1.0,
    exclude_self: bool = False,
) -> Array:
    """What 1 - rho is like for late times, up to a factor that the start decides: (m,) for times t (m,).

    With a radius it is r^-2 for the r of tokens that have met, r = radius + g t (pre), radius + t (peri).
    """
    times, beta = finite_array("t", t), finite_number("beta", beta, least=0.0)
    tau, alpha, radius = _check_norm(norm, tau, alpha, radius)
    g = float(np.exp(beta)) if _check_weights(weights) == "exponential" else 1.0
    since = np.maximum(times - tau, 0.0)
    if true_or_false("exclude_self", exclude_self) and norm in ("pre", "mix"):
        return np.exp(-2.0 * g * (np.minimum(times, tau) + since / radius))
    if norm == "pre":
        return (radius + g * times) ** -2.0
    if norm == "peri":
        return (radius + times) ** -2.0
    if norm == "mix":
        return np.exp(-2.0 * g * np.minimum(times, tau)) * (1.0 + g * since) ** -2.0
    if norm == "ngpt":
        return np.exp(-2.0 * alpha * times)
    return np.exp(-4.0 * g * (np.sqrt(times + 1.0) - 1.0)) if norm == "sqrt" else np.exp(-2.0 * g * times)


def _shares(n: int, beta: float, gap: Array, weights: Weights) -> tuple[Array, Array]:
    """a and b, where 1 - rho = gap."""
    ratio = np.exp(-beta * gap)  # b / a
    a = 1.0 / (1.0 + (n - 1) * ratio) if _check_weights(weights) == "softmax" else np.exp(beta) / n
    return a, a * ratio


def _check_weights(weights: Weights) -> Weights:
    if weights not in ("softmax", "exponential"):
        raise InputError(f'weights must be "softmax" or "exponential", but is {shortened(weights)}.')
    return weights


def _check_norm(norm: Norm, tau: float | None, alpha: float, radius: float) -> tuple[float, float, float]:
    if norm not in NORMS:
        raise InputError(f"norm must be one of {', '.join(NORMS)}, but is {shortened(norm)}.")
    if (norm == "mix") != (tau is not None):
        raise InputError(
            f'tau belongs to norm "mix", which needs it, but norm is "{norm}" and tau is {tau}. Give both.'
        )
    radius = finite_number("radius", radius, above=0.0, help="It is the length of the tokens at first.")
    if norm not in ("pre", "peri") and radius != 1.0:
        raise InputError(
            f'norm "{norm}" starts all tokens at length 1, but radius is {radius:g}. Use "pre" or "peri".'
        )
    return (
        0.0 if tau is None else finite_number("tau", tau, least=0.0, help="It is a time."),
        finite_number("alpha", alpha, above=0.0, help="It is the step of nGPT towards its target."),
        radius,
    )


def _tokens_and_beta(n: int, beta: float) -> tuple[int, float]:
    n = whole_number("n", n, least=2, help="One token alone has no overlaps.")
    beta = finite_number("beta", beta, least=0.0, help="It is the inverse temperature.")
    if beta > LARGEST_EXPONENT:
        raise InputError(f"beta must be at most {LARGEST_EXPONENT:g}, but is {beta:g}: exp of it overflows.")
    return n, beta


def _overlap(name: str, rho: float, n: int) -> float:
    rho = finite_number(name, rho, help="It is the inner product of two tokens.")
    if not -1.0 / (n - 1) < rho < 1.0:
        raise InputError(
            f"{name} must lie between -1/(n - 1) = {-1.0 / (n - 1):g} and 1, but is {rho}. No {n} unit"
            " vectors are farther apart, and those that have met stay."
        )
    return rho
