"""The finished ensemble: a Zarr store (format 3) that plain xarray opens, and the checksums of all its files.

Axes are those of the grid, then the run, then those of the observable.  Chunks hold one point and a number of
runs that depends on the study alone.  Every chunk is written, even if it holds fill values only, so that a
missing one is a damaged one.  The checksums stand in the attributes of a subgroup, where Zarr allows them and
xarray does not look.
"""

import hashlib
import json
import math
import os
import re
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, check_memory, read_file, regular_file
from nucleate.integrate.zarr_files import JSON_GROWTH, MAX_JSON_BYTES, decode_zstd, most_bytes
from nucleate.studies.block import STATUS, Arrays, identity, made_with, padded_shape
from nucleate.studies.durable_files import Damaged, sync, write_bytes
from nucleate.studies.study import PARAMETERS, Study

__all__ = [
    "FORMAT",
    "RUN_AGAIN",
    "Manifest",
    "assemble",
    "chunk_files",
    "chunk_runs",
    "damaged_store",
    "holds_ensemble",
    "intact",
    "layout",
    "put_in_place",
    "read_chunk",
    "read_manifest",
]

FORMAT = "nucleate ensemble 1"
CHECKSUMS_FILE = "checksums/zarr.json"
CHUNK_BYTES = 2**20  # of the largest variable, about
MAX_RUNS_PER_CHUNK = 1024
COORDINATE_CHUNK_LENGTH = 2**16
ZSTD_LEVEL = 3
FILE_NAME = re.compile(r"(?!\.)[^/\0]+(/(?!\.)[^/\0]+)*")  # inside the store, and not hidden
RUN_AGAIN = "Run the same command again, which computes anew what is damaged."


class Variable(NamedTuple):
    """A variable with one value, or array, per run."""

    dims: tuple[str, ...]  # after those of grid and run
    shape: tuple[int, ...]
    dtype: str
    attrs: dict[str, Any]


class Manifest(NamedTuple):
    """What a finished store says about itself."""

    identity: str
    runs: int
    study: dict[str, Any]
    made_with: dict[str, str]
    files: dict[str, str]  # sha256 by name
    processors: list[str]  # the kinds that computed the runs


ReadRuns = Callable[[int, int, int], Arrays]  # point, first, last -> the arrays of these runs


@lru_cache(maxsize=4)
def layout(study: Study) -> dict[str, Variable]:
    """Every variable with a value per run."""
    codes = list(range(len(STATUS)))
    meanings = " ".join(name.replace(" ", "_") for name in STATUS)
    ended: dict[str, Any] = {
        "long_name": "how the run ended",
        "flag_values": codes,
        "flag_meanings": meanings,
    }
    variables = {
        "status": Variable((), (), "int8", ended),
        "steps": Variable((), (), "int64", {"long_name": "accepted steps of the solver", "units": "1"}),
    }
    point, times = study.point(0), study.times
    for one in study.observables:
        shape = padded_shape(study, one.dims, one.shape(point, times))
        variables[one.name] = Variable(
            one.dims, shape, "float64", {"long_name": one.about, "units": "1", **_plain(one.plain())}
        )
    return variables


@lru_cache(maxsize=4)
def chunk_runs(study: Study) -> int:
    """Runs per chunk: a power of two, about a megabyte of the largest variable."""
    row_bytes = max(np.dtype(one.dtype).itemsize * math.prod(one.shape) for one in layout(study).values())
    return min(2 ** math.floor(math.log2(max(CHUNK_BYTES / row_bytes, 1.0))), MAX_RUNS_PER_CHUNK)


