"""Who merges with whom: always the two nearest clusters, and whether that is single linkage."""

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, share_of
from nucleate.papers.metastability.merge_order.data import run
from nucleate.papers.metastability.merge_order.figures import draw

__all__ = ["ITEM"]

CLEAR_MARGIN = 5.0  # the weight of the nearest pair is e^5 times that of the next, or more
MOST = 0.95  # of the starts


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares of starts, for every beta."""
    numbers = {}
    words = {
        "nearest_first": "the nearest two tokens merge first",
        "centroid": "all merges are in the order of centroid linkage",
        "single": "all merges are in the order of single linkage",
    }
    for beta in p["betas"]:
        found = data[f"beta{beta:g}"]
        for kind, about in words.items():
            values = found[kind].values
            numbers[f"{kind}_{beta:g}"] = share_of(
                int(values.sum()), len(values), f"β = {beta:g}: starts in which {about}"
            )
        clear = found["margin"].values >= CLEAR_MARGIN
        numbers[f"clear_{beta:g}"] = share_of(
            int(found["nearest_first"].values[clear].sum()),
            max(int(clear.sum()), 1),
            f"β = {beta:g}: the same where the nearest pair has e^{CLEAR_MARGIN:g} times the weight of the"
            " next",
            1.0,
        )
    last = data[f"beta{p['betas'][-1]:g}"]["linkages_agree"].values
    numbers["linkages_agree"] = share_of(
        int(last.sum()), len(last), "starts in which both linkages give the same order"
    )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    last = f"{p['betas'][-1]:g}"
    clear = [numbers[f"clear_{beta:g}"] for beta in p["betas"]]
    centroid, single = numbers[f"centroid_{last}"], numbers[f"single_{last}"]
    both = numbers["linkages_agree"]
    assert centroid.low is not None
    assert single.low is not None
    assert single.high is not None
    nearest = all(one.count is not None and one.count[0] == one.count[1] for one in clear)
    return (
        Verdict(
            f"the nearest two tokens merge first, wherever their weight is e^{CLEAR_MARGIN:g} times that of"
            " the next"
            " pair or more",
            "observed" if nearest else "not observed",
            ", ".join(f"{one}" for one in clear) + f" of these starts for β = {_listed(p)}",
        ),
        Verdict(
            "for large β all merges are in the order of centroid linkage: next are the two clusters whose"
            " centres of"
            " mass are nearest",
            "observed" if centroid.low >= MOST - (1.0 - MOST) else "not observed",
            f"in {centroid} of the starts at β = {last}",
        ),
        Verdict(
            "for large β all merges are in the order of single linkage of the starting places",
            "observed" if single.low >= MOST - (1.0 - MOST) else "not observed",
            f"in {single} of the starts at β = {last}; both linkages give the same order in"
            f" {both.value:.0%}. The"
            " five tokens of the staircase are an example: single linkage would add the fourth token to the"
            " first"
            " three, but these have moved away, and it merges with the fifth",
        ),
    )


def _listed(p: Parameters) -> str:
    return ", ".join(f"{beta:g}" for beta in p["betas"])


ITEM = Item(
    key="merge-order",
    title="Who merges with whom",
    cost=Cost(quick=15.0, full=60.0),
    source="the section beyond metastability; single linkage is from arXiv 2509.25040",
    statement=(
        "The time until two clusters merge is exponential in β(1 − cos δ), δ being their distance, so that"
        " for large"
        " β the closest pair merges first. A later paper, arXiv 2509.25040, compares the order of merges of"
        " closest"
        " pairs with single linkage."
    ),
    ours=(
        "Under exponential weights two clusters meet at their centre of mass. After a merge the distances"
        " that count"
        " are those of the centres of mass: that is centroid linkage, which differs from single linkage of"
        " the"
        " starting places wherever a merged cluster has moved away from a neighbour. Both are tried on random"
        " starts. Our notes on arXiv 2509.25040 are one line, so that the verdict on single linkage is on"
        " that"
        " statement as it stands here, not on the paper."
    ),
    parameters={
        "Q, K, V": "I",
        "mask": "full",
        "weights": "exponential",
        "n": 6,
        "arc": 0.5,
        "betas": [250.0, 1000.0, 4000.0],
        "starts": 60,
        "starts_at_once": 20,
        "seed": 0,
    },
    quick={"starts": 20},
    choices=(
        "Six tokens, independent and uniform on an arc of 0.5, the same starts for every β.",
        "Tokens that have met are followed as one point, as in the staircase; times are up to 10²⁰⁰.",
    ),
    criteria=(
        f"First: observed if at every β it is so in every start whose nearest pair has e^{CLEAR_MARGIN:g}"
        " times the"
        " weight of the next. Second and third: observed if the 95 % interval of the share of starts at the"
        " largest β"
        f" is above {2.0 * MOST - 1.0:.0%}."
    ),
    captions={
        "merge-order": (
            "How often, in random starts of six tokens, the nearest two tokens merge first, and all five"
            " merges come"
            " in the order of centroid or of single linkage, against β, with 95 % intervals. Dashed: starts"
            " in which"
            " both linkages give the same order."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
