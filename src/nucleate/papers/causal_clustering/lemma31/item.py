"""Lemma 3.1: how fast one token comes near the top of V's spectrum, whatever that is."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.lemma31.data import FAST, LATE, LONG, TOPS, Top, followed
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

RATE = 0.02  # of the gap: what powers of t, up to t^2, still add at the times that are fitted
POWER = 0.02  # of the power -1: 1/t is followed by terms of 1/t^2, which at t = 1000 are not quite gone
TURNING = 1e-3  # of the speed of turning, fitted over a few turns
EXACT = 1e-9  # a thousand times the tolerance of the simulation


def run(desk: "Desk") -> Data:
    """Every kind of top."""
    data: dict[str, Any] = {}
    for i, top in enumerate(TOPS):
        data[top.name] = followed(desk, top, desk.p["seed"], desk.p["runs"])
        desk.at((i + 1) / len(TOPS))
    return data


def across(x: Array, many: int) -> Array:
    """The distance of unit vectors x (..., d) from the span of the first `many` unit vectors, (...)."""
    rest = x[..., many:]
    size = np.abs(rest).max(-1, keepdims=True)  # squares of numbers below 1e-154 are nothing
    return np.asarray(size[..., 0] * np.linalg.norm(rest / size, axis=-1))


def rates(top: Top, found: "Dataset", simulated: bool = False) -> Array:
    """The rate with which the token comes near L', as a share of the gap, (runs,): by the exact flow over
    long times, or simulated."""
    times, x = (FAST, found["x"].values) if simulated else (LONG, found["long"].values)
    return np.array([-np.polyfit(times, np.log(one), 1)[0] for one in across(x, top.size)])


def powers(top: Top, found: "Dataset") -> Array:
    """The power of t with which the token comes near L, (runs,)."""
    return np.array(
        [np.polyfit(np.log(LATE), one, 1)[0] for one in np.log(across(found["late"].values, top.inside))]
    )


def turning(found: "Dataset") -> Array:
    """The speed with which the token's first two coordinates turn, as a share of the imaginary part,
    (runs,)."""
    x, gap, speed = found["x"].values, found["gap"].values, found["speed"].values
    phase = np.unwrap(np.arctan2(x[..., 1], x[..., 0]), axis=1)  # (runs, times)
    return np.array([np.polyfit(FAST / gap[i], phase[i], 1)[0] / speed[i] for i in range(len(gap))])


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Rates and powers, kind by kind."""
    from nucleate.theory.atlas import atlas

    numbers: dict[str, Number] = {}
    for top in TOPS:
        found, words = data[top.name], top.words
        rate = rates(top, found)
        known = [atlas(V) for V in found["V"].values]
        strange = [
            one
            for one in known
            if (one.algebraic, one.basis.shape[1], one.block, "complex" in one.kind)
            != (top.size, top.inside, top.block, top.turns)
        ]
        numbers |= {
            f"{top.name}_meant": exact(
                len(strange), f"{words}: V that the atlas takes for another kind", expected=0.0
            ),
            f"{top.name}_rate": mean_of(
                rate, f"{words}: rate with which a token comes near L', divided by the spectral gap", 1.0
            ),
            f"{top.name}_rate_worst": exact(
                np.abs(rate - 1.0).max(), f"{words}: the worst of these, difference from 1", expected=0.0
            ),
            f"{top.name}_wrong": exact(
                found["wrong"].values.max(),
                f"{words}: largest difference of the simulation from the exact flow",
                expected=0.0,
            ),
        }
        if top.block == 1:
            simulated = np.abs(rates(top, found, simulated=True) - 1.0).max()
            numbers[f"{top.name}_simulated"] = exact(
                simulated,
                f"{words}: the same fitted to the simulation, worst difference from 1",
                expected=0.0,
            )
        if top.block > 1:
            power = powers(top, found)
            numbers |= {
                f"{top.name}_power": mean_of(
                    power, f"{words}: power of t with which a token comes near L", -1.0
                ),
                f"{top.name}_power_worst": exact(
                    np.abs(power + 1.0).max(),
                    f"{words}: the worst of these, difference from −1",
                    expected=0.0,
                ),
            }
        if top.turns and top.block == 1:
            speed = turning(found)
            numbers["turning"] = mean_of(speed, f"{words}: angular speed divided by the imaginary part", 1.0)
            numbers["turning_worst"] = exact(
                np.abs(speed - 1.0).max(), "the worst of these, difference from 1", expected=0.0
            )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    strange = sum(int(numbers[f"{top.name}_meant"].value) for top in TOPS)
    off = max(
        max(
            numbers[f"{top.name}_rate_worst"].value,
            numbers[f"{top.name}_simulated"].value if top.block == 1 else 0.0,
        )
        for top in TOPS
    )
    wrong = max(numbers[f"{top.name}_wrong"].value for top in TOPS)
    bad = [top for top in TOPS if top.block > 1]
    slope = max(numbers[f"{top.name}_power_worst"].value for top in bad)
    sound = strange == 0 and wrong <= EXACT
    turn = numbers["turning_worst"].value
    runs = p["runs"] * len(TOPS)
    return (
        Verdict(
            "a token comes near L' exponentially fast",
            "agrees" if sound and off <= RATE else "disagrees",
            f"in all of {runs} runs, six kinds of top, it does, at the rate of the spectral gap to {off:.1%}"
            f" at worst, so the bound is sharp (ours); simulation and exact flow differ by {wrong:.0e}",
        ),
        Verdict(
            "a token comes near L at least as fast as 1/t",
            "agrees" if sound and slope <= POWER else "disagrees",
            f"exactly like 1/t where the top is defective: powers of t are −1 to {slope:.1e} for r = 2, r = 3"
            " and complex ones; where it is not, L' is L, and it is exponential",
        ),
        Verdict(
            "with a complex top it converges to no point, and turns at the speed of the imaginary part"
            " (ours)",
            "agrees" if sound and turn <= TURNING else "disagrees",
            f"measured speeds are those of the imaginary part to {turn:.0e}",
        ),
    )


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """On the left distances from L' against time times gap, in the middle from L against time, on the right
    all rates."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(11.5, 3.9), layout="constrained")
    fast, slow, strip = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.9])
    palette = tidy(fast)
    tidy(slow)
    tidy(strip)
    for i, top in enumerate(TOPS):
        found, colour = data[top.name], CLUSTER_COLOURS[i]
        apart = across(found["x"].values, top.size)  # (runs, times)
        fast.plot(
            FAST,
            np.median(apart, axis=0),
            marker="osD^vP"[i],
            markersize=4,
            color=colour,
            linestyle="none",
            label=top.words,
        )
        rate = rates(top, found)
        strip.scatter(
            rate, np.full(len(rate), i) + np.linspace(-0.25, 0.25, len(rate)), s=6, color=colour, linewidths=0
        )
        if top.block > 1:
            for one in across(found["late"].values, top.inside)[:8]:
                slow.plot(LATE, one, color=colour, linewidth=1.0)
    fast.plot(FAST, 3.0 * np.exp(-FAST), color=palette.ink, linewidth=1.0, linestyle=(0, (5, 3)))
    fast.text(FAST[9], 6.0 * np.exp(-FAST[9]), r"$e^{-s}$", fontsize=SMALL_POINTS)
    fast.set(
        yscale="log", ylim=(1e-14, None), xlabel="s = time × gap", ylabel="distance from L', median over V"
    )
    fast.legend(fontsize=SMALL_POINTS - 1, frameon=False, loc="lower left")
    slow.plot(LATE, 0.05 / LATE, color=palette.ink, linewidth=1.0, linestyle=(0, (5, 3)))
    slow.text(LATE[6], 0.02 / LATE[6], "1/t", fontsize=SMALL_POINTS, ha="right", va="top")
    slow.set(xscale="log", yscale="log", xlabel="t", ylabel="distance from L, defective tops")
    strip.axvline(1.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    reach = 1.2 * max(RATE, *(numbers[f"{top.name}_rate_worst"].value for top in TOPS))
    strip.set(xlabel="rate / gap", xlim=(1.0 - reach, 1.0 + reach), ylim=(len(TOPS) - 0.5, -0.5))
    strip.set_yticks(
        range(len(TOPS)), [top.words.replace(", ", ",\n") for top in TOPS], fontsize=SMALL_POINTS
    )
    return {"lemma31": figure}


ITEM = Item(
    key="lemma3.1",
    title="Lemma 3.1: one token",
    statement=(
        "x' = P_x(Vx). With L' the generalised eigenspace at the largest real part and L the part of it that"
        " the largest Jordan blocks reach, for almost every start dist(x, L') ≤ C e^{−ct} and dist(x, L) ≤"
        " C/t. That c is the spectral gap, that 1/t is attained exactly for defective tops, and that complex"
        " tops turn for ever is our own statement."
    ),
    parameters={"d": 6, "top": 1.0, "runs": 60, "seed": 0},
    quick={"runs": 8},
    choices=(
        (
            "Random V in six dimensions, block upper triangular so that equal eigenvalues are equal to the"
            " last bit, with Gaussian entries above the blocks, so that eigenvectors lean: top 1, next real"
            " part 0.3 to 0.6 below it, the others at least 0.4 farther down."
        ),
        (
            "Rates are fitted to the exact flow where time times gap is 200 to 600, for near a defective top"
            " the distance from L' is e^{−ct} t^{−(r−1)}, and powers of t take long to be outgrown; and for"
            " other tops to the simulation, too, at 12 to 21."
        ),
        (
            "Powers of t are fitted to the exact flow from t = 1000 to 1,000,000; the exact flow is"
            " e^{tV}x/|e^{tV}x|, and the simulation is compared with it."
        ),
    ),
    criteria=(
        f"First: agrees if every rate is the gap to {RATE:.0%}. Second: agrees if every power for defective"
        f" tops is −1 to {POWER:g}. Third: agrees if every speed is the imaginary part to {TURNING:g}. All:"
        f" the atlas takes every V for what it is, and the simulation is the exact flow to {EXACT:g}."
    ),
    captions={
        "lemma31": (
            "Left: distance of one token from L' against time times spectral gap, median over V, for six"
            " kinds of top; dashed e^{−s}. Middle: distance from L where the top is defective, some V each,"
            " against time; dashed 1/t. Right: all fitted rates divided by the gap."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
