"""Blocks as systems for the explicit solver: the one place that knows how their velocities are computed.

The state is coordinates: directions theta, of which the velocity is P A / s; or y = r theta where it is free
(norms "pre" and "peri"), of which it is A, or A / |A|.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from nucleate.block import Block, block_output
from nucleate.checks import Array
from nucleate.integrate.explicit import integrate_runs, integrate_runs_in_python
from nucleate.kernels.compile import uncounted
from nucleate.kernels.dispatch import drift_into, make_system, team_pays
from nucleate.kernels.team import Team
from nucleate.kernels.threads import Stop
from nucleate.norms import scale
from nucleate.sphere import tangent

try:  # MERGE: becomes an ordinary import of block_shape; the rest goes with ReferenceSystem
    block_shape = import_module("nucleate.kernels.block_shape").block_shape
except ModuleNotFoundError:
    block_shape = None

__all__ = ["block_solver", "block_system", "block_velocity"]


def block_system(block: Block, n: int, d: int, run: int, norm: str, tolerance: float) -> Any:
    """One run of a block under a norm, its velocities good to `tolerance`."""
    if block_shape is None:  # MERGE
        return ReferenceSystem(block, n, d, run, norm)
    return make_system(block_shape(block, n, d, run, norm), tolerance=tolerance)


def block_solver(system: Any, runs: int, threads: int) -> Callable[..., int]:
    """The explicit solver for this system: a function of (table, state, buffers, stop)."""
    if isinstance(system, ReferenceSystem):  # MERGE
        return partial(integrate_runs_in_python, system)
    if team_pays(system, runs, threads):
        return partial(integrate_runs_in_python, Team(system, threads))
    return partial(integrate_runs, system)


def block_velocity(system: Any, runs: int, threads: int) -> Callable[[Array, Array, Stop], None]:
    """A function of (y, velocity, stop) that fills in the velocity of the state y, flat and padded by 8."""
    if isinstance(system, ReferenceSystem):  # MERGE
        return partial(drift_into, system)
    if team_pays(system, runs, threads):
        return partial(drift_into, Team(system, threads))
    return partial(_velocity_into, system)


@uncounted
def _velocity_into(system: Any, y: Array, velocity: Array, stop: Stop) -> None:
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
