"""Noise: where the uniform law loses its stability, continuously or with a jump and hysteresis."""

from typing import NamedTuple

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import (
    MAX_STANDARD_ERRORS,
    STANDARD_ERRORS_95,
    half_width,
    number_with_error,
    standard_errors_off,
)
from nucleate.papers.core.numbers import Number, exact, mean_of
from nucleate.papers.noisy_transformers.noise_transition.data import DIRECTIONS, run
from nucleate.papers.noisy_transformers.noise_transition.figures import draw
from nucleate.papers.noisy_transformers.noise_transition.measures import sweep_orders, threshold
from nucleate.theory.noise_threshold import beta_star, fold, kappa_c, ordered_states

__all__ = ["ITEM"]

MAX_RELATIVE_ERROR = 0.05  # half of the interval of kappa_c, over it: a wider one decides nothing
APART = 0.1  # between the two directions: orders of N tokens are known to a few hundredths
DISORDERED, ORDERED = 0.25, 0.5  # orders below and above which a state counts as such
CLEARLY_BELOW, CLEARLY_ABOVE = 0.9, 1.1  # times kappa_c, where N tokens are not in between
EDGE = 0.03  # of fold and kappa_c: N tokens jump a little before or after
FINITE_SIZE = 10.0  # over N: standard error of an order for the finite number of tokens


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """kappa_c, and the order in both directions for every kappa."""
    numbers = {"beta_star": exact(beta_star(2), "β_* in d = 2, by the formula")}
    for beta in p["sweeps"]:
        critical = kappa_c(float(beta), 2)
        found, error = threshold(data, p, beta, critical)
        numbers[f"kappa_c_{beta}"] = number_with_error(
            found,
            error,
            f"β = {beta}: κ at which the first harmonic neither grows nor decays",
            f"95 % interval of the zero of a line through {len(p['growth_ratios'])} rates",
            critical,
        )
        least, _ = fold(float(beta), 2)
        numbers[f"fold_{beta}"] = exact(least / critical, f"β = {beta}: least κ/κ_c of an ordered state")
        branch, orders = ordered_states(float(beta), 2), sweep_orders(data, p, beta)
        for direction, by_ratio in zip(DIRECTIONS, orders, strict=True):
            for ratio, order in zip(p["sweeps"][beta], by_ratio, strict=True):
                at, stable = branch.at(ratio * critical)
                expected = float(at[stable][0]) if stable.any() else None
                numbers[f"{direction}_{beta}_{ratio:g}"] = mean_of(
                    order, f"β = {beta}, κ = {ratio:g} κ_c, {direction}: order |mean token|", expected
                )
    return numbers


class Sweep(NamedTuple):
    """Both directions at one beta."""

    beta: str
    ratios: list[float]
    up: list[Number]
    down: list[Number]
    fold: float  # over kappa_c; 1 where the transition is continuous

    def apart(self) -> list[float]:
        """The ratios at which the two directions differ."""
        found = []
        for ratio, up, down in zip(self.ratios, self.up, self.down, strict=True):
            error = np.hypot(half_width(up), half_width(down)) / STANDARD_ERRORS_95
            if abs(down.value - up.value) > max(APART, MAX_STANDARD_ERRORS * error):
                found.append(ratio)
        return found

    @property
    def middle(self) -> float:
        """The ratio closest to the middle between fold and kappa_c."""
        return min(self.ratios, key=lambda ratio: abs(ratio - (1.0 + self.fold) / 2.0))

    def off_branch(self, n: int) -> float:
        """The largest distance from the stable branch, in standard errors, where N tokens are on it."""
        first = CLEARLY_ABOVE if self.fold == 1.0 else self.middle
        on = [one for ratio, one in zip(self.ratios, self.down, strict=True) if ratio >= first]
        on += [one for ratio, one in zip(self.ratios, self.up, strict=True) if ratio >= CLEARLY_ABOVE]
        off = []
        for one in on:
            assert one.expected is not None
            error = np.hypot(half_width(one) / STANDARD_ERRORS_95, FINITE_SIZE / n)
            off.append(abs(one.value - one.expected) / error)
        return float(max(off))


