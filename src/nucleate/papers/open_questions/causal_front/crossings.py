"""When the front passes every place of the sequence, and what is seen behind it."""

import numpy as np

from nucleate.checks import Array

__all__ = ["LEVEL", "crossing_times", "settled"]

LEVEL = 0.1  # of zeta - 1, at which the front is read off: its edge
SETTLED = 5.0  # time after the front has passed at which its clusters are narrow


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


def settled(seen: Array, crossing: Array, times: Array) -> Array:
    """What is seen a while after the front has passed, when clusters are narrow; NaN where that is later than
    the last time: seen (time, bin), crossing (bin,) -> (bin,)."""
    found = [np.interp(t + SETTLED, times, column) for t, column in zip(crossing, seen.T, strict=True)]
    return np.where(crossing + SETTLED <= times[-1], found, np.nan)
