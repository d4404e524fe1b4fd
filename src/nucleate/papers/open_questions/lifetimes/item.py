"""Lifetimes in d >= 3: Lemma 5.1's bound where it is not stated, and the law e^{beta (1 - cos angle)}."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.criteria import ELSE, above, at_most, below, within, word_of
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of
from nucleate.papers.open_questions.lifetimes.data import cells, run
from nucleate.papers.open_questions.lifetimes.figures import draw
from nucleate.papers.open_questions.lifetimes.measures import (
    MAX_LEADING,
    MIN_EXPONENT,
    Merged,
    fitted_line,
    merged,
    resampled,
    seeds_of,
)

__all__ = ["ITEM", "LARGE"]

RESAMPLES = 200  # of starts
HOW = f"95 % interval, starts drawn again {RESAMPLES} times"
MAX_SLOPE_ERROR = 0.05
MAX_ERROR = 0.2  # of ln T in the median, on cells that took no part in the fit
MIN_SLACK = 10.0  # lifetime over guaranteed lifetime, median
MAX_EXACT_ERROR = 0.02  # of ln T against the exact two-token time, median


def _dimensions(p: Parameters) -> list[int]:
    return sorted({cell.d for cell in cells(p)})


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Bounds, slopes and errors by dimension."""
    numbers: dict[str, Number] = {}
    for d in _dimensions(p):
        numbers |= dict(_bound(data, p, d)) | dict(_law(data, p, d))
    return numbers


def _bound(data: Data, p: Parameters, d: int) -> Iterator[tuple[str, Number]]:
    rows = []
    for cell in cells(p):
        if cell.d == d:
            found = data[cell.name]
            lifetime = np.minimum(found["lifetime"].values, found["until"].values)  # (starts, MOST)
            start = seeds_of(p, cell)[:, None] + np.zeros_like(lifetime)
            keep = np.isfinite(found["promised"].values) & np.isfinite(lifetime)
            rows.append(np.stack([lifetime / found["promised"].values, start], axis=-1)[keep])
    ratio, start = np.concatenate(rows).T  # (centers,) each
    about = f"d = {d}: strong centers that stay as long as Lemma 5.1 would have it, or longer"
    yield f"d{d}_kept", share_of(int((ratio >= 1.0).sum()), len(ratio), about)
    yield f"d{d}_least", exact(float(ratio.min()), f"d = {d}: least lifetime over guaranteed lifetime")
    value, low, high = resampled(start, lambda i: float(np.median(ratio[i])), RESAMPLES)
    about = f"d = {d}: median lifetime over guaranteed lifetime"
    yield f"d{d}_slack", Number(value, about, low, high, HOW)


def _law(data: Data, p: Parameters, d: int) -> Iterator[tuple[str, Number]]:
    fit = merged(data, p, lambda cell: cell.d == d and cell.use == "fit")
    test = merged(data, p, lambda cell: cell.d == d and cell.use == "test")
    slope, intercept = fitted_line(fit.exponent, fit.log_time)
    value, low, high = resampled(
        fit.start, lambda i: fitted_line(fit.exponent[i], fit.log_time[i])[0], RESAMPLES
    )
    about = f"d = {d}: slope of ln(T m β sin²Δ) over β(1 − cos Δ), {len(fit.exponent)} merges"
    yield f"d{d}_slope", Number(value, about, low, high, HOW, 1.0)
    yield from _exact_slope(fit, d)
    yield f"d{d}_intercept", exact(intercept, f"d = {d}: and its value at 0", expected=0.0)
    off = np.abs(test.log_time - slope * test.exponent - intercept)  # (rows,)
    about = f"d = {d}: median |error of ln T| of that line for {len(off)} merges at other β and starts"
    yield f"d{d}_held_out", _median(off, test.start, about)
    other = np.random.default_rng(0).permutation(len(off))
    null = np.abs(test.log_time - slope * test.exponent[other] - intercept)
    yield f"d{d}_null", _median(null, test.start, f"d = {d}: the same with the angles of other merges")
    error = np.abs(np.concatenate([fit.error, test.error]))
    start = np.concatenate([fit.start, test.start])
    about = f"d = {d}: median |error of ln T| of the exact two-token time, all merges"
    yield f"d{d}_exact", _median(error, start, about)
    value, low, high = resampled(start, lambda i: float(np.quantile(error[i], 0.9)), RESAMPLES)
    yield f"d{d}_exact_90", Number(value, f"d = {d}: and its 90 % quantile", low, high, HOW)
    about = f"d = {d}: merges of {len(error)} off the exact two-token time by more than a factor of e"
    yield f"d{d}_exact_far", exact(int((error > 1.0).sum()), about)
    told, every = test.formed == 1.0, np.concatenate([fit.formed, test.formed]) == 1.0  # (rows,)
    if told.any():
        lives = f"without lives in which more than {MAX_LEADING:.0%} of the tokens lead at t_f"
        about = f"d = {d}: median |error of ln T| of the line at other β and starts, {lives}"
        yield f"d{d}_held_out_formed", _median(off[told], test.start[told], about)
        about = f"d = {d}: median |error of ln T| of the exact two-token time, {lives}"
        yield f"d{d}_exact_formed", _median(error[every], start[every], about)
        far = error[every] > 1.0
        about = f"d = {d}: merges of {len(far)} off it by more than a factor of e, {lives}"
        yield f"d{d}_exact_far_formed", exact(int(far.sum()), about)


