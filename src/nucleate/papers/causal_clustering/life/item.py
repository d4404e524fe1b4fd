"""The whole life of a metastable state: tokens gather, clusters merge one by one, and all end where the first
token began."""

import numpy as np

from nucleate.papers.causal_clustering.life.data import run
from nucleate.papers.causal_clustering.life.figures import draw
from nucleate.papers.causal_clustering.life.measures import fitted_slope, last_lifetimes
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

__all__ = ["ITEM"]

SLOPE_ERROR = 0.05  # of the slope of the law, which is 1: its prefactor changes with the angle, too
MAX_LOG_ERROR = 0.01  # of the logarithm to base 10 of the last lifetime, against the exact two-token time


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """How lives end, how many clusters there are, and the law of the last merge."""
    from nucleate.theory.counts import expected_centers

    numbers: dict[str, Number] = {}
    every = [data[f"beta{beta:g}"] for beta in p["betas"]]
    for beta, found in zip(p["betas"], every, strict=True):
        key, starts = f"beta{beta:g}", int(found.sizes["start"])
        delta = min(4.0 / beta**0.5, np.pi)
        last = np.log10(found["last_time"].values[np.isfinite(found["last_time"].values)])
        numbers |= {
            f"{key}_whole": share_of(
                int(((found["whole"].values == 1.0) & (found["off"].values <= END_DISTANCE)).sum()),
                starts,
                f"β = {beta:g}: lives that end with every token within {END_DISTANCE:g} of x_1(0)",
                1.0,
            ),
            f"{key}_off": exact(
                found["off"].values.max(),
                f"β = {beta:g}: largest distance of any token from x_1(0) at the end",
                expected=0.0,
            ),
            f"{key}_formed": mean_of(
                found["t_f"].values,
                f"β = {beta:g}: time at which 95 % of the tokens lie in clusters narrower than β^(−1/2)",
            ),
            f"{key}_clusters": mean_of(
                found["leaders"].values,
                f"β = {beta:g}: clusters at that time; expected is the number of Rényi centers, δ ="
                " 4β^(−1/2), many tokens",
                expected_centers(delta, 2),
            ),
            f"{key}_strong": exact(
                expected_centers(delta, 2, n=p["n"], strong=True),
                f"β = {beta:g}: expected number of strong centers among {p['n']} tokens",
                "Lemma C.1",
            ),
            f"{key}_last": mean_of(last, f"β = {beta:g}: logarithm to base 10 of the time of the last merge"),
        }
    x, y, expected = last_lifetimes(every, p["betas"])
    slope, half = fitted_slope(x, y)
    gap = np.abs(y - expected) / np.log(10.0)
    numbers |= {
        "law_slope": Number(
            slope,
            "slope of log(time of the last merge) against β(1 − cos Δ), all β together",
            slope - half,
            slope + half,
            f"95 % interval of a straight line through {len(x)} lives",
            1.0,
        ),
        "law_exact": exact(
            gap.max(),
            "largest difference of log₁₀(lifetime of the last two clusters) from the exact two-token time"
            " with the weight of the tokens the last leader sees",
            expected=0.0,
        ),
        "law_median": exact(np.median(gap), "median of these differences", expected=0.0),
        "law_below": exact(
            (x - y).max() / np.log(10.0), "decades by which a lifetime lies below e^{β(1 − cos Δ)}, at most"
        ),
    }
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    shares = [numbers[f"beta{beta:g}_whole"] for beta in p["betas"]]
    count = [sum(share.count[i] for share in shares if share.count) for i in range(2)]
    worst = max(numbers[f"beta{beta:g}_off"].value for beta in p["betas"])
    slope, gap = numbers["law_slope"], numbers["law_exact"].value
    lasts = ", ".join(f"10^{numbers[f'beta{beta:g}_last'].value:.0f}" for beta in p["betas"])
    return (
        Verdict(
            "V = I: every token ends at x_1(0) (Theorem 4.1)",
            "agrees" if count[0] == count[1] else "disagrees",
            f"{count[0]} of {count[1]} lives do, to {worst:.0e}, after last merges at about t = {lasts} for β"
            f" = {', '.join(f'{beta:g}' for beta in p['betas'])}",
        ),
        Verdict(
            "clusters are metastable: the last two live as long as the exact two-token law says, with the"
            " exponent β(1 − cos Δ) (ours)",
            "evidence for"
            if abs(slope.value - 1.0) <= SLOPE_ERROR and gap <= MAX_LOG_ERROR
            else "evidence against",
            f"the exact two-token law gives every lifetime to {100 * (10**gap - 1):.2g} %; of all lives"
            f" together log time against β(1 − cos Δ) has slope {slope.value:.3f} ±"
            f" {((slope.high or 0.0) - (slope.low or 0.0)) / 2:.3f}, though one may live up to"
            f" {numbers['law_below'].value:.1f} decades shorter than e^{{β(1 − cos Δ)}}, by the law's"
            " prefactor",
        ),
    )


ITEM = Item(
    key="life",
    title="The whole life of a metastable state",
    source="Theorem 4.1 and section 5",
    statement=(
        "With Q = K = V = I tokens gather into clusters that live for very long times, and in the end every"
        " token goes to where the first one began (Theorem 4.1). The paper follows the clusters to t = 150;"
        " here they are followed to the end. That the last two clusters, Δ apart, live as long as the exact"
        " two-token law says, the exponential of β(1 − cos Δ) times a prefactor, is our own statement."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 200,
        "d": 2,
        "betas": [16.0, 36.0, 64.0, 100.0],
        "starts": 50,
        "shown_beta": 64.0,
        "shown_seed": 0,
    },
    quick={"starts": 6},
    choices=(
        (
            "The values of β, the number of starts (uniform, seeds 0, 1, …) and n and d, which are those of"
            " Figure 2."
        ),
        (
            "Clusters over time: tokens joined by steps of at most 0.1 β^(−1/2), so that at first nearly"
            " every token is one. Merges: a cluster is lost when its first member comes within 0.1 β^(−1/2)"
            " of a cluster with an earlier first member."
        ),
        (
            "Δ is the angle between the first members of the last two clusters at the moment from which on"
            " there are only two. The exact two-token law takes the k tokens before the last leader as one,"
            " fixed at x_1(0)."
        ),
    ),
    criteria=(
        f"First: agrees if every life ends with all tokens within {END_DISTANCE:g} of x_1(0). Second:"
        f" evidence for if every lifetime is that of the exact two-token law to {MAX_LOG_ERROR:g} in its"
        " logarithm to base 10, and the slope of log(lifetime) against β(1 − cos Δ) over all lives is 1 to"
        f" {SLOPE_ERROR:g}."
    ),
    captions={
        "life": (
            "One life at β = 64, from t = 0.01 to the end: the angle of every token over powers of ten of"
            " time, with a ring where a cluster joins an earlier one, above the number of clusters."
        ),
        "life-counts": (
            "The number of clusters over powers of ten of time for four β: mean over starts, and the band"
            " that 80 % of them keep to."
        ),
        "life-law": (
            "Left: lifetime of the last two clusters against β(1 − cos Δ), one mark per start, and the line"
            " e^{β(1 − cos Δ)}: the slope is that of all marks together, most of which lie below the line by"
            " the law's prefactor. Right: what is left after the exact two-token law is taken off, which"
            " knows that prefactor."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
