"""Which tokens become leaders, from the start alone: four rules, fitted on some starts, tested on others."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nucleate.papers.core.criteria import ELSE, above, word_of
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact
from nucleate.papers.open_questions.who_leads.data import Case, cases, run
from nucleate.papers.open_questions.who_leads.figures import draw
from nucleate.papers.open_questions.who_leads.rules import RULES, Start, fitted, scores, start_of
from nucleate.sphere import uniform

__all__ = ["ITEM"]

RESAMPLES = 2000  # of starts
HOW = f"95 % interval, the wider of lives and of starts drawn again {RESAMPLES} times"
NAMES = {
    "renyi": "Rényi centers",
    "strong": "strong Rényi centers",
    "linkage": "causal single linkage",
    "gathered": "little weight seen",
    "first": "as many first tokens",
}
Counts = NDArray[np.int64]  # (starts, 3) right, named, leaders


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Fit, then test."""
    fit = [start for case in cases(p) if case.use == "fit" for start in _starts(data, case)]
    numbers: dict[str, Number] = {}
    found: dict[str, list[Counts]] = {name: [] for name in NAMES}
    chosen = {}
    for rule in RULES:
        chosen[rule] = fitted(fit, rule)
        for name, value in zip(("c", "a"), chosen[rule], strict=False):
            numbers[f"{rule}_{name}"] = exact(
                value, f"{NAMES[rule]}: {name}, fitted on {len(fit)} other starts"
            )
    for case in cases(p):
        if case.use != "test":
            continue
        starts = _starts(data, case)
        words = f"d = {case.d}, β = {case.beta:g}, n = {case.n}"
        for rule, function in RULES.items():
            found[rule].append(scores(starts, lambda one, rule=rule, f=function: f(one, *chosen[rule])))  # type: ignore[misc]  # mypy cannot infer a lambda with defaults
        found["first"].append(scores(starts, lambda one: np.arange(len(one.x)) < one.leads.sum()))
        for rule in NAMES:
            numbers |= _quality(f"{case.name}_{rule}", f"{words}, {NAMES[rule]}", found[rule][-1])
    together = (np.concatenate, _by_start)  # lives drawn again, or starts with all their cases
    for rule, parts in found.items():
        both = [_quality(rule, f"all tests, {NAMES[rule]}", put(parts)) for put in together]
        numbers |= {name: _wider(both[0][name], both[1][name]) for name in both[0]}
    for better, worse in (("strong", "renyi"), ("gathered", "strong"), ("gathered", "linkage")):
        gains = [_gain(put(found[better]), put(found[worse]), better, worse) for put in together]
        numbers[f"{better}_over_{worse}"] = _wider(*gains)
    return numbers


def _wider(one: Number, other: Number) -> Number:
    """The number with the wider of two intervals."""
    (low, high), (other_low, other_high) = one.ends, other.ends
    return replace(one, low=min(low, other_low), high=max(high, other_high))


def _starts(data: Data, case: Case) -> list[Start]:
    leads = data[case.name]["leads"].values == 1  # (starts, n)
    return [
        start_of(case.beta, uniform(case.n, case.d, case.first_seed + i), leads[i]) for i in range(len(leads))
    ]


def _by_start(parts: list[Counts]) -> Counts:
    """The counts of all cases together, start by start: at several β or n it has the same first tokens."""
    total = np.zeros((max(map(len, parts)), 3), dtype=np.int64)
    for rows in parts:
        total[: len(rows)] += rows
    return total


def _F(rows: Counts) -> float:
    right, named, leaders = rows.sum(0)
    return float(2.0 * right / (named + leaders))


