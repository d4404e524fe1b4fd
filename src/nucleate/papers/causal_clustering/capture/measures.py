"""Shares of tokens near each center, and the times at which tokens are crowded."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["CROWDED", "MIN_TOKENS", "crowding_times", "large_sizes", "shares", "slopes"]

CROWDED = (
    0.1  # contrast; it is below 0.04 at the start for 1000 tokens, and 0.3 to 1 when all are in clusters
)
MIN_TOKENS = 1000  # from which on a start is not crowded by chance


def shares(found: "Dataset", t: float) -> Array:
    """The share of the first n tokens near each center at one time: (run, tokens, center), NaN where there is
    none."""
    held = found["held"].values[:, int(np.searchsorted(found["time"].values, t))]
    return np.asarray(held / found["tokens"].values[:, None])


def crowding_times(found: "Dataset", variable: str = "contrast", level: float = CROWDED) -> Array:
    """The time at which the contrast of the first n tokens reaches the level, (run, tokens): by its logarithm
    between two frames; NaN if never, or from the start."""
    t, total = found["time"].values, found[variable].values  # (m,), (run, time, tokens)
    times = np.full((total.shape[0], total.shape[2]), np.nan)
    for run, i in np.ndindex(times.shape):
        above = np.log(total[run, :, i] / level)  # (m,)
        after = int((above >= 0.0).argmax())
        if above[after] >= 0.0 and after > 0:
            times[run, i] = np.interp(0.0, above[after - 1 : after + 1], t[after - 1 : after + 1])
    return times


def large_sizes(found: "Dataset", level: float = CROWDED) -> NDArray[np.int64]:
    """Where in `tokens` the sizes are that count in slopes: large, and crowded in the end in every run, as
    measured and by the linear solution."""
    both = [crowding_times(found, variable, level) for variable in ("contrast", "linear")]
    some = np.isfinite(both).all(axis=(0, 1)) & (found["tokens"].values >= MIN_TOKENS)
    return np.flatnonzero(some)


def slopes(found: "Dataset", variable: str = "contrast", level: float = CROWDED) -> Array:
    """The time per unit of ln n that crowding takes, by a line through each run, (run,); NaN if fewer than
    three sizes are crowded."""
    large, times = large_sizes(found, level), crowding_times(found, variable, level)
    if len(large) < 3:
        return np.full(len(times), np.nan)
    n = np.log(found["tokens"].values[large])
    return np.array([np.polyfit(n, one[large], 1)[0] for one in times])
