"""How many V have chaotic clouds, by the late tokens of runs with many tokens, and whether late tokens lie
uniformly in L: numbers and verdicts."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.criteria import Part, above, below, word_of
from nucleate.papers.core.item import Data, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of
from nucleate.papers.open_questions.clouds.late_runs import (
    cannot_be_chaotic,
    chaotic,
    late_halves,
    late_limit,
    late_picked,
    late_table,
    limit_above,
    overlap_distance,
)
from nucleate.papers.open_questions.clouds.measures import held_out

__all__ = [
    "LIES",
    "MAX_CHANCE",
    "Cell",
    "cell_words",
    "cells",
    "chance_of_no_difference",
    "late_numbers",
    "late_verdicts",
    "lying",
    "rows_of",
    "share_words",
    "uniform_distances",
]

MAX_CHANCE = 0.05  # that a difference between two shares is chance
UNIFORM_DRAWS, UNIFORM_SEED = 400, 1  # of as many independent uniform tokens
LIES = ("turning", "gradient")  # whose places are compared with the uniform law: dim L = 2, and L all of R^d


class Cell(NamedTuple):
    """Runs that differ by V and start alone."""

    kind: str
    d: int
    beta: float


def cells(p: Parameters) -> list[Cell]:
    """Those of general V on spheres; the first is compared with the others."""
    every = [Cell(kind, int(d), float(beta)) for kind, d, beta, _ in p["late"]["cells"]]
    return [one for one in every if one.kind == "general" and one.d > 2]


def rows_of(p: Parameters, cell: Cell) -> NDArray[np.intp]:
    """The runs of a cell."""
    return np.flatnonzero([(one.kind, one.d, one.beta) == cell for one in late_table(p)])


def cell_words(cell: Cell, m: int) -> str:
    """What a cell is called."""
    return f"d = {cell.d}, β = {cell.beta:g}, {m} tokens"


def _key(cell: Cell, m: int) -> str:
    return f"late_d{cell.d}_beta{cell.beta:g}_n{m}"


def late_numbers(data: Data, p: Parameters) -> Iterator[tuple[str, Number]]:
    """Limits, shares of V, those of tokens, other starts, comparisons and places."""
    found, n = data["late"], int(p["late"]["n"][-1])
    yield from _limits(data, p)
    for cell in cells(p):
        rows = rows_of(p, cell)
        for m in p["late"]["n"]:
            hits, late = chaotic(p, found, m)[rows], late_halves(found, m)[rows].min(1)
            words = f"general V, {cell_words(cell, m)}"
            yield _key(cell, m), share_of(int(hits.sum()), len(hits), f"{words}: V with chaotic clouds")
            about = f"{words}: largest late exponent, the lower one of the two halves of the window"
            yield f"{_key(cell, m)}_most", exact(float(late.max()), about)
        both = np.minimum(found["first"].values, found["second"].values)[rows, n // 2 :]  # (runs, n / 2)
        above = (both > late_limit(p, found, n)).mean(1)  # (runs,)
        about = f"general V, {cell_words(cell, n)}: share of late tokens above the limit in both halves"
        yield f"{_key(cell, n)}_tokens", mean_of(above, about)
    again, one = data["late_again"], late_picked(p, found)
    about = (
        f"the V of seed {one.seed}, {cell_words(Cell(one.kind, one.d, one.beta), n)}, from other starts, to t"
        f" = {p['late']['again']['t']:g}: late exponent, the lower one of the two halves of the window"
    )
    yield "late_again", mean_of(late_halves(again, n).min(1), about)
    about = "of these: smallest of the starts"
    yield "late_again_least", exact(float(late_halves(again, n).min()), about)
    about = "of these: held-out exponent"
    yield "late_again_held", mean_of(held_out(again["first"].values, again["second"].values), about)
    yield from _comparisons(data, p)
    yield from _lies(data, p)


def _limits(data: Data, p: Parameters) -> Iterator[tuple[str, Number]]:
    found = data["late"]
    nulls = np.array([cannot_be_chaotic(draw) for draw in late_table(p)])
    late = p["late"]
    half = (late["t"] - late["since"]) / 2.0
    for m in late["n"]:
        about = f"{m} tokens: late exponent above which a cloud is called chaotic"
        yield f"late_limit_n{m}", exact(late_limit(p, found, m), about)
    two = late_halves(found, late["n"][-1])[nulls]  # (runs, 2)
    about = "runs that cannot be chaotic: largest late exponent, the lower one of the two halves"
    yield "late_null_most", exact(float(two.min(1).max()), about)
    left_out = [limit_above(np.delete(two, i, 0), late["since"], half) for i in range(len(two))]
    hits = int((two.min(1) > np.array(left_out)).sum())
    about = "runs that cannot be chaotic: above the limit that the others of them make"
    yield "late_null", share_of(hits, len(two), about)


def chance_of_no_difference(more: NDArray[np.bool_], less: NDArray[np.bool_], paired: bool) -> float:
    """How probable it is that, were there no difference, so many more were true of `more` than of `less`, or
    still more: the sign test for pairs, else Fisher's."""
    from scipy.stats import binom, fisher_exact

    if paired:
        gained, lost = int((more & ~less).sum()), int((less & ~more).sum())
        return float(binom.sf(gained - 1, gained + lost, 0.5)) if gained else 1.0
    table = np.array([[one.sum(), (~one).sum()] for one in (more, less)])
    return float(fisher_exact(table, alternative="greater").pvalue)


