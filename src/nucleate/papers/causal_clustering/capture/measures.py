"""Shares of tokens near each center, and the times at which tokens are crowded."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["CROWDED_SUM", "MIN_TOKENS", "crowding_times", "shares"]

# of the sum of |a_m|^2 over 24 modes, which is 24/n at the start and 2 to 3 when all tokens are in clusters
CROWDED_SUM = 0.5
MIN_TOKENS = 1000  # from which on a start is not crowded by chance


def shares(found: "Dataset", t: float, radius: float) -> Array:
    """The share of the first n tokens near each center at one time: (run, tokens, center), NaN where there is
    none."""
    held = found["held"].values[
        :, int(np.searchsorted(found["time"].values, t)), list(found["radius"].values).index(radius)
    ]
    return np.asarray(held / found["tokens"].values[:, None])


def crowding_times(found: "Dataset") -> Array:
    """The time at which the first n tokens are crowded, (run, tokens): where the sum of |a_m|^2 reaches
    CROWDED_SUM, by its logarithm; NaN if never."""
    t, total = found["time"].values, (found["mode"].values ** 2).sum(-1)  # (m,), (run, time, tokens)
    times = np.full((total.shape[0], total.shape[2]), np.nan)
    for run, i in np.ndindex(times.shape):
        level = np.log(total[run, :, i] / CROWDED_SUM)  # (m,)
        after = int((level >= 0.0).argmax())
        if level[after] >= 0.0 and after > 0:
            times[run, i] = np.interp(0.0, level[after - 1 : after + 1], t[after - 1 : after + 1])
    return times
