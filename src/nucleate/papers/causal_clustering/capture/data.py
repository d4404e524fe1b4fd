"""Long runs, of which each serves every n, for later tokens move no earlier one: how uneven the first n
tokens are, how many of them are near each Rényi center, and how far tokens have moved."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.causal_clustering.capture.bound import (
    displacement_bound,
    grid,
    lipschitz_constant,
    unevenness,
)
from nucleate.papers.causal_clustering.capture.linear import (
    linear_sums,
    mode_sums,
    seen_weights,
    top_degree,
)
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["contrast", "dataset_name", "held_by_centers", "run"]

MAX_CENTERS = 16  # circles of radius 4 beta^(-1/2) have room for 12 at beta = 64
RTOL, ATOL = 1e-4, 1e-6  # radians; tokens are compared at distances of beta^(-1/2)
BOUND_RTOL, BOUND_ATOL = 1e-8, 1e-10
RUNS_PER_BLOCK = 2  # computed and stored at a time
BINS = 360  # of angles, in the histograms
PLACES_PER_DECADE = 8  # of the sequence, at which displacements are kept


def run(workspace: "ItemWorkspace") -> "Data":
    """Displacements, then runs for every d and beta; at one beta also the tokens near centers."""
    p, data = workspace.parameters, {}
    for d, n in p["bound_n"].items():
        compute = partial(_moved_block, int(d), p["bound_beta"], n, p["seed"], np.array(p["bound_times"]))
        data[f"bound-d{d}"] = workspace.blocks(f"bound-d{d}", p["bound_runs"], RUNS_PER_BLOCK, compute)
    jobs = [(int(d), beta) for d, betas in p["betas"].items() for beta in betas]
    for i, (d, beta) in enumerate(jobs):
        n = p["n"][str(d)]
        times = np.array([t for t in p["times"] if t <= p["end"][str(d)]])
        sizes = np.array([size for size in p["sizes"] if size <= n])
        radius = p["radius"] if (d, beta) == (2, p["shares_beta"]) else None
        compute = partial(_crowd_block, d, beta, n, p["seed"], times, sizes, radius)
        name = dataset_name(d, beta)
        data[name] = workspace.blocks(name, p["runs"][str(d)], RUNS_PER_BLOCK, compute)
        workspace.progress(i + 1.0, len(jobs))
    return data


def dataset_name(d: int, beta: float) -> str:
    """Of the runs at one d and beta."""
    return f"d{d}-beta{beta:g}"


def _stacked(rows: list[dict[str, Any]], axes: Mapping[str, tuple[str, ...]], runs: range) -> "Dataset":
    import xarray

    values = {name: (axes[name], np.stack([row[name] for row in rows])) for name in rows[0]}
    return xarray.Dataset(values, {"run": np.array(runs)})


# Displacements and their bound


def _moved_block(d: int, beta: float, n: int, seed: int, times: Array, runs: range) -> "Dataset":
    stop = [False]
    rows = in_threads(partial(_moved_run, d, beta, n, seed, times, stop), runs, stop)
    axes = dict.fromkeys(("moved", "bound"), ("run", "time", "place")) | {"ratio": ("run", "time")}
    ends = _places(n)
    return _stacked(rows, axes, runs).assign_coords(time=times, place=ends)


def _moved_run(
    d: int, beta: float, n: int, seed: int, times: Array, stop: list[bool], run: int
) -> dict[str, Any]:
    """How far tokens are from their starts, how far they can be, and the largest quotient of the two."""
    from nucleate.papers.causal_clustering.shared.cluster_runs import finished_frames
    from nucleate.sphere import distance

    start, followed = _simulate(d, beta, n, seed, times, stop, run, BOUND_RTOL, BOUND_ATOL)
    x, ends = finished_frames(followed), _places(n)
    first = np.concatenate([[0], ends[:-1]])
    eta, constant = unevenness(start, beta, grid(d, 64 if d == 2 else 200)), lipschitz_constant(beta, d)
    found: dict[str, list[Any]] = {"moved": [], "bound": [], "ratio": []}
    for frame, t in enumerate(times):
        moved, bound = distance(x[frame], start), displacement_bound(eta, constant, t)  # (n,) each
        found["moved"].append(np.maximum.reduceat(moved, first))
        found["bound"].append(np.maximum.reduceat(bound, first))
        found["ratio"].append((moved / bound).max())
    return {name: np.array(values) for name, values in found.items()}


def _places(n: int) -> NDArray[np.int64]:
    """Where groups of tokens end in the sequence."""
    return np.unique(np.geomspace(1.0, n, 1 + int(PLACES_PER_DECADE * np.log10(n))).round().astype(np.int64))


def _simulate(
    d: int,
    beta: float,
    n: int,
    seed: int,
    times: Array,
    stop: list[bool],
    run: int,
    rtol: float,
    atol: float,
) -> tuple[Array, "Run"]:
    """Uniform tokens (n, d), and the run from there.  One thread: two runs are computed side by side."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    start = uniform(n, d, stream(seed, run, d, round(1000 * beta)))
    followed = simulate(
        Attention(beta),
        start,
        float(times[-1]),
        save=times,
        rtol=rtol,
        atol=atol,
        method="explicit",
        progress=lambda done, total: not stop[0],
        threads=1,
    )
    return start, followed


