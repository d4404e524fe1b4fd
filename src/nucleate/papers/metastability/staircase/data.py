"""Five tokens of the paper, from the start to one cluster, for every beta; and, at a small beta, the same by
the general solver."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.metastability.cluster_flow import follow_clusters

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["run", "start_angles"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Every beta, then the comparison."""
    p, data = workspace.parameters, {}
    for i, beta in enumerate(p["betas"]):
        data[f"beta{beta:g}"] = workspace.dataset(f"beta{beta:g}", partial(followed, p, beta))
        workspace.progress(i + 1, len(p["betas"]) + 2)
    data["twin"] = workspace.dataset("twin", partial(by_both, p))
    return data


def start_angles(p: "Parameters") -> Array:
    """1/2 {0, .5, 2, 4, 7} log(2000) / sqrt(2000), whatever beta is, (5,)."""
    return np.asarray(0.5 * np.array(p["places"]) * np.log(p["unit_beta"]) / np.sqrt(p["unit_beta"]))


def followed(p: "Parameters", beta: float) -> "Dataset":
    """The energy over rescaled time, the tokens, and the merges."""
    import xarray

    flow = follow_clusters(start_angles(p), beta)
    last = [list(one) + list(other) for one, other in flow.merged]
    member = np.array([[i in tokens for i in range(len(p["places"]))] for tokens in last])  # (merges, n)
    return xarray.Dataset(
        {
            "energy": ("frame", flow.energy),
            "rescaled": ("frame", flow.length / np.log(beta)),
            "angle": (("frame", "token"), flow.angles),
            "merge_time": ("merge", flow.merge_time),
            "merge_rescaled": ("merge", flow.merge_length / np.log(beta)),
            "member": (("merge", "token"), member.astype(np.int64)),
        }
    )


def by_both(p: "Parameters") -> "Dataset":
    """The times at which the gaps of the start have closed to `twin_gap` beta^(-1/2), softmax, by clusters
    and by the general solver, which knows nothing of clusters."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    beta, phi = p["twin_beta"], start_angles(p)
    flow = follow_clusters(phi, beta, "softmax")
    t = 1.05 * float(flow.merge_time[-1])
    times = np.concatenate([[0.0], np.geomspace(1e-2 * float(flow.merge_time[0]), t, p["twin_frames"])])
    x = np.stack([np.cos(phi), np.sin(phi)], -1)
    model = Attention(beta=beta, mask="full")
    found = uninterrupted(simulate(model, x, t, save=times, rtol=1e-9, atol=0.0, max_steps=50_000_000))
    angles = np.arctan2(found.x[..., 1], found.x[..., 0])  # (times, n)
    closed = np.diff(angles, axis=-1) <= p["twin_gap"] * beta**-0.5  # (times, n - 1)
    direct = times[np.where(closed.any(0), closed.argmax(0), -1)]  # (n - 1,)
    return xarray.Dataset(
        {"direct": ("merge", np.sort(direct)), "clusters": ("merge", flow.merge_time)},
        attrs={"steps": int(found.steps)},
    )
