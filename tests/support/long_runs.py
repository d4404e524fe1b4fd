"""A run that takes hours, to be ended before."""

from typing import Any

import nucleate as nc
from nucleate.checks import Array

__all__ = ["ENDLESS", "endless_start"]

# stability keeps steps near 3: hours
ENDLESS: dict[str, Any] = {
    "t": 1e9,
    "max_steps": 10**12,
    "save": 1000,
    "rtol": 1e-6,
    "atol": 1e-8,
    "method": "explicit",
}


def endless_start(d: int = 3) -> Array:
    """Where it begins."""
    return nc.uniform(24, d, seed=0)
