"""Equiangular tokens stay equiangular, and their overlap obeys one equation."""

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact
from nucleate.papers.perspective.equiangular_tokens.data import RATE_WEIGHTS, run
from nucleate.papers.perspective.equiangular_tokens.figures import draw

__all__ = ["ITEM"]

OVERLAP_ERROR = 1e-7  # of solver and formula together: steps of 1e-10 each
RATE_ERROR = 1e-11  # relative, of velocities in doubles with sums of n terms
EXPONENT_ERROR = 0.01  # of the −2 of the late law
LATE_GAPS = (1e-8, 1e-4)  # of 1 − ρ, between which the late law is fitted
CAUSAL_SPREAD = 0.1  # by which overlaps must differ under the causal mask for the instrument to count


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Distances to the formula and spreads of the overlaps; rates; the exponent of the late law."""
    numbers = {}
    for mask in ("full", "causal"):
        found = data[mask]
        off = np.maximum(
            np.abs(found["least"] - found["formula"]), np.abs(found["largest"] - found["formula"])
        )
        numbers[f"off_{mask}"] = exact(
            float(off.max()),
            f"{mask} mask: largest distance of an overlap to the formula, all pairs and times",
        )
        numbers[f"spread_{mask}"] = exact(
            float((found["largest"] - found["least"]).max()),
            f"{mask} mask: largest difference of two overlaps at one time",
        )
    rates = data["rates"]
    for i, weights in enumerate(RATE_WEIGHTS):
        one = rates.isel(weights=i)
        scale = np.abs(one["formula"]).max("overlap")  # (beta,)
        numbers[f"rate_{weights}"] = exact(
            float((np.abs(one["measured"] - one["formula"]) / scale).max()),
            f"{weights} weights: largest difference of ρ' and its formula, over its largest value",
            expected=0.0,
        )
    slopes = {beta: _late_slope(data, beta) for beta in p["betas"]}
    for beta, slope in slopes.items():
        if np.isfinite(slope):
            numbers[f"late_{beta:g}"] = exact(
                slope, f"β = {beta:g}: slope of log(1 − ρ) in t where it is small", expected=-2.0
            )
    return numbers


def _late_slope(data: Data, beta: float) -> float:
    """Of log(1 - rho), averaged over the starts; NaN if none comes so near 1."""
    found, slopes = data["full"], []
    for rho in found["rho"].values:
        gap = found["gap"].sel(beta=beta, rho=rho).values
        late = (gap > LATE_GAPS[0]) & (gap < LATE_GAPS[1])
        if late.sum() >= 3:
            slopes.append(np.polyfit(found["time"].values[late], np.log(gap[late]), 1)[0])
    return float(np.mean(slopes)) if slopes else np.nan


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    off, spread = numbers["off_full"].value, numbers["spread_full"].value
    causal = numbers["spread_causal"].value
    rates = [numbers[f"rate_{weights}"].value for weights in RATE_WEIGHTS]
    late = {name: number for name, number in numbers.items() if name.startswith("late_")}
    lawful = bool(late) and all(abs(one.value + 2.0) <= EXPONENT_ERROR for one in late.values())
    listed = ", ".join(f"{one.value:.4f}".replace("-", "−") for one in late.values())
    return (
        Verdict(
            "equiangular tokens stay equiangular, and their overlap obeys ρ' ="
            " 2e^{βρ}(1−ρ)((n−1)ρ+1)/(e^β+(n−1)e^{βρ})",
            "agrees"
            if off <= OVERLAP_ERROR and spread <= OVERLAP_ERROR and causal >= CAUSAL_SPREAD
            else "disagrees",
            f"overlaps differ from each other by {spread:.0e} and from the formula by {off:.0e} at most;"
            f" under the causal mask, where the law does not hold, by {causal:.2f}",
        ),
        Verdict(
            "with exponential weights (USA) the same equation holds with the denominator n",
            "agrees" if max(rates) <= RATE_ERROR else "disagrees",
            f"the velocities of the equation give ρ' to {rates[1]:.0e} of its largest value (softmax:"
            f" {rates[0]:.0e})",
        ),
        Verdict(
            "equiangular tokens come together like 1 − ρ ~ e^{−2t}, whatever β",
            "agrees" if lawful else "disagrees",
            f"slopes of log(1 − ρ) between {LATE_GAPS[1]:g} and {LATE_GAPS[0]:g}: {listed} for β ="
            f" {', '.join(name.removeprefix('late_') for name in late)}",
        ),
    )


ITEM = Item(
    key="equiangular-tokens",
    title="Equiangular tokens",
    cost=Cost(quick=3.0, full=8.0),
    source="the section on high dimension",
    statement=(
        "Tokens with all overlaps equal, Q = K = V = I, full mask, stay so, and their overlap obeys ρ' ="
        " 2e^{βρ}(1−ρ)((n−1)ρ+1)/(e^β+(n−1)e^{βρ}) with softmax (SA), the same with the denominator n for"
        " exponential weights (USA). With softmax 1 − ρ falls like e^{−2t} in the end."
    ),
    ours=(
        "The causal mask does not keep tokens equiangular: the same instrument must see that, or it would"
        " agree with anything."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 32,
        "betas": [1.0, 3.0, 5.0, 6.0],
        "rhos": [0.0, 0.5, -0.03],
        "T": 30.0,
        "frames": 241,
        "rtol": 1e-10,
        "rate_points": 41,
    },
    quick={"rhos": [0.0, 0.5], "frames": 121, "rate_points": 11},
    choices=(
        "n = 32 as in the phase diagram; in 32 dimensions, which such tokens span.",
        "β up to 6, at which the last stage is reached before T = 30; ρ(0) = −0.03 is nearly the least.",
        (
            "The late law is fitted where 1 − ρ, found from distances, not from overlaps near 1, is between"
            " 10⁻⁸ and 10⁻⁴."
        ),
    ),
    criteria=(
        "First: agrees if all overlaps, at all times, are equal and those of the formula to"
        f" {OVERLAP_ERROR:g}, and under the causal mask they differ by more than {CAUSAL_SPREAD:g} somewhere."
        f" Second: agrees if the velocities give ρ' to {RATE_ERROR:g} of its largest value. Third: agrees if"
        f" every slope of log(1 − ρ) is −2 to {EXPONENT_ERROR:g}."
    ),
    captions={
        "equiangular-tokens": (
            "Left: the overlap of 32 tokens that start orthogonal, under the full mask (dots), on the"
            " solution of the equation for ρ (lines). Middle: the range of all overlaps from the same start"
            " under the causal mask (bands), with the same lines. Right: 1 − ρ under the full mask, and a"
            " line that falls like e^{−2t}."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
