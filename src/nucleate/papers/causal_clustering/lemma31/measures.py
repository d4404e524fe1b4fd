"""Rates and powers of t with which a token comes near L' and L, and how fast it rotates."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.lemma31.data import (
    EXACT_TIMES,
    POWER_LAW_TIMES,
    SIMULATED_TIMES,
    Dominant,
)

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["RATE_ERROR", "distance_from_span", "powers", "rates", "rotation"]

RATE_ERROR = 0.02  # of the gap: what powers of t, up to t^2, still add at the times that are fitted


def distance_from_span(x: Array, many: int) -> Array:
    """The distance of unit vectors x (..., d) from the span of the first `many` unit vectors, (...)."""
    outside = x[..., many:]
    size = np.abs(outside).max(-1, keepdims=True)  # squares of numbers below 1e-154 are nothing
    return np.asarray(size[..., 0] * np.linalg.norm(outside / size, axis=-1))


def rates(kind: Dominant, found: "Dataset", simulated: bool = False) -> Array:
    """The rate with which the token comes near L', as a share of the gap, (runs,): by the exact flow over
    long times, or simulated."""
    times, x = (SIMULATED_TIMES, found["x"].values) if simulated else (EXACT_TIMES, found["long"].values)
    return np.array(
        [-np.polyfit(times, np.log(one), 1)[0] for one in distance_from_span(x, kind.generalised_dimension)]
    )


def powers(kind: Dominant, found: "Dataset") -> Array:
    """The power of t with which the token comes near L, (runs,)."""
    return np.array(
        [
            np.polyfit(np.log(POWER_LAW_TIMES), one, 1)[0]
            for one in np.log(distance_from_span(found["late"].values, kind.dimension))
        ]
    )


def rotation(found: "Dataset") -> Array:
    """The speed with which the token's first two coordinates rotate, as a share of the imaginary part,
    (runs,)."""
    x, gap, speed = found["x"].values, found["gap"].values, found["speed"].values
    phase = np.unwrap(np.arctan2(x[..., 1], x[..., 0]), axis=1)  # (runs, times)
    return np.array(
        [np.polyfit(SIMULATED_TIMES / gap[i], phase[i], 1)[0] / speed[i] for i in range(len(gap))]
    )
