"""Lemma 5.1: strong centers hardly move for a time; displacement against the bound, true against guaranteed
lifetime, and how it depends on the index."""

from typing import Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.lemma51.data import CHORD, FOLLOWED_TIMES, ensemble_name, run
from nucleate.papers.causal_clustering.lemma51.figures import draw
from nucleate.papers.causal_clustering.lemma51.measures import (
    ensemble_words,
    guaranteed_product,
    lower_quartile,
)
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of

__all__ = ["ITEM"]

FITS = {"early": (8, 64), "late": (64, 10**9)}  # indices of the two fits, first and last
BOOTSTRAP_INTERVAL = "95 % interval, runs drawn again 2000 times"
RESAMPLES = 2000
# of a lifetime against A/(s - 1) + B: two numbers from two lifetimes, and the others predicted to rounding
LAW_ERROR = 1e-9
# of a lifetime: frames lie half a thousandth apart, and between them displacement is taken to grow evenly
LIFETIME_ERROR = 1e-4


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Displacements, ratios of lifetimes, and slopes."""
    numbers = _start_numbers(data["starts"], p)
    for beta, separation in p["ensembles"]:
        numbers |= _ensemble_numbers(beta, separation, data, p)
    return numbers | _index_numbers(data, p) | _sphere_numbers(data, p)


def _start_numbers(found: Any, p: Parameters) -> dict[str, Number]:
    """Uniform starts: all strong centers but the first token, which never moves."""
    index, t, moved = found["index"].values, found["time"].values, found["moved"].values
    product = guaranteed_product(p["beta"], p["separation"])
    # (centers, m) before the guaranteed time
    early = np.where(t[None] <= product / index[:, None], moved, 0.0)
    ratio, least = found["ratio"].values, found["at_least"].values  # (splits, centers)
    numbers = {
        "product": exact(
            product,
            f"{ensemble_words(p['beta'], p['separation'])}: T_j s_j that the lemma guarantees, with the best"
            " c and ε",
        ),
        "centers": exact(
            len(index), f"strong centers in {p['starts']} uniform starts, the first token apart"
        ),
        "starts_done": share_of(
            int(found["done"].values.sum()), found.sizes["start"], "of these starts: followed to the end", 1.0
        ),
        "starts_moved": exact(
            early.max(),
            "farthest that any of them has moved by its T_j, over what the lemma allows",
            expected=1.0,
        ),
        "starts_within": share_of(
            int((early.max(1) < 1.0).sum()),
            len(index),
            "of them: moved less than the lemma allows until T_j",
            1.0,
        ),
        "starts_least": exact(ratio[0].min(), "least lifetime over guaranteed lifetime"),
        "starts_median": exact(
            np.median(least[0]),
            "median of this ratio, lifetimes beyond the end of the run counted as its end",
        ),
        "starts_outlast": share_of(
            int(np.isinf(ratio[0]).sum()), len(index), f"centers that outlast the run, t = {t[-1]:.3g}"
        ),
    }
    for i, (c, eps) in enumerate(zip(found["c"].values, found["eps"].values, strict=True)):
        if i:
            numbers[f"split{i}_least"] = exact(
                np.min(ratio[i]), f"the same centers with c = {c:.3f}, ε = {eps:.3f}: least ratio"
            )
            numbers[f"split{i}_median"] = exact(np.median(least[i]), "and its median, at least")
    return numbers


def _ensemble_numbers(beta: float, separation: float, data: Data, p: Parameters) -> dict[str, Number]:
    """Centers of every index, and all earlier tokens at one point, at one beta and separation."""
    key, words, indices = (
        ensemble_name(beta, separation),
        ensemble_words(beta, separation),
        np.array(p["indices"]),
    )
    found = [data[f"{key}-{s}"] for s in indices]
    moved = np.array([one["moved"].values for one in found])  # (indices, runs)
    ratio = np.array([one["ratio"].values for one in found])  # (indices, runs)
    done = np.array([one["done"].values for one in found])
    point = data[f"{key}-point"]
    lifetime = point["exact"].values / indices  # in units of T_j s_j
    # A/(s - 1) + B through the first and the last index
    ends, inverse = lifetime[[0, -1]], 1.0 / (indices - 1.0)
    A = (ends[0] - ends[1]) / (inverse[0] - inverse[-1])
    law = A * inverse + ends[1] - A * inverse[-1]  # (indices,)
    return {
        f"{key}_within": share_of(
            int(((moved < 1.0) & (done == 1)).sum()),
            moved.size,
            f"{words}: centers of index {indices[0]} to {indices[-1]} that stay within the bound until T_j",
            1.0,
        ),
        f"{key}_moved": exact(
            moved.max(), f"{words}: farthest that any has moved by T_j, over what the lemma allows"
        ),
        f"{key}_least": exact(ratio.min(), f"{words}: least lifetime over guaranteed lifetime"),
        f"{key}_quartile": exact(
            lower_quartile(ratio)[-1], f"{words}: lower quartile of that ratio at index {indices[-1]}"
        ),
        f"{key}_point_least": exact(
            point["exact"].values.min(),
            f"{words}: least ratio with all earlier tokens at one point of the cap's edge",
        ),
        f"{key}_point_last": exact(point["exact"].values[-1], f"{words}: ratio there at index {indices[-1]}"),
        f"{key}_point_fall": exact(
            np.abs(lifetime / law - 1.0).max(),
            f"{words}: largest relative difference of lifetimes there from A/(s_j − 1) + B, A and B from the"
            f" indices {indices[0]} and {indices[-1]}",
            expected=0.0,
        ),
        f"{key}_point_law": exact(
            np.abs(point["simulated"].values / point["exact"].values - 1.0).max(),
            f"{words}: largest relative difference of simulated lifetimes there from the exact ones",
            expected=0.0,
        ),
    }


def _sphere_numbers(data: Data, p: Parameters) -> dict[str, Number]:
    """The bound of the lemma on the sphere, d = 3: among uniform tokens, and with tokens that come into the
    cap along a chord."""
    numbers: dict[str, Number] = {}
    for beta, separation in p["sphere"]:
        found, words = data[f"sphere-{ensemble_name(beta, separation)}"], ensemble_words(beta, separation)
        moved = found["moved"].values  # (indices, runs)
        numbers[f"sphere_{ensemble_name(beta, separation)}_within"] = share_of(
            int(((moved < 1.0) & (found["done"].values == 1)).sum()),
            moved.size,
            f"d = 3, {words}: centers of index {found['index'].values[0]} to {found['index'].values[-1]}"
            " among uniform tokens that stay within the bound until T_j",
        )
        numbers[f"sphere_{ensemble_name(beta, separation)}_moved"] = exact(
            moved.max(), f"d = 3, {words}: farthest that any has moved by T_j, over what the bound allows"
        )
    chord = data["chords"]
    farthest = np.where(chord["done"].values == 1, chord["moved"].values.max(1), 0.0)  # (runs,)
    about = (
        f"d = 3, β = {CHORD['beta']:g}, {CHORD['separation']:g} β^(−1/2) apart, two tokens and"
        f" {CHORD['tokens']} between them on the edge of the cap"
    )
    return numbers | {
        "chord_beyond": share_of(
            int((farthest > 1.0).sum()), len(farthest), f"{about}: runs whose center moves beyond the bound"
        ),
        "chord_least": exact(farthest.min(), "how far it moves by T_j, over what the bound allows, least"),
        "chord_nearest": exact(
            chord["nearest"].values.min(1).max(),
            "how near earlier tokens come to it, over β^(−1/2), farthest of the runs",
        ),
    }


def _power(indices: Array, ratio: Array) -> Array:
    """The power of the index with which the quartile of lifetimes, ratio / index, changes, for ratio (...,
    indices, runs).

    A quartile that outlasts the runs counts as their end.
    """
    x = np.log(indices) - np.log(indices).mean()  # (indices,)
    y = np.log(np.minimum(lower_quartile(ratio), FOLLOWED_TIMES) / indices)  # (..., indices)
    return np.asarray((y * x).sum(-1) / (x * x).sum())


def _powers(when: str, data: Data, p: Parameters) -> tuple[Array, Array]:
    """The powers of all ensembles, (ensembles,), and those of runs drawn again, (ensembles, resamples)."""
    indices = np.array(p["indices"])
    first, last = FITS[when]
    part = indices[(indices >= first) & (indices <= last)]
    rng, found, again = np.random.default_rng(51), [], []
    for pair in p["ensembles"]:
        name = ensemble_name(*pair)
        ratio = np.array([data[f"{name}-{s}"]["ratio"].values for s in part])  # (indices, runs)
        drawn = rng.integers(ratio.shape[1], size=(RESAMPLES, *ratio.shape))  # (resamples, indices, runs)
        found.append(_power(part, ratio))
        again.append(_power(part, np.take_along_axis(ratio[None], drawn, axis=-1)))
    return np.array(found), np.array(again)


def _index_numbers(data: Data, p: Parameters) -> dict[str, Number]:
    """How lifetimes change with the index, at every beta and separation; whether one power will do for all;
    and where the nearest token is before and after gathering."""
    numbers: dict[str, Number] = {}
    lows, highs = [], []  # of intervals that all hold at once
    outside = 0.05 / (len(FITS) * len(p["ensembles"]))
    for when, (first, last) in FITS.items():
        found, again = _powers(when, data, p)
        within = [s for s in p["indices"] if first <= s <= last]
        about = (
            f"power of s_j with which the lower quartile of lifetimes changes, s_j = {within[0]} to"
            f" {within[-1]}"
        )
        for i, pair in enumerate(p["ensembles"]):
            low, high = np.quantile(again[i], [0.025, 0.975])
            numbers[f"{ensemble_name(*pair)}_power_{when}"] = Number(
                float(found[i]),
                f"{ensemble_words(*pair)}: {about}",
                float(low),
                float(high),
                BOOTSTRAP_INTERVAL,
                -1.0,
            )
        lows += np.quantile(again, outside / 2.0, axis=1).tolist()
        highs += np.quantile(again, 1.0 - outside / 2.0, axis=1).tolist()
    last_one = data[f"{ensemble_name(p['beta'], p['separation'])}-{p['indices'][-1]}"]
    about = (
        f"{ensemble_words(p['beta'], p['separation'])}, index {p['indices'][-1]}: distance of the nearest"
        " token over β^(−1/2), median"
    )
    return numbers | {
        "powers_apart": exact(
            max(lows) - min(highs),
            f"distance between the farthest two of these {len(lows)} intervals, made wide enough to hold all"
            " at once with 95 % confidence; positive: no single power lies in all of them",
        ),
        "nearest": exact(np.median(last_one["nearest"].values), f"{about}, at the start"),
        "gathered": exact(
            np.median(last_one["gathered"].values), "the same once tokens have gathered, t = 20"
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    keys = [ensemble_name(*pair) for pair in p["ensembles"]]
    return (
        _displacement_verdict(numbers, keys),
        _one_point_verdict(numbers, keys),
        _index_verdict(numbers, p),
        _sphere_verdict(numbers, p),
        _chord_verdict(numbers),
    )


def _displacement_verdict(numbers: Numbers, keys: list[str]) -> Verdict:
    shares = [numbers["starts_within"], *(numbers[f"{key}_within"] for key in keys)]
    count = [sum(share.count[i] for share in shares if share.count) for i in range(2)]
    farthest = max(numbers["starts_moved"].value, *(numbers[f"{key}_moved"].value for key in keys))
    least = min(
        numbers["starts_least"].value,
        *(numbers[f"{key}_{kind}least"].value for key in keys for kind in ("", "point_")),
    )
    good = count[0] == count[1] and numbers["starts_done"].value == 1.0 and least >= 1.0
    return Verdict(
        "on the circle strong centers move less than εcβ^(−1/2) until T_j",
        "agrees" if good else "disagrees",
        f"{count[0]} of {count[1]} centers do, the farthest by {farthest:.0%} of that; lifetimes are at least"
        f" {least:.1f} times those guaranteed, in uniform starts at Figure 2's parameters"
        f" {numbers['starts_median'].value:.3g} times in the median",
    )


def _one_point_verdict(numbers: Numbers, keys: list[str]) -> Verdict:
    fall = max(numbers[f"{key}_point_fall"].value for key in keys)
    off = max(numbers[f"{key}_point_law"].value for key in keys)
    ratios = [numbers[f"{key}_point_least"].value for key in keys]
    return Verdict(
        "with all earlier tokens at one point a strong center lives A/(s_j − 1) + B, A and B independent of"
        " s_j: like Lemma 5.1's 1/s_j while s_j is well below A/B, never shorter than B",
        "proved" if fall <= LAW_ERROR and off <= LIFETIME_ERROR else "contradicted",
        f"exact lifetimes at all indices are so to {fall:.0e}, and simulated ones are the exact ones to"
        f" {off:.0e}; at the edge of the cap they are {min(ratios):.1f} to {max(ratios):.1f} times those"
        " guaranteed at the least favourable index",
        proof="proofs.md#a-center-with-all-earlier-tokens-at-one-point",
    )


def _sphere_verdict(numbers: Numbers, p: Parameters) -> Verdict:
    names = [f"sphere_{ensemble_name(*pair)}" for pair in p["sphere"]]
    count = [sum((numbers[f"{name}_within"].count or (0, 0))[i] for name in names) for i in range(2)]
    farthest = max(numbers[f"{name}_moved"].value for name in names)
    return Verdict(
        "Lemma 5.1's bound holds on the sphere (d = 3) in all uniform starts tried",
        "observed" if count[0] == count[1] else "not observed",
        f"{count[0]} of {count[1]} centers move less than εcβ^(−1/2) until T_j, the farthest by"
        f" {farthest:.0%} of that",
    )


def _chord_verdict(numbers: Numbers) -> Verdict:
    beyond = numbers["chord_beyond"]
    hits, runs = beyond.count or (0, 0)
    return Verdict(
        "Lemma 5.1's bound fails on the sphere (d = 3) from special starts",
        "observed" if hits == runs and runs > 0 else "not observed",
        "tokens on the edge of a strong center's cap can be drawn into it along a chord, and the center moves"
        f" farther than εcβ^(−1/2) before T_j: in {hits} of {runs} such starts, each moved at random by"
        f" {CHORD['moved']:g} β^(−1/2), it moves {numbers['chord_least'].value:.1f} times as far as the lemma"
        f" allows, or more. {CHORD['tokens']} tokens"
        f" start {CHORD['separation']:g} β^(−1/2) from the center, as the lemma asks, between two others on"
        f" the edge of its cap, and come to {numbers['chord_nearest'].value:.2f} β^(−1/2) or nearer. On the"
        " circle there is no way into the cap but past its edge",
    )


def _two_digits(power: float) -> str:
    """Two digits, and a minus sign that is one."""
    return f"{power:.2f}".replace("-", "−")


def _index_verdict(numbers: Numbers, p: Parameters) -> Verdict:
    powers = {
        when: [numbers[f"{ensemble_name(*pair)}_power_{when}"].value for pair in p["ensembles"]]
        for when in FITS
    }
    early, late = (f"{_two_digits(min(one))} to {_two_digits(max(one))}" for one in powers.values())
    each = "; ".join(
        f"{_two_digits(first)} and {_two_digits(last)} at {ensemble_words(*pair)}"
        for pair, first, last in zip(p["ensembles"], *powers.values(), strict=True)
    )
    apart = numbers["powers_apart"].value
    return Verdict(
        "among random tokens on the circle lifetimes of strong centers keep to no single power of s_j",
        "observed" if apart > 0.0 else "not observed",
        f"their lower quartile changes with a power of {early} of s_j up to {FITS['early'][1]}, and of {late}"
        f" beyond ({each}); with intervals that hold all at once with 95 % confidence "
        + (
            f"no power is in all of them, two being {apart:.2f} apart"
            if apart > 0.0
            else "one power is in all of them"
        )
        + ". At first more tokens bring the"
        " nearest one closer; later they crowd, and gather farther away than it was: at index"
        f" {p['indices'][-1]} the nearest is at {numbers['nearest'].value:.2f} β^(−1/2) at first, at"
        f" {numbers['gathered'].value:.2f} once gathered",
    )


ITEM = Item(
    key="lemma5.1",
    title="Lemma 5.1: strong centers stay",
    cost=Cost(quick=8.9, full=88.3),
    source="Lemma 5.1",
    statement=(
        "On the circle (d = 2) with Q = K = V = I, let strong centers be separated by c(1+2ε)β^(−1/2): each"
        " is farther than that from every earlier token. Let c > β^(1/2)τ*, with τ* where h(x) ="
        " e^{β(cos x − 1)} sin x is largest (c > 1 is enough for β > 1). If T_j s_j h(cβ^(−1/2)) <"
        " εcβ^(−1/2), the center with index s_j, counted from 1, moves less than εcβ^(−1/2) up to T_j."
    ),
    ours=(
        "How much longer centers stay than guaranteed, whether their lifetimes keep to a power of s_j, such"
        " as the lemma's 1/s_j, and whether the bound also holds on the sphere, d = 3, of which the lemma"
        " does not speak."
    ),
    parameters={
        "Q, K, V": "I",
        "d": 2,
        "beta": 64.0,
        "separation": 4.0,
        "n": 200,
        "starts": 200,
        "shares": [0.25, 0.5, 0.75],
        "ensembles": [[64.0, 3.0], [64.0, 4.0], [64.0, 5.0], [16.0, 4.0], [256.0, 4.0]],
        "indices": [2, 4, 8, 16, 32, 64, 128, 256],
        "runs": 128,
        "sphere": [[16.0, 3.0], [64.0, 4.0], [64.0, 5.0]],
        "sphere_indices": [2, 8, 32, 128],
        "sphere_runs": 256,
        "chord": dict(CHORD),
        "chord_runs": 20,
    },
    quick={
        "starts": 40,
        "ensembles": [[64.0, 3.0], [64.0, 4.0]],
        "indices": [2, 8, 16, 32, 64, 128],
        "runs": 32,
        "sphere_runs": 32,
        "chord_runs": 4,
    },
    choices=(
        (
            "c and ε for a given separation c(1+2ε): those with the longest guarantee, found by search; at"
            " Figure 2's parameters c = 3.699, ε = 0.041. Others are tried on the uniform starts."
        ),
        (
            "Lifetime: the first time at which a center has moved farther than εcβ^(−1/2). The first token"
            " never moves and is left out."
        ),
        (
            "Late strong centers are rare in uniform starts, so they are drawn directly: given that center"
            " s_j is strong, the tokens before it are independent and uniform outside its cap. Tokens after"
            " it do not matter to it."
        ),
        (
            "All earlier tokens at one point, just outside the cap: the lifetime is that of two tokens, one"
            " of weight s_j − 1, and known exactly."
        ),
        (
            f"Lifetimes are followed for {FOLLOWED_TIMES:g} guaranteed ones. They differ by many powers of"
            " ten from run to run, so the law is fitted to their lower quartile. That no single power serves"
            " all ensembles is asked of lifetimes that were known."
        ),
        (
            "On the sphere c, ε and T_j are those of the circle. The placement with a chord: two tokens on"
            f" the edge of the cap, {CHORD['apart']:g} β^(−1/2) from {CHORD['tokens']} others in the middle"
            " between them, all moved a little at random, outwards if at all; found by a search over the"
            " three lengths."
        ),
    ),
    criteria=(
        "First: agrees if no center has moved farther than the bound by T_j, at any of the times looked at,"
        " in any ensemble, and no lifetime is below the guaranteed one. Second: proved; contradicted if a"
        f" lifetime is not A/(s_j − 1) + B to {LAW_ERROR:g}, or a simulated one not the exact one to"
        f" {LIFETIME_ERROR:g}. Third: observed if no power lies in the intervals of all powers of s_j,"
        f" fitted early (s_j = {FITS['early'][0]} to {FITS['early'][1]}) and late (beyond) at every β and"
        " separation, these intervals together having 95 % confidence (Bonferroni). Fourth: observed if no"
        " center among uniform tokens on the sphere has moved farther than the bound by T_j. Fifth:"
        " observed if the center of every start with a chord has."
    ),
    captions={
        "lemma5.1": (
            "Left: displacement of the strong centers of uniform starts over the bound, against time over"
            " each center's guaranteed time; the lemma allows what is below the dashes. Middle: lifetimes"
            " over the index, in units of T_j s_j: lower quartiles (filled), shortest of the runs (open),"
            " all earlier tokens at one point (dots), guaranteed (dashes). Right: lifetime over guaranteed"
            " lifetime for every β and separation, as far as they were followed; infinite quartiles are left"
            " out."
        ),
        "lemma5.1-sphere": (
            "d = 3, tokens drawn into a strong center's cap along a chord. Left: seen from above the center,"
            " in units of β^(−1/2), the paths up to T_j; dashed the edge of its cap, grey what the lemma"
            " allows the center. Right: displacement of the center over what the lemma allows, every start"
            " one line."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
