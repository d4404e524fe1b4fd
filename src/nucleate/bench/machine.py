"""Where the figures come from: cores and versions, never names of hosts or folders."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from nucleate import __version__
from nucleate.checks import InputError, whole_number
from nucleate.kernels.simd import LANES, PART
from nucleate.resources import cores, processor

__all__ = ["facts", "only_cores"]

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
