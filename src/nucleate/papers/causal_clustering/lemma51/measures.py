"""Lifetimes of strong centers: what the lemma guarantees, and their lower quartile."""

import numpy as np

from nucleate.checks import Array

__all__ = ["ensemble_words", "guaranteed_product", "lower_quartile"]

QUARTILE = 0.25  # of the lifetimes at one index: the median outlasts the runs at small ones


def ensemble_words(beta: float, separation: float) -> str:
    """One beta and separation, for people."""
    return f"β = {beta:g}, centers {separation:g} β^(−1/2) apart"


def guaranteed_product(beta: float, separation: float) -> float:
    """T_j s_j of the lemma, with the best c and epsilon."""
    from nucleate.theory.bounds import best_guarantee

    return best_guarantee(beta, separation).product


def lower_quartile(ratio: Array) -> Array:
    """The lower quartile of each row (..., runs), a value among them: lifetimes may be infinite."""
    return np.asarray(np.sort(ratio, axis=-1)[..., int(QUARTILE * (ratio.shape[-1] - 1))])
