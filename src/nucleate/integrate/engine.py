"""Running a book of runs: which solver, on which threads, and the watch kept meanwhile.

On the circle eight runs share the lanes of a vector where they can.  Other runs go one by one: explicit; causal; or by turns, which is what
"auto" does over long times.  The explicit solver opens, the causal one follows, and hands back for a while wherever its steps are so short
that explicit ones cost less.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nucleate.attention import Attention
from nucleate.checks import Array, check_memory
from nucleate.integrate.causal import CLOCK, HANDED_BACK, march_causal, new_causal
from nucleate.integrate.causal import T as CAUSAL_TIME
from nucleate.integrate.explicit import (
    CANCELLED,
    DONE,
    FULL_BUFFER,
    INTERRUPTED,
    RUNNING,
    SAVED,
    STATE,
    TIME_LIMIT,
    Book,
    march,
    march_in_python,
    new_march,
    places_of,
)
from nucleate.integrate.tableau import FINE, Tableau, dormand_prince_5
from nucleate.kernels.choose import TEAM_FROM, Team, choose_kernel, make_system, suits_lanes, work_of
from nucleate.kernels.lanes import lanes_suffice, lanes_system
from nucleate.kernels.pairwise import pairwise_system
from nucleate.kernels.simd import LANES
from nucleate.kernels.tiles import Tiles

__all__ = ["Progress", "run_book"]

Progress = Callable[[Array, Array], object]
Stop = NDArray[np.uint8]

TICK = 0.1  # seconds between two looks at the clock, the callback and the keyboard
LONG = 1000.0  # a time, in units of 1/|V|, up to which "auto" stays explicit
OPENING = 100.0  # how long "auto" is explicit before the causal solver takes over; the same for a turn it hands back


class _Task:
    """What all threads of one call share."""

    def __init__(self, model: Attention, table: Tableau, book: Book, method: str, single: bool, workers: int) -> None:
        self.model, self.table, self.book, self.method, self.single, self.workers = model, table, book, method, single, workers
        self.stop: Stop = np.zeros(1, dtype=np.uint8)
        speed = float(np.linalg.norm(model.V, 2, axis=(-2, -1)).max()) if model.V is not None else 1.0
        self.unit = 1.0 / max(speed, 1e-300)  # of time
        if method == "auto":
            self.method = "explicit" if book.final <= LONG * self.unit or model.mask == "full" else "turns"
        explicit_time = OPENING * self.unit if self.method in ("causal", "turns") else book.final
        self.allowed = 0.01 * book.tolerance / max(1.0, explicit_time / 10.0)  # of a velocity: its sum over time stays below the tolerance


def run_book(
    model: Attention, table: Tableau, book: Book, method: str, single: bool, workers: int, progress: Progress | None, seconds: float
) -> tuple[Book, int]:
    """Run the book to its end while this thread keeps watch; the book (frames may have moved) and why it was stopped, or 0."""
    b, _, d = book.start.shape
    task = _Task(model, table, book, method, single, workers)
    laned = not single and task.method not in ("causal", "turns") and suits_lanes(model, d) and lanes_suffice(model, task.allowed)
    if laned and task.method == "explicit" and book.tolerance > FINE:
        task.table = dormand_prince_5()
    count = min(workers, -(-b // LANES) if laned else b)
    with ThreadPoolExecutor(count, thread_name_prefix="nucleate-runs") as pool:
        futures = [pool.submit(_lanes, task) for _ in range(count)] if laned else [pool.submit(_one, task, run) for run in range(b)]
        try:
            _watch(futures, task, progress, time.monotonic() + seconds)
        except KeyboardInterrupt:
            task.stop[0] = INTERRUPTED
        except BaseException:
            task.stop[0] = CANCELLED
            raise
    for future in futures:
        future.result()
    return task.book, int(task.stop[0])


def _watch(futures: list[Future[None]], task: _Task, progress: Progress | None, end: float) -> None:
    """Wait for the threads, look at the clock, and show what is new."""
    told = np.zeros(len(task.book.start), dtype=bool)
    shown = 0
    pending = set(futures)
    while pending:
        _, pending = wait(pending, timeout=TICK)
        if pending and not task.stop[0] and time.monotonic() > end:
            task.stop[0] = TIME_LIMIT
        if progress is None or task.stop[0]:
            continue
        book = task.book
        if task.single:
            saved = int(book.counts[SAVED, 0])
            answer = progress(book.times[shown:saved].copy(), book.frames[0, shown:saved].copy())
            shown = saved
        else:
            new = (book.counts[STATE] != RUNNING) & ~told
            answer = progress(book.times.copy(), book.frames[new])
            told |= new
        if answer is False and pending:
            task.stop[0] = CANCELLED


def _lanes(task: _Task) -> None:
    """Eight runs at a time, from the queue that all threads share."""
    b, n, d = task.book.start.shape
    march(lanes_system(task.model, n, b, task.allowed), task.table, new_march(task.table, n, d, LANES), task.book, task.stop)


def _one(task: _Task, run: int) -> None:
    """One run to its end."""
    book = task.book
    page = book._replace(start=book.start[run : run + 1], frames=book.frames[run : run + 1], counts=book.counts[:, run : run + 1], last=1)
    if task.method == "causal":
        _causal(task, page, run, 0.0, hand_back=False)
    elif task.method == "turns":
        _by_turns(task, page, run)
    else:
        _explicit(task, page, run, 0.0, page.final)


def _by_turns(task: _Task, page: Book, run: int) -> None:
    """Explicit for a while, then causal, and so on until the end."""
    t, turn = 0.0, OPENING * task.unit
    while True:
        until = min(t + turn, page.final)
        page, x = _explicit(task, page, run, t, until)
        if until == page.final or page.counts[STATE, 0] != DONE:
            return
        page.counts[STATE, 0] = RUNNING
        page, x, t = _causal(task, page._replace(start=x[None]), run, until, hand_back=True)
        if page.counts[STATE, 0] != RUNNING:
            return
        page = page._replace(start=x[None])
        turn *= 4.0  # a system that keeps moving fast, such as a rotating one, is soon left to the explicit solver


def _explicit(task: _Task, page: Book, run: int, begin: float, end: float) -> tuple[Book, Array]:
    """The explicit solver from `begin` to `end`; the page, and where the tokens stand."""
    _, n, d = page.start.shape
    system = make_system(task.model, n, d, run, choose_kernel(task.model, n, d, task.allowed), task.allowed)
    state = new_march(task.table, n, d, 1)
    final, page = page.final, page._replace(queue=np.zeros(1, dtype=np.int64), final=end, begin=begin)
    team = Team(system, task.workers) if len(task.book.start) < task.workers and work_of(system) > TEAM_FROM else None
    with threadpool_limits(1, user_api="blas") if isinstance(system, Tiles) else nullcontext():
        while (
            march_in_python(team, task.table, state, page, task.stop) if team else march(system, task.table, state, page, task.stop)
        ) == FULL_BUFFER:
            page = _grow(task, page)
    return page._replace(final=final), places_of(state, page.start[0])


def _causal(task: _Task, page: Book, run: int, begin: float, hand_back: bool) -> tuple[Book, Array, float]:
    """The causal solver from `begin`; the page, where the tokens stand, and when."""
    _, n, d = page.start.shape
    pair = pairwise_system(task.model, n, d, run, angle=False)
    state, clock = new_causal(pair, page.tolerance), np.zeros(CLOCK)
    clock[CAUSAL_TIME] = begin
    patience = task.unit if hand_back else 0.0
    while (answer := march_causal(state, page, clock, patience, task.stop)) == FULL_BUFFER:
        page = _grow(task, page)
    assert answer in (0, HANDED_BACK)
    return page, np.ascontiguousarray(pair.x[:, pair.m : pair.m + n].T), float(clock[CAUSAL_TIME])


def _grow(task: _Task, page: Book) -> Book:
    """Twice the room for frames, when every step is kept."""
    room = page.times.size
    check_memory(3.0 * page.frames.nbytes, f"keeping every step, {room} so far,")
    times, frames = np.zeros(2 * room), np.full((1, 2 * room, *page.frames.shape[2:]), np.nan)
    times[:room], frames[:, :room] = page.times, page.frames
    task.book = task.book._replace(times=times, frames=frames)
    return page._replace(times=times, frames=frames)
