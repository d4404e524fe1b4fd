"""Blocks as systems for the explicit solver: the one place that knows how their velocities are computed.

The state is coordinates: directions theta, of which the velocity is P A / s, on the circle their angles; or
y = r theta where it is free (norms "pre" and "peri"), of which it is A, or A / |A|.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from nucleate.block import Block
from nucleate.checks import Array
from nucleate.integrate.explicit import integrate_runs, integrate_runs_in_python
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.compile import uncounted
from nucleate.kernels.dispatch import make_system, team_pays
from nucleate.kernels.systems import drift_into, with_system
from nucleate.kernels.team import Team
from nucleate.kernels.threads import Stop

__all__ = ["block_solver", "block_system", "block_velocity"]


def block_system(
    block: Block, n: int, d: int, run: int, norm: str, tolerance: float, angle: bool = False
) -> Any:
    """One run of a block under a norm, its velocities good to `tolerance`; with `angle` its state is
    angles on the circle, unless it is free."""
    return make_system(block_shape(block, n, d, run, norm), tolerance=tolerance, angle=angle)


def block_solver(system: Any, runs: int, threads: int) -> Callable[..., int]:
    """The explicit solver for this system: a function of (table, state, buffers, stop)."""
    if team_pays(system, runs, threads):
        return partial(integrate_runs_in_python, Team(system, threads))
    return partial(with_system, integrate_runs, system)


def block_velocity(system: Any, runs: int, threads: int) -> Callable[[Array, Array, Stop], None]:
    """A function of (y, velocity, stop) that fills in the velocity of the state y, flat and padded by 8."""
    if team_pays(system, runs, threads):
        return partial(drift_into, Team(system, threads))
    return partial(with_system, _velocity_into, system)


@uncounted
def _velocity_into(system: Any, y: Array, velocity: Array, stop: Stop) -> None:
    drift_into(system, y, velocity, stop)
