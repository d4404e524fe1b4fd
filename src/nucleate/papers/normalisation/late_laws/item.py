"""How the last of 1 - rho goes under every norm: an exponential, a power, or an exponential of a root."""

import numpy as np

from nucleate.checks import Array
from nucleate.norms import NORMS
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import half_width
from nucleate.papers.core.numbers import Number, compared, exact
from nucleate.papers.normalisation.late_laws.data import POWERS, WEIGHTS, pull_at_the_end, run
from nucleate.papers.normalisation.late_laws.figures import draw

__all__ = ["ITEM"]

# where the slope is fitted, and the piece before, whose slope judges the error: of 1 - rho, and of t / T
LATE_GAPS, GAPS_BEFORE = (1e-8, 1e-5), (1e-5, 1e-2)
LATE_TIMES, TIMES_BEFORE = (0.1, 1.0), (0.01, 0.1)
WIDEST = 0.05  # half of an interval over the exponent: a wider one tells nothing
SOLVER_ERROR = 1e-4  # of an exponent, relative; also of 1 - rho down to LATE_GAPS
CAUSAL = 0.5  # what the causal mask leaves of the exponents of the first two tokens


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """The exponents of both masks with intervals, and the distance to the two equations."""
    numbers = {}
    for mask in ("full", "causal"):
        for norm in NORMS:
            found = data[f"{mask}-{norm}"]
            for i, weights in enumerate(WEIGHTS):
                for j, beta in enumerate(p["betas"]):
                    t, gap = found["time"].values[i, j], found["gap"].values[i, j]  # (frames,) each
                    late, before = (_slope(norm, t, gap, piece) for piece in (1, 0))
                    numbers[f"{mask}_{norm}_{weights}_{beta:g}"] = compared(
                        late,
                        before,
                        f"{mask} mask, {norm}, {weights}, β = {beta:g}: slope of log(1 − ρ) in"
                        f" {_clock_name(norm)}",
                        "half: its distance to the slope of the piece before",
                        _expected(norm, pull_at_the_end(weights, beta), p)
                        * (1 if mask == "full" else CAUSAL),
                    )
    for norm in NORMS:
        found = data[f"full-{norm}"]
        gap, formula = found["gap"].values, found["formula"].values  # (weights, betas, frames)
        seen = formula > LATE_GAPS[0]
        numbers[f"off_{norm}"] = exact(
            float(np.abs(np.log(gap[seen] / formula[seen])).max()),
            f"full mask, {norm}: largest difference of log(1 − ρ) from the two equations",
            expected=0.0,
        )
    return numbers


def _slope(norm: str, t: Array, gap: Array, piece: int) -> float:
    """Of log(1 - rho) in the clock of the norm's law, in the late piece (1) or the one before (0)."""
    if norm in POWERS:
        low, high = (TIMES_BEFORE, LATE_TIMES)[piece]
        here, x = (t >= low * t[-1]) & (t <= high * t[-1]), np.log(t)
    else:
        low, high = (GAPS_BEFORE, LATE_GAPS)[piece]
        here, x = (gap > low) & (gap < high), np.sqrt(t + 1.0) if norm == "sqrt" else t
    return float(np.polyfit(x[here], np.log(gap[here]), 1)[0]) if here.sum() >= 3 else np.nan


def _clock_name(norm: str) -> str:
    return "log t" if norm in POWERS else "√(t+1)" if norm == "sqrt" else "t"


def _expected(norm: str, g: float, p: Parameters) -> float:
    """The exponent of the late law under the full mask, in its clock."""
    if norm in POWERS:
        return -2.0
    return {"post": -2.0 * g, "ngpt": -2.0 * p["alpha"], "sqrt": -4.0 * g}[norm]


