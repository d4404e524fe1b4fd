"""Where tokens end with every ingredient, how near to the first token, to where another token would have gone
were it the first, and, under the full mask, to where the first would have gone."""

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.sink_survival.ingredients import INGREDIENTS

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["KINDS", "overlaps", "run", "starts_of"]

STARTS_PER_BLOCK = 2  # computed and stored at a time
KINDS = (
    "first",
    "other",
    "full",
    "start",
)  # overlaps with x_1(t), y_j(t), y_1(t) under the full mask, x_1(0)
NOISE_DT = 0.05
OTHER_NOISE = 10**6  # added to the seed: noise that two tokens share would bring them together
RTOL = 1e-6  # who wins does not hang on more
# seconds of one core for a start and a strength at one beta, measured, for the progress shown
SECONDS = {"mlp": 0.1, "heads": 0.1, "layers": 0.1, "noise": 0.055}


def overlaps(
    ingredient: str,
    strength: float,
    beta: float,
    size: tuple[int, int],
    times: list[float],
    full: bool,
    start: int,
) -> Array:
    """Cosines of tokens 2, ..., n with four places at the given times, (times, 4, n - 1), in the order of
    KINDS; without `full` those of the full mask are NaN."""
    from nucleate.sphere import uniform

    n, d = size
    x0 = uniform(n, d, start)  # (n, d)
    other = int(np.random.default_rng([start, 4]).integers(1, n))
    depth = times[-1]
    make = partial(INGREDIENTS[ingredient], strength, beta, d, depth)
    x = _simulated(make("causal", start), x0, times, start)  # (times, n, d)
    y = _simulated(make("causal", start), x0[other : other + 1], times, start + OTHER_NOISE)  # (times, 1, d)
    found = np.full((len(times), len(KINDS), n - 1), np.nan)
    found[:, 0] = (x[:, 1:] * x[:, :1]).sum(-1)
    rest = np.delete(x, other, axis=1)  # (times, n - 1, d): the one that is claimed to win does not count
    found[:, 1] = (rest * y).sum(-1)
    found[:, 3] = x[:, 1:] @ x0[0]
    if full:
        everyone = _simulated(make("full", start), x0, times, start)  # (times, n, d)
        found[:, 2] = (everyone[:, 1:] * x[:, :1]).sum(-1)
    return found


def _simulated(model: Any, x0: Array, times: list[float], seed: int) -> Array:
    """Tokens at the given times, (times, n, d)."""
    from nucleate.block import Block
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    save = [0.0, *times]
    if isinstance(model, Block) and model.noise is not None:
        run = simulate(model, x0, times[-1], save=save, dt=NOISE_DT, seed=seed, threads=1)
    else:
        run = simulate(model, x0, times[-1], save=save, rtol=RTOL, atol=RTOL / 100.0, threads=1)
    assert uninterrupted(run).status == "done", f"{model}: {run.status}"
    return run.x[1:]


def _block(p: "Parameters", ingredient: str, held: bool, numbers: range) -> "Dataset":
    """Some starts at every strength and beta, (start, strength, beta, kind, token)."""
    import xarray

    case, n = p["cases"][ingredient], p["n"]
    betas = p["held_betas"] if held else p["betas"]
    first = p["held_seed"] if held else p["first_seed"]
    by_depth = case["axis"] == "depth"
    strengths = [1.0] if by_depth else case["values"]
    times = case["values"] if by_depth else [case["depth"]]
    points = list(product(numbers, strengths, betas))

    def one(point: tuple[int, float, float]) -> Array:
        number, strength, beta = point
        full = not held and strength == strengths[0]
        return overlaps(ingredient, strength, beta, (n, p["d"]), times, full, first + number)

    found = np.stack(in_threads(one, points))  # (points, times, kinds, n - 1)
    found = found.reshape(len(numbers), len(strengths), len(betas), len(times), len(KINDS), n - 1)
    found = np.moveaxis(found, 3, 2).reshape(len(numbers), -1, len(betas), len(KINDS), n - 1)
    return xarray.Dataset({"overlap": (("start", "strength", "beta", "kind", "token"), found)})


def starts_of(p: "Parameters", ingredient: str) -> int:
    """How many starts an ingredient is measured on."""
    return int(p["cases"][ingredient].get("starts", p["starts"]))


def run(workspace: "ItemWorkspace") -> "Data":
    """Every ingredient, on starts to measure and on others that are held out."""
    p, data = workspace.parameters, {}
    jobs = []
    for ingredient, case in p["cases"].items():
        points = 1 if case["axis"] == "depth" else len(case["values"])
        seconds = SECONDS.get(ingredient, 0.01) * points
        starts = starts_of(p, ingredient)
        jobs.append((ingredient, False, starts, seconds * len(p["betas"]) * starts))
        if case["axis"] != "depth" and p["held_starts"]:
            jobs.append(
                (ingredient, True, p["held_starts"], seconds * len(p["held_betas"]) * p["held_starts"])
            )
    cost = np.cumsum([0.0, *(job[-1] for job in jobs)])
    for i, (ingredient, held, starts, _) in enumerate(jobs):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1])

        name = f"{ingredient}_held" if held else ingredient
        work = partial(_block, p, ingredient, held)
        data[name] = workspace.blocks(name, starts, STARTS_PER_BLOCK, work, "start", progress)
    return data
