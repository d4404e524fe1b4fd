"""The equation, compiled: `drift` with the kernel that suits the size.  Every kernel is tested against `nucleate.attention.drift`."""

from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from nucleate import attention
from nucleate.attention import Attention
from nucleate.checks import Array, check_memory
from nucleate.kernels.choose import TEAM_FROM, Kernel, System, Team, check_kernel, choose_kernel, make_system, pick_threads, sweep, work_of
from nucleate.kernels.circle import Circle
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
    velocity = np.stack([_one_drift(make_system(model, n, d, run, chosen), x_run, workers) for run, x_run in enumerate(batch)])
    return velocity if x.ndim == 3 else velocity[0]


def _one_drift(system: System, x: Array, threads: int) -> Array:
    """The drift of one run (n, d): put the tokens where the kernel wants them, sweep, and unpack."""
    n, d = x.shape
    if isinstance(system, Tiles):
        system.x[system.m :] = x
    else:
        pair = system.pair if isinstance(system, Circle) else system
        pair.x[:, pair.m : pair.m + n] = x.T
    velocity = np.zeros(n * (1 if d == 2 else d) + 8)
    worker = Team(system, threads) if threads > 1 and work_of(system) > TEAM_FROM else system
    with threadpool_limits(1, user_api="blas") if isinstance(system, Tiles) else nullcontext():
        sweep(worker, velocity, np.zeros(1, dtype=np.uint8))
    if d == 2:
        return np.stack([-x[:, 1], x[:, 0]], axis=1) * velocity[:n, None]
    return velocity[:-8].reshape(n, d)