def _compared(p: Parameters) -> dict[str, Cell | None]:
    """The cells that the first one is compared with, by what is less in them."""
    first, others = cells(p)[0], cells(p)[1:]
    same_d = [one for one in others if one.d == first.d and one.beta < first.beta]
    same_beta = [one for one in others if one.d < first.d and one.beta == first.beta]
    return {"beta": same_d[0] if same_d else None, "d": same_beta[0] if same_beta else None}


def _comparisons(data: Data, p: Parameters) -> Iterator[tuple[str, Number]]:
    found, n, first = data["late"], p["late"]["n"], cells(p)[0]
    hits = {m: chaotic(p, found, m) for m in n}
    rows = rows_of(p, first)
    many, few = hits[n[-1]][rows], hits[n[0]][rows]
    words = (
        f"{first.d} dimensions, β = {first.beta:g}: chance that {n[-1]} tokens have so many {{}} chaotic V"
    )
    yield from _chances("n", f"{words} than {n[0]}", many, few, True)
    for name, cell in _compared(p).items():
        if cell is not None:
            one, other = hits[n[-1]][rows], hits[n[-1]][rows_of(p, cell)]
            paired = name == "beta"  # the same V and starts
            size = min(len(one), len(other)) if paired else None
            words = f"chance of so many {{}} chaotic V than with {cell_words(cell, n[-1])}"
            yield from _chances(name, words, one[:size], other[:size], paired)


def _chances(
    name: str, words: str, one: NDArray[np.bool_], other: NDArray[np.bool_], paired: bool
) -> Iterator[tuple[str, Number]]:
    """Of so many more, and of so many fewer."""
    how = "sign test, one-sided" if paired else "Fisher's test, one-sided"
    for key, way, two in (("", "more", (one, other)), ("_fewer", "fewer", (other, one))):
        about = f"{words.format(way)}, were there no difference"
        yield f"late_chance_{name}{key}", exact(chance_of_no_difference(*two, paired), about, how)


def _lies(data: Data, p: Parameters) -> Iterator[tuple[str, Number]]:
    """Distances from the uniform law on L, and those of as many independent uniform tokens."""
    tokens = p["late"]["n"][-1] - p["late"]["n"][-1] // 2
    for name in LIES:
        rows, dim = lying(data, p, name)
        if not len(rows):
            continue
        words = {"turning": "general V with a complex dominant eigenvalue", "gradient": "V = −I"}[name]
        words = f"{words}, {cell_words(cells(p)[0], p['late']['n'][-1])}"
        for key, when in (("apart", "pairs at one time"), ("two_times_apart", "pairs at two times")):
            about = (
                f"{words}: late tokens, Kolmogorov's distance of inner products in L from the uniform law,"
                f" {when}"
            )
            yield f"{name}_{key}", mean_of(data["late"][key].values[rows], about)
        drawn = uniform_distances(tokens, dim)
        about = f"{dim} dimensions: the same of {tokens} independent uniform tokens"
        low, high = np.quantile(drawn, (0.025, 0.975))
        how = f"95 % of {UNIFORM_DRAWS} such samples"
        yield f"{name}_uniform", Number(float(drawn.mean()), about, float(low), float(high), how)


def lying(data: Data, p: Parameters, name: str) -> tuple[NDArray[np.intp], int]:
    """The runs of the first cell with dim L = 2, or those of V = -I with its d and beta, and dim L."""
    first = cells(p)[0]
    rows = rows_of(p, first if name == "turning" else first._replace(kind="gradient"))
    if name == "turning":
        rows = rows[data["late"]["dim_L"].values[rows] == 2.0]
    return rows, 2 if name == "turning" else first.d


def uniform_distances(tokens: int, dim: int) -> Array:
    """Distances from the uniform law of samples of it, (draws,)."""
    x = np.random.default_rng(UNIFORM_SEED).standard_normal((UNIFORM_DRAWS, tokens, dim))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return np.array([overlap_distance(one) for one in x])


