"""Equiangular tokens under every norm, followed by the solver until they have nearly met, beside the solution
of their two equations; and the first two of them under the causal mask."""

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from nucleate.checks import Array
from nucleate.norms import NORMS, Norm

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["POWERS", "WEIGHTS", "pull_at_the_end", "run"]

Mask = Literal["full", "causal"]
Weights = Literal["softmax", "exponential"]
MASKS: tuple[Mask, ...] = ("full", "causal")
WEIGHTS: tuple[Weights, ...] = ("softmax", "exponential")
POWERS = ("pre", "mix", "peri")  # norms with a radius, under which 1 - rho falls like a power of t


def run(workspace: "ItemWorkspace") -> "Data":
    """One dataset per mask and norm."""
    p = workspace.parameters
    data: dict[str, Dataset] = {}
    norms: tuple[Norm, ...] = NORMS  # type: ignore[assignment]  # plain texts
    for mask in MASKS:
        for norm in norms:
            name = f"{mask}-{norm}"
            data[name] = workspace.dataset(name, partial(followed, p, mask, norm))
            workspace.progress(len(data), len(MASKS) * len(norms))
    return data


def pull_at_the_end(weights: Weights, beta: float) -> float:
    """g: the length of what attention adds to tokens that have met."""
    return float(np.exp(beta)) if weights == "exponential" else 1.0


def frame_times(p: "Parameters", mask: Mask, norm: Norm, g: float) -> Array:
    """Times (frames,) up to 1 - rho near 1e-9 where it falls exponentially, else spaced by logarithm to T."""
    if norm in POWERS:
        return np.geomspace(p["T"] * 1e-4, p["T"], p["frames"])
    # under the causal mask the first two tokens take twice as long
    end = (2.0 if mask == "causal" else 1.0) * p["decay_T"] / (p["alpha"] if norm == "ngpt" else g)
    if norm == "sqrt":
        end = (end / 2.0 + 1.0) ** 2 - 1.0  # where 2 sqrt(t + 1) - 2 is the time of post
    return np.linspace(0.0, end, p["frames"])[1:]


def followed(p: "Parameters", mask: Mask, norm: Norm) -> "Dataset":
    """1 - rho of tokens 1 and 2 at the frames, for both weights and every beta; and by the two equations."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.block import Block
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.papers.perspective.equiangular_tokens.data import equiangular_start
    from nucleate.theory.equiangular import equiangular

    tau, alpha = p["tau"] if norm == "mix" else None, p["alpha"]
    count = len(frame_times(p, mask, norm, 1.0))
    time, gap, formula = np.full((3, len(WEIGHTS), len(p["betas"]), count), np.nan)
    n = p["n"] if mask == "full" else 2
    start = equiangular_start(n, p["rho"])  # (n, n)
    for i, weights in enumerate(WEIGHTS):
        for j, beta in enumerate(p["betas"]):
            t = frame_times(p, mask, norm, pull_at_the_end(weights, beta))
            block = Block(Attention(beta, mask=mask, weights=weights), norm=norm, tau=tau, alpha=alpha)
            found = uninterrupted(
                simulate(block, start, float(t[-1]), save=np.r_[0.0, t], rtol=p["rtol"], atol=0.0)
            )
            x = found.x[1:]  # (frames, n, n)
            time[i, j], gap[i, j] = t, np.square(x[:, 0] - x[:, 1]).sum(-1) / 2.0
            if mask == "full":
                formula[i, j] = equiangular(n, beta, p["rho"], t, weights, norm, tau=tau, alpha=alpha).gap
    dims = ("weights", "beta", "frame")
    return xarray.Dataset(
        {"time": (dims, time), "gap": (dims, gap), "formula": (dims, formula)}, {"beta": p["betas"]}
    )
