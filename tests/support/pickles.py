"""Pickles that make a file when they are opened, in every form in which a checkpoint could hold one."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


class Harm:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def pickles(mark: Path) -> dict[str, bytes]:
    """By name, each the bytes of a file that makes `mark` when it is unpickled."""
    raw = {f"protocol {p}": pickle.dumps(Harm(mark), protocol=p) for p in range(6)}
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("archive/data.pkl", raw["protocol 2"])
    array = io.BytesIO()
    np.save(array, np.array([Harm(mark)], dtype=object), allow_pickle=True)
    return raw | {"zip": zipped.getvalue(), "npy": array.getvalue()}
