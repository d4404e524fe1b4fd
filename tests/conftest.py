"""What every test gets: no screen, the same examples from hypothesis on every machine, and a folder for what
is made once.  Long files come first.  The counts of `make soak` are printed."""

import gc
import os
import signal
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support.long_files import LONG_FILES
from support.session_files import use_session_folder
from support.soak import MAX_SECONDS, SOAK

BEGAN = time.monotonic()
os.environ.setdefault("MPLBACKEND", "Agg")
# A shell has its background jobs ignore Ctrl-C, and tests that press it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the first example may compile a kernel.
settings.register_profile("nucleate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("nucleate")


@pytest.fixture(scope="session", autouse=True)
def _session_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One folder for all workers: theirs lie in it."""
    own = tmp_path_factory.getbasetemp()
    use_session_folder(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported for the tests stays: to look for garbage among it, again and again, would take a
    quarter of the time that collecting does."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; the tests of a file, and the other files, stay in their order."""
    here = Path(__file__).parent
    places = {here / file: place for place, file in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


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
