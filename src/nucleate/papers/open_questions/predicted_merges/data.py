"""Whole lives, simulated: where the tokens are at t_f, and every merge after it."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["Case", "cases", "drawn_scores", "one_life", "run"]

LIVES_PER_BLOCK = 4  # computed and stored at a time


class Case(NamedTuple):
    """Lives of one kind."""

    group: str
    d: int
    beta: float
    n: int
    starts: int
    scores: str  # "I", or "drawn": Q and K of every life are
    first_seed: int = 0  # of the starts

    @property
    def name(self) -> str:
        """Of its dataset and numbers."""
        return f"d{self.d}_beta{self.beta:g}_n{self.n}" + "_drawn" * (self.scores == "drawn")


def cases(p: "Parameters") -> list[Case]:
    """All of them, with the share of starts that is asked for."""
    return [
        Case(
            group,
            int(d),
            float(beta),
            int(n),
            max(2, round(p["share"] * starts)),
            scores,
            int(p["first_seed"]),
        )
        for group, d, beta, n, starts, scores in p["cases"]
    ]


def drawn_scores(seed: int, d: int, spread: float) -> tuple[Array, Array]:
    """Q and K (d, d): I and normal entries of that spread."""
    rng = np.random.default_rng([seed, d])
    Q, K = np.eye(d) + spread * rng.standard_normal((2, d, d))
    return Q, K


def one_life(case: Case, spread: float, seed: int) -> dict[str, Any]:
    """One life in numbers; merges are padded with -1 and NaN."""
    from nucleate.observe.life import life
    from nucleate.observe.refine import positions_at
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    Q, K = drawn_scores(seed, case.d, spread) if case.scores == "drawn" else (np.eye(case.d), np.eye(case.d))
    model = Attention(case.beta) if case.scores == "I" else Attention(case.beta, Q=Q, K=K)
    found = life(model, uniform(case.n, case.d, seed))
    run, events = uninterrupted(found.run), found.merges.events
    frame = int(np.searchsorted(run.t, found.t_f)) if np.isfinite(found.t_f) else 0
    lost, into, time = np.full(case.n, -1), np.full(case.n, -1), np.full(case.n, np.nan)
    lost[: len(events)] = [event.lost for event in events]
    into[: len(events)] = [event.into for event in events]
    time[: len(events)] = [event.time for event in events]
    return {
        "x": positions_at(run, np.array([frame]), np.array([found.t_f]))[0] if frame else run.x[0],
        "t_f": np.float64(found.t_f),
        "whole": np.float64(found.whole),
        "Q": Q,
        "K": K,
        "lost": lost,
        "into": into,
        "time": time,
    }


def _block(case: Case, spread: float, numbers: range) -> "Dataset":
    """Some lives, as many at once as there are cores."""
    import xarray

    found = in_threads(lambda i: one_life(case, spread, case.first_seed + i), numbers)
    dims: dict[str, tuple[str, ...]] = {
        "x": ("token", "coordinate"),
        "Q": ("row", "column"),
        "K": ("row", "column"),
    }
    dims |= dict.fromkeys(("lost", "into", "time"), ("merge",))
    return xarray.Dataset(
        {name: (("start", *dims.get(name, ())), np.stack([one[name] for one in found])) for name in found[0]}
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Every case, some lives at a time."""
    p, data = workspace.parameters, {}
    every = cases(p)
    cost = np.cumsum([0.0, *(one.beta**0.5 * one.n * one.starts * (one.d - 1) ** 2 for one in every)])
    for i, case in enumerate(every):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1])

        data[case.name] = workspace.blocks(
            case.name,
            case.starts,
            LIVES_PER_BLOCK,
            partial(_block, case, p["spread"]),
            "start",
            progress,
        )
    return data
