"""The server that most tests of the explorer ask."""

from collections.abc import Iterator

import pytest
from support.explorer_server import explorer_server

from nucleate.explorer.server import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One for all tests of a file."""
    with explorer_server() as server:
        yield server