def assemble(study: Study, read_runs: ReadRuns, path: Path, processors: list[str]) -> None:
    """Write the finished store to `path`, which must not be there, and flush it to the disk.

    processors   the kinds that computed the runs
    """
    import zarr

    group = zarr.open_group(_writer(path), mode="w-", zarr_format=3)
    _coordinates(group, study)
    variables, size = layout(study), chunk_runs(study)
    arrays = {
        name: _create(
            group,
            name,
            (*study.shape, study.runs, *one.shape),
            (*(1 for _ in study.shape), size, *one.shape),
            one.dtype,
            _dims(study, one),
            one.attrs,
        )
        for name, one in variables.items()
    }
    status_counts: Counter[str] = Counter()
    for point in range(study.points):
        where = tuple(int(i) for i in np.unravel_index(point, study.shape)) if study.grid else ()
        for first in range(0, study.runs, size):
            last = min(first + size, study.runs)
            values = read_runs(point, first, last)
            for name, array in arrays.items():
                array[(*where, slice(first, last))] = values[name]
            status_counts.update(STATUS[code] for code in values["status"].tolist())
    group.attrs.update({**_attributes(study, status_counts), "processors": processors})
    with warnings.catch_warnings():
        # Zarr warns that consolidated metadata are not in the specification yet; readers that know them are
        # faster, and others do not look at them.
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(group.store, zarr_format=3)
    _write_checksums(study, path, processors)


def _writer(path: Path) -> Any:
    """Zarr's local store, with every byte going through our own `write_bytes`: errors carry the path, and
    tests can make any write fail."""
    from zarr.storage import LocalStore

    class Writer(LocalStore):
        async def set(self, key: str, value: Any) -> None:
            target = self.root / key
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, value.to_bytes())

        async def set_if_not_exists(self, key: str, value: Any) -> None:
            if not (self.root / key).exists():
                await self.set(key, value)

    path.mkdir(parents=True)
    return Writer(path)


def _create(
    group: Any,
    name: str,
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    dtype: str,
    dims: tuple[str, ...],
    attrs: dict[str, Any],
) -> Any:
    from zarr.codecs import Crc32cCodec, ZstdCodec

    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(1, size) for size in chunks),
        dtype=dtype,
        fill_value=np.nan if dtype == "float64" else 0,
        compressors=[ZstdCodec(level=ZSTD_LEVEL), Crc32cCodec()],
        dimension_names=dims,
        attributes=attrs,
        config={"write_empty_chunks": True},
    )


def _dims(study: Study, one: Variable) -> tuple[str, ...]:
    return (*study.grid, "run", *one.dims)


def _coordinates(group: Any, study: Study) -> None:
    """The values along the axes of the grid, the numbers of the runs, and the times."""

    def put(name: str, values: NDArray[Any], attrs: dict[str, Any]) -> None:
        chunk = min(len(values), COORDINATE_CHUNK_LENGTH) if name != "run" else COORDINATE_CHUNK_LENGTH
        _create(group, name, values.shape, (chunk,), values.dtype.name, (name,), attrs)[:] = values

    for name in study.grid:
        values, labels = study.coordinate(name)
        about: dict[str, Any] = {"long_name": PARAMETERS[name].about}
        put(name, values, about | ({"units": "1"} if labels is None else {"labels": labels}))
    put(
        "run",
        np.arange(study.runs),
        {"long_name": "number of the run; its random stream is SeedSequence(seed, spawn_key=(run,))"},
    )
    put("time", study.times, {"long_name": "time, which is depth", "units": "1"})


def _attributes(study: Study, status_counts: Counter[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "title": study.title,
        "runs": study.runs,
        "seed": study.seed,
        "ended": {name: status_counts[name] for name in STATUS if status_counts[name]},
        "study": json.dumps(study.plain()),
        "made_with": json.dumps(made_with()),
    }


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, str | int | float | bool) else json.dumps(value)
        for key, value in table.items()
        if key != "about"
    }


# Checksums


def _write_checksums(study: Study, path: Path, processors: list[str]) -> None:
    """Write the checksums, and flush every file and folder to the disk."""
    files = {}
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        files[file.relative_to(path).as_posix()] = hashlib.sha256(file.read_bytes()).hexdigest()
        sync(file)
    content = {
        "identity": identity(study),
        "runs": study.runs,
        "study": study.plain(),
        "made_with": made_with(),
        "files": files,
        "processors": processors,
    }
    (path / CHECKSUMS_FILE).parent.mkdir()
    write_bytes(path / CHECKSUMS_FILE, _checksums_json(content))
    sync(path / CHECKSUMS_FILE)
    for folder in [path, *(one for one in path.rglob("*") if one.is_dir())]:
        sync(folder)


