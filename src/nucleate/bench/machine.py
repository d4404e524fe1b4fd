"""Where the figures come from: cores and versions, never names of hosts or folders; and how fast the cores
multiply, which no sum over pairs can do without."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from nucleate import __version__
from nucleate.checks import Array, InputError, whole_number
from nucleate.kernels.compile import compiled
from nucleate.kernels.simd import LANES, PART, add_scaled, load_each, load_part, splat_as, store_each
from nucleate.kernels.threads import share
from nucleate.resources import cores, processor

__all__ = ["facts", "multiply_add", "only_cores"]

CHAINS = (
    0.0,
) * 12  # of multiply-adds side by side: enough to hide how long one takes, and kept in registers
MULTIPLY_ROUNDS = 1_000_000  # some milliseconds
PACKAGES = ("numpy", "scipy", "numba", "jax", "diffrax")


def facts() -> dict[str, str | int]:
    """Cores this process may use, processor, lanes that the kernels ran with, system, versions."""
    name, vectors = processor()
    known: dict[str, str | int] = {
        "cores": cores(),
        "processor": f"{platform.machine()} {name}, {vectors}",
        "lanes": f"{PART} of {LANES} at a time",
        "system": platform.system(),
    }
    known |= {"python": platform.python_version(), "nucleate": __version__}
    for package in PACKAGES:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            known[package] = "not installed"
    return known


@compiled
def _multiply_add(chains: tuple[float, ...], numbers: Array, rounds: int) -> None:
    sums = load_each(chains, numbers, 0)
    factor = splat_as(load_part(numbers, 0), 1e-9)
    for _ in range(rounds):
        sums = add_scaled(sums, factor, sums)
    store_each(numbers, 0, sums)


def multiply_add(rounds: int = MULTIPLY_ROUNDS) -> float:
    """Keep every core busy with multiply-adds in registers and with nothing else; how many billion
    floating-point operations that were."""
    jobs = [partial(_multiply_add, CHAINS, np.ones(len(CHAINS) * PART), rounds) for _ in range(cores())]
    share(jobs)
    return 2e-9 * len(jobs) * len(CHAINS) * PART * rounds


@contextmanager
def only_cores(threads: int | None) -> Iterator[None]:
    """Keep this process, and the thread pools that peers start from now on, to `threads` cores; afterwards as
    before."""
    if threads is None:
        yield
        return
    own = _own_cores()
    if whole_number("threads", threads, least=1, help="Leave it out to use every core.") > len(own):
        raise InputError(
            f"threads is {threads}, but this process may use {len(own)} cores. Ask for at most that many."
        )
    if not hasattr(os, "sched_setaffinity"):
        raise InputError(
            f"threads is {threads}, but {platform.system()} cannot keep a process to some of its cores. Leave"
            " it out."
        )
    os.sched_setaffinity(0, own[:threads])
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def _own_cores() -> list[int]:
    return (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
