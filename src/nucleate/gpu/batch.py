"""Runs on the card, many at a time: groups of runs in slots, some of which compute while the frames of others
are staged to the host; a look at the clock, the keyboard and the callbacks in between.

A launch takes so many steps of every run that it lasts a fraction of a second; what has not ended goes on
with the next launch.  So Ctrl-C, a time limit and progress need no help from the card.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numba import cuda

from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.gpu.device import SIMULATED, allow_shared_memory, check_gpu, free_memory, shared_memory
from nucleate.gpu.fused import fused_kernel, rows_of, shared_bytes
from nucleate.gpu.large_system import integrate_large
from nucleate.gpu.pair_sums import Arithmetic
from nucleate.gpu.step_loop import COUNTS, NUMBERS, table_weights
from nucleate.integrate.run_buffers import RunBuffers, buffers_of
from nucleate.integrate.scheduler import OnFrames, Progress
from nucleate.integrate.status import CANCELLED, INTERRUPTED, RUNNING, TIME_LIMIT
from nucleate.integrate.tableau import MIN_TOLERANCE_OF_ORDER_5, Tableau, dormand_prince_5
from nucleate.kernels.model_shape import FULL, check_ordinary, mean_seen, model_shape
from nucleate.kernels.threads import pick_threads

__all__ = [
    "POLL_SECONDS",
    "SLOT_BYTES",
    "Batch",
    "Slot",
    "check_room",
    "integrate_batch",
    "integrate_on_gpu",
    "run_bytes",
    "suits_fused",
]

TELL_SECONDS = 0.1  # between two calls of a large system's callbacks
POLL_SECONDS = 0.0002  # between two looks at what the card has done
LAUNCH_SECONDS = 0.3  # that a launch should last at most
PAIRS_PER_SECOND = 1e9  # of one block of threads, as a first guess; then launches are timed
MAX_KEPT_BYTES = 2**16  # of an array that stays on the card for the next call
SLOTS = 6  # groups of runs on the card at a time: some compute while the frames of others are fetched
SLOT_BYTES = 2**27  # of frames that a slot has room for
MIN_SLOT_RUNS = 256
STAGE_DOUBLES = 2**22  # of page-locked memory, twice
COPY_THREADS = min(8, pick_threads(None))  # that fill the frames on the host: fresh memory is slow to touch
MAX_FUSED_TOKENS = 4096  # larger systems fill the card alone
SAVED, STEPS, REJECTED, STATUS_ROW = range(4)  # of COUNTS


def threads_for(n: int) -> int:
    """Threads of a block: one per token, or one per several, in whole warps and a power of two."""
    if SIMULATED:
        return 4
    return min(256, max(32, 1 << (n - 1).bit_length() if n < 128 else 128))


class Batch:
    """The runs of one call: what the kernel is compiled for, and the model's arrays on the card."""

    def __init__(self, model: Attention, table: Tableau, buffers: RunBuffers, mixed: bool) -> None:
        b, n, d = buffers.start.shape
        shapes = [model_shape(model, n, d, run) for run in range(model.runs or 1)]
        shape, m = shapes[0], len(shapes[0].frozen)
        exact = buffers.tolerance <= MIN_TOLERANCE_OF_ORDER_5
        self.arithmetic = Arithmetic(d, all(one.gaussian for one in shapes), mixed, exact, m > 0)
        self.threads = threads_for(n)
        rows = rows_of(table)
        self.shared = shared_bytes(self.arithmetic, n, m, rows, self.threads)
        self.rows_shared = self.shared <= shared_memory()
        self.row_doubles = 1
        if not self.rows_shared:
            self.shared = shared_bytes(self.arithmetic, n, m, 0, self.threads)
            self.row_doubles = rows * n * (1 if d == 2 else d)
            if self.shared > shared_memory():
                raise InputError(
                    f"A batch of systems of {n} tokens in dimension {d} does not fit on the card's"
                    " multiprocessors. Simulate them one by one."
                )
        self.kernel = fused_kernel(self.arithmetic, self.threads, self.rows_shared)
        per_run = [
            np.stack([one.A for one in shapes]),
            np.stack([one.V for one in shapes]),
            np.array([one.beta for one in shapes]),
            np.stack([one.frozen for one in shapes]),
            np.stack([one.frozen_weight for one in shapes]),
        ]
        self.own, self.allowed = len(shapes) > 1, False
        self.model_arrays = per_run if self.own else [_constant(array) for array in per_run]
        self.weights = [_constant(array) for array in table_weights(table)]
        self.times = _constant(buffers.times)
        self.window, self.full = shape.w, shape.mask == FULL
        evaluations = len(table.B)
        self.pairs_per_step = evaluations * n * (mean_seen(shape.mask, n, shape.w) + m) + 1.0

    def allow(self, arguments: tuple[Any, ...]) -> None:
        """Before the first launch: more than the ordinary amount of fast memory, where it is needed."""
        if not self.allowed:
            allow_shared_memory(self.kernel, self.shared, arguments)
            self.allowed = True

    def arrays(self, first: int, last: int, stream: Any) -> list[Any]:
        """A, V, beta, frozen tokens and their weights of these runs, on the card."""
        if not self.own:
            return self.model_arrays
        return [cuda.to_device(array[first:last], stream=stream) for array in self.model_arrays]


