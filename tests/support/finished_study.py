"""The small study, computed once."""

from pathlib import Path

import pytest
from support.small_studies import small

from nucleate.studies.ensemble import ensemble


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study, finished; not to be changed."""
    path = tmp_path_factory.mktemp("ensemble") / "small.zarr"
    ensemble(small(), path)
    return path
