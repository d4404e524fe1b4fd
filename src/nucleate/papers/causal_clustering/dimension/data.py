"""Runs with a value matrix whose dominant eigenspace L has few dimensions: tokens go towards L while they
gather into clusters."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.cluster_runs import (
    leaders,
    runs_for_clusters,
    simulate_frames,
    tokens_with_density,
)

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["run", "value_matrix"]

FRAMES = 64
TOKENS_ON_LINE = 200  # where L is a line, which has no caps
CLUSTERS_ON_LINE = 20  # that are counted there


def value_matrix(d: int, dim_L: int, gap: float) -> Array:
    """V = diag(1, ..., 1, 1 - gap, ..., 1 - gap) with `dim_L` ones, spectral gap `gap`."""
    return np.diag([1.0] * dim_L + [1.0 - gap] * (d - dim_L))


def exponent_data(workspace: "ItemWorkspace", dim_L: int, beta: float) -> "Dataset":
    """Clusters at one time in d dimensions, and those that the same tokens form if they are put on L at once:
    (run,) each."""
    p = workspace.parameters
    if dim_L == 1:
        n, per_cap, clusters = TOKENS_ON_LINE, TOKENS_ON_LINE, CLUSTERS_ON_LINE
    else:
        n, per_cap, clusters = tokens_with_density(dim_L, beta, p["per_cap"]), p["per_cap"], p["counted"]
    runs = runs_for_clusters(n, per_cap, clusters, 2, p["max_runs"])
    return workspace.dataset(
        f"dimL{dim_L}-beta{beta:g}",
        lambda: _simulate_exponent(p["d"], dim_L, beta, p["gap"], n, runs, p["seed"], p["at"]),
    )


def _simulate_exponent(
    d: int, dim_L: int, beta: float, gap: float, n: int, runs: int, seed: int, at: float
) -> "Dataset":
    import xarray

    from nucleate.attention import Attention
    from nucleate.sphere import retract, uniform

    start, times = uniform(n, d, seed, runs=runs), np.array([at])  # (b, n, d), (1,)
    x = simulate_frames(Attention(beta, V=value_matrix(d, dim_L, gap)), start, times)[:, 0]  # (b, n, d)
    found = {
        "clusters": [float(len(leaders(tokens, beta))) for tokens in x],
        "near": (np.linalg.norm(x[..., dim_L:], axis=-1) < beta**-0.5).mean(1),
    }
    if dim_L > 1:
        on_L = retract(start[..., :dim_L])
        alone = simulate_frames(Attention(beta), on_L, times)[:, 0]  # (b, n, dim L)
        found["alone"] = [float(len(leaders(tokens, beta))) for tokens in alone]
    else:
        # a line has two points
        found["alone"] = [float(len({bool(side) for side in one[:, 0] > 0.0})) for one in start]
    return xarray.Dataset({name: ("run", np.array(values)) for name, values in found.items()}, attrs={"n": n})


def gap_data(workspace: "ItemWorkspace", beta: float, gap: float) -> "Dataset":
    """How tokens gather and how far they are from L meanwhile, over times up to 8 / gap and a few more: (run,
    time)."""
    p = workspace.parameters
    return workspace.dataset(
        f"gap{gap:g}-beta{beta:g}",
        lambda: _simulate_gap(p["d"], p["dim_L"], beta, gap, p["n"], p["gap_runs"], p["seed"]),
    )


def _simulate_gap(d: int, dim_L: int, beta: float, gap: float, n: int, runs: int, seed: int) -> "Dataset":
    import xarray

    from nucleate.attention import Attention
    from nucleate.sphere import uniform

    times = np.geomspace(0.25, 20.0 + 8.0 / gap, FRAMES)
    # (b, m, n, d)
    start = uniform(n, d, seed, runs=runs)  # (b, n, d)
    x = simulate_frames(Attention(beta, V=value_matrix(d, dim_L, gap)), start, times)
    # (b, m)
    count = np.array([[len(leaders(tokens, beta)) for tokens in one] for one in x], dtype=np.float64)
    return xarray.Dataset(
        {
            "clusters": (("run", "time"), count),
            "on_L": (("run", "time"), (x[..., :dim_L] ** 2).sum(-1).mean(-1)),
        },
        {"time": times},
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Exponents for every dim L, then the scan of the gap."""
    p, data = workspace.parameters, {}
    jobs = [
        (f"dimL{dim_L}-beta{beta:g}", exponent_data, int(dim_L), beta)
        for dim_L, betas in p["betas"].items()
        for beta in betas
    ]
    scan = [(f"gap{gap:g}-beta{beta:g}", gap_data, beta, gap) for beta in p["gap_betas"] for gap in p["gaps"]]
    for i, (name, make, *at) in enumerate([*jobs, *scan]):
        data[name] = make(workspace, *at)
        workspace.progress(i + 1, len(jobs) + len(scan))
    return data
