"""Where the mean cosine passes the value that it has at the critical gamma, and how far it is from that of
equiangular tokens."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.theory.long_context import layer_cosine

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["crossings", "distances", "map_ridge"]


def crossings(found: "Dataset", rho: float) -> Array:
    """gamma (1 - rho) where the cosine passes 4 rho / (1 + 3 rho), run by run, (runs,); NaN where it does
    not."""
    share = found["gamma"].values * (1.0 - rho)
    return np.array([_crossing(share, cosine, rho) for cosine in found["cosine"].values])


def distances(found: "Dataset", n: int, rho: float) -> Array:
    """The largest distance, over gamma, of the cosine to that of equiangular tokens, run by run, (runs,)."""
    exact = layer_cosine(n, rho, found["gamma"].values * np.log(n))  # (gammas,)
    return np.asarray(np.abs(found["cosine"].values - exact).max(-1))


def map_ridge(found: "Dataset") -> Array:
    """The same for every rho of a map, (rhos,)."""
    return np.array(
        [
            _crossing(found["gamma"].values * (1.0 - rho), cosine[0], float(rho))
            for rho, cosine in zip(found["rho"].values, found["cosine"].values, strict=True)
        ]
    )


def _crossing(share: Array, cosine: Array, rho: float) -> float:
    level = 4.0 * rho / (1.0 + 3.0 * rho)
    above = np.flatnonzero((cosine[:-1] >= level) & (cosine[1:] < level))
    if len(above) == 0:
        return np.nan
    i = above[-1]
    part = (cosine[i] - level) / (cosine[i] - cosine[i + 1])
    return float(share[i] + part * (share[i + 1] - share[i]))
