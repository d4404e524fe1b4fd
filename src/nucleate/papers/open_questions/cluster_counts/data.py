"""Losses of leaders: by causal single linkage of uniform tokens, predicted from tokens at t_f for growing
beta, and simulated where that can be done, all from the same starts."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.formed_tokens import formed_tokens

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["one_limit", "predicted_losses", "run", "simulated_losses"]

LIVES_PER_BLOCK = 2  # computed and stored at a time
LIMITS_PER_BLOCK = 50
MAX_LOSSES = 1000  # stored of a life, the last ones


def one_limit(n: int, d: int, seed: int) -> Array:
    """D_k of a uniform start in decreasing order, without the first, (MAX_LOSSES,)."""
    from nucleate.sphere import uniform
    from nucleate.theory.causal_linkage import linkage_angles

    angle = np.sort(linkage_angles(uniform(n, d, seed))[1:])[::-1]
    return _padded(angle)


def predicted_losses(beta: float, n: int, d: int, seed: int) -> Array:
    """ln t of every predicted merge, the last first, (MAX_LOSSES,)."""
    from nucleate.attention import Attention
    from nucleate.theory.predicted_life import predict_merges

    _, t_f, x = formed_tokens(beta, n, d, seed)
    return _padded(predict_merges(Attention(beta), x, t=t_f).log_times[::-1])


def simulated_losses(beta: float, n: int, d: int, seed: int) -> Array:
    """ln t of every simulated merge, the last first, (MAX_LOSSES,)."""
    from nucleate.observe.life import life
    from nucleate.papers.core.interruption import uninterrupted

    found = life(beta, n, d, seed)
    uninterrupted(found.run)
    assert found.whole, f"beta = {beta}, n = {n}, d = {d}, seed {seed}: {found.ending}"
    return _padded(np.log([event.time for event in found.merges])[::-1])


def _padded(values: Array) -> Array:
    """NaN behind."""
    kept = np.full(MAX_LOSSES, np.nan)
    kept[: len(values)] = values[:MAX_LOSSES]
    return kept


def _block(one: Any, seeds: range) -> "Dataset":
    import xarray

    return xarray.Dataset({"loss": (("start", "rank"), np.stack(in_threads(one, seeds)))})


def run(workspace: "ItemWorkspace") -> "Data":
    """The limit, predictions and simulations."""
    p, data = workspace.parameters, {}
    jobs: list[tuple[str, int, int, Any, float]] = []
    for d, n in p["limit_n"].items():
        work = partial(_seeded, one_limit, (n, int(d)), 0)
        jobs.append(
            (f"limit_d{d}", p["limit_starts"], LIMITS_PER_BLOCK, work, 4e-8 * n * n * p["limit_starts"])
        )
    beside = [case for case in p["simulated"] if case not in p["predicted"]]  # to be held against simulation
    for name, function, first, cases in (
        ("predicted", predicted_losses, p["first_start"], [*p["predicted"], *beside]),
        ("held", predicted_losses, p["held_seed"], p["held"]),
        ("simulated", simulated_losses, p["first_start"], p["simulated"]),
    ):
        for d, beta, n in cases:
            starts = p["starts"][str(d)]
            work = partial(_seeded, function, (beta, n, d), first)
            jobs.append((f"{name}_d{d}_beta{beta:g}", starts, LIVES_PER_BLOCK, work, 6e-6 * n * n * starts))
    cost = np.cumsum([0.0, *(job[-1] for job in jobs)])
    for i, (name, starts, block, work, _) in enumerate(jobs):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1])

        data[name] = workspace.blocks(name, starts, block, partial(_block, work), "start", progress)
    return data


def _seeded(function: Any, arguments: tuple[Any, ...], first: int, number: int) -> Array:
    return np.asarray(function(*arguments, first + number))
