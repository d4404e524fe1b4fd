"""The limit equation on the sphere beside runs with the same first tokens, and far beyond any run: what
`studies/causal_front_sphere.py` computes."""

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.causal_front.data import (
    RTOL,
    Bins,
    Case,
    bins_of,
    case_seed,
    cases,
    far_times,
    fronts_of,
    seen_of,
)

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters
    from nucleate.theory.causal_front_sphere import ContinuedOnSphere

__all__ = ["SPHERE_LIMIT", "SPHERE_SHAPE", "near_shares", "run_sphere_limit"]

SPHERE_LIMIT: "Parameters" = {
    "cases": [[3, 20.0, 50_000, 8], [3, 40.0, 50_000, 6]],
    "first": 300,
    "least": 1000,
    "times": [round(0.4 * i, 1) for i in range(36)],
    "far": {"beta": 12.0, "begin": 15.0, "end": 45.0, "t": 20.0, "starts": 24, "halved": 2},
    "halvings": 3,
    "first_seed": 90_000,
    "every_token": False,  # profiles of runs are of some tokens of a bin, as in the item
    "block": 2,
}
# the same near the beginning, once more, with profiles of every token
SPHERE_SHAPE: "Parameters" = {
    **SPHERE_LIMIT,
    "far": {**SPHERE_LIMIT["far"], "starts": 0},
    "first_seed": 95_000,
    "every_token": True,
}
SHOWN = 2000  # later tokens that are kept of a run and of the limit, to be drawn
CASE_SECONDS, FAR_SECONDS = 40.0, 20.0  # of processor time for a start, about
DIMS = {
    "seen": ("time", "bin"),
    "own_seen": ("time", "bin"),
    "other_seen": ("time", "bin"),
    "own_near": ("bin",),
    "other_near": ("bin",),
    "own_error": (),
    "run_end": ("token", "coordinate"),
    "own_end": ("token", "coordinate"),
    "crossing": ("noise", "halving", "cell"),
    "settled": ("noise", "cell"),
}


def _one(case: Case, p: "Parameters", seed: int) -> dict[str, Array]:
    """A run, and the limit equation behind its first tokens, and behind those of another start."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front_sphere import continue_on_sphere

    times, bins = p["times"], bins_of(p["first"], case.n)
    x0 = uniform(case.n, 3, seed)
    run = uninterrupted(
        simulate(Attention(case.beta), x0, times[-1], save=times, rtol=RTOL, atol=RTOL / 100.0)
    )
    assert run.status == "done", run.status
    late = np.linspace(case.n / float(np.exp(1.0)), case.n - 1, SHOWN).astype(np.int64)
    found = {
        "seen": np.stack([_seen(frame, case.beta, bins, p["every_token"]) for frame in run.x]),
        "run_end": run.x[-1][late],
    }
    # the null need not be solved as well
    for name, other, halvings in (("own", seed, p["halvings"]), ("other", seed + 500, 0)):
        first = uniform(p["first"], 3, other)
        limit = continue_on_sphere(first, case.beta, times, np.log(case.n), halvings=halvings)
        found[f"{name}_seen"] = limit.seen.reshape(len(times), len(bins.s), -1).mean(2)
        found[f"{name}_near"] = near_shares(x0, run.x[-1], limit, bins, case.beta)
        if name == "own":
            found["own_error"] = np.array(limit.error / np.abs(limit.seen).max())
            found["own_end"] = _late_ends(limit, case.n)
    return found


def _seen(x: Array, beta: float, bins: Bins, every_token: bool) -> Array:
    """The mean of zeta - 1 over every bin, of all its tokens or of some: x (n, 3) -> (bins,)."""
    from nucleate.theory.causal_front_sphere import seen_on_sphere

    if not every_token:
        return seen_of(x, beta, bins)
    zeta = seen_on_sphere(x, beta)
    return np.array([zeta[a:b].mean() for a, b in pairwise(bins.edges.tolist())])


def near_shares(x0: Array, end: Array, limit: "ContinuedOnSphere", bins: Bins, beta: float) -> Array:
    """The share of tokens of every bin that end within beta^(-1/2) of where the limit equation has the start
    nearest to theirs: x0, end (n, 3) -> (bins,)."""
    from scipy.spatial import cKDTree

    k = np.arange(bins.edges[0], bins.edges[-1])  # (tokens,)
    edge = np.append(limit.s - (limit.s[1] - limit.s[0]) / 2.0, np.inf)
    cell = np.clip(np.searchsorted(edge, np.log(k + 0.5), "right") - 1, 0, len(limit.s) - 1)
    nearest = np.asarray(cKDTree(limit.start).query(x0[k])[1])  # (tokens,)
    predicted = limit.start[nearest] + limit.moved[cell, nearest]  # (tokens, 3)
    near = (predicted * end[k]).sum(1) >= np.cos(beta**-0.5)
    return np.array([near[a:b].mean() for a, b in pairwise((bins.edges - bins.edges[0]).tolist())])


def _late_ends(limit: "ContinuedOnSphere", n: int) -> Array:
    """Where tokens of the last factor e are at the last time, (SHOWN, 3), drawn by their weights."""
    late = limit.s > np.log(n) - 1.0
    weight = np.outer(np.exp(limit.s[late]), limit.share)  # (late, P)
    drawn = np.random.default_rng(0).choice(weight.size, SHOWN, p=weight.ravel() / weight.sum())
    return np.asarray((limit.start + limit.moved[late]).reshape(-1, 3)[drawn])


def _far_one(p: "Parameters", i: int) -> dict[str, Array]:
    """When the front passes far from the beginning, as in the item on the circle."""
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front_sphere import continue_on_sphere

    far, seed, t = p["far"], case_seed(p, len(cases(p)), i), far_times(p)
    x0, halvings = uniform(p["first"], 3, seed), 1 if i < far["halved"] else 0
    both: Any = [
        continue_on_sphere(x0, far["beta"], t, far["end"], noise=noise, halvings=halvings)
        for noise in (seed, None)
    ]
    return fronts_of(both)


def _block(one: Any, numbers: range) -> "Dataset":
    import xarray

    found = in_threads(one, numbers)
    return xarray.Dataset(
        {name: (("start", *DIMS[name]), np.stack([row[name] for row in found])) for name in found[0]}
    )


def run_sphere_limit(workspace: "ItemWorkspace") -> "Data":
    """Every case, some starts at a time, then the limit equation far away."""
    p, data = workspace.parameters, {}
    every = cases(p)
    seconds = [CASE_SECONDS * case.starts for case in every] + [FAR_SECONDS * p["far"]["starts"]]
    cost = np.cumsum([0.0, *seconds])

    def within(i: int) -> Any:
        return lambda done, total: workspace.progress(cost[i] + done / total * seconds[i], cost[-1])

    def one(number: int, case: Case, i: int) -> dict[str, Array]:
        return _one(case, p, case_seed(p, number, i))

    for number, case in enumerate(every):
        work: Any = partial(_block, partial(one, number, case))
        data[case.name] = workspace.blocks(case.name, case.starts, p["block"], work, "start", within(number))
    if not p["far"]["starts"]:
        return data
    work = partial(_block, partial(_far_one, p))
    data["far"] = workspace.blocks("far", p["far"]["starts"], p["block"], work, "start", within(len(every)))
    return data
