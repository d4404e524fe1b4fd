"""Tokens under one head with random weights in many dimensions: their mean cosine over time for every norm,
all norms from the same weights and starts."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.norms import NORMS, Norm

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.attention import Attention
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["clock_of_sqrt", "mean_gap", "run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """One dataset per norm."""
    p = workspace.parameters
    data: dict[str, Dataset] = {}
    norms: tuple[Norm, ...] = NORMS  # type: ignore[assignment]  # plain texts
    for i, norm in enumerate(norms):
        data[norm] = workspace.dataset(norm, partial(followed, p, norm))
        workspace.progress(i + 1, len(norms))
    return data


def clock_of_sqrt(t: Array) -> Array:
    """The time at which post is where sqrt is at t: the integral of 1 / sqrt(t + 1)."""
    return np.asarray(2.0 * np.sqrt(t + 1.0) - 2.0)


def mean_gap(x: Array) -> Array:
    """1 - the mean cosine of two tokens, x (times, n, d) -> (times,): from distances to their mean, which
    keeps its digits."""
    off = x - x.mean(-2, keepdims=True)  # (times, n, d)
    return np.asarray(np.square(off).sum((-1, -2)) / (x.shape[-2] - 1))


def followed(p: "Parameters", norm: Norm) -> "Dataset":
    """1 - the mean cosine at all frames of every run; for post also at the clock of sqrt."""
    import xarray

    from nucleate.block import Block
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    times = np.linspace(0.0, p["T"], p["frames"])
    clock = clock_of_sqrt(times) if norm == "post" else times
    every = np.union1d(times, clock)
    gap, in_clock = np.empty((2, p["runs"], len(times)))
    for i in range(p["runs"]):
        head, x = weights_and_start(p, i)
        block = Block(head, norm=norm, tau=p["tau"] if norm == "mix" else None, alpha=p["alpha"])
        found = uninterrupted(simulate(block, x, p["T"], save=every, rtol=p["rtol"], atol=0.0))
        one = mean_gap(found.x)  # (every,)
        gap[i], in_clock[i] = one[np.isin(every, times)], one[np.isin(every, clock)]
    dims = ("run", "time")
    return xarray.Dataset({"gap": (dims, gap), "in_clock": (dims, in_clock)}, {"time": times})


def weights_and_start(p: "Parameters", i: int) -> "tuple[Attention, Array]":
    """The head and the tokens (n, d) of run i, which are those of every norm."""
    from nucleate.attention import Attention
    from nucleate.sphere import retract

    n, d = p["n"], p["d"]
    rng = np.random.default_rng([p["seed"], i])
    Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
    return Attention(np.sqrt(d), Q, K, V, mask="full"), retract(rng.standard_normal((n, d)))
