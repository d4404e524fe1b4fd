"""Runs that end at one point: V = I with random Q and K, windows, Q and K that change with time; and how
small pushes decay there."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

__all__ = ["changing", "decays", "gathered", "spectrum"]

BLOCK = 50  # runs that are computed and kept at a time
FRAMES = 61
PUSH = 1e-3  # of a token that stands at the common point
DECAY = (4.0, 14.0)  # when the decay of a push is fitted: after second-order effects, before rounding
# the start near one point, and when the slowest decay has outlived the others
SPREAD, LATE = 0.3, (36.0, 50.0)


def scores(d: int, seed: int, runs: range, piece: int = 0) -> tuple[Array, Array]:
    """Q and K (b, d, d) with entries N(0, 1/d), each run from streams of its own."""
    from nucleate.studies.points import stream

    child = () if piece == 0 else (piece,)
    Q, K = (
        np.stack(
            [
                np.random.default_rng(stream(seed, run, i, *child)).standard_normal((d, d)) / np.sqrt(d)
                for run in runs
            ]
        )
        for i in (1, 2)
    )
    return Q, K


def end_time(beta: float, Q: Array, K: Array, n: int) -> float:
    """100 n e^{2 beta |K^T Q|}: no weight is smaller than e^{-2 beta |K^T Q|} times another."""
    norm = float(np.linalg.norm(K.mT @ Q, 2, axis=(-2, -1)).max())
    return float(100.0 * n * np.exp(2.0 * beta * norm))


def gathered(
    desk: "Desk", name: str, d: int, n: int, beta: float, window: int | None, seed: int, count: int
) -> "Dataset":
    """All runs of one case, block by block from the disk or computed now."""
    import xarray

    blocks = [range(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK)]
    parts = [
        desk.dataset(f"{name}-{runs[0]:04d}", partial(_block, d, n, beta, window, seed, runs))
        for runs in blocks
    ]
    return xarray.concat([part.drop_attrs() for part in parts], "run")


def _block(d: int, n: int, beta: float, window: int | None, seed: int, runs: range) -> "Dataset":
    """How far the farthest token is from where the first began, at times spaced by logarithm up to the
    end."""
    import xarray

    from nucleate.kernels.threads import pick_threads
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    Q, K = scores(d, seed, runs)
    start = np.stack([uniform(n, d, stream(seed, run)) for run in runs])  # (b, n, d)
    stop = [False]
    follow = partial(_one, beta, window, stop)
    with ThreadPoolExecutor(min(pick_threads(None), len(runs))) as pool:
        futures = [pool.submit(follow, Q[i], K[i], start[i]) for i in range(len(runs))]
        try:
            found = [future.result() for future in futures]
        except BaseException:
            stop[0] = True
            raise
    apart, ends, done = (np.array(column) for column in zip(*found, strict=True))
    return xarray.Dataset(
        {"apart": (("run", "share"), apart), "end": ("run", ends), "done": ("run", done.astype(np.int8))},
        {"share": np.linspace(0.0, 1.0, FRAMES), "run": np.array(runs)},
    )


def _one(
    beta: float, window: int | None, stop: list[bool], Q: Array, K: Array, start: Array
) -> tuple[Array, float, bool]:
    """One run to its own end: the distance of the farthest token over time (frames,), the end, and whether it
    was reached."""
    from nucleate.attention import Attention, Window
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished

    n, d = start.shape
    end = end_time(beta, Q, K, n) * (n if window else 1)  # with a window, one token after the other
    times = 0.1 * (end / 0.1) ** np.linspace(0.0, 1.0, FRAMES)
    times[-1] = end
    model = Attention(beta, Q=Q, K=K, mask="causal" if window is None else Window(window))
    run = finished(
        simulate(model, start, end, save=times, progress=lambda done, total: not stop[0], threads=1)
    )
    x = np.full((FRAMES, n, d), np.nan)
    x[: len(run.x)] = run.x
    return np.linalg.norm(x - start[0], axis=-1).max(-1), end, run.status == "done"


def changing(d: int, n: int, beta: float, pieces: int, seed: int, count: int) -> "Dataset":
    """Q and K drawn anew at t = 1, 2, 4, 8, ...: how far the farthest token is from where the first began,
    before every change."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    start = x = np.stack([uniform(n, d, stream(seed, run)) for run in range(count)])  # (b, n, d)
    apart = []
    for piece in range(pieces):
        Q, K = scores(d, seed, range(count), piece + 1)
        long = float(2.0 ** max(piece - 1, 0))
        x = finished(simulate(Attention(beta, Q=Q, K=K), x, long, save=[long])).x[:, -1]
        apart.append(np.linalg.norm(x - start[:, :1], axis=-1).max(-1))  # (b,)
    return xarray.Dataset(
        {"apart": (("run", "piece"), np.stack(apart, axis=1))}, {"time": ("piece", 2.0 ** np.arange(pieces))}
    )


