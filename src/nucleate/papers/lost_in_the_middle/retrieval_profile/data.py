"""Causal attention with exponential weights and ALiBi on the circle, from independent uniform tokens: the
same start again and again, each time with one token moved.

The correlation of token N at the time t with token j at the time 0 in mode n is C_j = E cos n(theta_N(t) -
theta_j(0)), of size 1/N.  As theta_j(0) is uniform, it may be moved by pi/n, which changes the sign of
e^{i n theta_j(0)}; half the difference of both cosines has the same mean, and is itself of size 1/N, since
theta_N hardly notices one token.  So it needs N^2 times fewer starts, and nothing is linearised.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["case_name", "run", "size_name"]

COPIES_AT_ONCE = 640  # of a batch


def run(workspace: "ItemWorkspace") -> "Data":
    """One dataset per mode and lambda; then one per larger N, of one mode and lambda."""
    p = workspace.parameters
    data: dict[str, Dataset] = {}
    for mode, lam in p["cases"]:
        name = case_name(mode, lam)
        data[name] = workspace.dataset(name, partial(responses, p, mode, lam))
        workspace.progress(len(data), len(p["cases"]) + len(p["sizes"]))
    for N, runs in p["sizes"]:
        compute = partial(responses, {**p, "N": N, "runs": runs}, *p["size_case"])
        data[size_name(N)] = workspace.dataset(size_name(N), compute)
        workspace.progress(len(data), len(p["cases"]) + len(p["sizes"]))
    return data


def size_name(N: int) -> str:
    """Of a dataset of a larger N."""
    return f"N{N}"


def case_name(mode: int, lam: float) -> str:
    """Of a dataset."""
    return f"mode{mode}-lambda{lam:g}"


def responses(p: "Parameters", mode: int, lam: float) -> "Dataset":
    """N C_j of every start, time and token j < N."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.positions import ALiBi
    from nucleate.theory.lost_in_the_middle import growth_rate

    N, beta, runs = p["N"], p["beta"], p["runs"]
    # the forces of Attention are those of the paper over beta
    times = np.array(p["at"]) * beta / growth_rate(beta, mode)
    model = Attention(beta, weights="exponential", position=ALiBi(lam / N))
    found = np.empty((runs, len(times), N - 1))
    block = max(COPIES_AT_ONCE // N, 1)
    for first in range(0, runs, block):
        some = range(first, min(first + block, runs))
        theta = np.stack([start(p, mode, i) for i in some])  # (starts, N)
        copies = np.repeat(theta[:, None], N, axis=1)  # (starts, N, N): the last copy as it is
        moved = np.arange(N - 1)
        copies[:, moved, moved] += np.pi / mode
        x = np.stack([np.cos(copies), np.sin(copies)], axis=-1).reshape(-1, N, 2)
        end = uninterrupted(
            simulate(model, x, float(times[-1]), save=np.r_[0.0, times], rtol=p["rtol"], atol=0.0)
        ).x[:, 1:, -1]  # (starts N, times, 2) token N
        angle = np.arctan2(end[..., 1], end[..., 0]).reshape(len(some), N, len(times))
        off = mode * (angle.transpose(0, 2, 1) - theta[:, None, -1:])  # (starts, times, N copies)
        found[some.start : some.stop] = half_differences(off, mode * (theta - theta[:, -1:]))
    at = {"at": p["at"]}
    return xarray.Dataset({"response": (("run", "at", "token"), N * found)}, at)


def half_differences(last: Array, first: Array) -> Array:
    """Half of cos(last - first) without and with token j moved: of the phases of token N at the end, last
    (starts, times, N), in copies of which the last is not moved, and at the start, first (starts, N)."""
    still, moved = last[..., -1:], last[..., :-1]  # (starts, times, 1), (starts, times, N-1)
    source = first[:, None, :-1]  # (starts, 1, N-1)
    # moving token j by pi/n turns its phase around
    return np.asarray((np.cos(still - source) - np.cos(moved - source)) / 2.0)


def start(p: "Parameters", mode: int, i: int) -> Array:
    """The angles (N,) of start i, which are those of every lambda."""
    rng = np.random.default_rng([p["seed"], mode, i])
    return np.asarray(rng.uniform(0.0, 2.0 * np.pi, p["N"]))
