"""Inequalities proved on whole intervals: arithmetic on pieces [low, high], every result rounded outwards.

Only sums, products and quotients of doubles are used, which IEEE arithmetic rounds to the nearest double; one
step of `nextafter` on each side therefore encloses the true value, and no sine of any library has to be
trusted.  A piece on which an expression is not yet seen to be positive is halved; what is left undecided
after MAX_HALVINGS halvings is counted, never passed over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np

from nucleate.checks import Array

__all__ = ["Interval", "Proof", "prove", "series_remainder"]

SERIES_TERMS = 24  # for y <= 40 what is left out is below 40^24 / 48! = 1e-23
MAX_HALVINGS = 30  # of a piece


@dataclass(frozen=True, eq=False)
class Interval:
    """Enclosures low <= value <= high, one per piece."""

    low: Array  # (pieces,)
    high: Array  # (pieces,)

    def __add__(self, other: "Interval | float") -> "Interval":
        other = interval(other)
        return _outwards(self.low + other.low, self.high + other.high)

    def __sub__(self, other: "Interval | float") -> "Interval":
        other = interval(other)
        return _outwards(self.low - other.high, self.high - other.low)

    def __mul__(self, other: "Interval | float") -> "Interval":
        other = interval(other)
        ends = [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high]
        return _outwards(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def over(self, whole: int) -> "Interval":
        """Divided by a positive whole number that a double holds exactly."""
        return _outwards(self.low / whole, self.high / whole)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> "Interval":
        return interval(other) - self


def interval(value: "Interval | float") -> Interval:
    """A number that a double holds exactly, as a Interval."""
    if isinstance(value, Interval):
        return value
    one = np.float64(value)
    return Interval(one, one)  # type: ignore[arg-type]  # a scalar spreads over all pieces


def _outwards(low: Array, high: Array) -> Interval:
    return Interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def series_remainder(y: Interval, first: int) -> Interval:
    """1/first! - y/(first+2)! + y^2/(first+4)! - ..., for 0 <= y <= 40: what is left of sine (first odd) and
    cosine (even) beyond their first terms.

    x - sin x = x^3 series_remainder(x^2, 3), and so on.  By Horner's rule; terms fall from the one left out
    on, so that the remainder is below it.
    """
    # what follows the last term, as a share of it: between none and all
    total = Interval(np.zeros_like(y.low), np.ones_like(y.high))
    for i in range(SERIES_TERMS, 0, -1):
        total = 1.0 - (y * total).over((first + 2 * i - 1) * (first + 2 * i))
    fraction = interval(1.0)
    for i in range(2, first + 1):
        fraction = fraction.over(i)
    assert factorial(first) < 2**53, "the whole numbers divided by must be exact"
    return fraction * total


@dataclass(frozen=True)
class Proof:
    """Whether an expression is positive on a whole interval."""

    holds: bool
    least: float  # no value lies below this; of the pieces that were decided
    pieces: int
    undecided: int


def prove(positive: Callable[[Interval], Interval], low: float, high: float, pieces: int = 64) -> Proof:
    """Show that `positive` is above 0 on [low, high], by halving pieces until each is seen to be so; a piece
    seen to be at most 0 refutes it."""
    edges = np.linspace(low, high, pieces + 1)  # (pieces + 1,)
    begin, end, done, least = edges[:-1], edges[1:], 0, np.inf
    for _ in range(MAX_HALVINGS):
        found = positive(Interval(begin, end))
        sure = found.low > 0.0  # (pieces,)
        done += int(sure.sum())
        least = min(least, float(found.low[sure].min(initial=np.inf)))
        if (found.high <= 0.0).any() or sure.all():
            return Proof(bool(sure.all()), least, done, int((~sure).sum()))
        begin, end = begin[~sure], end[~sure]
        middle = 0.5 * (begin + end)
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
    return Proof(False, least, done, len(begin))
