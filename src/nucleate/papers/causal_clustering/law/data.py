"""The runs behind the law beta^((d-1)/2): at every d and beta as many tokens per cap as in Figure 2."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.cluster_runs import (
    count_clusters_and_centers,
    runs_for_clusters,
    tokens_with_density,
)
from nucleate.papers.core.threads import all_in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["C", "dataset_name", "run"]

C = np.linspace(2.0, 7.0, 21)  # radii of centers, in units of beta^(-1/2)
MAX_BATCH_BYTES = 4e7  # of frames


def run(workspace: "ItemWorkspace") -> "Data":
    """Every d and β, the largest β first, which take longest; then other numbers of tokens on the circle."""
    p = workspace.parameters
    jobs: dict[str, Callable[[], Dataset]] = {}
    for d, beta in ((int(d), beta) for d, betas in p["betas"].items() for beta in reversed(betas)):
        n = tokens_with_density(d, beta, p["per_cap"])
        runs = runs_for_clusters(n, p["per_cap"], p["counted"], p["min_runs"], p["max_runs"])
        times = np.array([t for t in p["times"] if t <= p["end"][str(d)]])
        name = dataset_name(d, beta)
        jobs[name] = partial(_batches, workspace, name, d, beta, n, runs, times)
    for per_cap in p["densities"]:
        n = tokens_with_density(2, p["density_beta"], per_cap)
        times = np.array([t for t in p["times"] if t <= p["at"]])
        name = f"density{per_cap:g}"
        jobs[name] = partial(_batches, workspace, name, 2, p["density_beta"], n, p["density_runs"], times)
    return all_in_threads(jobs, workspace.progress)


def dataset_name(d: int, beta: float) -> str:
    """Of the runs at one d and beta."""
    return f"d{d}-beta{beta:g}"


def _batches(
    workspace: "ItemWorkspace", name: str, d: int, beta: float, n: int, runs: int, times: Array
) -> "Dataset":
    p = workspace.parameters
    batch = max(2, int(MAX_BATCH_BYTES / (8.0 * n * d * len(times))))
    compute = partial(count_clusters_and_centers, d, beta, n, p["seed"], times, C, p["at"])
    return workspace.blocks(name, runs, batch, compute).assign_attrs(n=n, beta=beta, d=d)
