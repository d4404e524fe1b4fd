"""Renyi parking: the tokens that ought to become centers of clusters (paper, section 5).

Tokens come in their order; "farther" means a distance greater than delta = c beta^(-1/2).
    Renyi center:         farther than delta from every earlier CENTER.
    strong Renyi center:  farther than delta from every earlier TOKEN; it is a Renyi center too.

A token that becomes a center takes all later tokens within delta out of the contest, and finding these shows
at once whether an earlier one is there.  Few centers lie near one token, so the time is about that of looking
at each token a few times.
"""

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import EPS, Array, InputError, check_tokens, finite_number, shortened, true_or_false
from nucleate.sphere import distance

if TYPE_CHECKING:
    from nucleate.kernels.threads import Stop

__all__ = ["Metric", "center_kinds", "center_mask", "renyi_centers"]

Metric = Literal["geodesic", "chordal"]
LARGEST_DISTANCE = {"geodesic": np.pi, "chordal": 2.0}


def renyi_centers(
    x: ArrayLike, delta: float, strong: bool = False, metric: Metric = "geodesic"
) -> NDArray[np.int64]:
    """The indices of the Renyi centers among the tokens x (n, d), increasing: those farther than `delta` from
    every earlier center.

    strong     farther than `delta` from every earlier token: the strong Renyi centers
    metric     "geodesic": delta is an angle, as in the paper; "chordal": the length |x - y| of a straight
               line

    Ties are decided as `distance` decides them: a token at a distance of exactly delta is not farther.  For
    several runs or times at once use `center_mask`.
    """
    x = check_tokens("x", x)
    if x.ndim != 2:
        raise InputError(
            f"x must have shape (n, d), but has shape {x.shape}. Pass the tokens of one run at one time, or"
            " use center_mask."
        )
    return np.flatnonzero(center_mask(x, delta, strong, metric)).astype(np.int64)


def center_mask(
    x: ArrayLike, delta: float, strong: bool = False, metric: Metric = "geodesic"
) -> NDArray[np.bool_]:
    """Which tokens are (strong) Renyi centers among those of their run at their time: x (..., n, d) -> a mask
    (..., n).

    delta, strong, metric   as for `renyi_centers`
    """
    from nucleate.observe.grid import RENYI, STRONG

    x = check_tokens("x", x)
    delta, strong = check_delta(delta, metric), true_or_false("strong", strong)
    return center_kinds(x, delta, strong, metric) >= (STRONG if strong else RENYI)


def center_kinds(
    x: Array, delta: float, strong: bool = True, metric: Metric = "geodesic"
) -> NDArray[np.uint8]:
    """STRONG for a strong center, if these are asked for, RENYI for another Renyi center, 0 for the rest,
    each among the tokens of its run at its time: x (..., n, d) -> (..., n)."""
    from nucleate.kernels.threads import interruptible_if_long

    job = partial(_kinds_of_runs, x.reshape(-1, *x.shape[-2:]), delta, strong, metric)
    return interruptible_if_long(job, float(x.shape[-2]) * x.size).reshape(x.shape[:-1])


def _kinds_of_runs(runs: Array, delta: float, strong: bool, metric: str, stop: "Stop") -> NDArray[np.uint8]:
    """The same for runs (b, n, d), (b, n)."""
    from nucleate.observe.grid import all_axes, cell_side, park_runs

    n, d = runs.shape[-2:]
    kinds = np.zeros(runs.shape[:2], dtype=np.uint8)  # (b, n)
    together = len(runs) > 1 and all_axes(n, d)
    if together and not runs.flags.writeable:  # another type to Numba
        runs = runs.copy()
    low, high, reach = _limits(delta, d, metric)
    run = 0
    while run < len(runs) and not stop[0]:
        if together:
            run = park_runs(runs, np.arange(d), cell_side(reach), low, high, strong, run, kinds, stop)
        if run < len(runs):
            kinds[run] = _kinds(runs[run], delta, strong, metric, stop)
        run += 1
    return kinds


def check_delta(delta: float, metric: str = "geodesic") -> float:
    """`delta`, if it is a distance that two tokens can have."""
    if not isinstance(metric, str) or metric not in LARGEST_DISTANCE:
        raise InputError(f'metric must be "geodesic" or "chordal", but is {shortened(metric)}.')
    delta = finite_number(
        "delta", delta, above=0.0, help="It is a distance between tokens; the paper takes 4 / sqrt(beta)."
    )
    if delta > LARGEST_DISTANCE[metric]:
        largest = "pi" if metric == "geodesic" else "2"
        raise InputError(
            f"delta must be at most {largest}, but is {delta}. No two points of a sphere are farther apart"
            f" than {largest}."
        )
    return delta


def _kinds(x: Array, delta: float, strong: bool, metric: str, stop: "Stop") -> NDArray[np.uint8]:
    """`center_kinds` of one run at one time, x (n, d) -> (n,)."""
    from nucleate.observe.grid import RENYI, make_grid, park

    n, d = x.shape
    low, high, reach = _limits(delta, d, metric)
    owner, kind, doubtful = (
        np.full(n, -1, dtype=np.int64),
        np.zeros(n, dtype=np.uint8),
        np.empty(n, dtype=np.int64),
    )
    grid = make_grid(x, reach)
    k = 0
    while k < n:
        k, doubts = park(x, grid, low, high, strong, k, owner, kind, doubtful, stop)
        for j in doubtful[:doubts].tolist():
            if not _farther(x[k], x[j], delta, metric):
                if j > k:
                    owner[j] = k
                else:
                    kind[k] = RENYI
        k += 1
    return kind


def _limits(delta: float, d: int, metric: str) -> tuple[float, float, float]:
    """Squares of chords below which two tokens are near and above which they are far, and how far to look.

    A pair whose chord lies between is left to the definition itself.  Relative: rounding of |x - y|^2, d
    terms, and of lengths; absolute: many coordinates may be normalised once more by `distance`, which moves a
    token by its rounding.
    """
    chord = 2.0 * np.sin(delta / 2.0) if metric == "geodesic" else delta
    slack = (2 * d + 40) * EPS * chord + 16 * EPS
    return max(chord - slack, 0.0) ** 2, (chord + slack) ** 2, chord + slack


def _farther(x: Array, y: Array, delta: float, metric: str) -> bool:
    """The definition, for one pair."""
    apart = distance(x, y) if metric == "geodesic" else np.linalg.norm(x - y)
    return bool(apart > delta)
