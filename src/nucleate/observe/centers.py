"""Renyi parking: the tokens that ought to become centers of clusters (paper, section 5).

Tokens come in their order; "farther" means geodesic distance greater than delta = c beta^(-1/2).
    Renyi center:         farther than delta from every earlier CENTER.
    strong Renyi center:  farther than delta from every earlier TOKEN; it is a Renyi center too.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import InputError, check_tokens, finite_number
from nucleate.sphere import distance

__all__ = ["renyi_centers"]


def renyi_centers(x: ArrayLike, delta: float, strong: bool = False) -> NDArray[np.int64]:
    """The indices of the (strong) Renyi centers among the tokens x (n, d), increasing; time O(n * centers)."""
    x = check_tokens("x", x)
    if x.ndim != 2:
        raise InputError(f"x must have shape (n, d), but has shape {x.shape}. Pass the tokens of one run at one time.")
    delta = finite_number("delta", delta, above=0.0, help="It is a geodesic distance; the paper takes 4 / sqrt(beta).")
    if delta > np.pi:
        raise InputError(f"delta must be at most pi, but is {delta}. No two points of a sphere are farther apart than pi.")
    centers = []
    free = np.arange(len(x))  # tokens not yet within delta of a center
    while free.size:
        centers.append(free[0])
        free = free[1:][distance(x[free[1:]], x[free[0]]) > delta] if free.size > 1 else free[1:]
    if strong:
        centers = [k for k in centers if k == 0 or (distance(x[:k], x[k]) > delta).all()]
    return np.array(centers, dtype=np.int64)
