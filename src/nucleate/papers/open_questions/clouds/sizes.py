"""Are more general V chaotic with d = 8 than with d = 4, and with 256 tokens than with fewer?  Late exponents
with Q = K = I at β = 16, on new V and starts: runs, numbers and verdicts.

Known when the criteria were written: the sets of clouds.md, in which 2 of 10, 5, 6 and 10 of 24 V are chaotic
with d = 8 and 128 tokens, 2 of 10, 3 and 1 of 24 with d = 4, and of one 24 with d = 8 none, 3 and 5 with 32,
64 and 128 tokens.  Of trial runs, seeds 7031 to 7033, nothing but the cost was looked at.

Hypotheses: more V with d = 8 than with d = 4; more V with 256 tokens than with the first 64 of them, and than
with the first 128.  Whether with 256 tokens most V are chaotic is asked without one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.criteria import Part, above, word_of
from nucleate.papers.core.item import Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.clouds.late import (
    MAX_CHANCE,
    chance_of_no_difference,
    share_words,
)
from nucleate.papers.open_questions.clouds.late_runs import (
    cannot_be_chaotic,
    late_halves,
    late_limit,
    late_table,
    limit_above,
    one_late,
)

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = [
    "SIZE_TABLES",
    "run_sizes",
    "size_late",
    "size_limit",
    "size_long",
    "size_null",
    "size_numbers",
    "size_verdicts",
]

RUNS_PER_BLOCK = 4  # computed and stored at a time
BETA, T, SINCE, TOLERANCE = 16.0, 900.0, 300.0, 1e-4
DRAWS, LONG_DRAWS, NULL_DRAWS = 48, 24, 6  # V of each d; of these with 256 tokens; of each null
MOST = 0.5  # of the V

Runs = Mapping[str, "Dataset"]  # by name of the table


def _table(d: int, first_seed: int, draws: int, tokens: tuple[int, ...], nulls: int) -> Parameters:
    """General V of d dimensions, and runs that cannot be chaotic, as late_table reads them."""
    cells: list[list[object]] = [["general", d, BETA, draws]]
    cells += [["gradient", d, BETA, nulls], ["general", 2, BETA, nulls]] * (nulls > 0)
    window = {"n": list(tokens), "t": T, "since": SINCE, "tol": TOLERANCE}
    return {"late": {"cells": cells, **window, "first_seed": first_seed}}


# the first V of d = 8 have 256 tokens, of which the first 128 are what the other V have
SIZE_TABLES: dict[str, Parameters] = {
    "d4": _table(4, 86_001, DRAWS, (128,), NULL_DRAWS),
    "d8": _table(8, 85_001 + LONG_DRAWS, DRAWS - LONG_DRAWS, (128,), 0),
    "d8-long": _table(8, 85_001, LONG_DRAWS, (32, 64, 128, 256), NULL_DRAWS),
}
TABLES_OF = {4: ("d4",), 8: ("d8-long", "d8")}  # the first has the runs that cannot be chaotic


def run_sizes(workspace: "ItemWorkspace", progress: Callable[[float, float], object]) -> "dict[str, Dataset]":
    """Exponents of every token in both halves of the window, (runs, n), of the workspace's tables."""
    import xarray

    found = {}
    for name, table in workspace.parameters.items():
        late, draws = table["late"], late_table(table)

        def block(numbers: range, late: Any = late, draws: Any = draws) -> "Dataset":
            those = [draws[i] for i in numbers]
            each = in_threads(lambda draw: one_late(late["t"], late["since"], late["tol"], draw), those)
            rows = {half: np.stack([one[half] for one in each]) for half in ("first", "second")}
            return xarray.Dataset({half: (("run", "token"), value) for half, value in rows.items()})

        name_of_blocks = f"sizes-{name}"
        found[name] = workspace.blocks(name_of_blocks, len(draws), RUNS_PER_BLOCK, block, "run", progress)
    return found


def size_late(found: Runs, d: int, m: int) -> Array:
    """The late exponent of the first m tokens, the lower one of the two halves, of every general V that has
    so many, (V,)."""
    every = [
        late_halves(found[name], m)[~_nulls(SIZE_TABLES[name])].min(1)
        for name in TABLES_OF[d]
        if m <= SIZE_TABLES[name]["late"]["n"][-1]
    ]
    return np.concatenate(every)


