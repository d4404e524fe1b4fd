"""Computed data on the disk: each dataset or run is computed once, written whole, and read again where it was
made the same way.

It carries a fingerprint of its item, its parameters, the code that computes it and the versions that code
rests on, and a checksum. What does not match both is computed anew, so that an interrupted reproduction goes
on, and neither an edit nor a damaged file passes for a result.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError
from nucleate.papers import ITEMS
from nucleate.papers.core.interruption import uninterrupted
from nucleate.source_hash import source_hash

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run

__all__ = ["ItemWorkspace", "Progress", "Tell", "fingerprint", "made_by"]

Progress = Callable[[float, float], object]  # told how much is done, and of how much
Tell = Callable[[str], None]  # called with a line about damage that was found


@dataclass(frozen=True, eq=False)
class ItemWorkspace:
    """Where an item computes: its folder, its parameters, and whom it tells how far it is."""

    key: str
    folder: Path  # of its data
    parameters: Mapping[str, Any]
    progress: Progress = lambda done, total: None
    tell: Tell = lambda words: None
    computed: list[str] = field(default_factory=list)  # what was not on the disk, and had to be computed

    def dataset(self, name: str, compute: "Callable[[], Dataset]") -> "Dataset":
        """The dataset `name`, from the disk or computed now."""
        path, mark = self.folder / f"{name}.zarr", self._fingerprint(name)
        found, damaged = _read(path)
        if found is not None and found.attrs["fingerprint"] == mark:
            return found
        self._begin(name, path if damaged else None)
        return _write(path, compute(), mark)

    def blocks(
        self,
        name: str,
        runs: int,
        block: int,
        compute: "Callable[[range], Dataset]",
        dimension: str = "run",
        progress: Progress | None = None,
    ) -> "Dataset":
        """Datasets of `block` runs each, from the disk or computed now, put together along a dimension."""
        import xarray

        parts = []
        for first in range(0, runs, block):
            some = range(first, min(first + block, runs))
            parts.append(self.dataset(f"{name}-{first:04d}", partial(compute, some)).drop_attrs())
            if progress is not None:
                progress(some[-1] + 1, runs)
        return xarray.concat(parts, dimension)

    def run(self, name: str, compute: "Callable[[], Run]") -> "Run":
        """The run `name`, from the disk or computed now."""
        from dataclasses import replace

        from nucleate.integrate.storage import load, save

        path, mark = self.folder / f"{name}.zarr", self._fingerprint(name)
        damaged = False
        try:
            found = load(path)
            if found.notes.get("fingerprint") == mark:
                return found
        except InputError:
            damaged = path.exists()
        self._begin(name, path if damaged else None)
        run = uninterrupted(compute())
        _clear(path)
        save(replace(run, notes={**run.notes, "fingerprint": mark}), path)
        return load(path)

    def _begin(self, name: str, damaged: Path | None) -> None:
        from nucleate.integrate.storage import check_place

        check_place(self.folder / f"{name}.zarr", folder=True)  # before any work
        if damaged is not None:
            self.tell(f"{damaged} is damaged or was edited. It is computed anew.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.computed.append(name)

    def _fingerprint(self, name: str) -> str:
        return fingerprint([self.key, name, dict(self.parameters), made_by(f"{ITEMS[self.key]}.data")])


def fingerprint(parts: Any) -> str:
    """A checksum of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def made_by(*modules: str) -> dict[str, str]:
    """What a result of these modules depends on: the versions of what they rest on, and a checksum of their
    code and of all that they import from this package."""
    from nucleate.studies.block import made_with

    versions = {name: version for name, version in made_with().items() if name != "code"}
    return {**versions, "code": source_hash(*modules)}


def _write(path: Path, dataset: "Dataset", mark: str) -> "Dataset":
    from nucleate.integrate.storage import replacing

    dataset = dataset.assign_attrs(fingerprint=mark, checksum=_checksum(dataset))
    plain: dict[str, dict[str, None]] = {str(name): {"_FillValue": None} for name in dataset.variables}
    with replacing(path, folder=True) as part:
        dataset.to_zarr(part, mode="w-", consolidated=False, zarr_format=3, encoding=plain)
    return dataset


def _read(path: Path) -> "tuple[Dataset | None, bool]":
    """The dataset at `path` if it is as it was written, and whether there is one that is not."""
    from nucleate.integrate.zarr_files import read_zarr

    if not path.exists():
        return None, False
    try:
        dataset = read_zarr(path)
    except InputError:  # damaged, or not to be opened
        return None, True
    same = "fingerprint" in dataset.attrs and dataset.attrs.get("checksum") == _checksum(dataset)
    return (dataset, False) if same else (None, True)


def _checksum(dataset: "Dataset") -> str:
    digest = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        values = np.ascontiguousarray(dataset[name].values)
        digest.update(f"{name} {dataset[name].dims} {values.dtype.str} {values.shape}".encode())
        digest.update(
            np.where(values == values, values, np.nan).tobytes()
            if values.dtype.kind == "f"
            else values.tobytes()
        )
    return digest.hexdigest()


def _clear(path: Path) -> None:
    """Make room for a run: storage replaces none but runs, and a damaged head is not known as one."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