def _constant(array: Array) -> Any:
    """The array on the card; a small one is sent there once for all calls."""
    array = np.ascontiguousarray(array, dtype=np.float64)
    return _sent(array.tobytes(), array.shape) if array.nbytes <= MAX_KEPT_BYTES else cuda.to_device(array)


@lru_cache(maxsize=256)
def _sent(data: bytes, shape: tuple[int, ...]) -> Any:
    return cuda.to_device(np.frombuffer(data).reshape(shape))


class Slot:
    """Room on the card for some runs; it is used again for the next ones."""

    def __init__(self, batch: Batch, buffers: RunBuffers, size: int) -> None:
        self.batch, self.buffers, self.stream = batch, buffers, cuda.stream()
        _, n, d = buffers.start.shape
        width = 1 if d == 2 else d
        self.start = cuda.device_array((size, n, d))
        self.frames = cuda.device_array((size, len(buffers.times), n, d))
        self.counts_on_card = cuda.device_array((len(COUNTS), size), dtype=np.int64)
        self.numbers = cuda.device_array((len(NUMBERS), size))
        self.kept = cuda.device_array((size, 2, n * width))
        self.work = cuda.device_array((size if batch.row_doubles > 1 else 1, batch.row_doubles))
        self.counts = cuda.pinned_array((len(COUNTS), size), dtype=np.int64)
        self.event = cuda.event()
        waves = max(1.0, size / 512.0)
        self.piece = int(max(1.0, LAUNCH_SECONDS * PAIRS_PER_SECOND / (batch.pairs_per_step * waves)))
        self.fetching: Future[None] | None = None
        self.first = self.last = 0  # the runs that are here

    def begin(self, first: int, last: int) -> None:
        """Take these runs."""
        self.first, self.last = first, last
        start, stream = np.ascontiguousarray(self.buffers.start[first:last]), self.stream
        self.counts[:] = 0
        # in the slot's own stream: any other would wait for all slots
        self.start[: last - first].copy_to_device(start, stream=stream)
        self.counts_on_card.copy_to_device(self.counts, stream=stream)
        self.numbers.copy_to_device(np.zeros(self.numbers.shape), stream=stream)
        self.model = self.batch.arrays(first, last, stream)
        self.launch()

    def launch(self) -> None:
        """Some more steps of every run that has not ended."""
        buffers, batch = self.buffers, self.batch
        arguments = (
            self.start, batch.times, self.frames, self.counts_on_card, self.numbers, self.kept, self.work,
            *batch.weights, *self.model, batch.window, batch.full,
            buffers.final, buffers.tolerance, buffers.dt, buffers.max_steps, self.piece,
        )  # fmt: skip
        batch.allow(arguments)
        batch.kernel[self.last - self.first, batch.threads, self.stream, batch.shared](*arguments)
        self.counts_on_card.copy_to_host(self.counts, stream=self.stream)
        self.event.record(self.stream)
        self.launched = time.monotonic()

    def ready(self) -> bool:
        """Whether the launch has ended."""
        return SIMULATED or bool(self.event.query())

    def goes_on(self) -> bool:
        """After a launch: whether some run has not ended; the next launch is made to last as it should."""
        took = time.monotonic() - self.launched
        self.piece = int(max(1, self.piece * min(2.0, max(0.25, LAUNCH_SECONDS / max(took, 1e-3)))))
        return bool((self.counts[STATUS_ROW, : self.last - self.first] == RUNNING).any())


