"""How much token N still depends on where an earlier one began: causal, exponential weights, ALiBi, on the
circle (2605.09213).

    theta_j' = (1 / Z_j) sum_{k < j} e^{-lambda (j - k)/N} w'(theta_j - theta_k),   w = e^{beta cos},

Z_j the sum of the same decays.  (w' is beta times what moves the tokens of `Attention`, whose sums also hold
the token itself; it moves nothing.)  N tokens begin independent and uniform.  With sigma = j / N and N large,
the harmonic n of the law of token sigma, h_sigma = <e^{i n theta}>, obeys close to the uniform law

  h_sigma' = (a / Z) int_0^sigma e^{-lambda (sigma - s)} h_s ds,   Z = int_0^sigma e^{-lambda (sigma - s)} ds,

with a = n^2 I_n(beta).  In E = e^{lambda s} - 1 that is a times the mean over (0, E), whose m-th power has
the kernel (1/E) Y^{m-1}/(m-1)!, Y = log(E / E_0).  So e^{at mean} = identity + kernel, and E_0 back in
sigma_0 gives

    kernel(sigma_0) = k_lambda sqrt(a t / Y) I_1(2 sqrt(a t Y)),
    k_lambda = lambda e^{lambda sigma_0} / (e^{lambda sigma} - 1).

The correlation of token sigma N at the time t with token sigma_0 N at the time 0 is kernel / N.

It is infinite at sigma_0 = 0: the first tokens count most.  At sigma_0 = sigma its slope, in units of
itself, is lambda - (a t / 2) lambda e^{lambda sigma} / (e^{lambda sigma} - 1).  So it rises towards the
last tokens, and has the shape of a U, as long as a t < 2 (1 - e^{-lambda sigma}) (ours); for lambda = 0 it
never does.  Later it falls at the end, with a hump before for large lambda.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, finite_number, whole_number

__all__ = ["growth_rate", "least_remembered", "memory", "u_shaped_until"]

GRID = 2000  # places among which the least remembered one is looked for first


def growth_rate(beta: float, n: int = 1) -> float:
    """a = n^2 I_n(beta), for the harmonic n."""
    from scipy.special import iv

    beta = finite_number("beta", beta, least=0.0, help="It is the inverse temperature.")
    n = whole_number("n", n, least=1, help="It is the number of a harmonic.")
    if beta > 700.0:
        raise InputError(f"beta must be at most 700, but is {beta:g}: exp of it overflows.")
    return float(n**2 * iv(n, beta))


def memory(sigma0: ArrayLike, at: float, lam: float, sigma: float = 1.0) -> Array:
    """N times the correlation of token sigma N at the time t with token sigma0 N at the time 0, (m,).

    at   a t, with a of `growth_rate`
    lam  ALiBi's slope times N; 0 without
    """
    from scipy.special import i1e

    at, lam, sigma = _check(at, lam, sigma)
    sigma0 = finite_array("sigma0", sigma0)
    if not ((sigma0 > 0.0) & (sigma0 < sigma)).all():
        raise InputError(
            f"sigma0 must lie between 0 and sigma = {sigma:g}, but is between {np.min(sigma0):g} and"
            f" {np.max(sigma0):g}. It is the place of an earlier token over N."
        )
    k = np.exp(-lam * (sigma - sigma0)) / _width(lam, sigma)
    Y = np.log(_width(lam, sigma) / _width(lam, sigma0)) + lam * (sigma - sigma0)
    root = np.sqrt(at * Y)
    # sqrt(at / Y) I_1(2 root) = at I_1(2 root) / root
    ratio = np.where(root > 1e-8, i1e(2.0 * root) / np.maximum(root, 1e-8), 1.0)
    return np.asarray(k * at * ratio * np.exp(2.0 * root))


def u_shaped_until(lam: float, sigma: float = 1.0) -> float:
    """The a t up to which memory has the shape of a U: 2 (1 - e^{-lambda sigma})."""
    _, lam, sigma = _check(0.0, lam, sigma)
    return float(-2.0 * np.expm1(-lam * sigma))


def least_remembered(at: float, lam: float, sigma: float = 1.0) -> float:
    """The place sigma0 where memory is least: in the middle while it has the shape of a U, late or sigma
    itself afterwards."""
    from scipy.optimize import minimize_scalar

    at, lam, sigma = _check(at, lam, sigma)
    if at == 0.0:
        raise InputError("at must be positive, but is 0. At the time 0 no token depends on an earlier one.")
    log_places = np.log(sigma) - np.geomspace(60.0, 1e-9, GRID)  # (GRID,) rising
    kept = memory(np.exp(log_places), at, lam, sigma)
    least = int(kept.argmin())
    if least == GRID - 1:
        return sigma
    found = minimize_scalar(
        lambda log_place: float(np.log(memory(np.exp(log_place), at, lam, sigma))),
        bounds=(log_places[max(least - 1, 0)], log_places[least + 1]),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(np.exp(found.x))


def _width(lam: float, sigma: ArrayLike) -> Array:
    """int_0^sigma e^{-lambda s} ds = (1 - e^{-lambda sigma}) / lambda."""
    sigma = np.asarray(sigma, dtype=float)
    return sigma if lam == 0.0 else -np.expm1(-lam * sigma) / lam


def _check(at: float, lam: float, sigma: float) -> tuple[float, float, float]:
    return (
        finite_number("at", at, least=0.0, help="It is the time, in units of the growth rate a."),
        finite_number("lam", lam, least=0.0, help="It is ALiBi's slope times the number of tokens."),
        finite_number("sigma", sigma, above=0.0, help="It is the place of a token over N."),
    )
