"""The interaction energy along runs of full attention, with softmax and with exponential weights, and along
causal ones from the same starts."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.perspective.starts import uniform_in_span

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["CASES", "run"]

CASES = ("full", "USA", "causal")  # USA: full mask, exponential weights


def run(workspace: "ItemWorkspace") -> "Data":
    """Every d and beta, in all three cases."""
    p, data = workspace.parameters, {}
    jobs = [(case, d) for case in CASES for d in p["d"]]
    for i, (case, d) in enumerate(jobs):
        data[f"{case}-d{d}"] = workspace.dataset(f"{case}-d{d}", partial(energies, p, case, d))
        workspace.progress(i + 1, len(jobs))
    return data


def energies(p: "Parameters", case: str, d: int) -> "Dataset":
    """The energy for every beta, run and time; of exponential weights, in units of e^{-beta}."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.observe.energies import interaction_energy
    from nucleate.papers.core.interruption import uninterrupted

    times = np.concatenate([[0.0], np.geomspace(p["first"], p["T"], p["frames"] - 1)])
    found = np.empty((len(p["betas"]), p["runs"], len(times)))
    for i, beta in enumerate(p["betas"]):
        x = uniform_in_span(p["runs"], p["n"], d, p["seed"], i)  # (runs, n, min(n, d))
        model = Attention(
            beta=beta,
            mask="causal" if case == "causal" else "full",
            weights="exponential" if case == "USA" else "softmax",
        )
        t = times * (np.exp(-beta) if case == "USA" else 1.0)
        run = uninterrupted(simulate(model, x, float(t[-1]), save=t, rtol=p["rtol"], atol=0.0))
        found[i] = interaction_energy(Attention(beta=beta, mask="full"), run.x)
    return xarray.Dataset(
        {"energy": (("beta", "run", "time"), found, {"long_name": "interaction energy"})},
        {"beta": p["betas"], "time": times},
    )
