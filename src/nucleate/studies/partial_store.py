"""What there is of an ensemble: blocks of the partial store, chunks of the finished one; and what is missing.

out.zarr          the finished store
out.zarr.parts    the partial store, only while there is work to do: study.json, the lock, a file per block,
                  and the finished store being assembled
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nucleate.checks import FileError, InputError, MissingFileError, as_path
from nucleate.integrate.storage import followed
from nucleate.integrate.zarr_files import read_json, refuse_links
from nucleate.studies.block import Arrays, Block, ComputedBlock, identity, made_with
from nucleate.studies.durable_files import (
    LOCK_FILE,
    PARTIAL_SUFFIX,
    Damaged,
    block_file_name,
    pack_block,
    read_block,
    sync,
    write_durably,
)
from nucleate.studies.store import (
    Manifest,
    assemble,
    chunk_files,
    chunk_runs,
    holds_ensemble,
    intact,
    layout,
    put_in_place,
    read_chunk,
    read_manifest,
)
from nucleate.studies.study import Study, differences

__all__ = ["PartialStore", "Tell", "check_store", "partial_store_folder"]

Tell = Callable[[str], None]  # called with a line about damage that was found

# in the folder of the partial store: what its blocks belong to, a file each, the new store while it is
# assembled, and the old one while the new takes its place
STUDY_FILE, BLOCKS, ASSEMBLED, REPLACED = "study.json", "blocks", "assembled", "old"
MAX_LISTED = 5  # differences or files that a message names
WHAT_CHANGED = {"code": "the code that computes the runs (its checksum)"}  # of made_with, in words


class StoredRuns(NamedTuple):
    """Runs of a point that are there: in a block's file, or in the finished store."""

    first: int
    last: int
    file: Path | None  # None: in the finished store


def _by_run(stored: StoredRuns) -> tuple[int, int]:
    return stored.first, stored.last


def partial_store_folder(path: Path) -> Path:
    """The folder of the partial store, beside the finished one."""
    return path.with_name(path.name + ".parts")


