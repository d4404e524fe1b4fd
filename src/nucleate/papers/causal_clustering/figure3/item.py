"""Figure 3: the share of tokens consumed by Rényi centers and by strong ones over time, in 5000 runs, and the
clusters that either explain."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.figure3.data import KINDS, observable_name, run
from nucleate.papers.causal_clustering.figure3.explained import BETA, CLUSTER_SHARES, DELTA
from nucleate.papers.causal_clustering.figure3.figures import draw
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import plus_minus
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

MIN_UNEXPLAINED = 0.05  # of the clusters: with about nine, one is left over in every second picture or so
SOON = 0.1  # of the time: by then half of the rise must be over
CLUSTER_WORDS = {
    "strong": "strong centers",
    "renyi": "Rényi centers",
    "random_strong": "as many random tokens as there are strong centers, expected",
    "random_renyi": "as many random tokens as there are Rényi centers, expected",
    "strong_and_random": (
        "strong centers and random tokens, together as many as there are Rényi centers, expected"
    ),
}


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Mean shares at the end, at each radius; when half of that is reached; clusters that have a center; and
    all that of random tokens."""
    found = data["ensemble"]
    t, runs = found["time"].values, int(found.sizes["run"])
    numbers = {
        "runs": exact(runs, "runs", expected=float(p["runs"])),
        "not_done": exact(
            (found["status"].values != _done()).sum(), "runs that did not reach the end", expected=0.0
        ),
    }
    for radius in p["radii"]:
        for kind, words in KINDS.items():
            share = found[observable_name(kind, radius)].values  # (runs, m)
            mean = share.mean(0)  # (m,)
            low, high = np.quantile(share[:, -1], [0.1, 0.9])
            name, at = observable_name(kind, radius), f"within {radius:g} β^(−1/2) of {words}"
            numbers |= {
                f"{name}_end": mean_of(share[:, -1], f"mean share of tokens {at} at t = {p['t']:g}"),
                f"{name}_low": exact(low, "its .1 quantile over runs"),
                f"{name}_high": exact(high, "its .9 quantile over runs"),
                f"{name}_half": exact(
                    _crossing(t, mean, (mean[0] + mean[-1]) / 2.0),
                    "time at which the mean is half way from its start to its end",
                    "interpolated between frames",
                ),
                f"{name}_fall": exact(
                    np.maximum.accumulate(mean).max() - mean[-1],
                    "how much the mean has fallen from its largest value by the end",
                ),
            }
    return numbers | _random_numbers(data, p) | _cluster_numbers(data, p)


def _random_numbers(data: Data, p: Parameters) -> dict[str, Number]:
    """Tokens near centers against tokens near as many random ones."""
    found = data["ensemble"]
    numbers = {}
    for i, kind in enumerate(("strong", "renyi")):  # as near_random has them
        random = found["near_random"].values[:, -1, i]  # (runs,)
        centers = found[observable_name(kind, 1.0)].values[:, -1]  # (runs,)
        numbers[f"{kind}_random"] = mean_of(
            random,
            f"mean share of tokens within β^(−1/2) of as many random tokens as there are {KINDS[kind]}, at"
            f" t = {p['t']:g}",
        )
        numbers[f"{kind}_gain"] = mean_of(
            centers - random, f"by how much more the {KINDS[kind]} themselves have consumed, run by run"
        )
    return numbers


def _cluster_numbers(data: Data, p: Parameters) -> dict[str, Number]:
    """Clusters with a center in them."""
    shares = dict(zip(CLUSTER_SHARES, data["ensemble"]["clusters_explained"].values.T, strict=True))
    numbers = {
        f"clusters_{name}": mean_of(
            share, f"mean share of the clusters at t = {p['t']:g} explained by {CLUSTER_WORDS[name]}"
        )
        for name, share in shares.items()  # (runs,)
    }
    return numbers | {
        "clusters_unexplained": mean_of(
            1.0 - shares["strong"], f"mean share of the clusters at t = {p['t']:g} without a strong center"
        ),
        "clusters_gain": mean_of(
            shares["renyi"] - shares["strong_and_random"],
            "share of clusters explained by Rényi centers less that of strong centers and random tokens,"
            " together as many",
        ),
    }


def _done() -> int:
    from nucleate.studies.block import STATUS

    return STATUS.index("done")


