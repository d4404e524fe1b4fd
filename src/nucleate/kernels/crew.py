"""Threads: how many, and how work that takes a millisecond or less is dealt out among them."""

import ctypes
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import whole_number

__all__ = ["Stop", "interruptible", "pick_threads", "share"]

Stop = NDArray[np.uint8]
Job = Callable[[], object]
Ended = SimpleQueue[BaseException | None]

MOST_THREADS = 1024


def pick_threads(threads: int | None) -> int:
    """The number of threads asked for, or the number of cores this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_THREADS, whole_number("threads", threads, least=1, help="Leave it out to use every core."))


def share(jobs: list[Job]) -> None:
    """Run the jobs, the first on this thread and the others beside it, and wait for all.  Jobs must not share work themselves."""
    ended: Ended = SimpleQueue()
    if len(jobs) > 1:
        crew = _crew(len(jobs) - 1, os.getpid())  # after a fork the threads are gone
        crew.keep_off(_this_core())
        for job in jobs[1:]:
            crew.queue.put((job, ended))
    errors: list[BaseException | None] = []
    try:
        jobs[0]()
    finally:
        errors += [ended.get() for _ in jobs[1:]]
    for error in errors:
        if error is not None:
            raise error


def interruptible(job: Callable[[Stop], object]) -> None:
    """Run a long compiled job on another thread, so that Ctrl-C reaches this one and ends it."""
    stop: Stop = np.zeros(1, dtype=np.uint8)
    with ThreadPoolExecutor(1, thread_name_prefix="nucleate-drift") as pool:
        future = pool.submit(job, stop)
        try:
            while not future.done():
                wait([future], timeout=0.1)
        except BaseException:
            stop[0] = 1
            raise
        future.result()


class Crew:
    """Threads that work off a queue.  Handing over through it takes a fifth of the time that an executor's futures take."""

    def __init__(self, size: int) -> None:
        self.queue: SimpleQueue[tuple[Job, Ended]] = SimpleQueue()
        self.avoided = -1
        self.threads = [threading.Thread(target=self._work, name="nucleate-tokens", daemon=True) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def keep_off(self, core: int) -> None:
        """Let the threads run anywhere but on `core`.

        Linux may wake a thread on the core of the one that wakes it, although another is idle, and leave it there for longer than such jobs
        take: two threads then need the time of one.
        """
        if core == self.avoided:
            return
        others = os.sched_getaffinity(0) - {core}
        for thread in self.threads:
            if others and thread.native_id is not None:
                os.sched_setaffinity(thread.native_id, others)
        self.avoided = core

    def _work(self) -> None:
        while True:
            job, ended = self.queue.get()
            error: BaseException | None = None
            try:
                job()
            except BaseException as raised:  # it belongs to the thread that waits
                error = raised
            ended.put(error)


@cache
def _crew(size: int, process: int) -> Crew:
    return Crew(size)


@cache
def _libc() -> ctypes.CDLL | None:
    """The C library, where it can tell on which core a thread runs and the system lets threads be kept off it."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "sched_getcpu") else None


def _this_core() -> int:
    """The core this thread runs on; -1 if unknown."""
    library = _libc()
    return -1 if library is None else int(library.sched_getcpu())
