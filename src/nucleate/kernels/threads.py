"""Threads: how many, and how work that takes a millisecond or less is dealt out among them."""

import ctypes
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import whole_number
from nucleate.kernels.compile import X86, compiled, take_next, wait_for

__all__ = ["Stop", "interruptible", "pick_threads", "share"]

Stop = NDArray[np.uint8]
T = TypeVar("T")
Count = NDArray[np.int64]
Ended = SimpleQueue[tuple[Any, BaseException | None]]

MOST_THREADS = 1024
# at a counter, about 0.1 ms: waking a thread that sleeps takes up to half of that
LOOKS = 4_000 if X86 else 200_000


def pick_threads(threads: int | None) -> int:
    """The number of threads asked for, or the number of cores this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(
        MOST_THREADS, whole_number("threads", threads, least=1, help="Leave it out to use every core.")
    )


def share(jobs: list[Callable[[], T]]) -> list[T]:
    """Run the jobs, the first on this thread and the others beside it, and wait for all: what the first
    returns, then the others as they end.

    Jobs must not share work themselves.
    """
    if len(jobs) == 1:
        return [jobs[0]()]
    ended: Ended = SimpleQueue()
    done: Count = np.zeros(1, dtype=np.int64)
    # else somebody may need the core on which another waits
    looks = LOOKS if len(jobs) <= pick_threads(None) else 0
    crew = _crew(len(jobs) - 1, os.getpid())  # after a fork the threads are gone
    crew.keep_off(_this_core())
    crew.call([Call(job, ended, done, looks) for job in jobs[1:]])
    others: list[tuple[Any, BaseException | None]] = []
    try:
        first = jobs[0]()
        wait_for(done, len(jobs) - 1, looks)
    finally:
        others += [ended.get() for _ in jobs[1:]]
    for _, error in others:
        if error is not None:
            raise error
    return [first, *(result for result, _ in others)]


def interruptible(job: Callable[[Stop], T]) -> T:
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
        return future.result()


class Call(NamedTuple):
    """A job for another thread."""

    job: Callable[[], object]
    ended: Ended  # where to put what it returns or raises
    done: Count  # of jobs that have ended
    looks: int  # how long to stay awake after it


class Crew:
    """Threads that work off a queue.  Handing over through it takes a fifth of the time that an executor's
    futures take."""

    def __init__(self, size: int) -> None:
        self.queue: SimpleQueue[Call] = SimpleQueue()
        self.called: Count = np.zeros(1, dtype=np.int64)  # jobs, so far
        self.avoided = -1
        wait_for(self.called, 0, 0)  # compiled now, where an error belongs to the caller
        _tell_and_wait(np.zeros_like(self.called), self.called, 0, 0)
        self.threads = [
            threading.Thread(target=self._work, name="nucleate-tokens", daemon=True) for _ in range(size)
        ]
        for thread in self.threads:
            thread.start()

    def call(self, calls: list[Call]) -> None:
        """Have jobs done."""
        for one in calls:
            self.queue.put(one)
        self.called[0] += len(calls)  # after they are there: who sees it finds them

    def keep_off(self, core: int) -> None:
        """Let the threads run anywhere but on `core`.

        Linux may wake a thread on the core of the one that wakes it, although another is idle, and leave it
        there for longer than such jobs take: two threads then need the time of one.
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
            job, ended, done, looks = self.queue.get()
            called = int(self.called[0])
            try:
                ended.put((job(), None))
            except BaseException as error:  # it belongs to the thread that waits
                ended.put((None, error))
            _tell_and_wait(done, self.called, called + 1, looks if self.queue.empty() else 0)


@compiled
def _tell_and_wait(done, called, value, looks):
    """Tell who waits, not before the interpreter is free for him; then stay awake a little for the next
    call."""
    take_next(done)
    wait_for(called, value, looks)


@cache
def _crew(size: int, process: int) -> Crew:
    return Crew(size)


@cache
def _libc() -> ctypes.CDLL | None:
    """The C library, where it can tell on which core a thread runs and the system lets threads be kept off
    it."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "sched_getcpu") else None


def _this_core() -> int:
    """The core this thread runs on; -1 if unknown."""
    library = _libc()
    return -1 if library is None else int(library.sched_getcpu())
