"""How many clusters the runs of an ensemble have over time: the band behind the page's curve of one run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nucleate.studies.block import STATUS
from nucleate.studies.observables import in_radians
from nucleate.studies.result import Ensemble

__all__ = ["QUANTILES", "ClusterBand", "cluster_band"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
DONE = STATUS.index("done")


@dataclass(frozen=True)
class ClusterBand:
    """Quantiles over the finished runs of one point of a study's grid."""

    name: str  # of the observable
    runs: int  # finished, which the quantiles are of
    radius: float  # radians: steps that join tokens, as the study counts
    t: list[float]  # (m,)
    counts: list[list[float]]  # (quantile, m)

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {**asdict(self), "quantiles": list(QUANTILES)}


def cluster_band(found: Ensemble, where: Mapping[str, int], beta: float) -> ClusterBand | None:
    """The band of the point `where` (an index along every axis of the grid), from the first observable that
    counts clusters over time; None if the study has none, or no run has finished."""
    counted = (
        (name, table)
        for name, table in found.study["observables"].items()
        if table["kind"] == "clusters" and table.get("at", "times") == "times"
    )
    name, table = next(counted, (None, None))
    if name is None or table is None:
        return None
    point = found.data.isel(where)
    done = point["status"].values == DONE  # (run,)
    counts = point[name].transpose("run", "time").values[done]  # (done runs, m)
    if len(counts) == 0 or not np.isfinite(counts).all():
        return None
    return ClusterBand(
        name,
        len(counts),
        in_radians(table["radius"], beta),
        point["time"].values.tolist(),
        np.quantile(counts, QUANTILES, axis=0).tolist(),
    )
