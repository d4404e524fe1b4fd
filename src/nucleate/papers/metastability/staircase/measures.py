"""Levels of the energy after each merge, and how flat it is between them."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["FLAT", "energy_after_merges", "flat_share", "levels"]

FLAT = 0.01  # of the energy, whose largest value is 1


def levels(member: Array) -> Array:
    """The sums of squared masses before the first merge and after each, (merges + 1,), from the tokens of
    every merged cluster, (merges, n)."""
    n = member.shape[1]
    label = np.arange(n)
    found = [n / n**2]
    for tokens in member.astype(bool):
        label[tokens] = label[tokens][0]
        found.append(float(np.square(np.unique(label, return_counts=True)[1]).sum()) / n**2)
    return np.array(found)


def energy_after_merges(found: "Dataset") -> Array:
    """The energy when each merge has just been, (merges,)."""
    energy, rescaled = found["energy"].values, found["rescaled"].values
    ends = [int(np.flatnonzero(rescaled <= one)[-1]) for one in found["merge_rescaled"].values]
    return np.asarray(energy[np.minimum(ends, len(energy) - 1)])


def flat_share(found: "Dataset") -> float:
    """The share of rescaled time, until all are one, in which the energy is within FLAT of a level."""
    energy, rescaled = found["energy"].values, found["rescaled"].values
    off = np.abs(energy[:, None] - levels(found["member"].values)).min(-1)  # (frames,)
    near, step = (off <= FLAT).astype(float), np.diff(rescaled)
    return float(step @ (0.5 * (near[1:] + near[:-1])) / step.sum())
