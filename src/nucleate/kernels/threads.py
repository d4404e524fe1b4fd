"""Threads: how many, how work is shared out among them, and how Ctrl-C reaches it."""

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import whole_number
from nucleate.resources import cores

__all__ = ["Stop", "interruptible", "pick_threads", "share"]

Stop = NDArray[np.uint8]
T = TypeVar("T")

MAX_THREADS = 1024
LOOK_SECONDS = 0.1  # between two looks at the keyboard


def pick_threads(threads: int | None) -> int:
    """The number of threads asked for, or the number of cores this process may use."""
    if threads is None:
        return cores()
    return min(MAX_THREADS, whole_number("threads", threads, least=1, help="Leave it out to use every core."))


def share(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run the jobs, the first on this thread and the others beside it as cores allow, and wait for all; what
    they return, in any order."""
    if len(jobs) == 1:
        return [jobs[0]()]
    pool = _pool(os.getpid())
    pool.keep_off_this_core()
    futures = [pool.submit(job) for job in jobs[1:]]
    try:
        results = [jobs[0]()]
        # those that no thread was free for
        results += [job() for job, future in zip(jobs[1:], futures, strict=True) if future.cancel()]
    finally:
        begun = [future for future in futures if not future.cancelled()]
        wait(begun)
    return [*results, *(future.result() for future in begun)]


class _Pool(ThreadPoolExecutor):
    """Threads kept for the next call: one for every core but the caller's, begun when needed, ended with the
    interpreter.

    Linux may wake a thread on the core of the one that wakes it, although another is idle, and leave it there
    for longer than such jobs take: two threads then need the time of one.  So they are kept off that core.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []  # of the threads, by the system's count
        self.avoided: tuple[int, int] | None = None  # a core, and how many threads were kept off it
        super().__init__(max(1, pick_threads(None) - 1), "nucleate-tokens", self._begin)

    def _begin(self) -> None:
        self.ids.append(threading.get_native_id())

    def keep_off_this_core(self) -> None:
        """Let the threads run anywhere but on the caller's core, where the system can be told so."""
        library = _c_library()
        if library is None:
            return
        core = int(library.sched_getcpu())
        if self.avoided != (core, len(self.ids)):
            self.avoided = core, len(self.ids)
            others = os.sched_getaffinity(0) - {core}
            for thread in self.ids if others else []:
                with suppress(OSError):
                    os.sched_setaffinity(thread, others)


@cache
def _pool(process: int) -> _Pool:
    """The threads of this process: after a fork they are gone, and the new process has its own."""
    return _Pool()


@cache
def _c_library() -> ctypes.CDLL | None:
    """The C library, where it tells on which core a thread runs and threads can be kept off one."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "sched_getcpu") else None


def interruptible(job: Callable[[Stop], T]) -> T:
    """Run a long compiled job on another thread, so that Ctrl-C reaches this one and ends it."""
    stop: Stop = np.zeros(1, dtype=np.uint8)
    with ThreadPoolExecutor(1, thread_name_prefix="nucleate-drift") as pool:
        future = pool.submit(job, stop)
        try:
            while not future.done():
                wait([future], timeout=LOOK_SECONDS)
        except BaseException:
            stop[0] = 1
            raise
        return future.result()
