"""Whole lives on spheres of several dimensions: how long strong centers stay, against Lemma 5.1's bound for
each, and every merge with the angle and the weight of the two-token law."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.observe.life import Life
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["Cell", "cells", "centers_of", "merges_of", "run"]

LIVES_PER_BLOCK = 4  # computed and stored at a time
MOST = 200  # centers and merges kept of a life


class Cell(NamedTuple):
    """Lives of one kind."""

    d: int
    beta: float
    n: int
    starts: int
    use: str  # "fit" or "test"

    @property
    def name(self) -> str:
        """Of its dataset."""
        return f"d{self.d}_beta{self.beta:g}"


def cells(p: "Parameters") -> list[Cell]:
    """All of them, with the share of starts that is asked for."""
    return [
        Cell(int(d), float(beta), int(n), max(2, round(p["share"] * starts)), use)
        for d, beta, n, starts, use in p["cells"]
    ]


def centers_of(found: "Life", beta: float, separation: float) -> dict[str, Array]:
    """Strong centers but the first: index from 1, distance from the nearest earlier token in units of
    beta^(-1/2), the time that Lemma 5.1 has for that distance, and the time at which the center has moved
    farther than it allows, (centers,) each."""
    from nucleate.observe.centers import renyi_centers
    from nucleate.observe.stationarity import stationarity
    from nucleate.sphere import distance
    from nucleate.theory.bounds import best_guarantee

    x = found.run.x[0]  # (n, d)
    center = renyi_centers(x, separation * beta**-0.5, strong=True)[1:]  # (centers,)
    nearest = np.array([distance(x[:k], x[k][None]).min() for k in center])  # (centers,)
    guarantee = [best_guarantee(beta, angle * beta**0.5) for angle in nearest]
    promised = np.array([one.time(int(k) + 1) for one, k in zip(guarantee, center, strict=True)])
    limit = np.array([one.displacement for one in guarantee])
    stay = stationarity(found.run, center, limit, promised) if len(center) else None
    return {
        "index": center + 1.0,
        "apart": nearest * beta**0.5,
        "promised": promised,
        "lifetime": stay.lifetime if stay else np.empty(0),
        "until": np.full(len(center), found.run.t[-1]),
    }


def merges_of(found: "Life", beta: float) -> dict[str, Array]:
    """Of every merge: the angle at t_f between the leader and the one it is lost to, the tokens m of that
    cluster that come before it, the logarithm of the time since t_f, and of the two-token time, (merges,)
    each."""
    from nucleate.observe.refine import positions_at
    from nucleate.sphere import distance
    from nucleate.theory.approach_time import log_approach_times
    from nucleate.theory.predicted_life import tokens_seen

    run, leaders = found.run, found.merges.leaders
    frame = int(np.searchsorted(run.t, found.t_f))
    x = positions_at(run, np.array([frame]), np.array([found.t_f]))[0] if frame else run.x[0]  # (n, d)
    seen = tokens_seen(x, leaders)  # (L, L)
    place = {int(token): i for i, token in enumerate(leaders)}
    angle, weight, log_time = [], [], []
    for event in found.merges.events:
        k, j = place[event.lost], place[event.into]
        angle.append(float(distance(x[event.lost], x[event.into])))
        weight.append(max(seen[j, k], 1.0))
        log_time.append(np.log(max(event.time - found.t_f, 1e-300)))
        seen[j] += seen[k]
    scores = np.tile([1.0, 0.0, 0.0, 1.0], (len(angle), 1))  # (merges, 4)
    law = log_approach_times(beta, np.array(angle), found.radius, np.array(weight), scores)
    return {"angle": np.array(angle), "weight": np.array(weight), "log_time": np.array(log_time), "law": law}


def _one_life(cell: Cell, separation: float, seed: int) -> dict[str, Array]:
    from nucleate.attention import Attention
    from nucleate.observe.life import life
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    found = life(Attention(cell.beta), uniform(cell.n, cell.d, seed))
    uninterrupted(found.run)
    assert found.whole, f"{cell}, seed {seed}: {found.ending}"
    both = {**centers_of(found, cell.beta, separation), **merges_of(found, cell.beta)}
    return {name: _padded(values) for name, values in both.items()}


def _padded(values: Array) -> Array:
    """NaN behind, (MOST,)."""
    kept = np.full(MOST, np.nan)
    kept[: len(values)] = values[:MOST]
    return kept


def _block(cell: Cell, separation: float, first: int, numbers: range) -> "Dataset":
    import xarray

    found = in_threads(lambda i: _one_life(cell, separation, first + i), numbers)
    return xarray.Dataset(
        {name: (("start", "rank"), np.stack([one[name] for one in found])) for name in found[0]}
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Every cell, some lives at a time."""
    p, data = workspace.parameters, {}
    every = cells(p)
    cost = np.cumsum([0.0, *(one.beta**0.5 * one.n * one.starts * one.d for one in every)])
    for i, cell in enumerate(every):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1])

        work: Any = partial(_block, cell, p["separation"], p["first_seed"][cell.use])
        data[cell.name] = workspace.blocks(cell.name, cell.starts, LIVES_PER_BLOCK, work, "start", progress)
    return data
