"""Limits of time that hold on a busy machine too.

Where it is enough, CPU seconds are measured: other programs do not change them. Where a person would wait
(Ctrl-C, the first frame), seconds on the wall are measured; the limit grows with the number of programs that
wait for each core, and a test marked `patient` is tried up to three times. Code that is too slow is too slow
every time.

Tests that watch other programs through sockets (a browser, a server, a cluster that loses workers) are marked
`several_programs`: the order in which those programs run differs each time, so such a test is tried up to
three times as well. The summary names every test that was tried again.
"""

import functools
import gc
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import pytest

MAX_TRIES = 3
SECONDS_PER_FILE = 2.0  # of work for one small file that was made to harm, or was damaged
several_programs = pytest.mark.flaky(reruns=MAX_TRIES - 1)
P = ParamSpec("P")


class TooSlow(AssertionError):
    """The result is right, but it came too late."""


def check_wall_seconds(seconds: float, limit: float, what: str = "it") -> None:
    """Fail if `seconds` on the wall are more than `limit`, which holds for a machine without other work."""
    _fail_if_slow(seconds, limit * _programs_per_core(), what)


def _programs_per_core() -> float:
    """How many programs ran or waited for each core in the last minute, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) if hasattr(os, "getloadavg") else 1.0


def _fail_if_slow(seconds: float, limit: float, what: str = "it") -> None:
    if seconds >= limit:
        raise TooSlow(f"{what} took {seconds:.2f} s and may take {limit:.2f}")


@contextmanager
def within_wall_seconds(limit: float) -> Iterator[None]:
    """Fail if the block takes more than `limit` seconds on the wall."""
    began = time.monotonic()
    yield
    check_wall_seconds(time.monotonic() - began, limit)


@contextmanager
def within_cpu_seconds(limit: float) -> Iterator[None]:
    """Fail if the block takes more than `limit` CPU seconds, those of all its threads added up.  What earlier
    tests left is not collected meanwhile: to search a large heap can take seconds."""
    gc.disable()
    began = time.process_time()
    try:
        yield
    finally:
        gc.enable()
    _fail_if_slow(time.process_time() - began, limit)


def patient(test: Callable[P, None]) -> Callable[P, None]:
    """A test that is tried again if it was too slow, twice at most; any other failure counts at once."""

    @functools.wraps(test)
    def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        for _ in range(MAX_TRIES - 1):
            try:
                return test(*args, **kwargs)
            except TooSlow:
                continue
        return test(*args, **kwargs)

    return tried


@contextmanager
def not_waiting_for_ever(seconds: int = 60) -> Iterator[None]:
    """Fail if the block waits, as for a pipe that nobody writes to, rather than hang."""

    def stop(*_: object) -> None:
        pytest.fail(f"still waiting after {seconds} s")  # no Exception, which the code may catch

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
