"""A copy of the package's source that a test may edit, to see what becomes of the checksums of the code."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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
        _forget()


@contextmanager
def source_copied(folder: Path) -> Iterator[SourceCopy]:
    """Checksums of the code are those of a copy of the package, made in `folder`."""
    shutil.copytree(source_hash.PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.html"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_hash, "PACKAGE", folder)
        _forget()
        yield SourceCopy(folder)
    _forget()


def _forget() -> None:
    caches = (
        source_hash.source_hash,
        source_hash.modules_used,
        source_hash._module_hash,
        source_hash._tree,
        source_hash._imports,
    )
    for function in (*caches, block.made_with):
        function.cache_clear()
