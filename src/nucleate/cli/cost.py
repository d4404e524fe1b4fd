"""What a command will cost, said before it begins: from a rough count of the work, and where that is much
from trying the same with fewer tokens."""

import time
from collections.abc import Callable
from functools import partial
from math import log2
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nucleate.cli.printing import echo
from nucleate.durations import in_words

if TYPE_CHECKING:
    from nucleate.attention import Attention
    from nucleate.checks import Array

__all__ = [
    "LONG_SECONDS",
    "NOTHING_DONE",
    "Part",
    "announce",
    "linear_from",
    "rough_seconds",
    "seconds_of_fewer",
    "tried_seconds",
]

LONG_SECONDS = 10.0  # what takes longer is said beforehand
ROUGH_SECONDS = 4.0  # what takes less by a rough count is not tried first
NOTHING_DONE = "Nothing was computed or written: leave out --dry-run."

# rough figures of one ordinary core; `tried_seconds` measures
PAIRS_PER_SECOND = 1e9  # in few dimensions
DIMENSIONS_PER_PAIR = 8.0  # that cost as much again
EVALUATIONS_PER_STEP, TIME_PER_STEP, LEAST_STEPS = 12.0, 0.7, 10.0
LAST_EXPLICIT_TIME = 1e4  # later on few steps are needed
MODES = 250.0  # on the circle a token costs no more than so many pairs

ALL_PAIRS, BY_MODES = 2.0, 1.1  # powers of the number of tokens that time grows with
MANY_ON_CIRCLE = 10_000  # tokens from which on the second holds there
TRIED_SECONDS, TRIED_LIMIT = 0.5, 5.0  # that a try should and may take
LEAST_TRIED_TOKENS = 16
ERROR_SHARE = 0.01  # of the tolerance that a kernel may err by
COMPILING_STEPS = 5  # of the run that only compiles


Progress = Callable[[float, float], object]
Lived = Callable[[int, Progress, float | None], object]  # a life of so many tokens, with a time limit


class Part(Protocol):
    """The work with fewer tokens."""

    def __call__(
        self,
        x0: "Array",
        *,
        progress: Progress,
        max_steps: int | None,
        time_limit: float | None,
    ) -> object: ...


def announce(
    seconds: float,
    words: str,
    dry_run: bool,
    quiet: bool = False,
    where: str = "on this machine",
    at_least: bool = False,
) -> None:
    """Say what will be done and for how long, where it takes long; with --dry-run in any case."""
    if not dry_run and (quiet or seconds < LONG_SECONDS):
        return
    time_in_words = in_words(seconds) if seconds >= LONG_SECONDS else "a few seconds"
    if at_least:
        time_in_words = f"at least {time_in_words.removeprefix('about ')}"
    echo(f"{words}: {time_in_words} {where}", err=not dry_run)
    if dry_run:
        echo(NOTHING_DONE)


def rough_seconds(runs: int, n: int, d: int, t: float, linear: int | None = None) -> float:
    """The time that runs of n tokens take, from a count of pairs; nothing is computed.

    linear   tokens from which on each costs no more than there, in more dimensions than the circle's
    """
    steps = min(t, LAST_EXPLICIT_TIME) / TIME_PER_STEP + LEAST_STEPS
    pairs = n * (min(n, linear or n) + 1) / 2.0 if d > 2 else n * min(n / 2.0, MODES)
    return runs * pairs * (1.0 + d / DIMENSIONS_PER_PAIR) * steps * EVALUATIONS_PER_STEP / PAIRS_PER_SECOND


def linear_from(model: "Attention", tolerance: float, n: int, d: int, t: float) -> int | None:
    """The number of tokens, a power of two, from which on each costs the same, by sums over modes or
    harmonics; None if there are fewer than twice as many."""
    from nucleate.kernels.dispatch import choose_kernel
    from nucleate.kernels.model_shape import model_shape

    many, allowed = 1, ERROR_SHARE * tolerance / max(1.0, t / 10.0)  # as the solvers allow it
    while 2 * many <= n:
        if choose_kernel(model_shape(model, many, d), allowed) != "pairwise":
            return many
        many *= 2
    return None


def tried_seconds(part: Part, x0: "Array", t: float, power: float | None, linear: int | None = None) -> float:
    """The time that the work with the tokens x0 takes, from the time it takes with the first of them: under a
    causal mask these move as they will in the whole.

    power    of the number of tokens that the time grows with; None: this is tried, too
    linear   tokens from which on the power holds: half as many as are tried at least
    """
    n, d = x0.shape[-2:]
    runs = len(x0) if x0.ndim == 3 else 1
    m, least = n, 2 * (linear or LEAST_TRIED_TOKENS)
    while m > least and rough_seconds(runs, m, d, t, linear) > TRIED_SECONDS:
        m = max(m * 3 // 4, least)
    some, half = x0[..., :m, :], x0[..., : max(m // 2, 1), :]
    for tokens in (half, some):  # which may need kernels of their own
        _heed(part(tokens, progress=_nobody, max_steps=COMPILING_STEPS, time_limit=None))
    _seconds_of(part, half)  # what is done only once, such as fetching kept code, is not counted
    before = _seconds_of(part, half).of_processor if power is None else 0.0
    now = _seconds_of(part, some)
    if power is None:  # by the time of the processor, which other programs change less
        power = min(max(log2(now.of_processor / before), 1.0), 2.0)
    return now.by_clock * (n / m) ** power


def seconds_of_fewer(lived: Lived, n: int) -> tuple[float, bool]:
    """The time that a life of n tokens takes, from lives of fewer, and whether that is the least it may take:
    progress of a life is in logarithms of time, and if one is cut short the rest may be slower."""
    _heed(lived(min(n, LEAST_TRIED_TOKENS), _nobody, None))  # compiles
    sizes = [n // 16, n // 8] if n // 16 > 2 * LEAST_TRIED_TOKENS else [n // 2, n]
    small, large = [_measured(partial(_within_limit, lived, max(size, 1))) for size in sizes]
    power = min(max(log2(large.of_processor / small.of_processor), 1.0), 2.0)
    return large.by_clock * (n / max(sizes[1], 1)) ** power, large.cut_short


def _within_limit(lived: Lived, n: int, progress: Progress) -> object:
    return lived(n, progress, TRIED_LIMIT)


class _Seconds(NamedTuple):
    by_clock: float
    of_processor: float
    cut_short: bool  # from the share that was done


def _seconds_of(part: Part, x0: "Array") -> _Seconds:
    return _measured(lambda progress: part(x0, progress=progress, max_steps=None, time_limit=TRIED_LIMIT))


def _measured(work: Callable[[Progress], object]) -> _Seconds:
    """How long it takes, from the share that is done when its time is over."""
    share, began, before = 0.0, time.perf_counter(), time.process_time()

    def note(done: float, total: float) -> None:
        nonlocal share
        share = done / total if total else 0.0

    _heed(work(note))
    took, of_processor = time.perf_counter() - began, time.process_time() - before
    cut_short = took >= TRIED_LIMIT
    whole = max(share, 0.01) if cut_short else 1.0
    return _Seconds(took / whole, max(of_processor, 1e-3) / whole, cut_short)


def _heed(result: object) -> None:
    """Ctrl-C ends a run, which says so; here it ends the command."""
    status = getattr(getattr(result, "run", result), "status", "")  # of one run, or of each
    if "interrupted" in ((status,) if isinstance(status, str) else status):
        raise KeyboardInterrupt


def _nobody(done: float, total: float) -> None:
    pass
