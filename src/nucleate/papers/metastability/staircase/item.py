"""The energy of five tokens in rescaled time is a staircase with steps at the sums of squared masses."""

from itertools import pairwise

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, compared, exact
from nucleate.papers.metastability.staircase.data import run, start_angles
from nucleate.papers.metastability.staircase.figures import draw
from nucleate.papers.metastability.staircase.measures import FLAT, energy_after_merges, flat_share, levels

__all__ = ["ITEM"]

STEEP_BETA = 1000.0  # from which on levels are judged: below, the gaps are not much larger than β^(−1/2)
EXPONENT_ERROR = 0.05  # of the exponential rate of the last merge time
TWIN_ERROR = 0.01  # of merge times by the general solver: frames are 0.5 % apart


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Levels after merges, flatness, the rate at which the last merge time grows with beta; and how well
    clusters stand for their tokens."""
    numbers = {}
    for beta in p["betas"]:
        found = data[f"beta{beta:g}"]
        expected, after = levels(found["member"].values), energy_after_merges(found)
        numbers[f"off_{beta:g}"] = exact(
            np.abs(after - expected[1:]).max(),
            f"β = {beta:g}: largest distance of the energy after a merge to Σ (mass)²",
            expected=0.0,
        )
        numbers[f"flat_{beta:g}"] = exact(
            flat_share(found),
            f"β = {beta:g}: share of rescaled time in which the energy is within {FLAT:g} of a level",
        )
    steep = [beta for beta in p["betas"] if beta >= STEEP_BETA]
    last = data[f"beta{steep[-1]:g}"]
    gap = _last_gap(last, p)
    log_t = [float(np.log(data[f"beta{beta:g}"]["merge_time"].values[-1])) for beta in steep]
    numbers["rate"] = exact(
        np.polyfit(steep, log_t, 1)[0],
        f"rate at which the logarithm of the last merge time grows with β, β = {steep[0]:g} to {steep[-1]:g}",
        "slope of a line",
        1.0 - np.cos(gap),
    )
    twin = data["twin"]
    for merge in range(twin.sizes["merge"]):
        numbers[f"twin_{merge + 1}"] = compared(
            float(twin["clusters"][merge]),
            float(twin["direct"][merge]),
            f"softmax, β = {p['twin_beta']:g}: time of merge {merge + 1} with clusters as points",
            "distance to the general solver",
        )
    return numbers


def _last_gap(found: "Data", p: Parameters) -> float:
    """The distance of the last two clusters when they had just formed: of the centres of mass of their tokens
    at the start, which exponential weights keep."""
    tokens, phi = found["member"].values.astype(bool), start_angles(p)
    one = tokens[-2]  # the cluster that formed last before the end; all others are the other one
    return float(abs(phi[one].mean() - phi[~one].mean()))


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    steep = [beta for beta in p["betas"] if beta >= STEEP_BETA]
    off = max(numbers[f"off_{beta:g}"].value for beta in steep)
    flat = [numbers[f"flat_{beta:g}"].value for beta in p["betas"]]
    twins = [number for name, number in numbers.items() if name.startswith("twin_")]
    apart = max(((one.high or one.value) - one.value) / one.value for one in twins)
    stairs = off <= FLAT and all(later > earlier for earlier, later in pairwise(flat)) and apart <= TWIN_ERROR
    rate = numbers["rate"]
    assert rate.expected is not None
    return (
        Verdict(
            "in rescaled time the energy is a staircase: it rests at Σ (mass)² of the clusters, the longer"
            " the larger β, and reaches its largest value in finite rescaled time",
            "agrees" if stairs else "disagrees",
            f"after every merge the energy is within {off:.0e} of Σ (mass)² for β ≥ {STEEP_BETA:g}, and for"
            f" {', '.join(f'{one:.0%}' for one in flat)} of the rescaled time within {FLAT:g} of such a level"
            f" (β = {', '.join(f'{beta:g}' for beta in p['betas'])}); clusters as points give the general"
            f" solver's merge times to {apart:.1%} at β = {p['twin_beta']:g}",
        ),
        Verdict(
            "clusters stay apart for a time that is exponential in β",
            "agrees" if abs(rate.value / rate.expected - 1.0) <= EXPONENT_ERROR else "disagrees",
            f"the last merge comes at a time like e^{{{rate.value:.4f} β}}; the last two clusters are at"
            f" first at a distance δ with 1 − cos δ = {rate.expected:.4f}",
        ),
    )


ITEM = Item(
    key="staircase",
    title="The staircase of the energy",
    cost=Cost(quick=10.0, full=10.0),
    source="the section beyond metastability",
    statement=(
        "Tokens near separated clusters stay there for a time that is exponential in β, before clusters"
        " merge. Beyond that, five tokens on the circle from the angles ½{0, 0.5, 2, 4, 7} log(2000)/√2000,"
        " full mask, Q = K = V = I, β = 500, 1000, 1500, 2000, 3000 and 4000: under a suitable rescaling of"
        " time the energy reaches its maximum in finite time and is a staircase, going from saddle to saddle."
    ),
    ours=(
        "The plateaus are Σ (mass)² of the clusters. Physical times are like e^{β(1−cos δ)}, 10⁵⁰ and more at"
        " β = 4000, which no explicit solver can step through, for tokens within a cluster attract each other"
        " at a rate of the size of 1 all the while. Tokens that have met are therefore followed as one point"
        " with a mass, which is exact for tokens at one point, and at a small β all merge times are compared"
        " with the general solver's."
    ),
    parameters={
        "Q, K, V": "I",
        "mask": "full",
        "weights": "exponential",
        "places": [0.0, 0.5, 2.0, 4.0, 7.0],
        "unit_beta": 2000.0,
        "betas": [500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0],
        "twin_beta": 150.0,
        "twin_gap": 1e-7,
        "twin_frames": 4000,
    },
    quick={},
    choices=(
        "The rescaled time is that of the authors' program: all tokens together go a way of log β per unit.",
        "Exponential weights (USA), as in that program, in units of e^{−β}; the comparison is with softmax.",
        (
            "Two clusters are one when 10⁻⁷ β^(−1/2) apart, and stay at their centre of mass. The authors'"
            " program takes Euler steps and sets tokens equal below 10⁻⁴."
        ),
    ),
    criteria=(
        f"First: agrees if for β ≥ {STEEP_BETA:g} the energy after every merge is within {FLAT:g} of Σ"
        " (mass)²; if the share of rescaled time within that of a level is larger for every larger β; and if"
        f" merge times with clusters as points are those of the general solver to {TWIN_ERROR:.0%}. Second:"
        f" agrees if the logarithm of the last merge time grows with β, from {STEEP_BETA:g} on, like 1 − cos"
        f" δ to {EXPONENT_ERROR:.0%}, δ being the distance of the centres of mass of the last two clusters."
    ),
    captions={
        "staircase": (
            "Left: the energy over rescaled time for six β; grey: the sums of squared masses. Middle: the"
            " five tokens at the largest β. Right: the times of the four merges against β, up to powers of"
            " ten that no direct simulation reaches."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
