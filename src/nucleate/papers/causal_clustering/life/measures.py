"""How long the last two clusters of a life live, and the law that their lifetimes follow."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["fitted_slope", "last_lifetimes"]


def last_lifetimes(every: "list[Dataset]", betas: list[float]) -> tuple[Array, Array, Array]:
    """Of every life with two clusters at some time: beta (1 - cos angle), the logarithm of their lifetime,
    and what the two-token law gives."""
    rows = [
        (beta * 2.0 * np.sin(angle / 2.0) ** 2, np.log(time - since), expected)
        for beta, found in zip(betas, every, strict=True)
        for time, since, angle, expected in zip(
            *(found[name].values for name in ("last_time", "two_from", "angle", "log_expected")), strict=True
        )
        if np.isfinite(time) and time > since
    ]
    x, y, z = (np.array(column) for column in zip(*rows, strict=True))
    return x, y, z


def fitted_slope(x: Array, y: Array) -> tuple[float, float]:
    """The slope of a straight line through (x, y) and half of its 95 % interval."""
    from scipy.stats import linregress
    from scipy.stats import t as student

    line = linregress(x, y)
    return float(line.slope), float(line.stderr * student.ppf(0.975, max(len(x) - 2, 1)))
