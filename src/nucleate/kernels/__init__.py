"""The equation, compiled: `drift` with the kernel that suits the size.  Every kernel is tested against
`nucleate.attention.drift`."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from nucleate import attention
from nucleate.attention import Attention, Window, check_model
from nucleate.checks import ROUNDING, Array, check_memory, check_tokens
from nucleate.kernels.circle import TOLERANCE, Circle
from nucleate.kernels.circle_batch import lanes_drift, lanes_enter, lanes_suffice, lanes_system
from nucleate.kernels.dispatch import (
    TEAM_FROM,
    Kernel,
    Team,
    check_kernel,
    choose_kernel,
    few_pairs,
    make_system,
    suits_lanes,
    sweep,
    work_of,
)
from nucleate.kernels.pairwise import Pairwise, pairwise_many, pairwise_system
from nucleate.kernels.pairwise_batch import side_by_side
from nucleate.kernels.simd import LANES
from nucleate.kernels.threads import Stop, interruptible, pick_threads, share
from nucleate.kernels.tiles import Tiles

__all__ = ["drift"]

T = TypeVar("T")
TOLERANCES = np.array([TOLERANCE])
TOO_FAR = math.nextafter(ROUNDING, 1.0)  # from 1, for a squared length
LONG = 1e8  # pairs, times d, from which a drift takes so long that Ctrl-C must reach it


def drift(model: Attention, x: ArrayLike, kernel: Kernel = "auto", threads: int | None = None) -> Array:
    """The velocity of every token: x (n, d) or (b, n, d) on the sphere -> the same shape, tangent at x.

    kernel: "reference" is the equation in NumPy, with an n x n array; "pairwise" sums over pairs, any d,
    memory O(n d); "circle" is linear in n, d = 2 only; "auto" takes the fastest that is accurate.
    """
    x = check_model(model).check(x, lengths=False)
    n, d = x.shape[-2:]
    check_kernel(kernel, d)
    workers = pick_threads(threads)
    many = x.ndim == 3 and len(x) > 1 and model.runs is None
    scale = _plain_scale(model, d) if many and d <= 3 else None
    pairs = kernel == "pairwise" or (
        kernel == "auto" and (d != 2 or (scale is not None and few_pairs(model, n)))
    )
    if scale is not None and pairs:
        velocity = np.empty_like(x)
        if not _attended(
            partial(_side_by_side, model, scale, x, velocity, TOO_FAR, workers), x
        ):  # a token is off the sphere: refused, or put onto it
            _attended(
                partial(_side_by_side, model, scale, check_tokens("x", x), velocity, math.inf, workers), x
            )
        return velocity
    x = check_tokens("x", x)
    if x.ndim == 2 and model.runs is not None:
        x = np.broadcast_to(x, (model.runs, n, d))
    if kernel == "reference":
        check_memory(8.0 * 4 * n * x.size / d, "the n x n weights of the reference kernel")
        return attention.drift(model, x)
    batch = x if x.ndim == 3 else x[None]
    velocity = np.empty_like(batch)

    def work(stop: Stop) -> None:
        if many and pairs:
            _many(model, batch, velocity, workers, stop)
        elif (
            many
            and kernel == "auto"
            and suits_lanes(model, d).all()
            and lanes_suffice(model.beta[None], TOLERANCES).all()
        ):
            _laned(model, batch, velocity, workers, stop)
        else:
            _one_by_one(model, kernel, batch, velocity, workers, stop)

    _attended(work, batch)
    return velocity if x.ndim == 3 else velocity[0]


def _attended(work: Callable[[Stop], T], x: Array) -> T:
    """work(stop), so that Ctrl-C reaches it where it takes long."""
    if float(x.shape[-2]) * x.size < LONG:
        return work(np.zeros(1, dtype=np.uint8))
    return interruptible(work)


def _one_by_one(
    model: Attention,
    kernel: Literal["auto", "pairwise", "circle"],
    x: Array,
    velocity: Array,
    threads: int,
    stop: Stop,
) -> None:
    """The drift of each run: put the tokens where the kernel wants them, sweep with all threads, and
    unpack."""
    b, n, d = x.shape
    for run in range(b):
        if run == 0 or model.runs is not None:
            system = make_system(
                model, n, d, run, choose_kernel(model, n, d, run) if kernel == "auto" else kernel, angle=False
            )
            worker = Team(system, threads) if threads > 1 and work_of(system) > TEAM_FROM else system
        tokens = system.x[system.m :].T if isinstance(system, Tiles) else _columns(system)
        tokens[:] = x[run].T
        flat = np.zeros(n * d + 8)
        with threadpool_limits(1, user_api="blas") if isinstance(system, Tiles) else nullcontext():
            sweep(worker, flat, stop)
        if isinstance(system, Circle):
            np.multiply(x[run, :, 1], -flat[:n], out=velocity[run, :, 0])
            np.multiply(x[run, :, 0], flat[:n], out=velocity[run, :, 1])
        else:
            velocity[run] = flat[: n * d].reshape(n, d)


def _columns(system: Pairwise | Circle) -> Array:
    """Where the tokens stand, (d, n)."""
    pair = system.pair if isinstance(system, Circle) else system
    return pair.x[:, pair.m : pair.m + pair.n]


def _many(model: Attention, x: Array, velocity: Array, threads: int, stop: Stop) -> None:
    """The drift of many runs of one model, pair by pair; every thread takes the next run until none is
    left."""
    system, x, queue = pairwise_system(model, *x.shape[1:]), _writable(x), np.zeros(1, dtype=np.int64)
    own = [system._replace(x=system.x.copy(), work=system.work.copy()) for _ in range(min(threads, len(x)))]
    share([partial(pairwise_many, queue, one, x, velocity, stop) for one in own])


def _side_by_side(
    model: Attention, scale: float, x: Array, velocity: Array, too_far: float, threads: int, stop: Stop
) -> bool:
    """The same where V = scale I, d = 2 or 3, eight runs at a time; False as soon as a squared length is
    found `too_far` from 1."""
    b, n, d = x.shape
    scratch = np.empty((min(threads, -(-b // LANES)), 2, n, d, LANES))
    queue, x, beta, full = np.zeros(1, dtype=np.int64), _writable(x), float(model.beta), model.mask == "full"
    return all(
        share(
            [
                partial(side_by_side, queue, x, velocity, beta, scale, full, too_far, own, stop)
                for own in scratch
            ]
        )
    )


def _writable(x: Array) -> Array:
    return x if x.flags.writeable else x.copy()  # read-only is another type to Numba


def _plain_scale(model: Attention, d: int) -> float | None:
    """c where K^T Q = I, V = c I, no window and no frozen tokens, else None."""
    if model.frozen is not None or isinstance(model.mask, Window):
        return None
    if not (model.Q is None and model.K is None):
        _, Q, K, _ = model.parameters(d)
        if not (K.mT @ Q == np.eye(d)).all():
            return None
    if model.V is None:
        return 1.0
    return float(model.V[0, 0]) if (model.V == model.V[0, 0] * np.eye(d)).all() else None


def _laned(model: Attention, x: Array, velocity: Array, threads: int, stop: Stop) -> None:
    """The drift of many runs on the circle, eight at a time by modes."""
    b, n, _ = x.shape
    angle = np.arctan2(x[..., 1], x[..., 0])  # (b, n)
    turn = np.empty((b, n))
    systems = [lanes_system(model, n, TOLERANCES) for _ in range(min(threads, -(-b // LANES)))]

    def work(which: int) -> None:
        flat, out = np.zeros(n * LANES), np.zeros(n * LANES)
        for start in range(which * LANES, b, len(systems) * LANES):
            count = min(LANES, b - start)
            flat.reshape(n, LANES)[:, :count] = angle[start : start + count].T
            for at in range(count):
                lanes_enter(systems[which], at, start + at)
            lanes_drift(systems[which], flat, out, stop)
            turn[start : start + count] = out.reshape(n, LANES)[:, :count].T

    share([partial(work, which) for which in range(len(systems))])
    np.multiply(x[..., 1], -turn, out=velocity[..., 0])
    np.multiply(x[..., 0], turn, out=velocity[..., 1])
