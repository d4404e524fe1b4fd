"""What several tests of studies use: the small study, finished; and source code to edit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.small_studies import small
from support.source_copies import SourceCopy, source_copied

from nucleate.studies.ensemble import ensemble


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study, finished; not to be changed."""
    path = tmp_path_factory.mktemp("ensemble") / "small.zarr"
    ensemble(small(), path)
    return path


@pytest.fixture
def source_copy(tmp_path: Path) -> Iterator[SourceCopy]:
    """A copy of the source: checksums of the code are taken of it for as long as the test runs."""
    with source_copied(tmp_path / "source") as copy:
        yield copy
