"""One large system worked on by several threads, each on its own tokens; the bits are those of one thread."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.circle import Circle, circle_base, circle_block, circle_sweep, circle_totals
from nucleate.kernels.circle_grid import CircleGrid, grid_base, grid_block, grid_sweep, grid_totals
from nucleate.kernels.circle_heads import modes_base, modes_block, modes_deal, modes_totals
from nucleate.kernels.circle_small import CircleSmall, circle_small_sweep
from nucleate.kernels.head_tiles import (
    HEAD_ROWS,
    HeadTiles,
    head_tiles_block,
    head_tiles_images,
    head_tiles_place,
)
from nucleate.kernels.heads import Heads, heads_block, heads_images, heads_place, heads_sweep
from nucleate.kernels.model_shape import CAUSAL
from nucleate.kernels.pairwise import Pairwise, pairwise_block, pairwise_place
from nucleate.kernels.simd import LANES, aligned_zeros
from nucleate.kernels.sphere import Sphere, sphere_base, sphere_block, sphere_sweep, sphere_totals
from nucleate.kernels.threads import Stop, share
from nucleate.kernels.tiles import ROWS, Tiles, tiles_block, tiles_images, tiles_place

__all__ = ["System", "Team"]

System = Pairwise | Circle | CircleGrid | CircleSmall | Sphere | Tiles | Heads | HeadTiles

PLACE: dict[type, Any] = {
    Pairwise: pairwise_place,
    Tiles: tiles_place,
    Heads: heads_place,
    HeadTiles: head_tiles_place,
}
IMAGES: dict[type, Any] = {Tiles: tiles_images, Heads: heads_images, HeadTiles: head_tiles_images}
BLOCK: dict[type, Any] = {
    Pairwise: pairwise_block,
    Tiles: tiles_block,
    Heads: heads_block,
    HeadTiles: head_tiles_block,
}
# on one thread, in one call
SWEEP: dict[type, Any] = {
    Circle: circle_sweep,
    CircleGrid: grid_sweep,
    CircleSmall: circle_small_sweep,
    Sphere: sphere_sweep,
    Heads: heads_sweep,
}
# running sums: the totals of every block or tile, what is before each, the velocities of its tokens
STEPS: dict[type, tuple[Any, Any, Any]] = {
    Circle: (circle_totals, circle_base, circle_block),
    CircleGrid: (grid_totals, grid_base, grid_block),
    Sphere: (sphere_totals, sphere_base, sphere_block),
}
BLOCKS_PER_THREAD = 16  # so that the threads end at about the same time
TILES_PER_THREAD = 4  # that are enough for it


class Team:
    """A system and the threads that work on it; one is enough."""

    def __init__(self, system: System, threads: int) -> None:
        self.system = system
        self._velocity = np.empty(0)
        self.members = [system, *(_with_own_scratch(system) for _ in range(threads - 1))]
        if not isinstance(system, Circle | CircleGrid | CircleSmall | Sphere):
            self.edges = _edges(system, threads)

    def velocity(self, size: int) -> Array:
        """Room for so many numbers, padded by 8, the same for every call."""
        if self._velocity.size != size + LANES:
            self._velocity = aligned_zeros(size + LANES)
        return self._velocity

    @property
    def nbytes(self) -> int:
        """What the arrays take, but for the scratch of further threads."""
        return _nbytes(self.system) + self._velocity.nbytes

    def place(self, y: Array) -> None:
        """Put the state y, flat and padded by 8, on the sphere."""
        system = (
            self.system.pair
            if isinstance(self.system, Circle | CircleGrid | CircleSmall | Sphere)
            else self.system
        )
        PLACE[type(system)](system, y)

    def sweep(self, velocity: Array, stop: Stop) -> None:
        """The velocities of tokens already placed, flat and padded by 8."""
        if len(self.members) == 1 and type(self.system) in SWEEP:
            SWEEP[type(self.system)](self.system, velocity, stop)
            return
        if isinstance(self.system, Circle | CircleGrid | Sphere):
            totals, base, velocities = STEPS[type(self.system)]
            blocks = range(self.system.blocks)
            self._share(lambda member, b: totals(member, b), blocks, stop)
            base(self.system, stop)
            self._share(lambda member, b: velocities(member, b, velocity, stop), blocks, stop)
            return
        block, edges = BLOCK[type(self.system)], self.edges
        if type(self.system) in IMAGES:
            IMAGES[type(self.system)](self.system)
        if isinstance(self.system, Heads) and self.system.modes.last >= 0:
            self._share(lambda member, b: modes_deal(member, b), range(len(self.system.modes.left)), stop)
            for h in np.flatnonzero(self.system.heads["orders"]).tolist():
                self._sum_over_modes(self.system, h, velocity, stop)
        self._share(
            lambda member, i: block(member, edges[i], edges[i + 1], velocity, stop),
            range(len(edges) - 1),
            stop,
        )

    def _sum_over_modes(self, system: Heads, h: int, velocity: Array, stop: Stop) -> None:
        """One head of a block on the circle."""
        blocks = range(len(system.modes.left))
        self._share(lambda member, b: modes_totals(member, h, b), blocks, stop)
        if not stop[0]:
            modes_base(system, h)
        self._share(lambda member, b: modes_block(member, h, b, velocity), blocks, stop)

    def _share(self, work: Callable[[System, int], object], items: range, stop: Stop) -> None:
        """Deal the items out among the members, those that take longest first, until stop[0] is set."""
        queue = iter(reversed(items))

        def take(member: System) -> None:
            for item in queue:  # a range iterator's next is atomic
                if stop[0]:
                    return
                work(member, item)

        share([partial(take, member) for member in self.members])


def _edges(system: Pairwise | Tiles | Heads | HeadTiles, threads: int) -> list[int]:
    """Where the token ranges begin that are dealt out, and n: tiles one by one, other ranges of about equal
    cost, for under the causal mask late tokens cost more."""
    if threads == 1:
        return [0, system.n]
    if isinstance(system, Tiles | HeadTiles):
        return [*range(0, system.n, _rows_of_tile(system, threads)), system.n]
    shares = np.linspace(0.0, 1.0, BLOCKS_PER_THREAD * threads + 1)
    if system.mask == CAUSAL:
        shares = np.sqrt(shares)
    return np.unique(np.rint(shares * system.n).astype(int)).tolist()


def _rows_of_tile(system: Tiles | HeadTiles, threads: int) -> int:
    """How many tokens stay together."""
    if isinstance(system, HeadTiles):
        return HEAD_ROWS  # a whole tile, as one thread would have it: BLAS rounds by shape
    # a whole tile, as what it meets is read anew for each; parts only where there are too few for the threads
    enough = TILES_PER_THREAD * threads
    return next((rows for rows in (ROWS, ROWS // 2) if system.n >= enough * rows), ROWS // 4)


def _nbytes(record: tuple[Any, ...]) -> int:
    """Of all arrays in a record and in the records inside it."""
    return sum(
        _nbytes(value) if isinstance(value, tuple) else value.nbytes if isinstance(value, np.ndarray) else 0
        for value in record
    )


def _with_own_scratch(system: System) -> System:
    """The same system with scratch of its own, for one more thread."""
    if isinstance(system, Circle):
        pair = system.pair._replace(work=_copy(system.pair.work))
        return system._replace(pair=pair, **_copies(system, "sums", "ratios"))
    if isinstance(system, CircleGrid):
        pair = system.pair._replace(work=_copy(system.pair.work))
        return system._replace(pair=pair, **_copies(system, "sums"))
    if isinstance(system, Sphere):
        pair = system.pair._replace(work=_copy(system.pair.work))
        return system._replace(pair=pair, **_copies(system, "field", "sums", "powers", "room", "few"))
    if isinstance(system, Tiles):
        return system._replace(**_copies(system, "u", "scores", "sums", "part", "Z", "own", "least"))
    if isinstance(system, HeadTiles):
        return system._replace(
            **_copies(
                system,
                "u",
                "scores",
                "sums",
                "part",
                "values",
                "out",
                "radial",
                "Z",
                "largest",
                "margin",
                "highest",
                "hidden",
            )
        )
    if isinstance(system, Heads):
        own_modes = system.modes._replace(sums=_copy(system.modes.sums), ratios=_copy(system.modes.ratios))
        return system._replace(modes=own_modes, **_copies(system, "work", "here", "out", "values", "hidden"))
    return system._replace(**_copies(system, "work"))


def _copies(system: System, *names: str) -> dict[str, Any]:
    return {name: _copy(getattr(system, name)) for name in names}


def _copy(array: Array) -> Array:
    """That begins with a line of the cache, as what is copied does."""
    copy: Array = aligned_zeros(*array.shape, dtype=array.dtype)
    copy[...] = array
    return copy
