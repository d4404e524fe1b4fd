"""Who has won, from how near tokens end to places, and the strength from which on the first token does not.

A run is won by the owner of a place if at least MOST of the other tokens end within RADIUS of it.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.item import Parameters
from nucleate.papers.core.numbers import Number, share_of

__all__ = [
    "MIN_THRESHOLDS",
    "MOST",
    "RADIUS",
    "Law",
    "Phase",
    "Threshold",
    "axis_values",
    "interval",
    "line",
    "phase",
    "shares",
    "thresholds",
    "wins",
]

RADIUS = 30.0  # degrees
MOST = 0.9  # of the tokens
RESAMPLES = 2000  # of starts
MIN_THRESHOLDS = 3  # for a line
Phase = Literal["x_1", "common", "not", "open"]
Wins = NDArray[np.bool_]


def wins(overlap: Array, radius: float = RADIUS) -> Wins:
    """Whether a run is won: cosines (..., token) -> (...)."""
    near = overlap >= np.cos(np.radians(radius))  # (..., token)
    return np.asarray(near.mean(-1) >= MOST)


def shares(overlap: Array, about: str, radius: float = RADIUS) -> dict[str, Number]:
    """At one strength and beta, of overlap (start, kind, token): the share of runs won by x_1, by another
    token, and under the full mask by x_1."""
    numbers = {}
    for kind, name, words in (
        (0, "first", "end at x_1(t)"),
        (1, "other", "end where another token would be, were it the first"),
        (2, "full", "end where x_1 would be alone, under the full mask"),
    ):
        rows = overlap[:, kind][~np.isnan(overlap[:, kind]).any(-1)]  # (starts, token)
        if len(rows):
            won = wins(rows, radius)
            numbers[name] = share_of(int(won.sum()), len(won), f"{about}: runs in which all {words}")
    return numbers


def phase(found: dict[str, Number]) -> Phase:
    """x_1 wins; all end there, but no less where another token would be, or without an order; x_1 does not
    win; not decided by these starts."""
    first = found["first"]
    low, high = first.low or 0.0, 1.0 if first.high is None else first.high
    if high < 0.5:
        return "not"
    if low <= 0.5:
        return "open"
    nulls = [1.0 if one.high is None else one.high for name, one in found.items() if name != "first"]
    return "x_1" if max(nulls) < low else "common"


def axis_values(p: Parameters, ingredient: str) -> Array:
    """The values of the axis in which its threshold is looked for: logarithms, but for ALiBi's slope, which
    is one by itself; (values,)."""
    values = np.array(p["cases"][ingredient]["values"], dtype=np.float64)
    return values if ingredient == "alibi" else np.log(values)


class Threshold(NamedTuple):
    """The place on the axis at which half the starts change, with a 95 % interval out to the edges of the
    grid's cells; -inf or inf where it lies below or above all values tried."""

    value: float
    low: float
    high: float
    below: Array  # (resamples,), the ends of the cell in which it lies, starts drawn again
    above: Array


def thresholds(won: Wins, axis: Array, rising: bool) -> list[Threshold]:
    """Of won (start, value, beta), for every beta: where the share of starts won falls below one half, or
    rises above it if `rising`."""
    starts, found = len(won), []
    drawn = np.random.default_rng(0).integers(starts, size=(RESAMPLES, starts))
    for b in range(won.shape[2]):
        before = np.where(won[:, :, b] != rising, 1.0, -1.0)  # (start, value)
        value = _halves(before.sum(0)[None], axis)[0][0]
        _, below, above = _halves(before[drawn].sum(1), axis)  # (resamples,) each
        found.append(Threshold(float(value), *interval(below, above), below, above))
    return found


