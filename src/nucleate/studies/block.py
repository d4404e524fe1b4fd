"""A block of runs: drawn, integrated and measured in one go; a pure function of the study and of its runs."""

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate import __version__
from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.integrate.run import Run
from nucleate.integrate.run_buffers import new_run_buffers
from nucleate.integrate.simulate import check_tolerance, pick_method, simulate
from nucleate.integrate.status import STATUS
from nucleate.layers import Model
from nucleate.source_hash import source_hash
from nucleate.studies.observables import IntegratedBlock
from nucleate.studies.points import Point, noise_seed
from nucleate.studies.study import Study

__all__ = [
    "STATUS",
    "Arrays",
    "Block",
    "Cancelled",
    "ComputedBlock",
    "Report",
    "compute_block",
    "identity",
    "made_with",
    "padded_shape",
    "processor",
    "warm_up",
]

Arrays = dict[str, NDArray[Any]]
Report = Callable[[int], bool]  # told how many runs have finished since the last call; False stops

STOPPED_STATUSES = ("cancelled", "interrupted", "running")
# What a finished Run can do, to save and to draw: no block does either, so results do not depend on it.
UNUSED_MODULES = ("nucleate.conveniences", "nucleate.integrate.storage", "nucleate.plot")
GPU_MODULES = ("nucleate.gpu.batch", "nucleate.gpu.card_frames", "nucleate.gpu.large_system")


class Block(NamedTuple):
    """Runs first, ..., last - 1 of one point of the grid."""

    point: int
    first: int
    last: int


class ComputedBlock(NamedTuple):
    """The arrays of a block, and the kind of processor that computed them."""

    arrays: Arrays
    processor: str


class Cancelled(Exception):
    """The block was stopped before its end; nothing of it is kept."""


def compute_block(study: Study, block: Block, threads: int = 1, report: Report | None = None) -> Arrays:
    """status (b,), steps (b,) and every observable (b, ...), with the axes of tokens as long as anywhere in
    the grid."""
    runs = range(block.first, block.last)
    integrated, status, steps = _integrate(study, study.point(block.point), runs, threads, report)
    if any(STATUS[code] in STOPPED_STATUSES for code in status):
        raise Cancelled
    arrays: Arrays = {"status": status.astype(np.int8), "steps": steps.astype(np.int64)}
    for one in study.observables:
        values = one.measure(integrated)  # (b, ...)
        arrays[one.name] = _padded(values, (len(runs), *padded_shape(study, one.dims, values.shape[1:])))
    return arrays


def warm_up(study: Study, index: int) -> None:
    """Compile, or fetch from the disk, what a point of the grid needs: one step of two runs, measured and
    thrown away."""
    point = replace(study.point(index), max_steps=1)
    integrated, _, _ = _integrate(study, point, range(2), 1, None)
    for one in study.observables:
        if one.function is None:
            one.measure(integrated)


def _integrate(
    study: Study, point: Point, runs: range, threads: int, report: Report | None
) -> tuple[IntegratedBlock, NDArray[np.int64], NDArray[np.int64]]:
    """The runs of a point to their end; their statuses, as numbers of STATUS, and steps."""
    if point.noise is not None:
        return _integrate_with_noise(study, point, runs, threads, report)
    model, start = point.model(study.seed, runs), point.starts(study.seed, runs)  # start (b, n, d)
    device = study.fixed["device"]
    if device == "gpu" and any(one.on_card for one in study.observables):
        from nucleate.gpu.batch import suits_fused

        if suits_fused(len(runs), point.n):
            return _integrate_on_card(study, point, model, start, report)

    run = _simulated(study, point, model, start, threads, report)
    status = np.array([STATUS.index(one) for one in run.status])
    integrated = IntegratedBlock(run.t, start, model, point.beta, run.x, norms=run.norms)
    return integrated, status, np.asarray(run.steps)


def _integrate_with_noise(
    study: Study, point: Point, runs: range, threads: int, report: Report | None
) -> tuple[IntegratedBlock, NDArray[np.int64], NDArray[np.int64]]:
    """The same, one run after the other: the noise of each has a seed of its own, whatever its block."""
    model, start = point.model(study.seed, runs), point.starts(study.seed, runs)  # start (b, n, d)
    done = [
        _simulated(
            study,
            point,
            point.model(study.seed, range(run, run + 1)),
            start[i : i + 1],
            threads,
            report,
            noise_seed(study.seed, run),
        )
        for i, run in enumerate(runs)
    ]
    status = np.array([STATUS.index(one.status[0]) for one in done])
    x = np.concatenate([one.x for one in done])  # (b, m, n, d)
    steps = np.concatenate([np.asarray(one.steps) for one in done])  # (b,)
    return IntegratedBlock(done[0].t, start, model, point.beta, x), status, steps


