"""Runs with a value matrix whose top eigenspace L has few dimensions: tokens go towards L while they gather
into clusters."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.law.data import runs_at, tokens
from nucleate.papers.causal_clustering.shared.cluster_runs import leaders, simulated

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

__all__ = ["exponent_data", "gap_data", "value_matrix"]

FRAMES = 64
ONE_LINE = 200  # tokens where L is a line, which has no caps


def value_matrix(d: int, top: int, gap: float) -> Array:
    """V = diag(1, ..., 1, 1 - gap, ..., 1 - gap) with `top` ones: dim L = top, spectral gap `gap`."""
    return np.diag([1.0] * top + [1.0 - gap] * (d - top))


def exponent_data(desk: "Desk", top: int, beta: float) -> "Dataset":
    """Clusters at one time in d dimensions, and those that the same tokens form if they are put on L at once:
    (run,) each."""
    p = desk.p
    n = ONE_LINE if top == 1 else tokens(top, beta, p["per_cap"])
    runs = runs_at(
        n, p["per_cap"] if top > 1 else ONE_LINE, p["counted"] if top > 1 else 20, 2, p["most_runs"]
    )
    return desk.dataset(
        f"top{top}-beta{beta:g}", lambda: _exponent(p["d"], top, beta, p["gap"], n, runs, p["seed"], p["at"])
    )


def _exponent(
    d: int, top: int, beta: float, gap: float, n: int, runs: int, seed: int, at: float
) -> "Dataset":
    import xarray

    from nucleate.attention import Attention
    from nucleate.sphere import retract

    start = _starts(n, d, runs, seed)
    x = simulated(Attention(beta, V=value_matrix(d, top, gap)), start, np.array([at]))[:, 0]  # (b, n, d)
    found = {
        "clusters": [float(len(leaders(tokens, beta))) for tokens in x],
        "near": (np.linalg.norm(x[..., top:], axis=-1) < beta**-0.5).mean(1),
    }
    if top > 1:
        alone = simulated(Attention(beta), retract(start[..., :top]), np.array([at]))[:, 0]  # (b, n, top)
        found["alone"] = [float(len(leaders(tokens, beta))) for tokens in alone]
    else:
        # a line has two points
        found["alone"] = [float(len({bool(side) for side in one[:, 0] > 0.0})) for one in start]
    return xarray.Dataset({name: ("run", np.array(values)) for name, values in found.items()}, attrs={"n": n})


def gap_data(desk: "Desk", beta: float, gap: float) -> "Dataset":
    """How tokens gather and how far they are from L meanwhile, over times up to 8 / gap and a few more: (run,
    time)."""
    p = desk.p
    return desk.dataset(
        f"gap{gap:g}-beta{beta:g}",
        lambda: _gap(p["d"], p["top"], beta, gap, p["n"], p["gap_runs"], p["seed"]),
    )


def _gap(d: int, top: int, beta: float, gap: float, n: int, runs: int, seed: int) -> "Dataset":
    import xarray

    from nucleate.attention import Attention

    times = np.geomspace(0.25, 20.0 + 8.0 / gap, FRAMES)
    # (b, m, n, d)
    x = simulated(Attention(beta, V=value_matrix(d, top, gap)), _starts(n, d, runs, seed), times)
    # (b, m)
    count = np.array([[len(leaders(tokens, beta)) for tokens in one] for one in x], dtype=np.float64)
    return xarray.Dataset(
        {
            "clusters": (("run", "time"), count),
            "on_L": (("run", "time"), (x[..., :top] ** 2).sum(-1).mean(-1)),
        },
        {"time": times},
    )


def _starts(n: int, d: int, runs: int, seed: int) -> Array:
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    return np.stack([uniform(n, d, stream(seed, run)) for run in range(runs)])  # (b, n, d)
