"""simulate: from a model and a start to a Run.  Checks what is asked, has it done, and hands it back."""

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import (
    Array,
    InputError,
    check_memory,
    finite_array,
    finite_number,
    function_or_none,
    shortened,
    whole_number,
)
from nucleate.conveniences import convenience
from nucleate.integrate.block_schedule import BlockSchedule, integrate_blocks, layer_times
from nucleate.integrate.family import as_blocks, is_ordinary, name_of
from nucleate.integrate.noise_runs import check_noise, integrate_noise, noise_grid, run_keys
from nucleate.integrate.pieces import solver_time, starting_lengths
from nucleate.integrate.run import Run
from nucleate.integrate.run_buffers import new_run_buffers
from nucleate.integrate.scheduler import OnFrames, Progress, Schedule, integrate_all
from nucleate.integrate.status import INTERRUPTED, RUNNING, STATUS
from nucleate.integrate.tableau import FIXED_STEP_METHODS, Tableau, dormand_prince_8, fixed_step
from nucleate.kernels.devices import Device, Precision, check_device
from nucleate.kernels.dispatch import check_single
from nucleate.kernels.threads import pick_threads
from nucleate.layers import Layers, Model, as_model
from nucleate.notebook import shown_progress, vanishing

__all__ = [
    "FIRST_LOG_TIME",
    "Method",
    "OnFrames",
    "Progress",
    "check_on_gpu",
    "check_tolerance",
    "pick_method",
    "save_times",
    "simulate",
]

Method = Literal["auto", "explicit", "causal", "euler", "heun", "rk4"]

EVENLY_UP_TO_TIME = 1e3  # a count of frames is spread evenly up to this time, by logarithm beyond
FIRST_LOG_TIME = 1e-2  # the first time after 0 where frames are spaced by logarithm
MIN_MIXED_TOLERANCE = MIN_SINGLE_TOLERANCE = 1e-6  # of rtol + atol, with pairs in single precision
MIN_TOLERANCE = 1e-14  # of rtol + atol, that doubles can honour
DEFAULT_FRAMES = 64
INITIAL_ROOM_FRAMES = 256  # frames, when every step is kept


