"""Runs of a study that stay on the card: integrated there, and measured where their frames lie.

What is measured is what observe/ says: the share of tokens near centers, the number of clusters, the largest
distance from the first token's start.  A block of threads looks at one frame.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64, int32
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.gpu.batch import POLL_SECONDS, SLOT_BYTES, Batch, Slot, check_room, run_bytes
from nucleate.gpu.device import SIMULATED, check_gpu, kernel, made_once
from nucleate.integrate.run_buffers import RunBuffers
from nucleate.integrate.tableau import MIN_TOLERANCE_OF_ORDER_5, Tableau, dormand_prince_5

__all__ = ["MAX_BLOCK_RUNS", "CardFrames", "frames_on_card", "runs_of_block"]

THREADS = 4 if SIMULATED else 128
MAX_TOKENS = 4096  # of a system whose clusters are counted: their labels lie in fast memory
MAX_BLOCK_RUNS = 512  # two such blocks fill the card


class Kernels(NamedTuple):
    """Compiled for one dimension."""

    mark_unreached: Any
    consumed: Any
    clusters: Any
    from_first: Any


@made_once
def kernels(d: int) -> Kernels:
    """The kernels for tokens in dimension d; a block of threads for each frame of each run."""
    D, LABELS = d, 64 if SIMULATED else MAX_TOKENS

    @kernel(d)
    def mark_unreached(frames, saved):
        """Frames that were not reached are NaN."""
        run, frame = cuda.blockIdx.x, cuda.blockIdx.y
        if frame >= saved[run]:
            for k in range(cuda.threadIdx.x, frames.shape[2], THREADS):
                for c in range(D):
                    frames[run, frame, k, c] = np.nan

    @kernel(d)
    def consumed(frames, first_frame, centers, limit, share):
        """The share of tokens whose squared chord to a center is at most `limit`."""
        count = cuda.shared.array(1, int32)
        run, frame, n = cuda.blockIdx.x, first_frame + cuda.blockIdx.y, frames.shape[2]
        if cuda.threadIdx.x == 0:
            count[0] = 0
        cuda.syncthreads()
        for k in range(cuda.threadIdx.x, n, THREADS):
            near = False
            for i in range(centers.shape[1]):
                center = centers[run, i]
                if center >= 0 and not near:
                    square = 0.0
                    for c in range(D):
                        square += (frames[run, frame, k, c] - frames[run, frame, center, c]) ** 2
                    near = square <= limit
            if near:
                cuda.atomic.add(count, 0, 1)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            reached = frames[run, frame, 0, 0] == frames[run, frame, 0, 0]
            share[run, cuda.blockIdx.y] = count[0] / n if reached else np.nan

    @kernel(d)
    def clusters(frames, first_frame, limit, number):
        """How many components the tokens have, if two are joined whose squared chord is at most `limit`:
        every token takes the least label among its neighbours until none changes."""
        label = cuda.shared.array(LABELS, int32)
        # a line of its own: the simulator tells shared arrays apart by their lines
        state = cuda.shared.array(2, int32)  # whether a label has changed; how many tokens kept their own
        run, frame, n = cuda.blockIdx.x, first_frame + cuda.blockIdx.y, frames.shape[2]
        t = cuda.threadIdx.x
        for k in range(t, n, THREADS):
            label[k] = k
        if t == 0:
            state[0], state[1] = 1, 0
        cuda.syncthreads()
        while state[0] == 1:
            cuda.syncthreads()
            if t == 0:
                state[0] = 0
            cuda.syncthreads()
            for k in range(t, n, THREADS):
                own = label[k]
                least = own
                for j in range(n):
                    if label[j] < least:
                        square = 0.0
                        for c in range(D):
                            square += (frames[run, frame, k, c] - frames[run, frame, j, c]) ** 2
                        if square <= limit:
                            least = label[j]
                if least < own:
                    cuda.atomic.min(label, own, least)
                    cuda.atomic.min(label, k, least)
                    state[0] = 1
            cuda.syncthreads()
            for k in range(t, n, THREADS):
                root = label[k]
                while label[root] != root:
                    root = label[root]
                label[k] = root
            cuda.syncthreads()
        for k in range(t, n, THREADS):
            if label[k] == k:
                cuda.atomic.add(state, 1, 1)
        cuda.syncthreads()
        if t == 0:
            reached = frames[run, frame, 0, 0] == frames[run, frame, 0, 0]
            number[run, cuda.blockIdx.y] = float64(state[1]) if reached else np.nan

    @kernel(d)
    def from_first(frames, first_frame, start, far):
        """The largest geodesic distance of a token from where the first one started."""
        scratch = cuda.shared.array(THREADS, float64)
        run, frame = cuda.blockIdx.x, first_frame + cuda.blockIdx.y
        t, largest = cuda.threadIdx.x, 0.0
        for k in range(t, frames.shape[2], THREADS):
            apart, together = 0.0, 0.0
            for c in range(D):
                apart += (frames[run, frame, k, c] - start[run, 0, c]) ** 2
                together += (frames[run, frame, k, c] + start[run, 0, c]) ** 2
            largest = max(largest, 2.0 * math.atan2(math.sqrt(apart), math.sqrt(together)))
        scratch[t] = largest
        cuda.syncthreads()
        reach = THREADS // 2
        while reach > 0:
            if t < reach:
                scratch[t] = max(scratch[t], scratch[t + reach])
            cuda.syncthreads()
            reach //= 2
        if t == 0:
            reached = frames[run, frame, 0, 0] == frames[run, frame, 0, 0]
            far[run, cuda.blockIdx.y] = scratch[0] if reached else np.nan

    return Kernels(mark_unreached, consumed, clusters, from_first)


class CardFrames:
    """The frames of runs that have ended, (b, m, n, d), on the card."""

    def __init__(self, slot: Slot) -> None:
        self.slot, self.frames, self.start, self.stream = slot, slot.frames, slot.start, slot.stream
        self.b, self.m, _, d = self.frames.shape
        self.kernels = kernels(d)
        saved = np.ascontiguousarray(slot.counts[0])
        if (saved < self.m).any():
            self._launch(
                self.kernels.mark_unreached, False, self.frames, cuda.to_device(saved, stream=self.stream)
            )

    def consumed(self, centers: NDArray[np.int64], radius: float, last: bool) -> Array:
        """As `observe.consumed`; centers (b, c) are filled up with -1."""
        table = cuda.to_device(np.ascontiguousarray(centers), stream=self.stream)
        return self._measure(self.kernels.consumed, last, table, _squared_chord(radius))

    def clusters(self, radius: float, last: bool) -> Array:
        """As `observe.count_clusters`."""
        return self._measure(self.kernels.clusters, last, _squared_chord(radius))

    def from_first(self, last: bool) -> Array:
        """The largest distance of a token from x_1(0)."""
        return self._measure(self.kernels.from_first, last, self.start)

    def points(self) -> Array:
        """The last frame, (b, n, d)."""
        return np.stack(
            [self.frames[run, self.m - 1].copy_to_host(stream=self.stream) for run in range(self.b)]
        )

    def to_host(self) -> Array:
        """All frames."""
        return self.frames.copy_to_host(stream=self.stream)

    def _measure(self, compiled: Any, last: bool, *arguments: Any) -> Array:
        """(b, m), or (b, 1) for the last frame alone."""
        found = cuda.device_array((self.b, 1 if last else self.m), stream=self.stream)
        self._launch(compiled, last, self.frames, self.m - 1 if last else 0, *arguments, found)
        values: Array = found.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return values

    def _launch(self, compiled: Any, last: bool, *arguments: Any) -> None:
        compiled[(self.b, 1 if last else self.m), THREADS, self.stream](*arguments)


def frames_on_card(
    model: Attention, table: Tableau, buffers: RunBuffers, mixed: bool, goes_on: Callable[[], bool]
) -> CardFrames | None:
    """Carry all runs to their end, and leave their frames on the card; statuses and steps are written into
    the buffers.  None if `goes_on` answers False meanwhile."""
    check_gpu()
    if buffers.tolerance > MIN_TOLERANCE_OF_ORDER_5 and buffers.dt == 0.0:
        table = dormand_prince_5()
    batch = Batch(model, table, buffers, mixed)
    b = len(buffers.start)
    check_room(run_bytes(batch, buffers), b)
    slot = Slot(batch, buffers, b)
    slot.begin(0, b)
    while True:
        while not slot.ready():
            time.sleep(POLL_SECONDS)
        if not goes_on():
            return None
        if not slot.goes_on():
            break
        slot.launch()
    buffers.saved[:], buffers.steps[:], buffers.rejected[:], buffers.status[:] = slot.counts[:4]
    return CardFrames(slot)


def runs_of_block(frames: int, n: int, d: int) -> int:
    """How many runs of a study the card takes at a time."""
    return int(max(1, min(MAX_BLOCK_RUNS, SLOT_BYTES // (8 * n * d * (frames + 4)))))


def _squared_chord(radius: float) -> float:
    return float((2.0 * np.sin(radius / 2.0)) ** 2)
