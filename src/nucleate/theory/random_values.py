"""Two tokens and a fresh random value matrix in every layer: when opposite tokens attract (2601.21942; the
formulas are ours).

Layer l adds sqrt(dt) G_l m_k to token k and makes it unit again; G_l has independent standard normal entries,
m_k = sum_j a_kj x_j is the mean that token k sees (Q = K = I).  For dt -> 0, with W a matrix of Brownian
motions,

  dx_k = P_{x_k} dW m_k - (d - 1)/2 |m_k|^2 x_k dt,    dW m and dW m' have the covariance <m, m'> I dt.

The overlap u = <x_1, x_2> moves by <dx_1, x_2> + <x_1, dx_2> + <dx_1, dx_2>; tr P_{x_1} P_{x_2} = d - 2 +
u^2:

    drift     -(d - 1)/2 (|m_1|^2 + |m_2|^2) u + <m_1, m_2> (d - 2 + u^2)
    variance  (1 - u^2) (|m_1|^2 + |m_2|^2 - 2 u <m_1, m_2>).

Full mask: m_1 = p x_1 + q x_2 and m_2 = p x_2 + q x_1 with q / p = e^{-beta (1 - u)}, p + q = 1.  Then, with
S = p^2 + q^2 and T = 2 p q, S + T = 1 and T / S = 1 / cosh(beta (1 - u)),

    drift (1 - u^2) ((d - 2) T - S u),        variance 2 S (1 - u^2)^2.

Both vanish at u = -1 and u = 1.  Close to u = -1, log(1 + u) has the mean rate 2 (d - 2) T - 2 S, which is

    lambda = (d - 2 - cosh 2 beta) / cosh^2 beta:   opposite tokens attract iff cosh 2 beta > d - 2.

Close to u = 1 that of log(1 - u) is 1 - d: equal tokens always attract.  Where both do, the share of runs
that end opposite follows from the scale function; with u = tanh z, s'(u) du = e^{-(d - 2) G(z)} / cosh z
dz, G the integral of 1 / cosh(beta (1 - tanh z)) from 0 to z.

Causal mask: m_1 = x_1.  At u = -1 the drift is 2 (d - 1) q^2 > 0, so that opposite tokens do not even stay.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, finite_number, shortened, whole_number

__all__ = [
    "antipode_exponent",
    "antipode_probability",
    "critical_beta",
    "overlap_drift",
    "overlap_variance",
]

Mask = Literal["full", "causal"]
FARTHEST = 20.0  # 1 - tanh 20 is 0 to a double; beyond, integrands are exponentials


def antipode_exponent(beta: float, d: int) -> float:
    """lambda, the mean rate of log(1 + u) at u = -1, full mask; negative if opposite tokens attract."""
    beta, d = _beta_and_dimension(beta, d)
    # (d - 2) / cosh^2 - (1 + tanh^2), which no beta makes overflow
    fall = float(np.tanh(beta)) ** 2
    return (d - 2) * (1.0 - fall) - (1.0 + fall)


def critical_beta(d: int) -> float:
    """The beta from which on opposite tokens attract, cosh 2 beta = d - 2; 0 for d = 2 and 3."""
    d = _beta_and_dimension(0.0, d)[1]
    return float(np.arccosh(max(d - 2, 1))) / 2.0


def overlap_drift(beta: float, d: int, u: ArrayLike, mask: Mask = "full") -> Array:
    """The mean rate of the overlap u, a number or (m,)."""
    beta, d = _beta_and_dimension(beta, d)
    u = _overlaps(u)
    first, second, both = _means(beta, u, mask)
    return np.asarray(-(d - 1) / 2.0 * (first + second) * u + both * (d - 2 + u * u))


def overlap_variance(beta: float, d: int, u: ArrayLike, mask: Mask = "full") -> Array:
    """The rate at which the variance of the overlap u grows, a number or (m,)."""
    beta, d = _beta_and_dimension(beta, d)
    u = _overlaps(u)
    first, second, both = _means(beta, u, mask)
    return np.asarray((1.0 - u * u) * (first + second - 2.0 * u * both))


def antipode_probability(beta: float, d: int, u0: ArrayLike | None = None) -> Array:
    """The share of runs in which two tokens end opposite each other under the full mask, from the overlap u0,
    a number or (m,), or from two independent uniform tokens; 0 up to the critical beta."""
    from scipy.integrate import solve_ivp
    from scipy.special import gammaln

    beta, d = _beta_and_dimension(beta, d)
    start = np.asarray(0.0) if u0 is None else _overlaps(u0, "u0")
    if antipode_exponent(beta, d) >= 0.0:
        return np.where(start == -1.0, 1.0, 0.0)
    # (1 - u^2)^{(d - 3)/2} du, the law of the overlap of uniform tokens
    log_norm = gammaln(d / 2) - gammaln((d - 1) / 2) - np.log(np.pi) / 2.0
    slope = (d - 2) / float(np.cosh(min(2.0 * beta, 700.0)))  # of (d - 2) G where z is very negative

    def rates(z: float, state: Array) -> Array:
        """Of (d - 2) G; of the scale; of the mean over uniform tokens of the scale below them."""
        with np.errstate(under="ignore"):
            fall = np.exp(-np.abs(z))  # 1 / cosh z = 2 fall / (1 + fall^2)
            sech = 2.0 * fall / (1.0 + fall * fall)
            gap = beta * 2.0 / (1.0 + np.exp(2.0 * z))  # beta (1 - tanh z)
            growth = (d - 2) / np.cosh(min(gap, 700.0))
            return np.array([growth, np.exp(-state[0]) * sech, np.exp(log_norm) * sech ** (d - 1) * state[1]])

    # G(0) = 0 fixes a factor of the scale, which cancels; so it may as well be 0 at -FARTHEST
    tail = np.exp(-FARTHEST) * 2.0 / (1.0 - slope)  # of the scale, from -infinity to there
    with np.errstate(divide="ignore"):  # at u0 = -1 and 1 the share is 1 and 0
        z = np.clip(np.arctanh(start), -FARTHEST, FARTHEST)
    points, which = np.unique(z, return_inverse=True)  # (m',), as z
    solved = solve_ivp(
        rates,
        (-FARTHEST, FARTHEST),
        np.array([0.0, tail, 0.0]),
        "DOP853",
        t_eval=np.union1d(points, [FARTHEST]),
        max_step=0.25,
        rtol=1e-10,
        atol=1e-30,
    )
    scale, mean = solved.y[1:, -1]
    if u0 is None:
        return np.asarray(1.0 - mean / scale)
    share = np.where(np.abs(points) < FARTHEST, 1.0 - solved.y[1, : len(points)] / scale, points < 0.0)
    return np.asarray(share[which].reshape(start.shape))


def _means(beta: float, u: Array, mask: Mask) -> tuple[Array, Array, Array]:
    """|m_1|^2, |m_2|^2 and <m_1, m_2> for every overlap."""
    p = 1.0 / (1.0 + np.exp(-beta * (1.0 - u)))
    q = 1.0 - p
    own = p * p + q * q + 2.0 * p * q * u
    if mask == "full":
        return own, own, (p * p + q * q) * u + 2.0 * p * q
    if mask == "causal":
        return np.ones_like(u), own, p * u + q
    raise InputError(f'mask must be "full" or "causal", but is {shortened(mask)}.')


def _beta_and_dimension(beta: float, d: int) -> tuple[float, int]:
    return (
        finite_number("beta", beta, least=0.0, help="It is the inverse temperature."),
        whole_number("d", d, least=2, help="It is the dimension of the space around the sphere."),
    )


def _overlaps(u: ArrayLike, name: str = "u") -> Array:
    u = finite_array(name, u)
    if (np.abs(u) > 1.0).any():
        raise InputError(
            f"{name} must lie between -1 and 1, but is {u[np.abs(u) > 1.0].flat[0]:g}. It is the inner"
            " product of two tokens."
        )
    return u
