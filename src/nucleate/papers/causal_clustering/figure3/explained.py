"""Which clusters have a center in them, and how many tokens and clusters random tokens would explain that are
as many as the centers.

All is of one run on the circle, with frames x (m, n, 2), the first of them at t = 0, as a study of
nucleate.ensemble hands them over. Random tokens are not drawn: how likely they miss a place is known.
"""

from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.centers import renyi_centers

__all__ = ["BETA", "CLUSTER_SHARES", "DELTA", "clusters_explained", "tokens_near_random_ones"]

BETA = 64.0
DELTA = 4.0 * BETA**-0.5  # of centers
RADIUS = BETA**-0.5  # within which a token is consumed, and from whose end on another cluster begins
CLUSTER_SHARES = (
    "strong",  # clusters with a strong center in them
    "renyi",  # with a Rényi center
    "random_strong",  # expected of as many random tokens as there are strong centers
    "random_renyi",  # and as there are Rényi centers
    "strong_and_random",  # expected of strong centers and random other tokens, together as many as the latter
)


def tokens_near_random_ones(t: Array, x: Array) -> Array:
    """The expected share of tokens within RADIUS of one of as many random tokens as there are strong and
    Rényi centers, (m, 2)."""
    n = x.shape[1]
    near = _neighbours(x)  # (m, n)
    counts = [len(_centers(x[0], strong)) for strong in (True, False)]
    return np.stack([1.0 - missed(n, k)[near].mean(-1) for k in counts], axis=-1)


def clusters_explained(t: Array, x: Array) -> Array:
    """Shares of the clusters at the last frame, as CLUSTER_SHARES names them."""
    n, end = x.shape[1], x[-1]  # (n, 2)
    strong, renyi = (_centers(x[0], kind) for kind in (True, False))
    first = renyi_centers(end, RADIUS, strong=True)  # (clusters,) farther than that from every earlier token
    member = (end @ end[first].T).argmax(1)  # (n,) the cluster of every token, whose first is the nearest
    size = np.bincount(member)  # (clusters,)
    with_strong, with_renyi = (np.bincount(member[some], minlength=len(size)) > 0 for some in (strong, renyi))
    others = missed(n - len(strong), len(renyi) - len(strong))
    return np.array(
        [
            with_strong.mean(),
            with_renyi.mean(),
            1.0 - missed(n, len(strong))[size].mean(),
            1.0 - missed(n, len(renyi))[size].mean(),
            1.0 - others[np.minimum(size, n - len(strong))][~with_strong].sum() / len(size),
        ]
    )


def _centers(start: Array, strong: bool) -> NDArray[np.int64]:
    return renyi_centers(start, DELTA, strong=strong)


def _neighbours(x: Array) -> NDArray[np.int64]:
    """How many tokens are within RADIUS of each, itself counted, at every frame; the order of tokens is lost:
    x (m, n, 2) -> (m, n)."""
    m, n, _ = x.shape
    turn = 2.0 * np.pi
    angle = np.sort(np.arctan2(x[..., 1], x[..., 0]), axis=-1)  # (m, n)
    apart = 4.0 * turn * np.arange(m)[:, None]  # (m, 1) frames one after another on one line
    line = (np.concatenate([angle - turn, angle, angle + turn], axis=-1) + apart).reshape(-1)  # (3 m n,)
    below = np.searchsorted(line, (angle - RADIUS + apart).reshape(-1), "left")  # (m n,)
    above = np.searchsorted(line, (angle + RADIUS + apart).reshape(-1), "right")  # (m n,)
    return np.asarray((above - below).reshape(m, n))


@cache
def missed(n: int, k: int) -> Array:
    """The probability that k random ones of n tokens miss some s of them, for s = 0, ..., n; (n + 1,)."""
    return np.array([comb(n - s, k) / comb(n, k) for s in range(n + 1)])
