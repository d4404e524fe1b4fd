"""The equation, compiled: `drift` with the kernel that suits the size.  Every kernel is tested against `nucleate.attention.drift`."""

from contextlib import nullcontext
from functools import partial
from itertools import pairwise as neighbours

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from nucleate import attention
from nucleate.attention import Attention
from nucleate.checks import Array, check_memory
from nucleate.kernels.choose import TEAM_FROM, Kernel, System, Team, check_kernel, choose_kernel, make_system, pick_threads, share, sweep, work_of
from nucleate.kernels.circle import Circle
from nucleate.kernels.pairwise import Pairwise, pairwise_many
from nucleate.kernels.tiles import Tiles
from nucleate.sphere import retract

__all__ = ["drift"]


def drift(model: Attention, x: ArrayLike, kernel: Kernel = "auto", threads: int | None = None) -> Array:
    """The velocity of every token: x (n, d) or (b, n, d) on the sphere -> the same shape, tangent at x.

    kernel: "reference" is the equation in NumPy, with an n x n array; "pairwise" sums over pairs, any d, memory O(n d); "circle" is linear
    in n, d = 2 only; "auto" takes the fastest that is accurate.
    """
    x = model.check(x)
    n, d = x.shape[-2:]
    check_kernel(kernel, d)
    workers = pick_threads(threads)
    if x.ndim == 2 and model.runs is not None:
        x = np.broadcast_to(x, (model.runs, n, d))
    if np.abs(np.einsum("...i,...i->...", x, x) - 1.0).max() > 4 * np.finfo(float).eps:
        x = retract(x)
    if kernel == "reference":
        check_memory(8.0 * 4 * n * x.size / d, "the n x n weights of the reference kernel")
        return attention.drift(model, x)
    chosen = choose_kernel(model, n, d) if kernel == "auto" else kernel
    batch = x if x.ndim == 3 else x[None]
    velocity = np.empty_like(batch)
    systems = [make_system(model, n, d, run, chosen, angle=False) for run in range(len(batch) if model.runs is not None else 1)]
    with threadpool_limits(1, user_api="blas") if isinstance(systems[0], Tiles) else nullcontext():
        if model.runs is None and isinstance(systems[0], Pairwise) and len(batch) > 1:
            _many(systems[0], batch, velocity, workers)
        else:
            for run, x_run in enumerate(batch):
                velocity[run] = _one(systems[run % len(systems)], x_run, workers)
    return velocity if x.ndim == 3 else velocity[0]


def _one(system: System, x: Array, threads: int) -> Array:
    """The drift of one run (n, d): put the tokens where the kernel wants them, sweep, and unpack."""
    n, d = x.shape
    if isinstance(system, Tiles):
        system.x[system.m :] = x
    else:
        pair = system.pair if isinstance(system, Circle) else system
        pair.x[:, pair.m : pair.m + n] = x.T
    velocity = np.zeros(n * d + 8)
    worker = Team(system, threads) if threads > 1 and work_of(system) > TEAM_FROM else system
    sweep(worker, velocity, np.zeros(1, dtype=np.uint8))
    if isinstance(system, Circle):
        return np.stack([-x[:, 1], x[:, 0]], axis=1) * velocity[:n, None]
    return velocity[: n * d].reshape(n, d)


def _many(system: Pairwise, x: Array, velocity: Array, threads: int) -> None:
    """The drift of many runs of one model, (b, n, d), dealt out among threads."""
    edges = np.linspace(0, len(x), min(threads, len(x)) + 1).astype(int)
    stop = np.zeros(1, dtype=np.uint8)
    copies = [system._replace(x=system.x.copy(), work=system.work.copy()) for _ in edges[1:]]
    ranges = neighbours(int(edge) for edge in edges)
    share([partial(pairwise_many, own, x, velocity, *ends, stop) for own, ends in zip(copies, ranges, strict=True)], threads)
