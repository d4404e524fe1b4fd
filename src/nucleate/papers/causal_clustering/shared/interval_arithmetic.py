"""Interval arithmetic: numbers known to lie in [low, high], every result rounded outwards; and inequalities
proved with it on whole intervals.

Only sums, products and quotients of doubles are used, which IEEE arithmetic rounds to the nearest double; one
step of `nextafter` on each side therefore encloses the true value, and no sine or exponential of any library
has to be trusted.  In `prove` a piece on which an expression is not yet seen to be positive is halved; what
is left undecided after MAX_HALVINGS halvings is counted, never passed over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array

__all__ = [
    "Interval",
    "Proof",
    "dot",
    "exponential",
    "interval",
    "interval_array",
    "product",
    "prove",
    "series_remainder",
]

SERIES_TERMS = 24  # for y <= 40 what is left out is below 40^24 / 48! = 1e-23
MAX_HALVINGS = 30  # of a piece
EXPONENTIAL_TERMS = 20  # for |z| <= 1: what follows is below 3/20! = 1.2e-18


@dataclass(frozen=True, eq=False)
class Interval:
    """Enclosures low <= value <= high: one per piece, or one per entry of a vector or matrix."""

    low: Array  # (...)
    high: Array  # (...)

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

    def __truediv__(self, other: "Interval | float") -> "Interval":
        """By what is surely positive."""
        other = interval(other)
        assert (np.asarray(other.low) > 0.0).all(), f"divided by what may be {np.min(other.low)}"
        ends = [self.low / other.low, self.low / other.high, self.high / other.low, self.high / other.high]
        return _outwards(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __getitem__(self, index: Any) -> "Interval":
        return Interval(self.low[index], self.high[index])

    @property
    def mT(self) -> "Interval":
        """The transposed matrix."""
        return Interval(self.low.mT, self.high.mT)

    @property
    def magnitude(self) -> Array:
        """No absolute value is above this."""
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))

    @property
    def mignitude(self) -> Array:
        """No absolute value is below this."""
        return np.asarray(np.maximum(np.maximum(self.low, -self.high), 0.0))

    def over(self, whole: int) -> "Interval":
        """Divided by a positive whole number that a double holds exactly."""
        return _outwards(self.low / whole, self.high / whole)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> "Interval":
        return interval(other) - self


def interval(value: "Interval | float") -> Interval:
    """A number that a double holds exactly, as an Interval."""
    if isinstance(value, Interval):
        return value
    one = np.float64(value)
    return Interval(one, one)  # type: ignore[arg-type]  # a scalar spreads over all pieces


def _outwards(low: Array, high: Array) -> Interval:
    return Interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def interval_array(value: ArrayLike) -> Interval:
    """Doubles, taken for exact, (...)."""
    exact = np.asarray(value, dtype=np.float64)
    return Interval(exact, exact)


def dot(a: Interval, b: Interval) -> Interval:
    """Vectors (d,), (d,) -> a number."""
    total = a[0] * b[0]
    for i in range(1, len(a.low)):
        total = total + a[i] * b[i]
    return total


def product(a: Interval, b: Interval) -> Interval:
    """Matrices (i, j) and (j, k), or a matrix and a vector (j,)."""
    columns = b if b.low.ndim == 2 else b[:, None]
    total = a[:, :1] * columns[:1]
    for j in range(1, a.low.shape[1]):
        total = total + a[:, j : j + 1] * columns[j : j + 1]
    return total if b.low.ndim == 2 else total[:, 0]


def exponential(x: Interval) -> Interval:
    """e^x for any x: its series at x / 2^k, squared k times."""
    low, high = (_exponential_at(np.asarray(end)) for end in (x.low, x.high))
    return Interval(low.low, high.high)


def _exponential_at(x: Array) -> Interval:
    halvings = int(np.ceil(np.log2(max(float(np.abs(x).max(initial=0.0)), 1.0))))
    z = Interval(x, x).over(2**halvings)
    # what follows the last term, as a share of it: 1 + z/21 + ... with |z| <= 1
    total = Interval(np.zeros_like(x), np.full_like(x, 3.0))
    for i in range(EXPONENTIAL_TERMS, 0, -1):
        total = 1.0 + (z * total).over(i)
    for _ in range(halvings):
        total = total * total
    return total


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
