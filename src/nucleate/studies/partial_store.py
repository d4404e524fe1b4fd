"""What there is of an ensemble: blocks in the folder of parts, chunks of the finished store; and what is
still missing.

out.zarr          the finished store
out.zarr.parts    only while there is work to do: study.json, the lock, a file per block, and the store being
                  assembled
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

from nucleate.checks import FileError, InputError, MissingFileError
from nucleate.studies.block import Arrays, Task, identity, made_with
from nucleate.studies.durable_files import PART, Damaged, block_name, pack, read_block, sync, write
from nucleate.studies.store import (
    Manifest,
    assemble,
    chunk_files,
    chunk_runs,
    holds_ensemble,
    intact,
    put_in_place,
    read_chunk,
    read_manifest,
)
from nucleate.studies.study import Study, differences

__all__ = ["Shelf", "Tell", "check_store", "parts_of"]

Tell = Callable[[str], None]

HEAD, BLOCKS, NEW, OLD = "study.json", "blocks", "assembled", "old"


class Piece(NamedTuple):
    """Runs that are there: a block's file, or runs of the finished store."""

    first: int
    last: int
    file: Path | None  # None: in the store


def _order(piece: Piece) -> tuple[int, int]:
    return piece.first, piece.last


def parts_of(path: Path) -> Path:
    """The folder of parts beside a store."""
    return path.with_name(path.name + ".parts")


def check_store(path: str | os.PathLike[str]) -> Path:
    """`path`, if an ensemble can be kept there."""
    path = Path(path)
    if path.suffix.lower() != ".zarr":
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'}, but an ensemble is kept as .zarr. Name it"
            f" {path.with_suffix('.zarr').name}, say."
        )
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
    return path


