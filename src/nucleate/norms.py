"""Where a transformer normalises, in NumPy: the token is r_k theta_k, A_k is what its block adds, and

    theta_k' = P_{theta_k} A_k / s_k,     r_k' = r_k <theta_k, A_k> / s_k where the norm has a radius, else 0.

    post   s = 1                                    ngpt   s = |A| / alpha
    pre    s = r, with a radius                     sqrt   s = sqrt(t + 1)
    peri   s = r |A|, with a radius                 mix    post up to the time tau, pre from there, r(tau) = 1

(2510.22026 and the survey 2512.01868.)  So r theta follows A under "pre" and A / |A| under "peri".
"""

from typing import Literal

import numpy as np

from nucleate.checks import Array
from nucleate.sphere import tangent

__all__ = ["NORMS", "Norm", "has_radius", "rates", "scale"]

Norm = Literal["post", "pre", "mix", "peri", "ngpt", "sqrt"]
NORMS = ("post", "pre", "mix", "peri", "ngpt", "sqrt")


def has_radius(norm: str, t: float = 0.0, tau: float = 0.0) -> bool:
    """Whether the length of the tokens counts at time t."""
    return norm in ("pre", "peri") or (norm == "mix" and t >= tau)


def scale(norm: str, A: Array, r: Array, t: float = 0.0, tau: float = 0.0, alpha: float = 1.0) -> Array:
    """s_k (..., n, 1), of A (..., n, d) and r (..., n, 1)."""
    length = np.sqrt((A * A).sum(-1, keepdims=True))  # (..., n, 1)
    if norm == "peri":
        return r * length
    if norm == "ngpt":
        return length / alpha
    if norm == "sqrt":
        return np.full_like(length, np.sqrt(t + 1.0))
    return np.broadcast_to(r, length.shape) if has_radius(norm, t, tau) else np.ones_like(length)


def rates(
    norm: str, theta: Array, r: Array, A: Array, t: float = 0.0, tau: float = 0.0, alpha: float = 1.0
) -> tuple[Array, Array]:
    """theta' (..., n, d) and r' (..., n, 1); a token to which nothing is added stays where it is."""
    s = scale(norm, A, r, t, tau, alpha)  # (..., n, 1)
    step = np.divide(A, s, out=np.zeros(np.broadcast_shapes(A.shape, s.shape)), where=s > 0.0)  # (..., n, d)
    along = (theta * step).sum(-1, keepdims=True)  # (..., n, 1)
    return tangent(theta, step), r * along if has_radius(norm, t, tau) else np.zeros_like(along)
