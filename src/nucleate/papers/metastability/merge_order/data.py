"""Random tokens on an arc, followed until they are one: who merged with whom, and who was nearest."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.metastability.cluster_flow import follow_clusters
from nucleate.papers.metastability.merge_order.linkage import (
    centroid_linkage,
    centroid_margins,
    single_linkage,
)

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["clear_start", "run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Every beta, some starts at a time."""
    p, data = workspace.parameters, {}
    for i, beta in enumerate(p["betas"]):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(i + done / total, len(p["betas"]))

        name = f"beta{beta:g}"
        data[name] = workspace.blocks(
            name, p["starts"], p["starts_at_once"], partial(orders, p, beta), progress=progress
        )
    return data


def clear_start(p: "Parameters", start: int) -> Array:
    """Sorted uniform angles (n,), drawn until all choices of centroid linkage are clear at the largest
    beta."""
    rng = np.random.default_rng([p["seed"], start])
    while True:
        phi = np.sort(rng.uniform(0.0, p["arc"], p["n"]))
        if max(p["betas"]) * centroid_margins(phi).min() >= p["clear"]:
            return np.asarray(phi)


def orders(p: "Parameters", beta: float, starts: range) -> "Dataset":
    """For every start whether its order of merges is that of each linkage and the nearest pair is first; and
    by how much, in the exponent of its weight, the nearest pair is nearer than the next, at first and at the
    closest call."""
    import xarray

    found = []
    for start in starts:
        phi = clear_start(p, start)
        merges = [frozenset(map(frozenset, one)) for one in follow_clusters(phi, beta).merged]
        centroid, single = centroid_linkage(phi), single_linkage(phi)
        same = [merges == centroid, merges == single, merges[0] == single[0], centroid == single]
        margins = beta * centroid_margins(phi)  # (n - 2,)
        found.append([*same, margins[0], margins.min()])
    names = ("centroid", "single", "nearest_first", "linkages_agree", "first_margin", "least_margin")
    return xarray.Dataset(
        {name: ("run", column) for name, column in zip(names, np.array(found, dtype=float).T, strict=True)}
    )
