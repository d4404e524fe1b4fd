"""Theorem 4.1: with V = I every token ends where the first one began, whatever Q and K; how fast, and what
else ends there."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.theorem41.data import LATE, changing, decays, gathered, spectrum
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

NEAR = 1e-6
FITTED = 1e-3  # of a rate fitted to a decay over ten units of time: second-order effects of a push of 1e-3
SLOWEST = 0.01  # of the rate 1/2 where the next, 2/3, has not quite died out
FORMULA, DIFFERENCE = 1e-12, 1e-7  # rounding; and of central differences with h = 1e-5


def _cases(p: Parameters) -> dict[str, tuple[int, float]]:
    return {f"d{d}_beta{beta:g}": (d, beta) for d in p["d"] for beta in p["betas"]}


def run(desk: "Desk") -> Data:
    """Every d and beta; windows; changing Q and K; decays and derivatives at the common point."""
    p = desk.p
    data: dict[str, Any] = {}
    cases = _cases(p)
    for i, (name, (d, beta)) in enumerate(cases.items()):
        data[name] = gathered(desk, name, d, p["n"], beta, None, p["seed"], p["runs"])
        desk.at(0.7 * (i + 1) / len(cases))
    for w in p["windows"]:
        data[f"window{w}"] = gathered(
            desk, f"window{w}", 3, p["n"], p["beyond_beta"], w, p["seed"], p["beyond_runs"]
        )
    desk.at(0.85)
    data["changing"] = desk.dataset(
        "changing", partial(changing, 3, p["n"], p["beyond_beta"], p["pieces"], p["seed"], p["beyond_runs"])
    )
    for d in p["d"]:
        data[f"decay{d}"] = desk.dataset(
            f"decay{d}", partial(decays, d, p["n"], p["betas"][0], None, p["seed"])
        )
        data[f"spectrum{d}"] = desk.dataset(
            f"spectrum{d}", partial(spectrum, d, p["n"], p["betas"][0], None, p["seed"])
        )
    w = p["windows"][-1]
    data["decay_window"] = desk.dataset(
        "decay_window", partial(decays, 3, p["n"], p["betas"][0], w, p["seed"])
    )
    data["spectrum_window"] = desk.dataset(
        "spectrum_window", partial(spectrum, 3, p["n"], p["betas"][0], w, p["seed"])
    )
    return data


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Ends, rates and spectra."""
    numbers: dict[str, Number] = {}
    for name, (d, beta) in _cases(p).items():
        numbers |= _ends(name, f"d = {d}, β = {beta:g}", data[name])
    for w in p["windows"]:
        numbers |= _ends(f"window{w}", f"window of {w}, d = 3, β = {p['beyond_beta']:g}", data[f"window{w}"])
    last = data["changing"]["apart"].values[:, -1]  # (runs,)
    about = (
        f"Q and K drawn anew at t = 1, 2, 4, …, {p['pieces']} of them, d = 3, β = {p['beyond_beta']:g}: runs"
        f" that end within {NEAR:g} of x_1(0)"
    )
    numbers["changing_there"] = share_of(int((last <= NEAR).sum()), len(last), about, 1.0)
    for d in p["d"]:
        numbers |= _decay(f"d{d}", f"d = {d}", data[f"decay{d}"], None) | _spectrum(
            f"d{d}", f"d = {d}", data[f"spectrum{d}"], None
        )
    w = p["windows"][-1]
    return (
        numbers
        | _decay("window", f"window of {w}", data["decay_window"], w)
        | _spectrum("window", f"window of {w}", data["spectrum_window"], w)
    )


