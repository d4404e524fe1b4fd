"""The buffers of the runs of one call: what is asked of the solvers, and what they hand back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, check_memory

__all__ = [
    "ENDED",
    "FULL_BUFFER",
    "HANDED_BACK",
    "Integers",
    "RunBuffers",
    "buffers_of",
    "new_run_buffers",
    "with_more_room",
]

Integers = NDArray[np.int64]

# What a solver returns: no run is left; frames need more room; the explicit solver should go on from here.
ENDED, FULL_BUFFER, HANDED_BACK = 0, -1, -2


class RunBuffers(NamedTuple):
    """What is asked and what is handed back, per run."""

    start: Array  # (b, n, d)
    times: Array  # (m,) asked for, or (room,) written when `every_step`; they count from 0
    frames: Array  # (b, m or room, n, d)
    saved: Integers  # (b,) frames written
    steps: Integers  # (b,) accepted
    rejected: Integers  # (b,) steps
    status: Integers  # (b,) numbers of STATUS
    order: Integers  # the runs to begin, in this order
    queue: Integers  # (1,) how many of them were begun, shared by all threads
    begin: (
        float  # the time of the start: the explicit solver counts from here, or steps were lost beside 1e16
    )
    final: float  # the last time; the explicit solver's from `begin`
    tolerance: float  # atol + rtol
    dt: float  # fixed step, or 0
    max_steps: int  # accepted and rejected
    every_step: bool  # keep every accepted step
    # where the length of a token counts; without any tokens elsewhere
    start_norms: Array  # (b, n) or (b, 0)
    norms: Array  # (b, m or room, n) or (b, m or room, 0)
    first_h: float  # the first step to try, or 0: the explicit solver's choice


def new_run_buffers(
    start: Array,
    times: Array,
    every_step: bool,
    final: float,
    tolerance: float,
    dt: float,
    max_steps: int,
    fill: bool = True,
    radius: Array | None = None,
) -> RunBuffers:
    """Empty buffers for the runs that begin at `start`, with tokens of lengths `radius` (n,) where lengths
    count; frames are NaN, or memory as it is found."""
    b, n, d = start.shape
    room = 8.0 * b * len(times) * n * d * (4 if every_step else 1) + 12 * 8.0 * n * d
    check_memory(room, f"keeping {len(times)} frames of {b} x {n} tokens in dimension {d}")
    frames = np.empty((b, len(times), n, d))
    if fill:
        frames.fill(np.nan)
    lengths = np.zeros(0) if radius is None else radius  # (n,) or (0,)
    start_norms = np.array(np.broadcast_to(lengths, (b, len(lengths))))
    norms = np.full((b, len(times), len(lengths)), np.nan)
    saved, steps, rejected, status = np.zeros((4, b), dtype=np.int64)
    runs = saved, steps, rejected, status, np.arange(b), np.zeros(1, dtype=np.int64)
    asked = final, tolerance, dt, max_steps, every_step
    return RunBuffers(start, times, frames, *runs, 0.0, *asked, start_norms, norms, 0.0)


def buffers_of(buffers: RunBuffers, run: int) -> RunBuffers:
    """The part of the buffers that belongs to one run."""
    per_run = ("start", "frames", "saved", "steps", "rejected", "status", "start_norms", "norms")
    own = {name: getattr(buffers, name)[run : run + 1] for name in per_run}
    return buffers._replace(**own, order=np.zeros(1, dtype=np.int64))


def with_more_room(buffers: RunBuffers) -> RunBuffers:
    """The buffers of one run whose steps are all kept, with twice the room for frames."""
    room = buffers.times.size
    check_memory(3.0 * buffers.frames.nbytes, f"keeping every step, {room} so far,")
    times, frames, norms = (
        np.zeros(2 * room),
        np.full((1, 2 * room, *buffers.frames.shape[2:]), np.nan),
        np.full((1, 2 * room, *buffers.norms.shape[2:]), np.nan),
    )
    times[:room], frames[:, :room], norms[:, :room] = buffers.times, buffers.frames, buffers.norms
    return buffers._replace(times=times, frames=frames, norms=norms)
