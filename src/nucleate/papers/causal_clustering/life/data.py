"""Many whole lives at one beta: how many clusters there are at which time, and how long the last two live."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run
    from nucleate.observe.life import Life
    from nucleate.papers.core.cache import Desk

__all__ = ["grid", "lives", "one_life", "one_run"]

BLOCK = 10  # lives that are computed and kept at a time
PER_DECADE = 8  # times at which clusters are counted
MOST = 40  # merges that are kept of a life


def lives(desk: "Desk", beta: float, starts: int, n: int, told: Callable[[float], object]) -> "Dataset":
    """The lives from seeds 0, 1, ..., block by block from the disk or computed now."""
    import xarray

    blocks = [range(first, min(first + BLOCK, starts)) for first in range(0, starts, BLOCK)]
    parts = []
    for seeds in blocks:
        parts.append(desk.dataset(f"beta{beta:g}-{seeds[0]:03d}", partial(_block, beta, n, seeds)))
        told((seeds[-1] + 1) / starts)
    return xarray.concat([part.drop_attrs() for part in parts], "start")


def grid(beta: float, n: int) -> Array:
    """Times from 0.01 to the end of every life at this beta."""
    from nucleate.observe.life import life_time

    decades = np.log10(life_time(beta, n)) + 2.0
    return np.geomspace(1e-2, life_time(beta, n), int(np.ceil(PER_DECADE * decades)))


def _block(beta: float, n: int, seeds: range) -> "Dataset":
    """Some lives, as many at once as there are cores."""
    import xarray

    from nucleate.kernels.threads import pick_threads

    stop = [False]
    with ThreadPoolExecutor(min(pick_threads(None), len(seeds))) as pool:
        futures = [pool.submit(one_life, beta, n, seed, stop) for seed in seeds]
        try:
            found = [future.result() for future in futures]
        except BaseException:
            stop[0] = True
            raise
    times = grid(beta, n)
    names = {"count": ("start", "time"), "merge_times": ("start", "merge")}
    return xarray.Dataset(
        {name: (names.get(name, ("start",)), np.stack([one[name] for one in found])) for name in found[0]},
        {"time": times, "start": np.array(seeds)},
    )


def one_life(beta: float, n: int, seed: int, stop: list[bool] | None = None) -> dict[str, Any]:
    """One life in numbers; times of merges are padded with NaN."""
    from nucleate.observe.clusters import count_clusters
    from nucleate.observe.life import life
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import distance

    found = life(beta, n, seed=seed, progress=lambda done, total: not (stop and stop[0]))
    run = finished(found.run)
    # (times,) the first at or after each
    frame = np.minimum(np.searchsorted(run.t, grid(beta, n)), len(run.t) - 1)
    merge_times = np.full(MOST, np.nan)
    merge_times[: len(found.merges)] = [event.time for event in found.merges.events][:MOST]
    return {
        "count": count_clusters(run.x[frame], found.radius).astype(np.float64),
        "merge_times": merge_times,
        "t_f": np.float64(found.t_f),
        "leaders": np.float64(len(found.merges.leaders)),
        "left": np.float64(found.merges.left),
        "whole": np.float64(found.whole),
        "off": np.float64(distance(run.x[-1], run.x[0, 0]).max()),
        **_last(found, beta),
    }


def one_run(beta: float, n: int, seed: int) -> "Run":
    """The whole run of one life."""
    from nucleate.observe.life import life

    return life(beta, n, seed=seed).run


def _last(found: "Life", beta: float) -> dict[str, np.float64]:
    """The last merge: when it comes, the angle between the last two leaders when only they are left, and the
    time the two-token law gives it.

    The last leader k sees k earlier tokens, all in the other cluster by then, which rests at x_1(0): u' = (1
    - u^2) / (1 + e^{beta (1 - u)} / k).
    """
    from nucleate.theory.flows import log_two_token_time

    events, run = found.merges.events, found.run
    if not events or events[-1].left != 1:
        return {
            name: np.float64("nan") for name in ("last_time", "two_from", "angle", "log_expected", "tokens")
        }
    last, since = events[-1], events[-2].time if len(events) > 1 else found.t_f
    x = run.x[np.searchsorted(run.t, since)]  # (n, d) the first frame with two clusters
    way = np.linalg.norm(x[last.lost] - x[last.into])
    u = 1.0 - way**2 / 2.0  # cos of the angle
    expected = log_two_token_time(
        beta, float(np.clip(u, -1 + 1e-15, 1 - 1e-15)), float(np.cos(found.radius)), float(last.lost)
    )
    told = (last.time, since, 2.0 * np.arcsin(min(float(way) / 2.0, 1.0)), expected, last.lost)
    return dict(
        zip(("last_time", "two_from", "angle", "log_expected", "tokens"), map(np.float64, told), strict=True)
    )