def _median(values: Array, start: Array, about: str) -> Number:
    """Of (rows,), with the starts they are of."""
    value, low, high = resampled(start, lambda i: float(np.median(values[i])), RESAMPLES)
    return Number(value, about, low, high, HOW)


def _exact_slope(fit: Merged, d: int) -> Iterator[tuple[str, Number]]:
    """What the exact two-token law has for the slope, and how far the measured one is from it, merge by
    merge."""
    law = fit.log_time - fit.error  # (rows,) ln (T m beta sin^2 angle), T the exact two-token time

    def exact_slope(i: NDArray[np.int64]) -> float:
        return fitted_line(fit.exponent[i], law[i])[0]

    def off(i: NDArray[np.int64]) -> float:
        return fitted_line(fit.exponent[i], fit.log_time[i])[0] - exact_slope(i)

    value, low, high = resampled(fit.start, exact_slope, RESAMPLES)
    about = f"d = {d}: the same slope of the exact two-token times of these merges"
    yield f"d{d}_slope_exact", Number(value, about, low, high, HOW, 1.0)
    value, low, high = resampled(fit.start, off, RESAMPLES)
    about = f"d = {d}: the slope less that of the exact two-token times"
    yield f"d{d}_slope_off", Number(value, about, low, high, HOW, 0.0)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    high = [d for d in _dimensions(p) if d >= 3]

    def listed(name: str) -> str:
        found = {d: numbers[f"d{d}_{name}"] for d in high if f"d{d}_{name}" in numbers}
        return ", ".join(f"{one} for d = {d}" for d, one in found.items()) or "nothing"

    held = [(numbers[f"d{d}_held_out"], numbers[f"d{d}_null"]) for d in high]
    slopes = [within(numbers[f"d{d}_slope"], 1.0, MAX_SLOPE_ERROR) for d in high]
    told = chain.from_iterable((at_most(one, MAX_ERROR), below(one, null)) for one, null in held)
    return (
        Verdict(
            "strong centers of uniform starts on spheres stay as long as Lemma 5.1 has it on the circle",
            word_of(numbers[f"d{d}_kept"].value == 1.0 for d in high),
            f"{listed('kept')}; least ratio {listed('least')}",
        ),
        Verdict(
            f"on spheres they stay more than {MIN_SLACK:g} times as long, in the median",
            word_of(above(numbers[f"d{d}_slack"], MIN_SLACK) for d in high),
            f"median ratio {listed('slack')}",
        ),
        Verdict(
            "on spheres lifetimes of clusters go like e^{β(1 − cos Δ)} / (m β sin²Δ)",
            word_of([*slopes, *told]),
            f"slope {listed('slope')}; the exact two-token times of these merges have"
            f" {listed('slope_exact')}; at other β and starts ln T is off by {listed('held_out')} in the"
            f" median ({', '.join(f'{null.value:.2g}' for _, null in held)} with the angles of other merges)",
        ),
        Verdict(
            f"the exact two-token time has ln T to {MAX_EXACT_ERROR:g} in the median, whatever d is",
            word_of(at_most(numbers[f"d{d}_exact"], MAX_EXACT_ERROR) for d in high),
            f"{listed('exact')}; 90 % are below {listed('exact_90')}; without lives in which most tokens"
            f" lead, so that nothing has formed, it is {listed('exact_formed')}, without a criterion",
        ),
        Verdict(
            "on spheres lifetimes of clusters grow with β(1 − cos Δ) as the exact two-token times do",
            word_of(within(numbers[f"d{d}_slope_off"], 0.0, MAX_SLOPE_ERROR) for d in high),
            f"slope less that of the exact two-token times of the same merges: {listed('slope_off')}",
        ),
    )


# of studies/lifetimes_large.py: the same criteria with more starts, as d = 5 was left undecided by 8 of them,
# and with more tokens, so that clusters form first: of 200 tokens most lead at d = 5, beta = 9.  Fixed before
# it was run; known by then the item's own runs, and from three seeds in the 990 000s how many merges there
# are and how long a life takes
LARGE: Parameters = {
    "cells": [
        [3, 16.0, 200, 20, "fit"],
        [3, 36.0, 200, 20, "fit"],
        [3, 25.0, 200, 20, "test"],
        [4, 9.0, 400, 40, "fit"],
        [4, 16.0, 400, 40, "fit"],
        [4, 12.0, 400, 40, "test"],
        [5, 6.0, 400, 60, "fit"],
        [5, 9.0, 800, 60, "fit"],
        [5, 8.0, 800, 60, "test"],
    ],
    "first_seed": {"fit": 10_000, "test": 10_500},
}

