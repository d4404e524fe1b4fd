"""Results that are computed once for all workers of a test session and shared as files.

A session fixture of pytest is one for each worker: what takes seconds is made by the first worker that asks,
and the others wait for it and read it.
"""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

_folder: list[Path] = []


def use_session_folder(folder: Path) -> None:
    """What `made_once` makes goes there, one folder for all workers; called once, by tests/conftest.py."""
    _folder[:] = [folder / "made-once"]


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name`, filled by `make` in the first process that asks; not to be changed."""
    (parent,) = _folder
    parent.mkdir(exist_ok=True)
    folder, part = parent / name, parent / f"{name}.part"
    with (parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed, and should the process be killed
        if not folder.exists():
            shutil.rmtree(part, ignore_errors=True)  # what a failed one left
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder
