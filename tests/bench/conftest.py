"""What several tests of benchmarks use."""

import sys

import pytest


@pytest.fixture
def no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX and diffrax are not installed."""
    for name in ("jax", "jax.numpy", "diffrax"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it is an ImportError from now on
