"""Runs with lambda_max < 0 and their Lyapunov exponents, token by token, in two halves of a window; and where
their tokens are."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.clouds.drawn import Draw, dominant_space, drawn_model
from nucleate.papers.open_questions.clouds.late_runs import late_cost, run_late

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = [
    "again_seeds",
    "one_parting",
    "one_run",
    "picked",
    "run",
    "table",
]

RUNS_PER_BLOCK = 96  # computed and stored at a time
PARTING, PARTING_FRAMES = 1e-8, 8  # how near two runs begin, and how often they are looked at
ANOTHER_START = 20_000  # added to the first seed: the first of the starts of a V that was picked
FRAMES = 256  # of the window, looked at for where tokens are


def one_run(t: float, since: float, tol: float, draw: Draw, start: int | None = None) -> dict[str, Any]:
    """Exponents of every token in the first and the second half of the window, the sum of those of each, and
    where tokens are, on average over the window; with another start than that of the seed if one is given."""
    from nucleate.attention import Attention
    from nucleate.integrate.lyapunov import lyapunov
    from nucleate.sphere import uniform

    Q, K, V = drawn_model(draw.kind, draw.d, draw.seed)
    x = uniform(draw.n, draw.d, draw.seed if start is None else start)  # (n, d)
    found = lyapunov(Attention(draw.beta, Q, K, V), x, t, since=since, tol=tol)
    assert found.status == "done", f"{draw}: {found.status}"
    tau, begin = found.t[0], int(np.searchsorted(found.t, since, side="right"))
    growth = found.growth[begin:] / tau  # (m, n, p)
    half = len(growth) // 2
    L = dominant_space(V)  # (d, dim L)
    x = found.x[begin :: max(1, len(growth) // FRAMES)] @ L  # (frames, n, dim L)
    in_L = (x**2).sum(-1)  # (frames, n)
    y = x / np.sqrt(np.maximum(in_L, 1e-300))[..., None]  # (frames, n, dim L)
    second = np.einsum("fna,fnb->fab", y, y) / draw.n  # (frames, dim L, dim L)
    n, dims = draw.n, L.shape[1]
    spread = n * ((second**2).sum((1, 2)) - 1.0 / dims) / max(1.0 - 1.0 / dims, 1e-9)  # (frames,)
    return {
        "first": growth[:half, :, 0].mean(0),  # (n,) of the first tangent vector: the largest
        "second": growth[half:, :, 0].mean(0),  # (n,)
        "sum": growth.sum(-1).mean(0),  # (n,)
        "in_L": np.float64(in_L.mean()),
        "dim_L": np.float64(dims),
        "mean_square": np.float64(n * (y.mean(1) ** 2).sum(-1).mean()),  # 1 for independent uniform tokens
        "spread": np.float64(spread.mean() if dims > 1 else np.nan),  # likewise
        "complex": np.float64(draw.kind in ("general", "all") and dims == 2),
        "moving": np.abs(np.diff(found.x[-3:], axis=0)).max((0, 2)),  # (n,) at the end
        "steps": np.float64(found.steps),
    }


def one_parting(since: float, time: float, draw: Draw, token: int) -> dict[str, Any]:
    """From the tokens at `since` on: the logarithm of the growth of a change of one token, by the tangent
    flow and between two simulations that differ by PARTING in that token, which know nothing of it."""
    from nucleate.attention import Attention
    from nucleate.integrate.lyapunov import lyapunov, tangent_frames
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import retract, uniform

    model = Attention(draw.beta, *drawn_model(draw.kind, draw.d, draw.seed))
    x = lyapunov(model, uniform(draw.n, draw.d, draw.seed), since, tol=1e-5).x[-1]  # (n, d)
    moved = x.copy()
    moved[token] = retract(x[token] + PARTING * tangent_frames(x)[token, 0])
    found = lyapunov(model, x, time, tol=1e-8)
    at = np.linspace(0, len(found.t) - 1, PARTING_FRAMES).astype(int)  # of the times at which both are known
    times = np.append(0.0, found.t[at])
    two = [
        uninterrupted(simulate(model, one, time, save=times, rtol=1e-10, atol=1e-12, threads=1)).x
        for one in (x, moved)
    ]  # (frames, n, d) each
    apart = np.linalg.norm(two[1][:, token] - two[0][:, token], axis=-1)  # (frames,)
    return {
        "simulated": np.log(apart[1:] / apart[0]),
        "tangent": np.cumsum(found.growth[:, token, 0])[at],
    }


def _partings(p: Any, data: "Data") -> "Dataset":
    """The runs of general V on spheres with the largest exponents in the first half of the window."""
    import xarray

    draws, first = table(p, "spheres"), data["spheres"]["first"].values  # (runs, n)
    general = [i for i, draw in enumerate(draws) if draw.kind == "general"]
    chosen = sorted(general, key=lambda i: -float(first[i].max()))[: p["partings"]]
    found = in_threads(
        lambda i: one_parting(p["since"], p["parting_time"], draws[i], int(first[i].argmax())), chosen
    )
    return xarray.Dataset(
        {name: (("run", "time"), np.stack([one[name] for one in found])) for name in found[0]}
    )


def picked(p: Any, data: "Data") -> list[Draw]:
    """The runs of general V, no two of one V, with a token whose exponent was largest in both halves of the
    window."""
    scored = []
    for name in ("spheres", "eight", "long"):
        first, second = (data[name][half].values for half in ("first", "second"))  # (runs, n)
        score = np.minimum(first, second).max(1)  # (runs,)
        scored += [(float(one), draw) for one, draw in zip(score, table(p, name), strict=True)]
    best: dict[tuple[int, int], Draw] = {}
    for _, draw in sorted((one for one in scored if one[1].kind == "general"), key=lambda one: -one[0]):
        best.setdefault((draw.seed, draw.d), draw)
    return list(best.values())[: p["again"]["picked"]]


def again_seeds(p: Any) -> range:
    """Of the other starts from which a V that was picked is followed."""
    first = int(p["first_seed"]) + ANOTHER_START
    return range(first, first + int(p["again"]["starts"]))


def _again(p: Any, draw: Draw) -> "Dataset":
    """The exponents of one V from other starts."""
    import xarray

    one = draw._replace(n=p["again"]["n"])
    found = in_threads(partial(one_run, p["t"], p["since"], p["tol"], one), again_seeds(p))
    return xarray.Dataset(
        {name: (("run", "token"), np.stack([one[name] for one in found])) for name in ("first", "second")}
    )


def table(p: Any, name: str) -> list[Draw]:
    """The runs of one set of cells, seed after seed."""
    cells = p["sets"][name]
    return [
        Draw(kind, int(d), float(beta), int(n), p["first_seed"] + seed)
        for seed in range(max(2, round(p["share"] * cells["draws"])))
        for kind in cells["kinds"]
        for d, n in cells["d_n"]
        for beta in cells["betas"]
    ]


def _block(p: Any, draws: list[Draw], numbers: range) -> "Dataset":
    import xarray

    found = in_threads(partial(one_run, p["t"], p["since"], p["tol"]), [draws[i] for i in numbers])
    return xarray.Dataset(
        {
            name: (("run", *(("token",) * found[0][name].ndim)), np.stack([one[name] for one in found]))
            for name in found[0]
        }
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Every set of cells, some runs at a time."""
    p = workspace.parameters
    data: dict[str, Dataset] = {}
    every = {name: table(p, name) for name in p["sets"]}
    costs = [p["t"] * sum(one.n**2 * one.d for one in draws) for draws in every.values()]
    cost = np.cumsum([0.0, late_cost(p), *costs])
    data |= run_late(workspace, lambda done, total: workspace.progress(done / total * cost[1], cost[-1]))
    for i, (name, draws) in enumerate(every.items()):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i + 1] + done / total * (cost[i + 2] - cost[i + 1]), cost[-1])

        work = partial(_block, p, draws)
        data[name] = workspace.blocks(name, len(draws), RUNS_PER_BLOCK, work, "run", progress)
    for i, draw in enumerate(picked(p, data)):
        data[f"again{i}"] = workspace.dataset(f"again{i}", partial(_again, p, draw))
    data["partings"] = workspace.dataset("partings", lambda: _partings(p, data))
    return data
