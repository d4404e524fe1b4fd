"""Merges of several cells as rows, a line through them, and intervals from starts drawn again."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Parameters
from nucleate.papers.open_questions.lifetimes.data import Cell, cells

__all__ = ["MAX_LEADING", "MIN_EXPONENT", "Merged", "fitted_line", "merged", "resampled", "seeds_of"]

MIN_EXPONENT = 4.0  # beta (1 - cos angle) from which on the law of large exponents is asked for
MAX_LEADING = 0.5  # share of tokens that lead at t_f: if there are more, no clusters have formed


class Merged(NamedTuple):
    """Merges, (rows,) each."""

    exponent: Array  # beta (1 - cos angle)
    log_time: Array  # ln (T m beta sin^2 angle), T since t_f: the exponent, by the law
    error: Array  # ln T minus that of the exact two-token time
    start: Array  # the seed of its start, the same at every beta
    beta: Array
    formed: Array  # whether the clusters of its life have formed at t_f


def seeds_of(p: Parameters, cell: Cell) -> Array:
    """Of the starts of a cell, (starts,): cells of one dimension and use have the same at every beta, and
    count as one start where starts are drawn again."""
    return np.asarray(p["first_seed"][cell.use] + np.arange(cell.starts), dtype=np.float64)


def merged(data: Data, p: Parameters, chosen: Callable[[Cell], bool]) -> Merged:
    """Those of the chosen cells, with exponents from MIN_EXPONENT on."""
    rows: list[Array] = []
    for cell in cells(p):
        if not chosen(cell):
            continue
        found = data[cell.name]
        angle, weight, log_time, law = (
            found[name].values for name in ("angle", "weight", "log_time", "law")
        )  # (starts, MOST)
        exponent = 2.0 * cell.beta * np.sin(angle / 2.0) ** 2
        keep = np.isfinite(log_time) & (exponent >= MIN_EXPONENT) & (angle < np.pi)
        start = seeds_of(p, cell)[:, None] + np.zeros_like(angle)
        leaders = np.isfinite(log_time).sum(1)[:, None] + np.ones_like(angle)  # (starts, MOST) at last one
        whole = np.log(weight * cell.beta * np.sin(angle) ** 2)
        rows.append(
            np.stack(
                [
                    exponent,
                    log_time + whole,
                    log_time - law,
                    start,
                    np.full_like(angle, cell.beta),
                    leaders <= MAX_LEADING * cell.n,
                ],
                axis=-1,
            )[keep]
        )
    return Merged(*np.concatenate(rows).T)


def fitted_line(x: Array, y: Array) -> tuple[float, float]:
    """Slope and intercept with the least sum of |residuals|, which a few chases do not move.

    There is such a line through one of the points, and through a given point its slope is the median of those
    to all others, each weighted by how far it is off in x.
    """
    weight = np.abs(x - x[:, None])  # (rows, rows)
    ways = np.divide(y - y[:, None], x - x[:, None], out=np.zeros_like(weight), where=weight > 0.0)
    order = np.argsort(ways, axis=1)
    below = np.cumsum(np.take_along_axis(weight, order, 1), 1)  # (rows, rows) the weight of slopes up to each
    middle = (below < below[:, -1:] / 2.0).sum(1)  # (rows,)
    slope = np.take_along_axis(ways, np.take_along_axis(order, middle[:, None], 1), 1)[:, 0]  # (rows,)
    intercept = y - slope * x
    best = np.abs(y - slope[:, None] * x - intercept[:, None]).sum(1).argmin()
    return float(slope[best]), float(intercept[best])


def resampled(
    start: Array, statistic: Callable[[NDArray[np.int64]], float], resamples: int, seed: int = 0
) -> tuple[float, float, float]:
    """A statistic of row numbers, and its 95 % interval from whole starts (rows,) drawn again."""
    groups = [np.flatnonzero(start == one) for one in np.unique(start)]
    rng = np.random.default_rng(seed)
    drawn = [
        statistic(np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))]))
        for _ in range(resamples)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return statistic(np.arange(len(start))), float(low), float(high)
