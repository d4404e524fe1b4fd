"""Every test of a picture leaves no figure behind."""

from collections.abc import Iterator

import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")
