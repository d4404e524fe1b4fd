"""Promises about waiting, tested on machines that have other work to do.

Work is counted in CPU seconds where that says enough. Where somebody waits (Ctrl-C, a first frame), the clock on the wall
counts, and a test marked `patient` may try three times: what is slow by itself is slow every time.
"""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

TRIES = 3
P = ParamSpec("P")


class TooSlow(AssertionError):
    """Right, but late."""


def soon(seconds: float, limit: float, what: str = "it") -> None:
    """Something took `seconds` and may take `limit`."""
    if seconds >= limit:
        raise TooSlow(f"{what} took {seconds:.2f} s and may take {limit:g}")


@contextmanager
def within(limit: float) -> Iterator[None]:
    """What is done inside takes less than `limit` seconds on the wall."""
    began = time.monotonic()
    yield
    soon(time.monotonic() - began, limit)


@contextmanager
def working(limit: float) -> Iterator[None]:
    """What is done inside takes less than `limit` seconds of work, all threads together; other programs do not count."""
    began = time.process_time()
    yield
    soon(time.process_time() - began, limit)


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
