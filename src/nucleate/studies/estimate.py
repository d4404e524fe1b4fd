"""What a study will cost, before it is run: its size from the layout, its time from a few runs of some
points."""

import math
import time
from typing import NamedTuple

import numpy as np

from nucleate.durations import in_words
from nucleate.studies.block import Block, Cancelled, compute_block, warm_up
from nucleate.studies.store import layout
from nucleate.studies.study import Study

__all__ = ["Cost", "cost"]

RUNS_PER_TRIAL = 8
MAX_TRIED_POINTS = 4
TRIAL_SECONDS = 2.0  # for all tried points together


class Cost(NamedTuple):
    """Expected, not promised."""

    points: int
    runs: int  # in all
    bytes: int  # before compression
    seconds: float | None  # None where nothing was tried
    at_least: bool  # the trial was cut short, so it may well be more

    def __str__(self) -> str:
        grid = f"{self.points} points of the grid, " if self.points > 1 else ""
        time = "" if self.seconds is None else f", {'at least ' * self.at_least}{in_words(self.seconds)}"
        return f"{grid}{self.runs} runs{time}, {_size(self.bytes)} before compression"


def cost(study: Study, threads: int) -> Cost:
    """What running the study on so many threads would take, from a short trial."""
    row = sum(np.dtype(one.dtype).itemsize * math.prod(one.shape) for one in layout(study).values())
    runs = study.points * study.runs
    each, at_least = _seconds_per_run(study, TRIAL_SECONDS) if TRIAL_SECONDS > 0.0 else (None, False)
    if study.fixed["device"] == "gpu":
        threads = 1  # whose number matters little to the card
    return Cost(study.points, runs, row * runs, None if each is None else each * runs / threads, at_least)


def _seconds_per_run(study: Study, seconds: float) -> tuple[float, bool]:
    """Seconds per run on one thread, the mean over some points spread over the grid, and whether it may well
    be more."""
    points = sorted({int(point) for point in np.linspace(0, study.points - 1, MAX_TRIED_POINTS).round()})
    times, at_least = [], False
    for point in points:
        warm_up(study, point)
        many, began = min(_runs_of_trial(study), study.runs), time.perf_counter()
        end = began + seconds / len(points)
        try:
            compute_block(study, Block(point, 0, many), 1, lambda _, end=end: time.perf_counter() < end)  # type: ignore[misc]  # mypy cannot infer a lambda's default
        except Cancelled:
            at_least = True
        times.append((time.perf_counter() - began) / many)
    return float(np.mean(times)), at_least


def _runs_of_trial(study: Study) -> int:
    """A few; on a card a whole block, which takes hardly longer than one run."""
    if study.fixed["device"] == "cpu":
        return RUNS_PER_TRIAL
    from nucleate.gpu.card_frames import runs_of_block

    return runs_of_block(len(study.times), *study.largest)


def _size(size: int) -> str:
    for unit, power in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size} bytes"
