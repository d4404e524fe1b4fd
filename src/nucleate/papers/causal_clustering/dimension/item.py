"""Effective dimension: with dim L = d_1 below d, do clusters number β^{(d_1−1)/2}, and do tokens reach L
before they gather?"""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.dimension.data import exponent_data, gap_data
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import CAUTION, NORMAL, half_of, line, slope_of, told
from nucleate.papers.core.numbers import Number, exact, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.papers.core.cache import Desk

SLACK = 0.05  # by which an exponent may be off: curved caps are not yet those of the limit
ALIKE = 0.2  # by which the number of clusters may differ from that on L alone
GATHERED = 0.1  # clusters per token from which on tokens count as gathered
THERE = 0.9  # of the tokens must be near L at the end
# tokens in a cap of the whole sphere with which they gather there, and with which they do not
DENSE, SPARSE = 30.0, 1.0


def run(desk: "Desk") -> Data:
    """Exponents for every dim L, then the scan of the gap."""
    p, data = desk.p, {}
    jobs = [
        (f"top{top}-beta{beta:g}", exponent_data, int(top), beta)
        for top, betas in p["betas"].items()
        for beta in betas
    ]
    scan = [(f"gap{gap:g}-beta{beta:g}", gap_data, beta, gap) for beta in p["gap_betas"] for gap in p["gaps"]]
    for i, (name, make, *at) in enumerate([*jobs, *scan]):
        data[name] = make(desk, *at)
        desk.at((i + 1) / (len(jobs) + len(scan)))
    return data


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Exponents, ratios to L alone, and where tokens are when they gather."""
    numbers: dict[str, Number] = {}
    for top, betas in p["betas"].items():
        mean, error = means(data, int(top), betas)
        expected = (int(top) - 1) / 2.0
        words = f"dim L = {top}, d = {p['d']}"
        numbers[f"exponent_{top}"] = slope_of(
            line(np.log(betas), np.log(mean), error / mean),
            f"{words}: exponent of β in the number of clusters at t = {p['at']:g}",
            expected,
        )
        ratio = np.concatenate(
            [
                data[f"top{top}-beta{beta:g}"]["clusters"].values
                / data[f"top{top}-beta{beta:g}"]["alone"].values
                for beta in betas
            ]
        )
        numbers[f"ratio_{top}"] = mean_of(
            ratio, f"{words}: clusters over those of the same tokens put on L at once", 1.0
        )
        near = [data[f"top{top}-beta{beta:g}"]["near"].values.mean() for beta in betas]
        numbers[f"near_{top}"] = exact(
            min(near), f"{words}: least share of tokens within β^(−1/2) of L, over β", expected=1.0
        )
    return numbers | _scan(data, p)


def means(data: Data, top: int, betas: list[float]) -> tuple[Array, Array]:
    """Mean number of clusters at every β and its standard error; the variance goes with the mean, as far
    parts know nothing of each other."""
    counts = [data[f"top{top}-beta{beta:g}"]["clusters"].values for beta in betas]
    mean = np.array([one.mean() for one in counts])
    freedom = np.array([len(one) - 1 for one in counts])
    per_mean = (
        sum(one.var(ddof=1) / m * k for one, m, k in zip(counts, mean, freedom, strict=True)) / freedom.sum()
    )
    return mean, np.sqrt(np.maximum(per_mean, 1e-4) * mean / (freedom + 1))


def _scan(data: Data, p: Parameters) -> dict[str, Number]:
    """Where tokens are at the moment they have gathered, by β and gap; and the gap at which they just reach L
    first."""
    from nucleate.theory.counts import cap_share

    numbers: dict[str, Number] = {}
    for beta in p["gap_betas"]:
        in_cap = p["n"] * cap_share(min(4.0 * beta**-0.5, np.pi), p["d"])
        numbers[f"cap_beta{beta:g}"] = exact(
            in_cap, f"β = {beta:g}: tokens in a cap of radius 4β^(−1/2) of the whole sphere, n = {p['n']}"
        )
        levels = [on_L(data, p, beta, gap) for gap in p["gaps"]]
        for gap, level in zip(p["gaps"], levels, strict=True):
            numbers[f"on_L_beta{beta:g}_gap{gap:g}"] = mean_of(
                level, f"β = {beta:g}, gap {gap:g}: mean square of the part in L when tokens have gathered"
            )
        mean = np.array([level.mean() for level in levels])
        if mean[0] < halfway(p) <= mean[-1]:
            after = int((mean >= halfway(p)).argmax())
            gap = np.exp(
                np.interp(halfway(p), mean[after - 1 : after + 1], np.log(p["gaps"][after - 1 : after + 1]))
            )
            numbers[f"critical_beta{beta:g}"] = exact(
                gap, f"β = {beta:g}: gap from which on tokens are on L before they gather", "interpolated"
            )
    return numbers


def halfway(p: Parameters) -> float:
    """The mean square of the part in L from which on the reduction has won: half of the way from uniform
    tokens to L."""
    return float((p["top"] / p["d"] + 1.0) / 2.0)


def on_L(data: Data, p: Parameters, beta: float, gap: float) -> Array:
    """Mean square of the part of tokens in L at the first frame with few clusters, run by run, (runs,)."""
    found = data[f"gap{gap:g}-beta{beta:g}"]
    few = found["clusters"].values <= GATHERED * p["n"]  # (run, time)
    first = np.where(few.any(1), few.argmax(1), few.shape[1] - 1)
    return np.asarray(found["on_L"].values[np.arange(len(first)), first])


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    tops = list(p["betas"])
    exponents = {top: numbers[f"exponent_{top}"] for top in tops}
    right = all(
        abs(one.value - (one.expected or 0.0)) <= SLACK + CAUTION / NORMAL * half_of(one)
        for one in exponents.values()
    )
    ratios = {top: numbers[f"ratio_{top}"] for top in tops}
    alike = all(abs(one.value - 1.0) <= ALIKE for one in ratios.values()) and all(
        numbers[f"near_{top}"].value >= THERE for top in tops
    )
    dense = [beta for beta in p["gap_betas"] if numbers[f"cap_beta{beta:g}"].value >= DENSE]
    sparse = [beta for beta in p["gap_betas"] if numbers[f"cap_beta{beta:g}"].value <= SPARSE]
    low, high, level = p["gaps"][0], p["gaps"][-1], halfway(p)
    crossing = all(
        numbers[f"on_L_beta{beta:g}_gap{low:g}"].value
        < level
        <= numbers[f"on_L_beta{beta:g}_gap{high:g}"].value
        for beta in dense
    )
    always = all(
        numbers[f"on_L_beta{beta:g}_gap{gap:g}"].value >= level for beta in sparse for gap in p["gaps"]
    )
    critical = ", ".join(
        f"{numbers[f'critical_beta{beta:g}'].value:.2g} at β = {beta:g}"
        f" ({numbers[f'cap_beta{beta:g}'].value:.0f} tokens in a cap)"
        for beta in p["gap_betas"]
        if f"critical_beta{beta:g}" in numbers
    )
    return (
        Verdict(
            f"clusters number β^{{(d₁−1)/2}} with d₁ = dim L, inside d = {p['d']} (conjectured)",
            "evidence for" if right else "evidence against",
            "exponents " + ", ".join(f"{told(one)} for d₁ = {top}" for top, one in exponents.items()),
        ),
        Verdict(
            "with a large gap it is as if the tokens had been on L from the start (ours)",
            "evidence for" if alike else "evidence against",
            "clusters over those on L alone: "
            + ", ".join(f"{told(one)} for d₁ = {top}" for top, one in ratios.items()),
        ),
        Verdict(
            "the reduction wins against clustering at any gap if caps of the whole sphere are empty, else"
            " from a certain gap on (ours)",
            (
                "not testable here"
                if not (dense and sparse)
                else "evidence for"
                if crossing and always
                else "evidence against"
            ),
            f"tokens reach L first for gaps above {critical or 'none'}; with at most {SPARSE:g} token in a"
            f" cap, at every gap from {low:g} on",
        ),
    )


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Left, clusters against β; right, where tokens are when they gather."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_exponents(left, data, numbers, p)
    _draw_scan(right, numbers, p)
    return {"dimension": figure}


def _draw_exponents(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    from nucleate.papers.causal_clustering.law.figures import beta_axes
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (top, betas) in enumerate(p["betas"].items()):
        mean, error = means(data, int(top), betas)
        colour = CLUSTER_COLOURS[(5, 0, 3)[i % 3]]
        ax.plot(
            betas,
            mean[-1] * (np.array(betas) / betas[-1]) ** ((int(top) - 1) / 2.0),
            color=palette.grey(0.45),
            linewidth=0.9,
            zorder=1,
        )
        label = f"dim L = {top}: exponent {round(numbers[f'exponent_{top}'].value, 3) + 0.0:.3f}"
        ax.errorbar(
            betas,
            mean,
            NORMAL * error,
            fmt="osD"[i % 3],
            color=colour,
            markersize=5,
            linewidth=1.0,
            label=label,
            zorder=3,
        )
        alone = [data[f"top{top}-beta{beta:g}"]["alone"].values.mean() for beta in betas]
        ax.plot(
            betas,
            alone,
            "o",
            markersize=9,
            markerfacecolor="none",
            markeredgecolor=palette.ink,
            linestyle="none",
            markeredgewidth=0.7,
            zorder=2,
        )
    beta_axes(ax, sorted({beta for betas in p["betas"].values() for beta in betas}))
    ax.set(ylabel=f"clusters at t = {p['at']:g}")
    ax.set_title(f"d = {p['d']}, gap {p['gap']:g}; rings: on L from the start", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_scan(ax: Any, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (beta, colour) in enumerate(zip(p["gap_betas"], palette.tokens(len(p["gap_betas"])), strict=True)):
        levels = [numbers[f"on_L_beta{beta:g}_gap{gap:g}"] for gap in p["gaps"]]
        label = f"β = {beta:g}: {numbers[f'cap_beta{beta:g}'].value:.3g} tokens"
        halves = [half_of(one) for one in levels]
        ax.errorbar(
            p["gaps"],
            [one.value for one in levels],
            halves,
            color=colour,
            marker="osD^v"[i % 5],
            markersize=4.5,
            linewidth=1.2,
            label=label,
        )
    ax.axhline(halfway(p), color=palette.grey(0.5), linewidth=0.9, zorder=0)
    ax.axhline(p["top"] / p["d"], color=palette.grey(0.5), linewidth=0.9, linestyle=(0, (2, 2)), zorder=0)
    ax.text(
        p["gaps"][-1],
        p["top"] / p["d"] + 0.01,
        "at the start",
        fontsize=SMALL_POINTS,
        ha="right",
        color=palette.grey(0.7),
    )
    ax.set_xscale("log")
    ax.set_xticks(p["gaps"], [f"{gap:g}" for gap in p["gaps"]])
    ax.minorticks_off()
    ax.set(ylim=(0.0, 1.03), xlabel="spectral gap", ylabel="part of |x|² in L when tokens have gathered")
    ax.set_title(f"which comes first, n = {p['n']}, dim L = {p['top']}", fontsize=SMALL_POINTS + 1)
    ax.legend(
        title="in a cap of the whole sphere",
        fontsize=SMALL_POINTS,
        title_fontsize=SMALL_POINTS,
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.3),
    )


ITEM = Item(
    key="dimension",
    title="Effective dimension",
    statement=(
        "For a general value matrix V the paper conjectures that the number of clusters goes like"
        " β^{(d₁−1)/2}, with d₁ the number of principal directions of V: the dimension of L, to which tokens"
        " are drawn."
    ),
    parameters={
        "Q, K": "I",
        "V": "diag(1, …, 1, 1 − gap, …, 1 − gap), dim L ones",
        "d": 8,
        "betas": {
            "1": [16.0, 50.0, 160.0, 500.0],
            "2": [16.0, 50.0, 160.0, 500.0, 1600.0],
            "3": [16.0, 50.0, 160.0, 500.0],
        },
        "gap": 1.0,
        "at": 20.0,
        "per_cap": 32,
        "counted": 600,
        "most_runs": 40,
        "top": 2,
        "n": 600,
        "gap_runs": 3,
        "gap_betas": [4.0, 8.0, 16.0, 32.0, 64.0],
        "gaps": [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0],
        "seed": 0,
    },
    quick={
        "betas": {"1": [16.0, 50.0], "2": [16.0, 50.0, 160.0], "3": [16.0, 50.0, 100.0]},
        "counted": 150,
        "gap_betas": [4.0, 64.0],
        "gaps": [0.1, 0.5, 2.0],
        "n": 300,
        "gap_runs": 2,
    },
    choices=(
        (
            "V = diag(1, …, 1, 1 − gap, …), so that one token alone nears L like e^{−gap·t}; d = 8, uniform"
            " starts, 32 tokens in a cap of radius 4β^(−1/2) of the sphere of L (200 tokens where L is a"
            " line)."
        ),
        (
            "Clusters are counted by their leaders at t = 20, as for the law β^{(d−1)/2}, and compared with"
            " those of the same tokens put on L at t = 0."
        ),
        (
            f"Tokens have gathered when there are {GATHERED:g} clusters per token. The reduction has won if"
            " by then the mean part of |x|² in L has gone more than half of the way from that of uniform"
            " tokens, d₁/d, to 1. Whether they gather in the whole sphere goes with the number of tokens in"
            " one of its caps."
        ),
    ),
    criteria=(
        f"First: evidence for if every exponent is (d₁−1)/2 to {SLACK:g} and {CAUTION:g} standard errors."
        f" Second: evidence for if every mean ratio is 1 to {ALIKE:g}, and at least {THERE:.0%} of the tokens"
        f" are within β^(−1/2) of L. Third: evidence for if with at least {DENSE:g} tokens in a cap of the"
        " whole sphere the reduction has won at the largest gap but not at the smallest, and with at most"
        f" {SPARSE:g} at every gap; not testable here without both kinds of β."
    ),
    captions={
        "dimension": (
            "Left: number of clusters against β for dim L = 1, 2, 3 inside d = 8, on lines of slope (d₁−1)/2;"
            " rings are those of the same tokens put on L at once. Right: the part of |x|² in L at the moment"
            " tokens have gathered, against the spectral gap, for several β, with the number of tokens in a"
            " cap of the whole sphere; above the grey line the reduction has won."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
