"""Straight lines through measured points with errors, and how far a number is from what it ought to be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nucleate.papers.core.numbers import Number

__all__ = [
    "CHANCE",
    "MAX_STANDARD_ERRORS",
    "STANDARD_ERRORS_95",
    "combined_error",
    "fit_line",
    "half_width",
    "most_standard_errors",
    "number_with_error",
    "plus_minus",
    "slope_of",
    "standard_errors_off",
]

STANDARD_ERRORS_95 = 1.959964  # on each side of a 95 % interval of a normal distribution
MAX_STANDARD_ERRORS = 3.3  # a true statement is farther off once in a thousand times
CHANCE = 1e-3  # the same of several numbers together


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x, fitted, with standard errors; where points scatter more than their errors say,
    these are widened by as much."""

    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    points: int


def fit_line(x: ArrayLike, y: ArrayLike, error: ArrayLike) -> Line:
    """The line of least squares through points (x, y) with standard errors of y."""
    x, y, error = (np.asarray(values, dtype=np.float64) for values in (x, y, error))
    w = 1.0 / error**2  # (points,)
    middle = (w @ x) / w.sum()
    width = w @ (x - middle) ** 2
    slope = (w @ ((x - middle) * y)) / width
    intercept = (w @ y) / w.sum() - slope * middle
    freedom = len(x) - 2
    scatter = w @ (y - intercept - slope * x) ** 2 / freedom if freedom else 1.0
    widened = float(np.sqrt(max(scatter, 1.0)))
    return Line(
        float(slope),
        widened / float(np.sqrt(width)),
        float(intercept),
        widened * float(np.sqrt(1.0 / w.sum() + middle**2 / width)),
        len(x),
    )


def slope_of(fit: Line, about: str, expected: float | None = None) -> Number:
    """The slope with its interval."""
    how = f"95 % interval of a line through {fit.points} points"
    return number_with_error(fit.slope, fit.slope_error, about, how, expected)


def number_with_error(
    value: float, error: float, about: str, how: str, expected: float | None = None
) -> Number:
    """A number with the interval that its standard error gives."""
    half = STANDARD_ERRORS_95 * error
    return Number(float(value), about, float(value) - half, float(value) + half, how, expected)


def combined_error(statistical: float, systematic: float) -> float:
    """One standard error from two independent ones."""
    return float(np.hypot(statistical, systematic))


def most_standard_errors(comparisons: int) -> float:
    """How many standard errors the farthest of several numbers may be off (Bonferroni): if all are as they
    ought to be, one is farther once in a thousand times, however many they are."""
    from scipy.stats import norm

    return float(norm.isf(CHANCE / (2 * comparisons)))


def half_width(number: Number) -> float:
    """Half of the interval of a number; 0 if it has none."""
    return 0.0 if number.low is None or number.high is None else (number.high - number.low) / 2.0


def plus_minus(number: Number, digits: int = 3) -> str:
    """value ± half of the interval, for a sentence; no minus before zero."""
    value = round(number.value, digits) + 0.0
    return f"{value:.{digits}f} ± {half_width(number):.{digits}f}".replace("-", "−")


def standard_errors_off(number: Number) -> float:
    """How many standard errors a number is from what is expected: 0 if both are the same, infinity if it has
    no error and is not."""
    assert number.expected is not None, number.about
    apart, half = abs(number.value - number.expected), half_width(number)
    return 0.0 if apart == 0.0 else STANDARD_ERRORS_95 * apart / half if half > 0.0 else np.inf
