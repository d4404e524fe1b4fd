"""The whole life of a metastable state: tokens gather, clusters merge one by one, and all end where the first
token began."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.life.data import lives, one_run
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

NEAR = 1e-6
LAW = 0.05  # how far the slope of the law may be from 1: its prefactor changes with the angle, too
EXACT = 0.01  # of the logarithm to base 10 of the last lifetime, against the exact two-token time


def run(desk: "Desk") -> Data:
    """The life that is shown, and many lives at every beta."""
    p = desk.p
    data: dict[str, Any] = {"hero": desk.run("hero", lambda: one_run(p["hero_beta"], p["n"], p["hero_seed"]))}
    cost = np.cumsum([0.0, *(beta**0.7 for beta in p["betas"])])  # about the time each takes
    for i, beta in enumerate(p["betas"]):

        def told(share: float, i: int = i) -> None:
            desk.at((cost[i] + share * (cost[i + 1] - cost[i])) / cost[-1])

        data[f"beta{beta:g}"] = lives(desk, beta, p["starts"], p["n"], told)
    return data


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """How lives end, how many clusters there are, and the law of the last merge."""
    from nucleate.theory.counts import expected_centers

    numbers: dict[str, Number] = {}
    every = [data[f"beta{beta:g}"] for beta in p["betas"]]
    for beta, found in zip(p["betas"], every, strict=True):
        key, starts = f"beta{beta:g}", int(found.sizes["start"])
        delta = min(4.0 / beta**0.5, np.pi)
        last = np.log10(found["last_time"].values[np.isfinite(found["last_time"].values)])
        numbers |= {
            f"{key}_whole": share_of(
                int(((found["whole"].values == 1.0) & (found["off"].values <= NEAR)).sum()),
                starts,
                f"β = {beta:g}: lives that end with every token within {NEAR:g} of x_1(0)",
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
    x, y, expected = law(every, p["betas"])
    slope, half = fitted(x, y)
    gap = np.abs(y - expected) / np.log(10.0)
    numbers |= {
        "law_slope": Number(
            slope,
            "slope of log(time of the last merge) against β(1 − cos Δ), all β together",
            slope - half,
            slope + half,
            f"95 % interval of a straight line through {len(x)} lives",
            1.0,
        ),
        "law_exact": exact(
            gap.max(),
            "largest difference of log₁₀(lifetime of the last two clusters) from the exact two-token time"
            " with the weight of the tokens the last leader sees",
            expected=0.0,
        ),
        "law_median": exact(np.median(gap), "median of these differences", expected=0.0),
        "law_below": exact(
            (x - y).max() / np.log(10.0), "decades by which a lifetime lies below e^{β(1 − cos Δ)}, at most"
        ),
    }
    return numbers


def law(every: "list[Dataset]", betas: list[float]) -> tuple[Array, Array, Array]:
    """Of every life with two clusters at some time: beta (1 - cos angle), the logarithm of their lifetime,
    and what the two-token law gives."""
    rows = [
        (beta * 2.0 * np.sin(angle / 2.0) ** 2, np.log(time - since), expected)
        for beta, found in zip(betas, every, strict=True)
        for time, since, angle, expected in zip(
            *(found[name].values for name in ("last_time", "two_from", "angle", "log_expected")), strict=True
        )
        if np.isfinite(time) and time > since
    ]
    x, y, z = (np.array(column) for column in zip(*rows, strict=True))
    return x, y, z


def fitted(x: Array, y: Array) -> tuple[float, float]:
    """The slope of a straight line through (x, y) and half of its 95 % interval."""
    from scipy.stats import linregress
    from scipy.stats import t as student

    line = linregress(x, y)
    return float(line.slope), float(line.stderr * student.ppf(0.975, max(len(x) - 2, 1)))


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    shares = [numbers[f"beta{beta:g}_whole"] for beta in p["betas"]]
    count = [sum(share.count[i] for share in shares if share.count) for i in range(2)]
    worst = max(numbers[f"beta{beta:g}_off"].value for beta in p["betas"])
    slope, gap = numbers["law_slope"], numbers["law_exact"].value
    lasts = ", ".join(f"10^{numbers[f'beta{beta:g}_last'].value:.0f}" for beta in p["betas"])
    return (
        Verdict(
            "V = I: every token ends at x_1(0) (Theorem 4.1)",
            "agrees" if count[0] == count[1] else "disagrees",
            f"{count[0]} of {count[1]} lives do, to {worst:.0e}, after last merges at about t = {lasts} for β"
            f" = {', '.join(f'{beta:g}' for beta in p['betas'])}",
        ),
        Verdict(
            "clusters are metastable: the last two live as long as the exact two-token law says, with the"
            " exponent β(1 − cos Δ) (ours)",
            "evidence for" if abs(slope.value - 1.0) <= LAW and gap <= EXACT else "evidence against",
            f"the exact two-token law gives every lifetime to {100 * (10**gap - 1):.2g} %; of all lives"
            f" together log time against β(1 − cos Δ) has slope {slope.value:.3f} ±"
            f" {((slope.high or 0.0) - (slope.low or 0.0)) / 2:.3f}, though one may live up to"
            f" {numbers['law_below'].value:.1f} decades shorter than e^{{β(1 − cos Δ)}}, by the law's"
            " prefactor",
        ),
    )


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The life shown; the number of clusters over time; the law of the last merge."""
    return {"life": _hero(data), "life-counts": _counts(data, p), "life-law": _law(data, numbers, p)}


