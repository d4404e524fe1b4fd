"""Modes of the density of uniform tokens until the largest is no longer small."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.clustering_onset.fourier_modes import modes_of

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Every beta, some runs at a time; then the tokens of one run at the end."""
    p, data = workspace.parameters, {}
    for i, beta in enumerate(p["betas"]):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(i + done / total, len(p["betas"]))

        compute = partial(sizes_over_time, p, beta)
        name = f"beta{beta:g}"
        data[name] = workspace.blocks(name, p["runs"], p["runs_at_once"], compute, progress=progress)
    return data


def sizes_over_time(p: "Parameters", beta: float, runs: range) -> "Dataset":
    """|c_k| for every run and time, until the fastest mode would have grown from n^(-1/2) to 1 and a little
    longer."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import drawn_from
    from nucleate.theory.onset import fastest_mode, mode_growth

    fastest = fastest_mode(beta)
    t = (0.5 * np.log(p["n"]) + p["longer"]) / float(mode_growth(fastest, beta))
    times = np.linspace(0.0, t, p["frames"])
    streams = [np.random.SeedSequence(p["seed"], spawn_key=(round(beta), run)) for run in runs]
    x = drawn_from(streams, p["n"], 2)  # (runs, n, 2)
    model = Attention(beta=beta, mask="full")
    found = uninterrupted(simulate(model, x, t, save=times, rtol=p["rtol"], atol=0.0))
    size = np.abs(modes_of(found.x, 2 * fastest))  # (runs, times, k)
    last = np.arctan2(found.x[:, -1, :, 1], found.x[:, -1, :, 0])  # (runs, n)
    edges = np.linspace(-np.pi, np.pi, p["bins"] + 1)
    histogram = np.stack([np.histogram(one, edges)[0] for one in last])  # (runs, bins)
    return xarray.Dataset(
        {"size": (("run", "time", "k"), size), "histogram": (("run", "bin"), histogram)},
        {"time": times, "k": np.arange(1, 2 * fastest + 1), "bin": 0.5 * (edges[1:] + edges[:-1])},
    )
