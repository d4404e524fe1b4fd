"""The stage of one run: a worker thread fills in frames, the session carries them off, and neither waits for
the other.

All frames have their place from the beginning, and the session fetches as many as its client takes: a slow
client costs no memory.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nucleate.checks import Array
from nucleate.explorer.prepared_run import Take, perform
from nucleate.integrate.run import Run

__all__ = ["Stage"]


class Stage:
    """A take while it is performed."""

    def __init__(self, take: Take, notify: Callable[[], object]) -> None:
        m, (n, d) = len(take.times), take.x0.shape
        self.take, self.notify = take, notify
        self.stop = threading.Event()
        # frames beyond `reached` hold nothing
        self.x = np.empty((m, n, d)) if take.run is None else take.run.x
        self.computed = 0  # frames the engine handed over
        self.reached = 0  # frames that can be shown
        self.seconds = 0.0
        if take.run is None and take.times[0] == 0.0:  # the start is known before the engine has been called
            self.x[0] = take.x0
            self.reached = 1

    def perform(self) -> Run:
        """Compute the run; on a worker thread."""
        began = time.perf_counter()
        run = perform(self.take, self._on_frames)
        if self.take.run is None:  # what came after the last call of on_frames
            self.x[self.computed : len(run.x)] = run.x[self.computed :]
            run = replace(run, x=self.x[: len(run.x)])  # one copy is enough
        self.reached, self.seconds = len(run.x), time.perf_counter() - began
        self.notify()
        return run

    def _on_frames(self, t: Array, x: Array) -> bool:
        self.x[self.computed : self.computed + len(x)] = x
        self.computed += len(x)
        self.reached = max(self.reached, self.computed)
        self.notify()
        return not self.stop.is_set()