def size_limit(found: Runs, d: int, m: int) -> float:
    """Above which late exponents of the first m tokens are taken for chaos: from runs of d and m alone."""
    name = TABLES_OF[d][0]
    return late_limit(SIZE_TABLES[name], found[name], m)


def size_null(found: Runs, d: int, m: int) -> Array:
    """The same of runs that cannot be chaotic, in both halves, (runs, 2)."""
    name = TABLES_OF[d][0]
    return late_halves(found[name], m)[_nulls(SIZE_TABLES[name])]


def _nulls(table: Parameters) -> NDArray[np.bool_]:
    return np.array([cannot_be_chaotic(draw) for draw in late_table(table)])


def size_long(found: Runs, m: int) -> Array:
    """Late exponents of the V that have 256 tokens, by the first m of them."""
    return size_late(found, 8, m)[:LONG_DRAWS]


def size_numbers(found: Runs) -> Iterator[tuple[str, Number]]:
    """Limits and runs that cannot be chaotic; shares of V by d and by number of tokens; how probable such
    differences are by chance."""
    for d, m in ((4, 128), *((8, m) for m in SIZE_TABLES["d8-long"]["late"]["n"])):
        yield from _null_numbers(found, d, m)
    hits = {d: size_late(found, d, 128) > size_limit(found, d, 128) for d in (8, 4)}
    smaller, larger = sorted(size_limit(found, d, 128) for d in (8, 4))
    for d in (8, 4):
        late = size_late(found, d, 128)
        yield from _shares(f"d{d}", late, hits[d], f"general V, d = {d}, 128 tokens")
        about = f"general V, d = {d}, 128 tokens: V above the limits of both d"
        yield f"d{d}_above_both", share_of(int((late > larger).sum()), len(late), about)
        about = (
            f"general V, d = {d}, 128 tokens: V above the smaller limit of both d (counted after the runs)"
        )
        yield f"d{d}_above_one", share_of(int((late > smaller).sum()), len(late), about)
    words = "d = 8 against d = 4, 128 tokens"
    yield from _chances("d", words, hits[8], hits[4], False)
    by_tokens = {}
    for m in SIZE_TABLES["d8-long"]["late"]["n"]:
        late = size_long(found, m)
        by_tokens[m] = late > size_limit(found, 8, m)
        yield from _shares(f"n{m}", late, by_tokens[m], f"the V with 256 tokens, d = 8, the first {m}")
    for m in (64, 128):
        yield from _chances(f"n{m}", f"256 tokens against the first {m}", by_tokens[256], by_tokens[m], True)
        both = int((by_tokens[256] & by_tokens[m]).sum())
        about = f"V that are chaotic with 256 tokens and with the first {m} of them"
        yield f"n{m}_both", exact(both, about)
        own = int((size_long(found, 256) > size_limit(found, 8, m)).sum())
        about = f"V with 256 tokens above the limit of {m} (counted after the runs)"
        yield f"n256_by_n{m}", share_of(own, LONG_DRAWS, about)
        about = f"late exponent with 256 tokens less that with the first {m}, V by V"
        yield f"n{m}_rise", mean_of(size_long(found, 256) - size_long(found, m), about)


def _null_numbers(found: Runs, d: int, m: int) -> Iterator[tuple[str, Number]]:
    table, words = SIZE_TABLES[TABLES_OF[d][0]], f"d = {d}, {m} tokens"
    late = table["late"]
    nulls = size_null(found, d, m)
    half = (late["t"] - late["since"]) / 2.0
    limits = [limit_above(np.delete(nulls, i, 0), late["since"], half) for i in range(len(nulls))]
    about = f"{words}: late exponent above which a cloud is called chaotic"
    yield f"limit_d{d}_n{m}", exact(size_limit(found, d, m), about)
    about = f"{words}: runs that cannot be chaotic above the limit that the others make"
    yield f"null_d{d}_n{m}", share_of(int((nulls.min(1) > limits).sum()), len(nulls), about)
    about = f"{words}: largest late exponent of runs that cannot be chaotic"
    yield f"null_most_d{d}_n{m}", exact(float(nulls.min(1).max()), about)


