"""Runs of many tokens, judged by the mean exponent of their late tokens; and how late tokens lie in L.

The first m tokens of a run are a run of m tokens, so that one run tells of fewer tokens too.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.clouds.drawn import Draw, dominant_space, drawn_model

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = [
    "BINS",
    "cannot_be_chaotic",
    "chaotic",
    "late_again_seeds",
    "late_cost",
    "late_halves",
    "late_limit",
    "late_picked",
    "late_table",
    "limit_above",
    "one_late",
    "overlap_distance",
    "overlap_ranks",
    "run_late",
]

RUNS_PER_BLOCK = 16  # computed and stored at a time
ANOTHER_START = 20_000  # added to the first seed: the first of the other starts
FRAMES = 32  # of the window, looked at for how tokens lie
BINS = 40  # of equal share under the uniform law


def late_table(p: Any) -> list[Draw]:
    """The runs, cell after cell; the first cell is the one that others are compared with."""
    late = p["late"]
    return [
        Draw(kind, int(d), float(beta), int(late["n"][-1]), int(late["first_seed"]) + seed)
        for kind, d, beta, draws in late["cells"]
        for seed in range(int(draws))
    ]


def late_again_seeds(p: Any) -> range:
    """Of the other starts of the V that was picked."""
    first = int(p["late"]["first_seed"]) + ANOTHER_START
    return range(first, first + int(p["late"]["again"]["starts"]))


def late_cost(p: Any) -> float:
    """Of all runs, in tokens² times dimensions times time."""
    late = p["late"]
    n, d = int(late["n"][-1]), int(late["cells"][0][1])
    again = late["again"]["starts"] * late["again"]["t"] * d
    return float(n**2 * (again + late["t"] * sum(draw.d for draw in late_table(p))))


def overlap_ranks(overlaps: Array, dim: int) -> Array:
    """The share of pairs of independent uniform tokens in `dim` ≥ 2 dimensions with a smaller inner
    product."""
    from scipy.special import betainc

    half = (dim - 1) / 2.0  # (1 + inner product) / 2 has the law Beta(half, half)
    return np.asarray(betainc(half, half, np.clip((1.0 + overlaps) / 2.0, 0.0, 1.0)))


def _bin_shares(ranks: Array) -> Array:
    return np.asarray(np.histogram(ranks, BINS, (0.0, 1.0))[0] / ranks.size)  # (BINS,)


def _apart(shares: Array) -> float:
    """Kolmogorov's distance from the uniform law, at the ends of the bins."""
    return float(np.abs(np.cumsum(shares) - np.arange(1, BINS + 1) / BINS).max())


def overlap_distance(y: Array) -> float:
    """Kolmogorov's distance of the law of the inner products of all pairs of the unit vectors y (m, dim) from
    that of independent uniform ones."""
    pairs = np.triu_indices(len(y), 1)
    return _apart(_bin_shares(overlap_ranks((y @ y.T)[pairs], y.shape[1])))


def _overlaps(y: Array) -> dict[str, Any]:
    """How the unit vectors y (frames, m, dim) lie, pairs at one time and pairs of different tokens at times
    half of the frames apart; nothing for dim = 1, where inner products are 1 and -1."""
    m, dim = y.shape[1:]
    nothing, none = np.full(BINS, np.nan), np.float64(np.nan)
    if dim < 2:
        return {"one_time": nothing, "two_times": nothing, "apart": none, "two_times_apart": none}
    pairs, others, half = np.triu_indices(m, 1), ~np.eye(m, dtype=bool), len(y) // 2
    at_one = overlap_ranks(np.stack([(one @ one.T)[pairs] for one in y]), dim)  # (frames, pairs)
    at_two = np.stack([(y[i] @ y[i + half].T)[others] for i in range(half)])  # (half, pairs)
    shares = _bin_shares(overlap_ranks(at_two, dim))
    return {
        "one_time": _bin_shares(at_one),
        "two_times": shares,
        "apart": np.float64(np.mean([_apart(_bin_shares(one)) for one in at_one])),
        "two_times_apart": np.float64(_apart(shares)),
    }


