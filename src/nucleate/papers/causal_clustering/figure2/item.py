"""Figure 2: tokens on the circle gather around centers; a Rényi center is lost between t = 75 and t = 150."""

import numpy as np

from nucleate.papers.causal_clustering.figure2.data import (
    BETA,
    DELTA,
    MERGE_DISTANCE,
    SEPARATION,
    SNAPSHOT_BEFORE,
    N,
    centers,
    losses,
    run,
)
from nucleate.papers.causal_clustering.figure2.figures import SNAPSHOTS, draw
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, compared, exact, mean_of, share_of

__all__ = ["ITEM"]


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Centers, losses, and how typical they are."""
    from nucleate.sphere import distance

    run, careful, many = data["run"], data["careful"], data["starts"]
    strong, renyi = centers(run.x[0])
    late = [loss for loss in losses(run, renyi) if loss.time > SNAPSHOT_BEFORE]
    shown = [loss for loss in late if loss.shown]
    again = {loss.token: loss for loss in losses(careful, renyi)}
    moved = distance(run.x[0], run.x[-1])  # (n,)
    tighter = "distance to a run with tolerances a thousand times tighter"
    numbers = {
        "seed": exact(run.notes["seed"], "seed of the start shown"),
        "strong_centers": exact(len(strong), "strong Rényi centers of the start shown"),
        "renyi_centers": exact(len(renyi), "Rényi centers of the start shown, the strong ones among them"),
        "lost_between": exact(
            len(shown), "Rényi centers seen to be lost between t = 75 and t = 150", expected=1.0
        ),
        "lost_late": exact(
            len(late), "Rényi centers lost between t = 75 and t = 150, seen or not", expected=1.0
        ),
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
        "starts_with_loss": share_of(
            int((many["lost"].values > 0).sum()),
            many.sizes["start"],
            "other starts in which a Rényi center is seen to be lost between the snapshots",
        ),
        "mean_strong_moved": mean_of(
            many["strong_moved"].values,
            f"displacement of a strong center by t = 150, mean over {many.sizes['start']} starts",
        ),
        "mean_only_renyi_moved": mean_of(
            many["only_renyi_moved"].values[np.isfinite(many["only_renyi_moved"].values)],
            "displacement of a Rényi center that is not strong, mean over starts that have one",
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    one_lost = numbers["lost_between"].value == 1 and numbers["lost_late"].value == 1
    when = (
        f", token {numbers['lost_token'].value:.0f} at t = {numbers['lost_at'].value:.1f}"
        if "lost_at" in numbers
        else ""
    )
    share = numbers["starts_with_loss"]
    strong, other = numbers["mean_strong_moved"], numbers["mean_only_renyi_moved"]
    still = (
        strong.high is not None
        and other.low is not None
        and strong.high < other.low
        and strong.value < DELTA / 10
    )
    return (
        Verdict(
            "a Rényi center disappears between t = 75 and t = 150",
            "agrees" if one_lost else "disagrees",
            f"{numbers['lost_between'].value:.0f} is seen to be lost{when}; of other starts {share.value:.0%}"
            " show such a loss",
        ),
        Verdict(
            "strong centers hardly move, other Rényi centers drift and merge",
            "agrees" if still else "disagrees",
            f"by t = 150 a strong center has moved {strong.value:.3f} on average, another Rényi center"
            f" {other.value:.3f}; δ is {DELTA:g}",
        ),
    )


ITEM = Item(
    key="figure2",
    title="Figure 2: tokens gather around centers",
    source="Figure 2",
    statement=(
        "With Q = K = V = I, 200 tokens on the circle at β = 64 quickly gather into clusters around centers:"
        " strong Rényi centers (farther than δ = 4β^(−1/2) from every earlier token) hardly move but do not"
        " explain all clusters; Rényi centers (farther than δ from every earlier center) explain more, but"
        " drift and merge. Between t = 75 and t = 150 one Rényi center disappears."
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
            "The start: uniform(n, d, seed) with the first seed from which exactly one Rényi center is lost"
            " between the two snapshots, in plain sight. The share of other starts that show the same is"
            " measured."
        ),
        (
            "Lost means within δ/10 of an earlier center; in plain sight means at least δ/2 away from it at t"
            " = 75, and within δ/10 at t = 150."
        ),
        "The snapshots other than t = 75 and t = 150.",
    ),
    criteria=(
        "First: agrees if from the chosen start exactly one Rényi center is lost between the snapshots."
        " Second: agrees if over many starts strong centers have moved less than δ/10 on average by t = 150,"
        " and less than other Rényi centers by more than both 95 % intervals."
    ),
    captions={
        "figure2": (
            "Two hundred tokens at five times, and their angles over time. Strong Rényi centers are red and"
            " filled, other Rényi centers black rings; colours run from the first token, dark, to the last."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
