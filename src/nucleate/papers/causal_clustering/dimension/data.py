"""Runs with a value matrix whose dominant eigenspace L has few dimensions: tokens go towards L while they
gather into clusters."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.cluster_runs import (
    leaders,
    runs_for_clusters,
    simulate_frames,
    tokens_with_density,
)
from nucleate.papers.core.threads import all_in_threads, in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["exponent_name", "random_value_matrices", "run", "value_matrix"]

FRAMES = 64
TOKENS_ON_LINE = 200  # where L is a line, which has no caps
CLUSTERS_ON_LINE = 20  # that are counted there


def value_matrix(d: int, dim_L: int, gap: float) -> Array:
    """V = diag(1, ..., 1, 1 - gap, ..., 1 - gap) with `dim_L` ones, spectral gap `gap`."""
    return np.diag([1.0] * dim_L + [1.0 - gap] * (d - dim_L))


def random_value_matrices(d: int, dim_L: int, kind: Mapping[str, Any], seed: int, runs: int) -> Array:
    """One V per run, (runs, d, d): the eigenvalue 1 `dim_L` times, the others uniform on [1 - gap - spread,
    1 - gap], eigenvectors uniformly random, orthogonal or not."""
    from nucleate.studies.matrices import drawn
    from nucleate.studies.points import stream

    spec = {"random": "real", "top": 1.0, "multiplicity": dim_L, **kind}
    V = drawn(spec, d, [stream(seed, run, dim_L) for run in range(runs)])
    assert V is not None
    return V


def exponent_data(workspace: "ItemWorkspace", kind: str, dim_L: int, beta: float) -> "Dataset":
    """Clusters in d dimensions, and those that the same tokens form if they are put on L at once, (run, time)
    each: at the time `at` and, with a gap below 1, at `at` / gap, when as much of every token is left beside
    L. `kind` is one of the parameter other_V, or empty for the V of `value_matrix`."""
    p = workspace.parameters
    if dim_L == 1:
        n, per_cap, clusters = TOKENS_ON_LINE, TOKENS_ON_LINE, CLUSTERS_ON_LINE
    else:
        n, per_cap, clusters = tokens_with_density(dim_L, beta, p["per_cap"]), p["per_cap"], p["counted"]
    runs = runs_for_clusters(n, per_cap, clusters, 2, p["max_runs"])

    def simulated() -> "Dataset":
        V = (
            random_value_matrices(p["d"], dim_L, p["other_V"][kind], p["seed"], runs)
            if kind
            else np.broadcast_to(value_matrix(p["d"], dim_L, p["gap"]), (runs, p["d"], p["d"]))
        )
        gap = p["other_V"][kind]["gap"] if kind else p["gap"]
        times = np.unique([p["at"], max(p["at"], p["at"] / gap)])  # (1,) or (2,)
        return _simulate_exponent(V, dim_L, beta, n, p["seed"], times)

    return workspace.dataset(exponent_name(kind, dim_L, beta), simulated)


def exponent_name(kind: str, dim_L: int, beta: float) -> str:
    """The name of the data of one V, dimension of L and β."""
    return f"{kind}{'-' * bool(kind)}dimL{dim_L}-beta{beta:g}"


def _simulate_exponent(V: Array, dim_L: int, beta: float, n: int, seed: int, times: Array) -> "Dataset":
    import xarray

    from nucleate.attention import Attention
    from nucleate.sphere import retract, uniform
    from nucleate.theory.atlas import atlas

    runs, d = V.shape[:2]
    start = uniform(n, d, seed, runs=runs)  # (b, n, d)
    same = np.array_equal(V, np.broadcast_to(V[0], V.shape))
    x = simulate_frames(Attention(beta, V=V[0] if same else V), start, times)  # (b, m, n, d)
    known = [atlas(one) for one in V]
    basis = np.stack([one.basis for one in known])[:, None]  # (b, 1, d, dim L)
    dual = np.stack([one.dual for one in known])  # (b, d, dim L)
    off = x - (x @ basis) @ basis.mT  # (b, m, n, d)
    on_L = retract(start @ dual)  # (b, n, dim L) in the basis: where each token alone would end
    found = {
        "clusters": _count(x, beta),
        "near": (np.linalg.norm(off, axis=-1) < beta**-0.5).mean(-1),
    }  # (b, m) each
    if dim_L > 1:
        found["alone"] = _count(simulate_frames(Attention(beta), on_L, times), beta)
    else:
        # a line has two points
        points = np.array([float(len({bool(side) for side in one[:, 0] > 0.0})) for one in on_L])  # (b,)
        found["alone"] = np.broadcast_to(points[:, None], (runs, len(times))).copy()
    return xarray.Dataset(
        {name: (("run", "time"), values) for name, values in found.items()}, {"time": times}, {"n": n}
    )


def _count(x: Array, beta: float) -> Array:
    """The number of clusters of tokens x (b, m, n, d), (b, m)."""
    return np.array(in_threads(lambda one: [len(leaders(tokens, beta)) for tokens in one], x), dtype=float)


def gap_data(workspace: "ItemWorkspace", gap: float) -> "Dataset":
    """How tokens gather and how far they are from L meanwhile, over times up to 8 / gap and a few more, at
    every beta: (beta, run, time)."""
    p = workspace.parameters
    return workspace.dataset(
        f"gap{gap:g}",
        lambda: _simulate_gap(p["d"], p["dim_L"], p["gap_betas"], gap, p["n"], p["gap_runs"], p["seed"]),
    )


def _simulate_gap(
    d: int, dim_L: int, betas: list[float], gap: float, n: int, runs: int, seed: int
) -> "Dataset":
    import xarray

    from nucleate.attention import Attention
    from nucleate.sphere import uniform

    times = np.geomspace(0.25, 20.0 + 8.0 / gap, FRAMES)
    start = uniform(n, d, seed, runs=runs)  # (b, n, d), the same for every beta
    # in one call, which fills the lanes of the processor: (betas b, m, n, d)
    x = simulate_frames(
        Attention(np.repeat(betas, runs), V=value_matrix(d, dim_L, gap)),
        np.tile(start, (len(betas), 1, 1)),
        times,
    ).reshape(len(betas), runs, FRAMES, n, d)
    axes = ("beta", "run", "time")
    return xarray.Dataset(
        {
            "clusters": (axes, np.stack([_count(one, beta) for one, beta in zip(x, betas, strict=True)])),
            "on_L": (axes, (x[..., :dim_L] ** 2).sum(-1).mean(-1)),
        },
        {"beta": np.array(betas), "time": times},
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Exponents for every dim L, and for other V, then the scan of the gap."""
    p = workspace.parameters
    jobs: dict[str, Callable[[], Dataset]] = {
        exponent_name(kind, int(dim_L), beta): partial(exponent_data, workspace, kind, int(dim_L), beta)
        for kind in ("", *p["other_V"])
        for dim_L, betas in p["other_betas" if kind else "betas"].items()
        for beta in betas
    }
    jobs |= {f"gap{gap:g}": partial(gap_data, workspace, gap) for gap in p["gaps"]}
    found = all_in_threads(jobs, workspace.progress)
    for gap in p["gaps"]:
        one = found.pop(f"gap{gap:g}")
        found |= {f"gap{gap:g}-beta{beta:g}": one.sel(beta=beta, drop=True) for beta in p["gap_betas"]}
    return found
