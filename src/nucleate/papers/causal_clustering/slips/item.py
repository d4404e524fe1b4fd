"""All slips in the print, each with its evidence computed here: those that other items find, found again by
their own rules, and one more."""

from collections.abc import Callable

import numpy as np

from nucleate.papers.causal_clustering.lemma53 import item as lemma53
from nucleate.papers.causal_clustering.lemmaA1 import item as lemmaA1
from nucleate.papers.causal_clustering.slips.data import run
from nucleate.papers.causal_clustering.slips.figures import draw
from nucleate.papers.causal_clustering.theorem52 import item as theorem52
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]


def printed_count(delta: float) -> float:
    """The number of strong centers for d = 3 as it is printed."""
    return float(1.0 / (3.0 * np.sin(delta / 2.0) ** 2))


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Numbers under the names that the items which find a slip give them, for their own rules to judge."""
    found: dict[str, Number] = {}
    for delta, counts in zip(data["sphere"]["delta"].values, data["sphere"]["count"].values, strict=True):
        about = f"strong centers on the sphere, δ = {delta:.4g}, mean; expected is what is printed"
        found[f"sphere_{delta:.4g}"] = mean_of(counts, about, printed_count(delta))
        found[f"sphere_{delta:.4g}_right"] = exact(
            1.0 / np.sin(delta / 2.0) ** 2, "1/sin²(δ/2), which is right"
        )
    found |= theorem52.sign_numbers(data) | lemma53.identity_numbers(data["identity"])
    return found | lemmaA1.measure(data, {"points": p["grid_points"]})


def sphere_slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The number of strong centers on the sphere: a slip if some mean excludes what is printed."""
    means = {
        name: number
        for name, number in numbers.items()
        if name.startswith("sphere_") and number.expected is not None
    }
    off = {
        name: one
        for name, one in means.items()
        if one.low is not None and one.high is not None and not one.low <= (one.expected or 0.0) <= one.high
    }
    if not off:
        return ()
    why = "; ".join(
        f"δ = {name.removeprefix('sphere_')}: {one!s} counted, printed {one.expected_text}, right"
        f" {numbers[f'{name}_right'].value:.4g}"
        for name, one in off.items()
    )
    return (
        Slip("Strong centers for d = 3: (3 sin²(δ/2))^(−1)", "1/sin²(δ/2)", f"{why}. δ = π must leave one"),
    )


SLIPS: dict[str, tuple[str, Callable[[Numbers], tuple[Slip, ...]]]] = {
    "1": ("for d = 3 the mean number of strong centers is (3 sin²(δ/2))^(−1), as printed", sphere_slips),
    "2": (
        "Theorem 5.2's second condition, as printed without a minus sign, excludes something",
        theorem52.sign_slips,
    ),
    "3": ("Lemma 5.3's energies, as printed without the factor 1/β, give causal attention", lemma53.slips),
    "4a": (
        "Lemma A.1's lower bound on h, as printed without a limit on x, holds for all x > 0",
        lemmaA1.lower_bound_slips,
    ),
    "4b": (
        "Lemma A.1's second lower bound on g, as printed without a condition on β, holds for all β > 0",
        lemmaA1.second_bound_slips,
    ),
}


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """One for each: the print disagrees with what is computed, or it does not."""
    found = []
    for part, finder in SLIPS.values():
        seen = finder(numbers)
        why = "; ".join(f"{slip.evidence}. Right: {slip.right}" for slip in seen)
        found.append(
            Verdict(part, "disagrees" if seen else "agrees", why or "no evidence against the print is found")
        )
    return tuple(found)


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """All of them."""
    return tuple(slip for _, finder in SLIPS.values() for slip in finder(numbers))


ITEM = Item(
    key="slips",
    title="Slips in the print",
    cost=Cost(quick=2.3, full=4.0),
    source="the whole paper",
    statement=(
        "As printed: for d = 3 the mean number of strong centers is (3 sin²(δ/2))^(−1). Theorem 5.2's second"
        " condition is N g((c−2ε)β^(−1/2)) < g(εβ^(−1/2)). Lemma 5.3's energies are E_k = −(Σ_{j<k}"
        " e^{β(cos(φ_k−φ_j)−1)} + Σ_j a_j e^{β(cos(φ_k−θ_j)−1)}). Lemma A.1 has e^{−βx²/2}(x − x³/6) < h(x)"
        " without a limit on x, and g(x) > −βx² e^{−βx²/2 + βx⁴/24} without a condition on β."
    ),
    ours=(
        "Five places at which the print, read as it stands, is not what its proof needs or what holds. None"
        " touches a theorem as it is meant."
    ),
    parameters={
        "deltas": [0.4, 0.8, 4.0 / 3.0, 2.0, float(np.pi)],
        "starts": 2000,
        "seed": 5,
        "betas": [0.1, 0.5, 2.0, 10.0, 64.0],
        "configurations": 20,
        "n": 16,
        "sweep_betas": 20,
        "sweep_c": 40,
        "sweep_eps": 400,
        "grid_betas": 61,
        "grid_points": 400,
    },
    quick={"starts": 300, "sweep_betas": 10, "grid_betas": 31},
    choices=(
        (
            "The numbers are made here, with fewer points than in the items that treat the statement itself,"
            " and judged by the rules of those items."
        ),
        (
            "Not counted: the example of Theorem 5.2, printed with values rounded past their formulas, for"
            " the conditions themselves hold at the printed ones (shown with Theorem 5.2)."
        ),
        "Centers on the sphere: so many tokens that more would add less than one center in a million.",
    ),
    criteria=(
        "First: disagrees if at some δ the 95 % interval of the mean number of strong centers excludes the"
        " printed one. Second: if the printed condition refuses nothing on a grid of which the one with the"
        " minus sign refuses a part, and holds in a constructed case in which that one fails and what the"
        " proof needs, ∂²E_k/∂φ_k² > 0, fails too. Third: if the"
        " gradient of the printed energy differs from the velocity by more than rounding. Fourth and fifth:"
        " if a bound fails somewhere outside the hypothesis that the print lacks."
    ),
    captions={
        "slips": (
            "Left: strong centers on the sphere, counted with 95 % intervals (smaller than the marks),"
            " against the formula and the printed one. Middle: h and its lower bound, which fails beyond π,"
            " β = 1. Right: g and its second lower bound where β is too small for it."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
