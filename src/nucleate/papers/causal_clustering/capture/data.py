"""Long runs on the circle: how many of the first n tokens are near each Rényi center, for every n, and how
crowded the tokens are.

One run serves every n, for later tokens move no earlier one.  Uniform tokens do not move but for chance: the
mode a_m = mean of e^{-im phi_j} over the first k tokens obeys, while it is small,
    d(k a_m)/dk = e^{-im phi_k(0)} + lambda_m (integral of a_m over time),
    lambda_m = m^2 I_m(beta) / (beta I_0(beta)),
because the drift of a token is that of the crowd before it.  The solution is a_m(n, t) = mean over j <= n of
e^{-im phi_j(0)} I_0(2 sqrt(lambda_m t ln(n/j))), and its mean square e^{2 lambda_m t} I_0(2 lambda_m t) / n.
A wave e^{s t} k^{-g} has s = lambda / (1 - g), so that the place k where it is of order 1 goes ahead like ln
k = lambda t / (g (1 - g)): at least with speed 4 lambda, at g = 1/2, lambda = max lambda_m, which tends to
2/e for large beta. A front that grows by its foot, out of noise which falls like k^{-1/2} itself, goes with
this least speed in the limit, and is behind by a multiple of ln t before.  So n tokens take a time of about
ln(n) / (4 lambda) to crowd.  (Ours; a sketch, no proof.  I_0 and I_m are Bessel functions.)
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace, Progress
    from nucleate.papers.core.item import Data

__all__ = ["MODES", "growth_rates", "linear_modes", "measure_frame", "run"]

MODES = np.arange(1, 25)  # of which a crowd is made; beta = 64 has its fastest at 11
MAX_CENTERS = 16  # circles of radius 4 beta^(-1/2) have room for 12 at beta = 64
RTOL, ATOL = 1e-5, 1e-7
RUNS_PER_BLOCK = 2  # computed and stored at a time
BINS = 360
SHARE_OF_TIME_MANY = 0.8  # that goes into the runs with very many tokens
LINEAR_UNTIL = 1.0  # time up to which the first tokens have not gathered, and modes are small for all


def growth_rates(beta: float, m: NDArray[np.int64]) -> Array:
    """lambda_m: how fast a small mode of uniform tokens grows if all tokens see all."""
    from scipy.special import ive

    return np.asarray(m**2 * ive(m, beta) / (beta * ive(0, beta)))


def linear_modes(start: Array, beta: float, m: NDArray[np.int64], t: float) -> NDArray[np.complex128]:
    """a_m(n, t) of all tokens from where they start, angles (n,), while it is small: (modes,)."""
    from scipy.special import i0

    n = len(start)
    later = t * np.log(n / np.arange(1.0, n + 1.0))  # (n,)
    return np.array(
        [
            (np.exp(-1j * one * start) * i0(2.0 * np.sqrt(rate * later))).mean()
            for one, rate in zip(m, growth_rates(beta, m), strict=True)
        ]
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """A few runs with very many tokens, and more with fewer for a longer time."""
    p = workspace.parameters
    first = SHARE_OF_TIME_MANY

    def simulated(name: str, n: int, runs: int, times: list[float], progress: "Progress") -> "Dataset":
        sizes = np.array([size for size in p["sizes"] if size <= n])
        compute = partial(_block, p["beta"], n, p["seed"], np.array(times), sizes, p["radii"])
        return workspace.blocks(name, runs, RUNS_PER_BLOCK, compute, progress=progress)

    def progress_many(done: float, total: float) -> None:
        workspace.progress(first * done, total)

    def progress_long(done: float, total: float) -> None:
        workspace.progress(first * total + (1.0 - first) * done, total)

    return {
        "many": simulated("many", p["n"], p["runs"], p["times"], progress_many),
        "long": simulated("long", p["long_n"], p["long_runs"], p["long_times"], progress_long),
    }


def _block(
    beta: float, n: int, seed: int, times: Array, sizes: Array, radii: list[float], runs: range
) -> "Dataset":
    import xarray

    stop = [False]
    rows = in_threads(partial(_simulate_one, beta, n, seed, times, sizes, radii, stop), runs, stop)
    axes = {
        "held": ("run", "time", "radius", "tokens", "center"),
        "mode": ("run", "time", "tokens", "m"),
        "linear": ("run", "time", "m"),
        "center": ("run", "center"),
        "histogram": ("run", "time", "tokens", "bin"),
        "place": ("run", "time", "center"),
    }
    values = {name: (axes[name], np.stack([row[name] for row in rows])) for name in axes}
    return xarray.Dataset(
        values, {"time": times, "radius": radii, "tokens": sizes, "m": MODES, "run": np.array(runs)}
    )


def _simulate_one(
    beta: float, n: int, seed: int, times: Array, sizes: Array, radii: list[float], stop: list[bool], run: int
) -> dict[str, Any]:
    """One run in numbers.  One thread: two runs are computed side by side."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.observe.centers import renyi_centers
    from nucleate.papers.causal_clustering.shared.cluster_runs import finished_frames
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    start = uniform(n, 2, stream(seed, run))  # (n, 2)
    followed = simulate(
        Attention(beta),
        start,
        float(times[-1]),
        save=times,
        rtol=RTOL,
        atol=ATOL,
        method="explicit",
        progress=lambda done, total: not stop[0],
        threads=1,
    )
    x = finished_frames(followed)  # (m, n, 2)
    centers = renyi_centers(start, 4.0 * beta**-0.5)
    rows = [measure_frame(tokens, centers, sizes, [radius * beta**-0.5 for radius in radii]) for tokens in x]
    found = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    angle = np.arctan2(start[:, 1], start[:, 0])
    found["linear"] = np.stack(
        [
            np.abs(linear_modes(angle, beta, MODES, t))
            if 0.0 < t <= LINEAR_UNTIL
            else np.full(len(MODES), np.nan)
            for t in times
        ]
    )
    found["center"] = np.pad(centers, (0, MAX_CENTERS - len(centers)), constant_values=-1)
    return found


