"""What the paper shows, redone: one file per figure, each with a function make(out, seed) that returns what it wrote."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from nucleate.checks import InputError

__all__ = ["ITEMS", "reproduce"]

ITEMS = {"figure2": "200 tokens on the circle gather around centers, and one Rényi center is lost"}


def reproduce(out: Path, only: Sequence[str] = (), seed: int | None = None) -> list[Path]:
    """Make the items named in `only` (or all) in folders of their names under `out`; the paths of the files."""
    for name in only:
        if name not in ITEMS:
            raise InputError(f'There is no "{name}" to reproduce. Choose from: {", ".join(ITEMS)}.')
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, but the results need a folder. Choose another place.")
    written: list[Path] = []
    for name in only or ITEMS:
        folder = out / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder} cannot be made: {error.strerror}. Choose another place.") from None
        written += importlib.import_module(f"nucleate.paper.{name}").make(folder, seed)
    return written
