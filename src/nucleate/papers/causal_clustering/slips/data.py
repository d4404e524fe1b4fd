"""The slips: strong centers counted on the sphere, and less of the data by which other items find theirs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.lemma53.data import identity
from nucleate.papers.causal_clustering.lemmaA1.data import grid, proved
from nucleate.papers.causal_clustering.theorem52.data import constructed_case, sweep

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["count_on_sphere", "run"]

MAX_MISSING = 1e-6  # share of the centers among infinitely many tokens that n tokens may lack


def run(workspace: "ItemWorkspace") -> "Data":
    """Centers on the sphere, counted; and what the other slips need."""
    p = workspace.parameters
    datasets: dict[str, Callable[[], Dataset]] = {
        "sphere": lambda: count_on_sphere(p["deltas"], p["starts"], p["seed"]),
        "sweep": lambda: sweep(np.geomspace(0.5, 1e3, p["sweep_betas"]), p["sweep_c"], p["sweep_eps"]),
        "constructed": constructed_case,
        "identity": lambda: identity(p["betas"], p["configurations"], p["n"]),
        "proofs": proved,
        "grid": lambda: grid(p["grid_betas"], p["grid_points"]),
    }
    data = {}
    for i, (name, compute) in enumerate(datasets.items()):
        data[name] = workspace.dataset(name, compute)
        workspace.progress(i + 1, len(datasets))
    return data


def count_on_sphere(deltas: list[float], starts: int, seed: int) -> "Dataset":
    """Strong centers among uniform tokens on the sphere, d = 3, enough of them that more would add none:
    counts (delta, start)."""
    import xarray

    from nucleate.observe.centers import renyi_centers
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream
    from nucleate.theory.counts import cap_share

    counts = []
    for i, delta in enumerate(deltas):
        n = max(1, int(np.ceil(np.log(MAX_MISSING) / np.log1p(-min(cap_share(delta, 3), 1.0 - 1e-9)))))
        counts.append(
            [
                len(renyi_centers(uniform(n, 3, stream(seed, start, i)), delta, strong=True))
                for start in range(starts)
            ]
        )
    return xarray.Dataset({"count": (("delta", "start"), np.array(counts))}, {"delta": np.array(deltas)})