def one_late(t: float, since: float, tol: float, draw: Draw, start: int | None = None) -> dict[str, Any]:
    """Exponents of every token in the two halves of the window, and how the second half of the tokens lies in
    L; with another start than that of the seed if one is given."""
    from nucleate.attention import Attention
    from nucleate.integrate.lyapunov import lyapunov
    from nucleate.sphere import uniform

    Q, K, V = drawn_model(draw.kind, draw.d, draw.seed)
    x = uniform(draw.n, draw.d, draw.seed if start is None else start)  # (n, d)
    found = lyapunov(Attention(draw.beta, Q, K, V), x, t, since=since, tol=tol)
    assert found.status == "done", f"{draw}: {found.status}"
    tau, begin = found.t[0], int(np.searchsorted(found.t, since, side="right"))
    growth = found.growth[begin:, :, 0] / tau  # (m, n) of the first tangent vector: the largest
    half = len(growth) // 2
    at = np.linspace(begin, len(found.t) - 1, FRAMES).astype(int)
    y = found.x[at, draw.n // 2 :] @ dominant_space(V)  # (frames, n / 2, dim L)
    y = y / np.maximum(np.linalg.norm(y, axis=-1, keepdims=True), 1e-150)
    return {
        "first": growth[:half].mean(0),  # (n,)
        "second": growth[half:].mean(0),  # (n,)
        "dim_L": np.float64(y.shape[-1]),
        **_overlaps(y),
    }


def late_halves(found: "Dataset", m: int) -> Array:
    """The mean exponent of the second half of the first m tokens, in both halves of the window, (runs, 2)."""
    return np.stack([found[half].values[:, m // 2 : m].mean(1) for half in ("first", "second")], axis=1)


def limit_above(nulls: Array, since: float, half: float) -> float:
    """Above which late exponents are taken for chaos, from those of runs that cannot be chaotic (runs, 2):
    the largest of these in both halves of the window, or 0, and a margin: by how much their halves differ,
    and at least the rate at which ln t grows in the first half, as tangent vectors do that grow like t."""
    margin = float(np.sqrt(np.mean((nulls[:, 0] - nulls[:, 1]) ** 2)))
    return max(0.0, float(nulls.min(1).max())) + max(margin, float(np.log1p(half / since)) / half)


def cannot_be_chaotic(draw: Draw) -> bool:
    """On the circle, and with V = -I."""
    return draw.d == 2 or draw.kind == "gradient"


def late_limit(p: Any, found: "Dataset", m: int) -> float:
    """The limit for the first m tokens."""
    nulls = np.array([cannot_be_chaotic(draw) for draw in late_table(p)])
    late = p["late"]
    return limit_above(late_halves(found, m)[nulls], late["since"], (late["t"] - late["since"]) / 2.0)


def chaotic(p: Any, found: "Dataset", m: int) -> NDArray[np.bool_]:
    """Which runs have late exponents above the limit in both halves of the window, (runs,)."""
    return np.asarray(late_halves(found, m).min(1) > late_limit(p, found, m))


def late_picked(p: Any, found: "Dataset") -> Draw:
    """The first run of the first cell that is chaotic; if none is, that with the largest late exponent."""
    draws, m = late_table(p), int(p["late"]["n"][-1])
    of_cell = int(p["late"]["cells"][0][3])
    those = np.flatnonzero(chaotic(p, found, m)[:of_cell])
    return draws[int(those[0]) if len(those) else int(late_halves(found, m)[:of_cell].min(1).argmax())]


def _stacked(found: list[dict[str, Any]]) -> "Dataset":
    import xarray

    dims = {"first": ("token",), "second": ("token",), "one_time": ("bin",), "two_times": ("bin",)}
    return xarray.Dataset(
        {name: (("run", *dims.get(name, ())), np.stack([one[name] for one in found])) for name in found[0]}
    )


def _block(p: Any, numbers: range) -> "Dataset":
    late, draws = p["late"], late_table(p)
    work = partial(one_late, late["t"], late["since"], late["tol"])
    return _stacked(in_threads(work, [draws[i] for i in numbers]))


def _again(p: Any, draw: Draw) -> "Dataset":
    late = p["late"]
    work = partial(one_late, late["again"]["t"], late["again"]["since"], late["tol"], draw)
    return _stacked(in_threads(work, late_again_seeds(p)))


def run_late(workspace: "ItemWorkspace", progress: Callable[[float, float], object]) -> "dict[str, Dataset]":
    """All cells, and the V that is picked from other starts."""
    p = workspace.parameters
    draws = late_table(p)
    found = workspace.blocks("late", len(draws), RUNS_PER_BLOCK, partial(_block, p), "run", progress)
    picked = late_picked(p, found)
    return {"late": found, "late_again": workspace.dataset("late_again", partial(_again, p, picked))}
