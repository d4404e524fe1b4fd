"""Mean numbers of clusters, and the level at which tokens have reached L."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.dimension.data import exponent_name
from nucleate.papers.core.item import Data, Parameters

__all__ = ["means", "reduction_level"]


def means(data: Data, kind: str, dim_L: int, betas: list[float], frame: int = -1) -> tuple[Array, Array]:
    """Mean number of clusters at every β and its standard error, at the last time or another; the variance
    goes with the mean, as far parts know nothing of each other."""
    counts = [data[exponent_name(kind, dim_L, beta)]["clusters"].values[:, frame] for beta in betas]
    mean = np.array([one.mean() for one in counts])
    freedom = np.array([len(one) - 1 for one in counts])
    per_mean = (
        sum(one.var(ddof=1) / m * k for one, m, k in zip(counts, mean, freedom, strict=True)) / freedom.sum()
    )
    return mean, np.sqrt(np.maximum(per_mean, 1e-4) * mean / (freedom + 1))


def reduction_level(p: Parameters) -> float:
    """The mean square of the part in L from which on the reduction has won: half of the way from uniform
    tokens to L."""
    return float((p["dim_L"] / p["d"] + 1.0) / 2.0)