def _checksums_json(content: dict[str, Any]) -> bytes:
    text = json.dumps(content)
    attributes = {"format": FORMAT, **content, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=0).encode()


def read_manifest(path: Path) -> Manifest:
    """The checksums of a finished store, after their own was compared."""
    try:
        data = read_file(path / CHECKSUMS_FILE, MAX_JSON_BYTES)
        check_memory(JSON_GROWTH * len(data), f"What {path / CHECKSUMS_FILE} holds")
        attributes = json.loads(data)["attributes"]
        content = {key: attributes[key] for key in Manifest._fields if key in attributes}
        if _checksums_json(content) != data:
            raise Damaged(f"{CHECKSUMS_FILE} does not match its own checksum")
        manifest = Manifest(**{"processors": [], **content})  # before 0.2 they were not written down
        if not _is_manifest(manifest):
            raise ValueError
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        raise Damaged(f"{CHECKSUMS_FILE} is missing or damaged") from None
    return manifest


def _is_manifest(manifest: Manifest) -> bool:
    """Whether everything in it is what it ought to be, and no name leads out of the store."""
    identity, runs, study, made_with, files, processors = manifest
    return (
        isinstance(identity, str)
        and type(runs) is int
        and runs > 0
        and isinstance(study, dict)
        and _are_texts([*made_with.keys(), *made_with.values(), *files.values(), *processors])
        and all(FILE_NAME.fullmatch(name) for name in files)
    )


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def intact(path: Path, name: str, digest: str) -> bool:
    """Whether a file of the store holds what was written."""
    try:
        regular_file(path / name)
        with (path / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except (InputError, OSError):
        return False


def holds_ensemble(path: Path) -> bool:
    """Whether a folder carries the mark of an ensemble, damaged or not."""
    for name in ("zarr.json", CHECKSUMS_FILE):
        try:
            if b"nucleate ensemble" in read_file(path / name, MAX_JSON_BYTES):
                return True
        except InputError:
            continue
    return False


def chunk_files(study: Study, point: int, chunk: int) -> Iterator[tuple[str, str]]:
    """The names of the variables, and of the files that hold one chunk of runs of one point."""
    where = [int(i) for i in np.unravel_index(point, study.shape)] if study.grid else []
    for name, one in layout(study).items():
        yield name, "/".join([name, "c", *map(str, [*where, chunk, *(0 for _ in one.shape)])])


def read_chunk(study: Study, manifest: Manifest, path: Path, point: int, chunk: int) -> Arrays:
    """All variables of one chunk of runs; Damaged if a byte is wrong.  Decoded by hand, so that damaged
    metadata cost no results."""
    arrays: Arrays = {}
    variables, size = layout(study), chunk_runs(study)
    for name, file in chunk_files(study, point, chunk):
        if file not in manifest.files or not intact(path, file, manifest.files[file]):
            raise Damaged(f"{file} is missing or damaged")
        shape, dtype = (size, *variables[name].shape), np.dtype(variables[name].dtype).newbyteorder("<")
        count = math.prod(shape) * dtype.itemsize
        try:
            # the last four bytes are Zarr's own checksum
            raw = decode_zstd(read_file(path / file, most_bytes(count))[:-4], count)
        except (InputError, ValueError):
            raise Damaged(f"{file} is missing or damaged") from None
        arrays[name] = np.frombuffer(raw, dtype=dtype).reshape(shape)
    return arrays


# Moving into place


def put_in_place(new: Path, path: Path, old: Path) -> None:
    """Give the store `new` the name `path`; what was there is swapped out in one step where the system can,
    else moved to `old` first."""
    if not path.exists():
        os.rename(new, path)
    elif _exchange(new, path):
        os.rename(new, old)
    else:
        os.rename(path, old)
        os.rename(new, path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Swap two names in one step: Linux's renameat2.  False where there is no such thing."""
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(call(here, os.fsencode(a.absolute()), here, os.fsencode(b.absolute()), exchange) == 0)


def damaged_store(path: Path, why: str) -> InputError:
    """The error for a store that cannot be trusted."""
    return InputError(f"{path} is damaged: {why}. {RUN_AGAIN}")
