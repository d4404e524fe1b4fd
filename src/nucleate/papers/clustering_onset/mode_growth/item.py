"""Out of the uniform law mode k grows at (k^2 / beta) I_k(beta) / I_0(beta)."""

import numpy as np

from nucleate.papers.clustering_onset.mode_growth.data import run
from nucleate.papers.clustering_onset.mode_growth.figures import draw
from nucleate.papers.clustering_onset.mode_growth.measures import growth_rates
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import MAX_STANDARD_ERRORS, number_with_error
from nucleate.papers.core.numbers import Number, exact
from nucleate.theory.onset import fastest_mode, mode_growth

__all__ = ["ITEM"]

RATE_ERROR = 0.02  # of the largest rate: n is finite, and modes already feel each other


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """How far rates are from the formula, the rate of the fastest mode, and which modes may be the
    fastest."""
    numbers = {}
    for beta in p["betas"]:
        found = data[f"beta{beta:g}"]
        k = found["k"].values
        rate, error = growth_rates(found)
        formula, fastest = mode_growth(k, beta), fastest_mode(beta)
        top = formula.max()
        beyond = (np.abs(rate - formula) - MAX_STANDARD_ERRORS * error) / top  # (k,)
        numbers[f"beyond_{beta:g}"] = exact(
            max(beyond.max(), 0.0),
            f"β = {beta:g}: how much farther than {MAX_STANDARD_ERRORS:g} standard errors a rate is from the"
            f" formula at worst, k = 1 to {k[-1]}, over the largest rate",
        )
        numbers[f"rate_{beta:g}"] = number_with_error(
            float(rate[fastest - 1]),
            float(error[fastest - 1]),
            f"β = {beta:g}: rate of growth of mode {fastest}",
            f"95 % interval over {found.sizes['run']} runs",
            float(formula[fastest - 1]),
        )
        best = int(rate.argmax())
        numbers[f"fastest_{beta:g}"] = exact(
            k[best], f"β = {beta:g}: mode of the largest measured rate", expected=fastest
        )
        apart = rate[best] - rate[fastest - 1]
        allowed = MAX_STANDARD_ERRORS * np.hypot(error[best], error[fastest - 1])
        numbers[f"behind_{beta:g}"] = exact(
            max(apart - allowed, 0.0) / top,
            f"β = {beta:g}: how far mode {fastest} is behind it beyond {MAX_STANDARD_ERRORS:g} standard"
            " errors",
            expected=0.0,
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    names = [f"{beta:g}" for beta in p["betas"]]
    beyond = max(numbers[f"beyond_{beta}"].value for beta in names)
    first = all(
        numbers[f"behind_{beta}"].value == 0.0
        and abs(numbers[f"fastest_{beta}"].value - (numbers[f"fastest_{beta}"].expected or 0.0)) <= 1.0
        for beta in names
    )
    return (
        Verdict(
            "out of the uniform law on the circle mode k grows at the rate (k²/β) I_k(β)/I_0(β)",
            "agrees" if beyond <= RATE_ERROR else "disagrees",
            "rates of the fastest modes: "
            + ", ".join(
                f"{numbers[f'rate_{beta}']} (formula {numbers[f'rate_{beta}'].expected:.4f}) for β = {beta}"
                for beta in names
            )
            + f"; no rate is farther from the formula than {beyond:.1%} of the largest beyond its errors",
        ),
        Verdict(
            "the fastest mode is the k that maximises k² I_k(β): 3, 6, 11, 23 for β = 5, 16, 64, 256",
            "agrees" if first else "disagrees",
            "largest measured rates: "
            + ", ".join(f"mode {numbers[f'fastest_{beta}'].value:.0f} for β = {beta}" for beta in names),
        ),
    )


ITEM = Item(
    key="mode-growth",
    title="Modes grow out of the uniform law",
    cost=Cost(quick=8.0, full=30.0),
    source="the linear phase",
    statement=(
        "Self-attention with full mask and Q = K = V = I on the circle, in the limit of many tokens: the"
        " uniform law is an equilibrium, and a small perturbation of it with k periods grows at a rate"
        " proportional to k² I_k(β), with softmax (k²/β) I_k(β)/I_0(β). The k that maximises it, k_max, is"
        " the number of periods that shows first (3 at β = 5)."
    ),
    ours=(
        "k_max = 6, 11 and 23 for β = 16, 64 and 256, near √(2β). The perturbation here is chance: n"
        " independent uniform tokens have modes (1/n) Σ e^{ikθ_j} of the size of n^(−1/2), with random"
        " phases."
    ),
    parameters={
        "Q, K, V": "I",
        "mask": "full",
        "d": 2,
        "n": 100_000,
        "betas": [5.0, 16.0, 64.0, 256.0],
        "runs": 16,
        "runs_at_once": 4,
        "growth": 1.5,
        "frames": 3,
        "rtol": 1e-8,
        "seed": 0,
    },
    quick={"n": 20_000, "runs": 8},
    choices=(
        (
            "Modes up to 2 k_max, followed until the fastest has grown by e^{1.5}: from 0.3 % to 1.4 % of the"
            " density at n = 100 000, where modes hardly feel each other."
        ),
        (
            "The growth of mode k is the mean over runs of conj(c_k(0)) c_k(t) over that of |c_k(0)|²; its"
            " error is the jackknife over runs."
        ),
    ),
    criteria=(
        f"First: agrees if for every β and k every rate is that of the formula to {RATE_ERROR:.0%} of the"
        f" largest rate and {MAX_STANDARD_ERRORS:g} standard errors. Second: agrees if for every β the"
        " largest measured rate is that of k_max or a neighbour, and no larger than that of k_max beyond"
        f" {MAX_STANDARD_ERRORS:g} standard errors of the difference (neighbours differ by less than a"
        " percent)."
    ),
    captions={
        "mode-growth": (
            "Rates of growth of the modes of the density of 100 000 uniform tokens (dots, with 95 % intervals"
            " over runs) on (k²/β) I_k(β)/I_0(β) (line); dashed: the k that maximises it."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
