"""Small helpers about points on the sphere."""

from typing import Any

import numpy as np

from nucleate.checks import Array

__all__ = ["apart", "on_circle"]


def on_circle(angles: Any) -> Array:
    """The points of the unit circle at the angles."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def apart(x: Array, y: Array) -> float:
    """The largest distance of a token of x from that of y."""
    return float(np.linalg.norm(x - y, axis=-1).max())
