"""Lemma 3.1: how fast one token comes near the dominant eigenspace of V."""

import numpy as np

from nucleate.papers.causal_clustering.lemma31.data import KINDS, run
from nucleate.papers.causal_clustering.lemma31.figures import draw
from nucleate.papers.causal_clustering.lemma31.measures import RATE_ERROR, powers, rates, rotation
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

POWER_ERROR = 0.02  # of the power -1: 1/t is followed by terms of 1/t^2, which at t = 1000 are not quite gone
ROTATION_ERROR = 1e-3  # of the speed of rotation, fitted over a few turns
SIMULATION_ERROR = 1e-9  # a thousand times the tolerance of the simulation


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Rates and powers, kind by kind."""
    from nucleate.theory.atlas import atlas

    numbers: dict[str, Number] = {}
    for kind in KINDS:
        found, words = data[kind.name], kind.words
        rate = rates(kind, found)
        known = [atlas(V) for V in found["V"].values]
        misclassified = [
            one
            for one in known
            if (one.algebraic, one.basis.shape[1], one.block, "complex" in one.kind)
            != (kind.generalised_dimension, kind.dimension, kind.block, kind.is_complex)
        ]
        numbers |= {
            f"{kind.name}_misclassified": exact(
                len(misclassified), f"{words}: V that the atlas takes for another kind", expected=0.0
            ),
            f"{kind.name}_rate": mean_of(
                rate, f"{words}: rate with which a token comes near L', divided by the spectral gap", 1.0
            ),
            f"{kind.name}_rate_worst": exact(
                np.abs(rate - 1.0).max(), f"{words}: the worst of these, difference from 1", expected=0.0
            ),
            f"{kind.name}_wrong": exact(
                found["wrong"].values.max(),
                f"{words}: largest difference of the simulation from the exact flow",
                expected=0.0,
            ),
        }
        if kind.block == 1:
            simulated = np.abs(rates(kind, found, simulated=True) - 1.0).max()
            numbers[f"{kind.name}_simulated"] = exact(
                simulated,
                f"{words}: the same fitted to the simulation, worst difference from 1",
                expected=0.0,
            )
        if kind.block > 1:
            power = powers(kind, found)
            numbers |= {
                f"{kind.name}_power": mean_of(
                    power, f"{words}: power of t with which a token comes near L", -1.0
                ),
                f"{kind.name}_power_worst": exact(
                    np.abs(power + 1.0).max(),
                    f"{words}: the worst of these, difference from −1",
                    expected=0.0,
                ),
            }
        if kind.is_complex and kind.block == 1:
            speed = rotation(found)
            numbers["rotation"] = mean_of(speed, f"{words}: angular speed divided by the imaginary part", 1.0)
            numbers["rotation_worst"] = exact(
                np.abs(speed - 1.0).max(), "the worst of these, difference from 1", expected=0.0
            )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    misclassified = sum(int(numbers[f"{kind.name}_misclassified"].value) for kind in KINDS)
    rate = max(
        max(
            numbers[f"{kind.name}_rate_worst"].value,
            numbers[f"{kind.name}_simulated"].value if kind.block == 1 else 0.0,
        )
        for kind in KINDS
    )
    wrong = max(numbers[f"{kind.name}_wrong"].value for kind in KINDS)
    defective = [kind for kind in KINDS if kind.block > 1]
    power = max(numbers[f"{kind.name}_power_worst"].value for kind in defective)
    sound = misclassified == 0 and wrong <= SIMULATION_ERROR
    rotation_off = numbers["rotation_worst"].value
    runs = p["runs"] * len(KINDS)
    return (
        Verdict(
            "a token comes near L' exponentially fast",
            "agrees" if sound and rate <= RATE_ERROR else "disagrees",
            f"in all of {runs} runs, six kinds of dominant eigenvalue, it does, at the rate of the spectral"
            f" gap to {rate:.1%} at worst, so the bound is sharp (ours); simulation and exact flow differ by"
            f" {wrong:.0e}",
        ),
        Verdict(
            "a token comes near L at least as fast as 1/t",
            "agrees" if sound and power <= POWER_ERROR else "disagrees",
            f"exactly like 1/t where the dominant eigenvalue is defective: powers of t are −1 to {power:.1e}"
            " for r = 2, r = 3 and complex ones; where it is not, L' is L, and it is exponential",
        ),
        Verdict(
            "with complex dominant eigenvalues it converges to no point, and rotates at the speed of the"
            " imaginary part (ours)",
            "agrees" if sound and rotation_off <= ROTATION_ERROR else "disagrees",
            f"measured speeds are those of the imaginary part to {rotation_off:.0e}",
        ),
    )


ITEM = Item(
    key="lemma3.1",
    title="Lemma 3.1: one token",
    source="Lemma 3.1",
    statement=(
        "x' = P_x(Vx). With L' the generalised eigenspace at the largest real part and L the part of it that"
        " the largest Jordan blocks reach, for almost every start dist(x, L') ≤ C e^{−ct} and dist(x, L) ≤"
        " C/t. That c is the spectral gap, that 1/t is attained exactly for defective dominant eigenvalues,"
        " and that with complex ones the token rotates for ever is our own statement."
    ),
    parameters={"d": 6, "lambda_max": 1.0, "runs": 60, "seed": 0},
    quick={"runs": 8},
    choices=(
        (
            "Random V in six dimensions, block upper triangular so that equal eigenvalues are equal to the"
            " last bit, with Gaussian entries above the blocks, so that V is not normal: dominant real part"
            " 1, next real part 0.3 to 0.6 below it, the others at least 0.4 farther down."
        ),
        (
            "Rates are fitted to the exact flow where time times gap is 200 to 600, for near a defective"
            " eigenvalue the distance from L' is e^{−ct} t^{−(r−1)}, and powers of t take long to be"
            " outgrown; and for other kinds to the simulation, too, at 12 to 21."
        ),
        (
            "Powers of t are fitted to the exact flow from t = 1000 to 1,000,000; the exact flow is"
            " e^{tV}x/|e^{tV}x|, and the simulation is compared with it."
        ),
    ),
    criteria=(
        f"First: agrees if every rate is the gap to {RATE_ERROR:.0%}. Second: agrees if every power for"
        f" defective eigenvalues is −1 to {POWER_ERROR:g}. Third: agrees if every speed is the imaginary part"
        f" to {ROTATION_ERROR:g}. All: the atlas takes every V for what it is, and the simulation is the"
        f" exact flow to {SIMULATION_ERROR:g}."
    ),
    captions={
        "lemma31": (
            "Left: distance of one token from L' against time times spectral gap, median over V, for six"
            " kinds of dominant eigenvalue; dashed e^{−s}. Middle: distance from L where the dominant"
            " eigenvalue is defective, some V each, against time; dashed 1/t. Right: all fitted rates divided"
            " by the gap."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
