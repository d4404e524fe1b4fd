"""Every test of a picture leaves no figure behind; and a life that several of them draw."""

from collections.abc import Iterator

import pytest
from matplotlib import pyplot

from nucleate.observe.life import Life, life


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="session")
def short_life() -> Life:
    """The whole life of 40 tokens."""
    return life(16.0, n=40, seed=1)