class Shelf:
    """The runs of one study that are there.  Only the process that holds the lock may have one."""

    def __init__(self, study: Study, path: Path, tell: Tell) -> None:
        self.study, self.path, self.parts, self.tell = study, path, parts_of(path), tell
        self.identity = identity(study)
        self.pieces: list[list[Piece]] = [[] for _ in range(study.points)]
        self.manifest: Manifest | None = None
        self.whole = False  # whether the finished store is all there and as it was written
        self._tidy()
        self._look_into_store()
        self._look_into_head()
        self._look_at_blocks()

    # What is there

    def _tidy(self) -> None:
        """Undo what a crash left half done."""
        if not self.path.exists() and (self.parts / OLD).exists():
            os.rename(self.parts / OLD, self.path)
        for name in (OLD, NEW):
            shutil.rmtree(self.parts / name, ignore_errors=True)
        for file in self.parts.rglob(f"*{PART}"):
            with suppress(OSError):
                file.unlink()

    def _look_into_store(self) -> None:
        if not self.path.exists():
            return
        try:
            self.manifest = read_manifest(self.path)
        except Damaged as damage:
            self._same_study(_told_by_root(self.path))
            self.tell(f"{self.path} is damaged: {damage}. All its runs are computed anew.")
            return
        self._same_study(self.manifest.study, self.manifest.made_with)
        if self.manifest.runs > self.study.runs:
            raise InputError(
                f"{self.path} holds {self.manifest.runs} runs, but {self.study.runs} are asked for. Ask for"
                " at least as many."
            )
        bad = [name for name, digest in self.manifest.files.items() if not intact(self.path, name, digest)]
        if bad:
            self.tell(f"{self.path} is damaged: {_some(bad)}. What was lost is computed anew.")
        size, lost = chunk_runs(self.study), set(bad)
        for point in range(self.study.points):
            for chunk in range(-(-self.manifest.runs // size)):
                if not any(
                    file in lost or file not in self.manifest.files
                    for _, file in chunk_files(self.study, point, chunk)
                ):
                    self._add(point, Piece(chunk * size, min((chunk + 1) * size, self.manifest.runs), None))
        self.whole = not bad and self.manifest.runs == self.study.runs

    def _look_into_head(self) -> None:
        """study.json says in words what the blocks belong to; they carry the mark of it themselves.  With no
        block it binds nobody."""
        head = self.parts / HEAD
        if head.exists() and self._has_blocks():
            told = _told_by_head(head)
            if told is not None:
                return self._same_study(told["study"], told["made_with"])
            self.tell(f"{head} is damaged. It is written anew.")
        if not self.whole:
            told = {"study": self.study.plain(), "made_with": made_with()}
            write(head, json.dumps({**told, "sha256": _digest(told)}, indent=1).encode())

    def _look_at_blocks(self) -> None:
        (self.parts / BLOCKS).mkdir(exist_ok=True)
        # a power cut must not take the folders that blocks are in
        for folder in (self.parts, self.parts.parent):
            sync(folder)
        for file in sorted((self.parts / BLOCKS).glob("*.block")):
            try:
                mark, task, _ = read_block(file)
            except Damaged as damage:
                self.tell(f"{file} is damaged: {damage}. Its runs are computed anew.")
                file.unlink(missing_ok=True)
                continue
            if mark != self.identity:
                raise InputError(
                    f"{file} belongs to another study, or to other versions. Choose another store, or move"
                    f" {self.parts} away."
                )
            if task.last > self.study.runs:
                raise InputError(
                    f"{self.parts} holds runs up to {task.last}, but {self.study.runs} are asked for. Ask for"
                    " at least as many."
                )
            self._add(task.point, Piece(task.first, task.last, file))

    def _has_blocks(self) -> bool:
        return any((self.parts / BLOCKS).glob("*.block"))

    def _same_study(self, old: dict[str, Any] | None, versions: dict[str, str] | None = None) -> None:
        if old is None:
            return
        differs = differences(old, self.study.plain())
        if versions is not None and versions != made_with():
            differs += [
                f"{name} was {versions.get(name)}, now {new}"
                for name, new in made_with().items()
                if versions.get(name) != new
            ]
        if differs:
            help = "Only the number of runs may grow. Choose another store."
            if self.path.exists():
                help += (
                    f" What {self.path.name} holds can still be read and drawn:"
                    f" nucleate.load({str(self.path)!r}).plot()."
                )
            raise InputError(f"{self.path} was begun otherwise: {_some(differs)}. {help}")

    def _add(self, point: int, piece: Piece) -> None:
        pieces = self.pieces[point]
        if pieces and piece.file is None and pieces[-1].file is None and pieces[-1].last == piece.first:
            pieces[-1] = Piece(pieces[-1].first, piece.last, None)
        else:
            pieces.append(piece)

    # What is missing

    @property
    def done(self) -> int:
        """Runs that are there."""
        return self.study.points * self.study.runs - sum(last - first for _, first, last in self._gaps())

    def missing(self, block: int) -> Iterator[Task]:
        """Blocks of at most `block` runs that are still to be computed.  Their edges are multiples of `block`
        where nothing is in the way."""
        for point, first, last in self._gaps():
            while first < last:
                end = min(last, (first // block + 1) * block)
                yield Task(point, first, end)
                first = end

    def _gaps(self) -> list[Task]:
        gaps = []
        for point, pieces in enumerate(self.pieces):
            at = 0
            for piece in sorted(pieces, key=_order):
                if piece.first > at:
                    gaps.append(Task(point, at, piece.first))
                at = max(at, piece.last)
            if at < self.study.runs:
                gaps.append(Task(point, at, self.study.runs))
        return gaps

    # Putting more there

    def keep(self, task: Task, arrays: Arrays) -> None:
        """A finished block goes to the disk."""
        file = self.parts / BLOCKS / block_name(task)
        write(file, pack(self.identity, task, arrays))
        self._add(task.point, Piece(task.first, task.last, file))

    def finish(self) -> None:
        """Assemble the store if it is not there yet, and remove the parts."""
        if not self.whole:
            for pieces in self.pieces:
                pieces.sort(key=_order)
            try:
                assemble(self.study, _Rows(self), self.parts / NEW)
                put_in_place(self.parts / NEW, self.path, self.parts / OLD)
            except BaseException:
                shutil.rmtree(self.parts / NEW, ignore_errors=True)
                raise
        for name in (BLOCKS, OLD, NEW):
            shutil.rmtree(self.parts / name, ignore_errors=True)
        for name in (HEAD, "lock"):
            (self.parts / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.parts.rmdir()

    def leave(self) -> None:
        """Nothing is finished.  If nothing was computed either, no parts are left behind."""
        if not self._has_blocks():
            with suppress(OSError):
                (self.parts / BLOCKS).rmdir()
                (self.parts / HEAD).unlink(missing_ok=True)


class _Rows:
    """Rows of any point from wherever they are.  Points and runs come in order, so one block and one chunk
    are held at a time."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.held: tuple[object, Arrays] = (None, {})

    def __call__(self, point: int, first: int, last: int) -> Arrays:
        parts: list[Arrays] = []
        at = first
        for piece in self.shelf.pieces[point]:
            while piece.first <= at < min(piece.last, last):
                begin, arrays = self._piece(point, piece, at)
                end = min(begin + len(arrays["status"]), piece.last, last)
                parts.append({name: array[at - begin : end - begin] for name, array in arrays.items()})
                at = end
        if at < last:
            raise Damaged(f"runs {at} to {last - 1} of point {point} are gone")
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _piece(self, point: int, piece: Piece, at: int) -> tuple[int, Arrays]:
        """The number of the first run that is held, and the arrays."""
        size = chunk_runs(self.shelf.study)
        key = piece.file or (point, at // size)
        if self.held[0] != key:
            self.held = key, self._read(point, piece, at // size)
        return (piece.first if piece.file else at // size * size), self.held[1]

    def _read(self, point: int, piece: Piece, chunk: int) -> Arrays:
        if piece.file is None:
            assert self.shelf.manifest is not None
            return read_chunk(self.shelf.study, self.shelf.manifest, self.shelf.path, point, chunk)
        try:
            return read_block(piece.file)[2]
        except Damaged as damage:
            raise Damaged(f"{piece.file}: {damage}") from None


def _told_by_head(path: Path) -> dict[str, Any] | None:
    """The study in the folder of parts; None if it is damaged."""
    try:
        told = json.loads(path.read_bytes())
        digest = told.pop("sha256")
    except (OSError, ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None
    return told if digest == _digest(told) else None


def _digest(told: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _told_by_root(path: Path) -> dict[str, Any] | None:
    """The study as the store's own attributes tell it, if they can be read."""
    try:
        told = json.loads(json.loads((path / "zarr.json").read_bytes())["attributes"]["study"])
        return told if isinstance(told, dict) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _some(words: list[str], most: int = 5) -> str:
    return "; ".join(words[:most]) + (f"; and {len(words) - most} more" if len(words) > most else "")