def measure_frame(x: Array, centers: NDArray[np.int64], sizes: Array, radii: list[float]) -> dict[str, Any]:
    """Of the tokens x (n, 2) at one time, for the first `sizes` of them: how many are within each radius of
    each center, the modes |a_m|, a histogram of angles; and the angles of the centers.  NaN stands for
    centers that are not there, or not yet among so many tokens."""
    angle = np.arctan2(x[:, 1], x[:, 0])  # (n,)
    edges = np.concatenate([[0], sizes])[:-1]  # where the tokens of one size and no smaller one begin
    held = np.full((len(radii), len(sizes), MAX_CENTERS), np.nan)
    for i, center in enumerate(centers):
        apart = np.abs(np.remainder(angle - angle[center] + np.pi, 2.0 * np.pi) - np.pi)  # (n,)
        for j, radius in enumerate(radii):
            count = np.cumsum(np.add.reduceat(apart <= radius, edges, dtype=np.int64))  # (sizes,)
            held[j, :, i] = np.where(sizes > center, count, np.nan)
    turn, power = np.exp(-1j * angle), np.ones(len(angle), dtype=np.complex128)
    mode = np.empty((len(sizes), len(MODES)))
    for i in range(len(MODES)):
        power *= turn
        mode[:, i] = np.abs(np.cumsum(np.add.reduceat(power, edges)) / sizes)
    bins = np.floor((angle + np.pi) * (BINS / (2.0 * np.pi))).astype(np.int64) % BINS
    parts = [np.bincount(bins[a:b], minlength=BINS) for a, b in zip(edges, sizes, strict=True)]
    place = np.pad(angle[centers], (0, MAX_CENTERS - len(centers)), constant_values=np.nan)
    return {
        "held": held,
        "mode": mode,
        "histogram": np.cumsum(parts, axis=0).astype(np.float64),
        "place": place,
    }
