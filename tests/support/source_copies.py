"""A copy of the package's source that a test may edit, to see what becomes of the checksums of the code."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nucleate import source_hash
from nucleate.studies import block


class SourceCopy:
    """Where the copy is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def edit(self, file: str, old: str, new: str) -> None:
        """Change the first `old` in a file of the copy, as if the process had been started after that."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        self.forget()

    def forget(self) -> None:
        """A process reads the source once; from now on this one reads it anew."""
        forget()


@pytest.fixture
def source_copy(tmp_path: Path) -> Iterator[SourceCopy]:
    """A copy of the source: checksums of the code are taken of it for as long as the test runs."""
    folder = tmp_path / "source"
    shutil.copytree(source_hash.PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.html"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_hash, "PACKAGE", folder)
        forget()
        yield SourceCopy(folder)
    forget()


def forget() -> None:
    """Nothing that was read of the source is kept."""
    caches = (
        source_hash.source_hash,
        source_hash.modules_used,
        source_hash._module_hash,
        source_hash._tree,
        source_hash._imports,
    )
    for function in (*caches, block.made_with):
        function.cache_clear()
