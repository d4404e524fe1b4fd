"""Blocks and layers: each run goes through its pieces, on the thread that took it.

Continuous: the explicit solver carries a run from the end of a piece to the next, tokens, lengths and the
length of the step.  Discrete: one step per layer, `layers.add_output`.  The bits of a run depend neither on
the other runs nor on the threads.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.integrate.block_system import block_solver, block_system, block_velocity
from nucleate.integrate.pieces import Piece, model_time, pieces_of
from nucleate.integrate.run_buffers import FULL_BUFFER, RunBuffers, buffers_of
from nucleate.integrate.scheduler import Call, OnFrames, Progress, carry_out, grow
from nucleate.integrate.status import DONE, MAX_STEPS, NON_FINITE, RUNNING
from nucleate.integrate.step_state import StepState, new_step_state, tokens_of
from nucleate.integrate.tableau import MIN_TOLERANCE_OF_ORDER_5, Tableau, dormand_prince_5
from nucleate.kernels.dispatch import MIN_TILES_DIMENSION, MIN_TILES_TOKENS
from nucleate.kernels.simd import LANES
from nucleate.layers import Layers, add_output
from nucleate.resources import memory

__all__ = ["BlockSchedule", "integrate_blocks", "layer_times"]

SAME_LAYER = 1e-9  # of a layer: a time so close to the end of one is that end
KEPT_SHARE = 16  # a thread keeps its systems for the next run where they take less than memory / 16


class BlockSchedule(Call):
    """What all threads share that move the runs of a block or of layers up to the model's time t."""

    def __init__(
        self,
        model: Block | Layers,
        t: float,
        table: Tableau,
        buffers: RunBuffers,
        single: bool,
        threads: int,
    ) -> None:
        if buffers.tolerance > MIN_TOLERANCE_OF_ORDER_5 and buffers.dt == 0.0:
            table = dormand_prince_5()
        super().__init__(buffers, single, threads)
        self.table, self.model, self.t = table, model, t
        self.discrete = isinstance(model, Layers) and model.discrete
        self.pieces = pieces_of(model, t)
        self.angles = buffers.dt == 0.0  # on the circle; a fixed step is x + dt x', put back onto it
        # error of a velocity: its sum over time stays below the tolerance
        self.allowed = 0.01 * buffers.tolerance / max(1.0, buffers.final / 10.0)
        self.own = threading.local()  # each thread's systems: they hold scratch
        _, n, d = buffers.start.shape
        heads = max(len(piece.block.heads) for piece in self.pieces)
        size = 8.0 * threads * len(self.pieces) * heads * (3.0 * d * d + 24.0 * n * d)
        self.keeps_systems = model.runs is None and size <= memory() / KEPT_SHARE

    def times(self, solver_times: Array) -> Array:
        """The model's times; the last one exactly."""
        found = np.array(solver_times if self.discrete else model_time(self.model.norm, solver_times))
        found[solver_times == self.buffers.final] = self.t
        return found

    def system(self, piece: Piece, norm: str, run: int) -> Any:
        """The system of a piece, for this thread."""
        _, n, d = self.buffers.start.shape
        if not self.keeps_systems:
            return block_system(piece.block, n, d, run, norm, self.allowed, self.angles)
        kept = self.own.__dict__.setdefault("systems", {})
        if (piece.layer, norm) not in kept:
            kept[piece.layer, norm] = block_system(piece.block, n, d, run, norm, self.allowed, self.angles)
        return kept[piece.layer, norm]


def integrate_blocks(
    schedule: BlockSchedule, progress: Progress | None, on_frames: OnFrames | None, end: float
) -> tuple[RunBuffers, int]:
    """Carry all runs to their end; what `integrate_all` returns."""
    b, n, d = schedule.buffers.start.shape
    one_run = _discrete if schedule.discrete else _continuous
    jobs: list[Callable[[], None]] = [partial(one_run, schedule, run) for run in range(b)]
    # more threads of BLAS would compete with ours, and change the bits
    tiles = d >= MIN_TILES_DIMENSION and n >= MIN_TILES_TOKENS
    blas: AbstractContextManager[object] = threadpool_limits(1, user_api="blas") if tiles else nullcontext()
    return carry_out(schedule, jobs, blas, progress, on_frames, end)


def _continuous(schedule: BlockSchedule, run: int) -> None:
    """One run through its pieces; the last step of each is the first that the next one tries."""
    buffers, status = buffers_of(schedule.buffers, run), RUNNING
    _, n, d = buffers.start.shape
    state: StepState | None = None
    for piece in schedule.pieces:
        h = 0.0 if state is None else float(state.wanted[0])
        if state is not None:
            buffers = _at_end_of(state, buffers)
        if state is None or state.free != piece.free:
            state = new_step_state(
                schedule.table, n, d, 1, angles=schedule.angles and not piece.free, free=piece.free
            )
        buffers, status = _one_piece(schedule, buffers, run, piece, state, h)
        if status != DONE:
            break
        if piece is not schedule.pieces[-1] and buffers.steps[0] + buffers.rejected[0] >= buffers.max_steps:
            status = MAX_STEPS
            break
    buffers.status[0] = status