def _shares(key: str, late: Array, hits: NDArray[np.bool_], words: str) -> Iterator[tuple[str, Number]]:
    yield key, share_of(int(hits.sum()), len(hits), f"{words}: V with chaotic clouds")
    about = f"{words}: late exponent, the lower one of the two halves"
    for which, value in (("least", late.min()), ("middle", np.median(late)), ("most", late.max())):
        yield f"{key}_{which}", exact(float(value), f"{about}, {which}")
    if hits.any():
        yield f"{key}_least_above", exact(float(late[hits].min()), f"{about}, smallest above the limit")


def _chances(
    key: str, words: str, one: NDArray[np.bool_], other: NDArray[np.bool_], paired: bool
) -> Iterator[tuple[str, Number]]:
    how = "sign test, one-sided" if paired else "Fisher's test, one-sided"
    for way, two in (("more", (one, other)), ("fewer", (other, one))):
        about = f"{words}: chance of so many {way} chaotic V, were there no difference"
        yield f"{key}_{way}", exact(chance_of_no_difference(*two, paired), about, how)


def size_verdicts(numbers: Numbers) -> tuple[Verdict, ...]:
    """Criteria, written before the runs.  A V is chaotic if its late exponent is above the limit of its d and
    number of tokens in both halves of the window; what is said is undecided if any run that cannot be chaotic
    is above the limit that the others of this d and number of tokens make.

    1. more V with d = 8 than with d = 4, 128 tokens: observed if chance has so many more with probability of
       at most MAX_CHANCE (Fisher's test, one-sided), not observed if it has so many fewer; else undecided.
    2. more V with 256 tokens than with the first 64 of them: the same by the sign test, for V and start are
       the same; it takes five V at least.
    3. the same against the first 128.
    4. most V are chaotic with 256 tokens: observed if the interval of Clopper and Pearson of their share is
       above MOST, not observed if it is below; else undecided.  Of 24 V it takes 18, or at most 6."""
    most, long = numbers["n256"], ("d8_n256",)
    return (
        _more(numbers, "d", "d = 8 than with d = 4, 128 tokens", ("d8", "d4"), ("d8_n128", "d4_n128")),
        *(
            _more(
                numbers,
                f"n{m}",
                f"256 tokens than with the first {m} of them, d = 8",
                ("n256", f"n{m}"),
                (*long, f"d8_n{m}"),
            )
            for m in (64, 128)
        ),
        Verdict(
            "most general V have chaotic clouds with 256 tokens, d = 8, β = 16",
            word_of([above(most, MOST) if _sound(numbers, long) else None]),
            f"{share_words(most)} have late exponents above {numbers['limit_d8_n256'].value:.4f}; the largest"
            f" is {numbers['n256_most'].value:.4f}, the median {numbers['n256_middle'].value:.4f}",
        ),
    )


def _sound(numbers: Numbers, sizes: tuple[str, ...]) -> bool:
    """Whether the limits of these d and numbers of tokens call no run chaotic that cannot be."""
    return all(numbers[f"null_{one}"].value == 0.0 for one in sizes)


def _more(numbers: Numbers, key: str, words: str, shares: tuple[str, str], sizes: tuple[str, ...]) -> Verdict:
    more, fewer = (numbers[f"{key}_{way}"].value for way in ("more", "fewer"))
    part: Part = True if more <= MAX_CHANCE else False if fewer <= MAX_CHANCE else None
    one, other = (share_words(numbers[name]) for name in shares)
    limits = " and ".join(f"{numbers[f'limit_{size}'].value:.4f}" for size in sizes)
    nulls = " and ".join(share_words(numbers[f"null_{size}"]) for size in sizes)
    return Verdict(
        f"more general V have chaotic clouds with {words}, β = {BETA:g}",
        word_of([part if _sound(numbers, sizes) else None]),
        f"{one} against {other}, with the limits {limits}; chance alone has so many more with probability"
        f" {more:.2g}, so many fewer with {fewer:.2g}; of runs that cannot be chaotic {nulls} are above the"
        " limits that the others make",
    )
