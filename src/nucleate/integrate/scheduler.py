"""Which solver carries which run, on which thread, and the watch kept meanwhile.

Runs share the lanes of a vector where they can, up to eight at a time.  Other runs go one by one: explicit;
causal; or alternating, which is what "auto" does over long times.  The explicit solver opens, the causal one
follows, and hands back for a while wherever its steps are so short that explicit ones cost less.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import partial
from itertools import product
from typing import Literal

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array, check_memory
from nucleate.integrate.causal import integrate_causal
from nucleate.integrate.causal_state import causal_memory, new_causal_clock, new_causal_state
from nucleate.integrate.explicit import integrate_runs, integrate_runs_in_python
from nucleate.integrate.run_buffers import (
    ENDED,
    FULL_BUFFER,
    HANDED_BACK,
    Integers,
    RunBuffers,
    buffers_of,
    with_more_room,
)
from nucleate.integrate.status import CANCELLED, DONE, INTERRUPTED, RUNNING, TIME_LIMIT
from nucleate.integrate.step_state import StepState, new_step_state, tokens_of
from nucleate.integrate.tableau import MIN_TOLERANCE_OF_ORDER_5, Tableau, dormand_prince_5
from nucleate.kernels.circle_batch import circle_batch_system
from nucleate.kernels.dispatch import (
    batch_accuracy,
    choose_kernel,
    make_system,
    one_blas_thread,
    team_pays,
)
from nucleate.kernels.model_shape import ACCURACIES, Accuracy, ModelShape, model_shape
from nucleate.kernels.pairwise import pairwise_system
from nucleate.kernels.pairwise_lanes import pairwise_lanes_system
from nucleate.kernels.simd import LANES, PART
from nucleate.kernels.systems import with_system
from nucleate.kernels.team import Team
from nucleate.kernels.threads import CtrlC, Stop, Stopped, ctrl_c_stops, is_stopped, stopped_by
from nucleate.resources import memory

__all__ = ["Call", "OnFrames", "Progress", "Schedule", "carry_out", "grow", "integrate_all"]

Progress = Callable[[float, float], object]  # (done, total); False cancels
OnFrames = Callable[[Array, Array], object]  # (t, x) saved since the last call; False cancels
Solver = Literal["explicit", "causal", "alternating"]

TICK_SECONDS = 0.1  # between two looks at the clock, the callbacks and the keyboard
# Ctrl-C ends a shorter call with KeyboardInterrupt, so that it ends a loop of such calls and not one of them
SHORT_CALL_SECONDS = 0.5
# Times in units of 1/|V|:
OPENING_TIME = 1000.0  # how long the alternating solver is explicit before the causal one takes over
# the least explicit stretch after it hands back: clusters that have met shrink like e^(-t/2)
MIN_STRETCH_TIME = 60.0
# causal steps below which it hands back, and below which per group of tokens where the explicit solver sums
# over modes, or over pairs and the groups are a share of the tokens; measured
SHORT_STEP, SHORT_STEP_PER_GROUP, SHORT_STEP_PER_SHARE = 4.0, 1.0 / 16.0, 16.0
# fewer causal steps than this between two explicit stretches: nothing came to rest, as in a system that
# rotates, and the stretches grow
MIN_CAUSAL_STEPS = 20


def solver_for(method: str, mask: object, final: float, unit: float, causal_bytes: float) -> Solver:
    """The solver that carries a run to the time `final`; `unit` is 1/|V|, `causal_bytes` what the causal one
    would take."""
    if method == "causal":
        return "causal"
    long = not final <= OPENING_TIME * unit  # also if |V| is not a number
    if method == "auto" and mask != "full" and long and causal_bytes <= memory() / 4:
        return "alternating"
    return "explicit"  # adaptive or with fixed steps


class Call:
    """What the threads of one call share with the one that watches them."""

    def __init__(self, buffers: RunBuffers, single: bool, threads: int) -> None:
        self.buffers, self.single, self.threads = buffers, single, threads
        self.stop: Stop = np.zeros(1, dtype=np.uint8)
        self.began = time.monotonic()
        self.lacked_code = False  # when it was stopped: a run was still waiting for compiled code

    def times(self, solver_times: Array) -> Array:
        """The model's times, of the solver's."""
        return solver_times

    def has_little_to_keep(self) -> bool:
        """Whether a call that is stopped now is so short or so early that its runs are not worth keeping."""
        waited = self.lacked_code and not self.buffers.steps.any()
        return waited or time.monotonic() - self.began < SHORT_CALL_SECONDS


class Schedule(Call):
    """Which solver carries which run.  All choices are made run by run: a run's bits do not depend on its
    company."""

    def __init__(
        self,
        model: Attention,
        table: Tableau,
        buffers: RunBuffers,
        method: str,
        single: bool,
        threads: int,
        single_precision: bool = False,
    ) -> None:
        super().__init__(buffers, single, threads)
        self.table, self.single_precision = table, single_precision
        b, n, d = buffers.start.shape
        self.shapes = [model_shape(model, n, d, run) for run in range(model.runs or 1)]
        room = causal_memory(n, len(self.shapes[0].frozen), d, buffers.tolerance) * min(b, threads)
        if method == "causal":
            check_memory(room, f'method "causal" for {n} tokens in dimension {d}')
        speed = np.ones(1) if model.V is None else np.atleast_1d(np.linalg.norm(model.V, 2, axis=(-2, -1)))
        self.unit = np.broadcast_to(1.0 / np.maximum(speed, 1e-300), b)  # of time
        self.solver = [solver_for(method, model.mask, buffers.final, unit, room) for unit in self.unit]
        explicit = np.array([solver == "explicit" for solver in self.solver])
        explicit_time = np.where(explicit, buffers.final, OPENING_TIME * self.unit)
        # error of a velocity: its sum over time stays below the tolerance
        self.allowed = 0.01 * buffers.tolerance / np.maximum(1.0, explicit_time / 10.0)
        self.batches: list[tuple[Integers, Accuracy]] = []  # runs that share the lanes of a vector
        if not single:
            found = [batch_accuracy(self.shape(run), self.allowed[run]) for run in range(b)]
            # plain runs have a way of their own, and so lanes of their own; so have those of each accuracy
            for plain, accuracy in product((True, False), ACCURACIES):
                suited = [self.shape(run).plain == plain and found[run] == accuracy for run in range(b)]
                runs = np.flatnonzero(explicit & suited)
                if len(runs):
                    self.batches.append((runs, accuracy))
        jobs = sum(self.jobs_of(runs) for runs, _ in self.batches)
        if (
            jobs
        ):  # each with states of eight runs, angles on the circle, and their stages; and the kernel's arrays
            width, arrays = (1, 4.0) if d == 2 else (d, 5.0 * PART / LANES)
            states = (len(table.P) + 4 + arrays) * 8.0 * LANES * n * width * jobs
            check_memory(states, f"{jobs} groups of {LANES} runs of {n} tokens in dimension {d}")
        self.alone = sorted(set(range(b)) - {int(run) for runs, _ in self.batches for run in runs})

    def jobs_of(self, runs: Integers) -> int:
        """How many threads carry these runs.  A part of the lanes with one run costs as much as a full one on
        the circle; above it lanes without a run help the others."""
        full = PART if self.buffers.start.shape[-1] == 2 else 1
        return min(self.threads, -(-len(runs) // full))

    def most_at_once(self, runs: Integers) -> int:
        """How many of them each of these threads carries at a time.  Above the circle 4, 2 or 1 take 0.65,
        0.4 or 0.27 of the time of eight, and 5 to 7 all of it, measured: so five go 4 and 1, but six at
        once."""
        share = min(LANES, -(-len(runs) // self.jobs_of(runs)))
        if self.buffers.start.shape[-1] == 2:
            return -(-share // PART) * PART
        return share if share > 5 else 1 << share.bit_length() - 1

    def shape(self, run: int) -> ModelShape:
        """The shape of a run; the runs of one model share theirs."""
        return self.shapes[run if len(self.shapes) > 1 else 0]


def integrate_all(
    schedule: Schedule, progress: Progress | None, on_frames: OnFrames | None, end: float
) -> tuple[RunBuffers, int]:
    """Carry all runs to their end while this thread keeps watch, until the time `end` of the clock; the
    buffers (frames may have moved) and why they were stopped, or 0."""
    jobs: list[Callable[[], None]] = []
    for runs, accuracy in schedule.batches:
        job = partial(_batch, schedule, runs, accuracy, np.zeros(1, dtype=np.int64))
        jobs += [job] * schedule.jobs_of(runs)
    jobs += [partial(_one_run, schedule, run) for run in schedule.alone]
    return carry_out(schedule, jobs, one_blas_thread(schedule.shapes[0]), progress, on_frames, end)


def carry_out(
    schedule: Call,
    jobs: list[Callable[[], None]],
    blas: AbstractContextManager[object],
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> tuple[RunBuffers, int]:
    """Have the jobs done by the call's threads while this one keeps watch; what `integrate_all` returns."""
    futures: list[Future[None]] = []
    with ctrl_c_stops(schedule.stop, INTERRUPTED) as ctrl_c, blas:
        workers = min(schedule.threads, len(jobs))
        with ThreadPoolExecutor(workers, thread_name_prefix="nucleate-runs") as pool:
            try:
                for job in jobs:
                    futures.append(pool.submit(_unless_stopped, schedule, job))
                _watch(futures, schedule, ctrl_c, progress, on_frames, end)
            except KeyboardInterrupt:
                schedule.stop[0] = schedule.stop[0] or INTERRUPTED
            except BaseException:
                schedule.stop[0] = CANCELLED
                raise
        del pool  # here, where Ctrl-C raises nothing: Python drops what is raised while an object is freed
    for future in futures:
        future.result()
    if ctrl_c.pressed and (schedule.stop[0] != INTERRUPTED or schedule.has_little_to_keep()):
        raise KeyboardInterrupt
    _write_missing_starts(schedule.buffers)
    return schedule.buffers, int(schedule.stop[0])


