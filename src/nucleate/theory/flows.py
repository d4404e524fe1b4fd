"""Motions that are known exactly: one token, two tokens, equiangular tokens, two groups of Kuramoto
oscillators.

Each formula carries its derivation.  "Exact" means to rounding, or to one smooth quadrature.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, check_tokens, finite_array, finite_number, whole_number
from nucleate.sphere import retract

__all__ = [
    "equiangular_overlap",
    "kuramoto_gap",
    "log_two_token_time",
    "one_token",
    "two_token_overlap",
    "two_token_time",
]

LEAST_SQUARE = 1e-250  # a square that is smaller than this times its factors has lost digits to underflow
NEGLIGIBLE_EXPONENT = 80.0  # e^-80 of what is being integrated is nothing
LARGEST_OVERLAP = 1.0 - 2.0**-53  # the last double below 1


def one_token(V: ArrayLike, x0: ArrayLike, t: ArrayLike) -> Array:
    """x(t) = e^{tV} x0 / |e^{tV} x0|, the flow of x' = P_x(V x) (paper, Lemma 3.1); x0 (d,), t a time or
    (times,) -> (d,) or (times, d).

    y' = V y has y = e^{tV} y(0), and x = y / |y| obeys x' = (y' - <x, y'> x) / |y| = V x - <x, V x> x.
    Any t will do, large or negative: e^{tV} is squared up from e^{tV/2^s} and scaled to size 1 after every
    squaring. What rounding does to V counts as t |V| eps, so a rotation is lost at t about 1e15 / |V|, as is
    the difference between a multiple or defective eigenvalue and one that rounding has split.
    """
    V, times = finite_array("V", V), finite_array("t", t)
    x0 = check_tokens("x0", np.atleast_2d(finite_array("x0", x0)))
    if V.shape != (x0.shape[-1],) * 2 or x0.shape[0] != 1:
        raise InputError(
            f"V and x0 must have shapes (d, d) and (d,), but have {V.shape} and {np.shape(x0)}. One token has"
            " one row."
        )
    if times.ndim > 1 or times.size == 0:
        raise InputError(f"t must be a time or an array of times (m,), but has shape {times.shape}.")
    moved = np.stack([_flow(V, x0[0], float(time)) for time in np.atleast_1d(times)])  # (m, d)
    return moved if times.ndim else np.asarray(moved[0])


def _flow(V: Array, x0: Array, t: float) -> Array:
    """The direction of e^{tV} x0, (d,)."""
    from scipy.linalg import expm

    # (d,) what zeros in V keep out of reach stays zero for good, however fast e^{tV} grows there
    reached = x0 != 0.0
    while (more := (V[:, reached] != 0.0).any(1) | reached).sum() > reached.sum():
        reached = more
    A = V[np.ix_(reached, reached)]  # (k, k)
    A = A - np.trace(A) / len(A) * np.eye(len(A))  # a multiple of the identity moves nothing
    with np.errstate(over="ignore"):
        size = abs(t) * float(np.abs(A).sum(1).max())
    if not np.isfinite(size):
        raise InputError(f"t V must be finite, but overflows at t = {t:g}. Ask for a shorter time.")
    halvings = max(0, int(np.ceil(np.log2(size)))) if size > 0.0 else 0
    E = expm(A * (np.sign(t) * np.ldexp(abs(t), -halvings)))  # (k, k)
    with np.errstate(under="ignore"):  # what decays may vanish
        for _ in range(halvings):
            E = E @ E
            largest = np.abs(E).max()
            if largest < LEAST_SQUARE:
                raise InputError(
                    f"t must be smaller for this V, but is {t:g}: its Jordan blocks make powers of t that no"
                    " double holds."
                )
            E /= largest
        y = np.zeros_like(x0)
        y[reached] = E @ x0[reached]
    if np.abs(y).max() < LEAST_SQUARE:
        raise InputError(
            f"x0 must have a part that lasts until t = {t:g}, but it has vanished. It lies where the flow"
            " only decays; take t smaller."
        )
    return retract(y)


def two_token_time(beta: float, u0: float, u1: float, weight: float = 1.0) -> float:
    """The time in which <x_1, x_2> goes from u0 to u1 (Q = K = V = I, causal); negative if u1 < u0, inf
    beyond 1e308.

    x_1 stays, and u' = (1 - u^2) / (1 + e^{beta (1 - u)} / a), with a = `weight` how many tokens x_1 counts
    for (frozen tokens). With u = tanh s the time is the integral of 1 + e^{beta (1 - tanh s)} / a over s, all
    terms positive; in closed form
        artanh u1 - artanh u0 + (Phi(u1) - Phi(u0)) / a,
        Phi(u) = -1/2 [Ei(beta (1 - u)) + e^{2 beta} E1(beta (1 + u))],
    where large terms cancel.
    """
    direct, exponent, integral, sign = _two_token_parts(beta, u0, u1, weight)
    with np.errstate(over="ignore"):
        return float(sign * (direct + np.exp(exponent) * integral))


def log_two_token_time(beta: float, u0: float, u1: float, weight: float = 1.0) -> float:
    """The logarithm of `two_token_time`, which no beta makes overflow; u0 < u1."""
    direct, exponent, integral, sign = _two_token_parts(beta, u0, u1, weight)
    if sign <= 0.0:
        raise InputError(
            f"u1 must be greater than u0, but u0 = {u0} and u1 = {u1}. Tokens that attract come closer."
        )
    return float(np.logaddexp(np.log(direct), exponent + np.log(integral)))


def two_token_overlap(beta: float, u0: float, t: float, weight: float = 1.0) -> float:
    """u(t) = <x_1, x_2> from u0 on: `two_token_time` turned round.  t < 0 goes back."""
    from scipy.optimize import brentq

    t, u0 = finite_number("t", t), _overlap("u0", u0)
    s0 = float(np.arctanh(u0))
    last = float(np.arctanh(LARGEST_OVERLAP))
    low, high = sorted((s0, float(np.clip(s0 + t, -last, last))))  # s moves no faster than time

    def at(s: float) -> float:
        return float(np.clip(np.tanh(s), -LARGEST_OVERLAP, LARGEST_OVERLAP))

    def late(s: float) -> float:
        return two_token_time(beta, u0, at(s), weight) - t

    if t == 0.0 or low == high:
        return u0
    if late(high) <= 0.0 or late(low) >= 0.0:  # at the end of what a double can tell from coincidence
        return at(high if t > 0.0 else low)
    return at(brentq(late, low, high, xtol=1e-15, rtol=1e-14))


def _two_token_parts(beta: float, u0: float, u1: float, weight: float) -> tuple[float, float, float, float]:
    """|T| as direct + e^exponent * integral, and its sign.

    The integral of e^{-beta (tanh s - tanh s0)} from s0 to s1 is at most s1 - s0; it ends where the integrand
    has fallen to e^-80, so that the quadrature cannot step over a narrow peak.
    """
    from scipy.integrate import quad

    beta = finite_number("beta", beta, least=0.0, help="It is the inverse temperature.")
    weight = finite_number(
        "weight", weight, above=0.0, help="It is how many tokens the first one counts for."
    )
    first, last = sorted((_overlap("u0", u0), _overlap("u1", u1)))
    if first == last:
        return 0.0, 0.0, 0.0, 0.0
    below, above = 1.0 - first, 1.0 + first
    s0, slope = float(np.arctanh(first)), float(np.sqrt(below * above))  # slope = 1 / cosh s0
    # artanh u1 - artanh u0, without cancelling
    way = float(np.log1p(2.0 * (last - first) / (above * (1.0 - last)))) / 2.0
    width = way
    if beta > 0.0 and (fall := NEGLIGIBLE_EXPONENT / beta) < last - first:
        width = float(np.log1p(2.0 * fall / (above * (below - fall)))) / 2.0

    def integrand(q: float) -> float:
        return float(np.exp(-beta * slope * np.sinh(q) / np.cosh(s0 + q)))

    integral = quad(integrand, 0.0, width, epsabs=0.0, epsrel=1e-13, limit=400)[0]
    return way, beta * (1.0 - first) - float(np.log(weight)), float(integral), 1.0 if u1 > u0 else -1.0


def equiangular_overlap(n: int, beta: float, rho0: float, t: float) -> float:
    """rho(t) for n tokens under full attention that all have the overlap rho0 at first (Q = K = V = I): they
    keep equal overlaps.

    <x_i, x_j>' = <P y_i, x_j> + <x_i, P y_j>, y_i = (e^beta x_i + e^{beta rho} sum_{l != i} x_l) / Z, gives
        rho' = 2 e^{beta rho} (1 - rho) ((n - 1) rho + 1) / (e^beta + (n - 1) e^{beta rho}).
    With 1 - rho = e^{-q} this is dt = (e^{beta e^{-q}} + n - 1) / (2 ((n - 1) rho + 1)) dq: one smooth
    quadrature, turned round.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq

    n = whole_number("n", n, least=2, help="One token alone has no overlaps.")
    beta, t = finite_number("beta", beta, least=0.0), finite_number("t", t, least=0.0)
    rho0 = _overlap("rho0", rho0)
    if rho0 <= -1.0 / (n - 1):
        raise InputError(
            f"rho0 must be greater than -1/(n - 1) = {-1.0 / (n - 1):g}, but is {rho0}. No {n} unit vectors"
            " are farther apart."
        )
    if beta * (1.0 - rho0) > 700.0:
        raise InputError(
            f"beta (1 - rho0) must be at most 700, but is {beta * (1.0 - rho0):g}. In no time that a double"
            " holds would the tokens move."
        )

    def pace(q: float) -> float:
        return float((np.exp(beta * np.exp(-q)) + n - 1) / (2.0 * ((n - 1) * -np.expm1(-q) + 1.0)))

    def late(q: float) -> float:
        return float(quad(pace, q0, q, epsabs=0.0, epsrel=1e-12, limit=400)[0]) - t

    q0 = float(-np.log1p(-rho0))
    # q0 + 2 t is beyond, as the pace is at least 1/2; and e^-750 is nothing
    high = min(q0 + 2.0 * t, q0 + 750.0)
    if t == 0.0 or late(high) <= 0.0:
        return rho0 if t == 0.0 else 1.0
    return float(-np.expm1(-brentq(late, q0, high, xtol=1e-14, rtol=1e-14)))


def kuramoto_gap(gap: ArrayLike, t: ArrayLike) -> Array:
    """D(t) = 2 arctan(tan(D(0)/2) e^{-t}): the angle between two groups of tokens, beta = 0, full attention,
    d = 2.

    There theta_i' = (1/n) sum_j sin(theta_j - theta_i); two groups, each at one angle, stay groups, and D' =
    -sin D whatever their sizes.
    """
    gap, t = finite_array("gap", gap), finite_array("t", t)
    if (np.abs(gap) >= np.pi).any():
        raise InputError(
            f"gap must lie between -pi and pi, but is {gap[np.abs(gap) >= np.pi].flat[0]:g}. Opposite groups"
            " stay: an unstable equilibrium."
        )
    return np.asarray(2.0 * np.arctan2(np.sin(gap / 2.0) * np.exp(-t), np.cos(gap / 2.0)))


def _overlap(name: str, value: float) -> float:
    value = finite_number(
        name,
        value,
        above=-1.0,
        help="It is the inner product of two different tokens, neither equal nor opposite.",
    )
    if value >= 1.0:
        raise InputError(f"{name} must be less than 1, but is {value}. Tokens meet only after infinite time.")
    return value
