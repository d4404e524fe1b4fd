"""Layers with fresh normal value matrices: two tokens opposite and close to it, two tokens from anywhere to
the end, and several tokens."""

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["MASKS", "run"]

Mask = Literal["full", "causal"]
MASKS: tuple[Mask, ...] = ("full", "causal")


def run(workspace: "ItemWorkspace") -> "Data":
    """Opposite and close to it; the ends of two tokens under both masks; the ends of several."""
    p = workspace.parameters
    data: dict[str, Dataset] = {"close": workspace.dataset("close", partial(close_to_opposite, p))}
    data["leaving"] = workspace.dataset("leaving", partial(from_opposite, p))
    workspace.progress(1, 4)
    for i, mask in enumerate(MASKS):
        data[f"ends-{mask}"] = workspace.dataset(f"ends-{mask}", partial(ends_of_two, p, mask))
        workspace.progress(i + 2, 4)
    data["several"] = workspace.dataset("several", partial(ends_of_several, p))
    return data


def through_layers(
    beta: float, mask: Mask, x: Array, dt: float, count: int, rng: np.random.Generator
) -> Array:
    """Tokens (runs, n, d) after `count` layers, each of which adds sqrt(dt) G m_k and makes tokens unit
    again, G (d, d) standard normal and new for every layer and run."""
    from nucleate.attention import Attention
    from nucleate.block import Block
    from nucleate.layers import layer_step

    runs, n, d = x.shape
    r = np.ones((runs, n))
    for _ in range(count):
        V = rng.standard_normal((runs, d, d)) / np.sqrt(dt)  # a layer multiplies by dt
        x, r = layer_step(Block(Attention(beta, V=V, mask=mask)), x, r, dt)
    return x


def close_to_opposite(p: "Parameters") -> "Dataset":
    """The mean rate of log(1 + u) for every beta and run, from 1 + u = `close` on."""
    import xarray

    found = np.empty((len(p["betas"]), p["close_runs"]))
    for i, beta in enumerate(p["betas"]):
        rng = np.random.default_rng([p["seed"], 0, i])
        x = np.zeros((p["close_runs"], 2, p["d"]))
        x[:, 0, 0], x[:, 1, 0], x[:, 1, 1] = 1.0, p["close"] - 1.0, np.sqrt(p["close"] * (2.0 - p["close"]))
        layers = round(p["close_T"] / p["close_dt"])
        x = through_layers(beta, "full", x, p["close_dt"], layers, rng)
        off = np.square(x[:, 0] + x[:, 1]).sum(-1) / 2.0  # (runs,) 1 + u
        found[i] = np.log(off / p["close"]) / p["close_T"]
    return xarray.Dataset({"rate": (("beta", "run"), found)}, {"beta": p["betas"]})


def from_opposite(p: "Parameters") -> "Dataset":
    """1 + u after one thin layer from u = -1, over dt, for every mask, beta and run."""
    import xarray

    found = np.empty((len(MASKS), len(p["betas"]), p["close_runs"]))
    for i, mask in enumerate(MASKS):
        for j, beta in enumerate(p["betas"]):
            rng = np.random.default_rng([p["seed"], 4 + i, j])
            x = np.zeros((p["close_runs"], 2, p["d"]))
            x[:, 0, 0], x[:, 1, 0] = 1.0, -1.0
            x = through_layers(beta, mask, x, p["thin_dt"], 1, rng)
            found[i, j] = np.square(x[:, 0] + x[:, 1]).sum(-1) / (2.0 * p["thin_dt"])
    return xarray.Dataset({"rate": (("mask", "beta", "run"), found)}, {"beta": p["betas"]})


def ends_of_two(p: "Parameters", mask: Mask) -> "Dataset":
    """The overlap of two tokens at the end, from independent uniform ones, for every beta and run."""
    import xarray

    found = np.empty((len(p["betas"]), p["runs"]))
    for i, beta in enumerate(p["betas"]):
        rng = np.random.default_rng([p["seed"], 1 + MASKS.index(mask), i])
        x = _uniform(p["runs"], 2, p["d"], rng)
        x = through_layers(beta, mask, x, p["dt"], round(p["T"] / p["dt"]), rng)
        found[i] = (x[:, 0] * x[:, 1]).sum(-1)
    return xarray.Dataset({"overlap": (("beta", "run"), found)}, {"beta": p["betas"]})


def ends_of_several(p: "Parameters") -> "Dataset":
    """The least |overlap| and the least overlap of n tokens at the end, for every n and run."""
    import xarray

    shape = len(p["several_n"]), p["several_runs"]
    aligned, least = np.empty(shape), np.empty(shape)
    for i, n in enumerate(p["several_n"]):
        rng = np.random.default_rng([p["seed"], 3, i])
        x = _uniform(p["several_runs"], n, p["d"], rng)
        x = through_layers(p["several_beta"], "full", x, p["dt"], round(p["several_T"] / p["dt"]), rng)
        overlaps = x @ x.mT  # (runs, n, n)
        aligned[i], least[i] = np.abs(overlaps).min((-1, -2)), overlaps.min((-1, -2))
    return xarray.Dataset(
        {"aligned": (("n", "run"), aligned), "least": (("n", "run"), least)}, {"n": p["several_n"]}
    )


def _uniform(runs: int, n: int, d: int, rng: np.random.Generator) -> Array:
    """Independent uniform tokens, (runs, n, d)."""
    x = rng.standard_normal((runs, n, d))
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))