def _drawn(count: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(count, size=(RESAMPLES, count))


def _quality(key: str, words: str, rows: Counts) -> dict[str, Number]:
    """F, precision and recall."""
    total = rows[_drawn(len(rows))].sum(1)  # (resamples, 3)
    right, named, leaders = rows.sum(0)
    kinds = {
        "F": (2.0 * right / (named + leaders), 2.0 * total[:, 0] / (total[:, 1] + total[:, 2]), "F"),
        "precision": (
            right / max(named, 1),
            total[:, 0] / np.maximum(total[:, 1], 1),
            "leaders among those named",
        ),
        "recall": (right / leaders, total[:, 0] / total[:, 2], "leaders that are named"),
    }
    return {
        f"{key}_{name}": Number(float(value), f"{words}: {about}", *_ends(again), HOW)
        for name, (value, again, about) in kinds.items()
    }


def _ends(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _gain(better: Counts, worse: Counts, one: str, other: str) -> Number:
    """By how much F is larger, on the same starts."""
    drawn = _drawn(len(better))
    F = [2.0 * (t := rows[drawn].sum(1))[:, 0] / (t[:, 1] + t[:, 2]) for rows in (better, worse)]
    about = f"F of {NAMES[one]} less that of {NAMES[other]}, all tests"
    return Number(_F(better) - _F(worse), about, *_ends(F[0] - F[1]), HOW)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    return (
        Verdict(
            "which tokens lead at t_f is told better by strong Rényi centers than by Rényi centers, each with"
            " its best c",
            word_of([above(numbers["strong_over_renyi"], 0.0)]),
            f"{_told(numbers, 'strong')}; {_told(numbers, 'renyi')}; {_told(numbers, 'first')}",
        ),
        Verdict(
            "better than both, and than causal single linkage, is a rule of weights: a token leads if it sees"
            " little weight besides its own, earlier tokens counted mostly where they will gather",
            word_of(above(numbers[f"gathered_over_{rule}"], 0.0) for rule in ("strong", "linkage")),
            f"{_told(numbers, 'gathered')}; {_told(numbers, 'linkage')}; the gain in F over strong centers is"
            f" {_interval(numbers['gathered_over_strong'])}, over linkage"
            f" {_interval(numbers['gathered_over_linkage'])}",
        ),
    )


def _told(numbers: Numbers, rule: str) -> str:
    fit = ", ".join(
        f"{name} = {numbers[f'{rule}_{name}'].value:g}" for name in "ca" if f"{rule}_{name}" in numbers
    )
    F, precision, recall = (numbers[f"{rule}_{name}"] for name in ("F", "precision", "recall"))
    return (
        f"{NAMES[rule]}{f' ({fit})' if fit else ''}: F {_interval(F)}, precision {precision.value:.3f},"
        f" recall {recall.value:.3f}"
    )


def _interval(number: Number) -> str:
    return f"{number.value:.3f} [{number.low:.3f}, {number.high:.3f}]"


ITEM = Item(
    key="who-leads",
    title="Which tokens become leaders",
    cost=Cost(quick=17.0, full=80.0),
    source="section 5, which has Rényi centers with δ = 4β^(−1/2) and strong ones",
    statement=(
        "Strong centers hardly move but do not explain all clusters; Rényi centers explain more, but drift"
        " and merge. Which tokens become leaders is left open."
    ),
    ours=(
        "Leaders at t_f are known (nc.merges); rules that name them from the start alone are fitted on some"
        " starts and β and tested on others. Beside both kinds of centers: causal single linkage, D_k > c"
        " β^(−1/2); and a rule of weights, token k leads if a Σ e^{β(⟨x_k,x_j⟩−1)} + (1 − a) Σ"
        " e^{β(⟨x_k,l_j⟩−1)} < c over earlier tokens j, l_j the leader that j sees most of."
    ),
    parameters={
        "Q, K, V": "I",
        "cases": [
            *(["fit", 2, beta, 200, 16] for beta in (25.0, 49.0, 100.0)),
            ["fit", 3, 25.0, 300, 10],
            ["fit", 4, 12.0, 300, 6],
            *(["test", 2, beta, n, 12] for beta in (16.0, 36.0, 64.0, 150.0) for n in (200, 400)),
            ["test", 2, 64.0, 1000, 5],
            ["test", 3, 16.0, 200, 10],
            ["test", 3, 36.0, 400, 8],
            ["test", 4, 16.0, 400, 5],
        ],
        "fit_seed": 10000,
        "test_seed": 0,
        "share": 1.0,
    },
    quick={"share": 0.15},
    choices=(
        (
            "F = 2 right / (named + leaders), over all starts together; each rule has the parameters with the"
            " largest F on the starts to fit, of c = 1.5, 1.6, … 4.5 or a grid of c and a."
        ),
        (
            "The rule of weights was found on the starts to fit, after speeds at the start, sums of weights"
            " and pairs of conditions had done worse there; the starts to test took no part."
        ),
        (
            "Null: as many first tokens as there are leaders. Intervals draw lives, and are"
            " widened where drawing starts, with all their cases, is wider: a start has the same first tokens"
            " at every β and n. This was added after the first run, and changes no verdict."
        ),
    ),
    criteria=(
        "First: observed if the 95 % interval of the gain in F of strong over Rényi centers is above 0 on the"
        " starts to test. Second: observed if those of the rule of weights over strong centers and over"
        f" causal single linkage both are.{ELSE}"
    ),
    captions={
        "who-leads": (
            "Left: F of every rule on starts and β that took no part in the fit, with 95 % intervals. Right:"
            " precision against recall of every rule, each mark one case; large marks are all cases together."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
