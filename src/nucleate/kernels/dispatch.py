"""Which kernel, by size: the choice, and one name for all of them inside compiled code."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from nucleate.attention import Attention, Window
from nucleate.checks import Array, InputError
from nucleate.kernels.circle import (
    LARGEST_Z,
    TOLERANCE,
    Circle,
    circle_base,
    circle_block,
    circle_system,
    circle_totals,
    modes,
    roundoff,
    usual_ratio,
)
from nucleate.kernels.circle_batch import Lanes, lanes_drift
from nucleate.kernels.compile import compiled
from nucleate.kernels.pairwise import Pairwise, one_run, pairwise_block, pairwise_place, pairwise_system
from nucleate.kernels.threads import Stop, share
from nucleate.kernels.tiles import ROWS, Tiles, tiles_block, tiles_place, tiles_system

__all__ = [
    "Kernel",
    "System",
    "Team",
    "choose_kernel",
    "drift_into",
    "few_pairs",
    "make_system",
    "suits_lanes",
    "sweep",
    "work_of",
]

Kernel = Literal["auto", "reference", "pairwise", "circle"]
System = Pairwise | Circle | Tiles

TILES_FROM = 16  # dimension from which BLAS tiles beat sums in registers, measured
TEAM_FROM = 2.0e6  # pairs or token-modes from which threads over tokens pay, measured


def suits_lanes(model: Attention, d: int) -> NDArray[np.bool_]:
    """Which runs, (1 or b,), can share the lanes of a vector: the circle, Q = K = I, V = c I, causal."""
    if d != 2 or model.mask != "causal":
        return np.zeros(1, dtype=bool)
    _, Q, K, V = model.parameters(2)
    return np.atleast_1d(
        (K.mT @ Q == np.eye(2)).all((-1, -2)) & (V == V[..., :1, :1] * np.eye(2)).all((-1, -2))
    )


def choose_kernel(
    model: Attention, n: int, d: int, run: int, tolerance: float = TOLERANCE
) -> Literal["pairwise", "circle"]:
    """The faster of the two kernels that keep the velocities of a run to `tolerance` |V|, by costs measured
    in nanoseconds."""
    if d != 2:
        return "pairwise"
    beta, Q, K, V = one_run(model, d, run)
    z = beta * float(np.linalg.norm(K.T @ Q, 2))
    if roundoff(z) * usual_ratio(z) > tolerance:
        return "pairwise"
    plain = model.mask == "causal" and (K.T @ Q == np.eye(2)).all() and (V == V[0, 0] * np.eye(2)).all()
    seen = min(model.mask.w, n) if isinstance(model.mask, Window) else n if model.mask == "full" else n / 2
    return "circle" if seen * 1.0 > modes(z) * (1.0 if plain else 2.5) else "pairwise"


def few_pairs(model: Attention, n: int) -> bool:
    """Whether runs on the circle, K^T Q = I, are faster summed over pairs, eight at a time, than over modes.

    Where they break even was measured, for 64 runs, with one thread and with two.  It does not depend on the
    number of runs, so that their bits do not; hence the limit, up to which two runs in eight lanes lose
    little.
    """
    full, beta = model.mask == "full", float(model.beta)
    seen = n if full else n // 2
    if seen >= 300:
        return False
    return (
        seen < (150 if full else 110)
        or beta > LARGEST_Z
        or seen < (3.0 if full else 2.5) * modes(beta) - 60.0
    )


def make_system(
    model: Attention,
    n: int,
    d: int,
    run: int,
    kernel: Literal["pairwise", "circle"],
    tolerance: float = TOLERANCE,
    angle: bool = True,
) -> System:
    """One run as a system of the named kernel; its state is coordinates, or on the circle angles unless told
    otherwise."""
    if kernel == "circle":
        beta, Q, K, _ = one_run(model, d, run)
        if (z := beta * float(np.linalg.norm(K.T @ Q, 2))) > LARGEST_Z:
            raise InputError(
                f'kernel "circle" needs beta |K^T Q| up to {LARGEST_Z:g}, but it is {z:g}. Use "pairwise" or'
                ' "auto".'
            )
        return circle_system(model, n, run, tolerance)
    if d >= TILES_FROM and n >= 4 * TILES_FROM:
        return tiles_system(model, n, d, run)
    return pairwise_system(model, n, d, run, angle=angle and d == 2)


def drift_into(system: "System | Lanes | Team", y: Array, velocity: Array, stop: Stop) -> None:
    """velocity = drift(y), both flat and padded by 8; in compiled code the kernel is chosen by the type of
    `system`."""
    if stop[0]:
        return
    if isinstance(system, Team):
        (tiles_place if isinstance(system.system, Tiles) else pairwise_place)(
            system.system.pair if isinstance(system.system, Circle) else system.system, y
        )
        system.sweep(velocity, stop)
    else:
        _drift_into(system, y, velocity, stop)


@overload(drift_into)
def _drift_by_type(system, y, velocity, stop):
    if not isinstance(system, types.BaseNamedTuple):
        return None
    return {Pairwise: _pairwise_drift, Circle: _circle_drift, Tiles: _tiles_drift, Lanes: _lanes_drift}[
        system.instance_class
    ]


def _pairwise_drift(system, y, velocity, stop):
    pairwise_place(system, y)
    pairwise_block(system, 0, system.n, velocity, stop)


def _circle_drift(system, y, velocity, stop):
    if stop[0]:
        return
    pairwise_place(system.pair, y)
    for b in range(system.totals.shape[0]):
        circle_totals(system, b)
    circle_base(system)
    for b in range(system.totals.shape[0]):
        circle_block(system, b, velocity, stop)


def _tiles_drift(system, y, velocity, stop):
    tiles_place(system, y)
    tiles_block(system, 0, system.n, velocity, stop)


def _lanes_drift(system, y, velocity, stop):
    lanes_drift(system, y, velocity, stop)


@compiled
def _drift_into(system, y, velocity, stop):
    drift_into(system, y, velocity, stop)


def sweep(system: "System | Team", velocity: Array, stop: Stop) -> None:
    """The velocities of tokens that stand in the system's `x` already."""
    if isinstance(system, Team):
        system.sweep(velocity, stop)
    elif isinstance(system, Circle):
        blocks = range(system.totals.shape[0])
        for b in blocks:
            circle_totals(system, b)
        circle_base(system)
        for b in blocks:
            circle_block(system, b, velocity, stop)
    elif isinstance(system, Tiles):
        tiles_block(system, 0, system.n, velocity, stop)
    else:
        pairwise_block(system, 0, system.n, velocity, stop)