def _halves(excess: Array, axis: Array) -> tuple[Array, Array, Array]:
    """Where excesses (rows, values), of starts before the change over those after it, cross zero, made
    monotone: the place, between straight lines, and the values below and above it, (rows,) each."""
    smooth = _falling(excess)
    ends = np.concatenate([[-np.inf], axis, [np.inf]])
    last, first = (smooth > 0.0).sum(1), len(axis) + 1 - (smooth < 0.0).sum(1)  # (rows,), into ends
    below, above = ends[last], ends[first]
    rows, inside = np.arange(len(excess)), np.isfinite(below) & np.isfinite(above)
    value = np.where(np.isfinite(below), np.inf, -np.inf)
    a, b = last[inside] - 1, first[inside] - 1  # into axis
    high, low = smooth[rows[inside], a], smooth[rows[inside], b]
    value[inside] = axis[a] + high / (high - low) * (axis[b] - axis[a])
    return value, below, above


def _falling(values: Array) -> Array:
    """The nearest falling sequence to every row, (rows, m) -> (rows, m): at i the least over a <= i of the
    largest over b >= i of the mean from a to b."""
    rows, m = values.shape
    total = np.concatenate([np.zeros((rows, 1)), values.cumsum(1)], 1)  # (rows, m + 1)
    a, b = np.arange(m)[:, None], np.arange(m)
    mean = (total[:, None, 1:] - total[:, :-1, None]) / np.maximum(b - a + 1, 1)  # (rows, a, b)
    mean[:, b < a] = -np.inf
    largest = np.maximum.accumulate(mean[:, :, ::-1], 2)[:, :, ::-1]  # over b >= i, (rows, a, i)
    largest[:, b < a] = np.inf
    return np.asarray(largest.min(1))


def interval(below: Array, above: Array) -> tuple[float, float]:
    """The 95 % interval of a quantity that lies between two bounds, starts drawn again, (resamples,) each;
    either may be infinite."""
    low, high = np.sort(below[~np.isnan(below)]), np.sort(above[~np.isnan(above)])
    if not len(low):
        return -np.inf, np.inf
    return float(low[int(0.025 * len(low))]), float(high[int(0.975 * len(high))])


class Law(NamedTuple):
    """Thresholds against beta: the line through them, and how much they bend, the square's coefficient."""

    level: float  # at beta = 0
    slope: float
    slope_interval: tuple[float, float]
    bend: float
    bend_interval: tuple[float, float]


def line(found: list[Threshold], betas: Array) -> Law | None:
    """By least squares, of the thresholds that lie among the values tried, anywhere within their cells; None
    with too few."""
    value = np.array([one.value for one in found])  # (betas,)
    inside = np.isfinite(value)
    if inside.sum() < MIN_THRESHOLDS:
        return None
    slope, level = np.polyfit(betas[inside], value[inside], 1)
    bend = (_weights(inside[None], betas, 2)[0, inside] * value[inside]).sum()
    below, above = (
        np.stack(some, 1) for some in zip(*[(one.below, one.above) for one in found], strict=True)
    )
    use = np.isfinite(below) & np.isfinite(above) & inside  # (resamples, betas)
    intervals = []
    for degree in (1, 2):
        weights = _weights(use, betas, degree)  # (resamples, betas)
        ends = np.stack([weights * np.where(use, below, 0.0), weights * np.where(use, above, 0.0)])
        intervals.append(interval(ends.min(0).sum(1), ends.max(0).sum(1)))
    return Law(float(level), float(slope), intervals[0], float(bend), intervals[1])


def _weights(use: NDArray[np.bool_], x: Array, degree: int) -> Array:
    """With which the values used at x (m,) make the highest coefficient of their polynomial by least squares,
    (rows, m) -> (rows, m); NaN with fewer than three."""
    X = x[:, None] ** np.arange(degree + 1)  # (m, powers)
    A = np.einsum("rm,mi,mj->rij", use, X, X)
    few = use.sum(1) < 3
    A[few] = np.eye(degree + 1)
    found = np.linalg.solve(A, use[:, None, :] * X.T)[:, -1]  # (rows, m)
    found[few] = np.nan
    return np.asarray(found)
