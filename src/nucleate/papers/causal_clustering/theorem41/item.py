"""Theorem 4.1: with V = I every token ends where the first one began, whatever Q and K; how fast, and what
else ends there."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.causal_clustering.theorem41.data import SLOWEST_DECAY_TIMES, cases_of, rate_cases, run
from nucleate.papers.causal_clustering.theorem41.figures import draw
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM"]

# of a rate fitted to a decay over six units of time: second-order effects of a perturbation of 1e-3
DECAY_RATE_ERROR = 1e-3
SLOWEST_RATE_ERROR = 0.01  # of the rate 1/2 where the next, 2/3, has not quite died out
FORMULA_ERROR = 1e-12  # of eigenvalues by formula: rounding
DIFFERENCE_ERROR = 1e-7  # of eigenvalues by central differences with h = 1e-6


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Ends, rates and spectra."""
    numbers: dict[str, Number] = {}
    for name, (d, beta) in cases_of(p).items():
        numbers |= _end_numbers(name, f"d = {d}, β = {beta:g}", data[name])
    for w in p["windows"]:
        numbers |= _end_numbers(
            f"window{w}", f"window of {w}, d = 3, β = {p['beyond_beta']:g}", data[f"window{w}"]
        )
    last = data["changing"]["apart"].values[:, -1]  # (runs,)
    about = (
        f"Q and K drawn anew at t = 1, 2, 4, …, {p['pieces']} of them, d = 3, β = {p['beyond_beta']:g}: runs"
        f" that end within {END_DISTANCE:g} of x_1(0)"
    )
    numbers["changing_there"] = share_of(int((last <= END_DISTANCE).sum()), len(last), about, 1.0)
    for case, (d, beta, window) in rate_cases(p).items():
        words = f"d = {d}, β = {beta:g}, {p['draws']} Q and K" + (
            "" if window is None else f", window {window}"
        )
        numbers |= _decay_numbers(case, words, data[f"decay_{case}"], window)
        numbers |= _spectrum_numbers(case, words, data[f"spectrum_{case}"], window)
    return numbers


