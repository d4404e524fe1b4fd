"""How long clusters live: every merge against the law of two clusters, and the last two against the exact
two-token time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["LEAST_ANGLE", "LEAST_FROM_OPPOSITE", "Lifetimes", "last_lifetimes", "merge_lifetimes"]

# in units of beta^(-1/2): nearer than the first, or nearer to opposite than the second, two clusters do not
# follow the leading term of the two-token time
LEAST_ANGLE, LEAST_FROM_OPPOSITE = 3.0, 2.0


@dataclass(frozen=True, eq=False)
class Lifetimes:
    """Merges of many lives at one beta: what the law says of each, and what is measured; natural
    logarithms."""

    law: Array  # (merges,) beta (1 - cos angle) - log(m beta sin^2 angle)
    measured: Array  # (merges,) log of the time since the merge before
    life: NDArray[np.int64]  # (merges,) the number of the life it is from
    all_merges: int  # with those to which the law does not apply


def merge_lifetimes(found: "Dataset", beta: float) -> Lifetimes:
    """All merges of the lives `found` but the last of each, where only two clusters are left, in which the
    two clusters were far apart, but not opposite."""
    time, since, angle, tokens = (
        found[f"merge_{name}"].values for name in ("time", "since", "angle", "tokens")
    )  # each (starts, merges)
    with np.errstate(invalid="ignore"):
        known = np.isfinite(time)
        known &= np.cumsum(known[:, ::-1], axis=1)[:, ::-1] > 1  # not the last one
        width = beta**-0.5
        far = (angle >= LEAST_ANGLE * width) & (angle <= np.pi - LEAST_FROM_OPPOSITE * width)
        used = known & far & (time > since) & (tokens > 0)
    a, m = angle[used], tokens[used]
    return Lifetimes(
        2.0 * beta * np.sin(a / 2.0) ** 2 - np.log(m * beta * np.sin(a) ** 2),
        np.log(time[used] - since[used]),
        np.nonzero(used)[0],
        int(known.sum()),
    )


def last_lifetimes(every: "list[Dataset]") -> tuple[Array, Array]:
    """Of every life with two clusters at some time: the logarithm of their lifetime, and what the exact
    two-token law gives."""
    rows = [
        (np.log(time - since), expected)
        for found in every
        for time, since, expected in zip(
            *(found[name].values for name in ("last_time", "two_from", "log_expected")), strict=True
        )
        if np.isfinite(time) and time > since
    ]
    measured, expected = (np.array(column) for column in zip(*rows, strict=True))
    return measured, expected