def _crossing(t: Array, mean: Array, level: float) -> float:
    """The first time at which a curve reaches a level."""
    i = int((mean >= level).argmax())
    return float(t[0]) if i == 0 else float(np.interp(level, mean[i - 1 : i + 1], t[i - 1 : i + 1]))


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    left, more, gain = numbers["clusters_unexplained"], numbers["clusters_gain"], numbers["renyi_gain"]
    finished = numbers["not_done"].value == 0

    def judged(number: Number, level: float) -> Word:
        if not finished or number.low is None or number.high is None:
            return "not testable here"
        return (
            "agrees" if number.low > level else "disagrees" if number.high <= level else "not testable here"
        )

    renyi, half = numbers["renyi_1_end"], numbers["renyi_1_half"].value
    soon = finished and (renyi.low or 0.0) > 0.5 and (gain.low or 0.0) > 0.0 and half < SOON * p["t"]
    spread = ", ".join(
        f"{numbers[observable_name('renyi', radius) + '_end'].value:.1%} within {radius:g}"
        for radius in p["radii"]
    )
    return (
        Verdict(
            "strong Rényi centers do not explain all clusters",
            judged(left, MIN_UNEXPLAINED),
            f"at t = {p['t']:g} a share of {plus_minus(left)} of the clusters has no strong center in it, and"
            f" {1.0 - numbers['strong_1_end'].value:.1%} of the tokens are farther than β^(−1/2) from all;"
            f" as many random tokens would leave {1.0 - numbers['clusters_random_strong'].value:.0%} of the"
            " clusters without one",
        ),
        Verdict(
            "Rényi centers explain more clusters than strong ones",
            judged(more, 0.0),
            f"Rényi centers explain {numbers['clusters_renyi'].value:.1%} of the clusters, strong ones"
            f" {numbers['clusters_strong'].value:.1%}. Not fewer is certain, for strong centers are Rényi"
            " centers; strong ones and random tokens, together as many as the Rényi centers, would explain"
            f" {numbers['clusters_strong_and_random'].value:.1%}, which is less by {plus_minus(more)}",
        ),
        Verdict(
            "Rényi centers soon consume most tokens, and more than as many random tokens do",
            "observed" if soon else "not observed",
            f"half of the rise is over at t = {half:.1f}; at t = {p['t']:g} {renyi.value:.1%} are within"
            f" β^(−1/2) of a Rényi center, of as many random tokens {numbers['renyi_random'].value:.1%}, a"
            f" difference of {plus_minus(gain)}; the radius matters little once clusters are small: {spread}"
            " β^(−1/2)",
        ),
    )


ITEM = Item(
    key="figure3",
    title="Figure 3: tokens consumed by centers",
    cost=Cost(quick=2.7, full=24.5),
    source="Figure 3",
    statement=(
        "As Figure 2 (n = 200 tokens on the circle, Q = K = V = I, β = 64, centers with δ = 4β^(−1/2)), over"
        " 5000 runs: the share of tokens consumed by Rényi centers, and by strong ones, over time, its mean"
        " and its .1 and .9 quantiles. Strong centers do not explain all clusters; Rényi centers explain"
        " more."
    ),
    ours=(
        "When a token is consumed, and when a cluster is explained, is not said; both are chosen here. That"
        " Rényi centers consume most tokens, how soon, and how random tokens compare, is measured beyond the"
        " statement."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 200,
        "d": 2,
        "beta": BETA,
        "delta": DELTA,
        "t": 150.0,
        "runs": 5000,
        "frames": 76,
        "radius": 1.0,
        "radii": [0.25, 0.5, 1.0, 2.0, 4.0],
        "seed": 0,
    },
    quick={"runs": 300},
    choices=(
        (
            "The paper does not say when a token is consumed. Here it is while its geodesic distance from the"
            " present place of a center is at most a radius, β^(−1/2) in the first panel; a center has always"
            " consumed itself."
        ),
        "The second panel shows the mean for radii of 0.25 to 4 β^(−1/2); the largest is δ.",
        "Centers are those of the start; they move with their tokens.",
        (
            "A cluster at t = 150 begins with a token farther than β^(−1/2) from every earlier one at that"
            " moment, and has all tokens that are nearest to it; it is explained if a center is among these."
        ),
        (
            "Random tokens to compare with are uniform among all, or among those that are no strong centers;"
            " their shares are expected values, worked out and not drawn."
        ),
    ),
    criteria=(
        "First: agrees if the 95 % interval of the mean share of clusters without a strong center at t = 150"
        f" lies above {MIN_UNEXPLAINED:.0%}, disagrees if below. Second: that strong centers explain no more"
        " than Rényi centers holds by definition; agrees if the interval of the mean difference to strong"
        " centers and random tokens, together as many, lies above 0, disagrees if it does not reach above 0."
        " Both are not testable here if the interval decides neither, or a run did not reach the end. Third:"
        " observed if the interval of the mean share of tokens within β^(−1/2) of a Rényi center at t = 150"
        " lies above one half, that of its difference to as many random tokens above 0, and half of the rise"
        f" is over within the first {SOON:.0%} of the time."
    ),
    captions={
        "figure3": (
            "Left: share of tokens within β^(−1/2) of a Rényi center (black) and of a strong one (red,"
            " dashed), mean and .1 to .9 quantiles over runs; dotted, of as many random tokens instead, the"
            " mean. Right: means for other radii, fainter for smaller ones, in the same colours."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
