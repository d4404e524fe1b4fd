"""Blocks as systems for the explicit solver: the one place that knows how their velocities are computed.

The state is coordinates: directions theta, of which the velocity is P A / s; or y = r theta where it is free
(norms "pre" and "peri"), of which it is A, or A / |A|.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nucleate.block import Block, block_output
from nucleate.checks import Array
from nucleate.integrate.explicit import integrate_runs_in_python
from nucleate.kernels.dispatch import drift_into
from nucleate.kernels.threads import Stop
from nucleate.norms import scale
from nucleate.sphere import tangent

__all__ = ["block_solver", "block_system", "output_into"]


def block_system(block: Block, n: int, d: int, run: int, norm: str, tolerance: float) -> Any:
    """One run of a block under a norm, its velocities good to `tolerance`."""
    return ReferenceSystem(block, n, d, run, norm)


def block_solver(system: Any, runs: int, threads: int) -> Callable[..., int]:
    """integrate_runs for this system, by a team of threads where that pays."""
    return partial(integrate_runs_in_python, system)


def output_into(system: Any, y: Array, velocity: Array, stop: Stop) -> None:
    """velocity = that of the state y, both flat and padded by 8."""
    drift_into(system, y, velocity, stop)


class ReferenceSystem:
    """The equation in NumPy, as a system."""

    def __init__(self, block: Block, n: int, d: int, run: int, norm: str) -> None:
        self.block, self.n, self.d, self.run, self.norm = block, n, d, run, norm
        self.x = np.zeros((n, d))

    def place(self, y: Array) -> None:
        """Take the directions of the state y, flat and padded by 8."""
        x = y[: self.n * self.d].reshape(self.n, self.d)  # (n, d)
        with np.errstate(all="ignore"):
            self.x = x / np.sqrt((x * x).sum(-1, keepdims=True))

    def sweep(self, velocity: Array, stop: Stop) -> None:
        """The velocity, flat and padded by 8."""
        shape = (self.block.runs or 1, self.n, self.d)
        with np.errstate(all="ignore"):
            x = np.ascontiguousarray(np.broadcast_to(self.x, shape))  # (b, n, d)
            A = block_output(self.block, x)[self.run if self.block.runs else 0]  # (n, d)
            s = scale(self.norm, A, np.ones((self.n, 1)), alpha=self.block.alpha)  # (n, 1) of r = 1
            step = np.divide(A, s, out=np.zeros_like(A), where=s > 0.0)  # (n, d)
            out = step if self.norm in ("pre", "peri") else tangent(self.x, step)
        velocity[: self.n * self.d] = out.reshape(-1)
