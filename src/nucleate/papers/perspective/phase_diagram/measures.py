"""When the share of close pairs passes a level, and when equiangular tokens would be that close."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Parameters
from nucleate.theory.equiangular import equiangular_time

__all__ = ["equiangular_times", "passing_times", "shares"]


def shares(data: Data, d: str, p: Parameters) -> Array:
    """The share of close pairs, (beta, run, time)."""
    return np.asarray(data[f"d{d}"]["close_pairs"].values / (p["n"] * (p["n"] - 1) / 2))


def passing_times(share: Array, times: Array, level: float) -> Array:
    """When curves (..., time) first reach a level, by straight lines between frames, (...); NaN where they do
    not."""
    reached = share >= level  # (..., time)
    i = np.maximum(reached.argmax(-1), 1)[..., None]
    low, high = (np.take_along_axis(share, at, -1)[..., 0] for at in (i - 1, i))
    part = np.clip((level - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    i = i[..., 0]
    found = times[i - 1] + part * (times[i] - times[i - 1])
    return np.where(reached.any(-1), found, np.nan)


def equiangular_times(betas: Array, p: Parameters) -> Array:
    """When tokens that start orthogonal have an overlap of `close`, for every beta, (beta,)."""
    return np.array([equiangular_time(p["n"], float(beta), 0.0, p["close"]) for beta in betas])
