"""Which mode is the first to be large, measured and as a race of random modes that do not feel each other."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["first_modes", "raced_modes"]

RACES = 20_000  # at once


def first_modes(found: "Dataset", level: float) -> Array:
    """The mode that is largest in the first frame in which one has reached the level, run by run, (runs,); 0
    where none has."""
    size = found["size"].values  # (run, time, k)
    reached = size.max(-1) >= level  # (run, time)
    frame = reached.argmax(-1)
    first = found["k"].values[size[np.arange(len(size)), frame].argmax(-1)]
    return np.where(reached.any(-1), first, 0)


def raced_modes(rates: Array, n: float, level: float, seed: int) -> Array:
    """How likely each mode is the first at the level, (k,): modes start as independent complex normal numbers
    of variance 1/n, and each grows at its rate alone."""
    rng = np.random.default_rng(seed)
    size = np.sqrt(rng.exponential(1.0 / n, (RACES, len(rates))))  # (races, k)
    with np.errstate(divide="ignore"):
        time = np.log(level / size) / rates  # (races, k)
    return np.bincount(time.argmin(-1), minlength=len(rates)) / RACES
