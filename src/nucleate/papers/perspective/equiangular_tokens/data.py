"""Equiangular tokens under full attention, followed by the solver; the same under the causal mask, which does
not keep them equiangular; and the velocities of both kinds of weights by the equation itself."""

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from nucleate.checks import Array
from nucleate.theory.equiangular import equiangular, equiangular_rate

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["RATE_WEIGHTS", "equiangular_start", "followed", "run"]

RATE_WEIGHTS: tuple[Literal["softmax", "exponential"], ...] = ("softmax", "exponential")


def run(workspace: "ItemWorkspace") -> "Data":
    """Every start and beta under both masks, and the velocities."""
    p = workspace.parameters
    data: dict[str, Dataset] = {}
    masks: tuple[Literal["full", "causal"], ...] = ("full", "causal")
    for i, mask in enumerate(masks):
        data[mask] = workspace.dataset(mask, partial(followed, p, mask))
        workspace.progress(i + 1, len(masks) + 1)
    data["rates"] = workspace.dataset("rates", partial(rates, p))
    return data


def equiangular_start(n: int, rho: float) -> Array:
    """n unit vectors with all overlaps rho, (n, n): rows of the root of (1 - rho) I + rho 1 1^T."""
    a = np.sqrt(1.0 - rho)
    b = (np.sqrt(1.0 + (n - 1.0) * rho) - a) / n
    return np.asarray(a * np.eye(n) + b)


def followed(p: "Parameters", mask: Literal["full", "causal"]) -> "Dataset":
    """The least and the largest overlap over time, and that of the equation for rho."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    times, n = np.linspace(0.0, p["T"], p["frames"]), p["n"]
    shape = len(p["betas"]), len(p["rhos"]), len(times)
    least, largest, formula, gap = (np.empty(shape) for _ in range(4))
    pairs = np.triu_indices(n, 1)
    for i, beta in enumerate(p["betas"]):
        for j, rho in enumerate(p["rhos"]):
            model = Attention(beta=beta, mask=mask)
            start = equiangular_start(n, rho)
            found = uninterrupted(simulate(model, start, p["T"], save=times, rtol=p["rtol"], atol=0.0))
            x = found.x  # (times, n, n)
            overlaps = (x @ x.mT)[:, *pairs]  # (times, pairs)
            chords = np.square(x[:, pairs[0]] - x[:, pairs[1]]).sum(-1)  # (times, pairs) 2 (1 - overlap)
            least[i, j], largest[i, j] = overlaps.min(-1), overlaps.max(-1)
            gap[i, j] = chords.mean(-1) / 2.0
            formula[i, j] = equiangular(n, beta, rho, times).rho
    dims = ("beta", "rho", "time")
    return xarray.Dataset(
        {
            "least": (dims, least, {"long_name": "least overlap"}),
            "largest": (dims, largest, {"long_name": "largest overlap"}),
            "gap": (dims, gap, {"long_name": "mean of 1 - overlap, from distances"}),
            "formula": (dims, formula, {"long_name": "overlap by the equation for rho"}),
        },
        {"beta": p["betas"], "rho": p["rhos"], "time": times},
    )


def rates(p: "Parameters") -> "Dataset":
    """rho' = 2 <x_i, x_j'> from the equation's velocities, for softmax and exponential weights, and by the
    formula."""
    import xarray

    from nucleate.attention import Attention, drift

    rho = np.linspace(-0.9 / (p["n"] - 1.0), 0.99, p["rate_points"])
    shape = len(RATE_WEIGHTS), len(p["betas"]), len(rho)
    measured, formula = np.empty(shape), np.empty(shape)
    for i, weights in enumerate(RATE_WEIGHTS):
        for j, beta in enumerate(p["betas"]):
            for k, one in enumerate(rho):
                x = equiangular_start(p["n"], float(one))
                v = drift(Attention(beta=beta, mask="full", weights=weights), x)  # (n, n)
                measured[i, j, k] = float(x[0] @ v[1] + x[1] @ v[0])
            formula[i, j] = equiangular_rate(p["n"], beta, rho, weights)
    dims = ("weights", "beta", "overlap")
    return xarray.Dataset(
        {"measured": (dims, measured), "formula": (dims, formula)},
        {"beta": p["betas"], "overlap": rho},
    )
