"""Pieces of data on the disk: each is computed once, written whole, and read again where it was made the same
way.

A piece carries the mark of its item, its parameters, the code of this package and the versions it rests on,
and a checksum. What does not match both is computed anew, so that an interrupted reproduction goes on, and
neither an edit nor a damaged file passes for a result.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run

__all__ = ["Desk", "finished", "mark", "sources"]

Progress = Callable[[float], object]  # the share of the item that is done


@dataclass(frozen=True, eq=False)
class Desk:
    """Where an item works: its folder, its parameters, and whom it tells how far it is."""

    key: str
    folder: Path  # of its data
    p: Mapping[str, Any]
    at: Progress = lambda share: None
    made: list[str] = field(default_factory=list)  # pieces that had to be computed, for those who ask

    def dataset(self, name: str, make: "Callable[[], Dataset]") -> "Dataset":
        """The dataset `name`, from the disk or made now."""
        path, stamp = self.folder / f"{name}.zarr", self._stamp(name)
        found = _read(path, stamp)
        return self._made(name, lambda: _write(path, make(), stamp)) if found is None else found

    def run(self, name: str, make: "Callable[[], Run]") -> "Run":
        """The run `name`, from the disk or made now."""
        from dataclasses import replace

        from nucleate.integrate.storage import load, save

        path, stamp = self.folder / f"{name}.zarr", self._stamp(name)
        try:
            found = load(path)
            if found.notes.get("mark") == stamp:
                return found
        except InputError:  # not there, or damaged
            pass

        def kept() -> "Run":
            run = finished(make())
            _clear(path)
            save(replace(run, notes={**run.notes, "mark": stamp}), path)
            return load(path)

        return self._made(name, kept)

    def _made(self, name: str, make: Callable[[], Any]) -> Any:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.made.append(name)
        return make()

    def _stamp(self, name: str) -> str:
        return mark([self.key, name, dict(self.p), sources(self.key)])


def finished(run: "Run") -> "Run":
    """`run`; but what Ctrl-C cut short goes on up as Ctrl-C, and is not kept."""
    statuses = (run.status,) if isinstance(run.status, str) else run.status
    if any(status in ("interrupted", "cancelled") for status in statuses):
        raise KeyboardInterrupt
    return run


def mark(parts: Any) -> str:
    """A checksum of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@cache
def sources(key: str, rooms: tuple[str, ...] = ()) -> dict[str, str]:
    """What the data of an item depend on: versions, the code that computes, the item's own file and those it
    is built from.

    Read once: what this process runs is what it has loaded, whatever is edited meanwhile.
    """
    from nucleate.papers import ITEMS
    from nucleate.studies.block import made_with

    here = Path(__file__).resolve().parent
    own = [here / f"{name}.py" for name in ITEMS[key].data] if key in ITEMS else []
    more = [file for room in ("theory", *rooms) for file in sorted((here.parent / room).rglob("*.py"))]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in [*own, *more]))
    return {**made_with(), "item": digest.hexdigest()[:16]}


def _write(path: Path, dataset: "Dataset", stamp: str) -> "Dataset":
    from nucleate.integrate.storage import replacing

    dataset = dataset.assign_attrs(mark=stamp, checksum=_checksum(dataset))
    plain: dict[str, dict[str, None]] = {str(name): {"_FillValue": None} for name in dataset.variables}
    with replacing(path) as part:
        dataset.to_zarr(part, mode="w-", consolidated=False, zarr_format=3, encoding=plain)
    return dataset


def _read(path: Path, stamp: str) -> "Dataset | None":
    if not path.is_dir():
        return None
    import xarray

    try:
        dataset = xarray.open_zarr(
            path, consolidated=False, zarr_format=3, chunks=None, decode_cf=False
        ).load()
    except Exception:  # a damaged store can raise anything; it is computed anew
        return None
    attrs = dataset.attrs
    return dataset if attrs.get("mark") == stamp and attrs.get("checksum") == _checksum(dataset) else None


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