def _ends(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    last = found["apart"].values[:, -1]  # (runs,) NaN where the end was not reached
    good = (last <= NEAR) & (found["done"].values == 1)
    return {
        f"{name}_there": share_of(
            int(good.sum()),
            len(last),
            f"{words}: runs that end with every token within {NEAR:g} of x_1(0)",
            1.0,
        ),
        f"{name}_worst": exact(
            np.nanmax(last), f"{words}: largest distance of any token from x_1(0) at the end", expected=0.0
        ),
        f"{name}_time": exact(
            np.log10(found["end"].values.max()), f"{words}: logarithm to base 10 of the latest end"
        ),
    }


def _expected(n: int, d: int, window: int | None) -> Any:
    from nucleate.theory.consensus import consensus_spectrum

    return consensus_spectrum(n, d, window)


def _decay(name: str, words: str, found: "Dataset", window: int | None) -> dict[str, Number]:
    k = found["k"].values
    expected = _expected(int(k[-1]), 2, window)[1:, 0]  # (n-1,)
    t, widest = found["time"].values, found["widest"].values
    late = t >= LATE[0]
    numbers = {
        f"{name}_decay": exact(
            np.abs(found["rate"].values - expected).max(),
            f"{words}: largest difference of a fitted decay of token k, k = 2 … {k[-1]}, from −(k−1)/k, or"
            " −(1−1/w)",
            expected=0.0,
        )
    }
    if window is None:
        slope = np.polyfit(t[late], np.log(widest[late]), 1)[0]
        numbers[f"{name}_slowest"] = exact(
            slope,
            f"{words}: slope of log(distance of the farthest token) at t = {LATE[0]:g} to {LATE[1]:g}",
            "fit",
            -0.5,
        )
    return numbers


def _spectrum(name: str, words: str, found: "Dataset", window: int | None) -> dict[str, Number]:
    n, axes = found["formula_rates"].shape
    expected = _expected(n, axes + 1, window)
    numbers = {}
    for how, told in (("formula", "by formula"), ("differences", "by differences of the velocity")):
        wrong = max(
            float(np.abs(found[f"{how}_rates"].values - expected).max()),
            float(found[f"{how}_turning"]),
            float(found[f"{how}_later"]),
        )
        numbers[f"{name}_{how}"] = exact(
            wrong,
            f"{words}: largest difference of the {n * axes} eigenvalues at the limit from those derived,"
            f" {told}",
            expected=0.0,
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    names = list(_cases(p))
    there, runs = _sum(numbers, names)
    worst = max(numbers[f"{name}_worst"].value for name in names)
    late = max(numbers[f"{name}_time"].value for name in names)
    d_names = [f"d{d}" for d in p["d"]]
    fits = max(numbers[f"{name}_decay"].value for name in d_names)
    slow = max(abs(numbers[f"{name}_slowest"].value + 0.5) for name in d_names)
    formula, differences = (
        max(numbers[f"{name}_{how}"].value for name in d_names) for how in ("formula", "differences")
    )
    good = fits <= FITTED and slow <= SLOWEST and formula <= FORMULA and differences <= DIFFERENCE
    return (
        Verdict(
            "V = I, any Q and K: every token ends at x_1(0) (Theorem 4.1)",
            "agrees" if there == runs else "disagrees",
            f"{there} of {runs} runs with Gaussian Q and K do (d = {_listed(p['d'])}; β ="
            f" {_listed(p['betas'])}; n = {p['n']}), to {worst:.0e} at worst, by t = 10^({late:.0f}) at the"
            " latest",
        ),
        Verdict(
            "near the end pushes decay like e^{−(k−1)t/k}, the slowest like e^{−t/2}, for any Q, K and β"
            " (ours)",
            "agrees" if good else "disagrees",
            f"token by token the fitted rates differ from (k−1)/k by {fits:.0e} at most, the slowest of all"
            f" from 1/2 by {slow:.0e}; the whole spectrum agrees to {formula:.0e} by formula and"
            f" {differences:.0e} by differences of the velocity",
        ),
        _beyond(numbers, p),
    )


def _beyond(numbers: Numbers, p: Parameters) -> Verdict:
    windows = [f"window{w}" for w in p["windows"]]
    there, runs = _sum(numbers, windows)
    changed, many = _sum(numbers, ["changing"])
    rates = (
        numbers["window_decay"].value <= FITTED
        and numbers["window_formula"].value <= FORMULA
        and numbers["window_differences"].value <= DIFFERENCE
    )
    return Verdict(
        "beyond the statement: windows, and Q and K that change with time",
        "evidence for" if there == runs and changed == many and rates else "evidence against",
        f"{there} of {runs} runs with windows of {' and '.join(map(str, p['windows']))} tokens and {changed}"
        f" of {many} with Q and K drawn anew at t = 1, 2, 4, … end at x_1(0), too; with a window the rates"
        f" are 1 − 1/min(k, w), to {numbers['window_decay'].value:.0e}",
    )


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _sum(numbers: Numbers, names: list[str]) -> tuple[int, int]:
    counts = [numbers[f"{name}_there"].count or (0, 1) for name in names]
    return sum(count[0] for count in counts), sum(count[1] for count in counts)


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """On the left how tokens gather, in the middle how the last pushes decay, on the right the rates token by
    token."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 3.9), layout="constrained")
    gather, late, rates = figure.subplots(1, 3)
    _draw_gather(gather, data, p)
    _draw_late(late, data, p)
    _draw_rates(rates, data, p)
    return {"theorem41": figure}


def _draw_gather(ax: Any, data: Data, p: Parameters) -> None:
    """The distance of the farthest token over powers of ten of time: the median of runs, each stretched to
    its own end."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    tidy(ax)
    d = 3 if 3 in p["d"] else p["d"][0]
    for i, beta in enumerate(p["betas"]):
        found = data[f"d{d}_beta{beta:g}"]
        # (runs, frames)
        powers = -1.0 + found["share"].values[None] * (np.log10(found["end"].values)[:, None] + 1.0)
        for j in range(min(len(powers), 12)):
            ax.plot(
                powers[j],
                np.maximum(found["apart"].values[j], 1e-16),
                color=CLUSTER_COLOURS[(0, 2, 3)[i % 3]],
                linewidth=0.9,
                alpha=0.75,
                label=f"β = {beta:g}" if j == 0 else None,
            )
    ax.set_yscale("log")
    ax.axhline(NEAR, color="grey", linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set(ylim=(1e-16, 5.0), xlabel=r"$\log_{10} t$", ylabel="distance of the farthest token from $x_1(0)$")
    ax.set_title(f"Gaussian Q and K, d = {d}, n = {p['n']}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _draw_late(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, d in enumerate(p["d"]):
        found = data[f"decay{d}"]
        ax.plot(
            found["time"].values,
            found["widest"].values,
            color=CLUSTER_COLOURS[(0, 2, 3)[i % 3]],
            label=f"d = {d}",
        )
    t = np.array([0.0, LATE[1]])
    ax.plot(
        t,
        2.0 * np.exp(-t / 2.0),
        color=palette.ink,
        linewidth=1.0,
        linestyle=(0, (5, 3)),
        label=r"$e^{-t/2}$",
    )
    ax.set(yscale="log", xlabel="t", xlim=(0.0, LATE[1]), ylabel="")
    ax.set_title("from near one point", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")


def _draw_rates(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    w, d = p["windows"][-1], 3 if 3 in p["d"] else p["d"][0]
    for found, window, mark, colour, words in (
        (data[f"decay{d}"], None, "o", CLUSTER_COLOURS[0], "causal"),
        (data["decay_window"], w, "D", CLUSTER_COLOURS[3], f"window of {w}"),
    ):
        k = found["k"].values
        ax.plot(k, -_expected(int(k[-1]), 2, window)[1:, 0], color=palette.grey(0.5), linewidth=1.0)
        ax.plot(k, -found["rate"].values, mark, color=colour, markersize=3.5, linestyle="none", label=words)
    ax.set(xscale="log", xlabel="token k", ylim=(0.45, 1.02))
    ax.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    ax.minorticks_off()
    ax.set_title("rate with which token k comes back", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


ITEM = Item(
    key="theorem4.1",
    title="Theorem 4.1: with V = I all end at the first token",
    statement=(
        "With V = I, any Q and K, β ≥ 0 and d ≥ 2, every token converges to x_1(0) from almost every start."
        " How fast, and the whole spectrum there, is our own statement."
    ),
    parameters={
        "V": "I",
        "n": 64,
        "d": [2, 3, 8],
        "betas": [4.0, 16.0, 64.0],
        "runs": 30,
        "beyond_beta": 4.0,
        "windows": [2, 8],
        "beyond_runs": 40,
        "pieces": 41,
        "seed": 0,
    },
    quick={"runs": 3, "beyond_runs": 3},
    choices=(
        (
            "Q and K have independent entries N(0, 1/d) and are drawn anew for every run, as is the uniform"
            " start."
        ),
        (
            "The end is t = 100 n e^{2β‖KᵀQ‖}, longer than any one token can be kept waiting, for every run"
            " its own; with a window n times that, as tokens wait for one another. It is reached by the"
            " causal solver."
        ),
        (
            "Token by token: all tokens at one point but token k, pushed by 0.001; its decay is fitted from t"
            " = 4 to 14. The slowest of all: from a start within about 0.3 of one point."
        ),
        (
            "Windows count the token itself. Q and K that change: drawn anew at t = 1, 2, 4, …, by starting"
            " again from where the tokens are."
        ),
    ),
    criteria=(
        f"First: agrees if every run ends with all tokens within {NEAR:g} of x_1(0). Second: agrees if every"
        f" fitted rate is (k−1)/k to {FITTED:g}, the slowest of all 1/2 to {SLOWEST:g}, and all eigenvalues"
        f" those derived, to {FORMULA:g} by formula and {DIFFERENCE:g} by differences, with nothing from"
        " later tokens. Third: evidence for if every run ends there and the rates are those derived."
    ),
    captions={
        "theorem41": (
            "Left: distance of the farthest token from x_1(0) over powers of ten of time, a dozen runs at"
            " each β, dashed 1e-6. Middle: from a start near one point, the same over time. Right: the rate"
            " with which token k, pushed a little, comes back; lines are 1 − 1/k and 1 − 1/min(k, w)."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
