"""Figure 4: the interaction function h(x) = e^{beta (cos x - 1)} sin x at beta = 10, strongest near
beta^(-1/2) (paper, Lemma A.1)."""

import numpy as np

from nucleate.papers.causal_clustering.figure4.data import run
from nucleate.papers.causal_clustering.figure4.figures import draw
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, compared, exact

__all__ = ["ITEM"]

MAXIMUM_ERROR = (
    1e-7  # the maximum of a smooth function is found to the root of rounding, 1.5e-8, and a little
)


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Where h is largest, and whether the lemma's bounds hold."""
    h = data["h"]
    at = int(np.argmin(np.abs(h["beta"].values - p["beta"])))
    beta, searched, formula = p["beta"], h["searched"].values, h["formula"].values
    within = ((h["beta"].values + 0.5) ** -0.5 < searched) & (searched < h["beta"].values ** -0.5)  # (betas,)
    rising = np.diff(h["h"].values) > 0.0  # (points - 1,)
    turns = int((rising[1:] != rising[:-1]).sum())
    return {
        "tau_star": compared(
            searched[at],
            formula[at],
            f"distance at which h is largest, β = {beta:g}",
            "distance to the formula of Lemma A.1",
            formula[at],
        ),
        "line": exact(beta**-0.5, "the line of the figure, β^(−1/2)"),
        "ratio": compared(
            searched[at] * beta**0.5,
            formula[at] * beta**0.5,
            "strongest distance over β^(−1/2)",
            "distance to the formula of Lemma A.1",
        ),
        "formula_error": exact(
            np.abs(searched - formula).max(),
            f"largest difference of searched and printed τ*, β = {min(p['betas']):g} to {max(p['betas']):g}",
            expected=0.0,
        ),
        "outside_bounds": exact(
            (~within).sum(),
            "number of these β whose τ* is not between (β+½)^(−1/2) and β^(−1/2)",
            expected=0.0,
        ),
        "turns": exact(turns, "number of times h turns on (0, π)", "counted on the grid", 1.0),
        "below_lower": exact(
            (h["h"].values <= h["lower"].values).sum(),
            "grid points on (0, π] at which h is not above its lower bound",
            expected=0.0,
        ),
        "above_upper": exact(
            (h["h"].values >= h["upper"].values).sum(),
            "grid points on (0, π] at which h is not below its upper bound",
            expected=0.0,
        ),
        "beyond_pi": exact(
            (h["beyond_margin"].values <= 0.0).sum(),
            f"points of {h.sizes['beyond']} on (π, 2π) at which the printed lower bound on h fails",
        ),
        "small_beta": exact(
            (h["small_margin"].values <= 0.0).sum(),
            f"values of β of {h.sizes['small']} on [0.01, 1) at which the second printed bound on g fails for"
            " some x ≤ π",
        ),
        "largest_failing_beta": exact(
            max([0.0, *h["small"].values[h["small_margin"].values <= 0.0]]),
            "largest β of these at which it fails",
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    n = {name: number.value for name, number in numbers.items()}
    shape = (
        n["turns"] == 1
        and n["formula_error"] < MAXIMUM_ERROR
        and n["outside_bounds"] == 0
        and 0.95 < n["ratio"] < 1.0
    )
    bounds = n["below_lower"] == n["above_upper"] == 0
    return (
        Verdict(
            "h rises to τ*, which lies between (β+½)^(−1/2) and β^(−1/2), then falls",
            "agrees" if shape else "disagrees",
            f"largest at {n['tau_star']:.6f}, {n['ratio']:.4f} of β^(−1/2); the printed formula for τ* is met"
            f" to {n['formula_error']:.0e}; h turns"
            f" {'once' if n['turns'] == 1 else format(n['turns'], '.0f') + ' times'} on (0, π)",
        ),
        Verdict(
            "Lemma A.1's lower and upper bound on h hold for 0 < x ≤ π",
            "agrees" if bounds else "disagrees",
            f"{n['below_lower']:.0f} grid points at or below the lower bound, {n['above_upper']:.0f} at or"
            " above the upper",
        ),
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Where Lemma A.1 needs a condition that is not printed."""
    found = []
    if numbers["beyond_pi"].value > 0:
        evidence = (
            f"{numbers['beyond_pi'].value:.0f} of 399 points on (π, 2π) violate it at β = 10: there h is"
            " negative, and larger in size than the bound"
        )
        found.append(Slip("Lemma A.1: the lower bound on h without a limit on x", "it needs x ≤ π", evidence))
    if numbers["small_beta"].value > 0:
        evidence = (
            f"it fails for some x ≤ π at {numbers['small_beta'].value:.0f} of 99 values of β below 1, up to β"
            f" = {numbers['largest_failing_beta'].value:.2f}"
        )
        found.append(
            Slip(
                "Lemma A.1: the second lower bound on g for every β",
                "β must not be small; β ≥ 1, as the proof needs, is enough",
                evidence,
            )
        )
    return tuple(found)


ITEM = Item(
    key="figure4",
    title="Figure 4: the interaction function",
    cost=Cost(quick=0.7, full=0.7),
    source="Figure 4 and Lemma A.1",
    statement=(
        "On the circle (d = 2) with Q = K = V = I token k moves by h(x) = e^{β(cos x − 1)} sin x of the"
        " angle x to every earlier token, divided by Z_k. The figure shows h at β = 10, with a line at"
        " β^(−1/2). Lemma A.1: h is odd and 2π-periodic, rises to τ* with cos τ* = (−1 + √(4β² + 1))/(2β),"
        " then falls on [τ*, π]; (β+½)^(−1/2) < τ* < β^(−1/2); for x > 0, with no upper limit in print,"
        " e^{−βx²/2}(x − x³/6) < h(x) < x e^{−βx²/2 + βx⁴/24}. It also bounds the derivative g = h' below: by"
        " e^{−βx²/2}(1 − x²/2 − βx²) for 0 < x < (β+½)^(−1/2), and by −βx² e^{−βx²/2 + βx⁴/24}, for every β"
        " in print."
    ),
    parameters={
        "beta": 10.0,
        "betas": [0.5, 1.0, 2.0, 5.0, 9.0, 10.0, 20.0, 64.0, 100.0, 1000.0],
        "points": 2000,
    },
    quick={},
    choices=(
        "The range of x, 0 to π.",
        "The values of β at which the formula for τ* is tried.",
        "Lemma A.1's bounds are drawn too, and tried for 0 < x ≤ π; all of the lemma has its own item.",
    ),
    criteria=(
        "Agrees if h, on a grid, turns once on (0, π), the maximum found by golden section is that of the"
        f" printed formula to {MAXIMUM_ERROR:g} and lies between the printed bounds for every β tried, no"
        " more than 5 % below β^(−1/2) at β = 10; and if both bounds on h hold at every grid point."
    ),
    captions={
        "figure4": (
            "The interaction function at β = 10, the line of the paper at β^(−1/2), and its maximum at τ*."
            " The shade lies between the two bounds of Lemma A.1."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