# Crowds


def _crowd_block(
    d: int,
    beta: float,
    n: int,
    seed: int,
    times: Array,
    sizes: NDArray[np.int64],
    radius: float | None,
    runs: range,
) -> "Dataset":
    stop = [False]
    rows = in_threads(partial(_crowd_run, d, beta, n, seed, times, sizes, radius, stop), runs, stop)
    axes = dict.fromkeys(("contrast", "linear", "apart"), ("run", "time", "tokens")) | {
        "held": ("run", "time", "tokens", "center"),
        "histogram": ("run", "time", "tokens", "bin"),
        "place": ("run", "time", "center"),
    }
    return _stacked(rows, axes, runs).assign_coords(time=times, tokens=sizes)


def _crowd_run(
    d: int,
    beta: float,
    n: int,
    seed: int,
    times: Array,
    sizes: NDArray[np.int64],
    radius: float | None,
    stop: list[bool],
    run: int,
) -> dict[str, Any]:
    """One run in numbers; where a radius is given, also what is near its centers."""
    from nucleate.observe.centers import renyi_centers
    from nucleate.papers.causal_clustering.shared.cluster_runs import FIGURE_C, finished_frames

    start, followed = _simulate(d, beta, n, seed, times, stop, run, RTOL, ATOL)
    x = finished_frames(followed)  # (m, n, d)
    degree, many, linear = linear_sums(start, beta, sizes, times)  # (h,), (h,), (m, h, sizes)
    weight = many * seen_weights(beta, d, degree) ** 2  # (h,)
    # (m, h, sizes)
    sums = np.array([np.cumsum(mode_sums(one, sizes, top_degree(beta, d))[2], axis=1) for one in x])
    found = {"contrast": contrast(sums, weight, sizes), "linear": contrast(linear, weight, sizes)}
    found["apart"] = np.sqrt(contrast(sums - linear, weight, sizes) / found["linear"])
    if radius is not None:
        centers = renyi_centers(start, FIGURE_C * beta**-0.5)
        rows = [held_by_centers(tokens, centers, sizes, radius * beta**-0.5) for tokens in x]
        found |= {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return found


def contrast(sums: NDArray[np.complex128], weight: Array, sizes: NDArray[np.int64]) -> Array:
    """The mean square, over the sphere, of the relative difference of Z, the sum of weights that a token
    would see there, from its mean: (m, h, sizes) -> (m, sizes)."""
    return np.asarray(np.einsum("h,mhs->ms", weight, np.abs(sums / sizes) ** 2))


def held_by_centers(
    x: Array, centers: NDArray[np.int64], sizes: NDArray[np.int64], radius: float
) -> dict[str, Any]:
    """Of the tokens x (n, 2) at one time, for the first `sizes` of them: how many are within the radius of
    each center, and a histogram of angles; and the angles of the centers.  NaN stands for centers that are
    not there, or not yet among so many tokens."""
    angle = np.arctan2(x[:, 1], x[:, 0])  # (n,)
    edges = np.concatenate([[0], sizes])[:-1]  # where the tokens of one size and no smaller one begin
    held = np.full((len(sizes), MAX_CENTERS), np.nan)
    for i, center in enumerate(centers):
        apart = np.abs(np.remainder(angle - angle[center] + np.pi, 2.0 * np.pi) - np.pi)  # (n,)
        count = np.cumsum(np.add.reduceat(apart <= radius, edges, dtype=np.int64))  # (sizes,)
        held[:, i] = np.where(sizes > center, count, np.nan)
    bins = np.floor((angle + np.pi) * (BINS / (2.0 * np.pi))).astype(np.int64) % BINS
    parts = [np.bincount(bins[a:b], minlength=BINS) for a, b in zip(edges, sizes, strict=True)]
    place = np.pad(angle[centers], (0, MAX_CENTERS - len(centers)), constant_values=np.nan)
    return {"held": held, "histogram": np.cumsum(parts, axis=0).astype(np.float64), "place": place}
