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
    "MOST",
    "RADIUS",
    "Phase",
    "Threshold",
    "axis_values",
    "line",
    "phase",
    "shares",
    "thresholds",
    "wins",
]

RADIUS = 30.0  # degrees
MOST = 0.9  # of the tokens
RESAMPLES = 2000  # of starts
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
    """The place on the axis at which half the starts change, with a 95 % interval; -inf or inf where it lies
    below or above all values tried."""

    value: float
    low: float
    high: float
    each: Array  # (starts,)


def thresholds(won: Wins, axis: Array, rising: bool) -> list[Threshold]:
    """Of won (start, value, beta), for every beta.  Of a start: half way from the last value before the first
    change to the next one, x_1 winning below it, or above it if `rising`."""
    before = ~won if rising else won  # (start, value, beta)
    ends = np.concatenate([[-np.inf], (axis[1:] + axis[:-1]) / 2.0, [np.inf]])  # (values + 1,)
    changed = np.concatenate([~before, np.ones_like(before[:, :1])], 1).argmax(1)  # (start, beta)
    found = []
    for each in ends[changed].T:  # (starts,)
        drawn = np.random.default_rng(0).integers(len(each), size=(RESAMPLES, len(each)))
        again = np.sort(_median(each[drawn]))
        low, high = again[int(0.025 * RESAMPLES)], again[int(0.975 * RESAMPLES)]
        found.append(Threshold(float(_median(each[None])[0]), float(low), float(high), each))
    return found


def _median(values: Array) -> Array:
    """The lower median of every row, (rows, starts) -> (rows,): infinities have no mean."""
    return np.sort(values, 1)[:, (values.shape[1] - 1) // 2]


def line(found: list[Threshold], betas: Array) -> tuple[float, float, float, float] | None:
    """Level and slope against beta of the thresholds that lie among the values tried, least squares, and the
    95 % interval of the slope, starts drawn again; None with fewer than three."""
    value = np.array([one.value for one in found])  # (betas,)
    inside = np.isfinite(value)
    if inside.sum() < 3:
        return None
    slope, level = np.polyfit(betas[inside], value[inside], 1)
    each = np.stack([one.each for one in found])[inside]  # (inside, starts)
    drawn = np.random.default_rng(1).integers(each.shape[1], size=(RESAMPLES, each.shape[1]))
    again = np.stack([_median(row[drawn]) for row in each], 1)  # (resamples, inside)
    low, high = np.nanquantile(_slopes(again, betas[inside]), [0.025, 0.975])
    return float(level), float(slope), float(low), float(high)


def _slopes(values: Array, x: Array) -> Array:
    """Of lines through the finite values of every row, (rows, m) -> (rows,); NaN with fewer than three."""
    use = np.isfinite(values)  # (rows, m)
    y, count = np.where(use, values, 0.0), use.sum(1, keepdims=True)
    from_mean = np.where(use, x - (use * x).sum(1, keepdims=True) / np.maximum(count, 1), 0.0)  # (rows, m)
    return np.where(
        count[:, 0] >= 3, (from_mean * y).sum(1) / np.maximum((from_mean**2).sum(1), 1e-300), np.nan
    )