def _hero(data: Data) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.observe.life import Life
    from nucleate.observe.merges import merges
    from nucleate.plot.merges import LIFE_INCHES, life, life_axes

    figure = Figure(figsize=LIFE_INCHES, layout="constrained")
    life(Life(data["hero"], merges(data["hero"])), life_axes(figure))
    return figure


def _counts(data: Data, p: Parameters) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.bands import band
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS
    from nucleate.plot.time_axis import log_time_axis

    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    ax = figure.add_subplot()
    styles: list[Any] = ["-", (0, (6, 1.5)), (0, (3, 1.5)), (0, (1, 1))]
    for i, beta in enumerate(p["betas"]):
        found = data[f"beta{beta:g}"]
        band(
            found["time"].values,
            found["count"].values,
            ax,
            f"β = {beta:g}",
            CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]],
            linestyle=styles[i % 4],
            log=True,
        )
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        labels,
        title="mean and 10% to 90% of runs",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=4,
        fontsize=SMALL_POINTS,
        title_fontsize=SMALL_POINTS,
        alignment="left",
    )
    end = max(float(np.nanmax(data[f"beta{beta:g}"]["last_time"].values)) for beta in p["betas"])
    log_time_axis(ax, 10.0 * end)
    ax.set_yscale("log")
    ax.set_yticks([1, 2, 3, 5, 10, 20, 50, 100, 200], ["1", "2", "3", "5", "10", "20", "50", "100", "200"])
    ax.minorticks_off()
    ax.set(ylim=(0.9, 1.15 * p["n"]), ylabel="clusters")
    return figure


def _law(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    ax, beside = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
    palette = tidy(ax)
    tidy(beside)
    reach = max(1.3 * numbers["law_exact"].value, 1e-12)
    power = math.floor(math.log10(reach))
    unit = 10.0**power
    for i, beta in enumerate(p["betas"]):
        x, y, expected = law([data[f"beta{beta:g}"]], [beta])
        colour, mark = CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]], "osD^"[i % 4]
        ax.scatter(
            x / np.log(10),
            y / np.log(10),
            s=16,
            marker=mark,
            color=colour,
            linewidths=0,
            label=f"β = {beta:g}",
        )
        beside.scatter(
            x / np.log(10), (y - expected) / np.log(10) / unit, s=16, marker=mark, color=colour, linewidths=0
        )
    far = ax.get_xlim()[1]
    ax.plot([0, far], [0, far], color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.set(
        xlim=(0, far),
        ylim=(0, far),
        xlabel=r"$\beta(1 - \cos\Delta)\,/\,\ln 10$",
        ylabel=r"$\log_{10}$ of the last lifetime",
    )
    ax.set_title(f"slope {numbers['law_slope']!s}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
    beside.axhline(0.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    beside.set(
        xlim=(0, far), ylim=(-reach / unit, reach / unit), xlabel=r"$\beta(1 - \cos\Delta)\,/\,\ln 10$"
    )
    beside.set_ylabel(rf"$\log_{{10}}$(measured / two-token law), in $10^{{{power}}}$")
    return figure


ITEM = Item(
    key="life",
    title="The whole life of a metastable state",
    statement=(
        "With Q = K = V = I tokens gather into clusters that live for very long times, and in the end every"
        " token goes to where the first one began (Theorem 4.1). The paper follows the clusters to t = 150;"
        " here they are followed to the end. That the last two clusters, Δ apart, live as long as the exact"
        " two-token law says, the exponential of β(1 − cos Δ) times a prefactor, is our own statement."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 200,
        "d": 2,
        "betas": [16.0, 36.0, 64.0, 100.0],
        "starts": 50,
        "hero_beta": 64.0,
        "hero_seed": 0,
    },
    quick={"starts": 6},
    choices=(
        (
            "The values of β, the number of starts (uniform, seeds 0, 1, …) and n and d, which are those of"
            " Figure 2."
        ),
        (
            "Clusters over time: tokens joined by steps of at most 0.1 β^(−1/2), so that at first nearly"
            " every token is one. Merges: a cluster is lost when its first member comes within 0.1 β^(−1/2)"
            " of a cluster with an earlier first member."
        ),
        (
            "Δ is the angle between the first members of the last two clusters at the moment from which on"
            " there are only two. The exact two-token law takes the k tokens before the last leader as one,"
            " at rest at x_1(0)."
        ),
    ),
    criteria=(
        f"First: agrees if every life ends with all tokens within {NEAR:g} of x_1(0). Second: evidence for if"
        f" every lifetime is that of the exact two-token law to {EXACT:g} in its logarithm to base 10, and"
        f" the slope of log(lifetime) against β(1 − cos Δ) over all lives is 1 to {LAW:g}."
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
            "Left: lifetime of the last two clusters against β(1 − cos Δ), one mark per start, and the line"
            " e^{β(1 − cos Δ)}: the slope is that of all marks together, most of which lie below the line by"
            " the law's prefactor. Right: what is left after the exact two-token law is taken off, which"
            " knows that prefactor."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
