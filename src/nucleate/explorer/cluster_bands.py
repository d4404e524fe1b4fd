"""How many clusters the runs of an ensemble have over time: the band behind the page's curve of one run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nucleate.checks import InputError
from nucleate.parse.validate import length
from nucleate.studies.block import STATUS
from nucleate.studies.observables import in_radians
from nucleate.studies.result import Ensemble, loaded
from nucleate.studies.store import RUN_AGAIN

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
    name = next(
        (name for name, table in found.study["observables"].items() if _counts_over_time(table)), None
    )
    if name is None:
        return None
    if set(found.data[name].dims) != {*where, "run", "time"} or set(found.data["status"].dims) != {
        *where,
        "run",
    }:
        raise InputError(f"{name} has not the axes of its study. {RUN_AGAIN}")
    point = loaded(found.data[[name, "status"]].isel(where), name)
    done = point["status"].values == DONE  # (run,)
    counts = point[name].transpose("run", "time").values[done]  # (done runs, m)
    if len(counts) == 0 or not np.isfinite(counts).all():
        return None
    return ClusterBand(
        name,
        len(counts),
        in_radians(length(f"radius of {name}", found.study["observables"][name].get("radius")), beta),
        point["time"].values.tolist(),
        np.quantile(counts, QUANTILES, axis=0).tolist(),
    )


def _counts_over_time(table: Any) -> bool:
    """Whether an observable counts clusters over time; a stranger's file may have anything in its place."""
    return (
        isinstance(table, Mapping) and table.get("kind") == "clusters" and table.get("at", "times") == "times"
    )