def _sweep(numbers: Numbers, p: Parameters, beta: str) -> Sweep:
    ratios = p["sweeps"][beta]
    up, down = ([numbers[f"{way}_{beta}_{ratio:g}"] for ratio in ratios] for way in DIRECTIONS)
    return Sweep(beta, list(ratios), up, down, numbers[f"fold_{beta}"].value)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    low, high = sorted(p["sweeps"], key=float)
    below, above = _sweep(numbers, p, low), _sweep(numbers, p, high)
    found = [numbers[f"kappa_c_{beta}"] for beta in (low, high)]
    narrow = all(half_width(one) <= MAX_RELATIVE_ERROR * one.value for one in found)
    on_kappa_c = max(standard_errors_off(one) for one in found) <= MAX_STANDARD_ERRORS
    word: Word = "agrees" if on_kappa_c else "disagrees"
    quiet = max(
        one.value
        for ratio, *both in zip(below.ratios, below.up, below.down, strict=True)
        for one in both
        if ratio <= CLEARLY_BELOW
    )
    continuous = not below.apart() and quiet < DISORDERED
    down = np.array([one.value for one in above.down])  # (ratios,)
    early = [ratio for ratio, order in zip(above.ratios, down, strict=True) if ratio < 1 and order > ORDERED]
    jump = float(np.abs(np.diff(down)).max())
    discontinuous = bool(early) and down[0] < DISORDERED and jump > ORDERED - DISORDERED
    apart = above.apart()
    inside = above.middle in apart and all(above.fold - EDGE <= ratio <= 1.0 + EDGE for ratio in apart)
    off = max(below.off_branch(p["n"]), above.off_branch(p["n"]))
    return (
        Verdict(
            "the uniform law is linearly stable up to κ_c = β/I_1(β) and not beyond (d = 2)",
            word if narrow or word == "disagrees" else "not testable here",
            "; ".join(
                f"β = {beta}: {one}, formula {one.expected:.4g}"
                for beta, one in zip((low, high), found, strict=True)
            ),
        ),
        Verdict(
            f"for β = {low}, below β_* = {numbers['beta_star'].value:.4f}, the transition is continuous",
            "agrees" if continuous else "disagrees",
            f"κ raised and lowered gives the same order at {len(below.ratios) - len(below.apart())} of"
            f" {len(below.ratios)} κ; it is at most {quiet:.2f} up to {CLEARLY_BELOW:g} κ_c",
        ),
        Verdict(
            f"for β = {high}, above β_*, it is discontinuous, and tokens are ordered at some κ below κ_c",
            "agrees" if discontinuous else "disagrees",
            (
                f"lowering κ, the order is above {ORDERED:g} down to {min(early):g} κ_c"
                if early
                else f"lowering κ, the order is nowhere above {ORDERED:g} below κ_c"
            )
            + f", and its largest change between two κ is {jump:.2f}",
        ),
        Verdict(
            f"for β = {high} there is hysteresis between the fold of the ordered states and κ_c",
            "observed" if inside else "not observed",
            f"fold at {above.fold:.3f} κ_c; the two directions differ at κ/κ_c = "
            + (", ".join(f"{ratio:g}" for ratio in apart) or "none"),
        ),
        Verdict(
            "orders lie on the stable branch of infinitely many tokens",
            "observed" if off <= MAX_STANDARD_ERRORS else "not observed",
            f"at most {off:.1f} standard errors off, {FINITE_SIZE:g}/N for the number of tokens included",
        ),
    )


