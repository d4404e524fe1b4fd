"""Rules that say from the start alone which tokens will lead; lengths are in units of beta^(-1/2).

renyi     Renyi centers with delta = c beta^(-1/2)
strong    strong Renyi centers
linkage   causal single linkage: D_k > c beta^(-1/2) (`theory.causal_linkage`)
gathered  token k leads if it sees little weight besides its own,

              a sum_{j<k} e^{beta (<x_k, x_j> - 1)} + (1 - a) sum_{j<k} e^{beta (<x_k, l_j> - 1)} < c,

          l_j the leader, found so far, that j sees most of: earlier tokens count partly where they start,
          partly where they will soon be.  Tokens are judged in their order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.centers import center_mask
from nucleate.theory.causal_linkage import linkage_angles

__all__ = ["GRIDS", "RULES", "Start", "fitted", "scores", "start_of"]

Mask = NDArray[np.bool_]


class Start(NamedTuple):
    """A start, with what rules need of it, and the tokens that did lead."""

    beta: float
    x: Array  # (n, d)
    angle: Array  # (n,) D_k, in units of beta^(-1/2)
    weight: Array  # (n, n) e^{beta (<x_k, x_j> - 1)}
    leads: Mask  # (n,)


def start_of(beta: float, x: Array, leads: Mask) -> Start:
    """What is the same for every parameter of a rule is computed once."""
    return Start(beta, x, linkage_angles(x) * beta**0.5, np.exp(beta * (x @ x.T - 1.0)), leads)


def _renyi(start: Start, c: float) -> Mask:
    return center_mask(start.x, min(c * start.beta**-0.5, 3.0))


def _strong(start: Start, c: float) -> Mask:
    return center_mask(start.x, min(c * start.beta**-0.5, 3.0), strong=True)


def _linkage(start: Start, c: float) -> Mask:
    return np.asarray(start.angle > c)


def _gathered(start: Start, c: float, a: float) -> Mask:
    W = start.weight  # (n, n)
    here = np.tril(W, -1).sum(1)  # (n,) all earlier tokens where they start
    leaders: list[int] = []
    tokens: list[float] = []  # of every leader so far
    for k in range(len(W)):
        seen = W[k, leaders]  # (leaders,)
        if a * here[k] + (1.0 - a) * float(seen @ np.array(tokens)) < c:
            leaders.append(k)
            tokens.append(1.0)
        else:
            tokens[int(seen.argmax())] += 1.0
    found = np.zeros(len(W), dtype=bool)
    found[leaders] = True
    return found


RULES: dict[str, Callable[..., Mask]] = {
    "renyi": _renyi,
    "strong": _strong,
    "linkage": _linkage,
    "gathered": _gathered,
}
LENGTHS: list[tuple[float, ...]] = [(round(float(c), 1),) for c in np.arange(1.5, 4.55, 0.1)]
# what is tried of every rule
GRIDS: dict[str, list[tuple[float, ...]]] = {
    "renyi": LENGTHS,
    "strong": LENGTHS,
    "linkage": LENGTHS,
    "gathered": [
        (c, a) for c in (0.012, 0.016, 0.02, 0.024, 0.03, 0.04) for a in (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
    ],
}


def scores(starts: list[Start], chosen: Callable[[Start], Mask]) -> NDArray[np.int64]:
    """Of every start: leaders named rightly, tokens named, leaders; (starts, 3)."""
    rows = []
    for start in starts:
        named = chosen(start)
        rows.append([(named & start.leads).sum(), named.sum(), start.leads.sum()])
    return np.array(rows, dtype=np.int64)


def fitted(starts: list[Start], rule: str) -> tuple[float, ...]:
    """The parameters with the largest F of all starts together, 2 right / (named + leaders)."""
    function = RULES[rule]

    def F(values: tuple[float, ...]) -> float:
        right, named, leaders = scores(starts, lambda start: function(start, *values)).sum(0)
        return float(2.0 * right / (named + leaders))

    return max(GRIDS[rule], key=F)