def simulate(
    model: Model,
    x0: ArrayLike,
    t: float,
    *,
    save: int | str | ArrayLike | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    method: Method = "auto",
    dt: float | None = None,
    progress: Progress | None = None,
    on_frames: OnFrames | None = None,
    max_steps: int = 1_000_000,
    time_limit: float | None = None,
    threads: int | None = None,
    device: Device = "cpu",
    precision: Precision = "double",
    seed: int | Sequence[int] | None = None,
    path_dt: float | None = None,
) -> Run:
    """Move the tokens x0, (n, d) or b independent starts (b, n, d), from time 0 to t.

    model      an Attention, a Block or Layers; discrete layers take one step each, to the last bit the same
               whatever rtol and method are
    save       times of the frames kept: an array; "steps", every accepted step; or a count m, 0 and t
               included: evenly spaced if t <= 1000, else 0 and m - 1 times spaced by logarithm from 0.01.
               Left out: 64, or every one of discrete layers, which have frames at multiples of their dt
    rtol, atol a step is accepted when its error is at most rtol + atol radians for every token, and relative
               to its length where the norm has one
    method     "explicit": adaptive, order 8; with rtol + atol above 3e-7 order 5 for batches up to d = 8,
               blocks and layers; "causal": implicit, for times up to 1e300, one softmax head, causal and
               window masks; "auto": explicit, and for such a head over long times explicit and causal in
               alternation; "euler", "heun", "rk4": fixed steps dt, shorter ones at the ends of layers
    progress   called as progress(done, total) at least every 0.2 s: frames of one run, or its time where
               every step is kept, or runs of several; returning False cancels
    on_frames  called as on_frames(t, x) as often, with the frames saved since the last call, none or more;
               for b runs with all times and the runs finished since, x (r, m, n, d); returning False cancels
    max_steps, time_limit   steps of a run, and seconds of the call, in which it may also have to compile,
               after which a run is given up
    threads    all cores unless said otherwise; the results are the same to the last bit
    seed       of the noise, for blocks with noise: they take fixed steps dt, at which their frames are.  Run
               i of several has a path of its own, from (seed, i); or give one seed per run, which then is as
               if it were alone
    path_dt    the step in which the Brownian path is drawn, dt / 2 unless said: runs with one seed and one
               path_dt feel the same path whatever their dt
    device     "gpu": one softmax head on an NVIDIA card, whole batches in one launch; explicit and fixed
               steps only, order 5 wherever rtol + atol is above 3e-7
    precision  "mixed": pairs in single precision on the card.  "single": in explicit steps on the CPU, where
               that is twice as fast (see `drift`).  Both from rtol + atol = 1e-6 on

    A run that did not finish says so in `status`, and keeps what was computed.  Ctrl-C ends the call with
    status "interrupted"; in its first half second, while it compiles, and when all runs are done, with
    KeyboardInterrupt, so that it ends a loop of short calls too.
    """
    began = time.monotonic()
    model = as_model(model)
    x0 = model.check(x0)
    t = finite_number("t", t, above=0.0, help="It is the time to stop at.")
    if isinstance(model, Layers):
        model.check_time(t)
    x0 = np.broadcast_to(x0, (model.runs, *x0.shape[-2:])) if model.runs is not None and x0.ndim == 2 else x0
    single = x0.ndim == 2
    start = np.array(x0[None] if single else x0)  # a copy: to Numba a read-only array is another type
    times, every_step = model_times(model, save, t, single)
    tolerance = check_tolerance(rtol, atol)
    kappa = check_noise(model, method, device, seed, path_dt)
    check_single_runs(model, method, device, precision, tolerance)
    table, step = pick_method(method, dt if kappa is None else None, t)
    check_method(model, method)
    limit = whole_number("max_steps", max_steps, least=1, help="It counts accepted and rejected steps.")
    seconds = np.inf
    if time_limit is not None:
        seconds = finite_number("time_limit", time_limit, above=0.0, help="It is in seconds.")
    workers = pick_threads(threads)
    function_or_none("progress", progress, of="(done, total)")
    progress = shown_progress(progress, "simulating")
    function_or_none("on_frames", on_frames, of="(t, x)")
    settings: dict[str, Any] = {
        "method": method,
        "t": t,
        "rtol": rtol,
        "atol": atol,
        "dt": dt,
        "max_steps": limit,
    } | ({"precision": precision} if precision == "single" else {})
    with vanishing(progress):
        if kappa is not None:
            exact = save is not None and np.ndim(save) > 0
            keys = run_keys(seed, len(start), single)
            grid = noise_grid(kappa, times, exact, every_step, t, dt, path_dt)
            settings |= {"seed": np.asarray(seed).tolist(), "path_dt": grid.path_dt}
            buffers, stop = integrate_noise(
                as_blocks(model),
                start,
                grid,
                keys,
                limit,
                single,
                workers,
                progress,
                on_frames,
                began + seconds,
            )
        elif check_device(device, precision):
            check_on_gpu(method, every_step, tolerance, precision, model)
            settings |= {"device": device, "precision": precision}
            buffers = new_run_buffers(start, times, every_step, t, tolerance, step, limit, fill=False)
            buffers, stop = convenience("simulate, gpu")(
                model, table, buffers, precision == "mixed", single, progress, on_frames, began + seconds
            )
        elif isinstance(model, Attention) and is_ordinary(model):
            buffers = new_run_buffers(start, times, every_step, t, tolerance, step, limit)
            schedule = Schedule(model, table, buffers, method, single, workers, precision == "single")
            buffers, stop = integrate_all(schedule, progress, on_frames, began + seconds)
        else:
            blocks = as_blocks(model)
            norm = "post" if isinstance(blocks, Layers) and blocks.discrete else blocks.norm
            buffers = new_run_buffers(
                start,
                np.array(solver_time(norm, times)),
                every_step,
                float(solver_time(norm, t)),
                tolerance,
                step,
                limit,
                radius=starting_lengths(blocks, start.shape[1]),
            )
            in_pieces = BlockSchedule(blocks, t, table, buffers, single, workers)
            buffers, stop = integrate_blocks(in_pieces, progress, on_frames, began + seconds)
            buffers = buffers._replace(times=in_pieces.times(buffers.times) if every_step else times)
    if stop == INTERRUPTED and not np.isin(buffers.status, (RUNNING, INTERRUPTED)).any():
        raise KeyboardInterrupt  # it came too late to end a run
    buffers.status[buffers.status == RUNNING] = stop
    status = tuple(STATUS[code] for code in buffers.status)
    norms = buffers.norms if buffers.norms.shape[2] else None
    if not single:
        return Run(model, buffers.times, buffers.frames, status, buffers.steps.copy(), settings, norms=norms)
    saved = int(buffers.saved[0])
    t_saved, x = buffers.times[:saved].copy(), buffers.frames[0, :saved].copy()
    lengths = None if norms is None else norms[0, :saved].copy()  # (m, n)
    return Run(model, t_saved, x, status[0], int(buffers.steps[0]), settings, norms=lengths)


def check_method(model: Model, method: str) -> None:
    """Refuse methods that a model is not made for."""
    if method == "causal":
        if not (isinstance(model, Attention) and is_ordinary(model)):
            raise InputError(
                'method "causal" needs one softmax head without positions, MLP or another norm, but the model'
                f' is {name_of(model)}. Use "explicit".'
            )
        if model.mask == "full":
            raise InputError(
                'method "causal" needs a mask under which no token sees a later one, but the mask is "full".'
                ' Use "explicit".'
            )
    if method in FIXED_STEP_METHODS and isinstance(model, Block | Layers):
        if isinstance(model, Layers) and model.discrete:
            raise InputError(f'Discrete layers take one step each, but method is "{method}". Leave it out.')
        if model.norm == "sqrt":
            raise InputError(
                'norm "sqrt" is integrated in the time 2 sqrt(t + 1), where steps of dt are not equal, but'
                f' method is "{method}". Use "explicit".'
            )


