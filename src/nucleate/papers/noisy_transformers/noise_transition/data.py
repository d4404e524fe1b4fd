"""Exponential weights with noise on the circle: how a small first harmonic grows or decays, and the order
while kappa is raised and lowered again.

All times are in units of kappa: there a token spreads by its noise alone at the rate 1.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["DIRECTIONS", "moved", "quiet_start", "run"]

DIRECTIONS = ("up", "down")


def run(workspace: "ItemWorkspace") -> "Data":
    """Growth and sweeps for both values of beta."""
    p, data = workspace.parameters, {}
    points = [len(ratios) for ratios in p["sweeps"].values()]
    total, done = 2 * sum(points), 0
    for i, (beta, count) in enumerate(zip(p["sweeps"], points, strict=True)):
        data[f"growth-{beta}"] = workspace.dataset(f"growth-{beta}", partial(growth, p, beta, i))
        tell = partial(_tell, workspace.progress, done, total)
        data[f"sweep-{beta}"] = workspace.dataset(f"sweep-{beta}", partial(sweep, p, beta, i, tell))
        done += 2 * count
        workspace.progress(done, total)
    return data


def _tell(progress: Callable[[float, float], object], before: int, total: int, points: int) -> None:
    progress(before + points, total)


def growth(p: "Parameters", beta: str, number: int) -> "Dataset":
    """The first harmonic after a short time, along the direction it had, for every kappa and run."""
    import xarray

    from nucleate.theory.noise_threshold import kappa_c

    critical = kappa_c(float(beta), 2)
    x = np.broadcast_to(
        quiet_start(p["growth_n"], p["first_harmonic"]), (p["growth_runs"], p["growth_n"], 2)
    )  # (runs, n, 2)
    found = np.empty((len(p["growth_ratios"]), p["growth_runs"]))
    for i, ratio in enumerate(p["growth_ratios"]):
        seed = [p["seed"], number, 2, i]
        frames = moved(float(beta), ratio * critical, x, p["growth_T"], p["dt"], 2, seed)
        found[i] = frames[:, -1, :, 0].mean(-1)
    return xarray.Dataset({"first": (("ratio", "run"), found)}, {"ratio": p["growth_ratios"]})


def sweep(p: "Parameters", beta: str, number: int, tell: Callable[[int], None]) -> "Dataset":
    """|mean token| at every frame, for both directions, every kappa and every run; each kappa begins with
    the tokens that the one before has left."""
    import xarray

    from nucleate.theory.noise_threshold import kappa_c

    critical, ratios = kappa_c(float(beta), 2), p["sweeps"][beta]
    angle = np.random.default_rng([p["seed"], number, 3]).uniform(0.0, 2.0 * np.pi, (p["runs"], p["n"]))
    x = np.stack([np.cos(angle), np.sin(angle)], -1)  # (runs, n, 2)
    found = np.empty((len(DIRECTIONS), len(ratios), p["runs"], p["frames"]))
    for i in range(len(DIRECTIONS)):
        order = range(len(ratios)) if i == 0 else range(len(ratios) - 1, -1, -1)
        for passed, j in enumerate(order):
            seed = [p["seed"], number, i, j]
            frames = moved(float(beta), ratios[j] * critical, x, p["T"], p["dt"], p["frames"], seed)
            found[i, j] = np.linalg.norm(frames.mean(-2), axis=-1)  # (runs, frames)
            x = frames[:, -1]
            tell(i * len(ratios) + passed + 1)
    return xarray.Dataset(
        {"order": (("direction", "ratio", "run", "frame"), found)},
        {"ratio": ratios},
    )


def moved(beta: float, kappa: float, x: Array, T: float, dt: float, frames: int, seed: list[int]) -> Array:
    """Frames (runs, frames, n, 2) of tokens x (runs, n, 2); T and dt in units of kappa."""
    from nucleate.attention import Attention
    from nucleate.block import Block
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    block = Block(Attention(beta, mask="full", weights="exponential"), noise=kappa)
    steps = round(T / dt)
    number = int(np.random.default_rng(seed).integers(2**31))
    run = simulate(block, x, steps * dt * kappa, dt=dt * kappa, save=frames, seed=number)
    return np.asarray(uninterrupted(run).x)


def quiet_start(n: int, first: float) -> Array:
    """n tokens (n, 2) at the quantiles of the density (1 + 2 first cos a) / 2 pi, whose mean is `first`."""
    u = 2.0 * np.pi * (np.arange(n) + 0.5) / n  # (n,)
    a = u.copy()
    for _ in range(100):  # contracts by 2 first
        a = u - 2.0 * first * np.sin(a)
    return np.stack([np.cos(a), np.sin(a)], -1)
