"""Running a book of runs: which solver, on which threads, and the watch kept meanwhile.

On the circle eight runs share the lanes of a vector where they can.  Other runs go one by one: explicit;
causal; or by turns, which is what "auto" does over long times.  The explicit solver opens, the causal one
follows, and hands back for a while wherever its steps are so short that explicit ones cost less.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nucleate.attention import Attention
from nucleate.checks import Array, check_memory, memory
from nucleate.integrate.causal import CLOCK, HANDED_BACK, H, T, causal_memory, march_causal, new_causal
from nucleate.integrate.explicit import (
    FULL_BUFFER,
    SAVED,
    STATE,
    STEPS,
    Book,
    march,
    march_in_python,
    new_march,
    places_of,
)
from nucleate.integrate.status import CANCELLED, DONE, INTERRUPTED, RUNNING, TIME_LIMIT
from nucleate.integrate.tableau import FINE, Tableau, dormand_prince_5
from nucleate.kernels.circle_batch import lanes_suffice, lanes_system
from nucleate.kernels.dispatch import (
    TEAM_FROM,
    TILES_FROM,
    Team,
    choose_kernel,
    make_system,
    suits_lanes,
    work_of,
)
from nucleate.kernels.pairwise import pairwise_system
from nucleate.kernels.simd import LANES

__all__ = ["OnFrames", "Progress", "run_book"]

Progress = Callable[[float, float], object]  # (done, total); False cancels
OnFrames = Callable[[Array, Array], object]  # (t, x) saved since the last call; False cancels
Stop = NDArray[np.uint8]

TICK = 0.1  # seconds between two looks at the clock, the callback and the keyboard
OPENING = 1000.0  # how long, in units of 1/|V|, "auto" is explicit before the causal solver takes over
# how long, in those units, a turn it hands back is at least: clusters that have met shrink like e^(-t/2)
FLIGHT = 60.0
# steps below which it hands back, in those units: SHORT, and more if many groups make them dear; measured
SHORT, CROWD = 4.0, 16.0
# causal steps after which it may hand back and still count as never having rested: then turns grow, as for a
# system that rotates
RESTLESS = 20


class _Task:
    """What all threads of one call share.  All choices are made run by run: a run's bits do not depend on its
    company."""

    def __init__(
        self, model: Attention, table: Tableau, book: Book, method: str, single: bool, workers: int
    ) -> None:
        self.model, self.table, self.book, self.single, self.workers = model, table, book, single, workers
        self.stop: Stop = np.zeros(1, dtype=np.uint8)
        b, n, d = book.start.shape
        frozen = 0 if model.frozen is None else model.frozen.x.shape[-2]
        self.room = causal_memory(n, frozen, d, book.tolerance) * min(b, workers)
        if method == "causal":
            check_memory(self.room, f'method "causal" for {n} tokens in dimension {d}')
        speed = np.ones(1) if model.V is None else np.atleast_1d(np.linalg.norm(model.V, 2, axis=(-2, -1)))
        self.unit = np.broadcast_to(1.0 / np.maximum(speed, 1e-300), b)  # of time
        self.method = [self._pick(method, unit) for unit in self.unit]
        turns = np.array([name in ("causal", "turns") for name in self.method])
        explicit_time = np.where(turns, OPENING * self.unit, book.final)
        # of a velocity: its sum over time stays below the tolerance
        self.allowed = 0.01 * book.tolerance / np.maximum(1.0, explicit_time / 10.0)
        suited = suits_lanes(model, d) & lanes_suffice(np.broadcast_to(model.beta, b), self.allowed)
        self.laned = np.flatnonzero(suited & ~turns) if not single else np.zeros(0, dtype=np.int64)

    def _pick(self, method: str, unit: float) -> str:
        if method != "auto":
            return method
        short = self.book.final <= OPENING * unit or self.model.mask == "full"
        return "explicit" if short or self.room > memory() / 4 else "turns"


def run_book(
    model: Attention,
    table: Tableau,
    book: Book,
    method: str,
    single: bool,
    workers: int,
    progress: Progress | None,
    on_frames: OnFrames | None,
    seconds: float,
) -> tuple[Book, int]:
    """Run the book to its end while this thread keeps watch; the book (frames may have moved) and why it was
    stopped, or 0."""
    b, _, d = book.start.shape
    task = _Task(model, table, book, method, single, workers)
    alone = sorted(set(range(b)) - set(task.laned.tolist()))
    groups = min(workers, -(-len(task.laned) // LANES))
    blas = threadpool_limits(1, user_api="blas") if d >= TILES_FROM else nullcontext()
    with (
        blas,
        ThreadPoolExecutor(min(workers, groups + len(alone)), thread_name_prefix="nucleate-runs") as pool,
    ):
        futures = [pool.submit(_lanes, task) for _ in range(groups)] + [
            pool.submit(_one, task, run) for run in alone
        ]
        try:
            _watch(futures, task, progress, on_frames, time.monotonic() + seconds)
        except KeyboardInterrupt:
            task.stop[0] = INTERRUPTED
        except BaseException:
            task.stop[0] = CANCELLED
            raise
    for future in futures:
        future.result()
    return task.book, int(task.stop[0])


def _watch(
    futures: list[Future[None]],
    task: _Task,
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> None:
    """Wait for the threads, look at the clock, and tell what is new."""
    told = np.zeros(len(task.book.start), dtype=bool)
    shown = 0
    pending = set(futures)
    while pending:
        _, pending = wait(pending, timeout=TICK)
        if pending and not task.stop[0] and time.monotonic() > end:
            task.stop[0] = TIME_LIMIT
        if task.stop[0]:
            continue
        saved = int(
            task.book.counts[SAVED, 0]
        )  # before the book: growing moves the frames, and never loses those counted
        book = task.book
        answers: list[object] = []
        if on_frames is not None and task.single:
            answers.append(on_frames(book.times[shown:saved].copy(), book.frames[0, shown:saved].copy()))
            shown = saved
        elif on_frames is not None:
            new = (book.counts[STATE] != RUNNING) & ~told
            answers.append(on_frames(book.times.copy(), book.frames[new]))
            told |= new
        if progress is not None:
            answers.append(progress(*_reached(book, saved, task.single)))
        if pending and any(isinstance(answer, bool | np.bool_) and not answer for answer in answers):
            task.stop[0] = CANCELLED


def _reached(book: Book, saved: int, single: bool) -> tuple[float, float]:
    """How much is done, and of how much: frames of one run, its time where every step is kept, or runs."""
    if not single:
        return int((book.counts[STATE] != RUNNING).sum()), len(book.start)
    if book.every:
        return float(book.times[saved - 1]) if saved else 0.0, book.final
    return saved, len(book.times)


def _lanes(task: _Task) -> None:
    """Eight runs at a time, from the queue that all threads share."""
    _, n, d = task.book.start.shape
    table = dormand_prince_5() if task.book.tolerance > FINE and task.book.dt == 0.0 else task.table
    page = task.book._replace(order=task.laned, last=len(task.laned))
    march(lanes_system(task.model, n, task.allowed), table, new_march(table, n, d, LANES), page, task.stop)


def _one(task: _Task, run: int) -> None:
    """One run to its end."""
    book = task.book
    own = slice(run, run + 1)
    page = book._replace(
        start=book.start[own],
        frames=book.frames[own],
        counts=book.counts[:, own],
        order=np.zeros(1, dtype=np.int64),
        last=1,
    )
    if task.method[run] == "causal":
        _causal(task, page, run, 0.0, hand_back=False)
    elif task.method[run] == "turns":
        _by_turns(task, page, run)
    else:
        _explicit(task, page, run, 0.0, page.final)


def _by_turns(task: _Task, page: Book, run: int) -> None:
    """Explicit for a while, then causal, and so on until the end."""
    unit = float(task.unit[run])
    t, turn = 0.0, OPENING * unit
    while True:
        last = turn >= page.final - t
        page, x = _explicit(task, page, run, t, page.final - t if last else turn)
        if last or page.counts[STATE, 0] != DONE:
            return
        page.counts[STATE, 0] = RUNNING
        steps = page.counts[STEPS, 0]
        page, x, clock = _causal(task, page._replace(start=x[None]), run, t + turn, hand_back=True)
        if page.counts[STATE, 0] != RUNNING:
            return
        page, t = page._replace(start=x[None]), float(clock[T])
        turn = (
            2.0 * turn if page.counts[STEPS, 0] - steps < RESTLESS else FLIGHT * unit + 4.0 * float(clock[H])
        )


def _explicit(task: _Task, page: Book, run: int, begin: float, duration: float) -> tuple[Book, Array]:
    """The explicit solver for a while from `begin`; the page, and where the tokens stand."""
    _, n, d = page.start.shape
    allowed = float(task.allowed[run])
    if task.method[run] == "turns" and duration > 0.0:
        allowed *= min(1.0, OPENING * float(task.unit[run]) / duration)
    system = make_system(task.model, n, d, run, choose_kernel(task.model, n, d, run, allowed), allowed)
    state = new_march(task.table, n, d, 1)
    final, page = page.final, page._replace(queue=np.zeros(1, dtype=np.int64), final=duration, origin=begin)
    team = (
        Team(system, task.workers)
        if len(task.book.start) < task.workers and work_of(system) > TEAM_FROM
        else None
    )
    while (
        march_in_python(team, task.table, state, page, task.stop)
        if team
        else march(system, task.table, state, page, task.stop)
    ) == FULL_BUFFER:
        page = _grow(task, page)
    return page._replace(final=final), places_of(state, page.start[0])


def _causal(task: _Task, page: Book, run: int, begin: float, hand_back: bool) -> tuple[Book, Array, Array]:
    """The causal solver from `begin`; the page, where the tokens stand, and the clock."""
    _, n, d = page.start.shape
    pair = pairwise_system(task.model, n, d, run, angle=False)
    state, clock, short = new_causal(pair, page.tolerance), np.zeros(CLOCK), np.zeros(2)
    clock[T] = begin
    if hand_back:
        by_modes = choose_kernel(task.model, n, d, run, float(task.allowed[run])) == "circle"
        short[:] = SHORT * task.unit[run], task.unit[run] * (1.0 / CROWD if by_modes else CROWD / n)
    while (answer := march_causal(state, page, clock, short, task.stop)) == FULL_BUFFER:
        page = _grow(task, page)
    assert answer in (0, HANDED_BACK)
    return page, np.ascontiguousarray(pair.x[:, pair.m : pair.m + n].T), clock


def _grow(task: _Task, page: Book) -> Book:
    """Twice the room for frames, when every step is kept."""
    room = page.times.size
    check_memory(3.0 * page.frames.nbytes, f"keeping every step, {room} so far,")
    times, frames = np.zeros(2 * room), np.full((1, 2 * room, *page.frames.shape[2:]), np.nan)
    times[:room], frames[:, :room] = page.times, page.frames
    task.book = task.book._replace(times=times, frames=frames)
    return page._replace(times=times, frames=frames)
