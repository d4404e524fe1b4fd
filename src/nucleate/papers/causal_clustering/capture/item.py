"""Capture: the share of n tokens that each Rényi center holds at a given time, as n grows; a question the
paper leaves open."""

import math
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.capture.data import MODES, growth_rates, run
from nucleate.papers.causal_clustering.capture.figures import draw
from nucleate.papers.causal_clustering.capture.measures import CROWDED_SUM, MIN_TOKENS, crowding_times, shares
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import fit_line, plus_minus, slope_of
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM"]

MAX_CONSTANT_POWER = 0.05  # a power of n below which a share counts as constant
EMPTY_SHARE = (
    0.1  # of the share that uniform tokens have near a center: a center with less has lost its tokens
)
FAST_MODES = slice(6, 15)  # modes 7 to 15, which grow fast
LINEAR_ERROR = 0.15  # of the modes by the linear solution, while they are small


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
    return (
        numbers
        | _power_numbers(data, p, chance)
        | _end_numbers(data["long"], p, chance)
        | _time_numbers(data["many"], p)
    )


def _runs(found: "Dataset") -> int:
    return int(found.sizes["run"])


def _power_numbers(data: Data, p: Parameters, chance: float) -> dict[str, Number]:
    """The power of n with which the share beyond chance falls at a fixed time: a line through means over
    runs."""
    numbers = {}
    for t in p["shown"]:
        share = np.nanmean(shares(data["many"], t, p["radius"]), axis=-1)  # (run, tokens)
        n = data["many"]["tokens"].values
        large = n >= MIN_TOKENS
        excess = share[:, large].mean(0) - chance  # (tokens,)
        error = np.maximum(share[:, large].std(0, ddof=1) / np.sqrt(len(share)), 1e-12)
        good = excess > 2.0 * error
        if good.sum() >= 3:
            about = (
                f"power of n with which a center's share beyond chance goes at t = {t:g}, n ≥ {MIN_TOKENS}"
            )
            numbers[f"power_t{t:g}"] = slope_of(
                fit_line(np.log(n[large][good]), np.log(excess[good]), error[good] / excess[good]), about
            )
    return numbers


def _end_numbers(found: "Dataset", p: Parameters, chance: float) -> dict[str, Number]:
    """How it ends: shares at the last time, and centers left without tokens."""
    n, t = found["tokens"].values, p["long_times"][-1]
    share = shares(found, t, p["radius"])  # (run, tokens, center)
    slopes = [
        np.polyfit(np.log(n[n >= MIN_TOKENS]), np.log(np.nanmean(one[n >= MIN_TOKENS], axis=-1)), 1)[0]
        for one in share
    ]
    last = share[:, -1]  # (run, center)
    there = np.isfinite(last)
    return {
        "end_power": mean_of(slopes, f"power of n with which a center's share goes at t = {t:g}", 0.0),
        "end_poorest": mean_of(
            np.nanmin(last, axis=-1), f"share of the poorest center of a run at t = {t:g}, n = {n[-1]}"
        ),
        "end_empty": share_of(
            int((last[there] < EMPTY_SHARE * chance).sum()),
            int(there.sum()),
            f"centers with less than a tenth of chance at t = {t:g}, n = {n[-1]}",
        ),
        "end_all": mean_of(
            [_share_near_centers(found, run, p["radius"]) for run in range(len(last))],
            f"share of tokens within clusters of Rényi centers at t = {t:g}",
        ),
    }


def _share_near_centers(found: "Dataset", run: int, radius: float) -> float:
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


def _time_numbers(found: "Dataset", p: Parameters) -> dict[str, Number]:
    """The time of crowding and how it grows with ln n; and whether small modes grow as they should."""
    n, times, rate = (
        found["tokens"].values,
        crowding_times(found),
        float(growth_rates(p["beta"], MODES).max()),
    )
    large = (n >= MIN_TOKENS) & np.isfinite(times).all(0)
    slopes = (
        np.array([np.polyfit(np.log(n[large]), one[large], 1)[0] for one in times])
        if large.sum() > 2
        else np.array([np.nan])
    )
    numbers = {
        "rate": exact(
            rate, "λ: the largest rate at which a mode of uniform tokens grows", expected=2.0 / math.e
        ),
        "time_per_log": mean_of(
            slopes,
            f"time per unit of ln n that crowding takes, n ≥ {MIN_TOKENS}; expected is that of a front in the"
            " limit, from above",
            1.0 / (4.0 * rate),
        ),
    }
    for i in np.flatnonzero(large):
        numbers[f"time_n{n[i]}"] = mean_of(times[:, i], f"time at which the first {n[i]} tokens are crowded")
    at = int(np.flatnonzero(np.isfinite(found["linear"].values[0, :, 0]))[-1])
    linear = found["linear"].values[:, at, FAST_MODES]  # (run, modes)
    apart = np.linalg.norm(found["mode"].values[:, at, -1, FAST_MODES] - linear, axis=1) / np.linalg.norm(
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
    steady = abs(end.value) <= MAX_CONSTANT_POWER
    none_empty = empty.count is not None and empty.count[0] == 0
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
        f"; beyond the {numbers['chance'].value:.4f} of chance it goes like n^({plus_minus(power, 2)})"
        if power
        else ""
    )
    return (
        Verdict(
            f"Rényi centers capture Ω(n) tokens by t = {p['long_times'][-1]:g}, as far as n = {p['long_n']}"
            " (open in the paper)",
            "evidence for" if steady else "evidence against",
            (
                f"at t = {p['long_times'][-1]:g} a center's mean share goes like n^({plus_minus(end)}) up to"
                f" n = {p['long_n']}; "
                + (
                    "no center is left without tokens"
                    if none_empty
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
            f"the time at which n tokens are crowded grows by {plus_minus(slope)} per unit of ln n, without"
            f" end as far as n = {p['n']} shows (a front needs {slope.expected:.3f} in the limit, more"
            f" before); at t = {early:g} a center's share falls from {first.value:.3f} at n ="
            f" {_tokens_of(named[0])} to {last.value:.4f} at n = {_tokens_of(named[-1])}{beyond}",
        ),
        Verdict(
            "why: uniform tokens are crowded only by chance, and the crowd spreads along the sequence as a"
            " front (ours)",
            "evidence for" if numbers["linear"].value <= LINEAR_ERROR else "evidence against",
            f"the linear solution gives the modes of {p['n']} tokens to {numbers['linear'].value:.1%} while"
            " they are small",
        ),
    )


def _tokens_of(name: str) -> str:
    return name.rsplit("_n", 1)[1]


ITEM = Item(
    key="capture",
    title="Capture: how many tokens a Rényi center gets",
    source="Section 5, left open",
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
            "n tokens are crowded when Σ|a_m|² over the modes a_m = mean of e^{−imφ_j}, m = 1 to 24, reaches"
            f" {CROWDED_SUM:g}; it is 24/n for uniform tokens, and 2 to 3 when all are in clusters."
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
        f" to {MAX_CONSTANT_POWER:g}. Second: evidence against if the 95 % interval of the time that crowding"
        " takes per unit of ln n lies above 0, and at the first time shown the share beyond chance goes like"
        " a power of n whose interval lies below 0; evidence for if neither does; else not testable here."
        f" Third: evidence for if the linear solution gives modes 7 to 15 of all tokens to {LINEAR_ERROR:.0%}"
        " on average at t = 1."
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
