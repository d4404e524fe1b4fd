"""Straight lines through measured points with errors, and how far a number is from what it ought to be."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nucleate.papers.core.numbers import Number

__all__ = [
    "CAUTION",
    "NORMAL",
    "Line",
    "both_errors",
    "half_of",
    "in_threads",
    "line",
    "sigmas",
    "slope_of",
    "told",
    "value_of",
]

NORMAL = 1.959964  # standard errors on each side of a 95 % interval
CAUTION = 3.3  # standard errors that a true statement exceeds once in a thousand times

One = TypeVar("One")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Line:
    """y = at0 + slope x, fitted, with standard errors; where points scatter more than their errors say, these
    are widened by as much."""

    slope: float
    slope_error: float
    at0: float
    at0_error: float
    points: int


def line(x: ArrayLike, y: ArrayLike, error: ArrayLike) -> Line:
    """The line of least squares through points (x, y) with standard errors of y."""
    x, y, error = (np.asarray(values, dtype=np.float64) for values in (x, y, error))
    w = 1.0 / error**2  # (points,)
    middle = (w @ x) / w.sum()
    width = w @ (x - middle) ** 2
    slope = (w @ ((x - middle) * y)) / width
    at0 = (w @ y) / w.sum() - slope * middle
    freedom = len(x) - 2
    scatter = w @ (y - at0 - slope * x) ** 2 / freedom if freedom else 1.0
    wide = float(np.sqrt(max(scatter, 1.0)))
    return Line(
        float(slope),
        wide / float(np.sqrt(width)),
        float(at0),
        wide * float(np.sqrt(1.0 / w.sum() + middle**2 / width)),
        len(x),
    )


def slope_of(fit: Line, about: str, expected: float | None = None) -> Number:
    """The slope with its interval."""
    return value_of(
        fit.slope, fit.slope_error, about, f"95 % interval of a line through {fit.points} points", expected
    )


def value_of(value: float, error: float, about: str, how: str, expected: float | None = None) -> Number:
    """A number with the interval that its standard error gives."""
    half = NORMAL * error
    return Number(float(value), about, float(value) - half, float(value) + half, how, expected)


def both_errors(statistical: float, systematic: float) -> float:
    """One standard error from two that have nothing to do with each other."""
    return float(np.hypot(statistical, systematic))


def half_of(number: Number) -> float:
    """Half of the interval of a number; 0 if it has none."""
    return 0.0 if number.low is None or number.high is None else (number.high - number.low) / 2.0


def told(number: Number, digits: int = 3) -> str:
    """value ± half of the interval, for a sentence; no minus before zero."""
    return f"{round(number.value, digits) + 0.0:.{digits}f} ± {half_of(number):.{digits}f}".replace("-", "−")


def sigmas(number: Number) -> float:
    """How many standard errors a number is from what is expected: 0 if both are the same, infinity if it has
    no error and is not."""
    assert number.expected is not None, number.about
    apart, half = abs(number.value - number.expected), half_of(number)
    return 0.0 if apart == 0.0 else NORMAL * apart / half if half > 0.0 else np.inf


def in_threads(
    work: Callable[[One], Result], items: Iterable[One], stop: list[bool] | None = None
) -> list[Result]:
    """`work` on every item, as many at once as there are cores; the results in the order of the items.

    stop   [False], and [True] from the moment the results are wanted no more, for work that takes long and
           looks
    """
    from nucleate.kernels.threads import pick_threads

    with ThreadPoolExecutor(pick_threads(None), thread_name_prefix="nucleate-paper") as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            if stop:
                stop[0] = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
