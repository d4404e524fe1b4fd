"""Runs that end at one point: V = I with random Q and K, windows, Q and K that change with time; and how
small perturbations decay there."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import all_in_threads, in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["SLOWEST_DECAY_TIMES", "cases_of", "end_time", "rate_cases", "run", "scores"]

RUNS_PER_BLOCK = 50  # computed and stored at a time
FRAMES = 61
PERTURBATION = 1e-3  # of a token at the common point, over max(1, beta |K^T Q|), on which weights change
# over which the decay of a perturbation is fitted: after second-order effects, before rounding
DECAY_TIMES = (2.0, 8.0)
DECAYING_TOKENS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # k, as far as there are tokens
SLOWEST_DECAY_TIMES = (36.0, 50.0)  # over which the slowest is fitted: the others have died out
# of the start near one point from which the slowest decay is followed, over max(1, beta |K^T Q|)
START_SPREAD = 0.3
# tokens of that start: in the mode with rate (m - 1)/m token k moves like k^(m-1), so that with many tokens
# the slowest mode takes long to outlast the next
SLOWEST_DECAY_TOKENS = 16
DIFFERENCE_STEP = (
    1e-6  # of derivatives by differences: between rounding and (beta |K^T Q|)^2 times its square
)


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


def _block(d: int, n: int, beta: float, window: int | None, seed: int, runs: range) -> "Dataset":
    """How far the farthest token is from where the first began, at times spaced by logarithm up to the
    end."""
    import xarray

    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    Q, K = scores(d, seed, runs)
    start = np.stack([uniform(n, d, stream(seed, run)) for run in runs])  # (b, n, d)
    stop = [False]
    found = in_threads(lambda i: _to_end(beta, window, stop, Q[i], K[i], start[i]), range(len(runs)), stop)
    apart, ends, done = (np.array(column) for column in zip(*found, strict=True))
    return xarray.Dataset(
        {"apart": (("run", "share"), apart), "end": ("run", ends), "done": ("run", done.astype(np.int8))},
        {"share": np.linspace(0.0, 1.0, FRAMES), "run": np.array(runs)},
    )


def _to_end(
    beta: float, window: int | None, stop: list[bool], Q: Array, K: Array, start: Array
) -> tuple[Array, float, bool]:
    """One run to its own end: the distance of the farthest token over time (frames,), the end, and whether it
    was reached."""
    from nucleate.attention import Attention, Window
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    n, d = start.shape
    end = end_time(beta, Q, K, n) * (n if window else 1)  # with a window, one token after the other
    times = 0.1 * (end / 0.1) ** np.linspace(0.0, 1.0, FRAMES)
    times[-1] = end
    model = Attention(beta, Q=Q, K=K, mask="causal" if window is None else Window(window))
    run = uninterrupted(
        simulate(model, start, end, save=times, progress=lambda done, total: not stop[0], threads=1)
    )
    x = np.full((FRAMES, n, d), np.nan)
    x[: len(run.x)] = run.x
    return np.linalg.norm(x - start[0], axis=-1).max(-1), end, run.status == "done"


def changing_scores(d: int, n: int, beta: float, pieces: int, seed: int, count: int) -> "Dataset":
    """Q and K drawn anew at t = 1, 2, 4, 8, ...: how far the farthest token is from where the first began,
    before every change."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    start = x = uniform(n, d, seed, runs=count)  # (b, n, d)
    apart = []
    for piece in range(pieces):
        Q, K = scores(d, seed, range(count), piece + 1)
        duration = float(2.0 ** max(piece - 1, 0))
        x = uninterrupted(simulate(Attention(beta, Q=Q, K=K), x, duration, save=[duration])).x[:, -1]
        apart.append(np.linalg.norm(x - start[:, :1], axis=-1).max(-1))  # (b,)
    return xarray.Dataset(
        {"apart": (("run", "piece"), np.stack(apart, axis=1))}, {"time": ("piece", 2.0 ** np.arange(pieces))}
    )


def sharpness(beta: float, Q: Array, K: Array) -> float:
    """max(1, beta |K^T Q|): how fast weights change with a token's place."""
    return max(1.0, beta * float(np.linalg.norm(K.T @ Q, 2)))


def decays(d: int, n: int, beta: float, window: int | None, seed: int, draws: int) -> "Dataset":
    """All tokens at one point but token k, perturbed a little, for DECAYING_TOKENS: the rate with which it
    comes back, fitted; and the slowest of all; for several Q and K."""
    import xarray

    found = [_decay(d, n, beta, window, seed, draw) for draw in range(draws)]
    rate, widest = (np.stack(column) for column in zip(*found, strict=True))
    k = [k for k in DECAYING_TOKENS if k <= n]
    return xarray.Dataset(
        {"rate": (("draw", "k"), rate), "widest": (("draw", "time"), widest)},
        {"k": np.array(k), "time": np.linspace(0.0, SLOWEST_DECAY_TIMES[1], 161)},
    )


