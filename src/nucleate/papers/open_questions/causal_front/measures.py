"""When the front passes every place of the sequence, and how that time grows with s = ln k."""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

__all__ = [
    "correlations",
    "crossing_times",
    "growth_ratio",
    "half_level",
    "mass_spread",
    "slopes",
    "time_errors",
]


def half_level(seen: Array) -> float:
    """Half of what tokens see at the end, above the uniform law: seen (start, time, bin)."""
    return float(seen[:, -1].mean() / 2.0)


def crossing_times(seen: Array, times: Array, level: float) -> Array:
    """When what is seen first reaches the level, between frames by a straight line; NaN if it does not:
    (..., time, bin) -> (..., bin)."""
    above = seen >= level  # (..., time, bin)
    at = above.argmax(-2)  # (..., bin) the first frame above
    now = np.take_along_axis(seen, at[..., None, :], -2)[..., 0, :]
    before = np.take_along_axis(seen, np.maximum(at - 1, 0)[..., None, :], -2)[..., 0, :]
    part = (level - before) / np.where(now > before, now - before, 1.0)
    found = times[np.maximum(at - 1, 0)] + part * (times[at] - times[np.maximum(at - 1, 0)])
    return np.where(above.any(-2) & (at > 0), found, np.nan)


def slopes(crossing: Array, s: Array, least: float) -> Array:
    """dt/ds of every start, least squares over the bins from s = least on: (start, bin) -> (start,)."""
    use = s >= least
    return np.array([np.polyfit(s[use], row[use], 1)[0] for row in crossing])


def time_errors(crossing: Array, predicted: Array, s: Array, least: float) -> Array:
    """The mean over bins of |t - t'|, (start, bin) -> (start,)."""
    use = s >= least
    return np.asarray(np.abs(crossing - predicted)[:, use].mean(1))


def growth_ratio(power: Array, predicted: Array, at: int) -> Array:
    """Of every start, the power of its modes at frame `at` over that at frame 0, in units of the predicted
    growth of each: (start, time, mode), (time, mode) -> (start,)."""
    measured = (power[:, at] / predicted[at]).sum(-1)  # (start,)
    return np.asarray(measured / (power[:, 0] / predicted[0]).sum(-1))


def mass_spread(mass: Array) -> Array:
    """Standard deviation over mean of the masses of every start's clusters, (start, cluster) -> (start,)."""
    return np.asarray(np.nanstd(mass, axis=1) / np.nanmean(mass, axis=1))


def correlations(mass: Array, arc: Array, shift: int = 0) -> Array:
    """Of masses and arcs, those of the next `shift` start for a null: (start, cluster) -> (start,)."""
    found = []
    for row, other in zip(mass, np.roll(arc, shift, 0), strict=True):
        good: NDArray[np.bool_] = ~np.isnan(row) & ~np.isnan(other)
        found.append(np.corrcoef(row[good], other[good])[0, 1])
    return np.array(found)
