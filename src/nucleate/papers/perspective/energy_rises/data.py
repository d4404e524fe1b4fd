"""The interaction energy along runs of full attention, and along causal ones from the same starts."""

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from nucleate.papers.perspective.starts import uniform_in_span

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Every d and beta, under both masks."""
    p, data = workspace.parameters, {}
    masks: tuple[Literal["full", "causal"], ...] = ("full", "causal")
    jobs = [(mask, d) for mask in masks for d in p["d"]]
    for i, (mask, d) in enumerate(jobs):
        data[f"{mask}-d{d}"] = workspace.dataset(f"{mask}-d{d}", partial(energies, p, mask, d))
        workspace.progress(i + 1, len(jobs))
    return data


def energies(p: "Parameters", mask: Literal["full", "causal"], d: int) -> "Dataset":
    """The energy for every beta, run and time."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.observe.energies import interaction_energy
    from nucleate.papers.core.interruption import uninterrupted

    times = np.concatenate([[0.0], np.geomspace(p["first"], p["T"], p["frames"] - 1)])
    found = np.empty((len(p["betas"]), p["runs"], len(times)))
    for i, beta in enumerate(p["betas"]):
        x = uniform_in_span(p["runs"], p["n"], d, p["seed"], i)  # (runs, n, min(n, d))
        model = Attention(beta=beta, mask=mask)
        run = uninterrupted(simulate(model, x, p["T"], save=times, rtol=p["rtol"], atol=0.0))
        found[i] = interaction_energy(model, run.x)
    return xarray.Dataset(
        {"energy": (("beta", "run", "time"), found, {"long_name": "interaction energy"})},
        {"beta": p["betas"], "time": times},
    )
