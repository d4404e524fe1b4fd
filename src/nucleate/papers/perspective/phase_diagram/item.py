"""The phase diagram of full attention: the share of close pairs over time and beta."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of
from nucleate.papers.perspective.phase_diagram.data import betas_of, run
from nucleate.papers.perspective.phase_diagram.figures import draw
from nucleate.papers.perspective.phase_diagram.measures import equiangular_times, passing_times, shares

__all__ = ["ITEM"]

LINE_ERROR = 0.10  # of the time at which half of the pairs are close
JUDGED_SHARE = 0.8  # of T: later times could not be passed by half of the runs
LEVELS = (0.1, 0.5, 0.9)
SHOWN_BETAS = 4  # whose times are in the table of numbers


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """The time of half of the pairs against that of equiangular tokens, and the width of the transition."""
    betas, numbers = betas_of(p), {}
    curve = equiangular_times(betas, p)  # (beta,)
    judged = np.flatnonzero(curve <= JUDGED_SHARE * p["T"])
    largest = list(p["runs"])[-1]
    least = next(iter(p["runs"]))
    half, null = (
        passing_times(shares(data, d, p), data[f"d{d}"]["time"].values, 0.5) for d in (largest, least)
    )  # (beta, run) each
    off = np.array([_largest_off(half[i], curve[i]) for i in judged])
    numbers["line_off"] = exact(
        off.max(),
        f"d = {largest}: largest relative distance of an end of the 95 % interval of the time of half of the"
        f" pairs to that of equiangular tokens, β = {betas[judged[0]]:.3g} to {betas[judged[-1]]:.3g}",
        expected=0.0,
    )
    away = np.abs(np.nanmean(null[judged], -1) / curve[judged] - 1.0)
    numbers["line_null"] = exact(
        np.median(away),
        f"null, d = {least}: relative distance of that time to the curve, median over the same β",
    )
    for i in judged[np.linspace(0, len(judged) - 1, SHOWN_BETAS).astype(int)]:
        numbers[f"half_{betas[i]:.3g}"] = mean_of(
            half[i], f"d = {largest}, β = {betas[i]:.3g}: time at which half of the pairs are close", curve[i]
        )
    widths = {d: _widths(shares(data, d, p), data[f"d{d}"]["time"].values) for d in p["runs"]}  # (beta,) each
    everywhere = np.isfinite(list(widths.values())).all(0)  # (beta,)
    ordered = np.all(np.diff([widths[d][everywhere] for d in p["runs"]], axis=0) < 0.0, axis=0)
    for d in p["runs"]:
        numbers[f"width_{d}"] = exact(
            np.median(widths[d][everywhere]),
            f"d = {d}: time from 10 % to 90 % of the pairs over the time of 50 %, median over β",
        )
    numbers["ordered"] = share_of(
        int(ordered.sum()), len(ordered), "values of β at which it is smaller in every larger d", 1.0
    )
    return numbers


def _largest_off(half: Array, curve: float) -> float:
    """How far, relatively, the interval of the mean of some times reaches from a time; infinite if one is
    missing."""
    if not np.isfinite(half).all():
        return np.inf
    mean = mean_of(half, "")
    ends = [mean.value if mean.low is None else mean.low, mean.value if mean.high is None else mean.high]
    return float(max(abs(end / curve - 1.0) for end in ends))


def _widths(share: Array, times: Array) -> Array:
    """Of the mean over runs of shares (beta, run, time): (t_90 − t_10)/t_50, (beta,); NaN where T is too
    early."""
    low, middle, high = (passing_times(share.mean(1), times, level) for level in LEVELS)
    return np.asarray((high - low) / middle)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    line, ordered = numbers["line_off"], numbers["ordered"]
    largest = list(p["runs"])[-1]
    widths = ", ".join(f"{numbers[f'width_{d}'].value:.3f}" for d in p["runs"])
    assert ordered.count is not None
    return (
        Verdict(
            f"in d = {largest} uniform tokens gather when equiangular ones that start orthogonal do: the"
            " curve of ρ(0) = 0 lies on the transition of the phase diagram",
            "agrees" if line.value <= LINE_ERROR else "disagrees",
            f"the time at which half of the pairs have an overlap of {p['close']:g} is that of the curve to"
            f" {line.value:.1%} at worst, over all β whose curve is below {JUDGED_SHARE * p['T']:g}; in d ="
            f" {next(iter(p['runs']))} it is {numbers['line_null'].value:.0%} from it (median)"
            if np.isfinite(line.value)
            else f"in some runs half of the pairs are not together by T = {p['T']:g}",
        ),
        Verdict(
            "the transition is the sharper the larger the dimension",
            "observed" if ordered.count[0] == ordered.count[1] else "not observed",
            f"from 10 % to 90 % of the pairs it takes {widths} of the time of 50 % (medians over β) for d ="
            f" {', '.join(p['runs'])}; smaller in every larger d at {ordered.count[0]} of {ordered.count[1]}"
            " values of β",
        ),
    )


ITEM = Item(
    key="phase-diagram",
    title="The phase diagram",
    cost=Cost(quick=12.0, full=150.0),
    source="the figure of the phase diagrams",
    statement=(
        "n = 32 tokens, independent and uniform on the unit sphere of R^d, move by self-attention (SA:"
        " softmax, full mask) with Q = K = V = I until T = 30. For d = 8, 128 and 1024 the probability that a"
        " pair has ⟨x_i, x_j⟩ ≥ 0.999 is drawn over t and β, 90 values in [0.1, 9], from 2048 runs each. In"
        " high dimension it jumps from 0 to 1 along a curve: that of tokens which are orthogonal at t = 0 and"
        " stay equiangular, ρ' = 2e^{βρ}(1−ρ)((n−1)ρ+1)/(e^β+(n−1)e^{βρ}), drawn for d = 1024."
    ),
    ours=(
        "That the transition sharpens with the dimension is seen in the paper's pictures; here it is"
        " measured, as the time from 10 % to 90 % of the pairs over the time of 50 %."
    ),
    parameters={
        "Q, K, V": "I",
        "mask": "full",
        "n": 32,
        "runs": {"8": 256, "128": 48, "1024": 32},
        "betas": [0.1, 9.0, 90],
        "T": 30.0,
        "frames": 301,
        "close": 0.999,
        "rtol": 1e-6,
        "seed": 0,
    },
    quick={"runs": {"8": 32, "128": 8, "1024": 8}, "betas": [0.1, 9.0, 18], "frames": 121},
    choices=(
        (
            "Fewer runs than the paper's 2048: 256, 48 and 32 for d = 8, 128 and 1024. In high dimension"
            " overlaps of uniform tokens are 1/√d, so that runs hardly differ and a few are enough; the"
            " interval of every time over runs is part of the criterion. Every β has its own starts."
        ),
        (
            "For d > 32 the tokens are followed in orthonormal coordinates of their span, which full"
            " attention with Q = K = V = I never leaves: overlaps are the same, and 1024 dimensions cost what"
            " 32 do."
        ),
        (
            "Steps of order 8 with an error of 10⁻⁶ each; the authors' program takes Euler steps of 0.1 and"
            " renormalises."
        ),
        "Times between frames, 0.1 apart, are found by straight lines.",
    ),
    criteria=(
        f"First: agrees if in d = 1024, for every β whose curve is below {JUDGED_SHARE:g} T, the 95 %"
        f" interval (over runs) of the time at which half of the pairs are close is within {LINE_ERROR:.0%}"
        " of the curve: overlaps that scatter by 1/32 at the start should not matter more. Second: observed"
        " if at every β at which 90 % are reached before T in every d the time from 10 % to 90 % over that of"
        " 50 % is smaller in every larger d."
    ),
    captions={
        "phase-diagram": (
            "The share of pairs of tokens with ⟨x_i, x_j⟩ ≥ 0.999 over time and β, in three dimensions. Red,"
            " in the last panel: the time at which equiangular tokens that start orthogonal are that close."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
