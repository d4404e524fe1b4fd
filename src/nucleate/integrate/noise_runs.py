"""Runs with noise, from what is asked to their buffers: the grid of steps, the seeds, who carries which run.

All steps are equally long, and frames stand at steps: a step cut short for a frame would make the run depend
on what is kept of it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nucleate.block import Block
from nucleate.checks import Array, InputError, check_memory, finite_number, shortened, whole_number
from nucleate.integrate.block_system import block_system
from nucleate.integrate.brownian import Path, new_path
from nucleate.integrate.family import is_ordinary
from nucleate.integrate.run_buffers import Integers, RunBuffers, buffers_of, new_run_buffers
from nucleate.integrate.scheduler import Call, OnFrames, Progress, carry_out
from nucleate.integrate.status import RUNNING
from nucleate.integrate.stochastic import (
    integrate_stochastic,
    integrate_stochastic_in_python,
    new_stochastic_state,
)
from nucleate.kernels.circle import TOLERANCE, Circle
from nucleate.kernels.dispatch import MIN_TILES_DIMENSION, MIN_TILES_TOKENS, make_system, team_pays
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.systems import with_system
from nucleate.kernels.team import Team
from nucleate.layers import Layers, Model
from nucleate.noise import GRID_TOLERANCE, path_grid

__all__ = ["NoiseGrid", "check_noise", "integrate_noise", "noise_grid", "noise_system", "run_keys"]

SEED_HELP = "The same seed gives the same noise."
MAX_DT_OF_KAPPA = 1e4  # turns of 100 radians in a step
MAX_STEPS_OF_ALL = 2**53  # of a run: more cannot be counted in doubles


def noise_of(model: Model) -> float | None:
    """kappa of a model with noise, None without."""
    if isinstance(model, Layers):
        return model.blocks[0].noise
    return model.noise if isinstance(model, Block) else None


def check_noise(model: Model, method: str, device: str, seed: object, path_dt: float | None) -> float | None:
    """kappa of a model with noise, None without; what does not go with it is refused."""
    kappa = noise_of(model)
    if kappa is None:
        for name, value in {"seed": seed, "path_dt": path_dt}.items():
            if value is not None:
                raise InputError(
                    f"{name} is for noise, but the model has none. Leave {name} out, or give Block(...,"
                    " noise=kappa)."
                )
        return None
    if method != "auto":
        raise InputError(
            f"Noise has a method of its own, but method is {shortened(method)}. Leave method out."
        )
    if device != "cpu":
        raise InputError(f"Noise runs on the CPU, but device is {shortened(device)}. Leave device out.")
    if seed is None:
        raise InputError(f"noise needs a seed, but seed is missing. Give seed=0. {SEED_HELP}")
    return kappa


@dataclass(frozen=True, eq=False)
class NoiseGrid:
    """The steps of a run with noise, and after which of them frames are kept."""

    dt: float
    path_dt: float
    steps: int
    times: Array  # (m,) of the frames
    frame_steps: Integers  # (m,)


def noise_grid(
    kappa: float,
    times: Array,
    exact: bool,
    every_step: bool,
    t: float,
    dt: float | None,
    path_dt: float | None,
) -> NoiseGrid:
    """The grid of a run to time t with frames at `times` (m,): `exact` times must be those of steps, others
    are moved to the nearest step."""
    if dt is None:
        raise InputError("noise takes fixed steps, but dt is missing. Give dt=0.01, say.")
    dt = finite_number("dt", dt, above=0.0, help="It is the length of a step.")
    if dt > t * (1.0 + GRID_TOLERANCE):
        raise InputError(f"dt must be at most t, but dt is {dt:g} and t is {t:g}. Give a smaller dt.")
    path_dt = (
        dt / 2.0
        if path_dt is None
        else finite_number(
            "path_dt", path_dt, above=0.0, help="It is the step in which the Brownian path is drawn."
        )
    )
    path_grid(path_dt, dt / 2.0)
    if dt > MAX_DT_OF_KAPPA * kappa:
        raise InputError(
            f"noise = {kappa:g} takes a token many times around within a step of dt = {dt:g}. Give a dt below"
            f" {kappa:g}."
        )
    steps = whole_steps("t", t, dt)
    if every_step:
        check_memory(16.0 * steps, f"keeping each of {steps} steps")
        frame_steps = np.arange(steps + 1)  # (m,)
        times = np.array(dt * frame_steps)  # (m,)
    elif exact:
        frame_steps = np.rint(times / dt).astype(np.int64)  # (m,)
        off = np.abs(times / dt - frame_steps) > GRID_TOLERANCE * np.maximum(1.0, frame_steps)
        if off.any():
            i = int(np.argmax(off))
            raise InputError(
                f"With noise frames stand at steps, but save[{i}] = {times[i]:g} is no whole number of steps"
                f" of dt = {dt:g}. Give multiples of dt, or a count."
            )
    else:
        frame_steps = np.unique(np.rint(times / dt).astype(np.int64))  # (m,)
        times = np.array(dt * frame_steps)  # (m,)
    times[frame_steps == steps] = t
    return NoiseGrid(dt, path_dt, steps, times, frame_steps)


def whole_steps(name: str, time: float, dt: float) -> int:
    """How many steps of dt the time called `name` has, which must be a whole number."""
    steps = round(min(time / dt, MAX_STEPS_OF_ALL))
    if abs(time / dt - steps) > GRID_TOLERANCE * steps:
        raise InputError(
            f"With noise {name} must be a whole number of steps, but {time:g} is {time / dt:g} steps of"
            f" dt = {dt:g}. Give dt={time / max(1, np.ceil(time / dt)):.6g}."
        )
    return steps


def run_keys(seed: Any, runs: int, single: bool) -> NDArray[np.uint64]:
    """The key of each run's path, (b, 2): (seed, number of the run), or with a seed per run (seed, 0)."""
    if single or np.ndim(seed) == 0:
        number = whole_number("seed", seed, least=0, help=SEED_HELP)
        return np.array([[number, run] for run in range(runs)], dtype=np.uint64)
    if np.shape(seed) != (runs,):
        raise InputError(
            f"seed must be one number or one per run, but has shape {np.shape(seed)} for {runs} runs. Give"
            " one number."
        )
    numbers = [whole_number(f"seed[{i}]", one, least=0, help=SEED_HELP) for i, one in enumerate(seed)]
    return np.array([[number, 0] for number in numbers], dtype=np.uint64)