def decays(d: int, n: int, beta: float, window: int | None, seed: int) -> "Dataset":
    """All tokens at one point but token k, pushed a little, for k = 2 .. n: the rate with which it comes
    back, fitted; and the slowest of all."""
    import xarray

    from nucleate.attention import Attention, Window
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import retract, uniform
    from nucleate.studies.points import stream

    Q, K = scores(d, seed, range(1))
    model = Attention(beta, Q=Q[0], K=K[0], mask="causal" if window is None else Window(window))
    point = uniform(1, d, seed)[0]
    rng = np.random.default_rng(stream(seed, 0, 9))
    x = np.broadcast_to(point, (n - 1, n, d)).copy()
    k = np.arange(1, n)
    x[k - 1, k] = retract(point + PUSH * _across(rng.standard_normal((n - 1, d)), point))
    times = np.linspace(*DECAY, 21)
    run = finished(simulate(model, x, DECAY[1], save=times, rtol=1e-12, atol=1e-14, method="explicit"))
    apart = np.linalg.norm(run.x[k - 1, :, k] - point, axis=-1)  # (n-1, times)
    near = retract(point + SPREAD * _across(rng.standard_normal((n, d)), point) / np.sqrt(d))
    near[0] = point
    late = np.linspace(0.0, LATE[1], 161)
    wide = finished(
        simulate(model, near, LATE[1], save=late, rtol=1e-12, atol=1e-14, method="explicit")
    ).x  # (times, n, d)
    return xarray.Dataset(
        {
            "rate": ("k", np.polyfit(times, np.log(apart).T, 1)[0]),
            "widest": ("time", np.linalg.norm(wide - point, axis=-1).max(-1)),
        },
        {"k": k + 1, "time": late},
    )


def _across(v: Array, point: Array) -> Array:
    """The parts of v (..., d) tangent at `point`."""
    return np.asarray(v - (v @ point)[..., None] * point)


def spectrum(d: int, n: int, beta: float, window: int | None, seed: int) -> "Dataset":
    """The derivative of the velocity at one common point, by formula and by differences of the velocity: its
    rates token by token, and the rest " "of it."""
    import xarray

    from nucleate.attention import Attention, Window
    from nucleate.papers.causal_clustering.shared.linearisation import diagonal, differences, jacobian
    from nucleate.sphere import uniform

    Q, K = scores(d, seed, range(1))
    model: Attention = Attention(beta, Q=Q[0], K=K[0], mask="causal" if window is None else Window(window))
    x = np.repeat(uniform(1, d, seed), n, axis=0)
    tables: dict[str, Any] = {}
    for name, J in (("formula", jacobian(model, x)), ("differences", differences(model, x))):
        rates = diagonal(J)
        later = [np.abs(J[k, :, k + 1 :]).max(initial=0.0) for k in range(n)]
        tables |= {
            f"{name}_rates": (("token", "axis"), np.sort(rates.real, axis=1)),
            f"{name}_turning": np.abs(rates.imag).max(),
            f"{name}_later": max(later),
        }
    return xarray.Dataset(tables)
