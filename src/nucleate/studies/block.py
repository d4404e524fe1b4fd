"""A block of runs: drawn, integrated and measured in one go; a pure function of the study and of its runs."""

import hashlib
import json
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate import __version__
from nucleate.checks import Array
from nucleate.integrate.simulate import simulate
from nucleate.integrate.status import STATUS
from nucleate.source_hash import source_hash
from nucleate.studies.observables import IntegratedBlock
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
    point, runs = study.point(block.point), range(block.first, block.last)
    model, start = point.model(study.seed, runs), point.starts(study.seed, runs)  # start (b, n, d)

    def finished(_: Array, x: Array) -> bool:
        return report is None or report(len(x))

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
    if any(status in STOPPED_STATUSES for status in run.status):
        raise Cancelled
    integrated = IntegratedBlock(run.t, run.x, start, model, point.beta, {})
    arrays: Arrays = {
        "status": np.array([STATUS.index(status) for status in run.status], dtype=np.int8),
        "steps": np.asarray(run.steps, dtype=np.int64),
    }
    for one in study.observables:
        values = one.measure(integrated)  # (b, ...)
        arrays[one.name] = _padded(values, (len(runs), *padded_shape(study, one.dims, values.shape[1:])))
    return arrays


def warm_up(study: Study, index: int) -> None:
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
            one.measure(IntegratedBlock(run.t, run.x, start, model, point.beta, {}))


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
    """The versions that results depend on, and a checksum of our own code that computes them: blocks of
    different ones are never mixed.

    Comments, docstrings, and code that no block uses change nothing.
    """
    code = source_hash("nucleate.studies.block", without=UNUSED_MODULES)
    packages = {name: version(name) for name in ("numpy", "numba", "scipy")}
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
    return hashlib.sha256(json.dumps([table, made_with()]).encode()).hexdigest()
