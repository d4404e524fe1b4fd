"""Centers counted in many starts: strong ones among the first tokens, and Rényi centers up to where hardly
any can follow."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["dataset_name", "run"]

MIN_STARTS = 6
# of the sphere by jammed caps, roughly, by d: it tells how many starts are needed
COVERED_SHARE = {2: 0.75, 3: 0.55, 4: 0.38, 5: 0.26}


def strong_data(workspace: "ItemWorkspace", d: int, delta: float) -> "Dataset":
    """Strong centers among the first 10, 100, ... tokens of each start: (run, tokens)."""
    p = workspace.parameters
    sizes = np.array(p["sizes"])
    return workspace.dataset(
        f"strong-{d}-{delta:.3f}",
        lambda: _count_centers(d, delta, sizes, p["strong_runs"], p["seed"], strong=True),
    )


def renyi_data(workspace: "ItemWorkspace", d: int, delta: float) -> "Dataset":
    """Rényi centers among the first tokens of each start, by tokens per cap of radius delta: (run,
    tokens)."""
    from nucleate.theory.counts import cap_share

    p = workspace.parameters
    sizes = np.rint(np.array(p["per_cap"]) / cap_share(delta, d)).astype(np.int64)
    runs = max(MIN_STARTS, round(p["renyi_counted"] * cap_share(delta / 2.0, d) / COVERED_SHARE[d]))
    return workspace.dataset(
        f"renyi-{d}-{delta:.3f}", lambda: _count_centers(d, delta, sizes, runs, p["seed"] + 1, strong=False)
    )


def _count_centers(
    d: int, delta: float, sizes: NDArray[np.int64], runs: int, seed: int, strong: bool
) -> "Dataset":
    """One start serves every number of tokens: later tokens make no earlier one a center or none."""
    import xarray

    count = partial(_counts_of_start, d, delta, sizes, seed, strong)
    counts = np.stack(in_threads(count, range(runs)))  # (runs, sizes)
    return xarray.Dataset(
        {"count": (("run", "tokens"), counts.astype(np.float64))}, {"tokens": sizes, "run": np.arange(runs)}
    )


def _counts_of_start(
    d: int, delta: float, sizes: NDArray[np.int64], seed: int, strong: bool, run: int
) -> NDArray[np.int64]:
    from nucleate.observe.centers import renyi_centers
    from nucleate.sphere import uniform

    stream = np.random.SeedSequence(seed, spawn_key=(d, round(1e6 * delta), run))
    # (sizes,)
    return np.searchsorted(
        renyi_centers(uniform(int(sizes[-1]), d, stream), delta, strong=strong), sizes
    ).astype(np.int64)


def run(workspace: "ItemWorkspace") -> "Data":
    """Counts of strong centers, then of Rényi centers."""
    p, data = workspace.parameters, {}
    jobs = [("strong", *at) for at in p["strong_at"]] + [("renyi", *at) for at in p["renyi_at"]]
    for i, (kind, d, delta) in enumerate(jobs):
        data[dataset_name(kind, d, delta)] = (strong_data if kind == "strong" else renyi_data)(
            workspace, d, delta
        )
        workspace.progress(i + 1, len(jobs))
    return data


def dataset_name(kind: str, d: int, delta: float) -> str:
    """Of the counts of one kind of centers."""
    return f"{kind}_{d}_{delta:.3f}"
