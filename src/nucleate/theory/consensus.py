"""Linear stability of the two ends that tokens reach most often: all at one point, and all at two opposite
ones (ours; causal mask)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_array, finite_number, whole_number

__all__ = ["TwoPoles", "consensus_spectrum", "two_poles"]


def consensus_spectrum(n: int, d: int, window: int | None = None) -> Array:
    """The eigenvalues with which n tokens approach consensus, V = I and any Q, K, beta: row k, token k's d -
    1; (n, d - 1).

    At one point all weights are equal, so token k (from 1) obeys u_k' = (u_1 + ... + u_k)/k - u_k: a
    triangular system with -(k - 1)/k on its diagonal.  The first row is 0, for the first token stays.  A
    window of w makes that -(1 - 1/min(k, w)); equal ones are then defective.
    """
    n = whole_number("n", n, least=1, help="It is the number of tokens.")
    d = whole_number("d", d, least=2, help="It is the dimension of the space around the sphere.")
    k = np.arange(1, n + 1)  # (n,)
    if window is not None:
        k = np.minimum(k, whole_number("window", window, least=1, help="It counts the token itself."))
    return np.repeat(((1.0 - k) / k)[:, None], d - 1, axis=1)


@dataclass(frozen=True, eq=False)
class TwoPoles:
    """Tokens at xi and -xi, the dominant eigenvectors of V: which of them are stable under perturbations."""

    weight: Array  # (n,) w_k, the share of token k's attention that goes to its own pole
    boundary: Array  # (n,) what w_k must exceed: lambda_1 / (2 lambda_1 - lambda_2 / s_k)
    # (n,) the rate at which a perturbation along the second eigenvector grows; negative if token k is stable
    growth: Array

    @property
    def stable(self) -> NDArray[np.bool_]:
        """For every token, (n,), whether it is linearly stable."""
        return self.growth < 0.0

    @property
    def all_stable(self) -> bool:
        """Whether the configuration is."""
        return bool(self.stable.all())


def two_poles(signs: ArrayLike, beta: float, lambda_max: float, mu2: float) -> TwoPoles:
    """Stability of tokens at signs[k] * xi (Q = K = I, causal), lambda_max > 0 and mu2 the first and second
    real eigenvalue of V, lambda_1 and lambda_2.

    Among the tokens up to k let s_k be at k's own pole, itself included, and m_k at the other.  The weights
    are 1 and e^{-2 beta}, so w_k = s_k / (s_k + m_k e^{-2 beta}) goes to the own pole, and the mean it sees
    is (2 w_k - 1) times that pole.  A perturbation u along an eigenvector with eigenvalue lambda_i changes
    no weight to first order; it adds lambda_i u w_k / s_k through the token's own term, and the projection
    takes lambda_1 (2 w_k - 1) u away.  Token k is stable iff lambda_2 w_k / s_k < lambda_1 (2 w_k - 1), that
    is w_k > lambda_1 / (2 lambda_1 - lambda_2 / s_k).
    """
    sign = finite_array("signs", signs)
    if sign.ndim != 1 or sign.size == 0 or not (np.abs(sign) == 1.0).all():
        raise InputError(
            "signs must be a sequence of 1 and -1, one per token, but is not. 1 stands for xi, -1 for -xi."
        )
    beta = finite_number("beta", beta, least=0.0, help="It is the inverse temperature.")
    lam = finite_number(
        "lambda_max",
        lambda_max,
        above=0.0,
        help="With a negative one two points are no equilibrium that tokens reach.",
    )
    mu2 = finite_number("mu2", mu2)
    if mu2 >= lam:
        raise InputError(
            f"mu2 must be less than lambda_max = {lam:g}, but is {mu2:g}. It is the second largest"
            " eigenvalue."
        )
    plus = np.cumsum(sign > 0.0)  # (n,) tokens at +xi up to k
    s = np.where(sign > 0.0, plus, np.arange(1, len(sign) + 1) - plus)  # (n,)
    m = np.arange(1, len(sign) + 1) - s  # (n,)
    with np.errstate(under="ignore"):
        w = s / (s + m * np.exp(-2.0 * beta))  # (n,)
    return TwoPoles(w, lam / (2.0 * lam - mu2 / s), mu2 * w / s - lam * (2.0 * w - 1.0))
