"""Are clouds of symmetric V, and with drawn Q and K, chaotic?  Late exponents of runs of 128 tokens, each
kind on the same seeds as general V, which the same measure has to find chaotic: numbers, verdicts, picture.

Known when the criteria were written: runs to t = 900 with other seeds, d = 8, beta = 16, 128 tokens, in which
no late exponent was above 0: 4 symmetric V (-0.024 to -0.028), 6 of V = -I with drawn Q and K (-0.69 to -1),
7 general V with drawn Q and K (-0.10 to -0.41), and one of each with seed 9001, not used again.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.criteria import Part, above, below, word_of
from nucleate.papers.core.item import Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.clouds.late import MAX_CHANCE, chance_of_no_difference, share_words
from nucleate.papers.open_questions.clouds.late_runs import (
    cannot_be_chaotic,
    late_halves,
    late_limit,
    late_table,
    limit_above,
    one_late,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = [
    "KIND_NAMES",
    "KIND_RUNS",
    "MAX_CHAOTIC",
    "draw_kinds",
    "kind_numbers",
    "kind_verdicts",
    "none_of_enough",
    "run_kinds",
]

RUNS_PER_BLOCK = 8  # computed and stored at a time
MAX_CHAOTIC = 0.15  # of the V of a kind that is called not chaotic; 0 of 24 has the interval [0 %, 14.2 %]
KIND_NAMES = {
    "general": "general V",
    "symmetric": "symmetric V",
    "scores": "V = −I with drawn Q and K",
    "all": "general V with drawn Q and K",
}
CONTROL = "general"  # of whose V some are chaotic: what the measure has to find
LOWEST = -0.04  # exponents below are drawn here


def _runs(d: int, first_seed: int) -> Parameters:
    cells: list[list[object]] = [[kind, d, 16.0, 24] for kind in ("symmetric", "general", "all", "scores")]
    cells += [["gradient", d, 16.0, 6], ["general", 2, 16.0, 6]]
    late = {"cells": cells, "n": [32, 64, 128], "t": 900.0, "since": 300.0, "tol": 1e-4}
    return {"late": {**late, "first_seed": first_seed}}


# kind, d, beta, V and starts; V, Q, K and start belong to the seed, so that general V is the same with
# Q = K = I and with drawn ones.  Each dimension has nulls, and so a limit, of its own.
KIND_RUNS: dict[int, Parameters] = {8: _runs(8, 80_001), 3: _runs(3, 81_001)}


def none_of_enough(share: float, runs: int) -> float:
    """How probable it is that none of so many V is chaotic, if this share of all is."""
    return float((1.0 - share) ** runs)


def run_kinds(workspace: "ItemWorkspace", d: int, progress: Callable[[float, float], object]) -> "Dataset":
    """Exponents of every token in both halves of the window, (runs, n), some runs at a time."""
    import xarray

    p = KIND_RUNS[d]
    draws, late = late_table(p), p["late"]

    def block(numbers: range) -> "Dataset":
        found = in_threads(lambda i: one_late(late["t"], late["since"], late["tol"], draws[i]), list(numbers))
        halves = {name: np.stack([one[name] for one in found]) for name in ("first", "second")}
        return xarray.Dataset({name: (("run", "token"), value) for name, value in halves.items()})

    return workspace.blocks(f"kinds{d}", len(draws), RUNS_PER_BLOCK, block, "run", progress)


def _late(found: "Dataset", p: Parameters) -> tuple[float, Array]:
    """The limit, and the late exponent of every run, the lower one of the two halves of the window."""
    n = int(p["late"]["n"][-1])
    return late_limit(p, found, n), late_halves(found, n).min(1)


def _of_kind(p: Parameters, kind: str, d: int) -> NDArray[np.bool_]:
    return np.array([(one.kind, one.d) == (kind, d) for one in late_table(p)])


def kind_numbers(found: "Dataset", d: int, p: Parameters) -> Iterator[tuple[str, Number]]:
    """The limit, the nulls, and of each kind the share of V above it, the largest, and how probable so many
    fewer than of general V are by chance."""
    limit, late = _late(found, p)
    n, window = int(p["late"]["n"][-1]), p["late"]
    words = f"d = {d}, β = 16, {n} tokens"
    yield "limit", exact(limit, f"{words}: late exponent above which a cloud is called chaotic")
    nulls = late_halves(found, n)[[cannot_be_chaotic(one) for one in late_table(p)]]  # (runs, 2)
    half = (window["t"] - window["since"]) / 2.0
    left_out = [limit_above(np.delete(nulls, i, 0), window["since"], half) for i in range(len(nulls))]
    hits = int((nulls.min(1) > np.array(left_out)).sum())
    about = f"{words}: runs that cannot be chaotic above the limit that the others of them make"
    yield "null", share_of(hits, len(nulls), about)
    yield "null_most", exact(float(nulls.min(1).max()), f"{words}: largest late exponent of these")
    control = late[_of_kind(p, CONTROL, d)] > limit
    for kind in KIND_NAMES:
        own = late[_of_kind(p, kind, d)]
        about = f"{KIND_NAMES[kind]}, {words}: V with chaotic clouds"
        yield kind, share_of(int((own > limit).sum()), len(own), about)
        about = f"{KIND_NAMES[kind]}, {words}: late exponent, the lower one of the two halves"
        if (own > limit).any():
            yield f"{kind}_least_above", exact(own[own > limit].min(), f"{about}, smallest above the limit")
        for name, value in (("most", own.max()), ("middle", np.median(own)), ("least", own.min())):
            yield f"{kind}_{name}", exact(float(value), f"{about}, {name}")
        if kind != CONTROL:
            about = f"{words}: chance that so many fewer {KIND_NAMES[kind]} than general V are chaotic"
            paired = kind == "all"  # the same V and starts
            for key, two in (("fewer", (control, own > limit)), ("more", (own > limit, control))):
                chance = chance_of_no_difference(*two, paired)
                how = "sign test, one-sided" if paired else "Fisher's test, one-sided"
                yield f"{kind}_{key}", exact(chance, about.replace("fewer", key), how)


def kind_verdicts(numbers: Numbers, d: int, p: Parameters) -> tuple[Verdict, ...]:
    """Criteria, written before the runs:

    1. control: observed if the interval of Clopper and Pearson of the share of general V with chaotic clouds
       is above 0, which it is from one V on, and none of the runs that cannot be chaotic is above the limit
       that the others make.  Undecided else: no such share is below 0.
    2. a kind is not chaotic: observed if the upper end of the interval of its share is below MAX_CHAOTIC, and
       the control holds; not observed if the lower end is at least MAX_CHAOTIC; else undecided.  With 24 V
       it takes 0 of them.
    3. fewer of a kind than of general V: observed if chance has so many fewer with probability of at most
       MAX_CHANCE (general V with drawn Q and K: the same V and starts, sign test, that clouds depend on Q and
       K; else Fisher's test); not observed if it has so many more; else undecided."""
    limit, null = numbers["limit"].value, numbers["null"]
    control: list[Part] = [above(numbers[CONTROL], 0.0), True if null.value == 0.0 else None]
    where = f"d = {d}, β = 16, {p['late']['n'][-1]} tokens"
    others = [kind for kind in KIND_NAMES if kind != CONTROL]
    return (
        Verdict(
            f"control: late exponents find general V with chaotic clouds, {where}",
            word_of(control),
            f"{share_words(numbers[CONTROL])} are above {limit:.4f}; of runs that cannot be chaotic"
            f" {share_words(null)} are above the limit that the others make, the largest is"
            f" {numbers['null_most'].value:.4f}",
        ),
        *(_quiet(numbers, kind, where, control) for kind in others),
        *(_fewer(numbers, kind, where) for kind in others),
    )


def _quiet(numbers: Numbers, kind: str, where: str, control: list[Part]) -> Verdict:
    share = numbers[kind]
    runs = (share.count or (0, 1))[1]
    holds = None if word_of(control) != "observed" else True
    of_none = ", ".join(f"{none_of_enough(one, runs):.1%}" for one in (0.05, 0.1, 0.2))
    largest, middle, smallest = (numbers[f"{kind}_{name}"].value for name in ("most", "middle", "least"))
    return Verdict(
        f"clouds of {KIND_NAMES[kind]} are chaotic for fewer than {MAX_CHAOTIC:.0%} of the V, {where}",
        word_of([below(share, MAX_CHAOTIC), holds]),
        f"{share_words(share)} have late exponents above {numbers['limit'].value:.4f}; the largest is"
        f" {largest:.4f}, the median {middle:.4f}, the smallest {smallest:.4f}; were 5 %, 10 % or 20 % of"
        f" such V chaotic, none of {runs} would be with probability {of_none}",
    )


def _fewer(numbers: Numbers, kind: str, where: str) -> Verdict:
    less, more = (numbers[f"{kind}_{name}"].value for name in ("fewer", "more"))
    fewer: Part = True if less <= MAX_CHANCE else False if more <= MAX_CHANCE else None
    same = " (the same V and starts: it depends on Q and K)" if kind == "all" else ""
    return Verdict(
        f"fewer clouds of {KIND_NAMES[kind]} are chaotic than of general V with Q = K = I{same}, {where}",
        word_of([fewer]),
        f"{share_words(numbers[kind])} against {share_words(numbers[CONTROL])}; chance alone has so many"
        f" fewer with probability {less:.2g}",
    )


def draw_kinds(found: "dict[int, Dataset]") -> "Figure":
    """The late exponent of every V, a panel for every dimension."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import tidy

    figure = Figure(figsize=(5.3 * len(found), 3.8), layout="constrained")
    for ax, (d, one) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        palette, p, rng = tidy(ax), KIND_RUNS[d], np.random.default_rng(0)
        limit, late = _late(one, p)
        nulls = np.array([cannot_be_chaotic(draw) for draw in late_table(p)])
        columns = {"cannot be\nchaotic": nulls}
        columns |= {
            name.replace(" with ", "\nwith "): _of_kind(p, kind, d) for kind, name in KIND_NAMES.items()
        }
        ax.axhspan(LOWEST * 1.1, limit, color=palette.grey(0.1), linewidth=0)
        ax.axhline(0.0, color=palette.ink, linewidth=0.6)
        for place, rows in enumerate(columns.values()):
            value = late[rows]
            x = place + rng.uniform(-0.28, 0.28, len(value))
            for some, colour, size in (
                (value > limit, palette.red, 4),
                (value <= limit, palette.grey(0.55), 3),
            ):
                ax.plot(x[some], np.maximum(value[some], LOWEST), "o", color=colour, markersize=size)
            at = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "top", "fontsize": 9}
            ax.annotate(f"{(value > limit).sum()} of {len(value)}", (place, 1.0), **at)
        ax.set_xticks(range(len(columns)), list(columns), fontsize=8, rotation=25, ha="right")
        top = max(0.01, float(late.max()))
        ax.set(ylabel="exponent of late tokens", ylim=(LOWEST * 1.1, 1.25 * top), title=f"d = {d}, β = 16")
    return figure
