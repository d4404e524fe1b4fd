"""Centers counted in many starts: strong ones among the first tokens, and Rényi centers up to where hardly
any can follow."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.line_fits import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

__all__ = ["jammed", "renyi_data", "strong_data"]

LEAST = 6  # starts
# share of the sphere that jammed caps cover, to tell how many starts are needed
ROUGHLY = {2: 0.75, 3: 0.55, 4: 0.38, 5: 0.26}


def strong_data(desk: "Desk", d: int, delta: float) -> "Dataset":
    """Strong centers among the first 10, 100, ... tokens of each start: (run, tokens)."""
    p = desk.p
    sizes = np.array(p["sizes"])
    return desk.dataset(
        f"strong-{d}-{delta:.3f}", lambda: _counted(d, delta, sizes, p["strong_runs"], p["seed"], strong=True)
    )


def renyi_data(desk: "Desk", d: int, delta: float) -> "Dataset":
    """Rényi centers among the first tokens of each start, by tokens per cap of radius delta: (run,
    tokens)."""
    from nucleate.theory.counts import cap_share

    p = desk.p
    sizes = np.rint(np.array(p["per_cap"]) / cap_share(delta, d)).astype(np.int64)
    runs = max(LEAST, round(p["renyi_counted"] * cap_share(delta / 2.0, d) / ROUGHLY[d]))
    return desk.dataset(
        f"renyi-{d}-{delta:.3f}", lambda: _counted(d, delta, sizes, runs, p["seed"] + 1, strong=False)
    )


def _counted(d: int, delta: float, sizes: NDArray[np.int64], runs: int, seed: int, strong: bool) -> "Dataset":
    """One start serves every number of tokens: later tokens make no earlier one a center or none."""
    import xarray

    counts = np.stack(in_threads(partial(_one, d, delta, sizes, seed, strong), range(runs)))  # (runs, sizes)
    return xarray.Dataset(
        {"count": (("run", "tokens"), counts.astype(np.float64))}, {"tokens": sizes, "run": np.arange(runs)}
    )


def _one(
    d: int, delta: float, sizes: NDArray[np.int64], seed: int, strong: bool, run: int
) -> NDArray[np.int64]:
    from nucleate.observe.centers import renyi_centers
    from nucleate.sphere import uniform

    stream = np.random.SeedSequence(seed, spawn_key=(d, round(1e6 * delta), run))
    # (sizes,)
    return np.searchsorted(
        renyi_centers(uniform(int(sizes[-1]), d, stream), delta, strong=strong), sizes
    ).astype(np.int64)


def jammed(count: Array, tokens: NDArray[np.int64], d: int, last: int, degree: int) -> Array:
    """The number of Rényi centers after infinitely many tokens, start by start: (runs, tokens) -> (runs,).

    The last places to be taken are small and fill at a rate that goes with their volume, so that what is
    missing falls like x = tokens^(-1/(d-1)) (Feder's law; Pomeau and Swendsen gave the argument).  A
    polynomial in x through the `last` numbers of tokens, at x = 0.
    """
    x = tokens[-last:].astype(np.float64) ** (-1.0 / (d - 1))  # (last,)
    share = np.linalg.pinv(np.vander(x / x[0], degree + 1))[-1]  # (last,) of each number in the value at 0
    return np.asarray(count[:, -last:] @ share)
