"""Mean numbers of centers and clusters at every β, and how well centers tell the clusters."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.law.data import C, dataset_name
from nucleate.papers.causal_clustering.shared.cluster_runs import FIGURE_C
from nucleate.papers.core.item import Data, Parameters

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["DECADE", "KINDS", "counts_of_runs", "match_curve", "means"]

KINDS = {"strong": "strong centers", "renyi": "Rényi centers", "clusters": "clusters"}
MIN_RUNS_FOR_VARIANCE = 8  # from which on their own spread gives the error
DECADE = 10.0


def counts_of_runs(found: "Dataset", kind: str, at: float) -> Array:
    """How many there are, run by run, (runs,): clusters at a time, centers with the radius of the figures."""
    if kind == "clusters":
        return found["clusters"].values[:, int(np.searchsorted(found["time"].values, at))]
    return found[kind].values[:, int(np.searchsorted(C, FIGURE_C))]


def means(data: Data, p: Parameters, d: int, betas: list[float], kind: str, at: float) -> tuple[Array, Array]:
    """Mean counts at every β and their standard errors, (betas,) each.

    Where there are too few runs to tell, the variance is taken in proportion to the mean, as at the largest β
    with enough runs: far parts of the sphere know nothing of each other.
    """
    counts = [counts_of_runs(data[dataset_name(d, beta)], kind, at) for beta in betas]
    mean = np.array([one.mean() for one in counts])
    enough = [i for i, one in enumerate(counts) if len(one) >= MIN_RUNS_FOR_VARIANCE] or [0]
    per_mean = counts[enough[-1]].var(ddof=1) / mean[enough[-1]]
    variance = [
        one.var(ddof=1) if len(one) >= MIN_RUNS_FOR_VARIANCE else per_mean * m
        for one, m in zip(counts, mean, strict=True)
    ]
    runs = np.array([len(one) for one in counts])
    return mean, np.sqrt(np.maximum(variance, 1e-3 * mean) / runs)


def match_curve(data: Data, d: int, betas: list[float], kind: str) -> tuple[Array, Array]:
    """The share of clusters that hold exactly one center for every c, and its standard error, (c,): runs
    weighted by their clusters."""
    found = [data[dataset_name(d, beta)] for beta in betas]
    share = np.concatenate([one[f"{kind}_match"].values for one in found])  # (runs, c)
    weight = np.concatenate([one["clusters"].values[:, -1] for one in found])  # (runs,)
    mean = weight @ share / weight.sum()
    return mean, np.sqrt((weight**2) @ (share - mean) ** 2) / weight.sum()
