"""Clouds, lambda_max < 0: are they chaotic, from which token on, and how do their tokens lie?"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.criteria import ELSE, Part, above, at_most, below, value_at_most, word_of
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of
from nucleate.papers.open_questions.clouds.data import picked, run, table
from nucleate.papers.open_questions.clouds.drawn import LAMBDA_MAX, SYMMETRIC
from nucleate.papers.open_questions.clouds.figures import draw
from nucleate.papers.open_questions.clouds.late import MAX_CHANCE, late_numbers, late_verdicts
from nucleate.papers.open_questions.clouds.measures import (
    RESTING,
    held_out,
    late_means,
    of_kind,
    of_runs,
    resolution,
    rule_hits,
    seed_means,
    seed_share,
)

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM", "KIND_WORDS", "LARGE"]

KIND_WORDS = {
    "gradient": "V = −I",
    "symmetric": "symmetric V",
    "general": "general V",
    "scores": "V = −I with drawn Q and K",
    "all": "general V with drawn Q and K",
}
SETS = ["spheres", "eight"]  # of the runs that may be chaotic
MAX_CHAOTIC_SHARE = 0.05  # of the runs of a kind that is not chaotic
PROOF = "open-questions/clouds.md#areas-around-a-token-do-not-grow"
MAX_PARTING = 7.0  # logarithm of the growth or decay of 1e-8 up to which it is small, and no rounding error
MAX_PARTING_ERROR = 0.1


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """The resolution, exponents by kind, dimension and beta, by token, what tells them, and places."""
    floor = resolution(data, p)
    _, circle = of_runs(data, p, ["circle"])
    gradient_draws, gradient = of_runs(data, p, ["gradient"])
    sums = np.concatenate([data[name]["sum"].values[:, 1:].max(1) for name in SETS])  # (runs,)
    numbers = {
        "resolution": exact(floor, "largest held-out exponent of runs that cannot be chaotic"),
        "circle": mean_of(
            seed_means(table(p, "circle"), circle), "d = 2, general V: mean held-out exponent", None
        ),
        "gradient": mean_of(
            seed_means(gradient_draws, gradient), "d ≥ 3, V = −I: mean held-out exponent", None
        ),
        "largest_sum": mean_of(
            seed_means([draw for name in SETS for draw in table(p, name)], sums),
            "d ≥ 3: sum of the exponents of a token, the largest of the tokens of a run, mean over V and"
            " starts",
        ),
    }
    simulated, tangent = (data["partings"][name].values for name in ("simulated", "tangent"))  # (runs, times)
    linear = np.abs(tangent) < MAX_PARTING
    numbers["parting"] = exact(
        float(np.abs(simulated - tangent)[linear].max()),
        "pairs of nearby runs of general V: largest difference of the logarithm of their distance from the"
        " tangent flow's",
    )
    numbers["parting_most"] = exact(float(tangent[linear].max()), "of these: largest logarithm of growth")
    for i, one in enumerate(picked(p, data)):
        found = data[f"again{i}"]
        numbers[f"again{i}"] = mean_of(
            held_out(found["first"].values, found["second"].values),
            f"the V of seed {one.seed}, d = {one.d}, β = {one.beta:g}, from other starts, n ="
            f" {found.sizes['token']}: held-out exponent",
        )
        late = late_means(data, f"again{i}")  # (starts, 2)
        numbers[f"again{i}_late"] = mean_of(
            late.mean(1), "of these: mean exponent of the second half of tokens"
        )
    numbers["null_late"] = exact(
        max(float(late_means(data, name).min(1).max()) for name in ("circle", "gradient")),
        "runs that cannot be chaotic: largest mean exponent of the second half of tokens, in both halves",
    )
    for kind in p["sets"]["spheres"]["kinds"]:
        numbers |= dict(_kind(data, p, kind, floor))
    numbers |= dict(_by_token(data, p, floor)) | dict(_told(data, p, floor)) | dict(_places(data, p))
    return numbers | dict(late_numbers(data, p))


def _kind(data: Data, p: Parameters, kind: str, floor: float) -> Iterator[tuple[str, Number]]:
    words = KIND_WORDS[kind]
    draws, values = of_runs(data, p, SETS, lambda draw: draw.kind == kind)
    yield kind, mean_of(seed_means(draws, values), f"{words}: held-out exponent, mean over V and starts")
    above = values > floor
    yield f"{kind}_share", seed_share(draws, above, f"{words}: runs above the resolution")
    for d in sorted({one.d for one in draws}):
        keep = np.array([one.d == d for one in draws])
        some = [one for one in draws if one.d == d]
        about = f"{words}, d = {d}: runs above the resolution"
        yield f"{kind}_d{d}", seed_share(some, above[keep], about)
        yield f"{kind}_d{d}_most", exact(values[keep].max(), f"{words}, d = {d}: largest held-out exponent")
    for beta in sorted({one.beta for one in draws}):
        keep = np.array([one.beta == beta for one in draws])
        some = [one for one in draws if one.beta == beta]
        about = f"{words}, β = {beta:g}: runs above the resolution"
        yield f"{kind}_beta{beta:g}", seed_share(some, above[keep], about)
    rests = of_kind(data, p, SETS, kind, lambda found: (found["moving"].values < RESTING).mean(1))
    yield f"{kind}_rest", mean_of(seed_means(*rests), f"{words}: share of tokens that rest at the end")


def _by_token(data: Data, p: Parameters, floor: float) -> Iterator[tuple[str, Number]]:
    """Exponents of early and late tokens of general V, and of a long sequence."""
    n = data["spheres"].sizes["token"]
    for name, part, words in (
        ("early", slice(1, n // 8), f"tokens 2 to {n // 8}"),
        ("late", slice(n // 2, n), f"tokens {n // 2 + 1} to {n}"),
    ):
        mean = partial(_mean_exponent, part=part)
        value = seed_means(*of_kind(data, p, SETS, "general", mean))  # (V and starts,)
        about = f"general V: largest exponent of each of {words}, mean over them, over V and starts"
        yield name, mean_of(value, about)
    long = data["long"]["second"].values  # (runs, n)
    draws, values = of_runs(data, p, ["long"])
    n = long.shape[1]
    yield (
        "long",
        mean_of(values, f"general V, d = {draws[0].d}, β = {draws[0].beta:g}, n = {n}: held-out exponent"),
    )
    for i, third in enumerate(np.array_split(np.arange(n), 3)):
        about = f"of these, tokens {third[0] + 1} to {third[-1] + 1}: mean exponent"
        yield f"long_part{i}", mean_of(long[:, third].mean(1), about)
        share = (long[:, third] > floor).mean(1)
        yield f"long_share{i}", mean_of(share, "of these: share of tokens above the resolution")


def _mean_exponent(found: "Dataset", part: slice) -> Array:
    """Of some tokens of every run, (runs,)."""
    return np.asarray(found["second"].values[:, part].mean(1))


def _told(data: Data, p: Parameters, floor: float) -> Iterator[tuple[str, Number]]:
    """Whether a complex dominant eigenvalue tells which general V are chaotic: made on even seeds, tested on
    odd ones."""
    draws, values = of_runs(data, p, SETS, lambda draw: draw.kind in ("general", "all"))
    feature = np.concatenate(
        [
            data[name]["complex"].values[[draw.kind in ("general", "all") for draw in table(p, name)]] > 0.5
            for name in SETS
        ]
    )
    chaotic, fit = values > floor, np.array([draw.seed % 2 == 0 for draw in draws])
    for name, some in (("complex", feature), ("real", ~feature)):
        about = f"general V, {name} dominant eigenvalue: runs above the resolution"
        if some.any():
            those = [draw for draw, kept in zip(draws, some, strict=True) if kept]
            yield f"{name}_share", seed_share(those, chaotic[some], about)
        else:
            yield f"{name}_share", Number(0.0, about, 0.0, 1.0, "no such run")
    differs, right, plain = rule_hits(feature, chaotic, fit)
    yield (
        "rule_differs",
        exact(float(differs), "whether the rule from even seeds heeds the dominant eigenvalue"),
    )
    odd = [draw for draw, even in zip(draws, fit, strict=True) if not even]
    yield "rule", seed_share(odd, right, "runs of odd seeds that the rule gets right")
    yield "rule_null", seed_share(odd, plain, "the same, of a rule that does not heed V")


def _places(data: Data, p: Parameters) -> Iterator[tuple[str, Number]]:
    """Where tokens are: independent uniform tokens on L have 1 for the last two."""
    for kind in ("gradient", *p["sets"]["spheres"]["kinds"]):
        names = ["gradient"] if kind == "gradient" else SETS
        found = {
            key: of_kind(data, p, names, kind, partial(_values, key=key))
            for key in ("in_L", "dim_L", "mean_square", "spread")
        }
        words = KIND_WORDS[kind]
        about = f"{words}: mean square of the part of a token in L"
        yield f"{kind}_in_L", mean_of(seed_means(*found["in_L"]), about)
        draws, dims = found["dim_L"]
        share = float((dims / np.array([draw.d for draw in draws])).mean())
        yield f"{kind}_in_L_uniform", exact(share, f"{words}: the same, dim L / d, for the uniform law")
        about = f"{words}: n |mean of tokens in L|², 1 if they were independent and uniform"
        yield f"{kind}_mean_square", mean_of(seed_means(*found["mean_square"]), about, 1.0)
        even = seed_means(*found["spread"])  # dim L, and so whether there is one, is that of the V
        even = even[np.isfinite(even)]
        if len(even) > 1:
            about = f"{words}: the same of second moments, dim L ≥ 2"
            yield f"{kind}_spread", mean_of(even, about, 1.0)


def _values(found: "Dataset", key: str) -> Array:
    return np.asarray(found[key].values)


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    floor = numbers["resolution"].value
    null, sums = numbers["circle"], numbers["largest_sum"]
    holds = null.ends[0] <= 0.0 and sums.ends[0] <= 0.0
    quiet = [kind for kind in ("symmetric", "scores") if kind in p["sets"]["spheres"]["kinds"]]
    loud = [kind for kind in ("general", "all") if kind in p["sets"]["spheres"]["kinds"]]
    late, early = numbers["late"], numbers["early"]
    thirds = [numbers[f"long_share{i}"] for i in range(3)]
    even = [numbers["gradient_mean_square"], numbers["gradient_spread"]]
    return (
        Verdict(
            "from almost every start areas around a token do not grow exponentially, for any Q, K, V: its"
            " mean rates do not add up to more than 0, and on the circle none is positive",
            "proved" if holds else "contradicted",
            f"mean held-out exponent on the circle {null}; on spheres the largest sum of a token's exponents"
            f" is {sums} on average",
            PROOF,
        ),
        Verdict(
            "two nearby runs, simulated without the tangent flow, part as it says",
            word_of([value_at_most(numbers["parting"], MAX_PARTING_ERROR)]),
            f"the logarithm of their distance differs by at most {numbers['parting'].value:.2g} from the"
            f" tangent flow's, while it grows by up to {numbers['parting_most'].value:.3g}",
        ),
        *(_chaotic(numbers, p, kind, floor) for kind in loud),
        *(_quiet(numbers, p, kind, floor) for kind in quiet),
        _again(numbers, p, floor),
        Verdict(
            "with general V late tokens have larger exponents than early ones",
            word_of([above(late, early)]),
            f"{late} in the second half of the tokens, {early} in the first eighth, on average; with n ="
            f" {p['sets']['long']['d_n'][0][1]} the share of tokens above the resolution is"
            f" {', '.join(f'{one.value:.0%}' for one in thirds)} in the three thirds",
        ),
        _rule(numbers),
        Verdict(
            "clouds of V = −I lie more evenly than independent uniform tokens",
            word_of(below(one, 1.0) for one in even),
            f"n |mean|² is {even[0]} and the same of second moments {even[1]}, instead of 1; the part in L is"
            + ", ".join(
                f" {numbers[f'{kind}_in_L'].value:.2f} for {KIND_WORDS[kind]} (uniform"
                f" {numbers[f'{kind}_in_L_uniform'].value:.2f})"
                for kind in p["sets"]["spheres"]["kinds"]
                if kind != "scores"
            ),
        ),
        *late_verdicts(numbers, p),
    )


def _seen(numbers: Numbers, kind: str, floor: float) -> str:
    return (
        f"held-out exponent {numbers[kind]} over V and starts, {numbers[f'{kind}_share']} of the runs above"
        f" the resolution {floor:.4f}; {numbers[f'{kind}_rest'].value:.0%} of the tokens rest at the end"
    )


def _tokens(p: Parameters) -> str:
    return f"{p['sets']['spheres']['d_n'][0][1]} tokens"


def _chaotic(numbers: Numbers, p: Parameters, kind: str, floor: float) -> Verdict:
    return Verdict(
        f"clouds of {KIND_WORDS[kind]} with {_tokens(p)} are chaotic for d ≥ 3 on average over V, by the"
        " held-out exponent of one token",
        word_of([above(numbers[kind], floor)]),
        _seen(numbers, kind, floor),
    )


def _quiet(numbers: Numbers, p: Parameters, kind: str, floor: float) -> Verdict:
    share = at_most(numbers[f"{kind}_share"], MAX_CHAOTIC_SHARE)
    return Verdict(
        f"clouds of {KIND_WORDS[kind]} with {_tokens(p)} are not chaotic, by the held-out exponent of one"
        " token",
        word_of([below(numbers[kind], floor), share]),
        _seen(numbers, kind, floor),
    )


def _again(numbers: Numbers, p: Parameters, floor: float) -> Verdict:
    found = [numbers[f"again{i}"] for i in range(p["again"]["picked"])]
    return Verdict(
        f"the V of the run with the token whose exponent was largest in both halves, followed with"
        f" {p['again']['n']} tokens from other starts, has chaotic clouds, by the held-out exponent of one"
        " token",
        word_of(above(one, floor) for one in found),
        "; ".join(f"{one.about}: {one}, {p['again']['starts']} starts" for one in found)
        + f"; resolution {floor:.4f}. The mean exponent of the second half of the tokens, looked at"
        f" afterwards, is {numbers['again0_late']} there, and at most {numbers['null_late'].value:.4f} in"
        " runs that cannot be chaotic",
    )


def _heeds(numbers: Numbers) -> Part:
    """Whether the rule from even seeds heeds the dominant eigenvalue.  It fails if most runs go the same way
    with a complex one and with a real one, by whole intervals, for then no such rule heeds it."""
    if numbers["rule_differs"].value > 0.5:
        return True
    most = [above(numbers[f"{name}_share"], 0.5) for name in ("complex", "real")]
    return False if most[0] is not None and most[0] == most[1] else None


def _rule(numbers: Numbers) -> Verdict:
    rule, null = numbers["rule"], numbers["rule_null"]
    heeds = _heeds(numbers)
    return Verdict(
        "whether a cloud of general V is chaotic is told by its dominant eigenvalue, complex or real",
        word_of([heeds, above(rule, null.value)] if heeds else [heeds]),
        f"of complex ones {numbers['complex_share']} runs are above the resolution, of real ones"
        f" {numbers['real_share']}; the rule made from even seeds is right in {rule} runs of odd ones, one"
        f" that does not heed V in {null}",
    )


# the runs of docs/open-questions/clouds.md, by studies/clouds_large.py: too long for an item
LARGE: Parameters = {
    "sets": {
        "circle": {"kinds": ["general"], "d_n": [[2, 64]], "betas": [1.0, 4.0, 16.0], "draws": 24},
        "gradient": {
            "kinds": ["gradient"],
            "d_n": [[3, 64], [4, 64], [8, 64]],
            "betas": [1.0, 4.0, 16.0],
            "draws": 6,
        },
        "spheres": {
            "kinds": ["general", "all", "symmetric", "scores"],
            "d_n": [[3, 64], [4, 64]],
            "betas": [1.0, 4.0, 16.0],
            "draws": 8,
        },
        "eight": {
            "kinds": ["general", "all", "symmetric", "scores"],
            "d_n": [[8, 64]],
            "betas": [1.0, 4.0, 16.0],
            "draws": 4,
        },
        "long": {"kinds": ["general"], "d_n": [[4, 128]], "betas": [16.0], "draws": 16},
    },
    "again": {"picked": 1, "n": 72, "starts": 8},
    "partings": 4,
    "first_seed": 0,
    # more V than the item's, which has too few to tell shares apart
    "late": {
        "cells": [
            ["general", 8, 16.0, 24],
            ["general", 8, 4.0, 24],
            ["gradient", 8, 16.0, 6],
            ["gradient", 8, 4.0, 6],
            ["general", 2, 16.0, 6],
            ["general", 2, 4.0, 6],
        ],
        "n": [32, 64, 128],
        "t": 900.0,
        "since": 300.0,
        "tol": 1e-4,
        "first_seed": 301,
        "again": {"starts": 2, "t": 1800.0, "since": 600.0},
    },
}

ITEM = Item(
    key="clouds",
    title="Clouds: are they chaotic?",
    cost=Cost(quick=47.0, full=500.0),
    source="Table 1, rows 4 and 5; section 6",
    statement=(
        "For λ_max < 0 the paper's Table 1 says: a cloud around L if λ_max has multiplicity 2 or more, two"
        " clouds around ±ξ if it is simple. What a cloud is, is left open."
    ),
    ours=(
        "Under the causal mask the tangent flow is block lower triangular, so that every token has d − 1"
        " Lyapunov exponents of its own. Proved: from almost every start the mean rates of a token do not add"
        " up to more than 0, so that on the circle no token has a positive one. (Not proved: that the"
        " exponents of the whole system are those of its tokens.) With V = −I and Q = K = I every token"
        " follows a gradient. Hypotheses, after a pilot of 145 shorter runs on other seeds: clouds of"
        " general V are chaotic on spheres, weakly and in late tokens; those of symmetric V, and of V = −I"
        " with any Q and K, are not. After these had been judged by one token's exponent with at most 128"
        " tokens: with 128 tokens, d = 8 and β = 16 some general V have chaotic clouds, seen in the mean"
        " exponent of the second half of the tokens, and more of them than with fewer tokens, a smaller β or"
        " a smaller d; late tokens of general V do not follow the uniform law on L, those of V = −I do."
    ),
    parameters={
        "sets": {
            "circle": {"kinds": ["general"], "d_n": [[2, 64]], "betas": [1.0, 4.0, 16.0], "draws": 8},
            "gradient": {
                "kinds": ["gradient"],
                "d_n": [[3, 64], [4, 64], [8, 64]],
                "betas": [1.0, 4.0, 16.0],
                "draws": 2,
            },
            "spheres": {
                "kinds": ["general", "all", "symmetric", "scores"],
                "d_n": [[3, 64], [4, 64]],
                "betas": [1.0, 4.0, 16.0],
                "draws": 3,
            },
            "eight": {
                "kinds": ["general", "all", "symmetric", "scores"],
                "d_n": [[8, 64]],
                "betas": [16.0],
                "draws": 2,
            },
            "long": {"kinds": ["general"], "d_n": [[4, 96]], "betas": [16.0], "draws": 4},
        },
        "share": 1.0,
        "t": 3000.0,
        "since": 1000.0,
        "tol": 1e-5,
        "first_seed": 40_000,
        "again": {"picked": 1, "n": 72, "starts": 4},
        "partings": 2,
        "parting_time": 100.0,
        "late": {
            "cells": [  # kind, d, beta, V and starts; the first is compared with the others
                ["general", 8, 16.0, 10],
                ["general", 8, 4.0, 10],
                ["general", 4, 16.0, 10],
                ["gradient", 8, 16.0, 6],
                ["gradient", 8, 4.0, 6],
                ["gradient", 4, 16.0, 6],
                ["general", 2, 16.0, 6],
                ["general", 2, 4.0, 6],
            ],
            "n": [32, 64, 128],
            "t": 900.0,
            "since": 300.0,
            "tol": 1e-4,
            "first_seed": 101,
            "again": {"starts": 4, "t": 1800.0, "since": 600.0},
        },
    },
    quick={
        "sets": {
            "circle": {"kinds": ["general"], "d_n": [[2, 32]], "betas": [4.0, 16.0], "draws": 8},
            "gradient": {"kinds": ["gradient"], "d_n": [[3, 32]], "betas": [4.0, 16.0], "draws": 4},
            "spheres": {
                "kinds": ["general", "all", "symmetric", "scores"],
                "d_n": [[3, 48], [4, 48]],
                "betas": [16.0],
                "draws": 2,
            },
            "eight": {
                "kinds": ["general", "all", "symmetric", "scores"],
                "d_n": [[8, 32]],
                "betas": [16.0],
                "draws": 2,
            },
            "long": {"kinds": ["general"], "d_n": [[4, 64]], "betas": [16.0], "draws": 2},
        },
        "again": {"picked": 1, "n": 48, "starts": 2},
        "first_seed": 0,
        "t": 600.0,
        "since": 240.0,
        "partings": 1,
        "parting_time": 30.0,
        "late": {
            "cells": [
                ["general", 8, 16.0, 3],
                ["general", 8, 4.0, 3],
                ["general", 4, 16.0, 3],
                ["gradient", 8, 16.0, 3],
                ["general", 2, 16.0, 3],
            ],
            "n": [16, 32, 64],
            "t": 300.0,
            "since": 100.0,
            "tol": 1e-4,
            "first_seed": 201,  # those of the full run are looked at by it alone
            "again": {"starts": 2, "t": 600.0, "since": 200.0},
        },
    },
    choices=(
        (
            "Drawn matrices have Gaussian entries of variance 1/d. General V is moved by a multiple of I to"
            f" λ_max = {LAMBDA_MAX:g}; symmetric V has eigenvalues uniform on [{SYMMETRIC[0]:g},"
            f" {SYMMETRIC[1]:g}] and a random basis. Uniform starts; V, Q, K and start belong to the seed,"
            " the same for every β."
        ),
        (
            "The window, from `since` to t, has two halves. The held-out exponent of a run is that, in the"
            " second half, of the token whose exponent was largest in the first: the largest of 64 estimates"
            " would be too large by their errors."
        ),
        (
            "The resolution is the largest held-out exponent of all runs that cannot be chaotic: general V on"
            " the circle, and V = −I on spheres, with the same n, β and window."
        ),
        (
            "β are up to three values for one V and start, the same seed, and are averaged before intervals"
            " are taken over V and starts; intervals of shares of runs count V and starts for trials, not"
            " runs. Steps have an error of 1e-5 in places and tangent vectors; trajectories of a chaotic run"
            " are then not those of the start, their statistics are."
        ),
        (
            "This is a new experiment: seeds from 40 000 on, of matrices and starts, that no earlier run had,"
            " fixed with all criteria before it was run. Known by then were a pilot, a larger set of runs on"
            " seeds from 0 on, with the V it picked followed twice from other starts, and this item on the"
            " first of the same seeds, whose picked V was in the larger set: docs/open-questions/clouds.md."
            " Until then intervals of exponents by token, of places and of shares were over runs, which is"
            " too narrow."
        ),
        (
            "`late` is a second experiment, on seeds 101 to 110 of V and starts, 20 101 to 20 104 of other"
            " starts, fixed with its criteria before it was run. Late exponent: the mean of the largest"
            " exponents of the second half of the tokens, in each half of the window; the mean over many"
            " tokens has far smaller errors than the exponent of one. As the first tokens of a run are a run"
            " of their own, n = 32 and 64 are the beginnings of the runs of 128. Known by then: such means"
            " of five V with other seeds, made with code that is not ours, positive for three of them at d"
            " = 8, n = 128, β = 16 and for none of two at β = 4, for three of four at d = 16,"
            " and for one of six at d = 4, n = 64; with 0.0000 for V = −I and −0.012 on the circle."
        ),
        (
            "A V has a chaotic cloud if its late exponent is above a limit in both halves of the window. The"
            " limit, for every number of tokens: the largest late exponent, the lower one of the two halves,"
            " of all runs of `late` that cannot be chaotic, or 0 if that is larger, and a margin: the root"
            " mean square of the difference of their halves, and at least ln 2 over half the window, 0.0023,"
            " which a tangent vector that grows like t shows in the first half, as on closed paths of"
            " different periods. Intervals of shares are Clopper's and Pearson's over V."
        ),
        (
            "Places: inner products of the parts in L, scaled to length 1, of all pairs of late tokens at 32"
            " times of the window, by their rank under the uniform law on L, which makes that law flat; where"
            " λ_max is complex (dim L = 2) and for V = −I (L all of R^d). Kolmogorov's distance, at 40 ranks,"
            " of every time, the mean over times, and the interval over V and starts, for tokens of one run"
            " are not independent; and that of pairs of different tokens at two times half of the window"
            " apart. The null: as many independent uniform tokens."
        ),
    ),
    criteria=(
        "First: proved; contradicted if the interval of the mean held-out exponent on the circle, or of the"
        " largest sum of a token's exponents, lies above 0. Second: observed if the logarithm of the"
        f" distance of two runs that begin 1e-8 apart differs by at most {MAX_PARTING_ERROR:g} from the"
        f" tangent flow's while that is below {MAX_PARTING:g}. Third and fourth: observed if the lower end"
        " of the 95 % interval over seeds of the held-out exponent is above 0 and above the resolution."
        " Fifth and sixth: observed if the upper end of that interval is below the resolution, and that of"
        f" the share of runs above it is at most {MAX_CHAOTIC_SHARE:.0%}. (Until these runs had been seen the"
        " share itself was held against that bound, which 0 of 20 pass whatever the clouds are: both were"
        " called observed. So many V as are here cannot decide it; studies/clouds_large.py OUT kinds asks it"
        " anew, by late exponents.) Seventh, added once the larger set had been"
        " seen, for new runs: observed if the lower end of the interval over other starts is above 0 and"
        " above the resolution. Eighth: observed if the intervals are apart."
        " Ninth: observed if the rule made from even seeds heeds the dominant eigenvalue, and the lower"
        " end of its share of right runs of odd seeds is above that of a rule that does not. Tenth:"
        " observed if both intervals are below 1. The following are those of `late`. Eleventh: observed if"
        " the lower end of the interval of the share of V with chaotic clouds is above 1 / (nulls + 1), the"
        " chance that one run like the nulls is above all of them. Twelfth: observed if there is such a V,"
        " and the lower end of the interval of the first one's late exponent over other starts is above the"
        " limit. Thirteenth to fifteenth: observed if so many more V in the one case than in the other have a"
        f" probability of at most {MAX_CHANCE:g} by the one-sided sign test (the same V with other n or β) or"
        " Fisher's (other d). Sixteenth: observed if the intervals of both distances, at one time and"
        " at two, are above those of 95 % of the null's samples. Seventeenth: observed if neither reaches"
        " above these. Ninth: a rule that heeds nothing fails if most runs are on the same side of the"
        " resolution with complex and with real eigenvalues, by whole intervals. Thirteenth to fifteenth"
        f" fail if so many fewer V have a probability of at most {MAX_CHANCE:g}." + ELSE + " (These last"
        " three sentences were written after all runs: before, every part that did not hold made it not"
        " observed. What is observed is so by the same criteria.)"
    ),
    captions={
        "clouds": (
            "Top left: mean exponent of the second half of the tokens of every V, the lower one of the two"
            " halves of the window, by the number of tokens, d and β (red, and counted above: beyond the"
            " limit, grey, that runs make which cannot be chaotic, at the left; those below −0.04 are drawn"
            " there). Top right: inner products in L of pairs of late tokens, d = 8, by their rank under the"
            " uniform law, which is flat, with 95 % intervals over runs; 0 is opposite, 1 together; the"
            " distances are Kolmogorov's, and those of as many uniform tokens. Bottom left: held-out"
            " exponents of one token of all runs by kind of cloud, at most 64 tokens, with the number above"
            " the resolution (grey), which is that of the first two kinds, which cannot be chaotic; those"
            " below −0.04 are drawn there. Bottom right: exponents by token, means of 8 tokens and of all"
            " runs with 95 % intervals: general V with more tokens, symmetric V; dots: every token of one of"
            " these runs of general V, that with the largest exponents."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
