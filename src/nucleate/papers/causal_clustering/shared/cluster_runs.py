"""Clusters that really form: simulated batches, the first tokens of clusters at some times, and how well
centers of the start tell where clusters will be."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.attention import Attention
    from nucleate.integrate.run import Run

__all__ = [
    "FIGURE_C",
    "count_clusters_and_centers",
    "finished_frames",
    "leaders",
    "match_share",
    "runs_for_clusters",
    "simulate_frames",
    "tokens_with_density",
]

COUNT_RTOL, COUNT_ATOL = 1e-4, 1e-6  # radians, for counts of things no nearer to each other than beta^(-1/2)
FIGURE_C = 4.0  # radius of centers in the paper's figures, in units of beta^(-1/2)


def simulate_frames(model: "Attention", start: Array, times: Array) -> Array:
    """The tokens of b runs at some times, (b, m, n, d)."""
    from nucleate.integrate.simulate import simulate

    return finished_frames(
        simulate(
            model, start, float(times[-1]), save=times, rtol=COUNT_RTOL, atol=COUNT_ATOL, method="explicit"
        )
    )


def finished_frames(run: "Run") -> Array:
    """The frames of a run, or of several, that must have reached the end: what was not simulated cannot be
    counted."""
    from nucleate.papers.core.interruption import uninterrupted

    if not uninterrupted(run).done:
        raise InputError(
            f"A run ended early ({run.ending}), and its clusters cannot be counted. Report it with the"
            " command that was given."
        )
    return run.x


def leaders(x: Array, beta: float) -> NDArray[np.int64]:
    """The first token of every cluster: those farther than beta^(-1/2) from every earlier token at this
    moment, as in `merges`."""
    from nucleate.observe.centers import renyi_centers
    from nucleate.observe.merges import cluster_width

    return renyi_centers(x, cluster_width(beta), strong=True)


def match_share(x: Array, leaders_then: NDArray[np.int64], centers: NDArray[np.int64]) -> float:
    """The share of clusters, by their leaders, that hold exactly one of the centers; of the centers, if these
    are more.

    x (n, d) are the tokens when clusters are there; a center belongs to the cluster whose leader is nearest.
    """
    from scipy.spatial import KDTree

    nearest = KDTree(x[leaders_then]).query(x[centers])[1]  # (centers,)
    held = np.bincount(nearest, minlength=len(leaders_then))  # (leaders,)
    return float((held == 1).sum() / max(len(leaders_then), len(centers)))


def tokens_with_density(d: int, beta: float, per_cap: float) -> int:
    """n with `per_cap` tokens in a cap of radius 4 beta^(-1/2): scaled by beta^(1/2), all systems of one d
    then look the same locally."""
    from nucleate.theory.counts import cap_share

    return round(per_cap / cap_share(min(FIGURE_C * beta**-0.5, np.pi), d))


def runs_for_clusters(n: int, per_cap: float, clusters: float, min_runs: int, max_runs: int) -> int:
    """So many runs that about `clusters` clusters are counted, if there is one in a cap."""
    return int(np.clip(round(clusters * per_cap / n), min_runs, max_runs))


def count_clusters_and_centers(
    d: int, beta: float, n: int, seed: int, times: Array, c: Array, match_time: float, runs: range
) -> "Dataset":
    """Clusters over time, centers of the start for every c, and how they match at one time, of some runs with
    Q = K = V = I."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    start = np.stack([uniform(n, d, stream(seed, run, d)) for run in runs])  # (b, n, d)
    x = simulate_frames(Attention(beta), start, times)  # (b, m, n, d)
    frame = int(np.searchsorted(times, match_time))
    rows = in_threads(lambda i: _counts_of_run(start[i], x[i], beta, c, frame), range(len(start)))
    axes = {"clusters": ("run", "time")} | {name: ("run", "c") for name in rows[0] if name != "clusters"}
    values = {name: (axes[name], np.stack([row[name] for row in rows])) for name in axes}
    return xarray.Dataset(
        values, {"time": times, "c": c, "run": np.array(runs)}, {"n": n, "beta": beta, "d": d}
    )


def _counts_of_run(start: Array, x: Array, beta: float, c: Array, frame: int) -> dict[str, Any]:
    """One run: start (n, d), x (m, n, d)."""
    from nucleate.observe.centers import renyi_centers

    led = [leaders(tokens, beta) for tokens in x]
    found: dict[str, Any] = {"clusters": np.array([len(one) for one in led], dtype=np.float64)}  # (m,)
    for name, strong in (("renyi", False), ("strong", True)):
        centers = [renyi_centers(start, min(one * beta**-0.5, np.pi), strong) for one in c.tolist()]
        found[name] = np.array([len(one) for one in centers], dtype=np.float64)  # (c,)
        found[f"{name}_match"] = np.array([match_share(x[frame], led[frame], one) for one in centers])  # (c,)
    return found