def late_verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    first, n = cells(p)[0], p["late"]["n"]
    share, null = numbers[_key(first, n[-1])], numbers["late_null"]
    again, limit = numbers["late_again"], numbers[f"late_limit_n{n[-1]}"].value
    nulls = null.count[1] if null.count else 0
    compared = _compared(p)
    return (
        Verdict(
            f"more of general V, {cell_words(first, n[-1])}, have late tokens with a mean exponent above the"
            " limit than runs that cannot be chaotic might by chance",
            word_of([above(share, 1.0 / (nulls + 1))]),
            f"{share_words(share)} of the V have late exponents above {limit:.4f} in both halves of the"
            f" window, the largest of the V {numbers[f'{_key(first, n[-1])}_most'].value:.4f}; of the late"
            f" tokens {numbers[f'{_key(first, n[-1])}_tokens']} are above it. Of runs that cannot be chaotic"
            f" {share_words(null)} are above the limit that the others make, and the largest late exponent is"
            f" {numbers['late_null_most'].value:.4f}",
        ),
        Verdict(
            "there are general V with chaotic clouds: the first of these V above the limit is above it from"
            " other starts too, over twice the time",
            word_of([above(share, 0.0), above(again, limit)]),
            f"{again.about}: {again}, {p['late']['again']['starts']} starts, the smallest"
            f" {numbers['late_again_least'].value:.4f}, where the limit is {limit:.4f}; held-out exponent"
            f" {numbers['late_again_held']}",
        ),
        *_more_tokens(numbers, p),
        *(
            _more(numbers, p, name, words, cell)
            for (name, cell), words in zip(
                compared.items(), ("the same V at a larger β", "V of a larger d"), strict=True
            )
            if cell is not None
        ),
        *_lie_verdicts(numbers),
    )


def _more_often(numbers: Numbers, name: str) -> Part:
    """Whether a difference is hardly chance; it fails if one the other way round is hardly chance."""
    if numbers[f"late_chance_{name}"].value <= MAX_CHANCE:
        return True
    return False if numbers[f"late_chance_{name}_fewer"].value <= MAX_CHANCE else None


def share_words(one: Number) -> str:
    """How many of how many, with the interval."""
    low, high = one.ends
    hits, runs = one.count or (0, 0)
    return f"{hits} of {runs} [{low:.0%}, {high:.0%}]"


def _more_tokens(numbers: Numbers, p: Parameters) -> Iterator[Verdict]:
    first, n, chance = cells(p)[0], p["late"]["n"], numbers["late_chance_n"].value
    shares = [f"{share_words(numbers[_key(first, m)])} with {m}" for m in n]
    for cell in cells(p)[1:]:
        some = ", ".join(f"{share_words(numbers[_key(cell, m)])} with {m}" for m in n)
        shares.append(f"(d = {cell.d}, β = {cell.beta:g}: {some})")
    yield Verdict(
        f"more V have chaotic clouds with more tokens: {n[-1]} against the first {n[0]} of them, d ="
        f" {first.d}, β = {first.beta:g}",
        word_of([_more_often(numbers, "n")]),
        f"{', '.join(shares)}; chance alone has so much with probability {chance:.2g}",
    )


def _more(numbers: Numbers, p: Parameters, name: str, words: str, cell: Cell) -> Verdict:
    first, n, chance = cells(p)[0], p["late"]["n"][-1], numbers[f"late_chance_{name}"].value
    ways = {"beta": f"β = {first.beta:g} against {cell.beta:g}", "d": f"d = {first.d} against {cell.d}"}
    return Verdict(
        f"more of {words} have chaotic clouds: {ways[name]}, {n} tokens",
        word_of([_more_often(numbers, name)]),
        f"{share_words(numbers[_key(first, n)])} against {share_words(numbers[_key(cell, n)])}; chance alone"
        f" has so much with probability {chance:.2g}",
    )


def _lie_verdicts(numbers: Numbers) -> Iterator[Verdict]:
    if "turning_apart" in numbers:
        found, null = numbers["turning_apart"], numbers["turning_uniform"]
        other = numbers["turning_two_times_apart"]
        yield Verdict(
            "late tokens of general V with a complex dominant eigenvalue do not follow the uniform law on L:"
            " neither at one time nor over time",
            word_of(above(one, null.ends[1]) for one in (found, other)),
            f"Kolmogorov's distance of inner products in L from the uniform law is {found} for pairs at one"
            f" time and {other} at two times; {_null(null)}",
        )
    if "gradient_apart" in numbers:
        found, null = numbers["gradient_apart"], numbers["gradient_uniform"]
        other = numbers["gradient_two_times_apart"]
        yield Verdict(
            "late tokens of V = −I are no farther from the uniform law on L, the whole sphere, than as many"
            " independent uniform tokens may be, by Kolmogorov's distance of inner products",
            word_of(below(one, null.ends[1]) for one in (found, other)),
            f"the same distance is {found} for pairs at one time and {other} at two times; {_null(null)}",
        )


def _null(null: Number) -> str:
    low, high = null.ends
    return f"samples of as many uniform tokens have {null.value:.3f}, 95 % of them {low:.3f} to {high:.3f}"
