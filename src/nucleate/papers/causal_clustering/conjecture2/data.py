"""Conjecture 2: random models, the search for counterexamples, and how perturbations grow at other equilibria
of the second token."""

from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.conjectures.counterexample_search import REGIMES
from nucleate.papers.causal_clustering.conjectures.random_models import FAMILIES_2, simulate_families
from nucleate.papers.causal_clustering.conjectures.search_results import growth_elsewhere, search_result
from nucleate.papers.core.threads import in_threads

if TYPE_CHECKING:
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Random models; beside them what is computed in Python, on one core."""
    p = workspace.parameters
    regime = next(one for one in REGIMES if one.conjecture == 2)

    def simulations() -> "Data":
        return simulate_families(workspace, FAMILIES_2, 0.9)

    def others() -> "Data":
        return {
            "search": workspace.dataset(
                "search", lambda: search_result(regime.name, p["seed"], p["search_rounds"])
            ),
            "growth_elsewhere": workspace.dataset(
                "growth_elsewhere", lambda: growth_elsewhere(p["models"], p["seed"])
            ),
        }

    first, second = in_threads(lambda work: work(), [simulations, others])
    return {**first, **second}
