"""Exponential weights (USA) with noise, infinitely many tokens: where the uniform law loses its stability,
and the ordered states.

dX = P_X( int e^{beta <X, y>} y mu(dy) ) dt + sqrt(2 / kappa) dW on the sphere S^{d-1}.  The law mu obeys

  d mu / dt = (1 / kappa) Laplace mu - (1 / beta) div(mu grad k mu),   (k mu)(x) = int e^{beta <x, y>} mu(dy).

Linear growth.  On harmonics of degree l, Laplace is -l (l + d - 2) and k is the number (Funk and Hecke)

    k_l = Gamma(d/2) (2 / beta)^{d/2 - 1} I_{l + d/2 - 1}(beta),

so that close to the uniform law they grow at the rate l (l + d - 2) (k_l / beta - 1 / kappa).  l = 1 is the
first to grow, at kappa_c = beta / k_1, which is d for beta = 0 (Kuramoto's 2 for d = 2).

Ordered states.  What is at rest has mu proportional to exp((kappa / beta) k mu).  Around an axis, with c the
cosine to it, P_l the Legendre polynomials of dimension d (P_l(1) = 1), N_l the number of harmonics and m_l
the mean of P_l(c), e^{beta <x, y>} = sum_l N_l k_l P_l(<x, y>) gives

    mu(c) = exp( (kappa / beta) sum_{l >= 1} N_l k_l m_l P_l(c) ) / Z,        m_l = int P_l mu,

solved here by Newton's method for kappa and m_2, m_3, ..., given the order m_1 = |mean of x|: a branch
kappa(m_1) that has one value where the order as a function of kappa has two.  It begins at kappa_c.  Where
kappa rises along it the state is stable (among laws around that axis), where kappa falls it is not.

Which of the two happens at first depends on k_2 / k_1 = I_{d/2+1} / I_{d/2}: to third order in m_1 the branch
rises for k_2 / k_1 < 1/d, a continuous transition, and falls beyond, from beta_* on: then there is hysteresis
between the least kappa of the branch (`fold`) and kappa_c.  (2606.05140; kappa_c in this form and the
branches are ours.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_array, finite_number, whole_number

__all__ = [
    "Branch",
    "beta_star",
    "coexistence",
    "fold",
    "heat_decay",
    "kappa_c",
    "mode_growth",
    "ordered_states",
]

LARGEST_BETA = 300.0
NODES = 400  # of the quadrature over c; enough for laws of width 1/50
NEWTON_STEPS, CONVERGED = 60, 1e-13


@dataclass(frozen=True, eq=False)
class Branch:
    """Ordered states, one for every value of the order."""

    order: Array  # (m,) |mean of x|, rising
    kappa: Array  # (m,) at which this state rests
    # (m,) free energy less that of the uniform law, times kappa; negative if the state is preferred
    free_energy: Array

    @property
    def stable(self) -> NDArray[np.bool_]:
        """For every state, (m,), whether it is: kappa rises with the order there."""
        return np.gradient(self.kappa, self.order) > 0.0

    def at(self, kappa: float) -> tuple[Array, NDArray[np.bool_]]:
        """The orders of all ordered states at this kappa, by linear interpolation, and which are stable."""
        kappa = finite_number("kappa", kappa, above=0.0, help="Larger is quieter.")
        off = self.kappa - kappa  # (m,)
        (k,) = np.nonzero((off[:-1] < 0.0) != (off[1:] < 0.0))
        share = off[k] / (off[k] - off[k + 1])
        return self.order[k] + share * (self.order[k + 1] - self.order[k]), off[k] < 0.0


def kappa_c(beta: float, d: int) -> float:
    """The kappa from which on the uniform law is unstable: beta / k_1."""
    beta, d = _beta(beta), _dimension(d)
    return float(1.0 / _kernel_over_beta(beta, d, 1)[1])


def mode_growth(beta: float, d: int, kappa: float, degree: int = 1) -> float:
    """The rate at which harmonics of this degree grow close to the uniform law."""
    beta, d, kappa = _beta(beta), _dimension(d), _kappa(kappa)
    degree = whole_number("degree", degree, least=1, help="The mean of x has degree 1.")
    return float(degree * (degree + d - 2) * (_kernel_over_beta(beta, d, degree)[degree] - 1.0 / kappa))


def heat_decay(d: int, kappa: float, t: ArrayLike, degree: int = 1) -> Array:
    """e^{-l (l + d - 2) t / kappa}: what is left, after the time t, of the mean of a harmonic of degree l of
    one token with noise alone.  The mean of x has l = 1: e^{-(d - 1) t / kappa}."""
    d, kappa = _dimension(d), _kappa(kappa)
    degree = whole_number("degree", degree, least=1, help="The mean of x has degree 1.")
    return np.exp(-degree * (degree + d - 2) * finite_array("t", t) / kappa)


def beta_star(d: int) -> float:
    """beta_*, up to which the transition is continuous: I_{d/2+1} / I_{d/2} = 1 / d."""
    from scipy.optimize import brentq
    from scipy.special import ive

    d = _dimension(d)

    def off(beta: float) -> float:
        return float(ive(d / 2 + 1, beta) / ive(d / 2, beta)) - 1.0 / d

    return float(brentq(off, 1e-6, 10.0, xtol=1e-14))  # the ratio is beta / (d + 2) or less


def ordered_states(beta: float, d: int, order: ArrayLike | None = None) -> Branch:
    """The branch of ordered states, for the values of the order (m,) that are given or 199 up to 0.995."""
    beta, d = _beta(beta), _dimension(d)
    order = np.linspace(0.005, 0.995, 199) if order is None else np.atleast_1d(finite_array("order", order))
    if order.ndim > 1 or order.size == 0 or order.min() <= 0.0 or order.max() > 0.995:
        raise InputError(
            "order must be numbers (m,) above 0 and up to 0.995, but lies between"
            f" {np.min(order, initial=1.0):g} and {np.max(order, initial=0.0):g}. At 0 is the uniform law."
        )
    if (np.diff(order) <= 0.0).any():
        raise InputError("order must rise, but does not. Sort it.")
    problem = _SelfConsistency(beta, d)
    # Newton starts from the last state; the way from 0 to the first is gone in steps as well
    path = np.union1d(order, np.linspace(0.005, 0.995, 199))
    path = path[path <= order[-1]]
    log_kappa, m = np.log(kappa_c(beta, d)), np.zeros(problem.degrees)
    kappa, energy = np.empty(len(path)), np.empty(len(path))
    for number, value in enumerate(path):
        log_kappa, m = problem.state(value, log_kappa, m)
        kappa[number], energy[number] = np.exp(log_kappa), problem.free_energy(np.exp(log_kappa), m)
    wanted = np.isin(path, order)
    return Branch(order, kappa[wanted], energy[wanted])


def fold(beta: float, d: int) -> tuple[float, float]:
    """The least kappa at which there is an ordered state, and its order; kappa_c and 0 up to beta_*."""
    from scipy.optimize import minimize_scalar

    if beta <= beta_star(d):
        return kappa_c(beta, d), 0.0
    coarse = ordered_states(beta, d)
    k = int(coarse.kappa.argmin())
    low, high = coarse.order[max(k - 1, 0)], coarse.order[min(k + 1, len(coarse.order) - 1)]
    least = minimize_scalar(
        lambda order: float(ordered_states(beta, d, [order]).kappa[0]),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(least.fun), float(least.x)


def coexistence(beta: float, d: int) -> tuple[float, float]:
    """The kappa at which an ordered state has the free energy of the uniform law, and its order; kappa_c and
    0 up to beta_*.  It lies between the fold and kappa_c."""
    from scipy.optimize import brentq

    if beta <= beta_star(d):
        return kappa_c(beta, d), 0.0
    coarse = ordered_states(beta, d)
    last = int(np.nonzero(coarse.free_energy > 0.0)[0][-1])  # later states are preferred
    order = float(
        brentq(
            lambda value: float(ordered_states(beta, d, [value]).free_energy[0]),
            coarse.order[last],
            coarse.order[last + 1],
            xtol=1e-9,
        )
    )
    return float(ordered_states(beta, d, [order]).kappa[0]), order


class _SelfConsistency:
    """m_l = <P_l> under exp(kappa sum_l c_l m_l P_l), l = 1 .. L, and its quadrature."""

    def __init__(self, beta: float, d: int) -> None:
        from scipy.special import roots_jacobi

        k = _kernel_over_beta(beta, d, int(60 + 2 * beta))  # (l,)
        N = _harmonics(d, len(k) - 1)  # (l,)
        needed = np.nonzero(N * k > 1e-17 * k[1])[0][-1]
        self.degrees = int(max(needed, 2))
        self.c = (N * k)[1 : self.degrees + 1]  # (L,) N_l k_l / beta
        nodes, weights = roots_jacobi(NODES, (d - 3) / 2, (d - 3) / 2)
        self.weights = weights / weights.sum()  # (NODES,)
        self.P = _legendre(nodes, d, self.degrees)  # (L, NODES)

    def law(self, kappa: float, m: Array) -> tuple[Array, float]:
        """The law at the nodes, (NODES,), with its weights, and log Z."""
        exponent = kappa * (self.c * m) @ self.P  # (NODES,)
        top = exponent.max()
        with np.errstate(under="ignore"):
            mu = self.weights * np.exp(exponent - top)
        return mu / mu.sum(), float(top + np.log(mu.sum()))

    def state(self, order: float, log_kappa: float, m: Array) -> tuple[float, Array]:
        """log kappa and m of the state with m_1 = order, from those of a state close by."""
        m = m.copy()
        m[0] = order
        for _ in range(NEWTON_STEPS):
            kappa = float(np.exp(log_kappa))
            mu, _ = self.law(kappa, m)
            mean = self.P @ mu  # (L,)
            off = mean - m
            if np.abs(off).max() < CONVERGED:
                return log_kappa, m
            covariance = (self.P * mu) @ self.P.T - np.outer(mean, mean)  # (L, L)
            jacobian = kappa * covariance * self.c - np.eye(self.degrees)  # (L, L) by m_j
            jacobian[:, 0] = kappa * covariance @ (self.c * m)  # m_1 is given: in its place by log kappa
            step = np.linalg.solve(jacobian, -off)
            step /= max(1.0, abs(step[0]) / 0.5)
            log_kappa += float(step[0])
            m[1:] += step[1:]
        raise InputError(
            f"No ordered state of order {order:g} was found in {NEWTON_STEPS} steps. Ask for orders closer to"
            " each other, or smaller ones."
        )

    def free_energy(self, kappa: float, m: Array) -> float:
        """int mu log mu - (kappa / 2 beta) int int e^{beta <x, y>} mu mu, less that of the uniform law."""
        _, log_Z = self.law(kappa, m)
        interaction = kappa * float((self.c * m * m).sum())  # twice
        return interaction - log_Z - interaction / 2.0  # log mu = kappa sum c m P - log Z


def _kernel_over_beta(beta: float, d: int, degree: int) -> Array:
    """k_l / beta for l = 0 .. degree; that of l = 0 is not used and 0."""
    from scipy.special import gammaln, ive

    degrees = np.arange(degree + 1)
    if beta < 1e-8:  # I_v(beta) = (beta / 2)^v / Gamma(v + 1)
        return np.where(degrees == 1, 1.0 / d, 0.0)
    with np.errstate(under="ignore"):
        bessel = ive(degrees + d / 2 - 1, beta)
        k = bessel * np.exp(gammaln(d / 2) + (d / 2 - 1) * np.log(2.0 / beta) + beta) / beta
    return np.where(degrees > 0, k, 0.0)


def _harmonics(d: int, degree: int) -> Array:
    """The number of independent harmonics of degree l = 0 .. degree."""
    from scipy.special import gammaln

    k = np.arange(1, degree + 1)
    log_choose = gammaln(k + d - 2) - gammaln(k) - gammaln(d - 1)  # of k + d - 3 by k - 1
    return np.concatenate([[1.0], (2.0 * k + d - 2) / k * np.exp(log_choose)])


def _legendre(c: Array, d: int, degree: int) -> Array:
    """P_l(c), (degree, len(c)), l = 1 .. degree, by their recurrence; cos(l angle) for d = 2."""
    P = [np.ones_like(c), c]
    for k in range(1, degree):
        P.append(((2 * k + d - 2) * c * P[k] - k * P[k - 1]) / (k + d - 2))
    return np.stack(P[1:])


def _beta(beta: float) -> float:
    beta = finite_number("beta", beta, least=0.0, help="It is the inverse temperature.")
    if beta > LARGEST_BETA:
        raise InputError(f"beta must be at most {LARGEST_BETA:g}, but is {beta:g}. The weights are e^beta.")
    return beta


def _dimension(d: int) -> int:
    return whole_number("d", d, least=2, help="It is the dimension of the space around the sphere.")


def _kappa(kappa: float) -> float:
    return finite_number("kappa", kappa, above=0.0, help="Larger is quieter.")
