"""Hardmax: tokens end at leaders; on the sphere the nearest pair meets first, and times of meeting rise
with the heights of single linkage."""

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import plus_minus
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of
from nucleate.papers.hardmax_transformers.hardmax_leaders.data import run
from nucleate.papers.hardmax_transformers.hardmax_leaders.figures import draw
from nucleate.papers.hardmax_transformers.hardmax_leaders.measures import (
    at_leader,
    linkage_heights,
    mutual_pairs,
    rank_correlation,
    square,
)
from nucleate.theory.hardmax import nearest_gap

__all__ = ["ITEM"]

AT = 1e-6  # a token this close to a leader has reached it
ROUNDING = 1e-12  # the mean over a leader and tokens that have reached it
LAW = 1e-3  # relative error of the angle of the nearest pair
NULL_SEED = 7  # of tokens drawn at random


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares of tokens and runs, the error of the meeting law, and rank correlations with their null."""
    layers, sphere = data["layers"], data["sphere"]
    leader, start, place, end = (layers[name].values for name in ("leader", "start", "place", "end"))
    distance = at_leader(end, place, leader)  # (runs, n)
    norm = np.linalg.norm(start, axis=-1)  # (runs, n)
    drawn = np.random.default_rng(NULL_SEED).permuted(leader, axis=-1)  # (runs, n) as many in every run
    angle, met, last = (sphere[name].values for name in ("angle", "met", "last_angle"))  # (runs, pairs)
    n, runs = p["n"], len(angle)
    first = np.equal(met.argmin(-1), angle.argmin(-1))  # (runs,)
    mutual = mutual_pairs(angle, n)  # (runs, pairs)
    sorted_runs = [_in_order(met[k, mutual[k]], angle[k, mutual[k]]) for k in range(runs)]
    gap, law = sphere["nearest_gap"].values, np.empty_like(sphere["nearest_gap"].values)  # (runs, times)
    for k in range(runs):
        law[k] = nearest_gap(gap[k, 0], sphere["time"].values)
    seen = gap > p["met"]  # below it rounding of an overlap shows
    tau, null, pairs = _order_of_meeting(angle, met, n)
    anchored = _ends_at_a_pair(square(last, n), square(mutual.astype(float), n) > 0.0, p["met"])
    longest = np.take_along_axis(leader, norm.argmax(-1)[:, None], -1)  # (runs, 1)
    return {
        "at_leader": share_of(
            int((distance <= AT).sum()), distance.size, "the paper's layers: tokens that end at a leader"
        ),
        "at_random": share_of(
            int((at_leader(end, start, drawn) <= AT).sum()),
            distance.size,
            "null: at the start of one of as many tokens drawn at random",
        ),
        "moved": exact(
            float(np.linalg.norm(end - place, axis=-1)[leader].max()),
            "largest distance that leaders have moved since they were leaders",
            expected=0.0,
        ),
        "longest": share_of(int(longest.sum()), longest.size, "runs whose longest token is a leader"),
        "leaders": mean_of(leader.sum(-1), f"leaders among {leader.shape[-1]} tokens, mean over runs"),
        "first": share_of(int(first.sum()), runs, "sphere: runs in which the nearest pair meets first"),
        "first_null": exact(2.0 / (n * (n - 1)), "null: the share if any pair may be the first"),
        "law": exact(
            float((np.abs(gap / law - 1.0) * seen).max()),
            f"largest relative error of tan(g/2) ~ e^(−2t) down to {p['met']:g}",
            expected=0.0,
        ),
        "mutual_order": share_of(
            sum(sorted_runs),
            runs,
            "runs in which all mutually nearest pairs meet in the order of their angles",
        ),
        "mutual_null": exact(
            float(np.mean([1.0 / _factorial(int(one.sum())) for one in mutual])),
            "null: the share if any order were as likely",
        ),
        "mutual": mean_of(mutual.sum(-1), "mutually nearest pairs at the start, mean over runs"),
        "tau": mean_of(tau, "rank correlation of times of meeting and heights of single linkage"),
        "tau_null": mean_of(null, "null: the same with the tokens of the tree permuted"),
        "whole_order": share_of(
            int((tau >= 1.0 - 1e-12).sum()), runs, "runs in which all pairs meet in that order"
        ),
        "pairs": exact(float(np.mean(pairs)), "pairs that meet, mean over runs"),
        "anchored": share_of(
            int(anchored.sum()), anchored.size, "tokens that end at a pair that was mutually nearest at first"
        ),
    }


def _in_order(met: np.ndarray, angle: np.ndarray) -> bool:
    """Whether all have met, the closest first."""
    return bool(np.isfinite(met).all() and (np.diff(met[angle.argsort()]) > 0.0).all())


def _factorial(k: int) -> float:
    return float(np.prod(np.arange(1, k + 1)))


def _order_of_meeting(
    angle: np.ndarray, met: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every run Kendall's tau of times and heights over the pairs that meet, the same with tokens
    permuted, and how many pairs those are."""
    rng = np.random.default_rng(NULL_SEED)
    i, j = np.triu_indices(n, 1)
    tau, null, pairs = np.empty((3, len(angle)))
    for k in range(len(angle)):
        heights, together = linkage_heights(angle[k]), np.isfinite(met[k])
        order = rng.permutation(n)
        permuted = square(heights, n)[order[i], order[j]]  # (pairs,)
        tau[k] = rank_correlation(met[k, together], heights[together])
        null[k] = rank_correlation(met[k, together], permuted[together])
        pairs[k] = together.sum()
    return tau, null, pairs


