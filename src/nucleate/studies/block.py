"""A block of runs: drawn, integrated and measured in one go.  A pure function of the study and of which runs
are asked for."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate import __version__
from nucleate.checks import Array
from nucleate.integrate.simulate import simulate
from nucleate.integrate.status import STATUS
from nucleate.studies.observables import Block
from nucleate.studies.study import Study

__all__ = [
    "STATUS",
    "Arrays",
    "Cancelled",
    "Task",
    "compute",
    "identity",
    "made_with",
    "padded_shape",
    "warm",
]

Arrays = dict[str, NDArray[Any]]
Tick = Callable[[int], bool]  # told how many runs have finished since; False stops

# what results depend on
CODE = ["checks.py", "sphere.py", "attention.py", "kernels", "integrate", "observe", "theory"]
CODE += [f"ensemble/{name}.py" for name in ("block", "matrices", "observables", "points", "store")]
STOPPED = ("cancelled", "interrupted", "running")


class Task(NamedTuple):
    """Runs first, ..., last - 1 of one point of the grid."""

    point: int
    first: int
    last: int


class Cancelled(Exception):
    """The block was stopped before its end; nothing of it is kept."""


def compute(study: Study, task: Task, threads: int = 1, tick: Tick | None = None) -> Arrays:
    """status (b,), steps (b,) and every observable (b, ...), with the axes of tokens as long as anywhere in
    the grid."""
    point, runs = study.point(task.point), range(task.first, task.last)
    model, start = point.model(study.seed, runs), point.starts(study.seed, runs)  # start (b, n, d)

    def finished(_: Array, x: Array) -> bool:
        return tick is None or tick(len(x))

    run = simulate(
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
    )
    if any(status in STOPPED for status in run.status):
        raise Cancelled
    block = Block(run.t, run.x, start, model, point.beta, {})
    arrays: Arrays = {
        "status": np.array([STATUS.index(status) for status in run.status], dtype=np.int8),
        "steps": np.asarray(run.steps, dtype=np.int64),
    }
    for one in study.observables:
        values = one.measure(block)  # (b, ...)
        arrays[one.name] = _padded(values, (len(runs), *padded_shape(study, one.dims, values.shape[1:])))
    return arrays


def warm(study: Study, index: int) -> None:
    """Compile, or fetch from the disk, what a point of the grid needs: one step of two runs, measured and
    thrown away."""
    point, runs = study.point(index), range(2)
    model, start = point.model(study.seed, runs), point.starts(study.seed, runs)
    run = simulate(
        model,
        start,
        study.fixed["t"],
        save=study.fixed["save"],
        rtol=point.rtol,
        atol=point.atol,
        method=point.method,
        dt=point.dt,
        max_steps=1,
        threads=1,
    )
    for one in study.observables:
        if one.function is None:
            one.measure(Block(run.t, run.x, start, model, point.beta, {}))


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
def made_with() -> dict[str, str]:
    """The versions that results depend on, and a checksum of our own code: blocks of different ones are never
    mixed."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parents[1]
    for place in CODE:
        for source in (
            sorted((package / place).rglob("*.py")) if (package / place).is_dir() else [package / place]
        ):
            digest.update(source.read_bytes())
    packages = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"nucleate": __version__, "code": digest.hexdigest()[:16], **packages}


def identity(study: Study) -> str:
    """A checksum of the study, the number of runs apart, and of what it is made with: the mark of every block
    that belongs together."""
    table = {key: value for key, value in study.plain().items() if key != "runs"}
    return hashlib.sha256(json.dumps([table, made_with()]).encode()).hexdigest()
