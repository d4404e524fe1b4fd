"""The record of a simulation: what was asked, what came out, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array

__all__ = ["Run"]


@dataclass(frozen=True, eq=False)
class Run:
    """Tokens over time.  One run: x (m, n, d).  b runs: x (b, m, n, d), one status and step count each."""

    model: Attention
    t: Array  # (m,) the saved times
    x: Array  # (m, n, d) or (b, m, n, d)
    status: str | tuple[str, ...]  # "done", or the reason it is not; frames never reached: cut off (one run) or NaN (b runs)
    steps: int | NDArray[np.int64]  # accepted steps
    settings: Mapping[str, Any]  # method, rtol, atol, dt, ...: what redoes the run
    notes: Mapping[str, Any] = field(default_factory=dict)  # where the start came from: seed and so on
