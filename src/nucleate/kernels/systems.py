"""A system inside compiled code: its velocities, by the kernel that goes with its type.

A solver needs of a system its velocities, and to tell it which run travels in which lane.  If it knew the
system by its type, it would be compiled anew for every kernel, and that takes longer than a kernel does.  So
it knows three addresses, `SystemAt`: of the system's record in memory, and of the two functions compiled for
the type of the system.  A solver is compiled once, and so is each kernel.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import types
from numba.extending import overload

from nucleate.checks import Array
from nucleate.kernels.by_address import (
    MAX_RECORD_BYTES,
    call_drift,
    call_tell,
    drift_address,
    pack,
    place_of,
    tell_address,
    unpack,
)
from nucleate.kernels.circle import Circle, circle_sweep
from nucleate.kernels.circle_batch import (
    CircleBatch,
    circle_batch_drift,
    circle_batch_enter,
    circle_batch_leave,
)
from nucleate.kernels.circle_grid import CircleGrid, grid_sweep
from nucleate.kernels.circle_small import CircleSmall, circle_small_sweep
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.compile_beside import compiled_beside
from nucleate.kernels.head_tiles import HeadTiles, head_tiles_block, head_tiles_images, head_tiles_place
from nucleate.kernels.heads import Heads, heads_place, inlined_heads_sweep
from nucleate.kernels.inner_pipeline import LINKED
from nucleate.kernels.pairwise import Pairwise, pairwise_block, pairwise_place
from nucleate.kernels.pairwise_lanes import (
    PairwiseLanes,
    pairwise_lanes_drift,
    pairwise_lanes_enter,
    pairwise_lanes_leave,
)
from nucleate.kernels.sphere import Sphere, sphere_sweep
from nucleate.kernels.threads import Stop
from nucleate.kernels.tiles import Tiles, tiles_block, tiles_images, tiles_place

__all__ = ["NO_RUN", "SystemAt", "drift_into", "tell_lane", "with_system"]

T = TypeVar("T")

NO_RUN = -1  # in the place of a run's number: the lane is free


class SystemAt(NamedTuple):
    """Addresses of a system's record, of the function that computes its velocities, and of the one that is
    told which run a lane carries.  They hold as long as the system is there."""

    record: int
    drift: int
    tell: int


def with_system(work: Callable[..., T], system: object, *arguments: object) -> T:
    """work(system, *arguments) of a compiled function that knows systems by their addresses."""
    room = np.empty(MAX_RECORD_BYTES // 8)
    addresses = np.zeros(3, dtype=np.int64)
    with compiled_beside(work, (SystemAt(0, 0, 0), *arguments), _enter, (system, room, addresses)):
        _enter(system, room, addresses)
    return work(SystemAt(*addresses.tolist()), *arguments)


@uncounted
def _enter(system, room, addresses):
    """The record of a system into the room, and its three addresses."""
    record = pack(system, room)
    addresses[0] = place_of(record)
    addresses[1] = drift_address(_drift, record)
    addresses[2] = tell_address(_tell, record)


@inlined
def _drift(record, y, velocity, stop):
    drift_into(unpack(record), y, velocity, stop)


@inlined
def _tell(record, at, run):
    tell_lane(unpack(record), at, run)


def tell_lane(system: Any, at: int, run: int) -> None:
    """A batch holds tables per run and must learn which run a lane carries, or that it carries none; a system
    of one run has nothing to learn."""


@overload(tell_lane, jit_options=LINKED)
def _tell_lane_by_type(system, at, run):
    if not isinstance(system, types.BaseNamedTuple):
        return None
    if system.instance_class is SystemAt:
        return lambda system, at, run: call_tell(system.tell, system.record, at, run)
    if system.instance_class is CircleBatch:
        return lambda system, at, run: (
            circle_batch_leave(system, at) if run == NO_RUN else circle_batch_enter(system, at, run)
        )
    if system.instance_class is PairwiseLanes:
        return lambda system, at, run: (
            pairwise_lanes_leave(system, at) if run == NO_RUN else pairwise_lanes_enter(system, at, run)
        )
    return lambda system, at, run: None


def drift_into(system: Any, y: Array, velocity: Array, stop: Stop) -> None:
    """velocity = drift(y), both flat and padded by 8; in Python of a team, in compiled code of any system."""
    if not stop[0]:
        system.place(y)
        system.sweep(velocity, stop)


@overload(drift_into, jit_options=LINKED)
def _drift_by_type(system, y, velocity, stop):
    if not isinstance(system, types.BaseNamedTuple):
        return None
    return {
        SystemAt: _drift_at,
        Pairwise: _pairwise_drift,
        Circle: _circle_drift,
        CircleGrid: _grid_drift,
        CircleSmall: _small_drift,
        Sphere: _sphere_drift,
        Tiles: _tiles_drift,
        Heads: _heads_drift,
        HeadTiles: _head_tiles_drift,
        CircleBatch: _batch_drift,
        PairwiseLanes: _pairwise_lanes_drift,
    }[system.instance_class]


def _drift_at(system, y, velocity, stop):
    call_drift(system.drift, system.record, y, velocity, stop)


def _pairwise_drift(system, y, velocity, stop):
    pairwise_place(system, y)
    pairwise_block(system, 0, system.n, velocity, stop)


def _circle_drift(system, y, velocity, stop):
    if stop[0]:
        return
    pairwise_place(system.pair, y)
    circle_sweep(system, velocity, stop)


def _grid_drift(system, y, velocity, stop):
    if stop[0]:
        return
    pairwise_place(system.pair, y)
    grid_sweep(system, velocity, stop)


def _small_drift(system, y, velocity, stop):
    if stop[0]:
        return
    pairwise_place(system.pair, y)
    circle_small_sweep(system, velocity, stop)


def _sphere_drift(system, y, velocity, stop):
    if stop[0]:
        return
    pairwise_place(system.pair, y)
    sphere_sweep(system, velocity, stop)


def _tiles_drift(system, y, velocity, stop):
    if stop[0]:
        return
    tiles_place(system, y)
    tiles_images(system)
    tiles_block(system, 0, system.n, velocity, stop)


def _heads_drift(system, y, velocity, stop):
    if stop[0]:
        return
    heads_place(system, y)
    inlined_heads_sweep(system, velocity, stop)


def _head_tiles_drift(system, y, velocity, stop):
    if stop[0]:
        return
    head_tiles_place(system, y)
    head_tiles_images(system)
    head_tiles_block(system, 0, system.n, velocity, stop)


def _batch_drift(system, y, velocity, stop):
    circle_batch_drift(system, y, velocity, stop)


def _pairwise_lanes_drift(system, y, velocity, stop):
    pairwise_lanes_drift(system, y, velocity, stop)
