"""Capture: the share of n tokens that each Rényi center holds at a given time, as n grows; a question the
paper leaves open."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.capture.data import MODES, crowd_data, growth, shares
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import line, slope_of, told
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

MANY = 0.8  # of the time goes into the runs with very many tokens
# of the sum of |a_m|^2 over 24 modes, which is 24/n at the start and 2 to 3 when all tokens are in clusters
CROWDED = 0.5
FROM = 1000  # tokens from which on a start is not crowded by chance
STEADY = 0.05  # a power of n below which a share counts as constant
EMPTY = 0.1  # of the share that uniform tokens have near a center: a center with less has lost its tokens
LINEAR = slice(6, 15)  # modes 7 to 15, which grow fast
CLOSE = 0.15  # of the modes, to which the linear solution must be right while modes are small


def run(desk: "Desk") -> Data:
    """A few runs with very many tokens, and more with fewer for a longer time."""
    p = desk.p
    many = crowd_data(desk, "many", p["n"], p["runs"], p["times"], lambda share: desk.at(MANY * share))
    return {
        "many": many,
        "long": crowd_data(
            desk,
            "long",
            p["long_n"],
            p["long_runs"],
            p["long_times"],
            lambda share: desk.at(MANY + (1 - MANY) * share),
        ),
    }


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares by n at some times, how they fall with n, and the time that crowding takes."""
    radius, chance = p["radius"], p["radius"] * p["beta"] ** -0.5 / np.pi
    numbers = {"chance": exact(chance, f"share of uniform tokens within {radius:g} β^(−1/2) of a center")}
    for name, times in (("many", p["shown"]), ("long", p["long_times"])):
        found = data[name]
        for t in times:
            share = np.nanmean(shares(found, t, radius), axis=-1)  # (run, tokens)
            for i, n in enumerate(found["tokens"].values):
                if n == 10 ** round(np.log10(n)) or i == len(found["tokens"]) - 1:
                    about = (
                        f"mean share of the first {n} tokens near a Rényi center at t = {t:g} ({_runs(found)}"
                        " runs)"
                    )
                    numbers[f"{name}_t{t:g}_n{n}"] = mean_of(share[:, i], about)
    return numbers | _falling(data, p, chance) | _ends(data["long"], p, chance) | _times(data["many"], p)


def _runs(found: "Dataset") -> int:
    return int(found.sizes["run"])


def _falling(data: Data, p: Parameters, chance: float) -> dict[str, Number]:
    """The power of n with which the share beyond chance falls at a fixed time: a line through means over
    runs."""
    numbers = {}
    for t in p["shown"]:
        share = np.nanmean(shares(data["many"], t, p["radius"]), axis=-1)  # (run, tokens)
        n = data["many"]["tokens"].values
        some = n >= FROM
        excess = share[:, some].mean(0) - chance  # (tokens,)
        error = np.maximum(share[:, some].std(0, ddof=1) / np.sqrt(len(share)), 1e-12)
        good = excess > 2.0 * error
        if good.sum() >= 3:
            about = f"power of n with which a center's share beyond chance goes at t = {t:g}, n ≥ {FROM}"
            numbers[f"power_t{t:g}"] = slope_of(
                line(np.log(n[some][good]), np.log(excess[good]), error[good] / excess[good]), about
            )
    return numbers


def _ends(found: "Dataset", p: Parameters, chance: float) -> dict[str, Number]:
    """How it ends: shares at the last time, and centers left without tokens."""
    n, t = found["tokens"].values, p["long_times"][-1]
    share = shares(found, t, p["radius"])  # (run, tokens, center)
    slopes = [
        np.polyfit(np.log(n[n >= FROM]), np.log(np.nanmean(one[n >= FROM], axis=-1)), 1)[0] for one in share
    ]
    last = share[:, -1]  # (run, center)
    there = np.isfinite(last)
    return {
        "end_power": mean_of(slopes, f"power of n with which a center's share goes at t = {t:g}", 0.0),
        "end_poorest": mean_of(
            np.nanmin(last, axis=-1), f"share of the poorest center of a run at t = {t:g}, n = {n[-1]}"
        ),
        "end_empty": share_of(
            int((last[there] < EMPTY * chance).sum()),
            int(there.sum()),
            f"centers with less than a tenth of chance at t = {t:g}, n = {n[-1]}",
        ),
        "end_all": mean_of(
            [_together(found, run, p["radius"]) for run in range(len(last))],
            f"share of tokens within clusters of Rényi centers at t = {t:g}",
        ),
    }


