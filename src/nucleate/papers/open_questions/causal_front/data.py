"""Very many tokens on the circle while clusters form: what tokens at every place of the sequence see, modes,
the limit equation behind the first tokens, clusters at the end, and the same tokens under the full mask."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["MODES", "Bins", "bins_of", "front_of", "full_of", "run"]

RTOL = 1e-5
WIDTH = 0.25  # of a bin in s = ln k
MODES = 7  # around the fastest, of which the power is kept
MAX_CLUSTERS = 64  # stored of a run


class Bins(NamedTuple):
    """Places in the sequence: equal steps of s = ln k behind the first tokens."""

    edges: "np.ndarray[tuple[int], np.dtype[np.int64]]"  # (bins + 1,)

    @property
    def s(self) -> Array:
        """The middles, (bins,)."""
        return np.asarray((np.log(self.edges[1:]) + np.log(self.edges[:-1])) / 2.0)


def bins_of(first: int, n: int) -> Bins:
    """From the first tokens to the last."""
    count = round(np.log(n / first) / WIDTH)
    return Bins(np.round(np.geomspace(first, n, count + 1)).astype(np.int64))


def front_of(beta: float, n: int, first: int, times: list[float], seed: int) -> dict[str, Array]:
    """A run of n tokens, and two continuations of `first` tokens: its own, and those of another start."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front import continue_tokens, seen_density
    from nucleate.theory.onset import fastest_mode

    x0, bins = uniform(n, 2, seed), bins_of(first, n)
    run = uninterrupted(simulate(Attention(beta), x0, times[-1], save=times, rtol=RTOL, atol=RTOL / 100.0))
    theta = np.arctan2(run.x[..., 1], run.x[..., 0])  # (times, n)
    seen = np.stack([_binned(seen_density(row, beta), bins) for row in theta])  # (times, bins)
    modes = np.maximum(fastest_mode(beta) - MODES // 2, 1) + np.arange(MODES)  # (MODES,)
    power = np.stack([np.abs(np.exp(1j * m * theta).mean(-1)) ** 2 for m in modes], -1)  # (times, MODES)
    found = {"seen": seen, "power": power, "modes": modes.astype(np.float64)}
    for name, other in (("own", seed), ("other", seed + 500)):
        limit = continue_tokens(uniform(first, 2, other), beta, times, np.log(n), cells=len(bins.s))
        found[f"{name}_seen"] = limit.seen  # (times, bins)
        found[f"{name}_near"] = _near(theta, limit.theta[-1], bins, beta)  # (bins,)
    return found | _masses(run.x[-1], beta)


def _binned(values: Array, bins: Bins) -> Array:
    """Means over bins of the sequence, (n,) -> (bins,)."""
    return np.array([values[a:b].mean() for a, b in zip(bins.edges[:-1], bins.edges[1:], strict=True)])


def _near(theta: Array, end: Array, bins: Bins, beta: float) -> Array:
    """The share of tokens of every bin that end within beta^(-1/2) of where the continuation has those that
    start there: theta (times, n), end (bins, particles) -> (bins,)."""
    particles = end.shape[1]
    spread = 2.0 * np.pi * (np.arange(particles) + 0.5) / particles  # (P,)
    shares = []
    for c, (a, b) in enumerate(zip(bins.edges[:-1], bins.edges[1:], strict=True)):
        start = theta[0, a:b] % (2.0 * np.pi)
        predicted = start + np.interp(start, spread, end[c] - spread, period=2.0 * np.pi)
        away = np.abs((theta[-1, a:b] - predicted + np.pi) % (2.0 * np.pi) - np.pi)
        shares.append((away <= beta**-0.5).mean())
    return np.array(shares)


def _masses(x: Array, beta: float) -> dict[str, Array]:
    """Of every cluster at the end, its share of the tokens and the share of the circle that is nearest to
    where it is; NaN behind, (MAX_CLUSTERS,)."""
    from nucleate.observe.centers import center_mask
    from nucleate.observe.merges import cluster_width

    leaders = np.flatnonzero(center_mask(x, cluster_width(beta), strong=True))
    angle = np.sort(np.arctan2(x[leaders, 1], x[leaders, 0]))  # (leaders,)
    gap = np.diff(np.append(angle, angle[0] + 2.0 * np.pi))  # (leaders,) to the next one
    token = np.arctan2(x[:, 1], x[:, 0])  # (n,)
    middle = angle + gap / 2.0  # the borders
    which = np.searchsorted(middle, token) % len(angle)  # (n,) the nearest leader
    which[token < middle[-1] - 2.0 * np.pi] = len(angle) - 1  # the last one's arc may go round the end
    mass = np.bincount(which, minlength=len(angle)) / len(x)
    arc = (gap + np.roll(gap, 1)) / (4.0 * np.pi)
    padded = {}
    for name, values in (("mass", mass), ("arc", arc)):
        padded[name] = np.full(MAX_CLUSTERS, np.nan)
        padded[name][: len(values)] = values[:MAX_CLUSTERS]
    return padded


def full_of(beta: float, sizes: list[int], times: list[float], seed: int) -> Array:
    """Under the full mask, the mean of zeta - 1 over all tokens, for several n, (sizes, times)."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front import all_seen_density

    rows = []
    for n in sizes:
        model = Attention(beta, mask="full")
        run = simulate(model, uniform(n, 2, seed), times[-1], save=times, rtol=RTOL, atol=RTOL / 100.0)
        theta = np.arctan2(uninterrupted(run).x[..., 1], run.x[..., 0])  # (times, n)
        rows.append(all_seen_density(theta, beta))
    return np.stack(rows)


def _block(p: "Parameters", beta: float, seeds: range) -> "Dataset":
    import xarray

    times = p["times"]
    found = [front_of(beta, p["n"], p["first"], times, seed) for seed in seeds]  # each with all threads
    full = in_threads(partial(_seeded_full, beta, p["full_n"], times), seeds)
    dims = {
        "seen": ("start", "time", "bin"),
        "power": ("start", "time", "mode"),
        "modes": ("start", "mode"),
        "own_seen": ("start", "time", "bin"),
        "other_seen": ("start", "time", "bin"),
        "own_near": ("start", "bin"),
        "other_near": ("start", "bin"),
        "mass": ("start", "cluster"),
        "arc": ("start", "cluster"),
    }
    stored: dict[str, Any] = {
        name: (dim, np.stack([one[name] for one in found])) for name, dim in dims.items()
    }
    return xarray.Dataset({**stored, "full": (("start", "size", "time"), np.stack(full))})


def _seeded_full(beta: float, sizes: list[int], times: list[float], seed: int) -> Array:
    return full_of(beta, sizes, times, seed)


def run(workspace: "ItemWorkspace") -> "Data":
    """Every beta, one start at a time."""
    p, data = workspace.parameters, {}
    betas = p["betas"]
    for i, beta in enumerate(betas):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(i + done / total, len(betas))

        name = f"beta{beta:g}"
        data[name] = workspace.blocks(name, p["starts"], 1, partial(_block, p, beta), "start", progress)
    return data
