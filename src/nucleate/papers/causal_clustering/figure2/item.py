"""Figure 2: tokens on the circle gather around centers; how often a Rényi center is lost between t = 75 and t
= 150."""

import numpy as np

from nucleate.papers.causal_clustering.figure2.data import (
    BETA,
    DELTA,
    MERGE_DISTANCE,
    SEPARATION,
    N,
    centers,
    losses,
    run,
)
from nucleate.papers.causal_clustering.figure2.figures import SNAPSHOTS, draw
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.numbers import Number, compared, exact, mean_of, share_of

__all__ = ["ITEM"]

# of the starts: what happens from fewer would surprise, at the usual level, in a picture of one start
SURPRISING_SHARE = 0.05


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Centers, losses, and how typical they are."""
    from nucleate.sphere import distance

    run, careful, many = data["run"], data["careful"], data["starts"]
    strong, renyi = centers(run.x[0])
    shown = [loss for loss in losses(run, renyi) if loss.shown]
    again = {loss.token: loss for loss in losses(careful, renyi)}
    moved = distance(run.x[0], run.x[-1])  # (n,)
    tighter = "distance to a run with tolerances a thousand times tighter"
    numbers = {
        "seed": exact(run.notes["seed"], "seed of the start shown, chosen as an illustration"),
        "strong_centers": exact(len(strong), "strong Rényi centers of the start shown"),
        "renyi_centers": exact(len(renyi), "Rényi centers of the start shown, the strong ones among them"),
    }
    for loss in shown[:1]:
        other = again[loss.token].time if loss.token in again else np.inf
        numbers |= {
            "lost_token": exact(loss.token, "the one that is lost, counted from 0"),
            "lost_to": exact(loss.to, "the earlier center it is lost to"),
            "lost_at": compared(loss.time, other, "time at which it comes within δ/10 of that", tighter),
            "distance_before": exact(loss.distance_before, "distance of the two at t = 75"),
            "distance_after": exact(loss.distance_after, "and at t = 150"),
        }
    return numbers | {
        "strong_moved": compared(
            moved[strong].max(),
            distance(careful.x[0], careful.x[-1])[strong].max(),
            "farthest that a strong center has moved by t = 150, in the start shown",
            tighter,
        ),
        "one_lost": share_of(
            int((many["lost"].values == 1).sum()),
            many.sizes["start"],
            "starts from which exactly one Rényi center is seen to be lost between the snapshots",
        ),
        "some_lost": share_of(
            int((many["lost"].values > 0).sum()),
            many.sizes["start"],
            "starts from which at least one is seen to be lost between the snapshots",
        ),
        "one_lost_at_all": share_of(
            int((many["lost_at_all"].values == 1).sum()),
            many.sizes["start"],
            "starts from which exactly one comes within δ/10 of an earlier center between the snapshots, from"
            " however near",
        ),
        "mean_strong_moved": mean_of(
            many["strong_moved"].values,
            f"displacement of a strong center by t = 150, mean over {many.sizes['start']} starts",
        ),
        "mean_only_renyi_moved": mean_of(
            many["only_renyi_moved"].values[np.isfinite(many["only_renyi_moved"].values)],
            "displacement of a Rényi center that is not strong, mean over starts that have one",
        ),
        "strong_merged": mean_of(
            many["strong_merged"].values,
            "share of the strong centers within δ/10 of an earlier center at t = 150, mean over starts",
        ),
        "only_renyi_merged": mean_of(
            many["only_renyi_merged"].values[np.isfinite(many["only_renyi_merged"].values)],
            "the same share of the other Rényi centers, mean over starts that have one",
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    one, some, at_all = numbers["one_lost"], numbers["some_lost"], numbers["one_lost_at_all"]
    word: Word = (
        "agrees"
        if (one.low or 0.0) > SURPRISING_SHARE
        else "disagrees"
        if one.high is not None and one.high < SURPRISING_SHARE
        else "not testable here"
    )
    strong, other = numbers["mean_strong_moved"], numbers["mean_only_renyi_moved"]
    strong_merged, other_merged = numbers["strong_merged"], numbers["only_renyi_merged"]
    still = _below(strong, other) and strong.value < DELTA / 10
    return (
        Verdict(
            "from one uniform start, as in the paper's picture, one Rényi center disappears between t = 75"
            " and t = 150",
            word,
            f"exactly one is seen to be lost from {_percent(one)} of the starts, at least one from"
            f" {_percent(some)}; with losses from close by, which a picture hardly shows, exactly one from"
            f" {_percent(at_all)}. The picture here is chosen to show one",
        ),
        Verdict(
            "strong centers hardly move, other Rényi centers drift and merge",
            "agrees" if still and _below(strong_merged, other_merged) else "disagrees",
            f"by t = 150 a strong center has moved {strong.value:.3f} on average, another Rényi center"
            f" {other.value:.3f} (δ is {DELTA:g}); {strong_merged.value:.1%} of the strong ones and"
            f" {other_merged.value:.0%} of the others have come within δ/10 of an earlier center",
        ),
    )


def _below(one: Number, other: Number) -> bool:
    """Whether the interval of one lies below that of the other."""
    return one.high is not None and other.low is not None and one.high < other.low


def _percent(share: Number) -> str:
    return f"{share.value:.0%} ({share.low or 0.0:.0%} to {share.high or 0.0:.0%})"


ITEM = Item(
    key="figure2",
    title="Figure 2: tokens gather around centers",
    cost=Cost(quick=3.4, full=5.0),
    source="Figure 2",
    statement=(
        "The evolution of n = 200 tokens on the circle (d = 2) with Q = K = V = I and β = 64, from one start,"
        " with its centers. Tokens are taken in order at t = 0: a Rényi center is farther than δ = 4β^(−1/2),"
        " in geodesic distance, from every earlier center, a strong one from every earlier token. Strong"
        " centers hardly move but do not explain all clusters; Rényi centers explain more, but drift and"
        " merge. Among the snapshots are t = 75 and t = 150; one Rényi center disappears between the two."
    ),
    parameters={
        "Q, K, V": "I",
        "n": N,
        "d": 2,
        "beta": BETA,
        "delta": DELTA,
        "snapshots": list(SNAPSHOTS),
        "merged_within": MERGE_DISTANCE,
        "apart_at_75": SEPARATION,
        "starts": 400,
    },
    quick={"starts": 100},
    choices=(
        (
            "The start of the picture is an illustration, and no verdict rests on it: uniform(n, d, seed)"
            " with the first seed from which exactly one Rényi center is lost between the two snapshots, in"
            " plain sight. The verdicts rest on other starts, drawn without looking."
        ),
        (
            "Lost means within δ/10 of an earlier center; in plain sight means at least δ/2 away from it at t"
            " = 75, and within δ/10 at t = 150."
        ),
        "The snapshots other than t = 75 and t = 150.",
    ),
    criteria=(
        "First: the paper's picture is one uniform start. Agrees if the 95 % interval of the share of starts"
        f" from which exactly one Rényi center is seen to be lost lies above {SURPRISING_SHARE:.0%}, for a"
        " picture of something rarer would surprise at the usual level; disagrees if it lies below; else not"
        " testable here. Second: agrees if over many starts strong centers have moved less than δ/10 on"
        " average by t = 150, less than other Rényi centers by more than both 95 % intervals, and the same of"
        " the shares of either that have merged with an earlier center. Which clusters centers explain is"
        " judged at Figure 3."
    ),
    captions={
        "figure2": (
            "Two hundred tokens at five times, and their angles over time. Strong Rényi centers are red and"
            " filled, other Rényi centers black rings; colours run from the first token, dark, to the last."
            " The start is chosen so that one Rényi center is lost between the last two times."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
