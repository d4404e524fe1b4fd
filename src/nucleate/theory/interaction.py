"""The interaction function: how strongly two tokens on the circle attract at a given distance (Q = K = V = I;
paper, Lemma A.1).

    h(x) = e^{beta (cos x - 1)} sin x,      g(x) = h'(x) = e^{beta (cos x - 1)} (cos x - beta sin^2 x)

h is odd, rises from 0 to the strongest distance tau*, and falls from there to 0 at pi.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array

__all__ = [
    "interaction",
    "interaction_bounds",
    "interaction_slope",
    "slope_bound_far",
    "slope_bound_near",
    "strongest_distance",
]


def interaction(x: ArrayLike, beta: ArrayLike) -> Array:
    """h(x) = e^{beta (cos x - 1)} sin x, for an array of distances, of beta, or of both; 0 where it is below
    what a double can hold."""
    x, beta = _distance_and_beta(x, beta)
    with np.errstate(under="ignore"):
        return np.asarray(_weight(x, beta) * np.sin(x))


def interaction_slope(x: ArrayLike, beta: ArrayLike) -> Array:
    """g(x) = h'(x) = e^{beta (cos x - 1)} (cos x - beta sin^2 x)."""
    x, beta = _distance_and_beta(x, beta)
    with np.errstate(under="ignore"):
        return np.asarray(_weight(x, beta) * (np.cos(x) - beta * np.sin(x) ** 2))


def strongest_distance(beta: ArrayLike) -> Array:
    """tau*, where h is largest: cos tau* = (-1 + sqrt(4 beta^2 + 1)) / (2 beta), a right angle for beta = 0.

    g(tau*) = 0 says cos = beta sin^2.  With H = sqrt(beta^2 + 1/4) this makes cos tau* = beta / (H + 1/2) and
    sin tau* = (H + 1/2)^(-1/2): two positive terms, so that no digits cancel for small or large beta.
    """
    beta = _checked_beta(beta)
    return np.asarray(np.arctan2(np.sqrt(np.hypot(beta, 0.5) + 0.5), beta))


def interaction_bounds(x: ArrayLike, beta: ArrayLike) -> tuple[Array, Array]:
    """Lemma A.1: e^{-beta x^2/2} (x - x^3/6) < h(x) < x e^{-beta x^2/2 + beta x^4/24} for 0 < x <= pi, which
    the lower one needs."""
    x, beta = _within("interaction_bounds", x, beta, np.pi)
    with np.errstate(under="ignore"):
        lower = np.exp(-beta * x**2 / 2.0) * (x - x**3 / 6.0)
        return np.asarray(lower), np.asarray(x * np.exp(-beta * x**2 / 2.0 * (1.0 - x**2 / 12.0)))


def slope_bound_near(x: ArrayLike, beta: ArrayLike) -> Array:
    """Lemma A.1: g(x) > e^{-beta x^2/2} (1 - x^2/2 - beta x^2) for 0 < x < (beta + 1/2)^(-1/2)."""
    x, beta = _distance_and_beta(x, beta)
    x, beta = _within("slope_bound_near", x, beta, np.nextafter((beta + 0.5) ** -0.5, 0.0))
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(-beta * x**2 / 2.0) * (1.0 - x**2 / 2.0 - beta * x**2))


def slope_bound_far(x: ArrayLike, beta: ArrayLike) -> Array:
    """Lemma A.1: g(x) > -beta x^2 e^{-beta x^2/2 + beta x^4/24} for 0 < x <= pi and beta >= 1, which it
    needs."""
    x, beta = _within("slope_bound_far", x, beta, np.pi)
    if (beta < 1.0).any():
        raise InputError(
            f"slope_bound_far needs beta of at least 1, but it is as low as {beta.min():g}. For smaller beta"
            " the bound is false."
        )
    with np.errstate(under="ignore"):
        return np.asarray(-beta * x**2 * np.exp(-beta * x**2 / 2.0 * (1.0 - x**2 / 12.0)))


def _weight(x: Array, beta: Array) -> Array:
    """e^{beta (cos x - 1)}; 1 - cos x is taken as 2 sin^2(x/2), which keeps its digits at small x."""
    with np.errstate(over="ignore", under="ignore"):  # e^{-inf} is 0, as e^{-1e300} is
        return np.asarray(np.exp(-2.0 * np.sin(x / 2.0) ** 2 * beta))


def _checked_beta(beta: ArrayLike) -> Array:
    beta = finite_array("beta", beta)
    if (beta < 0.0).any():
        raise InputError(
            f"beta must be finite and non-negative, but is {beta.min():g}. It is the inverse temperature."
        )
    return beta


def _distance_and_beta(x: ArrayLike, beta: ArrayLike) -> tuple[Array, Array]:
    """Both as arrays whose shapes go together."""
    x, beta = finite_array("x", x), _checked_beta(beta)
    try:
        np.broadcast_shapes(x.shape, beta.shape)
    except ValueError:
        raise InputError(
            f"x and beta must have shapes that go together, but have {x.shape} and {beta.shape}."
        ) from None
    return x, beta


def _within(name: str, x: ArrayLike, beta: ArrayLike, most: Array | float) -> tuple[Array, Array]:
    """x and beta, if every x is positive and at most `most`."""
    x, beta = _distance_and_beta(x, beta)
    if not ((x > 0.0) & (x <= most)).all():
        worst = x.min() if (x <= 0.0).any() else x.max()
        raise InputError(
            f"{name} needs 0 < x <= {np.min(most):.6g}, but x is {worst:g}. Beyond, the lemma says nothing."
        )
    return x, beta