def _unless_stopped(schedule: Call, job: Callable[[], None]) -> None:
    """The job, left out or left off where the call is stopped."""
    if not schedule.stop[0]:
        try:
            with stopped_by(lambda: bool(schedule.stop[0])):
                job()
        except Stopped:
            schedule.lacked_code = True


def _write_missing_starts(buffers: RunBuffers) -> None:
    """The first frame of runs that were never begun."""
    if buffers.every_step or buffers.times[0] == 0.0:
        runs = np.flatnonzero(buffers.saved == 0)
        buffers.frames[runs, 0], buffers.saved[runs] = buffers.start[runs], 1
        buffers.norms[runs, 0] = buffers.start_norms[runs]


def _watch(
    futures: list[Future[None]],
    schedule: Call,
    ctrl_c: CtrlC,
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> None:
    """Wait for the threads, look at the clock, and tell what is new."""
    told = np.zeros(len(schedule.buffers.start), dtype=bool)
    shown = 0
    pending = set(futures)
    while pending:
        _, pending = wait(pending, timeout=TICK_SECONDS)
        if pending and not schedule.stop[0] and time.monotonic() > end:
            schedule.stop[0] = TIME_LIMIT
        if pending and not schedule.stop[0] and is_stopped():
            schedule.stop[0] = CANCELLED
        if schedule.stop[0]:
            continue
        # counted before the buffers are taken: more room moves the frames, and never loses those counted
        saved = int(schedule.buffers.saved[0])
        buffers = schedule.buffers
        answers: list[object] = []
        with ctrl_c.raising():
            if on_frames is not None and schedule.single:
                times = schedule.times(buffers.times[shown:saved].copy())
                answers.append(on_frames(times, buffers.frames[0, shown:saved].copy()))
                shown = saved
            elif on_frames is not None:
                new = (buffers.status != RUNNING) & ~told
                answers.append(on_frames(schedule.times(buffers.times.copy()), buffers.frames[new]))
                told |= new
            if progress is not None:
                answers.append(progress(*_done_of_total(schedule, buffers, saved)))
        if pending and any(isinstance(answer, bool | np.bool_) and not answer for answer in answers):
            schedule.stop[0] = CANCELLED


def _done_of_total(schedule: Call, buffers: RunBuffers, saved: int) -> tuple[float, float]:
    """How much is done, and of how much: frames of one run, its time where every step is kept, or runs."""
    if not schedule.single:
        return int((buffers.status != RUNNING).sum()), len(buffers.start)
    if buffers.every_step:
        done, total = schedule.times(np.array([buffers.times[saved - 1] if saved else 0.0, buffers.final]))
        return float(done), float(total)
    return saved, len(buffers.times)


def _is_loose(buffers: RunBuffers) -> bool:
    """Whether batches take their steps of order 5."""
    return buffers.tolerance > MIN_TOLERANCE_OF_ORDER_5 and buffers.dt == 0.0


def _batch(schedule: Schedule, runs: Integers, accuracy: Accuracy, queue: Integers) -> None:
    """Up to eight of the runs at a time, from the queue that all threads share."""
    buffers = schedule.buffers._replace(order=runs, queue=queue)
    _, n, d = buffers.start.shape
    table = dormand_prince_5() if _is_loose(buffers) else schedule.table
    state = new_step_state(table, n, d, LANES, most=schedule.most_at_once(runs))
    if d == 2:
        circle = circle_batch_system(schedule.shapes, schedule.allowed, accuracy, runs)
        with_system(integrate_runs, circle, table, state, buffers, schedule.stop)
    else:
        lanes = pairwise_lanes_system(schedule.shapes, schedule.shape(int(runs[0])).plain, accuracy)
        with_system(integrate_runs, lanes, table, state, buffers, schedule.stop)


def _one_run(schedule: Schedule, run: int) -> None:
    """One run to its end."""
    buffers, solver = buffers_of(schedule.buffers, run), schedule.solver[run]
    if solver == "causal":
        _causal(schedule, buffers, run, 0.0, hand_back=False)
    elif solver == "alternating":
        _alternating(schedule, buffers, run)
    else:
        _explicit(schedule, buffers, run, 0.0, buffers.final)


def _alternating(schedule: Schedule, buffers: RunBuffers, run: int) -> None:
    """Explicit for a while, then causal, and so on until the end."""
    unit = float(schedule.unit[run])
    t, stretch = 0.0, OPENING_TIME * unit
    while True:
        last = stretch >= buffers.final - t
        buffers, state = _explicit(schedule, buffers, run, t, buffers.final - t if last else stretch)
        if last or buffers.status[0] != DONE:
            return
        buffers.status[0] = RUNNING
        steps = buffers.steps[0]
        x = tokens_of(state, buffers.start[0])
        buffers, x, t, h = _causal(
            schedule, buffers._replace(start=x[None]), run, t + stretch, hand_back=True
        )
        if buffers.status[0] != RUNNING:
            return
        buffers = buffers._replace(start=x[None])
        rotates = buffers.steps[0] - steps < MIN_CAUSAL_STEPS
        stretch = 2.0 * stretch if rotates else MIN_STRETCH_TIME * unit + 4.0 * h


def _explicit(
    schedule: Schedule, buffers: RunBuffers, run: int, begin: float, duration: float
) -> tuple[RunBuffers, StepState]:
    """The explicit solver for a while from `begin`; the buffers, and the state at the end."""
    table, stop = schedule.table, schedule.stop
    _, n, d = buffers.start.shape
    allowed = float(schedule.allowed[run])
    if schedule.solver[run] == "alternating" and duration > 0.0:
        allowed *= min(1.0, OPENING_TIME * float(schedule.unit[run]) / duration)
    state, queue, final = new_step_state(table, n, d, 1), np.zeros(1, dtype=np.int64), buffers.final
    buffers = buffers._replace(queue=queue, begin=begin, final=duration)
    system = make_system(schedule.shape(run), tolerance=allowed, single=schedule.single_precision)
    solve = partial(with_system, integrate_runs, system)
    if team_pays(system, len(schedule.buffers.start), schedule.threads):
        solve = partial(integrate_runs_in_python, Team(system, schedule.threads))
    while solve(table, state, buffers, stop) == FULL_BUFFER:
        buffers = grow(schedule, buffers)
    return buffers._replace(final=final), state


def _causal(
    schedule: Schedule, buffers: RunBuffers, run: int, begin: float, hand_back: bool
) -> tuple[RunBuffers, Array, float, float]:
    """The causal solver from `begin`; the buffers, where the tokens stand, the time and the next step."""
    _, n, d = buffers.start.shape
    system = pairwise_system(schedule.shape(run))
    state, clock = new_causal_state(system, buffers.tolerance), new_causal_clock(begin)
    short, per_group = 0.0, 0.0
    if hand_back:
        unit, allowed = float(schedule.unit[run]), float(schedule.allowed[run])
        by_modes = choose_kernel(schedule.shape(run), allowed) != "pairwise"
        short = SHORT_STEP * unit
        per_group = unit * (SHORT_STEP_PER_GROUP if by_modes else SHORT_STEP_PER_SHARE / n)
    while (answer := integrate_causal(state, buffers, clock, short, per_group, schedule.stop)) == FULL_BUFFER:
        buffers = grow(schedule, buffers)
    assert answer in (ENDED, HANDED_BACK)
    x = np.ascontiguousarray(system.x[:, system.m : system.m + n].T)
    return buffers, x, float(clock["t"][0]), float(clock["h"][0])


def grow(schedule: Call, buffers: RunBuffers) -> RunBuffers:
    """More room for the frames of a single run, where the thread that watches finds them too."""
    buffers = with_more_room(buffers)
    schedule.buffers = schedule.buffers._replace(
        times=buffers.times, frames=buffers.frames, norms=buffers.norms
    )
    return buffers
