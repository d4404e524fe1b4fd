"""Hardmax: the paper's layers, in space and with each token in its own choice; and tokens on the sphere that
move to the nearest other one."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["layer", "run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """The paper's layers, then tokens on the sphere."""
    p = workspace.parameters
    data: dict[str, Dataset] = {"layers": workspace.dataset("layers", partial(through_layers, p))}
    workspace.progress(1, 2)
    data["sphere"] = workspace.dataset("sphere", partial(on_the_sphere, p))
    workspace.progress(2, 2)
    return data


def layer(z: Array, alpha: float) -> tuple[Array, NDArray[np.bool_]]:
    """The paper's layer with A = I, z (..., n, d): z_i + alpha/(1 + alpha) (mean of z_j over C_i - z_i), C_i
    all j, i included, with the largest <z_i, z_j>; and whether C_i is i alone, (..., n)."""
    s = z @ z.mT  # (..., n, n)
    chosen = s >= s.max(-1, keepdims=True)  # (..., n, n)
    target = chosen @ z / chosen.sum(-1, keepdims=True)  # (..., n, d)
    own = np.diagonal(chosen, axis1=-2, axis2=-1) & (chosen.sum(-1) == 1)  # (..., n)
    return z + alpha / (1.0 + alpha) * (target - z), own


def through_layers(p: "Parameters") -> "Dataset":
    """First and last positions of normal tokens, who was a leader in some layer, and where it then was; that
    of other tokens is nan."""
    import xarray

    z = np.random.default_rng([p["seed"], 0]).standard_normal((p["layer_runs"], p["layer_n"], p["layer_d"]))
    start, place = z, np.full(z.shape, np.nan)
    for _ in range(p["layers"]):
        before = z
        z, own = layer(z, p["alpha"])
        new = own & np.isnan(place[..., 0])  # (runs, n)
        place[new] = before[new]
    coordinates = ("run", "token", "coordinate")
    return xarray.Dataset(
        {
            "start": (coordinates, start),
            "end": (coordinates, z),
            "place": (coordinates, place),
            "leader": (("run", "token"), ~np.isnan(place[..., 0])),
        }
    )


def on_the_sphere(p: "Parameters") -> "Dataset":
    """For every run the angles of all pairs at the start, the times at which they meet (infinite if they do
    not), the angle of the nearest pair over time, and the largest angle that tokens still move along."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    x = np.random.default_rng([p["seed"], 1]).standard_normal((p["runs"], p["n"], p["d"]))
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)  # (runs, n, d)
    model = Attention(1.0, mask="full", weights="hardmax")
    found = uninterrupted(simulate(model, x, p["T"], save=p["frames"], rtol=p["rtol"], atol=0.0))
    i, j = np.triu_indices(p["n"], 1)
    chord = np.linalg.norm(found.x[:, :, i] - found.x[:, :, j], axis=-1)  # (runs, frames, pairs)
    angle = 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))  # (runs, frames, pairs)
    nearest = angle[:, 0].argmin(-1)  # (runs,)
    gap = np.take_along_axis(angle, nearest[:, None, None], -1)[..., 0]  # (runs, frames)
    return xarray.Dataset(
        {
            "angle": (("run", "pair"), angle[:, 0]),
            "met": (("run", "pair"), first_below(angle, found.t, p["met"])),
            "last_angle": (("run", "pair"), angle[:, -1]),
            "nearest_gap": (("run", "time"), gap),
            "first": (("pair",), i),
            "second": (("pair",), j),
        },
        {"time": found.t},
    )


def first_below(angle: Array, t: Array, limit: float) -> Array:
    """When each angle (runs, frames, pairs) is first below a limit, its logarithm straight between frames;
    infinite if never, (runs, pairs)."""
    below = angle < limit  # (runs, frames, pairs)
    k = np.maximum(below.argmax(1), 1)[:, None]  # (runs, 1, pairs)
    before, after = (np.log(np.take_along_axis(angle, at, 1)[:, 0]) for at in (k - 1, k))  # (runs, pairs)
    share = np.clip((np.log(limit) - before) / np.minimum(after - before, -1e-300), 0.0, 1.0)
    time = t[k[:, 0] - 1] + share * (t[k[:, 0]] - t[k[:, 0] - 1])
    return np.where(below.any(1), time, np.inf)
