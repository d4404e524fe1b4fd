"""Threads: how many, how work is shared out among them, and how Ctrl-C reaches it.

Python raises KeyboardInterrupt on the main thread, between any two instructions there, and not while that
thread is inside compiled code.  So long work is done on other threads.  While the main thread waits for them
Ctrl-C raises nothing: it sets the flag that they look at (`ctrl_c_stops`).  Only compilation looks at no
flag; it has a thread of its own, which nobody has to wait for (`not_awaited_if_stopped`).
"""

import atexit
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache, partial
from types import FrameType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import whole_number
from nucleate.resources import cores

__all__ = [
    "LOOK_SECONDS",
    "CtrlC",
    "Stop",
    "Stopped",
    "ctrl_c_stops",
    "interruptible",
    "interruptible_if_long",
    "is_stopped",
    "not_awaited_if_stopped",
    "pick_threads",
    "share",
    "stopped_by",
    "what_stops",
]

Stop = NDArray[np.uint8]
T = TypeVar("T")

MAX_THREADS = 1024
LOOK_SECONDS = 0.1  # between two looks at a flag, or at the keyboard
MIN_LONG_WORK = 1e8  # pairs, times d, from which work takes so long that Ctrl-C must reach it


class Stopped(Exception):
    """The work was stopped while its thread waited for compiled code."""


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
    stopped = what_stops()
    futures = [pool.submit(_under, stopped, job) for job in jobs[1:]]
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
    """The C library, where it is Linux's, which tells on which core a thread runs."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "sched_getcpu") else None


def interruptible_if_long(job: Callable[[Stop], T], pairs: float) -> T:
    """job(stop), so that Ctrl-C reaches it where it takes long: `pairs` that are looked at, times d."""
    if pairs < MIN_LONG_WORK:
        return job(np.zeros(1, dtype=np.uint8))
    return interruptible(job)


def interruptible(job: Callable[[Stop], T]) -> T:
    """Run a long compiled job on another thread, so that Ctrl-C reaches this one and ends it."""
    stop: Stop = np.zeros(1, dtype=np.uint8)
    with ctrl_c_stops(stop) as ctrl_c:
        with ThreadPoolExecutor(1, thread_name_prefix="nucleate-drift") as pool:
            try:
                future = pool.submit(_under, lambda: bool(stop[0]), partial(job, stop))
                while not future.done():
                    wait([future], timeout=LOOK_SECONDS)
            except BaseException:
                stop[0] = 1
                raise
        del pool  # here, where Ctrl-C raises nothing: Python drops what is raised while an object is freed
    if ctrl_c.pressed:
        raise KeyboardInterrupt
    return future.result()


# Ctrl-C


class CtrlC:
    """What became of Ctrl-C meanwhile."""

    def __init__(self, stop: Stop, code: int) -> None:
        self.stop, self.code = stop, code
        self.pressed = False
        self.raises = False  # also KeyboardInterrupt at once, as in a callback, which may take long

    def press(self, _signal: int, _frame: FrameType | None) -> None:
        self.pressed = True
        self.stop[0] = self.stop[0] or self.code
        if self.raises:
            raise KeyboardInterrupt

    @contextmanager
    def raising(self) -> Iterator[None]:
        """While another's code runs."""
        self.raises = True
        try:
            yield
        finally:
            self.raises = False


@contextmanager
def ctrl_c_stops(stop: Stop, code: int = 1) -> Iterator[CtrlC]:
    """Ctrl-C sets the flag `stop` to `code` instead of raising KeyboardInterrupt, which would leave threads
    at work that nobody knows of; where the program does something else with Ctrl-C, that is left as it is."""
    ctrl_c = CtrlC(stop, code)
    on_main_thread = threading.current_thread() is threading.main_thread()
    if not (on_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        yield ctrl_c
        return
    try:
        signal.signal(signal.SIGINT, ctrl_c.press)
        yield ctrl_c
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Waiting for what cannot be stopped

_here = threading.local()


@contextmanager
def stopped_by(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Where this thread waits for compiled code, or for a simulation, let it look whether its work is
    stopped."""
    before = what_stops()
    _here.is_stopped = is_stopped
    try:
        yield
    finally:
        _here.is_stopped = before


def what_stops() -> Callable[[], bool]:
    """What tells whether the work of this thread is stopped, for threads that do a part of it."""
    return getattr(_here, "is_stopped", bool)  # bool() is False


def is_stopped() -> bool:
    """Whether the work of this thread is stopped."""
    return what_stops()()


def _under(is_stopped: Callable[[], bool], job: Callable[[], T]) -> T:
    with stopped_by(is_stopped):
        return job()


def not_awaited_if_stopped(job: Callable[[], T]) -> T:
    """Run a job that cannot be stopped, on a thread of its own, and wait for it.  After Ctrl-C, or `Stopped`,
    it is left to end by itself; it holds up nothing, not even the end of the program."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(job())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=work, name="nucleate-compile", daemon=True)
    thread.start()
    try:
        while not future.done():
            wait([future], timeout=LOOK_SECONDS)
            if not future.done() and is_stopped():
                raise Stopped
    finally:
        if not future.done():
            _not_awaited.append(thread)
    return future.result()


_not_awaited: list[threading.Thread] = []


@atexit.register
def _end_beside_compiler() -> None:
    """While the compiler is still at work the program must not take it down, as the C library's exit does:
    LLVM aborts where its tables are freed under it.  So exit, whose first call is what was registered last,
    ends the process there, with the program's own status; Python has written out its files by then."""
    library = _c_library()
    if library is not None and any(thread.is_alive() for thread in _not_awaited):
        library.on_exit(library._exit, None)
