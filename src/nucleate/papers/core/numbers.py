"""Measured numbers, each with where the true value may lie and how that is known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Number", "compared", "exact", "from_plain", "mean_of", "share_of"]

CONFIDENCE = 0.95
ONE_VALUE = "one value"  # where an interval would take several


@dataclass(frozen=True)
class Number:
    """A measured value."""

    value: float
    about: str
    low: float | None = None  # the ends of the interval; none for a value that is exact or only describes
    high: float | None = None
    how: str = ""  # what kind of interval
    expected: float | None = None  # what it ought to be, where that is known
    count: tuple[int, int] | None = None  # of a share: how many of how many

    def plain(self) -> dict[str, Any]:
        """For JSON, which has no infinity."""
        keys = ("value", "low", "high", "expected")
        plain: dict[str, Any] = {
            key: _finite(getattr(self, key)) for key in keys if getattr(self, key) is not None
        }
        plain |= {"how": self.how} if self.how else {}
        plain |= {"count": list(self.count)} if self.count else {}
        return {"about": self.about, **plain}

    @property
    def ends(self) -> tuple[float, float]:
        """Where the true value may lie: in its interval, at the value itself where that is exact, and
        anywhere where one value stands for a mean."""
        if self.how == ONE_VALUE:
            return -math.inf, math.inf
        return (
            self.value if self.low is None else self.low,
            self.value if self.high is None else self.high,
        )

    @property
    def expected_text(self) -> str:
        """What it ought to be, in few digits."""
        return "" if self.expected is None else _short(self.expected)

    def __str__(self) -> str:
        value = _short(self.value)
        if self.count:
            value = f"{self.count[0]} of {self.count[1]} = {value}"
        if self.low is None or self.high is None:
            return value
        half = (self.high - self.low) / 2.0
        if abs(self.low + half - self.value) <= 1e-6 * half and math.isfinite(half):
            return _with_error(self.value, half)
        return f"{value} [{_short(self.low)}, {_short(self.high)}]"


def from_plain(plain: Mapping[str, Any]) -> Number:
    """The inverse of Number.plain."""
    numbers = {key: float(plain[key]) for key in ("value", "low", "high", "expected") if key in plain}
    count = tuple(plain["count"]) if "count" in plain else None
    return Number(about=plain["about"], how=plain.get("how", ""), count=count, **numbers)


def exact(value: float, about: str, how: str = "", expected: float | None = None) -> Number:
    """A value without sampling error: counted, or good to rounding."""
    return Number(float(value), about, how=how, expected=expected)


def compared(value: float, other: float, about: str, how: str, expected: float | None = None) -> Number:
    """A computed value whose error is judged by a second, more careful computation."""
    apart = abs(float(value) - float(other))
    return Number(float(value), about, float(value) - apart, float(value) + apart, how, expected)


def share_of(hits: int, runs: int, about: str, expected: float | None = None) -> Number:
    """A share of independent runs with the exact interval of Clopper and Pearson."""
    from scipy.stats import beta

    low = 0.0 if hits == 0 else float(beta.ppf((1 - CONFIDENCE) / 2, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(beta.ppf((1 + CONFIDENCE) / 2, hits + 1, runs - hits))
    return Number(
        hits / runs, about, low, high, "95 % interval, Clopper and Pearson", expected, (int(hits), int(runs))
    )


def mean_of(values: ArrayLike | Sequence[float], about: str, expected: float | None = None) -> Number:
    """A mean of independent values with Student's interval."""
    from scipy.stats import t as student

    v = np.asarray(values, dtype=np.float64).reshape(-1)
    mean = float(v.mean())
    if len(v) < 2:
        return Number(mean, about, how=ONE_VALUE, expected=expected)
    half = float(v.std(ddof=1) / np.sqrt(len(v)) * student.ppf((1 + CONFIDENCE) / 2, len(v) - 1))
    return Number(mean, about, mean - half, mean + half, f"95 % interval of the mean of {len(v)}", expected)


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _with_error(value: float, half: float) -> str:
    """value ± half, with no digits that the error has swallowed; at most ten."""
    if half == 0.0:
        return f"{value:.10g} ± 0".replace("-", "−")
    digits = int(1 - math.floor(math.log10(half)))  # behind the point: two digits of the error
    if abs(value) >= 1e5 or digits > 10:
        return f"{value:.10g} ± {half:.1e}".replace("-", "−")
    return f"{value:.{max(digits, 0)}f} ± {half:.{max(digits, 0)}f}".replace("-", "−")


def _short(value: float) -> str:
    """Few digits; whole numbers whole."""
    if not math.isfinite(value):
        return {"inf": "∞", "-inf": "−∞"}.get(str(value), "none")
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")
