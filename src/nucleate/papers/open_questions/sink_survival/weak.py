"""Up to which strength x_1 wins with an MLP, several heads and V by layers, on starts that took no part in
finding it: weak strengths, for `studies/sink_large.py OUT weak`.

Known when the criteria were written: the item's runs, and eight starts of `studies/sink_large.py OUT` with an
MLP of s = 0.003, n = 32, d = 8, of which another token in the place of x_1 wins none.
"""

from collections.abc import Iterator, Mapping

from nucleate.papers.core.criteria import Part, above, below, word_of
from nucleate.papers.core.item import Data, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, share_of
from nucleate.papers.open_questions.sink_survival.item import ITEM
from nucleate.papers.open_questions.sink_survival.measures import shares, wins
from nucleate.papers.open_questions.sink_survival.numbers import NAMES
from nucleate.papers.open_questions.sink_survival.verdicts import points_of, wins_at

__all__ = ["UP_TO", "WEAK", "weak_numbers", "weak_verdicts"]

# the largest strength tried at which x_1 wins at every beta in the item's runs: the last but one here
UP_TO = {"mlp": 1e-3, "heads": 1e-2, "layers": 0.1}
STRENGTHS = {"mlp": [3e-4, 1e-3, 3e-3], "heads": [3e-3, 1e-2, 3e-2], "layers": [0.03, 0.1, 0.3]}
HALF = 0.5  # of the starts, in which x_1 alone wins


def _weak(n: int, d: int, betas: list[float], starts: int) -> Parameters:
    cases = {name: {**ITEM.parameters["cases"][name], "values": some} for name, some in STRENGTHS.items()}
    some = {"n": n, "d": d, "betas": betas, "starts": starts, "first_seed": 3000, "held_starts": 0}
    return {**ITEM.parameters, **some, "cases": cases}


# the item's n and d, with more starts than its twelve; and two others
WEAK: dict[str, Parameters] = {
    "n32-d4": _weak(32, 4, [0.5, 1.0, 2.0, 3.0], 40),
    "n32-d8": _weak(32, 8, [1.0, 2.0, 3.0], 12),
    "n128-d4": _weak(128, 4, [1.0, 2.0, 3.0], 12),
}


def weak_numbers(data: Data, p: Parameters) -> Iterator[tuple[str, Number]]:
    """At every strength and beta the shares of starts that x_1 wins, another token in its place, x_1 under
    the full mask (at the weakest strength), and x_1 alone."""
    for name, case in p["cases"].items():
        overlap = data[name]["overlap"].values  # (start, value, beta, kind, token)
        for i, value in enumerate(case["values"]):
            for b, beta in enumerate(p["betas"]):
                words = f"n = {p['n']}, d = {p['d']}, {NAMES[name]}, s = {value:g}, β = {beta:g}"
                key = f"{name}_{value:g}_beta{beta:g}"
                for which, number in shares(overlap[:, i, b], words).items():
                    yield f"{key}_{which}", number
                first, other = wins(overlap[:, i, b, :2]).T  # (starts,)
                about = f"{words}: runs that x_1 wins and another token in its place does not"
                yield f"{key}_alone", share_of(int((first & ~other).sum()), len(first), about)


def weak_verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """For every ingredient two, by criteria that were written before the runs:

    1. x_1 wins at every beta, at every strength up to UP_TO, as in the item's runs: a win is the item's, the
       interval of the share of starts above one half and above those of the nulls.  Not observed if at one
       point the interval is below one half or below that of a null; else undecided.
    2. at the strength after it x_1 does not win any more, at any beta, that is, it is no more than half of
       the starts in which x_1 alone wins: observed if the upper end of the share of these starts is below
       one half at every beta; not observed if x_1 wins at one of them; else undecided."""
    return tuple(one for name in p["cases"] for one in (_up_to(numbers, p, name), _beyond(numbers, p, name)))


def _where(p: Parameters) -> str:
    return f"n = {p['n']}, d = {p['d']}, {p['starts']} starts"


def _up_to(numbers: Numbers, p: Parameters, name: str) -> Verdict:
    values, rows = p["cases"][name]["values"], points_of(numbers, p, name)
    parts: list[Part] = []
    for value, row in zip(values, rows, strict=True):
        if value <= UP_TO[name]:
            parts += [part for found in row for part in wins_at(found)]
    return Verdict(
        f"with {NAMES[name]} x_1 wins up to s = {UP_TO[name]:g} at every β, {_where(p)}",
        word_of(parts),
        _told(numbers, p, name, [value for value in values if value <= UP_TO[name]]),
    )


def _beyond(numbers: Numbers, p: Parameters, name: str) -> Verdict:
    values, rows = p["cases"][name]["values"], points_of(numbers, p, name)
    next_one = min(value for value in values if value > UP_TO[name])
    parts: list[Part] = []
    for beta, found in zip(p["betas"], rows[values.index(next_one)], strict=True):
        won = all(part is True for part in wins_at(found))
        alone = numbers[f"{name}_{next_one:g}_beta{beta:g}_alone"]
        parts.append(False if won else True if below(alone, HALF) else None)
    return Verdict(
        f"with {NAMES[name]} x_1 does not win any more at s = {next_one:g}, at any β, {_where(p)}",
        word_of(parts),
        _told(numbers, p, name, [next_one]),
    )


def _told(numbers: Mapping[str, Number], p: Parameters, name: str, values: list[float]) -> str:
    """How many starts x_1 wins, and another token, for all beta."""
    lines = []
    for value in values:
        keys = [f"{name}_{value:g}_beta{beta:g}" for beta in p["betas"]]
        counts = {
            which: [(numbers[f"{key}_{which}"].count or (0, 0))[0] for key in keys]
            for which in ("first", "other", "alone")
        }
        won = sum(
            above(numbers[f"{key}_first"], HALF) is True
            and above(numbers[f"{key}_first"], numbers[f"{key}_other"]) is True
            for key in keys
        )
        some = {which: ", ".join(map(str, one)) for which, one in counts.items()}
        lines.append(
            f"s = {value:g}: of {p['starts']} starts x_1 wins {some['first']}, another token in its place"
            f" {some['other']}, x_1 alone {some['alone']}, for β = {', '.join(f'{b:g}' for b in p['betas'])};"
            f" x_1 wins at {won} of {len(keys)} β"
        )
    return "; ".join(lines)
