"""What several tests of benchmarks use."""

import sys

import pytest

from nucleate.bench import timing


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are tested for what is in them, not for how exact their times are."""
    monkeypatch.setattr(timing, "MIN_TURN_SECONDS", 0.002)
    monkeypatch.setattr(timing, "PAUSE_SECONDS", 0.0)


@pytest.fixture
def no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX, diffrax and torch are not installed."""
    for name in ("jax", "jax.numpy", "diffrax", "torch"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it is an ImportError from now on