def _end_numbers(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    last = found["apart"].values[:, -1]  # (runs,) NaN where the end was not reached
    good = (last <= END_DISTANCE) & (found["done"].values == 1)
    return {
        f"{name}_there": share_of(
            int(good.sum()),
            len(last),
            f"{words}: runs that end with every token within {END_DISTANCE:g} of x_1(0)",
            1.0,
        ),
        f"{name}_worst": exact(
            np.nanmax(last), f"{words}: largest distance of any token from x_1(0) at the end", expected=0.0
        ),
        f"{name}_time": exact(
            np.log10(found["end"].values.max()), f"{words}: logarithm to base 10 of the latest end"
        ),
    }


def _decay_numbers(name: str, words: str, found: "Dataset", window: int | None) -> dict[str, Number]:
    from nucleate.theory.consensus import consensus_spectrum

    k = found["k"].values
    expected = consensus_spectrum(int(k[-1]), 2, window)[k - 1, 0]  # (k,)
    t, widest = found["time"].values, found["widest"].values  # (times,), (draws, times)
    late = t >= SLOWEST_DECAY_TIMES[0]
    numbers = {
        f"{name}_decay": exact(
            np.abs(found["rate"].values - expected).max(),
            f"{words}: largest difference of a fitted decay of token k, k = 2 … {k[-1]}, from −(k−1)/k, or"
            " −(1−1/w)",
            expected=0.0,
        )
    }
    if window is None:
        slopes = np.polyfit(t[late], np.log(widest[:, late]).T, 1)[0]  # (draws,)
        numbers[f"{name}_slowest"] = exact(
            np.abs(slopes + 0.5).max(),
            f"{words}: largest difference from −1/2 of the slope of log(distance of the farthest token) at"
            f" t = {SLOWEST_DECAY_TIMES[0]:g} to {SLOWEST_DECAY_TIMES[1]:g}",
            "fit",
            0.0,
        )
    return numbers


def _spectrum_numbers(name: str, words: str, found: "Dataset", window: int | None) -> dict[str, Number]:
    from nucleate.theory.consensus import consensus_spectrum

    n, axes = found["formula_rates"].shape[1:]
    expected = consensus_spectrum(n, axes + 1, window)
    numbers = {}
    for how, words_how in (("formula", "by formula"), ("differences", "by differences of the velocity")):
        wrong = max(
            float(np.abs(found[f"{how}_rates"].values - expected).max()),
            float(found[f"{how}_imaginary"].max()),
            float(found[f"{how}_later"].max()),
        )
        numbers[f"{name}_{how}"] = exact(
            wrong,
            f"{words}: largest difference of the {n * axes} eigenvalues at the limit from those derived,"
            f" {words_how}",
            expected=0.0,
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    names = list(cases_of(p))
    there, runs = _total(numbers, names)
    worst = max(numbers[f"{name}_worst"].value for name in names)
    late = max(numbers[f"{name}_time"].value for name in names)
    return (
        Verdict(
            "with V = I, whatever Q, K, β ≥ 0 and d ≥ 2, from almost every start every token converges to"
            " x_1(0)",
            "agrees" if there == runs else "disagrees",
            f"{there} of {runs} runs with Gaussian Q and K do (d = {_listed(p['d'])}; β ="
            f" {_listed(p['betas'])}; n = {p['n']}), to {worst:.0e} at worst, by t = 10^({late:.0f}) at the"
            " latest",
        ),
        _rates(numbers, p),
        _beyond(numbers, p),
    )


def _rates(numbers: Numbers, p: Parameters) -> Verdict:
    cases = rate_cases(p)
    fits = max(numbers[f"{name}_decay"].value for name in cases)
    slow = max(numbers[f"{name}_slowest"].value for name, case in cases.items() if case[2] is None)
    formula, differences = (
        max(numbers[f"{name}_{how}"].value for name in cases) for how in ("formula", "differences")
    )
    good = (
        fits <= DECAY_RATE_ERROR
        and slow <= SLOWEST_RATE_ERROR
        and formula <= FORMULA_ERROR
        and differences <= DIFFERENCE_ERROR
    )
    return Verdict(
        "at consensus with V = I, whatever Q, K and β, the eigenvalues are −(k−1)/k, k = 1, …, n, each d −"
        " 1 times, and −(1 − 1/min(k, w)) with a window of w ≥ 2; without a window the slowest decay is"
        " e^{−t/2}",
        "proved" if good else "contradicted",
        f"at β = {_listed(p['rate_betas'])}, {p['draws']} Gaussian Q and K each, d = {_listed(p['d'])}, and"
        f" with a window of {p['windows'][-1]}: fitted rates, token by token, differ from these by"
        f" {fits:.0e} at most, the slowest of all from 1/2 by {slow:.0e}; the whole spectrum by"
        f" {formula:.0e} by formula and {differences:.0e} by differences of the velocity",
        proof="proofs.md#rates-at-consensus",
    )


def _beyond(numbers: Numbers, p: Parameters) -> Verdict:
    windows = [f"window{w}" for w in p["windows"]]
    there, runs = _total(numbers, windows)
    changed, many = _total(numbers, ["changing"])
    return Verdict(
        "with V = I every token ends at x_1(0) also under sliding windows, and with Q and K that change with"
        " time",
        "observed" if there == runs and changed == many else "not observed",
        f"{there} of {runs} runs with windows of {' and '.join(map(str, p['windows']))} tokens and {changed}"
        f" of {many} with Q and K drawn anew at t = 1, 2, 4, … do",
    )


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _total(numbers: Numbers, names: list[str]) -> tuple[int, int]:
    counts = [numbers[f"{name}_there"].count or (0, 1) for name in names]
    return sum(count[0] for count in counts), sum(count[1] for count in counts)


ITEM = Item(
    key="theorem4.1",
    title="Theorem 4.1: with V = I all end at the first token",
    cost=Cost(quick=11.3, full=60.4),
    source="Theorem 4.1",
    statement=(
        "With V = I, any Q and K, β ≥ 0 and d ≥ 2, from almost every start every token x_k(t) converges to"
        " x_1(0)."
    ),
    ours=(
        "How fast: the whole spectrum at the limit. And whether the same holds under sliding windows, and"
        " with Q and K that change with time."
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
        "rate_betas": [0.0, 4.0, 16.0, 64.0],
        "draws": 3,
        "seed": 0,
    },
    quick={"runs": 3, "beyond_runs": 3, "draws": 1},
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
            "Token by token: all tokens at one point but token k, perturbed by 0.001/max(1, β‖KᵀQ‖); its"
            " decay is fitted from t = 2 to 8. The slowest of all: 16 tokens from a start within about"
            " 0.3/max(1, β‖KᵀQ‖) of one point."
        ),
        (
            "Windows count the token itself. Q and K that change: drawn anew at t = 1, 2, 4, …, by starting"
            " again from where the tokens are."
        ),
    ),
    criteria=(
        f"First: agrees if every run ends with all tokens within {END_DISTANCE:g} of x_1(0). Second: proved;"
        f" contradicted unless every fitted rate is (k−1)/k, or 1 − 1/min(k, w), to {DECAY_RATE_ERROR:g}, the"
        f" slowest of all 1/2 to {SLOWEST_RATE_ERROR:g}, and all eigenvalues those derived, to"
        f" {FORMULA_ERROR:g} by formula and {DIFFERENCE_ERROR:g} by differences, with nothing from later"
        " tokens. Third: observed if every run ends there."
    ),
    captions={
        "theorem41": (
            "Left: distance of the farthest token from x_1(0) over powers of ten of time, a dozen runs at"
            " each β, dashed 1e-6; below about 1e-12 is rounding, and 1e-16 stands for 0. Middle: from"
            " starts near one point, the same over time, for several Q, K and d. Right: the rate with which"
            " token k, perturbed a little, comes back, at all β and several Q and K; lines are 1 − 1/k and,"
            " with a window of w, 1 − 1/min(k, w)."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
