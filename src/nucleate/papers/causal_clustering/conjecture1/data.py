"""Conjecture 1: random models, starts that stay away as long as they can, the search for counterexamples, the
stored ones with what is proved of them, how many starts end there, and defective eigenvalues."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.conjectures.adversarial_starts import evolve_starts
from nucleate.papers.causal_clustering.conjectures.counterexample_search import REGIMES
from nucleate.papers.causal_clustering.conjectures.defective_eigenvalue import (
    ends_from_two_starts,
    ends_from_uniform_starts,
)
from nucleate.papers.causal_clustering.conjectures.random_models import FAMILIES_1, simulate_families
from nucleate.papers.causal_clustering.conjectures.search_results import (
    criterion_on_diagonals,
    exact_checks,
    search_result,
    verifications,
)
from nucleate.papers.causal_clustering.conjectures.start_shares import CASES, share_of_starts
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["REGIMES_1", "run"]


REGIMES_1 = tuple(regime for regime in REGIMES if regime.conjecture == 1)


def run(workspace: "ItemWorkspace") -> "Data":
    """Simulations, random models first; beside them what is computed in Python, on one core."""
    p = workspace.parameters
    seed, rounds = p["seed"], p["search_rounds"]
    simulated: dict[str, Callable[[], Dataset]] = {
        "adversary": lambda: evolve_starts(FAMILIES_1[0], seed, p["models"], p["rounds"]),
        **{
            f"shares-{name}": partial(share_of_starts, case, p["starts"], seed)
            for name, case in CASES.items()
        },
        "defective": lambda: ends_from_two_starts(p["defective_betas"]),
        "rule": lambda: ends_from_uniform_starts(p["defective_starts"], seed),
    }
    in_python: dict[str, Callable[[], Dataset]] = {
        **{f"search-{one.name}": partial(search_result, one.name, seed, rounds) for one in REGIMES_1},
        "exact": exact_checks,
        "counterexamples": verifications,
        "criterion": criterion_on_diagonals,
    }

    def simulations() -> "Data":
        data = simulate_families(workspace, FAMILIES_1, 0.6)
        for i, (name, compute) in enumerate(simulated.items()):
            data[name] = workspace.dataset(name, compute)
            workspace.progress(0.6 + 0.3 * (i + 1) / len(simulated), 1.0)
        return data

    def others() -> "Data":
        return {name: workspace.dataset(name, compute) for name, compute in in_python.items()}

    first, second = in_threads(lambda work: work(), [simulations, others])
    return {**first, **second}
