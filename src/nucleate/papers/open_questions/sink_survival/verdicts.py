"""What the numbers say, by the criteria of the item."""

import numpy as np

from nucleate.papers.core.criteria import Part, above, at_least, below, value_at_most, word_of
from nucleate.papers.core.item import Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number
from nucleate.papers.open_questions.sink_survival.measures import MIN_THRESHOLDS, MOST, RADIUS, phase
from nucleate.papers.open_questions.sink_survival.numbers import NAMES

__all__ = ["MIN_RIGHT", "points_of", "verdicts", "wins_at"]

MIN_RIGHT = 0.8  # of held-out runs
FALLING = ("mlp", "heads", "layers", "noise")  # exponentially with beta, as we expected
TOGETHER = ("mlp", "heads")  # all end together at every strength, as was known before the last runs


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    found = [_everywhere(numbers, p)]
    found += [_exponential(numbers, p, one) for one in FALLING if one in p["cases"]]
    if "alibi" in p["cases"]:
        found += [_falling(numbers, p), _linear(numbers, p)]
    if set(TOGETHER) <= set(p["cases"]):
        found.append(_together(numbers, p))
    if {"none", "sqrt", "ngpt", "pre", "peri"} <= set(p["cases"]):
        found.append(_depths(numbers, p))
    return tuple(found)


def points_of(numbers: Numbers, p: Parameters, ingredient: str) -> list[list[dict[str, Number]]]:
    """The shares of runs won by x_1 and by its nulls, at every value (rows) and beta."""
    return [
        [
            {
                name: numbers[key]
                for name in ("first", "other", "full")
                if (key := f"{ingredient}_{value:g}_beta{beta:g}_{name}") in numbers
            }
            for beta in p["betas"]
        ]
        for value in p["cases"][ingredient]["values"]
    ]


def _cells(numbers: Numbers, p: Parameters, ingredient: str) -> list[list[str]]:
    """The phase at every value (rows) and beta."""
    return [[phase(found) for found in row] for row in points_of(numbers, p, ingredient)]


def wins_at(found: dict[str, Number]) -> list[Part]:
    """Whether x_1 wins at a point: its share is above one half, and above those of the nulls."""
    first = found["first"]
    return [above(first, 0.5), *(above(first, one) for name, one in found.items() if name != "first")]


def _tenths(share: float) -> str:
    return {0.8: "eight", 0.9: "nine"}[share]


def _everywhere(numbers: Numbers, p: Parameters) -> Verdict:
    """RoPE at every base; nothing else, sqrt and nGPT at the largest depth."""
    some = [one for one in ("none", "sqrt", "ngpt", "rope") if one in p["cases"]]
    told, parts = [], []
    for one in some:
        points = points_of(numbers, p, one)
        flat = [found for row in (points if one == "rope" else points[-1:]) for found in row]
        parts += [part for found in flat for part in wins_at(found)]
        told.append(f"{NAMES[one]} {[phase(found) for found in flat].count('x_1')} of {len(flat)}")
    return Verdict(
        f"with V = I, no MLP and no noise the sink stays, {_tenths(MOST)} tenths of the tokens within"
        f" {RADIUS:g}° of x_1(0): with RoPE at every base, and by the largest depth under the norms sqrt and"
        " nGPT as without, at every β tried",
        word_of(parts),
        f"points at which x_1 wins: {', '.join(told)}",
    )


def _falls(numbers: Numbers, p: Parameters, ingredient: str) -> list[Part]:
    """Whether x_1 wins at the weakest strength and its threshold falls with beta, held-out runs as well."""
    points = points_of(numbers, p, ingredient)
    weakest = [part for found in points[0] for part in wins_at(found)]
    slope, held, null, drop = (
        numbers.get(f"{ingredient}_{name}") for name in ("slope", "held", "held_null", "held_falls")
    )
    if slope is None or held is None or null is None or drop is None:
        # it fails if x_1's share is above one half at the largest strength too, at so many beta that the
        # others are too few for a line
        never = sum(above(found["first"], 0.5) is True for found in points[-1])
        return [*weakest, False if len(p["betas"]) - never < MIN_THRESHOLDS else None]
    return [
        *weakest,
        below(slope, 0.0),
        at_least(held, MIN_RIGHT),
        above(held, null.value),
        above(drop, 0.0),
    ]


