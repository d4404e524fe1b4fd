"""Who merges with whom: always the two nearest clusters, and whether that is single linkage."""

from math import factorial

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of
from nucleate.papers.metastability.merge_order.data import run
from nucleate.papers.metastability.merge_order.figures import draw

__all__ = ["ITEM"]

MIN_CLEAR = 10  # starts, fewer of which decide nothing


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares of all starts for every beta, and of those with clear choices at some beta, each start once."""
    words = {
        "nearest_first": "the nearest two tokens merge first",
        "centroid": "all merges are in the order of centroid linkage",
        "single": "all merges are in the order of single linkage",
    }
    numbers = {
        f"{kind}_{beta:g}": _share(
            data[f"beta{beta:g}"][kind].values, f"β = {beta:g}: starts in which {about}"
        )
        for beta in p["betas"]
        for kind, about in words.items()
    }
    for kind, about in words.items():
        margin = "first_margin" if kind == "nearest_first" else "least_margin"
        so, clear = (
            np.array([data[f"beta{beta:g}"][name].values for beta in p["betas"]]) for name in (kind, margin)
        )  # (betas, starts)
        clear = clear >= p["clear"]
        kept = ((so > 0.0) | ~clear).all(0)[clear.any(0)]  # (starts with clear choices,)
        if len(kept):
            numbers[f"clear_{kind}"] = _share(
                kept, f"starts with clear choices in which {about} at every β at which they are clear"
            )
    numbers["nearest_first_null"] = exact(1.0 / (p["n"] - 1), "null: if any two neighbours may merge first")
    numbers["order_null"] = exact(1.0 / factorial(p["n"] - 1), "null: if any two neighbours may be next")
    last = data[f"beta{p['betas'][-1]:g}"]["linkages_agree"].values
    numbers["linkages_agree"] = _share(last, "starts in which both linkages give the same order")
    return numbers


def _share(values: Array, about: str) -> Number:
    return share_of(int(values.sum()), len(values), about)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    nearest, centroid, single = (
        numbers.get(f"clear_{kind}") for kind in ("nearest_first", "centroid", "single")
    )
    return (
        Verdict(
            "the nearest two tokens merge first, wherever that choice is clear",
            "observed" if _always(nearest) else "not observed",
            f"in {nearest or 'none'} of these starts. Any two neighbours:"
            f" {numbers['nearest_first_null'].value:.2f}",
        ),
        Verdict(
            "all merges are in the order of centroid linkage, wherever all choices are clear: next are the"
            " two clusters whose centres of mass are nearest",
            "observed" if _always(centroid) else "not observed",
            f"in {centroid or 'none'} of these starts; in {_listed(numbers, 'centroid', p)} of all starts for"
            f" β = {', '.join(f'{beta:g}' for beta in p['betas'])}. Any order:"
            f" {numbers['order_null'].value:.3f}",
        ),
        Verdict(
            "all merges are in the order of single linkage of the starting places, wherever all choices are"
            " clear",
            "observed" if _always(single) else "not observed",
            f"in {single or 'none'} of these starts; both linkages give the same order in"
            f" {numbers['linkages_agree'].value:.0%} of all. The five tokens of the staircase are an example:"
            " single linkage would add the fourth token to the first three, but these have moved away, and it"
            " merges with the fifth",
        ),
    )


def _always(number: Number | None) -> bool:
    return number is not None and number.count is not None and number.count[0] == number.count[1] >= MIN_CLEAR


def _listed(numbers: Numbers, kind: str, p: Parameters) -> str:
    return ", ".join(f"{numbers[f'{kind}_{beta:g}'].value:.0%}" for beta in p["betas"])


ITEM = Item(
    key="merge-order",
    title="Who merges with whom",
    cost=Cost(quick=14.0, full=26.0),
    source="the section beyond metastability; single linkage is from arXiv 2509.25040",
    statement=(
        "The time until two clusters merge is exponential in β(1 − cos δ), δ being their distance, so that"
        " for large β the closest pair merges first. A later paper, arXiv 2509.25040, compares the order of"
        " merges of closest pairs with single linkage."
    ),
    ours=(
        "Under exponential weights two clusters meet at their centre of mass. After a merge the distances"
        " that count are those of the centres of mass: that is centroid linkage, which differs from single"
        " linkage of the starting places wherever a merged cluster has moved away from a neighbour. Both are"
        " tried on random starts. Our notes on arXiv 2509.25040 are one line, so that the verdict on single"
        " linkage is on that statement as it stands here, not on the paper."
    ),
    parameters={
        "Q, K, V": "I",
        "mask": "full",
        "weights": "exponential",
        "n": 6,
        "clear": 5.0,
        "arc": 0.5,
        "betas": [250.0, 1000.0, 4000.0],
        "starts": 40,
        "starts_at_once": 20,
        "seed": 1,
    },
    quick={"starts": 15},
    choices=(
        "Six tokens, uniform on an arc of 0.5, drawn until all choices are clear at the largest β.",
        (
            "A first version judged all starts at the largest β; it was replaced after a quick run, in which"
            " many choices were too close at any β that can be followed. A second one judged clear starts"
            " alone, of which there were too few, and a third counted a start once for every β. All that was"
            " with the seed 0; this criterion and the seed 1 were written down together, before runs with it."
        ),
        "Tokens that have met are followed as one point, as in the staircase; times are up to 10²⁰⁰.",
    ),
    criteria=(
        "A choice is clear if the nearest two clusters have e^5 times the weight of the next two, or more;"
        " for the second and the third statement every choice along centroid linkage must be. Each is"
        " observed if it is so in every start, at every β at which its choices are clear, and there are at"
        f" least {MIN_CLEAR} starts with clear choices at some β."
    ),
    captions={
        "merge-order": (
            "How often, in random starts of six tokens, the nearest two tokens merge first, and all five"
            " merges come in the order of centroid or of single linkage, against β, with 95 % intervals."
            " Dashed: starts in which both linkages give the same order."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
