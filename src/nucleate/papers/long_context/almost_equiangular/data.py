"""One layer on random tokens whose overlaps are rho up to 1/sqrt(d): the mean cosine of their outputs."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.long_context.equiangular_layer import critical_scale

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["almost_equiangular", "run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """The map over rho and gamma in one dimension; then finer in gamma, at one rho, in every dimension."""
    p = workspace.parameters
    rhos, data = np.linspace(*p["map_rho"]), {}
    total = len(rhos) + 2.0 * len(p["d"])
    parts = []
    for i, rho in enumerate(rhos):
        # one random start for every rho: neighbouring columns share no chance
        compute = partial(cosines, p, p["map_d"], float(rho), np.linspace(*p["map_gamma"]), [i])
        parts.append(workspace.dataset(f"map-{i:02d}", compute))
        workspace.progress(i + 1, total)
    import xarray

    data["map"] = xarray.concat([part.drop_attrs().set_coords("rho") for part in parts], "rho", join="exact")
    for i, d in enumerate(p["d"]):
        gamma = np.array(p["shares"]) * float(critical_scale(p["rho"]))
        compute = partial(cosines, p, d, p["rho"], gamma, list(range(100, 100 + p["runs"])))
        data[f"d{d}"] = workspace.dataset(f"d{d}", compute)
        workspace.progress(len(rhos) + 2.0 * (i + 1), total)
    return data


def cosines(p: "Parameters", d: int, rho: float, gamma: Array, runs: list[int]) -> "Dataset":
    """The mean cosine of two outputs for every run and gamma, and the mean overlap of the tokens."""
    import xarray

    from nucleate.attention import Attention, attend

    n = p["n"]
    found = np.empty((len(runs), len(gamma)))
    overlap = np.empty(len(runs))
    for i, run in enumerate(runs):
        x = almost_equiangular(n, d, rho, np.random.default_rng([p["seed"], d, run]))
        overlap[i] = mean_cosine(x)
        for j, one in enumerate(gamma):
            found[i, j] = mean_cosine(attend(Attention(beta=one * np.log(n), mask="full"), x))
    return xarray.Dataset(
        {"cosine": (("run", "gamma"), found), "overlap": ("run", overlap)},
        {"run": np.arange(len(runs)), "gamma": gamma, "rho": rho},
    )


def almost_equiangular(n: int, d: int, rho: float, rng: np.random.Generator) -> Array:
    """n random unit vectors (n, d): sqrt(rho) e_1 + sqrt(1 - rho) times a uniform direction orthogonal to
    e_1."""
    y = rng.standard_normal((n, d - 1))
    x = np.empty((n, d))
    x[:, 0] = np.sqrt(rho)
    x[:, 1:] = np.sqrt(1.0 - rho) * y / np.linalg.norm(y, axis=1, keepdims=True)
    return x


def mean_cosine(x: Array) -> float:
    """Of all pairs of different rows of x (n, d): from the length of the sum of their directions."""
    n = len(x)
    s = (x / np.linalg.norm(x, axis=1, keepdims=True)).sum(0)  # (d,)
    return float((s @ s - n) / (n * (n - 1.0)))