class Team:
    """One large system worked on by several threads, each on its own tokens; the bits are those of one
    thread."""

    def __init__(self, system: System, threads: int) -> None:
        self.system = system
        self.threads = threads
        self.members = [_with_own_scratch(system) for _ in range(threads)]

    def sweep(self, velocity: Array, stop: Stop) -> None:
        """The velocities of tokens already placed."""
        system = self.system
        if isinstance(system, Circle):
            blocks = range(system.totals.shape[0])
            self._share(lambda member, b: circle_totals(member, b), blocks)
            circle_base(system)
            self._share(lambda member, b: circle_block(member, b, velocity, stop), blocks)
            return
        block = tiles_block if isinstance(system, Tiles) else pairwise_block
        edges = self._edges()
        self._share(
            lambda member, i: block(member, edges[i], edges[i + 1], velocity, stop), range(len(edges) - 1)
        )

    def _edges(self) -> list[int]:
        """Token ranges of about equal cost, sixteen a thread: under the causal mask late tokens cost more."""
        system = self.system
        assert not isinstance(system, Circle)
        shares = np.linspace(0.0, 1.0, 16 * self.threads + 1)
        if system.mask == 0:
            shares = np.sqrt(shares)
        # whole tiles, as one thread would have them: BLAS rounds by shape
        step = ROWS if isinstance(system, Tiles) else 1
        return [
            min(int(edge) * step, system.n)
            for edge in np.unique(np.rint(shares * -(-system.n // step)).astype(int))
        ]

    def _share(self, work: Callable[[System, int], object], items: range) -> None:
        """Deal the items out among the members, dearest first."""
        queue = iter(reversed(items))

        def take(member: System) -> None:
            for item in queue:  # a range iterator's next is atomic
                work(member, item)

        share([partial(take, member) for member in self.members])


def _with_own_scratch(system: System) -> System:
    """The same system with scratch of its own, for one more thread."""
    if isinstance(system, Circle):
        return system._replace(
            work=system.work.copy(), pair=system.pair._replace(work=system.pair.work.copy())
        )
    if isinstance(system, Tiles):
        return system._replace(
            **{name: getattr(system, name).copy() for name in ("scores", "sums", "part", "Z", "top")}
        )
    return system._replace(work=system.work.copy())


def work_of(system: System) -> float:
    """Pairs, or token-modes, of one evaluation: what decides whether a team pays."""
    if isinstance(system, Circle):
        return float(system.pair.n) * system.totals.shape[1] * 2.0
    seen = system.w if system.mask == 2 else system.n / 2
    return (
        float(system.n)
        * (seen + system.m)
        * (1.0 if isinstance(system, Pairwise) else system.x.shape[1] / 8.0)
    )


def check_kernel(kernel: str, d: int) -> None:
    """Refuse unknown kernels, and the circle kernel off the circle."""
    if not isinstance(kernel, str) or kernel not in ("auto", "reference", "pairwise", "circle"):
        raise InputError(f'kernel must be "auto", "reference", "pairwise" or "circle", but is {kernel!r}.')
    if kernel == "circle" and d != 2:
        raise InputError(f'kernel "circle" needs d = 2, but x has d = {d}. Use "pairwise" or "auto".')
