"""Conjecture 2: random models, the search for counterexamples, and how perturbations grow at other equilibria
of the second token."""

from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.conjectures.counterexample_search import REGIMES
from nucleate.papers.causal_clustering.conjectures.random_models import FAMILIES_2, simulate_families
from nucleate.papers.causal_clustering.conjectures.search_results import growth_elsewhere, search_result

if TYPE_CHECKING:
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """Random models first, in which most of the time goes."""
    p = workspace.parameters
    regime = next(one for one in REGIMES if one.conjecture == 2)
    data = simulate_families(workspace, FAMILIES_2, 0.8)
    data["search"] = workspace.dataset(
        "search", lambda: search_result(regime.name, p["seed"], p["search_rounds"])
    )
    data["growth_elsewhere"] = workspace.dataset(
        "growth_elsewhere", lambda: growth_elsewhere(p["models"], p["seed"])
    )
    return data
