"""Lemma 3.1: how fast one token comes near the dominant eigenspace of V."""

import numpy as np

from nucleate.papers.causal_clustering.lemma31.data import KINDS, run
from nucleate.papers.causal_clustering.lemma31.figures import draw
from nucleate.papers.causal_clustering.lemma31.measures import RATE_ERROR, powers, rates, rotation
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

POWER_ERROR = 0.02  # of the power -1: 1/t is followed by terms of 1/t^2
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
            "for almost every start one token comes near L' at least exponentially: dist(x, L') ≤ C e^{−ct}",
            "agrees" if sound and rate <= RATE_ERROR else "disagrees",
            f"in all of {runs} runs, {len(KINDS)} kinds of dominant eigenvalue, it does; simulation and exact"
            f" flow differ by {wrong:.0e}",
        ),
        Verdict(
            "for almost every start one token comes near L at least as fast as 1/t: dist(x, L) ≤ C/t",
            "agrees" if sound and power <= POWER_ERROR else "disagrees",
            f"for {len(defective)} kinds of defective dominant eigenvalue, with blocks of one size and of"
            f" several, powers of t are −1 to {power:.1e}; for others L' is L, and it is exponential",
        ),
        Verdict(
            "Lemma 3.1's rates are sharp: the gap towards L', and 1/t towards L if the dominant eigenvalue is"
            " defective",
            "proved" if sound and rate <= RATE_ERROR and power <= POWER_ERROR else "contradicted",
            f"from almost every start; fitted rates are the spectral gap to {rate:.1%}, fitted powers −1 to"
            f" {power:.1e}",
            proof="proofs.md#one-token-the-rates-of-lemma-31-are-sharp",
        ),
        Verdict(
            "if a largest Jordan block of the dominant real part belongs to a complex pair λ ± iω, one token"
            " converges to no point; if L is the plane of that pair, it goes round in it once in every 2π/ω",
            "proved" if sound and rotation_off <= ROTATION_ERROR else "contradicted",
            f"from almost every start; measured where L is a plane, angular speeds are ω to"
            f" {rotation_off:.0e}",
            proof="proofs.md#one-token-complex-dominant-eigenvalues",
        ),
    )


ITEM = Item(
    key="lemma3.1",
    title="Lemma 3.1: one token",
    cost=Cost(quick=7.1, full=10.0),
    source="Lemma 3.1",
    statement=(
        "One token moves by x' = P_x(Vx). Let λ_max be the largest real part of V's eigenvalues, L' the span"
        " of the generalised eigenvectors there, ν the size of the largest Jordan block, and L ⊂ L' the range"
        " of (V − λ)^{ν−1} on L': true eigenvectors, their real and imaginary parts if complex. For almost"
        " every start dist(x, L') ≤ C e^{−ct} and dist(x, L) ≤ C/t."
    ),
    ours=(
        "That both bounds are attained, with c the spectral gap (from λ_max to the next real part), and that"
        " the token converges to no point if a largest Jordan block belongs to a complex pair. (A pair in"
        " smaller blocks only does not keep it from converging.)"
    ),
    parameters={"d": 8, "lambda_max": 1.0, "runs": 40, "seed": 0},
    quick={"runs": 8},
    choices=(
        (
            "Random V in eight dimensions, block upper triangular so that equal eigenvalues are equal to the"
            " last bit, with Gaussian entries above the blocks, so that V is not normal: dominant real part"
            " 1, next real part 0.3 to 0.6 below it, the others at least 0.4 farther down."
        ),
        (
            "Rates are fitted to the exact flow where time times gap is 200 to 600, for near a defective"
            " eigenvalue the distance from L' is e^{−ct} t^{−(ν−1)}, and powers of t take long to be"
            " outgrown; and for other kinds to the simulation, too, at 12 to 21."
        ),
        (
            "Powers of t are fitted to the exact flow from t = 10⁵ to 10⁸; from 1000 on, where they were"
            " fitted first, one start with little of the largest block is still on the way there, and the"
            " error falls like 1/t. The exact flow is e^{tV}x/|e^{tV}x|, and the simulation is compared with"
            " it."
        ),
    ),
    criteria=(
        f"First: agrees if every rate is the gap to {RATE_ERROR:.0%}. Second: agrees if every power for"
        f" defective eigenvalues is −1 to {POWER_ERROR:g}. Third: proved; contradicted if one of these is"
        " not. Fourth: proved; contradicted if a speed is not ω to"
        f" {ROTATION_ERROR:g}. All: the atlas takes every V for what it is, and the simulation is the exact"
        f" flow to {SIMULATION_ERROR:g}."
    ),
    captions={
        "lemma31": (
            "Left: distance of one token from L' against time times spectral gap, median over V, for nine"
            " kinds of dominant eigenvalue (blocks are Jordan blocks); dashed e^{−s}. Middle: distance from"
            " L where the dominant eigenvalue is defective, some V each, against time; dashed 1/t. Right:"
            " all fitted rates divided by the gap."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
