"""A run while it is computed: a worker thread fills in frames, the session sends them, neither waits for the
other.

The array of all frames is made at the beginning, and the session sends as many as its client takes: a slow
client costs no memory.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nucleate.checks import Array
from nucleate.explorer.prepared_run import PreparedRun, compute
from nucleate.integrate.run import Run

__all__ = ["RunningRun"]


class RunningRun:
    """A prepared run while it is computed."""

    def __init__(self, prepared: PreparedRun, on_change: Callable[[], object]) -> None:
        m, (n, d) = len(prepared.times), prepared.x0.shape
        self.prepared, self.on_change = prepared, on_change
        self.stop = threading.Event()
        # frames from number `ready` on hold nothing
        self.x = np.empty((m, n, d)) if prepared.run is None else prepared.run.x
        self.computed = 0  # frames that simulate handed over
        self.ready = 0  # frames that can be sent
        self.seconds = 0.0  # that the computation took
        # the start is known before simulate has been called
        if prepared.run is None and prepared.times[0] == 0.0:
            self.x[0] = prepared.x0
            self.ready = 1

    def compute(self) -> Run:
        """Compute the run; on a worker thread."""
        began = time.perf_counter()
        run = compute(self.prepared, self._on_frames)
        if self.prepared.run is None:  # what came after the last call of on_frames
            self.x[self.computed : len(run.x)] = run.x[self.computed :]
            run = replace(run, x=self.x[: len(run.x)])  # one copy is enough
        self.ready, self.seconds = len(run.x), time.perf_counter() - began
        self.on_change()
        return run

    def _on_frames(self, t: Array, x: Array) -> bool:
        self.x[self.computed : self.computed + len(x)] = x
        self.computed += len(x)
        self.ready = max(self.ready, self.computed)
        self.on_change()
        return not self.stop.is_set()
