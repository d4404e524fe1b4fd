"""Folders for results that all tests of one process share, and folders with files planted in them."""

import atexit
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp


def folder_of_this_process() -> Path:
    """A new folder, which is removed when this process ends."""
    folder = Path(mkdtemp(prefix="nucleate-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def plant(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, each under its path in the folder."""
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