def _decay(d: int, n: int, beta: float, window: int | None, seed: int, draw: int) -> tuple[Array, Array]:
    """Rates (k,) and the distance of the farthest token (times,) for one Q and K."""
    from nucleate.attention import Attention, Window
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import retract, uniform
    from nucleate.studies.points import stream

    (Q,), (K,) = scores(d, seed, range(draw, draw + 1))
    model = Attention(beta, Q=Q, K=K, mask="causal" if window is None else Window(window))
    small = 1.0 / sharpness(beta, Q, K)
    point = uniform(1, d, stream(seed, draw, 8))[0]
    rng = np.random.default_rng(stream(seed, draw, 9))
    k = np.array([k - 1 for k in DECAYING_TOKENS if k <= n])
    x = np.broadcast_to(point, (len(k), n, d)).copy()
    along = _tangent_part(rng.standard_normal((len(k), d)), point)
    x[np.arange(len(k)), k] = retract(point + PERTURBATION * small * along)
    times = np.linspace(*DECAY_TIMES, 21)
    run = uninterrupted(
        simulate(model, x, DECAY_TIMES[1], save=times, rtol=1e-12, atol=1e-15, method="explicit")
    )
    apart = np.linalg.norm(run.x[np.arange(len(k)), :, k] - point, axis=-1)  # (k, times)
    few = _tangent_part(rng.standard_normal((min(n, SLOWEST_DECAY_TOKENS), d)), point)
    near = retract(point + START_SPREAD * small * few / np.sqrt(d))
    near[0] = point
    late = np.linspace(0.0, SLOWEST_DECAY_TIMES[1], 161)
    spread = uninterrupted(
        simulate(model, near, SLOWEST_DECAY_TIMES[1], save=late, rtol=1e-12, atol=1e-15, method="explicit")
    ).x  # (times, tokens, d)
    return np.polyfit(times, np.log(apart).T, 1)[0], np.linalg.norm(spread - point, axis=-1).max(-1)


def _tangent_part(v: Array, point: Array) -> Array:
    """The parts of v (..., d) tangent at `point`."""
    return np.asarray(v - (v @ point)[..., None] * point)


def spectra(d: int, n: int, beta: float, window: int | None, seed: int, draws: int) -> "Dataset":
    """The derivative of the velocity at one common point, by formula and by differences of the velocity: its
    eigenvalues token by token, and whether a token feels a later one; for several Q and K."""
    import xarray

    found = [_spectrum(d, n, beta, window, seed, draw) for draw in range(draws)]
    axes = {"rates": ("draw", "token", "axis")}
    return xarray.Dataset(
        {
            name: (axes.get(name.split("_")[1], ("draw",)), np.stack([one[name] for one in found]))
            for name in found[0]
        }
    )


def _spectrum(d: int, n: int, beta: float, window: int | None, seed: int, draw: int) -> dict[str, Any]:
    """For one Q and K."""
    from nucleate.attention import Attention, Window
    from nucleate.papers.causal_clustering.shared.linearisation import (
        causal_eigenvalues,
        jacobian,
        jacobian_by_differences,
    )
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    (Q,), (K,) = scores(d, seed, range(draw, draw + 1))
    model: Attention = Attention(beta, Q=Q, K=K, mask="causal" if window is None else Window(window))
    x = np.repeat(uniform(1, d, stream(seed, draw, 8)), n, axis=0)
    found: dict[str, Any] = {}
    for name, J in (
        ("formula", jacobian(model, x)),
        ("differences", jacobian_by_differences(model, x, DIFFERENCE_STEP)),
    ):
        rates = causal_eigenvalues(J)
        later = [np.abs(J[k, :, k + 1 :]).max(initial=0.0) for k in range(n)]
        found |= {
            f"{name}_rates": np.sort(rates.real, axis=1),
            f"{name}_imaginary": np.abs(rates.imag).max(),
            f"{name}_later": max(later),
        }
    return found


def cases_of(p: "Parameters") -> dict[str, tuple[int, float]]:
    """d and beta of every case, by name."""
    return {f"d{d}_beta{beta:g}": (d, beta) for d in p["d"] for beta in p["betas"]}


def rate_cases(p: "Parameters") -> dict[str, tuple[int, float, int | None]]:
    """d, beta and window of every case in which rates are looked at, by name."""
    causal = {f"d{d}_beta{beta:g}": (d, beta, None) for d in p["d"] for beta in p["rate_betas"]}
    w = p["windows"][-1]
    return {**causal, **{f"window{w}_beta{beta:g}": (3, beta, w) for beta in p["rate_betas"]}}


def run(workspace: "ItemWorkspace") -> "Data":
    """Every d and beta; windows; changing Q and K; decays and derivatives at the common point."""
    p = workspace.parameters
    n, seed = p["n"], p["seed"]
    jobs: dict[str, Callable[[], Dataset]] = {}
    for name, (d, beta) in cases_of(p).items():
        compute = partial(_block, d, n, beta, None, seed)
        jobs[name] = partial(workspace.blocks, name, p["runs"], RUNS_PER_BLOCK, compute)
    for w in p["windows"]:
        compute = partial(_block, 3, n, p["beyond_beta"], w, seed)
        jobs[f"window{w}"] = partial(
            workspace.blocks, f"window{w}", p["beyond_runs"], RUNS_PER_BLOCK, compute
        )
    jobs["changing"] = partial(
        workspace.dataset,
        "changing",
        partial(changing_scores, 3, n, p["beyond_beta"], p["pieces"], seed, p["beyond_runs"]),
    )
    for name, (d, beta, window) in rate_cases(p).items():
        for kind, compute_one in (("decay", decays), ("spectrum", spectra)):
            jobs[f"{kind}_{name}"] = partial(
                workspace.dataset,
                f"{kind}_{name}",
                partial(compute_one, d, n, beta, window, seed, p["draws"]),
            )
    return all_in_threads(jobs, workspace.progress)
