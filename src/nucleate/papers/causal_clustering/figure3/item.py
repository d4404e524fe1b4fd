"""Figure 3: the share of tokens consumed by Rényi centers and by strong ones over time, in 5000 runs."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.figure3.data import KINDS, observable_name, run
from nucleate.papers.causal_clustering.figure3.figures import draw
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Mean shares at the end, at each radius; when half of that is reached; and whether the order of the two
    kinds ever changes."""
    found = data["ensemble"]
    t, runs = found["time"].values, int(found.sizes["run"])
    numbers = {
        "runs": exact(runs, "runs", expected=float(p["runs"])),
        "not_done": exact(
            (found["status"].values != _done()).sum(), "runs that did not reach the end", expected=0.0
        ),
    }
    for radius in p["radii"]:
        shares = {kind: found[observable_name(kind, radius)].values for kind in KINDS}  # (runs, m)
        for kind, words in KINDS.items():
            mean = shares[kind].mean(0)  # (m,)
            low, high = np.quantile(shares[kind][:, -1], [0.1, 0.9])
            name, at = observable_name(kind, radius), f"within {radius:g} β^(−1/2) of {words}"
            numbers |= {
                f"{name}_end": mean_of(shares[kind][:, -1], f"mean share of tokens {at} at t = {p['t']:g}"),
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
        both = shares["renyi"] - shares["strong"]  # (runs, m)
        numbers[f"{observable_name('order', radius)}"] = exact(
            (both < -1e-12).sum(),
            "frames of all runs in which strong centers have consumed more than all Rényi centers, within"
            f" {radius:g} β^(−1/2)",
            expected=0.0,
        )
    main = p["radius"]
    gap = (
        found[observable_name("renyi", main)].values[:, -1]
        - found[observable_name("strong", main)].values[:, -1]
    )
    numbers["gap"] = mean_of(
        gap, f"share of tokens that Rényi centers have consumed at t = {p['t']:g} and strong ones have not"
    )
    return numbers


def _done() -> int:
    from nucleate.studies.block import STATUS

    return STATUS.index("done")


def _crossing(t: Array, mean: Array, level: float) -> float:
    """The first time at which a curve reaches a level."""
    i = int((mean >= level).argmax())
    return float(t[0]) if i == 0 else float(np.interp(level, mean[i - 1 : i + 1], t[i - 1 : i + 1]))


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    renyi, strong, gap = (
        numbers[observable_name("renyi", p["radius"]) + "_end"],
        numbers[observable_name("strong", p["radius"]) + "_end"],
        numbers["gap"],
    )
    ordered = all(numbers[observable_name("order", radius)].value == 0 for radius in p["radii"])
    more = gap.low is not None and gap.low > 0.0 and ordered and numbers["not_done"].value == 0
    most = (renyi.low or 0.0) > 0.5
    spread = ", ".join(
        f"{numbers[observable_name('renyi', radius) + '_end'].value:.0%} within {radius:g}"
        for radius in p["radii"]
    )
    half = numbers[observable_name("renyi", p["radius"]) + "_half"].value
    return (
        Verdict(
            "Rényi centers consume more tokens than strong ones",
            "agrees" if more else "disagrees",
            f"at t = {p['t']:g} {renyi.value:.1%} of the tokens are within β^(−1/2) of a Rényi center,"
            f" {strong.value:.1%} of a strong one; the difference is {gap.value:.3f} ±"
            f" {((gap.high or 0.0) - (gap.low or 0.0)) / 2:.3f}",
        ),
        Verdict(
            "Rényi centers consume most tokens, and soon",
            "agrees" if most and half < p["t"] / 10.0 else "disagrees",
            f"half of the rise is over at t = {half:.1f}; the radius matters little once clusters are small:"
            f" {spread} β^(−1/2)",
        ),
    )


ITEM = Item(
    key="figure3",
    title="Figure 3: tokens consumed by centers",
    source="Figure 3",
    statement=(
        "As Figure 2, 5000 runs: the share of tokens that have been consumed by Rényi centers, and by strong"
        " ones, over time, with its mean and its .1 and .9 quantiles. Strong centers do not explain all"
        " clusters; Rényi centers explain more."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 200,
        "d": 2,
        "beta": 64.0,
        "delta": 0.5,
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
    ),
    criteria=(
        "First: agrees if the 95 % interval of the mean difference of the two shares at the end lies above 0,"
        " in no frame of any run strong centers have consumed more than all Rényi centers, at any radius, and"
        " every run reached the end. Second: agrees if the interval of the mean share consumed by Rényi"
        " centers lies above one half, and half of the rise is over within the first tenth of the time."
    ),
    captions={
        "figure3": (
            "Left: share of tokens within β^(−1/2) of a Rényi center (black) and of a strong one (red,"
            " dashed), mean and .1 to .9 quantiles over runs. Right: means for other radii, fainter for"
            " smaller ones, in the same colours."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
