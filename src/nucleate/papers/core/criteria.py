"""Numbers held against the bounds of a criterion, by their whole intervals.

Each part of a criterion holds (True), fails by the whole interval (False), or is undecided (None), with the
bound in the interval.  A bound is a value, or another number with its own interval.
"""

from collections.abc import Iterable

from nucleate.papers.core.item import Word
from nucleate.papers.core.numbers import Number

__all__ = [
    "ELSE",
    "Part",
    "above",
    "at_least",
    "at_most",
    "below",
    "value_at_most",
    "within",
    "word_of",
]

Part = bool | None  # of a criterion
Bound = float | Number
# how `word_of` judges, for the criteria of an item
ELSE = " Else not observed if a part fails by its whole interval, undecided if none does."


def above(one: Number, bound: Bound) -> Part:
    """Whether the whole interval is above the bound."""
    (low, high), (least, most) = one.ends, _ends(bound)
    return True if low > most else False if high <= least else None


def below(one: Number, bound: Bound) -> Part:
    """Whether the whole interval is below the bound."""
    (low, high), (least, most) = one.ends, _ends(bound)
    return True if high < least else False if low >= most else None


def at_least(one: Number, bound: Bound) -> Part:
    """Whether the whole interval is above the bound or touches it."""
    return _not(below(one, bound))


def at_most(one: Number, bound: Bound) -> Part:
    """Whether the whole interval is below the bound or touches it."""
    return _not(above(one, bound))


def within(one: Number, middle: float, off: float) -> Part:
    """Whether the whole interval is in middle ± off."""
    return _all([at_least(one, middle - off), at_most(one, middle + off)])


def value_at_most(one: Number, bound: Bound) -> Part:
    """Whether the value is; it fails if the whole interval is above the bound."""
    return True if one.value <= _value(bound) else False if above(one, bound) else None


def word_of(parts: Iterable[Part]) -> Word:
    """Observed if every part holds, not observed if one fails by its whole interval; undecided without any
    part."""
    every = list(parts)
    found = _all(every) if every else None
    return "undecided" if found is None else "observed" if found else "not observed"


def _all(parts: list[Part]) -> Part:
    return False if False in parts else None if None in parts else True


def _not(part: Part) -> Part:
    return None if part is None else not part


def _value(bound: Bound) -> float:
    return bound.value if isinstance(bound, Number) else bound


def _ends(bound: Bound) -> tuple[float, float]:
    return bound.ends if isinstance(bound, Number) else (bound, bound)
