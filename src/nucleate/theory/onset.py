"""The onset of clustering on the circle (d = 2, full mask, Q = K = V = I): how fast modes grow out of the
uniform law.

A density (1 + eps cos k theta) / (2 pi) with a small eps keeps its shape, and eps grows at the rate

    softmax (SA)        (k^2 / beta) I_k(beta) / I_0(beta)
    exponential (USA)   (k^2 / beta) I_k(beta),

I_k the modified Bessel functions (Bruno, Pasqualotto, Agazzi, arXiv 2410.23228).  The drift at theta is the
integral of e^{beta cos u} sin u against the density at theta + u, over Z = I_0 for softmax, to first order;
of cos k theta it leaves -(k / beta) I_k sin k theta, and the density changes by minus its derivative.  The
fastest mode is near sqrt(2 beta) for large beta, since I_k / I_0 is about e^{-k^2 / (2 beta)} there.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, finite_number, shortened

__all__ = ["fastest_mode", "mode_growth"]


def mode_growth(k: ArrayLike, beta: float, weights: Literal["softmax", "exponential"] = "softmax") -> Array:
    """The rate at which mode k grows, for a number or an array of modes; beta = 0 is the limit, where only
    mode 1 grows."""
    from scipy.special import ive

    k = finite_array("k", k)
    if (k < 0).any() or (k != np.round(k)).any():
        raise InputError(
            f"k must be whole numbers of at least 0, but holds {k[(k < 0) | (k != np.round(k))][0]:g}."
        )
    beta = finite_number("beta", beta, least=0.0, help="For repulsion use V = -I.")
    if weights not in ("softmax", "exponential"):
        raise InputError(f'weights must be "softmax" or "exponential", but is {shortened(weights)}.')
    if beta == 0.0:
        return np.where(k == 1.0, 0.5, 0.0)
    scaled = np.asarray(k**2 / beta * ive(k, beta))  # times e^{-beta}
    return np.asarray(scaled / ive(0, beta) if weights == "softmax" else scaled * np.exp(beta))


def fastest_mode(beta: float) -> int:
    """The mode that grows fastest, of either kind of weights."""
    beta = finite_number("beta", beta, least=0.0, help="For repulsion use V = -I.")
    k = np.arange(1.0, 3.0 * np.sqrt(beta) + 10.0)
    return int(k[mode_growth(k, beta).argmax()])
