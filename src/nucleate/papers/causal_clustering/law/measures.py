"""Mean numbers of centers and clusters at every β, and how well centers tell the clusters."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.law.data import C, dataset_name
from nucleate.papers.causal_clustering.shared.cluster_runs import FIGURE_C
from nucleate.papers.core.item import Data

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["DECADE", "KINDS", "MIN_VARIANCE_PER_COUNT", "counts_of_runs", "match_curve", "means"]

KINDS = {"strong": "strong centers", "renyi": "Rényi centers", "clusters": "clusters"}
DECADE = 10.0
MIN_VARIANCE_PER_COUNT = 1e-3


def counts_of_runs(found: "Dataset", kind: str, at: float) -> Array:
    """How many there are, run by run, (runs,): clusters at a time, centers with the radius of the figures."""
    if kind == "clusters":
        return found["clusters"].values[:, int(np.searchsorted(found["time"].values, at))]
    return found[kind].values[:, int(np.searchsorted(C, FIGURE_C))]


def means(data: Data, d: int, betas: list[float], kind: str, at: float) -> tuple[Array, Array]:
    """Mean counts at every β and the standard errors that their spread over runs gives, (betas,) each."""
    counts = [counts_of_runs(data[dataset_name(d, beta)], kind, at) for beta in betas]
    mean = np.array([one.mean() for one in counts])
    # counts that hardly differ in a few runs may differ more in others
    variance = np.maximum([one.var(ddof=1) for one in counts], MIN_VARIANCE_PER_COUNT * mean)
    return mean, np.sqrt(variance / [len(one) for one in counts])


def match_curve(data: Data, d: int, betas: list[float], kind: str) -> tuple[Array, Array]:
    """The share of clusters that hold exactly one center for every c, and its standard error, (c,): runs
    weighted by their clusters."""
    found = [data[dataset_name(d, beta)] for beta in betas]
    share = np.concatenate([one[f"{kind}_match"].values for one in found])  # (runs, c)
    weight = np.concatenate([one["clusters"].values[:, -1] for one in found])  # (runs,)
    mean = weight @ share / weight.sum()
    return mean, np.sqrt((weight**2) @ (share - mean) ** 2) / weight.sum()