def check_on_gpu(
    method: Method, every_step: bool, tolerance: float, precision: Precision, model: Model | None = None
) -> None:
    """Refuse what the card does not do."""
    if model is not None and not is_ordinary(model):
        raise InputError(
            'device="gpu" moves one softmax head without positions, but the model is'
            f" {name_of(model)}. Leave device out."
        )
    if method == "causal":
        raise InputError('method "causal" runs on the CPU, but device is "gpu". Leave device out.')
    if every_step:
        raise InputError('save="steps" is for the CPU, but device is "gpu". Give times, or leave device out.')
    if precision == "mixed" and tolerance < MIN_MIXED_TOLERANCE:
        raise InputError(
            f'precision="mixed" is good to {MIN_MIXED_TOLERANCE:g}, but rtol + atol is {tolerance:g}. Raise'
            " rtol, or leave precision out."
        )


def check_single_runs(
    model: Model, method: Method, device: Device, precision: Precision, tolerance: float
) -> None:
    """Refuse what is not done in single precision on the CPU."""
    check_device(device, precision)
    if precision != "single":
        return
    check_single(model)
    if method == "causal":
        raise InputError('method "causal" is in double precision, but precision is "single". Leave it out.')
    if tolerance < MIN_SINGLE_TOLERANCE:
        raise InputError(
            f'precision="single" is good to {MIN_SINGLE_TOLERANCE:g}, but rtol + atol is {tolerance:g}. Raise'
            " rtol, or leave precision out."
        )


def model_times(
    model: Model, save: int | str | ArrayLike | None, t: float, single: bool
) -> tuple[Array, bool]:
    """`save_times`, with what is left out filled in, and ends of layers where they are discrete."""
    if not (isinstance(model, Layers) and model.discrete):
        return save_times(DEFAULT_FRAMES if save is None else save, t, single)
    if save is None:
        save = np.append(np.arange(np.rint(t / model.dt)) * model.dt, t)
    times, every_step = save_times(save, t, single)
    return (times if every_step else layer_times(model, times, t)), every_step


def save_times(save: int | str | ArrayLike, t: float, single: bool) -> tuple[Array, bool]:
    """The times of the frames, and whether every step is kept instead."""
    if isinstance(save, str):
        if save != "steps":
            raise InputError(f'save must be a count, an array of times or "steps", but is {shortened(save)}.')
        if not single:
            raise InputError(
                'save="steps" keeps a different number of frames for every run, but x0 holds several.'
                " Simulate them one by one."
            )
        return np.zeros(INITIAL_ROOM_FRAMES), True
    if not isinstance(save, Sequence) and not getattr(save, "shape", None):
        m = whole_number("save", save, least=2, help="It counts the frames, those at 0 and t included.")
        check_memory(64.0 * m, f"save={m}")
        times = (
            np.linspace(0.0, t, m)
            if t <= EVENLY_UP_TO_TIME
            else np.concatenate([[0.0], np.geomspace(FIRST_LOG_TIME, t, m - 1)])
        )
        times[-1] = t
        return times, False
    times = finite_array("save", save)
    if times.ndim != 1 or times.size == 0 or (np.diff(times) <= 0).any():
        raise InputError(
            f"save must be a list of increasing times, but has shape {times.shape} or falls somewhere. Sort"
            " it and drop doubles."
        )
    if times[0] < 0.0 or times[-1] > t:
        raise InputError(
            f"save must lie between 0 and t = {t:g}, but runs from {times[0]:g} to {times[-1]:g}. Raise t or"
            " drop those times."
        )
    return times.copy(), False


def pick_method(method: str, dt: float | None, t: float) -> tuple[Tableau, float]:
    """The tableau and the fixed step, 0 for the adaptive method."""
    if not isinstance(method, str):
        raise InputError(f"method must be a name, but is {shortened(method)}.")
    if method in FIXED_STEP_METHODS:
        if dt is None:
            raise InputError(f'method "{method}" takes fixed steps, but dt is missing. Give dt=0.1, say.')
        return fixed_step(method), min(
            finite_number("dt", dt, above=0.0, help="It is the length of a step."), t
        )
    if method not in ("auto", "explicit", "causal"):
        raise InputError(
            'method must be "auto", "explicit", "causal", "euler", "heun" or "rk4", but is'
            f" {shortened(method)}."
        )
    if dt is not None:
        raise InputError(
            f'method "{method}" chooses its own steps, but dt is {shortened(dt)}. Leave dt out, or use'
            ' "euler", "heun" or "rk4".'
        )
    return dormand_prince_8(), 0.0


def check_tolerance(rtol: float, atol: float) -> float:
    rtol = finite_number("rtol", rtol, least=0.0, help="1e-8 is a good value.")
    atol = finite_number("atol", atol, least=0.0, help="1e-10 is a good value.")
    if not MIN_TOLERANCE <= rtol + atol <= 1.0:
        raise InputError(
            f"rtol + atol must lie between {MIN_TOLERANCE:g} and 1, but is {rtol + atol:g}. Doubles carry 16"
            " digits."
        )
    return rtol + atol