ITEM = Item(
    key="lifetimes",
    title="Lifetimes on spheres",
    cost=Cost(quick=22.0, full=180.0),
    source="Lemma 5.1; section 6: lifetimes, d ≥ 3",
    statement=(
        "Lemma 5.1, stated for d = 2: a strong center whose earlier tokens are farther than c(1 + 2ε)β^(−1/2)"
        " moves less than εcβ^(−1/2) up to the time T_j with T_j s_j h(cβ^(−1/2)) = εcβ^(−1/2)."
    ),
    ours=(
        "On spheres the lemma fails from special starts (the item lemma5.1). Asked here: whether it holds"
        " from uniform ones, how much longer centers stay, and whether clusters are lost after T with ln T"
        " = β(1 − cos Δ) − ln(m β sin²Δ), Δ the angle to the leader they are lost to and m the tokens of"
        " its cluster that come before: with V = I the way to it is on a great circle whatever d is, so"
        " that the law of the circle should hold on every sphere."
    ),
    parameters={
        "Q, K, V": "I",
        "cells": [
            [2, 36.0, 100, 6, "fit"],
            [2, 64.0, 100, 4, "test"],
            [3, 16.0, 200, 10, "fit"],
            [3, 36.0, 200, 8, "fit"],
            [3, 25.0, 200, 8, "test"],
            [4, 9.0, 200, 10, "fit"],
            [4, 16.0, 200, 8, "fit"],
            [4, 12.0, 200, 8, "test"],
            [5, 6.0, 200, 8, "fit"],
            [5, 9.0, 200, 6, "test"],
        ],
        "share": 1.0,
        "separation": 3.0,
        "first_seed": {"fit": 0, "test": 500},
    },
    quick={
        "cells": [
            [2, 36.0, 100, 4, "fit"],
            [2, 64.0, 100, 3, "test"],
            [3, 16.0, 150, 6, "fit"],
            [3, 25.0, 150, 4, "test"],
            [4, 9.0, 150, 6, "fit"],
            [4, 12.0, 150, 4, "test"],
        ],
    },
    choices=(
        (
            "Uniform starts. Every strong center with the separation 3 is held against the lemma with its"
            " own distance from the nearest earlier token, and the best c and ε for that. Lifetimes beyond"
            " the end of a life, when one cluster is left, count as its end."
        ),
        (
            f"Merges after t_f with β(1 − cos Δ) ≥ {MIN_EXPONENT:g}, angles and clusters taken at t_f, m as"
            " merges before have made it. The line has the least sum of |residuals|: a few leaders chase"
            " targets that move."
        ),
        (
            "The line is fitted on seeds 0, 1, … at some β, and tested on seeds 500, 501, … at other β."
            " Intervals draw seeds again, each with its lives at every β. Until the second run they drew"
            " lives, as if the same start at two β were two; criteria are as before."
        ),
        (
            "The slope 1 is that of large exponents; at those met here the exact two-token time has another."
            " So the same line is fitted to the exact times of the same merges, and the difference of the two"
            " slopes judged apart, starts drawn again for both at once. This was added after the other runs,"
            " when the slopes had been seen, but no interval of the difference."
        ),
        (
            "Where the exact time misses in d = 5 was looked at after the runs, and is only described: nearly"
            " all of it is one life at β = 9 in which most tokens lead at t_f = 0. Tokens there are so far"
            " apart that counting clusters begins before any has formed. Medians without such lives stand"
            " beside the others."
        ),
    ),
    criteria=(
        "First: observed if no center of d ≥ 3 stays for less than the lemma's time. Second: observed if"
        f" the lower end of the median ratio is above {MIN_SLACK:g} for every d ≥ 3. Third: observed if for"
        f" every d ≥ 3 the interval of the slope lies in 1 ± {MAX_SLOPE_ERROR:g}, the upper end of the"
        f" median error of ln T on cells left out of the fit is at most {MAX_ERROR:g}, and below the lower"
        " end of that with the angles of other merges. Fourth: observed if the upper end of the median"
        f" error is at most {MAX_EXACT_ERROR:g} for every d ≥ 3. Fifth, added later: observed if for every d"
        " ≥ 3 the interval of the slope less that of the exact two-token times of the same merges lies in ±"
        f" {MAX_SLOPE_ERROR:g}.{ELSE}"
    ),
    captions={
        "lifetimes": (
            "Left: ln(T m β sin²Δ) of every merge against β(1 − cos Δ), by dimension, filled where the line"
            " was fitted, rings at other β and starts; the line is the law, slopes in brackets are those of"
            " the exact two-token times of the same merges. Right: lifetimes of strong centers over those of"
            " Lemma 5.1, against the latter: all lie above 1 if the bound holds."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
