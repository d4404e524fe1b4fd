"""The number of Rényi centers after infinitely many tokens, extrapolated."""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

__all__ = ["LINE", "PARABOLA", "jammed"]

# how infinitely many tokens are reached: numbers of tokens used, and degree; the line tells the error
PARABOLA, LINE = (6, 2), (4, 1)


def jammed(count: Array, tokens: NDArray[np.int64], d: int, last: int, degree: int) -> Array:
    """The number of Rényi centers after infinitely many tokens, start by start: (runs, tokens) -> (runs,).

    The last places to be taken are small and fill at a rate that goes with their volume, so that what is
    missing falls like x = tokens^(-1/(d-1)) (Feder's law; Pomeau and Swendsen gave the argument).  A
    polynomial in x through the `last` numbers of tokens, at x = 0.
    """
    x = tokens[-last:].astype(np.float64) ** (-1.0 / (d - 1))  # (last,)
    share = np.linalg.pinv(np.vander(x / x[0], degree + 1))[-1]  # (last,) of each number in the value at 0
    return np.asarray(count[:, -last:] @ share)
