"""The runs behind the law beta^((d-1)/2): at every d and beta as many tokens per cap as in Figure 2."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.cluster_runs import counted

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

__all__ = ["C", "density_data", "law_data", "runs_at", "tokens"]

C = np.linspace(2.0, 7.0, 21)  # radii of centers, in units of beta^(-1/2)
C_FIGURES = 4.0  # that of the paper's figures
ROOM = 4e7  # bytes of frames that one batch may take


def tokens(d: int, beta: float, per_cap: float) -> int:
    """n with `per_cap` tokens in a cap of radius 4 beta^(-1/2): scaled by beta^(1/2), all systems of one d
    then look the same locally."""
    from nucleate.theory.counts import cap_share

    return round(per_cap / cap_share(min(C_FIGURES * beta**-0.5, np.pi), d))


def runs_at(n: int, per_cap: float, clusters: float, least: int, most: int) -> int:
    """So many runs that about `clusters` clusters are counted, if there is one in a cap."""
    return int(np.clip(round(clusters * per_cap / n), least, most))


def law_data(desk: "Desk", d: int, beta: float) -> "Dataset":
    """All runs at one d and beta, a batch at a time from the disk or computed now."""
    p = desk.p
    n = tokens(d, beta, p["per_cap"])
    count = runs_at(n, p["per_cap"], p["counted"], p["least_runs"], p["most_runs"])
    times = np.array([t for t in p["times"] if t <= p["end"][str(d)]])
    return _batches(desk, f"d{d}-beta{beta:g}", d, beta, n, count, times, p["at"])


def density_data(desk: "Desk", per_cap: float) -> "Dataset":
    """Runs on the circle at one beta with other numbers of tokens."""
    p = desk.p
    n = tokens(2, p["density_beta"], per_cap)
    times = np.array([t for t in p["times"] if t <= p["at"]])
    return _batches(desk, f"density{per_cap:g}", 2, p["density_beta"], n, p["density_runs"], times, p["at"])


def _batches(
    desk: "Desk", name: str, d: int, beta: float, n: int, runs: int, times: Array, at: float
) -> "Dataset":
    import xarray

    size = max(2, int(ROOM / (8.0 * n * d * len(times))))
    blocks = [range(first, min(first + size, runs)) for first in range(0, runs, size)]
    parts = [
        desk.dataset(
            f"{name}-{some[0]:04d}", partial(counted, d, beta, n, some, desk.p["seed"], times, C, at)
        )
        for some in blocks
    ]
    return xarray.concat([part.drop_attrs() for part in parts], "run").assign_attrs(n=n, beta=beta, d=d)
