"""The mean cosine of tokens under every norm, with random weights: who is fast at first, who collapses."""

import numpy as np

from nucleate.norms import NORMS
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import plus_minus
from nucleate.papers.core.numbers import Number, exact, mean_of
from nucleate.papers.normalisation.mean_cosine.data import run
from nucleate.papers.normalisation.mean_cosine.figures import draw

__all__ = ["ITEM"]

FAST = ("peri", "ngpt")  # whose tokens move sooner than those of post
SLOW = ("pre", "mix", "peri")  # whose tokens resist the collapse of post
CLOCK_ERROR = 1e-4  # of a mean cosine: a hundred times the tolerance of a step


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Mean cosines early and at the end; differences from post run by run; sqrt against post in its clock."""
    numbers = {}
    gaps = {norm: data[norm]["gap"].values for norm in NORMS}  # (runs, times) each
    early = int(np.abs(data["post"]["time"].values - p["early"]).argmin())
    for norm in NORMS:
        numbers[f"early_{norm}"] = mean_of(
            1.0 - gaps[norm][:, early], f"{norm}: mean cosine at t = {p['early']:g}"
        )
        numbers[f"end_{norm}"] = mean_of(
            np.log10(gaps[norm][:, -1]), f"{norm}: log₁₀(1 − mean cosine) at t = {p['T']:g}"
        )
    for norm in FAST:
        numbers[f"sooner_{norm}"] = mean_of(
            gaps["post"][:, early] - gaps[norm][:, early],
            f"{norm}: mean cosine at t = {p['early']:g} less that of post, same weights and start",
        )
    for norm in SLOW:
        numbers[f"later_{norm}"] = mean_of(
            np.log10(gaps[norm][:, -1] / gaps["post"][:, -1]),
            f"{norm}: log₁₀(1 − mean cosine) at t = {p['T']:g} less that of post, same weights and start",
        )
    off = np.abs(gaps["sqrt"] - data["post"]["in_clock"].values).max()
    numbers["clock"] = exact(
        off, "sqrt at t against post at 2√(t+1) − 2: largest difference of mean cosines", expected=0.0
    )
    numbers["clock_null"] = exact(
        np.abs(gaps["sqrt"] - gaps["post"]).max(),
        "sqrt against post at the same t: largest difference of mean cosines",
    )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    sooner = {norm: numbers[f"sooner_{norm}"] for norm in FAST}
    later = {norm: numbers[f"later_{norm}"] for norm in SLOW}
    clock, null = numbers["clock"].value, numbers["clock_null"].value
    return (
        Verdict(
            "Peri-LN and nGPT move tokens together sooner than Post-LN does",
            "agrees" if all(_low(one) > 0.0 for one in sooner.values()) else "disagrees",
            f"mean cosine at t = {p['early']:g} less that of post: "
            + ", ".join(f"{norm} {plus_minus(one)}" for norm, one in sooner.items()),
        ),
        Verdict(
            "Pre-LN, Mix-LN and Peri-LN resist the collapse that Post-LN suffers",
            "agrees" if all(_low(one) > 0.0 for one in later.values()) else "disagrees",
            f"log₁₀(1 − mean cosine) at t = {p['T']:g} less that of post: "
            + ", ".join(f"{norm} {plus_minus(one, 2)}" for norm, one in later.items()),
        ),
        Verdict(
            "sqrt scaling is post in another clock: at t it is where post is at 2√(t+1) − 2",
            "observed" if clock <= CLOCK_ERROR < null else "not observed",
            f"mean cosines differ by at most {clock:.0e}; at equal times by {null:.2f}",
        ),
    )


def _low(number: Number) -> float:
    return number.value if number.low is None else number.low


ITEM = Item(
    key="mean-cosine",
    title="Mean cosine under every norm",
    cost=Cost(quick=25.0, full=270.0),
    source="the figure of mean cosines with random weights",
    statement=(
        "Normalisation regulates the speed of tokens on the sphere. With random weights, one head, d = 512"
        " and β = √d up to T = 10, tokens under Peri-LN and nGPT move sooner than under Post-LN, and Pre-LN,"
        " Mix-LN and Peri-LN collapse more slowly at depth."
    ),
    ours=(
        "With weights that do not change with depth sqrt scaling follows the path of post, at t where post is"
        " at 2√(t+1) − 2."
    ),
    parameters={
        "Q, K, V": "normal, variance 1/d, one set per run",
        "β": "√d",
        "mask": "full",
        "d": 512,
        "n": 32,
        "T": 10.0,
        "runs": 12,
        "frames": 41,
        "tau": 2.5,
        "alpha": 1.0,
        "early": 1.0,
        "rtol": 1e-6,
        "seed": 0,
    },
    quick={"runs": 4, "d": 256, "n": 16, "frames": 21},
    choices=(
        "n = 32 tokens and 12 sets of weights and starts are ours; the paper's numbers are not known to us.",
        "Kaiming weights with gain 1: normal entries of variance 1/d, the same at all depths.",
        "Mix-LN changes at τ = T/4; nGPT has α = 1. All norms see the same weights and starts.",
        "Early is t = 1, where the cosines of post are still near 0.",
    ),
    criteria=(
        "First: agrees if for peri and ngpt the mean over runs of the mean cosine at t = 1 less that of post"
        " has a 95 % interval above 0. Second: agrees if for pre, mix and peri that of log₁₀(1 − mean cosine)"
        " at T less that of post is above 0. Third: observed if sqrt at t and post at 2√(t+1) − 2 differ by"
        f" at most {CLOCK_ERROR:g} in all runs and frames, while at equal times they differ by more."
    ),
    captions={
        "mean-cosine": (
            "Tokens in 512 dimensions under one head with random weights. Left: mean cosine of two tokens,"
            " the median of all runs (lines) and their 90 % band. Right: 1 − mean cosine, medians; the dots"
            " are post at 2√(t+1) − 2, on the line of sqrt."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