def suits_fused(runs: int, n: int) -> bool:
    """Whether a block of threads for every run is faster than the whole card for each in turn."""
    return n <= MAX_FUSED_TOKENS and (runs >= 16 or n <= 512)


def integrate_on_gpu(
    model: Attention,
    table: Tableau,
    buffers: RunBuffers,
    mixed: bool,
    single: bool,
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> tuple[RunBuffers, int]:
    """Carry all runs to their end, until the time `end` of the clock; the buffers and why they were stopped,
    or 0."""
    check_ordinary(model, 'device="gpu"')
    check_gpu()
    runs, n, _ = buffers.start.shape
    if buffers.tolerance > MIN_TOLERANCE_OF_ORDER_5 and buffers.dt == 0.0:
        table = dormand_prince_5()
    if suits_fused(runs, n):
        batch = Batch(model, table, buffers, mixed)
        return integrate_batch(batch, buffers, single, progress, on_frames, end)
    return _integrate_in_turn(model, table, buffers, mixed, single, progress, on_frames, end)


def _integrate_in_turn(
    model: Attention,
    table: Tableau,
    buffers: RunBuffers,
    mixed: bool,
    single: bool,
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> tuple[RunBuffers, int]:
    """The same with the whole card for every run."""
    runs, n, d = buffers.start.shape
    stop = 0
    exact = buffers.tolerance <= MIN_TOLERANCE_OF_ORDER_5
    told, shown = 0.0, 0  # when, and up to which frame of a single run

    def tell(first: int, last: int) -> int:
        """Why to stop, or 0: runs first .. last - 1 have ended, or a single one has gone on."""
        nonlocal told, shown
        now = time.monotonic()
        if first == last and now < told + TELL_SECONDS:
            return TIME_LIMIT if now > end else 0
        told = now
        answers: list[object] = []
        if single:
            saved = int(buffers.saved[0])
            new = slice(shown, saved)
            shown = saved
            if on_frames is not None:
                answers.append(on_frames(buffers.times[new].copy(), buffers.frames[0, new].copy()))
            if progress is not None:
                answers.append(progress(saved, len(buffers.times)))
        elif last > first:
            answers = _tell(buffers, first, last, single, progress, on_frames)
        if _cancels(answers):
            return CANCELLED
        return TIME_LIMIT if now > end and last < runs else 0

    try:
        for run in range(runs):
            own = buffers_of(buffers, run)
            shape = model_shape(model, n, d, run if model.runs is not None else 0)
            stop = integrate_large(shape, table, own, mixed, exact, partial(tell, run, run))
            stop = stop or tell(run, run + 1)
            if stop:
                break
    except KeyboardInterrupt:
        stop = INTERRUPTED
    _mark_unreached(buffers)
    return buffers, stop


def integrate_batch(
    batch: Batch,
    buffers: RunBuffers,
    single: bool,
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> tuple[RunBuffers, int]:
    """The same with a block of threads for every run."""
    b = len(buffers.start)
    stop = 0
    size = _runs_of_slot(b, run_bytes(batch, buffers))
    waiting = [(first, min(first + size, b)) for first in range(0, b, size)][::-1]
    slots = [Slot(batch, buffers, size) for _ in range(min(SLOTS, len(waiting)))]
    busy: list[Slot] = []
    with _Staging() as staging:
        try:
            while busy or (waiting and not stop):
                for slot in slots:
                    if slot not in busy and waiting and not stop:
                        slot.begin(*waiting.pop())
                        busy.append(slot)
                    elif slot in busy and slot.fetching is None and slot.ready():
                        if slot.goes_on() and not stop:
                            slot.launch()
                        else:
                            slot.fetching = staging.fetch(slot)
                    elif slot.fetching is not None and slot.fetching.done():
                        slot.fetching.result()
                        slot.fetching = None
                        busy.remove(slot)
                        answers = (
                            [] if stop else _tell(buffers, slot.first, slot.last, single, progress, on_frames)
                        )
                        if _cancels(answers):
                            stop = CANCELLED
                if not stop and busy and time.monotonic() > end:
                    stop = TIME_LIMIT
                if not SIMULATED:
                    time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            stop = INTERRUPTED
            for slot in busy:
                if slot.fetching is None:
                    slot.stream.synchronize()
                    staging.fetch(slot)
    _mark_unreached(buffers)
    return buffers, stop


def _mark_unreached(buffers: RunBuffers) -> None:
    """Frames that were not reached are NaN."""
    for run in np.flatnonzero(buffers.saved < len(buffers.times)):
        buffers.frames[run, int(buffers.saved[run]) :] = np.nan


class _Staging:
    """Frames on their way to the host, through page-locked memory, which the card writes at full speed: while
    one half of it fills, the other is copied to where the frames belong."""

    def __enter__(self) -> "_Staging":
        self.halves = _free_halves.pop() if _free_halves else _page_locked_halves()
        self.fetcher = ThreadPoolExecutor(1, thread_name_prefix="nucleate-fetch")
        self.copiers = ThreadPoolExecutor(COPY_THREADS, thread_name_prefix="nucleate-copy")
        return self

    def __exit__(self, *error: object) -> None:
        self.fetcher.shutdown()
        self.copiers.shutdown()
        _free_halves.append(self.halves)

    def fetch(self, slot: Slot) -> "Future[None]":
        """Frames and counts of a slot into the buffers, on another thread."""
        return self.fetcher.submit(self._fetch, slot)

    def _fetch(self, slot: Slot) -> None:
        buffers, count, runs = slot.buffers, slot.last - slot.first, slice(slot.first, slot.last)
        source, target = slot.frames.ravel(), buffers.frames[runs].reshape(-1)
        copies: list[list[Future[None]]] = [[], []]
        for i, low in enumerate(range(0, target.size, STAGE_DOUBLES)):
            part = self.halves[i % 2][: min(STAGE_DOUBLES, target.size - low)]
            for copy in copies[i % 2]:
                copy.result()
            source[low : low + part.size].copy_to_host(part, stream=slot.stream)
            slot.stream.synchronize()
            cuts = np.linspace(0, part.size, COPY_THREADS + 1).astype(int).tolist()
            copies[i % 2] = [
                self.copiers.submit(np.copyto, target[low + a : low + z], part[a:z])
                for a, z in pairwise(cuts)
            ]
        for copy in (*copies[0], *copies[1]):
            copy.result()
        counts = slot.counts[:, :count]
        buffers.saved[runs], buffers.steps[runs] = counts[SAVED], counts[STEPS]
        buffers.rejected[runs], buffers.status[runs] = counts[REJECTED], counts[STATUS_ROW]


# kept for the next call: to lock memory takes longer than to fill it
_free_halves: list[tuple[Array, Array]] = []


def _page_locked_halves() -> tuple[Array, Array]:
    return cuda.pinned_array(STAGE_DOUBLES), cuda.pinned_array(STAGE_DOUBLES)


def run_bytes(batch: Batch, buffers: RunBuffers) -> int:
    """That a run takes on the card."""
    _, n, d = buffers.start.shape
    return 8 * n * d * (len(buffers.times) + 4) + 8 * batch.row_doubles


def check_room(bytes_of_run: int, slots: int) -> int:
    """Half of the card's free memory, for each slot; refused where it does not hold a run."""
    free = free_memory()
    room = free // (2 * slots)
    if bytes_of_run > room:
        raise InputError(
            f"A run takes {bytes_of_run / 2**20:.3g} MiB on the card, but of its {free / 2**20:.3g} free MiB"
            f" each of {slots} slots may have {room / 2**20:.3g}. Save fewer frames, or leave device out."
        )
    return room


def _runs_of_slot(runs: int, bytes_of_run: int) -> int:
    """How many runs share a slot, so that all slots fit on the card."""
    room = check_room(bytes_of_run, min(SLOTS, runs))
    return min(runs, max(1, SLOT_BYTES // bytes_of_run, min(MIN_SLOT_RUNS, room // bytes_of_run)))


def _tell(
    buffers: RunBuffers,
    first: int,
    last: int,
    single: bool,
    progress: Progress | None,
    on_frames: OnFrames | None,
) -> list[object]:
    """What the callbacks answer to runs first .. last - 1, which have ended."""
    answers: list[object] = []
    if on_frames is not None:
        new: Array = buffers.frames[first:last]
        answers.append(on_frames(buffers.times.copy(), new[0].copy() if single else new.copy()))
    if progress is not None:
        done = (
            (int(buffers.saved[0]), len(buffers.times))
            if single
            else (int((buffers.status != RUNNING).sum()), len(buffers.start))
        )
        answers.append(progress(*done))
    return answers


def _cancels(answers: list[object]) -> bool:
    """Whether a callback answered False."""
    return any(isinstance(one, bool | np.bool_) and not one for one in answers)
