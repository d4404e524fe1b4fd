"""Folders for results that all tests of one process share."""

import atexit
import shutil
from pathlib import Path
from tempfile import mkdtemp


def folder_of_this_process() -> Path:
    """A new folder, which is removed when this process ends."""
    folder = Path(mkdtemp(prefix="nucleate-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