def _simulated(
    study: Study,
    point: Point,
    model: Model,
    start: Array,
    threads: int,
    report: Report | None,
    seed: int | None = None,
) -> Run:
    """The runs from `start`, (b, n, d)."""

    def finished(_: Array, x: Array) -> bool:
        return report is None or report(len(x))

    noise: dict[str, Any] = {} if seed is None else {"seed": seed}
    return simulate(
        model,
        start,
        study.fixed["t"],
        save=study.fixed["save"],
        rtol=point.rtol,
        atol=point.atol,
        method=point.method,
        dt=point.dt,
        on_frames=finished,
        max_steps=point.max_steps,
        threads=threads,
        device=study.fixed["device"],
        precision=study.fixed["precision"],
        **noise,
    )


def _integrate_on_card(
    study: Study, point: Point, model: Model, start: Array, report: Report | None
) -> tuple[IntegratedBlock, NDArray[np.int64], NDArray[np.int64]]:
    """The same with frames that stay on the card."""
    from nucleate.gpu.card_frames import frames_on_card

    table, dt = pick_method(point.method, point.dt, study.fixed["t"])
    buffers = new_run_buffers(
        start,
        study.times,
        False,
        study.fixed["t"],
        check_tolerance(point.rtol, point.atol),
        dt,
        point.max_steps,
        fill=False,
    )
    mixed = study.fixed["precision"] == "mixed"
    assert isinstance(model, Attention)  # Study refuses others
    frames = frames_on_card(model, table, buffers, mixed, lambda: report is None or report(0))
    if frames is None:
        raise Cancelled
    if report is not None:
        report(len(start))
    integrated = IntegratedBlock(buffers.times, start, model, point.beta, None, frames)
    return integrated, buffers.status, buffers.steps


def padded_shape(study: Study, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of tokens and coordinates at their longest anywhere in the grid, the others as they are."""
    longest = dict(zip(("token", "coordinate"), study.largest, strict=True))
    return tuple(longest.get(name, size) for name, size in zip(dims, shape, strict=True))


def _padded(values: Array, shape: tuple[int, ...]) -> Array:
    """`values` as contiguous doubles in an array of `shape`, NaN beyond them."""
    if values.shape == shape:
        return np.ascontiguousarray(values, dtype=np.float64)
    wide = np.full(shape, np.nan)
    wide[tuple(slice(size) for size in values.shape)] = values
    return wide


@cache
def made_with(device: str = "cpu") -> dict[str, str]:
    """The versions that results depend on, and a checksum of our own code that computes them: blocks of
    different ones are never mixed.

    Comments, docstrings, and code that no block uses change nothing.
    """
    packages = {name: version(name) for name in ("numpy", "numba", "scipy")}
    if device == "gpu":
        from nucleate.gpu.device import card_name, cuda_version

        code = source_hash("nucleate.studies.block", *GPU_MODULES, without=UNUSED_MODULES)
        packages |= {"numba-cuda": cuda_version(), "card": card_name()}
    else:
        code = source_hash("nucleate.studies.block", without=(*UNUSED_MODULES, "nucleate.gpu"))
    return {"nucleate": __version__, "code": code, **packages}


@cache
def processor() -> str:
    """The kind of this machine's processor, as far as the last bits of results may depend on it: its name,
    and a checksum of the features that compiled code and NumPy make use of."""
    from numba.core.registry import cpu_target

    system, name, features = cpu_target.target_context.codegen().magic_tuple()
    numpys: Any = np.show_config(mode="dicts")
    used = json.dumps([system, features, numpys.get("SIMD Extensions")])
    return f"{platform.machine()} {name} {hashlib.sha256(used.encode()).hexdigest()[:8]}"


def identity(study: Study) -> str:
    """A checksum of the study, the number of runs apart, and of what it is made with: the mark of every block
    that belongs together."""
    table = {key: value for key, value in study.plain().items() if key != "runs"}
    made = made_with(study.fixed["device"])
    return hashlib.sha256(json.dumps([table, made]).encode()).hexdigest()
