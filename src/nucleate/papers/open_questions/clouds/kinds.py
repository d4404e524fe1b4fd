"""Are clouds of symmetric V, with drawn Q and K, or at β = 1 chaotic?  Late exponents of runs of 128 tokens,
each kind on the same seeds as general V at β = 16, which the same measure has to find chaotic: numbers
and verdicts.

Known when the criteria for d = 8 and d = 3 were written: runs to t = 900 with other seeds, d = 8, beta = 16,
128 tokens, in which no late exponent was above 0: 4 symmetric V (-0.024 to -0.028), 6 of V = -I with drawn Q
and K (-0.69 to -1), 7 general V with drawn Q and K (-0.10 to -0.41), and one of each with seed 9001, not used
again.

Known when those for d = 4 and for beta = 1 were written: these sets and the others of clouds.md; the V of
seed 7001 from t = 30 to 100, late exponents at beta = 1 of -0.051 and -0.147 (general V, d = 8, with Q = K =
I and with drawn ones), -0.405 (V = -I with drawn Q and K), -0.005 (symmetric V) and -0.012 (general V, d =
4), and at beta = 16 of 0.0004 (general V, d = 8) and -0.022 (d = 4); and of six V each, seeds 7011 to 7016,
the mean speed of late tokens at t = 300: 0.26 at beta = 1 and 0.22 at 16 (general V, d = 8), 0.11 and 0.08
(d = 4).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.papers.core.criteria import Part, above, below, word_of
from nucleate.papers.core.item import Numbers, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of
from nucleate.papers.open_questions.clouds.kind_runs import (
    KindSet,
    kind_late,
    kind_limits,
    null_limit,
    null_rows,
)
from nucleate.papers.open_questions.clouds.late import (
    MAX_CHANCE,
    Cell,
    cell_words,
    chance_of_no_difference,
    rows_of,
    share_words,
)

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "KIND_NAMES",
    "MAX_CHAOTIC",
    "MIN_PACE",
    "kind_numbers",
    "kind_verdicts",
    "none_of_enough",
]

MAX_CHAOTIC = 0.15  # of the V of a kind that is called not chaotic; 0 of 24 has the interval [0 %, 14.2 %]
MIN_PACE = 0.5  # of the speed of late tokens at β = 16: with less, as long a window shows less
KIND_NAMES = {
    "general": "general V",
    "symmetric": "symmetric V",
    "scores": "V = −I with drawn Q and K",
    "all": "general V with drawn Q and K",
}


def none_of_enough(share: float, runs: int) -> float:
    """How probable it is that none of so many V is chaotic, if this share of all is."""
    return float((1.0 - share) ** runs)


def _hits(found: "Dataset", one: KindSet, cell: Cell) -> NDArray[np.bool_]:
    """Which V of a cell are above the limit of its β."""
    rows = rows_of(one.parameters, cell)
    return np.asarray(kind_late(found, one)[rows].min(1) > kind_limits(found, one)[cell.beta])


def _words(one: KindSet, cell: Cell) -> str:
    return cell_words(cell, int(one.parameters["late"]["n"][-1]))


def _compared(one: KindSet) -> list[Cell]:
    """Those that differ from the control in one thing alone: the kind, or β."""
    return [cell for cell in one.asked if one.beta == one.control.beta or cell.kind == one.control.kind]


def kind_numbers(found: "Dataset", one: KindSet) -> Iterator[tuple[str, Number]]:
    """The limits, the runs that cannot be chaotic, the control, and of each kind the share of V above the
    limit, the late exponents, and how probable so many fewer than in the control are by chance."""
    for beta, limit in kind_limits(found, one).items():
        about = f"{_words(one, Cell('', one.d, beta))}: late exponent above which a cloud is called chaotic"
        yield f"limit_beta{beta:g}", exact(limit, about)
    yield from _null_numbers(found, one)
    yield from _cell_numbers(found, one, "control", one.control)
    control = _hits(found, one, one.control)
    for cell in one.asked:
        yield from _cell_numbers(found, one, cell.kind, cell)
        if cell in _compared(one):
            own, paired = _hits(found, one, cell), cell.kind in ("general", "all")  # the same V and starts
            for key, two in (("fewer", (control, own)), ("more", (own, control))):
                about = (
                    f"{_words(one, cell)}: chance that so many {key} {KIND_NAMES[cell.kind]} are chaotic than"
                    f" general V at β = {one.control.beta:g}"
                )
                how = "sign test, one-sided" if paired else "Fisher's test, one-sided"
                yield f"{cell.kind}_{key}", exact(chance_of_no_difference(*two, paired), about, how)
    if one.beta != one.control.beta:
        yield "control_above_both", _above_both(found, one)
        yield from _pace_numbers(found, one)


def _null_numbers(found: "Dataset", one: KindSet) -> Iterator[tuple[str, Number]]:
    largest, beyond = [], []
    for beta in one.betas:
        nulls = kind_late(found, one)[null_rows(one, beta)]  # (runs, 2)
        limits = [null_limit(one, np.delete(nulls, i, 0)) for i in range(len(nulls))]
        largest.append(float(nulls.min(1).max()))
        beyond += list(nulls.min(1) > np.array(limits))
    words = f"d = {one.d}, β = {' and '.join(f'{beta:g}' for beta in one.betas)}"
    about = f"{words}: runs that cannot be chaotic above the limit that the others of their β make"
    yield "null", share_of(sum(beyond), len(beyond), about)
    yield "null_most", exact(max(largest), f"{words}: largest late exponent of these")


def _cell_numbers(found: "Dataset", one: KindSet, key: str, cell: Cell) -> Iterator[tuple[str, Number]]:
    late, hits = kind_late(found, one)[rows_of(one.parameters, cell)].min(1), _hits(found, one, cell)
    name = f"{KIND_NAMES[cell.kind]}, {_words(one, cell)}"
    yield key, share_of(int(hits.sum()), len(hits), f"{name}: V with chaotic clouds")
    about = f"{name}: late exponent, the lower one of the two halves"
    if hits.any():
        yield f"{key}_least_above", exact(float(late[hits].min()), f"{about}, smallest above the limit")
    for which, value in (("most", late.max()), ("middle", np.median(late)), ("least", late.min())):
        yield f"{key}_{which}", exact(float(value), f"{about}, {which}")


def _above_both(found: "Dataset", one: KindSet) -> Number:
    """Of the control, by the larger limit of the two β; in no criterion."""
    late = kind_late(found, one)[rows_of(one.parameters, one.control)].min(1)
    about = f"{KIND_NAMES[one.control.kind]}, {_words(one, one.control)}: V above the limits of both β"
    return share_of(int((late > max(kind_limits(found, one).values())).sum()), len(late), about)


def _pace_numbers(found: "Dataset", one: KindSet) -> Iterator[tuple[str, Number]]:
    """How fast late tokens of general V are where the window begins, here and in the control."""
    p, here = one.parameters, Cell(one.control.kind, one.d, one.beta)
    own, control = (found["speed"].values[rows_of(p, cell)] for cell in (here, one.control))
    words = "mean speed of late tokens where the window begins"
    yield "speed", mean_of(own, f"{KIND_NAMES[here.kind]}, {_words(one, here)}: {words}")
    yield "speed_control", mean_of(control, f"the same V, β = {one.control.beta:g}: {words}")
    less = f"{words}, less {MIN_PACE:.0%} of that at β = {one.control.beta:g}"
    yield "pace", mean_of(own - MIN_PACE * control, f"{KIND_NAMES[here.kind]}, {_words(one, here)}: {less}")


def kind_verdicts(numbers: Numbers, one: KindSet) -> tuple[Verdict, ...]:
    """Criteria, written before the runs; the fourth, and what is said of β = 1, before those at β = 1:

    1. control: observed if the interval of Clopper and Pearson of the share of general V with chaotic clouds
       at β = 16 is above 0, which it is from one V on, and none of the runs that cannot be chaotic is above
       the limit that the others of its β make.  Undecided else: no such share is below 0.
    2. a kind is not chaotic: observed if the upper end of the interval of its share is below MAX_CHAOTIC, and
       the control holds, and at β = 1 the fourth; not observed if the lower end is at least MAX_CHAOTIC; else
       undecided.  With 24 V it takes 0 of them.  At β = 1 general V with Q = K = I is a kind like the others.
    3. fewer of a kind than of general V at the same β, and fewer of general V at β = 1 than at β = 16:
       observed if chance has so many fewer with probability of at most MAX_CHANCE (sign test for the same V
       and starts: general V with drawn Q and K, that clouds depend on Q and K, and at the other β; else
       Fisher's test), and for the other β the fourth; not observed if it has so many more; else undecided.
       The sign test takes five V at least that are chaotic in the control alone.
    4. at β = 1 the window is as long as at β = 16: observed if the mean over V of the speed of late tokens
       at t = 300, less MIN_PACE of that of the same V at β = 16, is above 0 by its whole interval; not
       observed if it is below 0; else undecided.  We assume that where tokens move about as fast, chaos has
       rates of the same order: the limit, at least ln 2 over half the window at either β, is then passed at
       the one β about as easily as at the other."""
    null = numbers["null"]
    control = word_of([above(numbers["control"], 0.0), True if null.value == 0.0 else None])
    pace = [_pace(numbers, one)] if one.beta != one.control.beta else []
    fair: Part = True if all(verdict.word == "observed" for verdict in pace) else None
    sound: Part = True if control == "observed" and fair else None
    return (
        Verdict(
            f"control: late exponents find general V with chaotic clouds, {_words(one, one.control)}",
            control,
            f"{share_words(numbers['control'])} are above {_limit_at(numbers, one.control.beta):.4f}; of runs"
            f" that cannot be chaotic {share_words(null)} are above the limit that the others of their β"
            f" make, the largest is {numbers['null_most'].value:.4f}",
        ),
        *pace,
        *(_quiet(numbers, one, cell, sound) for cell in one.asked),
        *(_fewer(numbers, one, cell, fair) for cell in _compared(one)),
    )


def _limit_at(numbers: Numbers, beta: float) -> float:
    return numbers[f"limit_beta{beta:g}"].value


def _pace(numbers: Numbers, one: KindSet) -> Verdict:
    return Verdict(
        f"late tokens of general V move at least {MIN_PACE:.0%} as fast at β = {one.beta:g} as at β ="
        f" {one.control.beta:g}, d = {one.d}",
        word_of([above(numbers["pace"], 0.0)]),
        f"their mean speed where the window begins is {numbers['speed']} and {numbers['speed_control']}, the"
        f" first less {MIN_PACE:.0%} of the second, V by V, {numbers['pace']}",
    )


def _quiet(numbers: Numbers, one: KindSet, cell: Cell, sound: Part) -> Verdict:
    share = numbers[cell.kind]
    runs = (share.count or (0, 1))[1]
    of_none = ", ".join(f"{none_of_enough(some, runs):.1%}" for some in (0.05, 0.1, 0.2))
    largest, middle, smallest = (numbers[f"{cell.kind}_{name}"].value for name in ("most", "middle", "least"))
    return Verdict(
        f"clouds of {KIND_NAMES[cell.kind]} are chaotic for fewer than {MAX_CHAOTIC:.0%} of the V,"
        f" {_words(one, cell)}",
        word_of([below(share, MAX_CHAOTIC), sound]),
        f"{share_words(share)} have late exponents above {_limit_at(numbers, cell.beta):.4f}; the largest is"
        f" {largest:.4f}, the median {middle:.4f}, the smallest {smallest:.4f}; were 5 %, 10 % or 20 % of"
        f" such V chaotic, none of {runs} would be with probability {of_none}",
    )


def _fewer(numbers: Numbers, one: KindSet, cell: Cell, fair: Part) -> Verdict:
    less, more = (numbers[f"{cell.kind}_{name}"].value for name in ("fewer", "more"))
    fewer: Part = True if less <= MAX_CHANCE else False if more <= MAX_CHANCE else None
    other = "of general V with Q = K = I"
    if cell.kind == "all":
        other += " (the same V and starts: it depends on Q and K)"
    elif cell.kind == one.control.kind:
        other = f"of the same V and starts at β = {one.control.beta:g}"
    return Verdict(
        f"fewer clouds of {KIND_NAMES[cell.kind]} are chaotic than {other}, {_words(one, cell)}",
        word_of([fewer, fair]),
        f"{share_words(numbers[cell.kind])} against {share_words(numbers['control'])}; chance alone has so"
        f" many fewer with probability {less:.2g}",
    )