def _together(found: "Dataset", run: int, radius: float) -> float:
    """The share of all tokens near some center at the last time: centers that have met hold the same tokens
    and count once."""
    place = found["place"].values[run, -1]  # (center,)
    share = shares(found, float(found["time"].values[-1]), radius)[run, -1]
    total, taken = 0.0, list[int]()
    for i in np.flatnonzero(np.isfinite(share)):
        apart = [abs(np.remainder(place[i] - place[j] + np.pi, 2 * np.pi) - np.pi) for j in taken]
        if not apart or min(apart) > 1e-2:
            total += share[i]
            taken.append(int(i))
    return float(min(total, 1.0))


def crowding(found: "Dataset") -> Array:
    """The time at which the first n tokens are crowded, (run, tokens): where the sum of |a_m|^2 reaches
    CROWDED, by its logarithm; NaN if never."""
    t, total = found["time"].values, (found["mode"].values ** 2).sum(-1)  # (m,), (run, time, tokens)
    times = np.full((total.shape[0], total.shape[2]), np.nan)
    for run, i in np.ndindex(times.shape):
        level = np.log(total[run, :, i] / CROWDED)  # (m,)
        after = int((level >= 0.0).argmax())
        if level[after] >= 0.0 and after > 0:
            times[run, i] = np.interp(0.0, level[after - 1 : after + 1], t[after - 1 : after + 1])
    return times


def _times(found: "Dataset", p: Parameters) -> dict[str, Number]:
    """The time of crowding and how it grows with ln n; and whether small modes grow as they should."""
    n, times, rate = found["tokens"].values, crowding(found), float(growth(p["beta"], MODES).max())
    some = (n >= FROM) & np.isfinite(times).all(0)
    slopes = (
        np.array([np.polyfit(np.log(n[some]), one[some], 1)[0] for one in times])
        if some.sum() > 2
        else np.array([np.nan])
    )
    numbers = {
        "rate": exact(
            rate, "λ: the largest rate at which a mode of uniform tokens grows", expected=2.0 / math.e
        ),
        "time_per_log": mean_of(
            slopes,
            f"time per unit of ln n that crowding takes, n ≥ {FROM}; expected is that of a front in the"
            " limit, from above",
            1.0 / (4.0 * rate),
        ),
    }
    for i in np.flatnonzero(some):
        numbers[f"time_n{n[i]}"] = mean_of(times[:, i], f"time at which the first {n[i]} tokens are crowded")
    at = int(np.flatnonzero(np.isfinite(found["linear"].values[0, :, 0]))[-1])
    linear = found["linear"].values[:, at, LINEAR]  # (run, modes)
    apart = np.linalg.norm(found["mode"].values[:, at, -1, LINEAR] - linear, axis=1) / np.linalg.norm(
        linear, axis=1
    )
    about = (
        "relative difference, in the mean square, of |a_7| to |a_15| of all tokens at t ="
        f" {found['time'].values[at]:g} from the linear solution"
    )
    return numbers | {"linear": mean_of(apart, about)}


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    end, empty = numbers["end_power"], numbers["end_empty"]
    steady = abs(end.value) <= STEADY
    none = empty.count is not None and empty.count[0] == 0
    slope, early = numbers["time_per_log"], p["shown"][0]
    named = [name for name in numbers if name.startswith(f"many_t{early:g}_n")]
    first, last = numbers[named[0]], numbers[named[-1]]
    power = numbers.get(f"power_t{early:g}")
    grows, falls = (
        slope.low is not None and slope.low > 0.0,
        power is not None and power.high is not None and power.high < 0.0,
    )
    word: Word = (
        "evidence against"
        if grows and falls
        else "evidence for"
        if not grows and not falls
        else "not testable here"
    )
    beyond = (
        f"; beyond the {numbers['chance'].value:.4f} of chance it goes like n^({told(power, 2)})"
        if power
        else ""
    )
    return (
        Verdict(
            f"Rényi centers capture Ω(n) tokens by t = {p['long_times'][-1]:g}, as far as n = {p['long_n']}"
            " (open in the paper)",
            "evidence for" if steady else "evidence against",
            (
                f"at t = {p['long_times'][-1]:g} a center's mean share goes like n^({told(end)}) up to n ="
                f" {p['long_n']}; "
                + (
                    "no center is left without tokens"
                    if none
                    else (
                        f"but not each: {empty.count[0] if empty.count else 0} of"
                        f" {empty.count[1] if empty.count else 0} centers hold hardly any tokens"
                    )
                )
                + f"; together they hold {numbers['end_all'].value:.1%}"
            ),
        ),
        Verdict(
            "they capture Ω(n) tokens in O(1) time (open in the paper)",
            word,
            f"the time at which n tokens are crowded grows by {told(slope)} per unit of ln n, without end as"
            f" far as n = {p['n']} shows (a front needs {slope.expected:.3f} in the limit, more before); at t"
            f" = {early:g} a center's share falls from {first.value:.3f} at n = {_n(named[0])} to"
            f" {last.value:.4f} at n = {_n(named[-1])}{beyond}",
        ),
        Verdict(
            "why: uniform tokens are crowded only by chance, and the crowd spreads along the sequence as a"
            " front (ours)",
            "evidence for" if numbers["linear"].value <= CLOSE else "evidence against",
            f"the linear solution gives the modes of {p['n']} tokens to {numbers['linear'].value:.1%} while"
            " they are small",
        ),
    )