def lawful(number: Number) -> bool:
    """Whether an exponent is what is expected within its interval, and that is narrow enough."""
    assert number.expected is not None
    half, size = half_width(number), abs(number.expected)
    return bool(half <= WIDEST * size and abs(number.value - number.expected) <= half + SOLVER_ERROR * size)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    off = max(numbers[f"off_{norm}"].value for norm in NORMS)

    def of(mask: str, *norms: str) -> list[Number]:
        return [one for norm in norms for name, one in numbers.items() if name.startswith(f"{mask}_{norm}_")]

    def holds(found: list[Number]) -> bool:
        return all(lawful(one) for one in found)

    def listed(mask: str, *norms: str) -> str:
        first = p["betas"][-1]
        shown = {norm: numbers[f"{mask}_{norm}_softmax_{first:g}"] for norm in norms}
        return f"softmax, β = {first:g}: " + ", ".join(f"{norm} {one}" for norm, one in shown.items())

    causal_pre, causal_rest = ("pre",), tuple(norm for norm in NORMS if norm != "pre")
    return (
        Verdict(
            "equiangular tokens meet like e^{−2t} under Post-LN (e^{−2e^β t} with exponential weights) and"
            " like t^{−2} under Pre-LN",
            "agrees" if holds(of("full", "post", "pre")) else "disagrees",
            listed("full", "post", "pre"),
        ),
        Verdict(
            "they meet like t^{−2} under Mix-LN and Peri-LN, e^{−2αt} under nGPT, e^{−4√(t+1)} with sqrt"
            " scaling (e^{−4e^β √(t+1)} with exponential weights)",
            "observed" if holds(of("full", "mix", "peri", "ngpt", "sqrt")) else "not observed",
            listed("full", "mix", "peri", "ngpt", "sqrt"),
        ),
        Verdict(
            "under every norm one overlap and one radius are all that changes: 1 − ρ obeys two equations",
            "observed" if off <= SOLVER_ERROR else "not observed",
            f"log(1 − ρ) differs from their solution by at most {off:.0e} down to 1 − ρ = {LATE_GAPS[0]:g}",
        ),
        Verdict(
            "under the causal mask Pre-LN's first two tokens meet like 1/t, not t^{−2}",
            "observed" if holds(of("causal", *causal_pre)) else "not observed",
            listed("causal", *causal_pre),
        ),
        Verdict(
            "under the causal mask the exponents of the first two tokens are halved for every other norm too",
            "observed" if holds(of("causal", *causal_rest)) else "not observed",
            listed("causal", *causal_rest),
        ),
    )


ITEM = Item(
    key="late-laws",
    title="Late laws of every norm",
    cost=Cost(quick=7.0, full=16.0),
    source="the asymptotics of Post-LN and Pre-LN; the other norms and the causal mask are ours",
    statement=(
        "Equiangular tokens, full mask, Q = K = V = I: the overlap ρ approaches 1 like 1 − ρ ~ e^{−2t} under"
        " Post-LN and like t^{−2} under Pre-LN."
    ),
    ours=(
        "The laws of Mix-LN, Peri-LN, nGPT and sqrt scaling, those of exponential weights, and the two"
        " equations behind all of them (derived in `nucleate.theory.equiangular`). Under the causal mask"
        " token 2 feels token 1 with half of the weight, and every exponent of the two is halved."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 8,
        "betas": [0.5, 2.0],
        "rho": 0.5,
        "T": 1e5,
        "decay_T": 11.0,
        "tau": 1.0,
        "alpha": 0.7,
        "frames": 201,
        "rtol": 1e-11,
    },
    quick={"frames": 101, "betas": [2.0]},
    choices=(
        "n = 8 tokens from ρ = 0.5, in 8 dimensions; τ = 1 for Mix-LN and α = 0.7 for nGPT.",
        (
            "Exponentials are fitted where 1 − ρ is between 10⁻⁸ and 10⁻⁵, powers in the last decade of t, up"
            " to 10⁵. The same fit in the piece before judges its error: corrections to the laws are larger"
            " there."
        ),
        "Under the causal mask tokens 1 and 2 do not notice the others, which are left out.",
    ),
    criteria=(
        "An exponent is lawful if it differs from the law by no more than its distance to the exponent of the"
        f" piece before, and {SOLVER_ERROR:g} of itself for the solver, and this distance is at most"
        f" {WIDEST:.0%} of it. First: agrees if those of post and pre are lawful for both weights and all β."
        " Second: observed if those of mix, peri, ngpt and sqrt are. Third: observed if log(1 − ρ) is that of"
        f" the two equations to {SOLVER_ERROR:g} wherever 1 − ρ > {LATE_GAPS[0]:g}. Fourth and fifth:"
        " observed if under the causal mask the exponents of pre, and of all other norms, are lawful for half"
        " of the law."
    ),
    captions={
        "late-laws": (
            "1 − ρ of equiangular tokens with softmax under every norm, each in the clock of its law, full"
            " mask (lines) and the first two tokens under the causal mask (dashed). Dots: the solution of the"
            " two equations. Straight lines are the laws; their fitted slopes stand beside them."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
