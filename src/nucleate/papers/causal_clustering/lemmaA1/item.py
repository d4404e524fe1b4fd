"""Lemma A.1: the shape of the interaction function h and its slope g; proved on whole intervals, seen on a
grid, with the hypotheses it needs."""

import numpy as np

from nucleate.papers.causal_clustering.lemmaA1.data import BOUND_ROUNDING, BOUNDS, distances, run
from nucleate.papers.causal_clustering.lemmaA1.figures import draw
from nucleate.papers.causal_clustering.lemmaA1.proofs import PROOFS
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact

__all__ = ["ITEM", "lower_bound_slips", "measure", "second_bound_slips"]

BOUND_WORDS = {
    "lower_h": "h(x) > e^{−βx²/2}(x − x³/6)",
    "upper_h": "h(x) < x e^{−βx²/2 + βx⁴/24}",
    "near_g": "g(x) > e^{−βx²/2}(1 − x²/2 − βx²)",
    "far_g": "g(x) > −βx² e^{−βx²/2 + βx⁴/24}",
}


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """What is proved, what the grid shows, and from where on."""
    known, seen = data["proofs"], data["grid"]
    numbers: dict[str, Number] = {}
    for i, (name, (words, _, _)) in enumerate(PROOFS.items()):
        how = (
            f"on {int(known['pieces'][i])} pieces, {int(known['undecided'][i])} undecided; 1 is proved, 0 is"
            " not"
        )
        numbers[name] = exact(float(known["holds"][i]), words, how, 1.0)
    beta, reach = seen["beta"].values, seen["reach"].values
    large = beta >= 10.0
    for bound, fails in zip(BOUNDS, seen["fails"].values, strict=True):
        numbers[f"{bound}_fails"] = exact(
            fails.sum(),
            f"grid points within its hypotheses at which {BOUND_WORDS[bound]} fails",
            expected=0.0,
        )
    return numbers | {
        "grid_points": exact(
            sum(len(distances(b, p["points"])) for b in beta),
            f"points of the grid, β from {beta[0]:g} to {beta[-1]:g}",
        ),
        "turns": exact(
            np.abs(seen["turns"].values - 1.0).max(),
            "largest difference from 1 of the number of times h turns on (0, π)",
            expected=0.0,
        ),
        "far_threshold": Number(
            float(known["far_true"]),
            "β from which the second bound on g holds for every x > 0",
            float(known["far_false"]),
            float(known["far_true"]),
            "refuted at the lower end, proved at the upper",
        ),
        "near_reach": exact(
            (reach * beta**0.5)[large].min(),
            "x/β^(−1/2) up to which the first bound on g holds, least over β ≥ 10",
            expected=3.0,
        ),
        "near_reach_over_hypothesis": exact(
            (reach * (beta + 0.5) ** 0.5).min(),
            "the same over the printed limit (β + ½)^(−1/2), least over all β",
        ),
        "beyond_pi": exact(
            seen["beyond"].values.any(1).mean(),
            "share of the β of the grid at which the printed lower bound on h fails for some x > π",
            expected=0.0,
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    n = {name: number.value for name, number in numbers.items()}
    shape = n["tau_above"] == n["tau_below"] == 1 and n["turns"] == 0
    series = all(n[name] == 1 for name in ("sine_below", "sine_above", "cosine_above", "cosine_below"))
    on_h, near, far = n["lower_h_fails"] + n["upper_h_fails"], n["near_g_fails"], n["far_g_fails"]
    points = f"of {n['grid_points']:.0f} grid points"
    return (
        Verdict(
            "h is odd and 2π-periodic, rises to τ*, then falls to π, and (β+½)^(−1/2) < τ* < β^(−1/2)",
            "agrees" if shape else "disagrees",
            (
                "both bounds are proved on whole intervals; that h turns once follows from g ∝ (cos x − cos"
                " τ*)(1 + cos x cos τ*), and it does at every β of the grid"
                if shape
                else "a bound is not proved, or h turns more than once at some β of the grid"
            ),
        ),
        Verdict(
            "e^{−βx²/2}(x − x³/6) < h(x) < x e^{−βx²/2 + βx⁴/24}, for 0 < x ≤ π",
            "agrees" if series and on_h == 0 else "disagrees",
            f"{'proved factor by factor' if series else 'not proved'}; {on_h:.0f} {points} speak against it",
        ),
        Verdict(
            "g(x) > e^{−βx²/2}(1 − x²/2 − βx²) for 0 < x < (β+½)^(−1/2)",
            "agrees" if series and near == 0 else "disagrees",
            f"{'proved factor by factor' if series else 'not proved'}; {near:.0f} {points} speak against it."
            f" It holds farther than printed: to {n['near_reach_over_hypothesis']:.2f} times that limit at"
            f" least, to {n['near_reach']:.3f} β^(−1/2) for β ≥ 10",
        ),
        Verdict(
            "g(x) > −βx² e^{−βx²/2 + βx⁴/24} for x > 0, with β ≥ 1",
            "agrees" if n["slope_far"] == 1 and far == 0 else "disagrees",
            f"{'proved for every x > 0' if n['slope_far'] == 1 else 'not proved'}; {far:.0f} {points} speak"
            " against it",
        ),
        _threshold_verdict(numbers),
    )


def _threshold_verdict(numbers: Numbers) -> Verdict:
    found = numbers["far_threshold"]
    enclosed = (
        found.low is not None and found.high is not None and 0.0 < found.low < found.high <= found.low + 1e-4
    )
    return Verdict(
        "Lemma A.1's second lower bound on g holds for every x > 0 from a certain β₀ < 1 on, and for no"
        f" smaller β: {found.low or 0.0:.5f} ≤ β₀ ≤ {found.high or np.inf:.5f}",
        "proved" if enclosed and found.value < 1.0 else "contradicted",
        "refuted at the lower end and proved at the upper, by interval arithmetic; its margin rises with β",
        proof="proofs.md#the-second-lower-bound-on-g",
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Where the lemma needs a condition that is not printed."""
    return (*lower_bound_slips(numbers), *second_bound_slips(numbers))


def lower_bound_slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The lower bound on h."""
    share = numbers["beyond_pi"].value
    if share == 0.0:
        return ()
    evidence = (
        f"it fails for some x > π at {share:.0%} of the β tried, 0.01 to 10,000: h comes again every 2π, and"
        " where sin x = −1 it is below the bound, which decays"
    )
    return (Slip("Lemma A.1: the lower bound on h without a limit on x", "it needs x ≤ π", evidence),)


def second_bound_slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The second bound on g."""
    threshold = numbers["far_threshold"]
    if not threshold.low:
        return ()
    evidence = (
        f"at β = {threshold.low:.6f} an x ≤ π is found, by interval arithmetic, at which it fails; from β ="
        f" {threshold.value:.6f} on it is proved for every x > 0"
    )
    right = f"it needs β ≥ {np.ceil(1e4 * threshold.value) / 1e4:.4f}; β ≥ 1 is enough"
    return (Slip("Lemma A.1: the second lower bound on g for every β", right, evidence),)


ITEM = Item(
    key="lemmaA.1",
    title="Lemma A.1: the shape of the interaction function",
    cost=Cost(quick=3.7, full=4.3),
    source="Lemma A.1",
    statement=(
        "h(x) = e^{β(cos x − 1)} sin x is odd and 2π-periodic; it rises up to τ* with cos τ* = (−1 + √(4β² +"
        " 1))/(2β), then falls on [τ*, π]; (β+½)^(−1/2) < τ* < β^(−1/2). e^{−βx²/2}(x − x³/6) < h(x) < x"
        " e^{−βx²/2 + βx⁴/24}. With g(x) = h'(x) = e^{β(cos x − 1)}(cos x − β sin² x): g(x) > e^{−βx²/2}(1 −"
        " x²/2 − βx²) for 0 < x < (β+½)^(−1/2), and g(x) > −βx² e^{−βx²/2 + βx⁴/24}."
    ),
    ours=(
        "The bounds on h are for 0 < x ≤ π, and the last bound needs β not too small; both are printed"
        " without these conditions."
    ),
    parameters={"betas": 241, "points": 2000},
    quick={"betas": 61, "points": 800},
    choices=(
        (
            "Each bound is taken apart so that β drops out. The bounds on h and the first on g are products"
            " of sin x < x, sin x > x − x³/6, cos x > 1 − x²/2 and cos x < 1 − x²/2 + x⁴/24. τ* solves β ="
            " cos x/sin² x, so its bounds are inequalities in x. The second bound on g says β(x²e^{βr} − sin²"
            " x) + cos x > 0 with r = x⁴/24 − x²/2 + 1 − cos x ≥ 0; its left side rises with β."
        ),
        (
            "These inequalities in x alone are proved on whole intervals by arithmetic on pieces, rounded"
            " outwards, with sine and cosine as series with their remainders. Beyond π, x² − sin² x ≥ π², so"
            " β ≥ 1/π² is enough for the second bound on g."
        ),
        (
            "The grid: β by powers of ten from 0.01 to 10,000; x evenly and by powers of ten. It holds our"
            " own functions h, g and τ* against the lemma."
        ),
    ),
    criteria=(
        "Agrees if the inequalities are proved on their whole intervals, with no piece undecided, and no"
        " point of the grid within the hypotheses speaks against the bound by more than rounding"
        f" ({BOUND_ROUNDING:g} of the sizes compared); and, for the shape, if h turns once at every β. Fifth:"
        " proved; contradicted unless the bound is refuted and proved at two β less than 0.0001 apart, below"
        " 1."
    ),
    captions={
        "lemmaA1": (
            "Left: margins of the four bounds at β = 10, relative to what is compared; a line ends where its"
            " bound fails. Middle: τ* and its two bounds. Right: where bounds fail, which is where the"
            " hypotheses matter."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