def noise_system(block: Block, n: int, d: int, run: int) -> Any:
    """The system of one run of a block: its state is coordinates, or angles if it is a `Circle`."""
    only_a_head = len(block.heads) == 1 and block.mlp is None and not block.exclude_self
    if only_a_head and is_ordinary(block.heads[0]):
        return make_system(model_shape(block.heads[0], n, d, run), angle=False)
    return block_system(block, n, d, run, "post", TOLERANCE)


def integrate_noise(
    model: Block | Layers,
    start: Array,
    grid: NoiseGrid,
    keys: NDArray[np.uint64],
    max_steps: int,
    single: bool,
    threads: int,
    progress: Progress | None,
    on_frames: OnFrames | None,
    end: float,
) -> tuple[RunBuffers, int]:
    """Carry the runs that begin at `start` (b, n, d) to their end, until the time `end` of the clock; what
    `integrate_all` returns."""
    b, n, d = start.shape
    kappa, pieces = noise_of(model), _pieces(model, grid)
    assert kappa is not None
    buffers = new_run_buffers(start, grid.times, False, grid.dt * grid.steps, 0.0, grid.dt, max_steps)
    path = new_path(keys, kappa, grid.path_dt, grid.dt / 2.0, d)
    call = Call(buffers, single, threads)
    jobs: list[Callable[[], None]] = [partial(_one_run, call, path, grid, pieces, run) for run in range(b)]
    if model.runs is None and len(pieces) == 1 and b >= threads:
        jobs = [partial(_take_runs, call, path, grid, pieces[0][0])] * threads
    # more threads of BLAS would compete with ours, and change the bits
    tiles = d >= MIN_TILES_DIMENSION and n >= MIN_TILES_TOKENS
    blas: AbstractContextManager[object] = threadpool_limits(1, user_api="blas") if tiles else nullcontext()
    return carry_out(call, jobs, blas, progress, on_frames, end)


def _pieces(model: Block | Layers, grid: NoiseGrid) -> list[tuple[Block, int, int]]:
    """The blocks, each with its first step and the step after its last."""
    if isinstance(model, Block):
        return [(model, 0, grid.steps)]
    length = whole_steps("the dt of Layers", model.dt, grid.dt)
    firsts = range(0, grid.steps, length)
    return [
        (block, first, min(first + length, grid.steps))
        for block, first in zip(model.blocks[: len(firsts)], firsts, strict=True)
    ]


def _take_runs(call: Call, path: Path, grid: NoiseGrid, block: Block) -> None:
    """Runs of one block, from the queue that all threads share."""
    runs, n, d = call.buffers.start.shape
    system = noise_system(block, n, d, 0)
    state = new_stochastic_state(n, d, isinstance(system, Circle))
    rest = grid.frame_steps, grid.steps, 0, grid.steps, call.stop
    _solver(system, runs, call.threads)(path, state, call.buffers, *rest)


def _one_run(call: Call, path: Path, grid: NoiseGrid, pieces: list[tuple[Block, int, int]], run: int) -> None:
    """One run to its end, block by block."""
    runs, n, d = call.buffers.start.shape
    buffers, path = buffers_of(call.buffers, run), path._replace(keys=path.keys[run : run + 1])
    state = new_stochastic_state(n, d, False)
    for block, first, last in pieces:
        system = noise_system(block, n, d, run)
        state = state._replace(angular=isinstance(system, Circle))
        queue = np.zeros(1, dtype=np.int64)
        rest = grid.frame_steps, grid.steps, first, last, call.stop
        _solver(system, runs, call.threads)(path, state, buffers._replace(queue=queue), *rest)
        if buffers.status[0] != RUNNING:
            return


def _solver(system: Any, runs: int, threads: int) -> Callable[..., int]:
    """The solver for this system: on a team of threads where it is large and there are few runs."""
    if team_pays(system, runs, threads):
        return partial(integrate_stochastic_in_python, Team(system, threads))
    return partial(with_system, integrate_stochastic, system)