def check_store(path: str | os.PathLike[str]) -> Path:
    """`path`, or what it leads to if it is a link, if an ensemble can be kept there."""
    path = as_path("store", path)
    if path.suffix.lower() != ".zarr":
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'}, but an ensemble is kept as .zarr. Name it"
            f" {path.stem or 'runs'}.zarr, say."
        )
    path = followed(path)
    if not path.parent.is_dir():
        raise MissingFileError(
            f"{path} cannot be written: the folder {path.parent} does not exist. Make it first."
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileError(f"{path} cannot be written: the folder {path.parent} is read-only. Choose another.")
    if path.exists() and not holds_ensemble(path):
        raise InputError(
            f"{path} exists and is not an ensemble of nucleate, so it is not replaced. Choose another name,"
            " or move it away."
        )
    refuse_links(path)
    return path


class PartialStore:
    """The runs of one study that are there.  Only the process that holds the lock may have one."""

    def __init__(self, study: Study, path: Path, tell: Tell) -> None:
        self.study, self.path, self.folder, self.tell = study, path, partial_store_folder(path), tell
        self.identity = identity(study)
        self.stored: list[list[StoredRuns]] = [[] for _ in range(study.points)]
        self.manifest: Manifest | None = None
        self.processors: set[str] = set()  # the kinds that computed what is there
        self.complete = False  # whether the finished store is all there and as it was written
        self._undo_half_done()
        self._look_into_finished_store()
        self._look_into_study_file()
        self._look_into_blocks()

    # What is there

    def _undo_half_done(self) -> None:
        """Undo what a crash left half done."""
        if not self.path.exists() and (self.folder / REPLACED).exists():
            os.rename(self.folder / REPLACED, self.path)
        for name in (REPLACED, ASSEMBLED):
            place = self.folder / name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
            else:  # a file, a link, or a pipe, for which rmtree would wait
                with suppress(OSError):
                    place.unlink(missing_ok=True)
            if os.path.lexists(place):
                raise FileError(f"{place} is in the way, and cannot be removed. Move it away.")
        for file in self.folder.rglob(f"*{PARTIAL_SUFFIX}"):
            with suppress(OSError):
                file.unlink()

    def _look_into_finished_store(self) -> None:
        if not self.path.exists():
            return
        try:
            self.manifest = read_manifest(self.path)
        except Damaged as damage:
            self._same_study(_study_in_attributes(self.path))
            self.tell(f"{self.path} is damaged: {damage}. All its runs are computed anew.")
            return
        self._same_study(self.manifest.study, self.manifest.made_with)
        self.processors.update(self.manifest.processors)
        if self.manifest.runs > self.study.runs:
            raise InputError(
                f"{self.path} holds {self.manifest.runs} runs, but {self.study.runs} are asked for. Ask for"
                " at least as many."
            )
        bad = [name for name, digest in self.manifest.files.items() if not intact(self.path, name, digest)]
        if bad:
            self.tell(f"{self.path} is damaged: {_listed(bad)}. What was lost is computed anew.")
        size, lost = chunk_runs(self.study), set(bad)
        for point in range(self.study.points):
            for chunk in range(-(-self.manifest.runs // size)):
                if not any(
                    file in lost or file not in self.manifest.files
                    for _, file in chunk_files(self.study, point, chunk)
                ):
                    self._add(
                        point, StoredRuns(chunk * size, min((chunk + 1) * size, self.manifest.runs), None)
                    )
        self.complete = not bad and self.manifest.runs == self.study.runs

    def _look_into_study_file(self) -> None:
        """study.json says in words to which study the blocks belong, whose mark they carry themselves.
        Without any block it is no reason to refuse another study."""
        head = self.folder / STUDY_FILE
        if head.exists() and self._has_blocks():
            said = _study_in_file(head)
            if said is not None:
                return self._same_study(said["study"], said["made_with"])
            self.tell(f"{head} is damaged. It is written anew.")
        if not self.complete:
            said = {"study": self.study.plain(), "made_with": made_with(self.study.fixed["device"])}
            write_durably(head, json.dumps({**said, "sha256": _digest(said)}, indent=1).encode())

    def _look_into_blocks(self) -> None:
        (self.folder / BLOCKS).mkdir(exist_ok=True)
        # After a power cut the folders that hold the blocks must still be there.
        for folder in (self.folder, self.folder.parent):
            sync(folder)
        for file in sorted((self.folder / BLOCKS).glob("*.block")):
            if file.is_dir():
                raise InputError(f"{file} is a folder, where the file of a block belongs. Move it away.")
            try:
                mark, block, found = read_block(file)
                if mark == self.identity:
                    self._check_block(block, found.arrays)
            except Damaged as damage:
                self.tell(f"{file} is damaged: {damage}. Its runs are computed anew.")
                file.unlink(missing_ok=True)
                continue
            if mark != self.identity:
                raise InputError(
                    f"{file} belongs to another study, or to other versions. Choose another store, or move"
                    f" {self.folder} away."
                )
            if block.last > self.study.runs:
                raise InputError(
                    f"{self.folder} holds runs up to {block.last}, but {self.study.runs} are asked for."
                    " Ask for at least as many."
                )
            self._add(block.point, StoredRuns(block.first, block.last, file))
            self.processors.add(found.processor)

    def _check_block(self, block: Block, arrays: Arrays) -> None:
        runs = block.last - block.first
        wanted = {name: (one.dtype, (runs, *one.shape)) for name, one in layout(self.study).items()}
        if (
            not 0 <= block.point < self.study.points
            or block.first < 0
            or {name: (array.dtype.name, array.shape) for name, array in arrays.items()} != wanted
        ):
            raise Damaged("it does not hold what the study measures")

    def _has_blocks(self) -> bool:
        return any((self.folder / BLOCKS).glob("*.block"))

    def _same_study(self, old: dict[str, Any] | None, versions: dict[str, str] | None = None) -> None:
        if old is None:
            return
        differs = differences(old, self.study.plain())
        if versions is not None and versions != made_with(self.study.fixed["device"]):
            differs += [
                f"{WHAT_CHANGED.get(name, name)} was {versions.get(name)}, now {new}"
                for name, new in made_with(self.study.fixed["device"]).items()
                if versions.get(name) != new
            ]
        if differs:
            help = "Only the number of runs may grow. Choose another store."
            if self.path.exists():
                help += (
                    f" What {self.path.name} holds can still be read and drawn:"
                    f" nucleate.load({str(self.path)!r}).plot()."
                )
            raise InputError(f"{self.path} was begun otherwise: {_listed(differs)}. {help}")

    def _add(self, point: int, new: StoredRuns) -> None:
        stored = self.stored[point]
        if stored and new.file is None and stored[-1].file is None and stored[-1].last == new.first:
            stored[-1] = StoredRuns(stored[-1].first, new.last, None)
        else:
            stored.append(new)

    # What is missing

    @property
    def done(self) -> int:
        """Runs that are there."""
        return self.study.points * self.study.runs - sum(last - first for _, first, last in self._gaps())

    def missing(self, runs_per_block: int) -> Iterator[Block]:
        """Blocks of at most so many runs that are still to be computed.  Their edges are multiples of this
        number, but where runs are there already."""
        for point, first, last in self._gaps():
            while first < last:
                end = min(last, (first // runs_per_block + 1) * runs_per_block)
                yield Block(point, first, end)
                first = end

    def _gaps(self) -> list[Block]:
        """The missing runs, each gap as one block."""
        gaps = []
        for point, stored in enumerate(self.stored):
            at = 0
            for one in sorted(stored, key=_by_run):
                if one.first > at:
                    gaps.append(Block(point, at, one.first))
                at = max(at, one.last)
            if at < self.study.runs:
                gaps.append(Block(point, at, self.study.runs))
        return gaps

    # Putting more there

    def keep(self, block: Block, computed: ComputedBlock) -> None:
        """Write a finished block to the disk."""
        file = self.folder / BLOCKS / block_file_name(block)
        write_durably(file, pack_block(self.identity, block, computed))
        self._add(block.point, StoredRuns(block.first, block.last, file))
        if self.processors and computed.processor not in self.processors:
            self.tell(
                f"{self.path} holds runs computed by a processor of another kind,"
                f" {' and '.join(sorted(self.processors))}, and now gets some of {computed.processor}. Their"
                " last bits may differ; the store names all kinds."
            )
        self.processors.add(computed.processor)

    def finish(self) -> None:
        """Assemble the finished store if it is not there yet, and remove the partial one."""
        if not self.complete:
            for stored in self.stored:
                stored.sort(key=_by_run)
            try:
                assemble(self.study, _RunReader(self), self.folder / ASSEMBLED, sorted(self.processors))
                put_in_place(self.folder / ASSEMBLED, self.path, self.folder / REPLACED)
            except BaseException:
                shutil.rmtree(self.folder / ASSEMBLED, ignore_errors=True)
                raise
        for name in (BLOCKS, REPLACED, ASSEMBLED):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (STUDY_FILE, LOCK_FILE):
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def abandon(self) -> None:
        """The study is not finished.  If no block was computed either, nothing is left behind."""
        if not self._has_blocks():
            with suppress(OSError):
                (self.folder / BLOCKS).rmdir()
                (self.folder / STUDY_FILE).unlink(missing_ok=True)


class _RunReader:
    """Reads runs of any point from blocks and the old store.  They are asked for in order, so that it is
    enough to hold the last block or chunk that was read."""

    def __init__(self, partial_store: PartialStore) -> None:
        self.partial_store = partial_store
        self.held: tuple[object, Arrays] = (None, {})  # which one, and its arrays

    def __call__(self, point: int, first: int, last: int) -> Arrays:
        found: list[Arrays] = []
        at = first
        for stored in self.partial_store.stored[point]:
            while stored.first <= at < min(stored.last, last):
                begin, arrays = self._holding(point, stored, at)
                end = min(begin + len(arrays["status"]), stored.last, last)
                found.append({name: array[at - begin : end - begin] for name, array in arrays.items()})
                at = end
        if at < last:
            raise Damaged(f"runs {at} to {last - 1} of point {point} are gone")
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    def _holding(self, point: int, stored: StoredRuns, run: int) -> tuple[int, Arrays]:
        """The block or chunk with this run: the number of its first run, and its arrays."""
        size = chunk_runs(self.partial_store.study)
        key = stored.file or (point, run // size)
        if self.held[0] != key:
            self.held = key, self._read(point, stored, run // size)
        return (stored.first if stored.file else run // size * size), self.held[1]

    def _read(self, point: int, stored: StoredRuns, chunk: int) -> Arrays:
        if stored.file is None:
            old = self.partial_store
            assert old.manifest is not None
            return read_chunk(old.study, old.manifest, old.path, point, chunk)
        try:
            return read_block(stored.file)[2].arrays
        except Damaged as damage:
            raise Damaged(f"{stored.file}: {damage}") from None


def _study_in_file(path: Path) -> dict[str, Any] | None:
    """What study.json of the partial store says; None if it is damaged."""
    try:
        said = read_json(path)
        digest = said.pop("sha256")
    except (InputError, KeyError):
        return None
    whole = isinstance(said.get("study"), dict) and isinstance(said.get("made_with"), dict)
    return said if whole and digest == _digest(said) else None


def _digest(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _study_in_attributes(path: Path) -> dict[str, Any] | None:
    """The study in the attributes of a finished store, if they can be read."""
    try:
        said = json.loads(read_json(path / "zarr.json")["attributes"]["study"])
        return said if isinstance(said, dict) else None
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _listed(words: list[str]) -> str:
    more = len(words) - MAX_LISTED
    return "; ".join(words[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")
