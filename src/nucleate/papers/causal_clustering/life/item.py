"""The whole life of a metastable state: tokens gather, clusters merge one by one, and all end where the first
token began."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.life.data import dataset_name, run
from nucleate.papers.causal_clustering.life.figures import draw
from nucleate.papers.causal_clustering.life.measures import (
    LEAST_ANGLE,
    LEAST_FROM_OPPOSITE,
    Lifetimes,
    last_lifetimes,
    merge_lifetimes,
)
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

__all__ = ["ITEM"]

SLOPE_ERROR = 0.05  # of the slope 1 of log(lifetime) against the law
FACTOR = 3.0  # by which a lifetime may miss the law
MIN_SHARE = 0.8  # of the merges that must keep to it
RESAMPLES = 2000  # of lives, for the interval of the slope
SHUFFLES = 200  # of merges, for the share that keeps to the law of another merge
SPACES = {2: "circle", 3: "sphere"}


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """How lives end, how many clusters there are, and how long they live."""
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
    measured, expected = last_lifetimes(every)
    gap = np.abs(measured - expected) / np.log(10.0)
    numbers |= {
        "solver_worst": exact(
            gap.max(),
            "test of the solver: largest difference of log₁₀(lifetime of the last two clusters) from the"
            " exact two-token time, an identity of the equation",
            expected=0.0,
        ),
        "solver_median": exact(np.median(gap), "median of these differences", expected=0.0),
    }
    for d, betas in ((2, p["betas"]), (3, p["sphere_betas"])):
        numbers |= _law_numbers(d, [merge_lifetimes(data[dataset_name(d, beta)], beta) for beta in betas])
    return numbers


def _law_numbers(d: int, each: list[Lifetimes]) -> dict[str, Number]:
    """All merges in one dimension, at all beta together, against the law of two clusters."""
    law, measured = (np.concatenate([getattr(one, name) for one in each]) for name in ("law", "measured"))
    rng = np.random.default_rng(41)
    again = [_slope(*_lives_drawn_again(each, rng)) for _ in range(RESAMPLES)]
    low, high = np.quantile(again, [0.025, 0.975])
    near = np.abs(measured - law) <= np.log(FACTOR)
    # the law of another merge at the same beta
    shuffled = [
        np.abs(measured - np.concatenate([rng.permutation(one.law) for one in each])) <= np.log(FACTOR)
        for _ in range(SHUFFLES)
    ]
    every = sum(one.all_merges for one in each)
    key, words = f"d{d}", f"{SPACES[d]}, d = {d}"
    return {
        f"{key}_slope": Number(
            _slope(law, measured),
            f"{words}: slope of ln(time since the merge before) against β(1 − cos Δ) − ln(mβ sin² Δ),"
            f" {len(law)} of {every} merges, those with {LEAST_ANGLE:g} β^(−1/2) ≤ Δ ≤ π −"
            f" {LEAST_FROM_OPPOSITE:g} β^(−1/2)",
            float(low),
            float(high),
            f"95 % interval, lives drawn again {RESAMPLES} times",
            1.0,
        ),
        f"{key}_near": share_of(
            int(near.sum()), len(near), f"{words}: merges within a factor of {FACTOR:g} of that law"
        ),
        f"{key}_null": exact(
            np.mean(shuffled), f"{words}: the same if each is held against the law of another merge, mean"
        ),
        f"{key}_median": exact(
            np.exp(np.median(measured - law)), f"{words}: measured time over the law, median", expected=1.0
        ),
    }


def _slope(law: Array, measured: Array) -> float:
    """Of a straight line through the merges, by least squares."""
    return float(np.polyfit(law, measured, 1)[0])


def _lives_drawn_again(each: list[Lifetimes], rng: np.random.Generator) -> tuple[Array, Array]:
    """The merges of as many lives, drawn with replacement at every beta."""
    rows: list[Array] = []
    for one in each:
        lives = np.unique(one.life)
        rows += [
            np.stack([one.law, one.measured])[:, one.life == life] for life in rng.choice(lives, len(lives))
        ]
    law, measured = np.concatenate(rows, axis=1)
    return law, measured


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    shares = [numbers[f"beta{beta:g}_whole"] for beta in p["betas"]]
    count = [sum(share.count[i] for share in shares if share.count) for i in range(2)]
    worst = max(numbers[f"beta{beta:g}_off"].value for beta in p["betas"])
    lasts = ", ".join(f"10^{numbers[f'beta{beta:g}_last'].value:.0f}" for beta in p["betas"])
    return (
        Verdict(
            "with Q = K = V = I every token ends at x_1(0)",
            "agrees" if count[0] == count[1] else "disagrees",
            f"{count[0]} of {count[1]} lives do, to {worst:.0e}, after last merges at t = {lasts} in the"
            f" geometric mean for β = {', '.join(f'{beta:g}' for beta in p['betas'])}",
        ),
        _law_verdict(numbers, 2),
        _law_verdict(numbers, 3),
    )


def _law_verdict(numbers: Numbers, d: int) -> Verdict:
    slope, near, null = (numbers[f"d{d}_{name}"] for name in ("slope", "near", "null"))
    good = (
        abs(slope.value - 1.0) <= SLOPE_ERROR
        and near.value >= MIN_SHARE
        and near.low is not None
        and near.low > null.value
    )
    hits, merges = near.count or (0, 0)
    return Verdict(
        "a cluster at angle Δ from an earlier one merges after about e^{β(1−cos Δ)}/(mβ sin² Δ), on the"
        f" {SPACES[d]}" + (f", d = {d}" if d > 2 else ""),
        "observed" if good else "not observed",
        f"m: the tokens of the earlier one that the leader of the other sees. {near.value:.0%} of {merges}"
        f" merges are within a factor of {FACTOR:g} of it ({null.value:.0%} if"
        f" held against the law of another merge); the logarithms have slope {slope.value:.3f}"
        f" [{slope.low:.3f}, {slope.high:.3f}], and the median of measured over law is"
        f" {numbers[f'd{d}_median'].value:.2f}",
    )


ITEM = Item(
    key="life",
    title="The whole life of a metastable state",
    cost=Cost(quick=21.7, full=96.1),
    source="Theorem 4.1 and section 5",
    statement=(
        "With V = I (here Q = K = I, too), β ≥ 0 and d ≥ 2, from almost every start every token converges to"
        " x_1(0) (Theorem 4.1). On the way tokens gather into metastable clusters (section 5), which the"
        " paper shows to t = 150 for n = 200, d = 2, β = 64; of what follows, and of lifetimes beyond Lemma"
        " 5.1, it makes no claim."
    ),
    ours=(
        "Followed to the end, clusters merge one by one. Two clusters alone are two tokens, one of the weight"
        " m, and for these the time is known: e^{β(1 − cos Δ)}/(mβ sin² Δ) is its leading term"
        " (docs/proofs.md). Whether the merges of a life, with all other clusters around, keep to it, is"
        " asked here."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 200,
        "d": 2,
        "betas": [16.0, 36.0, 64.0, 100.0],
        "starts": 50,
        "shown_beta": 64.0,
        "shown_seed": 0,
        "sphere_n": 120,
        "sphere_betas": [16.0, 25.0],
        "sphere_starts": 30,
    },
    quick={"starts": 6, "sphere_starts": 6},
    choices=(
        (
            "The values of β, the number of starts (uniform, seeds 0, 1, …) and n and d, which are those of"
            " Figure 2; on the sphere, d = 3, fewer tokens."
        ),
        (
            "Clusters over time: tokens joined by steps of at most 0.1 β^(−1/2), so that at first nearly"
            " every token is one. Merges: a cluster is lost when its first member comes within 0.1 β^(−1/2)"
            " of a cluster with an earlier first member."
        ),
        (
            "The lifetime of a merge is the time since the merge before it in that life, or since clusters"
            " had formed; Δ is the angle between the first members of the two clusters at its beginning, m"
            " the number of tokens before the lost leader whose nearest leader is the absorbing one. Merges"
            f" with Δ below {LEAST_ANGLE:g} β^(−1/2) or above π − {LEAST_FROM_OPPOSITE:g} β^(−1/2), where the"
            " leading term is not the law, are left out, and so is the last merge of every life, for which"
            " the law is exact."
        ),
        (
            "The solver is tested on the last two clusters, for which the exact two-token time, with the k"
            " tokens before the last leader at x_1(0), is an identity of the equation: a number, no verdict."
        ),
    ),
    criteria=(
        f"First: agrees if every life ends with all tokens within {END_DISTANCE:g} of x_1(0). Second and"
        f" third: observed if the slope of ln(lifetime) against the law, all β together, is 1 to"
        f" {SLOPE_ERROR:g}, at least {MIN_SHARE:.0%} of the merges are within a factor of {FACTOR:g} of the"
        " law, and the 95 % interval of that share lies above the share that is found when every merge is"
        " held against the law of another one at the same β."
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
            "Lifetimes of clusters against the law of two clusters, one mark per merge but the last of each"
            " life, logarithms to base 10; Δ is the distance of the two, m the tokens of the absorbing"
            " cluster that the leader of the other sees; below, the ratio of the two, with dotted lines at a"
            " factor of 3, and marks farther off at the edge. Left: the circle. Right: the sphere, d = 3."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
