"""The share of close pairs over time, for every d and beta."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.perspective.starts import uniform_in_span

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["betas_of", "run"]

BETAS_AT_ONCE = 10  # in one dataset on the disk
FRAMES_AT_ONCE = 2048  # whose Gram matrices are in memory


def run(workspace: "ItemWorkspace") -> "Data":
    """Every d, some values of beta at a time."""
    p = workspace.parameters
    cost = {d: p["runs"][d] * min(int(d), p["n"]) for d in p["runs"]}
    data: dict[str, Dataset] = {}
    for d in p["runs"]:
        done = float(sum(cost[one] for one in list(cost)[: len(data)]))

        def progress(some: float, of: float, done: float = done, part: float = cost[d]) -> None:
            workspace.progress(done + part * some / of, sum(cost.values()))

        data[f"d{d}"] = workspace.blocks(
            f"d{d}", p["betas"][2], BETAS_AT_ONCE, partial(close_pairs, p, int(d)), "beta", progress
        )
    return data


def betas_of(p: "Parameters") -> Array:
    """The values of beta, evenly spaced."""
    return np.linspace(*p["betas"])


def close_pairs(p: "Parameters", d: int, some: range) -> "Dataset":
    """For every beta, run and time the number of pairs with an overlap of at least `close`."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    times, betas, runs = np.linspace(0.0, p["T"], p["frames"]), betas_of(p)[some], p["runs"][str(d)]
    counts = np.empty((len(betas), runs, len(times)), dtype=np.int32)
    for i, beta in enumerate(betas):
        x = uniform_in_span(runs, p["n"], d, p["seed"], some[i])  # (runs, n, min(n, d))
        model = Attention(beta=beta, mask="full")
        found = uninterrupted(simulate(model, x, p["T"], save=times, rtol=p["rtol"], atol=0.0))
        counts[i] = _count(found.x, p["close"])
    return xarray.Dataset(
        {"close_pairs": (("beta", "run", "time"), counts, {"long_name": "pairs with such an overlap"})},
        {"beta": betas, "time": times},
    )


def _count(x: Array, close: float) -> NDArray[np.int32]:
    """The number of pairs of different tokens with an overlap of at least `close`, (runs, times)."""
    runs, frames, n, d = x.shape
    flat = x.reshape(-1, n, d)  # (runs times, n, d)
    counts = np.empty(len(flat), dtype=np.int32)
    for first in range(0, len(flat), FRAMES_AT_ONCE):
        y = flat[first : first + FRAMES_AT_ONCE]
        near = (y @ y.mT >= close).sum((-1, -2))  # (frames,) every pair twice, every token once
        counts[first : first + FRAMES_AT_ONCE] = (near - n) // 2
    return counts.reshape(runs, frames)
