"""Causal single linkage: the limit of large beta of predicted merges, a matter of places and order alone.

Tokens come in their order.  Token k is lost to the nearest earlier token that is itself still there when the
angle between the two is reached:

    D_k = min { angle(k, j) : j < k, D_j >= angle(k, j) },   D_1 = infinity.

With ln T = beta (1 - cos angle) + O(log beta) a token with the angle D is lost at ln t / beta = 1 - cos D, so
that N(t), the clusters left at the time t, tends to the number of D_k > theta, cos theta = 1 - ln t / beta.
Strong Renyi centers with delta = theta are never lost before, and of two tokens that are left none is within
theta of the other, as for Renyi centers: N lies between the numbers of both.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, check_tokens

__all__ = ["linkage_angles"]


def linkage_angles(x: ArrayLike) -> Array:
    """D_k of tokens x (n, d) in their order, (n,); infinite for the first.  Of k tokens only the first k
    count, so that one array serves for every shorter sequence."""
    x = check_tokens("x", x)
    if x.ndim != 2:
        raise InputError(f"x must have shape (n, d), but has shape {x.shape}. Pass the tokens of one run.")
    found = np.full(len(x), np.inf)  # (n,)
    for k in range(1, len(x)):
        chord = np.linalg.norm(x[:k] - x[k], axis=-1)  # (k,)
        angle = 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))  # (k,)
        found[k] = angle[found[:k] >= angle].min()
    return found