def _one_piece(
    schedule: BlockSchedule, buffers: RunBuffers, run: int, piece: Piece, state: StepState, h: float
) -> tuple[RunBuffers, int]:
    """The explicit solver for one piece, the first step h or its own choice; how the piece ended."""
    steps, rejected, status, queue = np.zeros((4, 1), dtype=np.int64)  # of this piece
    used = int(buffers.steps[0] + buffers.rejected[0])
    part = buffers._replace(
        steps=steps,
        rejected=rejected,
        status=status,
        queue=queue,
        begin=piece.begin,
        final=piece.end - piece.begin,
        max_steps=buffers.max_steps - used,
        first_h=h,
    )
    system = schedule.system(piece, piece.norm, run)
    solve = block_solver(system, len(schedule.buffers.start), schedule.threads)
    while solve(schedule.table, state, part, schedule.stop) == FULL_BUFFER:
        part = grow(schedule, part)
    buffers.steps[0] += steps[0]
    buffers.rejected[0] += rejected[0]
    return buffers._replace(times=part.times, frames=part.frames, norms=part.norms), int(status[0])


def _at_end_of(state: StepState, buffers: RunBuffers) -> RunBuffers:
    """The buffers with the end of a piece as the start of the next."""
    y = tokens_of(state, buffers.start[0])  # (n, d)
    if not state.free:
        return buffers._replace(start=y[None])
    length = np.sqrt((y * y).sum(-1, keepdims=True))  # (n, 1)
    return buffers._replace(start=(y / length)[None], start_norms=length[:, 0][None])


def layer_times(model: Layers, save: Array, t: float) -> Array:
    """`save` as ends of discrete layers, each exactly; others are refused, and so is such a t."""
    for name, times in (("t", np.array([t])), ("save", save)):
        layer = np.rint(times / model.dt)  # (m,)
        off = np.abs(times / model.dt - layer) > SAME_LAYER
        if off.any():
            raise InputError(
                f"Discrete layers have tokens at multiples of dt = {model.dt:g} only, but {name} has"
                f" {times[off][0]:g}. Leave save out to keep every layer, or give such times."
            )
    return np.asarray(np.where(layer * model.dt > t, t, layer * model.dt))


def _discrete(schedule: BlockSchedule, run: int) -> None:
    """One run, one step per layer."""
    model = schedule.model
    assert isinstance(model, Layers)
    buffers = buffers_of(schedule.buffers, run)
    _, n, d = buffers.start.shape
    count = int(np.rint(schedule.t / model.dt))
    x = buffers.start[0]  # (n, d)
    r = buffers.start_norms[0] if buffers.start_norms.size else np.ones(n)  # (n,)
    y, velocity = np.zeros((2, n * d + LANES))
    if buffers.every_step or buffers.times[0] == 0.0:
        buffers = _write(schedule, buffers, x, r, 0.0)
    for layer in range(count):
        if schedule.stop[0] or layer >= buffers.max_steps:
            buffers.status[0] = schedule.stop[0] or MAX_STEPS
            return
        block, begin = model.blocks[layer], layer * model.dt
        piece = Piece(layer, block, "pre", begin, begin + model.dt)
        y[: n * d] = x.reshape(-1)
        system = schedule.system(piece, "pre", run)  # under "pre" a velocity is A itself
        block_velocity(system, len(schedule.buffers.start), schedule.threads)(y, velocity, schedule.stop)
        if schedule.stop[0]:
            continue
        with np.errstate(all="ignore"):
            x, r = add_output(block, velocity[: n * d].reshape(n, d).copy(), x, r, model.dt, begin)
        if not (np.isfinite(x).all() and np.isfinite(r).all()):
            buffers.status[0] = NON_FINITE
            return
        buffers.steps[0] += 1
        end, saved = schedule.t if layer + 1 == count else (layer + 1) * model.dt, int(buffers.saved[0])
        if buffers.every_step or (saved < len(buffers.times) and buffers.times[saved] <= end):
            buffers = _write(schedule, buffers, x, r, end)
    buffers.status[0] = DONE


def _write(schedule: BlockSchedule, buffers: RunBuffers, x: Array, r: Array, t: float) -> RunBuffers:
    """One more frame."""
    saved = int(buffers.saved[0])
    buffers.frames[0, saved], buffers.times[saved] = x, t
    if buffers.norms.shape[2]:
        buffers.norms[0, saved] = r
    buffers.saved[0] = saved + 1
    full = buffers.every_step and saved + 1 >= buffers.times.size
    return grow(schedule, buffers) if full else buffers