def _straight(numbers: Numbers, ingredient: str) -> Part:
    """Whether the thresholds may lie along a line: the interval of the coefficient of β² holds 0."""
    bend = numbers.get(f"{ingredient}_bend")
    return None if bend is None else bend.ends[0] <= 0.0 <= bend.ends[1]


def _told(numbers: Numbers, p: Parameters, ingredient: str) -> Part:
    """Whether a bend that is as strong as the slope would have been seen: neither end of its interval makes a
    parabola that is level at the first or the last beta.  If not, nothing is decided by that."""
    slope, bend = numbers.get(f"{ingredient}_slope"), numbers.get(f"{ingredient}_bend")
    if slope is None or bend is None:
        return None
    width = p["betas"][-1] - p["betas"][0]
    return True if max(abs(end) for end in bend.ends) * width < abs(slope.value) else None


def _shape(numbers: Numbers, ingredient: str) -> str:
    bend = numbers.get(f"{ingredient}_bend")
    if bend is None:
        return "no line"
    faster = "faster than a line" if (bend.high or 0.0) < 0.0 else "more slowly than a line"
    known = (bend.low or 0.0) <= 0.0 <= (bend.high or 0.0)
    return f"coefficient of β² {_pair(bend)}" + ("" if known else f": it falls {faster}")


def _pair(number: Number) -> str:
    """With its interval, in two decimals."""
    return f"{number.value:.2f} [{number.low:.2f}, {number.high:.2f}]"


def _why(numbers: Numbers, p: Parameters, ingredient: str) -> str:
    """Thresholds, their line, and what held-out runs say of it."""
    label = p["cases"][ingredient]["label"]
    at = "; ".join(
        f"{_with_interval(numbers[f'{ingredient}_threshold_beta{beta:g}'], ingredient)} at β = {beta:g}"
        for beta in p["betas"]
    )
    slope, held = numbers.get(f"{ingredient}_slope"), numbers.get(f"{ingredient}_held")
    null, drop = numbers.get(f"{ingredient}_held_null"), numbers.get(f"{ingredient}_held_falls")
    law = "no line" if slope is None else f"slope against β {_pair(slope)}"
    test = "none held out"
    if held is not None and null is not None and drop is not None:
        test = (
            f"{held.value:.0%} [{held.low:.0%}, {held.high:.0%}] of held-out runs as predicted,"
            f" {null.value:.0%} by the commoner outcome; on held-out starts the threshold falls by"
            f" {_pair(drop)} from β = {p['held_betas'][0]:g} to {p['held_betas'][-1]:g}"
        )
    alone = [int(numbers[f"{ingredient}_{name}"].value) for name in ("first_alone", "other_alone")]
    weakest = _cells(numbers, p, ingredient)[0]
    return (
        f"half the starts change at {label} = {at}; {law}; {test}; x_1 alone wins {alone[0]} runs, the other"
        f" alone {alone[1]}; at the weakest strength x_1 wins at {weakest.count('x_1')} of {len(weakest)} β"
    )


def _exponential(numbers: Numbers, p: Parameters, ingredient: str) -> Verdict:
    label = p["cases"][ingredient]["label"]
    shape = "" if f"{ingredient}_bend" not in numbers else f"; {_shape(numbers, ingredient)}"
    return Verdict(
        f"with {NAMES[ingredient]} x_1 wins below a strength only, and this {label} falls exponentially with"
        " β",
        word_of([*_falls(numbers, p, ingredient), _straight(numbers, ingredient)]),
        _why(numbers, p, ingredient) + shape,
    )


def _falling(numbers: Numbers, p: Parameters) -> Verdict:
    return Verdict(
        "with ALiBi x_1 wins below a slope only, and this slope falls with β",
        word_of(_falls(numbers, p, "alibi")),
        _why(numbers, p, "alibi"),
    )


