"""Promises about waiting, tested on machines that have other work to do.

Work is counted in CPU seconds where that says enough. Where somebody waits (Ctrl-C, a first frame), the clock
on the wall counts: as many times longer as programs queue for each core, and a test marked `patient` may try
three times. What is slow by itself is slow every time.

Tests that watch other programs through sockets (a browser, a server, a cluster that loses workers) are marked
`several_programs`: the order in which those get to work differs each time, so such a test may try three times
as well. The summary names every test that had to.
"""

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import pytest

TRIES = 3
several_programs = pytest.mark.flaky(reruns=TRIES - 1)
P = ParamSpec("P")


class TooSlow(AssertionError):
    """Right, but late."""


def soon(seconds: float, limit: float, what: str = "it") -> None:
    """Something took `seconds` on the wall and may take `limit` on a free machine."""
    _hold(seconds, limit * _crowd(), what)


def _crowd() -> float:
    """How many programs there were for each core in the last minute; 1 on a free machine."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) if hasattr(os, "getloadavg") else 1.0


def _hold(seconds: float, limit: float, what: str = "it") -> None:
    if seconds >= limit:
        raise TooSlow(f"{what} took {seconds:.2f} s and may take {limit:.2f}")


@contextmanager
def within(limit: float) -> Iterator[None]:
    """What is done inside takes less than `limit` seconds on the wall."""
    began = time.monotonic()
    yield
    soon(time.monotonic() - began, limit)


@contextmanager
def working(limit: float) -> Iterator[None]:
    """What is done inside takes less than `limit` seconds of work, all threads together; other programs do
    not count."""
    began = time.process_time()
    yield
    _hold(time.process_time() - began, limit)


def patient(test: Callable[P, None]) -> Callable[P, None]:
    """The test may be too slow twice, and wrong never."""

    @functools.wraps(test)
    def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        for _ in range(TRIES - 1):
            try:
                return test(*args, **kwargs)
            except TooSlow:
                continue
        return test(*args, **kwargs)

    return tried
