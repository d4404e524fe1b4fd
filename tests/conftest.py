"""What every test gets: no screen, and the same examples from hypothesis on every machine.  The counts of
`make soak` are printed."""

import os
import time
from typing import Any

import pytest
from hypothesis import settings
from support.soak import MAX_SECONDS, SOAK

BEGAN = time.monotonic()
os.environ.setdefault("MPLBACKEND", "Agg")

# No deadline: the first example may compile a kernel.
settings.register_profile("nucleate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("nucleate")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the report of a test carry its counts to the process that prints."""
    item.user_properties += [("count", words) for words in _counts(item)]
    if SOAK and time.monotonic() - BEGAN > MAX_SECONDS:
        pytest.fail(f"the {MAX_SECONDS:.0f} seconds of make soak are over")


def _counts(item: pytest.Item) -> list[str]:
    return [
        f"{name.replace('_', ' ')}: {count}"
        for mark in item.iter_markers("soak")
        for name, count in mark.kwargs.items()
    ]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The counts of `make soak`, and how each test ended."""
    if not SOAK:
        return
    terminalreporter.section("what was attacked, and how often")
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            counts = [words for name, words in report.user_properties if name == "count"]
            if report.when == "call" and counts:
                terminalreporter.line(f"{outcome}  {report.nodeid}: {', '.join(counts)}")