ITEM = Item(
    key="noise-transition",
    title="The noise transition",
    cost=Cost(quick=38.0, full=240.0),
    source="the abstract",
    statement=(
        "Tokens with exponential weights (USA), full mask, Q = K = V = I, and noise. In every dimension there"
        " is one β_* with I_{d/2+1}(β_*)/I_{d/2}(β_*) = 1/d. For β ≤ β_* the uniform law is the only"
        " minimiser of the free energy up to the threshold of its linear stability, and the transition is"
        " continuous. For β > β_* it is not a minimiser at that threshold: the transition comes earlier and"
        " is discontinuous."
    ),
    ours=(
        "With dX = P(USA) dt + √(2/κ) dW the threshold is κ_c = β/I_1(β) in d = 2. The branch of ordered"
        " states (`nucleate.theory.noise_threshold`), its fold, and hysteresis between the fold and κ_c: the"
        " paper speaks of minimisers, not of what tokens do while κ changes."
    ),
    parameters={
        "Q, K, V": "I",
        "d": 2,
        "sweeps": {
            "1.5": [0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.35, 1.5],
            "6": [0.75, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.97, 1.0, 1.03, 1.1],
        },
        "n": 1000,
        "runs": 8,
        "T": 160.0,
        "dt": 0.02,
        "frames": 81,
        "growth_ratios": [0.6, 0.8, 1.0, 1.2, 1.4],
        "first_harmonic": 0.05,
        "growth_n": 4000,
        "growth_runs": 100,
        "growth_T": 1.5,
        "seed": 0,
    },
    quick={
        "sweeps": {
            "1.5": [0.7, 0.9, 1.0, 1.1, 1.3],
            "6": [0.75, 0.84, 0.88, 0.92, 0.97, 1.03, 1.1],
        },
        "n": 600,
        "runs": 6,
        "T": 80.0,
        "growth_n": 2000,
        "growth_runs": 64,
    },
    choices=(
        "d = 2; β = 1.5 and 6 are ours, on both sides of β_* = 2.4469. Steps of weak order 2.",
        (
            "T and dt are in units of κ, T for every κ, of which the second half is averaged. A run begins"
            " with uniform tokens at the least κ, goes up and comes down again, each κ from the end of the"
            " last. Intervals are over independent runs."
        ),
        (
            "κ_c: tokens at the quantiles of the density (1 + 2a cos θ)/2π, a = 0.05. κ times the rate of the"
            " first harmonic is κ/κ_c − 1; its zero is taken from a line through the rates. a² times the pull"
            " counts as an error for terms of third order."
        ),
    ),
    criteria=(
        f"First: agrees if at both β the measured κ_c is within {MAX_STANDARD_ERRORS:g} standard errors of"
        f" the formula; undecided if half of an interval is more than {MAX_RELATIVE_ERROR:.0%} of it. Two"
        f" orders differ if they are more than {APART:g} and {MAX_STANDARD_ERRORS:g} standard errors apart."
        f" Second: agrees if at no κ the two directions differ, and up to {CLEARLY_BELOW:g} κ_c the order is"
        f" below {DISORDERED:g}. Third: agrees if coming down the order is above {ORDERED:g} at some κ below"
        f" κ_c and below {DISORDERED:g} at the least κ, with a change of more than {ORDERED - DISORDERED:g}"
        " between two neighbours. Fourth: observed if the directions differ at the κ closest to the middle"
        f" between fold and κ_c, and nowhere farther than {EDGE:g} κ_c outside. Fifth: observed if orders are"
        f" within {MAX_STANDARD_ERRORS:g} standard errors of the branch, for which {FINITE_SIZE:g}/N counts"
        f" as another error: at κ ≥ {CLEARLY_ABOVE:g} κ_c, and for the larger β coming down from that middle"
        " on."
    ),
    captions={
        "noise-transition": (
            "Left: κ times the rate at which a small first harmonic grows, at both β, on the line κ/κ_c − 1."
            " Middle and right: the order |mean token| while κ is raised (triangles up) and lowered again"
            " (triangles down), with 95 % intervals, on the stable (full) and unstable (dashed) states of"
            " infinitely many tokens. For the larger β the two directions differ between the fold and κ_c,"
            " shaded."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
