"""Timing and memory: contestants take turns, so that noise hits all alike, and the best of several rounds
counts."""

import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Tell", "Timing", "peak_memory", "peak_process_memory", "time_in_turns"]

Tell = Callable[[str], None]  # says what is being done, for a person who waits

# A turn repeats its call until it takes about this long: the system needs some of it to spread threads over
# cores.
MIN_TURN_SECONDS = 0.25
# Between turns: the threads of BLAS and of JAX go on spinning for a while after their work, on cores that the
# next contestant needs.
PAUSE_SECONDS = 0.05
# A call that takes less is made once before its turn: data come back into the cache, and memory that the
# system took back meanwhile is handed out again, which can take half as long as the work.
MAX_WARMED_SECONDS = 2.0


@dataclass(frozen=True)
class Timing:
    """What one contestant's calls took, in seconds."""

    first: float  # the first call, compilation included; counts for nothing else
    rounds: tuple[float, ...]  # one call, in each round

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)


def time_in_turns(
    contestants: Mapping[str, Callable[[], object]], rounds: int, tell: Tell
) -> dict[str, Timing]:
    """Call each twice to warm up, then all in turn, `rounds` times over."""
    first, once, calls = {}, {}, {}
    for name, call in contestants.items():
        tell(f"{name}: warming up")
        first[name] = _seconds(call, 1)
        once[name] = _seconds(call, 1)
        calls[name] = max(1, math.ceil(MIN_TURN_SECONDS / max(once[name], 1e-9)))
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds):
        for name, call in contestants.items():
            tell(f"{name}: round {turn + 1} of {rounds}")
            time.sleep(PAUSE_SECONDS)
            if once[name] < MAX_WARMED_SECONDS:
                call()
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


def peak_process_memory() -> int:
    """The most bytes of memory that this process has had.

    Linux tells it since the process was started; what getrusage counts includes what its parent had.
    """
    try:
        return next(
            1024 * int(line.split()[1])
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmHWM")
        )
    except (OSError, StopIteration):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak  # macOS counts bytes, others kilobytes
