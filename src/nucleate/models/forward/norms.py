"""LayerNorm and RMSNorm."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Norm", "normalise"]

Floats = NDArray[np.floating[Any]]  # float32 or float64, as the run was asked for


@dataclass(frozen=True, eq=False)
class Norm:
    """A normalisation of the last axis."""

    gain: Floats  # (d,) the 1 of "1+w" added
    bias: Floats | None  # (d,)
    centred: bool  # LayerNorm takes the mean away, RMSNorm does not
    eps: float


def normalise(norm: Norm, x: Floats) -> Floats:
    """gain C x / sqrt(mean((C x)^2) + eps) + bias, C = I - 1 1^T / d for LayerNorm, C = I for RMSNorm."""
    x = x - x.mean(axis=-1, keepdims=True) if norm.centred else x  # (..., d)
    size = np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + x.dtype.type(norm.eps))  # (..., 1)
    if not np.isfinite(size).all():  # x / inf would be 0, and go unnoticed
        size = np.full_like(size, np.nan)
    y = x / size  # (..., d)
    y *= norm.gain
    if norm.bias is not None:
        y += norm.bias
    return y
