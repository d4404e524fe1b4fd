"""A plugin for `make test-torch`: what is skipped elsewhere must run there, so a skip is a failure."""

from collections.abc import Generator
from typing import Any

import pytest

Reports = Generator[None, Any, Any]


def failed(report: Any) -> Any:
    """The same report, as a failure if it was a skip."""
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but everything that is needed should be here: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Reports:
    return failed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Reports:
    return failed((yield))
