"""Many whole lives at one beta: how many clusters there are at which time, every merge, and how long the last
two clusters live."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run
    from nucleate.observe.life import Life
    from nucleate.observe.merges import Merge
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["MERGE_NAMES", "count_times", "dataset_name", "one_life", "run"]

LIVES_PER_BLOCK = 10  # computed and stored at a time
TIMES_PER_DECADE = 8  # at which clusters are counted
MAX_MERGES = 40  # stored of a life, the last ones
# of a merge: when it was, from when on no other merge came before it, the angle between the two leaders then,
# and the tokens of the absorbing cluster that the lost leader sees
MERGE_NAMES = ("merge_time", "merge_since", "merge_angle", "merge_tokens")


def count_times(beta: float, n: int) -> Array:
    """Times from 0.01 to the end of every life at this beta."""
    from nucleate.observe.life import life_time

    decades = np.log10(life_time(beta, n)) + 2.0
    return np.geomspace(1e-2, life_time(beta, n), int(np.ceil(TIMES_PER_DECADE * decades)))


def _block(beta: float, n: int, d: int, seeds: range) -> "Dataset":
    """Some lives, as many at once as there are cores."""
    import xarray

    stop = [False]
    found = in_threads(lambda seed: one_life(beta, n, seed, stop, d), seeds, stop)
    times = count_times(beta, n)
    names = {"count": ("start", "time"), **dict.fromkeys(MERGE_NAMES, ("start", "merge"))}
    return xarray.Dataset(
        {name: (names.get(name, ("start",)), np.stack([one[name] for one in found])) for name in found[0]},
        {"time": times, "start": np.array(seeds)},
    )


def one_life(beta: float, n: int, seed: int, stop: list[bool] | None = None, d: int = 2) -> dict[str, Any]:
    """One life in numbers; merges are padded with NaN."""
    from nucleate.observe.clusters import count_clusters
    from nucleate.observe.life import life
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import distance

    found = life(beta, n, d, seed=seed, progress=lambda done, total: not (stop and stop[0]))
    run = uninterrupted(found.run)
    # (times,) the first at or after each
    frame = np.minimum(np.searchsorted(run.t, count_times(beta, n)), len(run.t) - 1)
    table = np.full((len(MERGE_NAMES), MAX_MERGES), np.nan)
    for column, i in enumerate(range(len(found.merges))[-MAX_MERGES:]):
        table[:, column] = _merge(found, i)
    return {
        "count": count_clusters(run.x[frame], found.radius).astype(np.float64),
        **dict(zip(MERGE_NAMES, table, strict=True)),
        "t_f": np.float64(found.t_f),
        "leaders": np.float64(len(found.merges.leaders)),
        "left": np.float64(found.merges.left),
        "whole": np.float64(found.whole),
        "off": np.float64(distance(run.x[-1], run.x[0, 0]).max()),
        **_last(found, beta),
    }


def _merge(found: "Life", i: int) -> tuple[float, float, float, float]:
    """MERGE_NAMES of merge i: as things are in the first frame after the merge before it, or after t_f."""
    events, run = found.merges.events, found.run
    event: Merge = events[i]
    frame = int(np.searchsorted(run.t, events[i - 1].time if i else found.t_f))
    x, gone = run.x[frame], {one.lost for one in events[:i]}  # (n, d)
    leaders = [k for k in found.merges.leaders.tolist() if k not in gone and k <= event.lost]
    chord = np.linalg.norm(x[: event.lost, None] - x[leaders], axis=-1)  # (lost, leaders)
    seen = (np.array(leaders)[chord.argmin(1)] == event.into).sum()
    apart = float(np.linalg.norm(x[event.lost] - x[event.into]))
    return event.time, float(run.t[frame]), 2.0 * np.arcsin(min(apart / 2.0, 1.0)), float(seen)


def one_run(beta: float, n: int, seed: int) -> "Run":
    """The whole run of one life."""
    from nucleate.observe.life import life

    return life(beta, n, seed=seed).run


def _last(found: "Life", beta: float) -> dict[str, np.float64]:
    """The last merge: when it comes, the angle between the last two leaders when only they are left, and the
    time the two-token law gives it.

    The last leader k sees k earlier tokens, all in the other cluster by then, which stays at x_1(0): u' = (1
    - u^2) / (1 + e^{beta (1 - u)} / k).
    """
    from nucleate.theory.flows import log_two_token_time

    events, run = found.merges.events, found.run
    names = ("last_time", "two_from", "angle", "log_expected", "tokens")
    if not events or events[-1].left != 1:
        return dict.fromkeys(names, np.float64("nan"))
    last, since = events[-1], events[-2].time if len(events) > 1 else found.t_f
    x = run.x[np.searchsorted(run.t, since)]  # (n, d) the first frame with two clusters
    chord = np.linalg.norm(x[last.lost] - x[last.into])
    u = 1.0 - chord**2 / 2.0  # cos of the angle
    expected = log_two_token_time(
        beta, float(np.clip(u, -1 + 1e-15, 1 - 1e-15)), float(np.cos(found.radius)), float(last.lost)
    )
    values = (last.time, since, 2.0 * np.arcsin(min(float(chord) / 2.0, 1.0)), expected, last.lost)
    return dict(zip(names, map(np.float64, values), strict=True))


def run(workspace: "ItemWorkspace") -> "Data":
    """The life that is shown, and many lives at every beta, on the circle and on the sphere."""
    p = workspace.parameters
    shown = workspace.run("shown", lambda: one_run(p["shown_beta"], p["n"], p["shown_seed"]))
    data: dict[str, Any] = {"shown": shown}
    cases = [(2, beta, p["n"], p["starts"]) for beta in p["betas"]]
    cases += [(3, beta, p["sphere_n"], p["sphere_starts"]) for beta in p["sphere_betas"]]
    cost = np.cumsum([0.0, *(beta**0.7 * starts * d for d, beta, _, starts in cases)])  # about the time
    for i, (d, beta, n, starts) in enumerate(cases):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1])

        name = dataset_name(d, beta)
        data[name] = workspace.blocks(
            name, starts, LIVES_PER_BLOCK, partial(_block, beta, n, d), "start", progress
        )
    return data


def dataset_name(d: int, beta: float) -> str:
    """Of the lives at one beta."""
    return f"beta{beta:g}" if d == 2 else f"d{d}_beta{beta:g}"