def _linear(numbers: Numbers, p: Parameters) -> Verdict:
    parts = [*_falls(numbers, p, "alibi"), _straight(numbers, "alibi"), _told(numbers, p, "alibi")]
    return Verdict(
        "ALiBi's slope up to which x_1 wins falls linearly with β",
        word_of(parts),
        _shape(numbers, "alibi"),
    )


def _with_interval(number: Number, ingredient: str) -> str:
    low, high = -np.inf if number.low is None else number.low, np.inf if number.high is None else number.high
    value = _strength(number.value, ingredient)
    if not np.isfinite(low) and not np.isfinite(high):
        return value
    ends = (_strength(low, ingredient, "−∞"), _strength(high, ingredient, "∞"))
    return f"{value} [{ends[0]}, {ends[1]}]"


def _strength(value: float, ingredient: str, beyond: str = "") -> str:
    if not np.isfinite(value):
        return beyond or ("above all tried" if value > 0 else "below all tried")
    return f"{value:.2f}" if ingredient == "alibi" else f"{np.exp(value):.2g}"


def _won_up_to(numbers: Numbers, p: Parameters, ingredient: str) -> list[str]:
    """For every beta the strength up to which x_1 wins at all strengths tried."""
    values, found = p["cases"][ingredient]["values"], []
    for column in zip(*_cells(numbers, p, ingredient), strict=True):
        count = next((i for i, cell in enumerate(column) if cell != "x_1"), len(column))
        found.append(f"{values[count - 1]:g}" if count else "none")
    return found


def _together(numbers: Numbers, p: Parameters) -> Verdict:
    """x_1 wins at the weakest strength; it has most runs at every strength, and another token in its place
    has them at the largest."""
    parts: list[Part] = []
    told = []
    for one in TOGETHER:
        points = points_of(numbers, p, one)
        parts += [part for found in points[0] for part in wins_at(found)]
        parts += [above(found["other"], 0.5) for found in points[-1]]
        parts += [above(found["first"], 0.5) for row in points for found in row]
        other = ", ".join(str(found["other"]) for found in points[-1])
        at = ", ".join(_with_interval(numbers[f"{one}_alone_beta{beta:g}"], one) for beta in p["betas"])
        up_to = ", ".join(_won_up_to(numbers, p, one))
        told.append(
            f"{NAMES[one]}: x_1 wins up to s = {up_to}, x_1 and not the other in half the starts up to {at};"
            f" of the runs at the largest strength another wins {other}"
        )
    return Verdict(
        "with an MLP, and with four heads, x_1 wins at the weakest strength, and at the largest, where all"
        " end together too, another token in its place wins most runs as well",
        word_of(parts),
        f"for β = {', '.join(f'{beta:g}' for beta in p['betas'])}: {'; '.join(told)}",
    )


def _depths(numbers: Numbers, p: Parameters) -> Verdict:
    """Pre- and Peri-LN have not decided at the largest beta; nGPT decides no later than without."""
    last = {one: points_of(numbers, p, one)[-1] for one in ("none", "pre", "peri")}
    at = {
        one: [numbers[f"{one}_threshold_beta{beta:g}"] for beta in p["betas"]]
        for one in ("none", "sqrt", "ngpt", "pre", "peri")
    }
    parts = [value_at_most(a, b) for a, b in zip(at["ngpt"], at["none"], strict=True)]
    parts += wins_at(last["none"][-1])
    for one in ("pre", "peri"):
        parts += [*wins_at(last[one][0]), below(last[one][-1]["first"], 0.5)]
    listed = "; ".join(
        f"{NAMES[one]} {', '.join(_with_interval(number, one) for number in found)}"
        for one, found in at.items()
    )
    return Verdict(
        "norms only change the depth at which x_1 has won: nGPT needs no more than none, Pre-LN and Peri-LN"
        " so much more that at the largest β it has not happened where it has without",
        word_of(parts),
        f"depth by which half the starts are won, for β = {', '.join(f'{beta:g}' for beta in p['betas'])}:"
        f" {listed}",
    )