def _n(name: str) -> str:
    return name.rsplit("_n", 1)[1]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares by n, times by n, and where late tokens crowd."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 0.85, 1.1])
    _draw_shares(left, data, p, numbers["chance"].value)
    _draw_times(middle, data, numbers)
    _draw_crowds(right, data, p)
    return {"capture": figure}


def _draw_shares(ax: Any, data: Data, p: Parameters, chance: float) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    curves = [("many", t, "-") for t in p["shown"]] + [("long", p["long_times"][-1], (0, (4, 1.5)))]
    for i, (name, t, dash) in enumerate(curves):
        share = np.nanmean(shares(data[name], t, p["radius"]), axis=-1)  # (run, tokens)
        error = share.std(0, ddof=1) / np.sqrt(len(share))
        colour = CLUSTER_COLOURS[(0, 2, 3, 5, 7, 6)[i % 6]]
        ax.errorbar(
            data[name]["tokens"].values,
            share.mean(0),
            2.0 * error,
            color=colour,
            linestyle=dash,
            linewidth=1.3,
            capsize=2,
            label=f"t = {t:g}",
        )
    ax.axhline(chance, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.text(
        data["many"]["tokens"].values[-1],
        chance * 0.97,
        "chance",
        fontsize=SMALL_POINTS,
        va="top",
        ha="right",
        color=palette.grey(0.7),
    )
    ax.set(xscale="log", ylim=(0.0, None), xlabel="n", ylabel="share of tokens near a Rényi center")
    ax.set_title("share of n tokens held by a center", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left", ncols=2)


def _draw_times(ax: Any, data: Data, numbers: Numbers) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    n, times = data["many"]["tokens"].values, crowding(data["many"])
    some = np.isfinite(times).all(0) & (n >= FROM)
    for one in times:
        ax.plot(n, one, color=palette.grey(0.35), linewidth=0.8)
    mean = times[:, some].mean(0)
    ax.plot(n[some], mean, "o", color=CLUSTER_COLOURS[0], markersize=5)
    slope = numbers["time_per_log"].expected
    assert slope is not None
    if some.any():
        middle = np.log(n[some]).mean()
        ax.plot(
            n[some],
            mean.mean() + slope * (np.log(n[some]) - middle),
            color=palette.red,
            linewidth=1.2,
            label=f"slope {slope:.2f}, of a front in the limit",
        )
        ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
    ax.set(xscale="log", xlabel="n", ylabel="time")
    ax.set_title("when n tokens are crowded", fontsize=SMALL_POINTS + 1)


def _draw_crowds(ax: Any, data: Data, p: Parameters) -> None:
    """The first run: where the first tokens are and where all are, at the same time."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    found, t = data["many"], p["crowds_at"]
    frame, n = int(np.searchsorted(found["time"].values, t)), found["tokens"].values
    angle = np.linspace(-np.pi, np.pi, found.sizes["bin"] + 1)[:-1]
    sizes = [int(np.searchsorted(n, FROM)), len(n) - 1]
    for i, colour, width in zip(sizes, (palette.grey(0.45), palette.ink), (1.0, 1.4), strict=True):
        density = found["histogram"].values[0, frame, i] / n[i] * found.sizes["bin"]
        ax.plot(angle, density, color=colour, linewidth=width, drawstyle="steps-post", label=f"first {n[i]}")
    for place in found["place"].values[0, frame]:
        if np.isfinite(place):
            ax.axvline(place, color=palette.red, linewidth=0.9, zorder=0)
    top = 1.3 * float((found["histogram"].values[0, frame, -1] / n[-1]).max() * found.sizes["bin"])
    ax.set(xlim=(-np.pi, np.pi), ylim=(0.0, max(top, 4.0)), xlabel="angle", ylabel="density")
    ax.set_xticks([-np.pi, 0.0, np.pi], ["−π", "0", "π"])
    ax.set_title(f"tokens at t = {t:g}, Rényi centers red", fontsize=SMALL_POINTS + 1)
    ax.legend(
        fontsize=SMALL_POINTS,
        frameon=True,
        facecolor=palette.paper,
        edgecolor="none",
        framealpha=0.85,
        loc="upper right",
    )


ITEM = Item(
    key="capture",
    title="Capture: how many tokens a Rényi center gets",
    statement=(
        "The paper leaves open whether each Rényi center captures Ω(n) of n uniform tokens in O(1) time; even"
        " that their number grows at all is not proved there."
    ),
    parameters={
        "Q, K, V": "I",
        "d": 2,
        "beta": 64.0,
        "delta": 0.5,
        "n": 1_000_000,
        "runs": 6,
        "times": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        "shown": [3.0, 6.0, 10.0],
        "crowds_at": 6.0,
        "sizes": [100, 316, 1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000],
        "long_n": 31_623,
        "long_runs": 16,
        "long_times": [10.0, 20.0, 50.0, 100.0, 150.0],
        "radius": 1.0,
        "radii": [0.25, 1.0, 2.0],
        "seed": 0,
    },
    quick={"n": 31_623, "runs": 6, "long_n": 10_000, "long_runs": 6},
    choices=(
        (
            "A center holds the tokens within β^(−1/2) of its place at that time; near a center there are"
            " always a share β^(−1/2)/π of uniform tokens, by chance. Only what is beyond that is captured."
            " Centers that have met hold the same tokens, and each counts."
        ),
        (
            "One run of a million tokens serves every n, for later tokens move no earlier one. Six such runs"
            " to t = 10, in which most of the time of this item goes; 16 runs of 31623 tokens to t = 150."
        ),
        (
            "n tokens are crowded when Σ|a_m|² over the modes a_m = mean of e^{−imφ_j}, m = 1 to 24,"
            f" reaches {CROWDED:g}; it is 24/n for uniform tokens, and 2 to 3 when all are in clusters."
        ),
        (
            "Ours: a token is moved by the crowd before it, and uniform tokens are a crowd only by chance."
            " While modes are small, a_m(n, t) is the mean over j ≤ n of e^{−imφ_j(0)} I_0(2√(λ_m t ln(n/j)))"
            " with λ_m = m² I_m(β)/(β I_0(β)). Along the sequence such modes spread as a front whose speed,"
            " ln n per time, is 4λ in the limit and less before, λ = max λ_m → 2/e: crowding takes a time of"
            " about ln n/(4λ)."
        ),
    ),
    criteria=(
        "First: evidence for if the mean share of a center at the last time goes like a power of n that is 0"
        f" to {STEADY:g}. Second: evidence against if the 95 % interval of the time that crowding takes per"
        " unit of ln n lies above 0, and at the first time shown the share beyond chance goes like a power"
        " of n whose interval lies below 0; evidence for if neither does; else not testable here. Third:"
        f" evidence for if the linear solution gives modes 7 to 15 of all tokens to {CLOSE:.0%} on average at"
        " t = 1."
    ),
    captions={
        "capture": (
            "Left: mean share of the first n tokens within β^(−1/2) of a Rényi center at some times (dashed:"
            " longer runs), with 95 % intervals over runs; the grey line is the share by chance. Middle: the"
            " time at which n tokens are crowded, run by run and mean, with the slope of a front in the limit"
            " (red). Right: density of the first 1000 tokens (grey) and of all (black) at one time in one"
            " run; lines are Rényi centers."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