def _ends_at_a_pair(last: np.ndarray, mutual: np.ndarray, met: float) -> np.ndarray:
    """Which tokens end with a token of a pair, (runs, n)."""
    in_pair = np.asarray(mutual.any(-1))  # (runs, n)
    return np.asarray(((last < met) & in_pair[:, None, :]).any(-1))


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    arrived, first, ordered = (numbers[name] for name in ("at_leader", "first", "mutual_order"))
    tau, null, law = numbers["tau"], numbers["tau_null"], numbers["law"].value
    at_a_leader = arrived.value == 1.0 and numbers["moved"].value <= ROUNDING
    assert tau.low is not None
    assert null.high is not None
    return (
        Verdict(
            "tokens of the paper's layers end at leaders, and leaders do not move",
            "agrees" if at_a_leader and numbers["at_random"].value < 0.5 else "disagrees",
            f"{arrived} tokens of {p['layer_runs']} runs are within {AT:g} of a leader after {p['layers']}"
            f" layers; {numbers['leaders'].value:.1f} of {p['layer_n']} tokens are leaders. Null, as many"
            f" tokens drawn at random: {numbers['at_random'].value:.2f}",
        ),
        Verdict(
            "on the sphere the nearest pair meets first, and its angle follows tan(g/2) = tan(g_0/2) e^{−2t}",
            "observed" if first.value == 1.0 and law <= LAW else "not observed",
            f"in {first} runs; largest relative error of the angle {law:.0e}. Any pair:"
            f" {numbers['first_null'].value:.3f}",
        ),
        Verdict(
            "all pairs that are nearest to each other at the start meet in the order of their angles, in"
            " which single linkage joins them",
            "observed" if ordered.value == 1.0 else "not observed",
            f"in {ordered} runs, with {numbers['mutual'].value:.1f} such pairs on average. Any order:"
            f" {numbers['mutual_null'].value:.3f}",
        ),
        Verdict(
            "the times at which pairs meet rise with the angles at which single linkage joins them",
            "observed" if tau.low > max(0.5, null.high) else "not observed",
            f"mean rank correlation {plus_minus(tau)}; with tokens permuted {plus_minus(null)}. The whole"
            f" order is that of single linkage in {numbers['whole_order']} runs",
        ),
    )


ITEM = Item(
    key="hardmax-leaders",
    title="Hardmax leaders",
    cost=Cost(quick=7.0, full=14.0),
    source="the abstract and the definition of leaders; order of merges: arXiv 2509.25040",
    statement=(
        "Layers z_i + α/(1 + α) (mean of z_j over C_i − z_i), C_i all j with the largest ⟨z_i, A z_j⟩, A"
        " symmetric and positive definite, in Euclidean space. A leader is a token with C_i = {i} at some"
        " layer. In the limit of many layers tokens reach an equilibrium of clusters that leaders determine."
    ),
    ours=(
        "On the sphere each token is closest to itself, and nobody would move. Without itself, x_i' = P(the"
        " closest other token), there are no leaders, but pairs that are nearest to each other play their"
        " part: such a pair keeps to itself, closes its angle g by tan(g/2) = tan(g_0/2) e^{−2t}, and others"
        " join it (derived in `nucleate.theory.hardmax` for the nearest pair of all). Beyond these pairs the"
        " order of meeting is compared with single linkage."
    ),
    parameters={
        "A, Q, K, V": "I",
        "layer_n": 30,
        "layer_d": 2,
        "layer_runs": 400,
        "alpha": 1.0,
        "layers": 400,
        "n": 16,
        "d": 3,
        "runs": 400,
        "T": 20.0,
        "frames": 401,
        "met": 1e-3,
        "rtol": 1e-9,
        "seed": 1,
    },
    quick={"layer_runs": 100, "runs": 80},
    choices=(
        "A = I, α = 1, n = 30 tokens in the plane; normal starts. n = 16 uniform tokens on S² for the rest.",
        "Two tokens have met when their angle is below 10⁻³; frames every 0.05, logarithms straight between.",
        (
            "Single linkage: the angle at which two tokens come into one component. Kendall's rank"
            " correlation (tau-b) over the pairs that meet up to T; its null permutes the tokens of the tree."
        ),
        (
            "The first null of the leaders compared ends with ends, of which any five cover most, and was"
            " replaced after a quick run with the seed 0; the numbers here are of the seed 1, chosen before"
            " runs with it."
        ),
    ),
    criteria=(
        f"First: agrees if in all runs every token is within {AT:g} of a leader in the end, no leader has"
        f" moved by more than {ROUNDING:g} since it was one, and fewer than half are at the starts of as many"
        " tokens drawn at random. Second: observed if in all runs the nearest pair meets first, and its angle"
        f" is within {LAW:g} of the law, relatively, until it has met. Third: observed if in all runs all"
        " pairs that are mutually nearest at the start meet, in the order of their angles. Fourth: observed"
        " if the 95 % interval of the mean rank correlation is above 0.5 and above that of the null."
    ),
    captions={
        "hardmax-leaders": (
            "Left: one run of the paper's layers in the plane: starts (dots), where they go (lines), leaders"
            " (red rings) and the ends (crosses). Middle: the angle of the nearest pair on the sphere, one"
            " line for each of 8 runs, over the law (dashed). Right: when pairs meet, over the angle at which"
            " single linkage joins them, in 20 runs; pairs that are mutually nearest at the start lie on the"
            " law."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
