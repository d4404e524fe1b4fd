"""Timing and memory: contestants take turns, so that noise hits all alike, and the best of several rounds
counts."""

import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Tell", "Timing", "peak_memory", "race"]

Tell = Callable[[str], None]  # prints what is being measured

# a turn repeats its call until it takes about this long; the system needs some of it to spread
# threads over cores
MIN_TURN_SECONDS = 0.25
# between turns: the threads of BLAS and of JAX spin for a while after their work, and would
# take cores from the next contestant
PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Timing:
    """What one contestant's calls took, in seconds."""

    first: float  # the first call, compilation included; used for nothing else
    rounds: tuple[float, ...]  # one call, in each round

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)


def race(contestants: Mapping[str, Callable[[], object]], rounds: int, tell: Tell) -> dict[str, Timing]:
    """Call each twice to warm up, then all in turn, `rounds` times over."""
    first, calls = {}, {}
    for name, call in contestants.items():
        tell(f"{name}: warming up")
        first[name] = _seconds(call, 1)
        calls[name] = max(1, math.ceil(MIN_TURN_SECONDS / max(_seconds(call, 1), 1e-9)))
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds):
        for name, call in contestants.items():
            tell(f"{name}: round {turn + 1} of {rounds}")
            time.sleep(PAUSE_SECONDS)
            if calls[name] > 1:
                call()  # to bring its data back into the cache
            taken[name].append(_seconds(call, calls[name]))
    return {name: Timing(first[name], tuple(taken[name])) for name in contestants}


def _seconds(call: Callable[[], object], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls


def peak_memory(call: Callable[[], object]) -> int:
    """The most bytes that `call` holds at a time: Python's objects and NumPy's arrays; compiled code
    allocates none of its own."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
