"""Modes of the density of many uniform tokens at the start and a little later."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.clustering_onset.fourier_modes import modes_of, real_and_imaginary

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["measured_modes", "run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Every beta, some runs at a time."""
    p, data = workspace.parameters, {}
    for i, beta in enumerate(p["betas"]):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(i + done / total, len(p["betas"]))

        compute = partial(modes_over_time, p, beta)
        data[f"beta{beta:g}"] = workspace.blocks(
            f"beta{beta:g}", p["runs"], p["runs_at_once"], compute, progress=progress
        )
    return data


def measured_modes(beta: float) -> int:
    """How many modes are measured: twice as many as the fastest."""
    from nucleate.theory.onset import fastest_mode

    return 2 * fastest_mode(beta)


def modes_over_time(p: "Parameters", beta: float, runs: range) -> "Dataset":
    """c_k for some runs, at times up to `growth` of the fastest mode's own time."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import drawn_from
    from nucleate.theory.onset import fastest_mode, mode_growth

    k = measured_modes(beta)
    t = p["growth"] / float(mode_growth(fastest_mode(beta), beta))
    times = np.linspace(0.0, t, p["frames"])
    streams = [np.random.SeedSequence(p["seed"], spawn_key=(round(beta), run)) for run in runs]
    x = drawn_from(streams, p["n"], 2)  # (runs, n, 2)
    found = uninterrupted(
        simulate(Attention(beta=beta, mask="full"), x, t, save=times, rtol=p["rtol"], atol=0.0)
    )
    return xarray.Dataset(
        {"modes": (("run", "time", "k", "part"), real_and_imaginary(modes_of(found.x, k)))},
        {"time": times, "k": np.arange(1, k + 1)},
    )
