"""A folder of Zarr, read as if its author meant harm: its metadata are checked before any array is opened.

Zarr reads what a folder tells it to read with, and some of its codecs run whatever program the data hold. So
only format 3 is opened, with numbers, regular chunks and three codecs: bytes, zstd and crc32c. The sizes of
all chunks are known before one is read. Links, pipes and devices inside the folder are refused.
"""

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from nucleate.checks import FileError, InputError, MissingFileError, check_memory, file_error, read_file

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "StoredArray",
    "StoredGroup",
    "check_zarr",
    "decode_zstd",
    "most_bytes",
    "open_zarr",
    "read_json",
    "read_zarr",
    "refuse_links",
    "zarr_shape",
    "zstd_size",
]

MAX_JSON_BYTES = 2**28  # of one file: the checksums of two million chunks
JSON_GROWTH = 24  # bytes in memory per byte of JSON, at most
MAX_DEPTH = 40  # of folders: an axis of an array takes one
MAX_DIMENSIONS = 32
MAX_SIZE = 2**48  # of an axis
MAX_PADDING_BYTES = 2**24  # that a chunk may reach beyond its array
FORMAT_2_FILES = (".zarray", ".zgroup", ".zattrs", ".zmetadata")
DTYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
DTYPES += ("float16", "float32", "float64", "complex64", "complex128")
CODECS = (["bytes"], ["bytes", "zstd"], ["bytes", "crc32c"], ["bytes", "zstd", "crc32c"])
ARRAY_KEYS = {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "attributes"}
ARRAY_KEYS |= {"dimension_names", "zarr_format", "node_type", "storage_transformers"}
GROUP_KEYS = {"attributes", "zarr_format", "node_type", "consolidated_metadata"}
CHUNK_NAMES = {"name": "default", "configuration": {"separator": "/"}}
CHECKSUM_BYTES = 4  # of crc32c
ZSTD_HEADER_BYTES = 18  # at most
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class StoredArray(NamedTuple):
    """What the metadata of an array say."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]  # the shape of a chunk
    dtype: "np.dtype[Any]"
    codecs: list[str]  # their names
    dims: tuple[str, ...]
    attrs: dict[str, Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of a chunk in memory."""
        return math.prod(self.chunks) * self.dtype.itemsize


class StoredGroup(NamedTuple):
    """What the metadata of a folder say."""

    attrs: dict[str, Any]
    arrays: dict[str, StoredArray]


def read_zarr(path: Path) -> "Dataset":
    """The arrays of a folder, checked and read."""
    group = check_zarr(path)
    check_memory(sum(array.nbytes for array in group.arrays.values()), str(path))
    try:
        return open_zarr(path).load()
    except (InputError, MemoryError):
        raise
    except Exception as error:
        _refuse(path, f"{type(error).__name__} while reading it")


def open_zarr(path: Path) -> "Dataset":
    """The arrays of a folder that `check_zarr` has checked; their numbers are read when they are asked
    for."""
    import xarray

    try:
        return xarray.open_zarr(path, consolidated=False, zarr_format=3, chunks=None, decode_cf=False)
    except MemoryError:
        raise
    except Exception as error:  # damaged bytes can raise anything at all inside the readers
        _refuse(path, f"{type(error).__name__} while reading it")


def check_zarr(path: Path) -> StoredGroup:
    """What the metadata of the folder at `path` say, if it can be opened without harm; else InputError."""
    files = _files(path)
    head = read_json(path / "zarr.json")
    attrs = _node(path, "zarr.json", head, "group", GROUP_KEYS)
    # Zarr looks for arrays in the folders of a group; in deeper ones, and in those of a group, nothing looks.
    heads = {name: read_json(path / name / "zarr.json") for name in files if "zarr.json" in files[name]}
    arrays = {
        name: _array(path, name, array) for name, array in heads.items() if array.get("node_type") != "group"
    }
    _check_consolidated(path, head.get("consolidated_metadata"), heads, list(arrays))
    for name, array in arrays.items():
        for file in files[name]:
            if _is_chunk(file, array):
                _check_chunk(path, f"{name}/{file}", array)
    check_memory(max((array.chunk_nbytes for array in arrays.values()), default=0), f"A chunk of {path}")
    return StoredGroup(attrs, arrays)


def refuse_links(path: Path) -> None:
    """InputError if anything in the folder at `path` is a link, as by check_zarr; all else may be damaged."""
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            if (place := Path(folder, name)).is_symlink():
                _refuse_link(path, place.relative_to(path).as_posix())


def zarr_shape(path: Path, name: str) -> tuple[int, ...]:
    """The shape of one array, from its own metadata alone."""
    return _array(path, name, read_json(path / name / "zarr.json")).shape


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    data = read_file(path, MAX_JSON_BYTES)
    check_memory(JSON_GROWTH * len(data), f"What {path} holds")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError, MemoryError):  # also numbers of thousands of digits, endless brackets
        _refuse(path, "it is not JSON")
    if not isinstance(found, dict):
        _refuse(path, "it is not a JSON object")
    return found


def decode_zstd(data: bytes, size: int) -> bytes:
    """What Zstandard's `data` hold, if they say that it is `size` bytes; else ValueError."""
    from numcodecs.zstd import Zstd

    if zstd_size(data) != size:
        raise ValueError(f"not {size} bytes")
    try:
        found = bytes(Zstd().decode(data))
    except Exception as error:  # each version of numcodecs has its own
        raise ValueError(str(error)) from None
    if len(found) != size:
        raise ValueError(f"not {size} bytes")
    return found


def zstd_size(data: bytes) -> int | None:
    """The bytes that data compressed by Zstandard say they hold (RFC 8878, 3.1.1.1); None if they do not
    say."""
    if len(data) < 6 or not data.startswith(ZSTD_MAGIC):
        return None
    descriptor = data[4]
    one_segment = descriptor >> 5 & 1
    width = (one_segment, 2, 4, 8)[descriptor >> 6]
    begin = 5 + (1 - one_segment)  # after the size of the window
    if descriptor & 0b1011 or not width or len(data) < begin + width:  # a reserved bit, or a dictionary
        return None
    return int.from_bytes(data[begin : begin + width], "little") + (256 if width == 2 else 0)


def most_bytes(size: int) -> int:
    """The bytes of a file that holds `size` bytes, compressed by Zstandard, which then may be more."""
    return size + size // 128 + 1024


def _files(path: Path) -> dict[str, list[str]]:
    """The names of all files in each folder of `path`, with those of its folders: {"x": ["zarr.json",
    "c/0"]}."""
    found: dict[str, list[str]] = {}
    waiting = [""]
    try:
        if not path.is_dir():
            kind = InputError if path.exists() else MissingFileError
            raise kind(f"{path} is no folder. Pass a folder of Zarr, which nucleate wrote.")
        while waiting:
            folder = waiting.pop()
            with os.scandir(path / folder) as entries:
                for entry in entries:
                    name = f"{folder}{entry.name}"
                    _check_entry(path, name, entry)
                    first, _, rest = name.partition("/")
                    if entry.is_dir():
                        waiting.append(f"{name}/")
                        found.setdefault(first, [])
                    elif rest:
                        found[first].append(rest)
    except FileError:  # it has words already
        raise
    except OSError as error:
        where = error.filename or path
        raise file_error(f"{where} cannot be read: {error.strerror}. Check that you may.", error) from None
    return found


def _check_entry(path: Path, name: str, entry: "os.DirEntry[str]") -> None:
    if entry.is_symlink():
        _refuse_link(path, name)
    if not entry.is_dir() and not entry.is_file():
        _refuse(path, f"{name} is neither a file nor a folder")
    if entry.name in FORMAT_2_FILES:
        _refuse(path, f"it holds {name}, which is of Zarr's format 2, and only format 3 is read")
    if name.count("/") > MAX_DEPTH:
        _refuse(path, f"its folders are nested more than {MAX_DEPTH} deep")


def _node(path: Path, file: str, head: dict[str, Any], kind: str, keys: set[str]) -> dict[str, Any]:
    """The attributes of an array or group, whose metadata hold nothing that is not understood."""
    if head.get("zarr_format") != 3:
        _refuse(path, f"{file} is not of Zarr's format 3")
    if head.get("node_type") != kind:
        _refuse(path, f"{file} does not describe an {kind}" if kind == "array" else f"{file} is no group's")
    for key in head.keys() - keys:
        if not (isinstance(head[key], dict) and head[key].get("must_understand") is False):
            _refuse(path, f"{file} has the unknown entry {key[:40]!r}")
    attrs = head.get("attributes", {})
    if not isinstance(attrs, dict):
        _refuse(path, f"the attributes in {file} are no table")
    return attrs


def _array(path: Path, name: str, head: dict[str, Any]) -> StoredArray:
    """An array of numbers whose metadata agree with each other."""
    file = f"{name}/zarr.json"
    attrs = _node(path, file, head, "array", ARRAY_KEYS)
    dtype, grid = head.get("data_type"), head.get("chunk_grid")
    shape: Any = head.get("shape")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        _refuse(path, f"{file} has the dtype {str(dtype)[:60]!r}, and only numbers are read")
    if not _sizes(shape, 0):
        _refuse(path, f"{file} has a shape that is no list of sizes")
    if not isinstance(grid, dict) or grid.get("name") != "regular" or not _is_table(grid, "chunk_shape"):
        _refuse(path, f"{file} has chunks that are not regular")
    chunks = grid["configuration"]["chunk_shape"]
    if not _sizes(chunks, 1) or len(chunks) != len(shape):
        _refuse(path, f"{file} has chunks that do not fit its shape")
    dims = head.get("dimension_names") or [""] * len(shape)
    if not isinstance(dims, list) or len(dims) != len(shape) or not all(isinstance(d, str) for d in dims):
        _refuse(path, f"{file} has names of axes that do not fit its shape")
    if head.get("chunk_key_encoding") != CHUNK_NAMES or head.get("storage_transformers"):
        _refuse(path, f"{file} names or stores its chunks in an unknown way")
    codecs = _codecs(path, file, head.get("codecs"))
    array = StoredArray(tuple(shape), tuple(chunks), np.dtype(dtype), codecs, tuple(dims), attrs)
    if array.chunk_nbytes > max(array.nbytes, MAX_PADDING_BYTES):
        _refuse(path, f"{file} has chunks of {array.chunk_nbytes} bytes for an array of {array.nbytes}")
    return array


def _codecs(path: Path, file: str, codecs: Any) -> list[str]:
    """The names of the codecs, each of which is known to be harmless, in an order that is known."""
    if not isinstance(codecs, list) or not all(isinstance(one, dict) for one in codecs):
        _refuse(path, f"{file} has no list of codecs")
    names = [one.get("name") for one in codecs]
    if names not in CODECS:
        _refuse(
            path,
            f"{file} is to be read by the codecs {str(names)[:80]}, and only bytes, zstd and crc32c, in this"
            " order, are used",
        )
    if not all(one.keys() <= {"name", "configuration"} for one in codecs):
        _refuse(path, f"{file} has a codec with unknown settings")
    return names


def _is_table(value: dict[str, Any], *keys: str) -> bool:
    configuration = value.get("configuration")
    return isinstance(configuration, dict) and list(configuration) == list(keys)


def _sizes(values: Any, least: int) -> bool:
    """Whether these are a list of sizes: True and 1.0 are none."""
    return (
        isinstance(values, list)
        and len(values) <= MAX_DIMENSIONS
        and all(type(value) is int and least <= value <= MAX_SIZE for value in values)
    )


def _check_consolidated(path: Path, found: Any, heads: dict[str, Any], arrays: list[str]) -> None:
    """The copy of all metadata in the group's own, which others may read instead, says the same."""
    if found is None:
        return
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        _refuse(path, "its consolidated metadata are no table")
    for name in {*metadata, *arrays}:
        if metadata.get(name) != heads.get(name):
            _refuse(path, f"its consolidated metadata say something else about {name[:80]!r} than its own")


def _is_chunk(file: str, array: StoredArray) -> bool:
    first, *places = file.split("/")
    return first == "c" and len(places) == len(array.shape) and all(place.isdecimal() for place in places)


def _check_chunk(path: Path, name: str, array: StoredArray) -> None:
    """A chunk's file holds neither less nor more than the chunk."""
    tail = CHECKSUM_BYTES * ("crc32c" in array.codecs)
    file, size = path / name, array.chunk_nbytes
    try:
        with file.open("rb") as opened:
            stored = os.fstat(opened.fileno()).st_size - tail
            head = opened.read(ZSTD_HEADER_BYTES)
    except OSError as error:
        raise file_error(f"{file} cannot be read: {error.strerror}. Check that you may.", error) from None
    compressed = "zstd" in array.codecs
    if stored != size if not compressed else stored > most_bytes(size):
        _refuse(path, f"{name} has {stored} bytes, but a chunk of it {size}")
    if compressed and (inside := zstd_size(head)) != size:
        _refuse(
            path, f"{name} holds {'an unknown number of' if inside is None else inside} bytes, not {size}"
        )


def _refuse_link(path: Path, name: str) -> NoReturn:
    _refuse(
        path,
        f"{name} is a link, and what it leads to may be anything",
        f"To have the files themselves in their places, copy the folder: cp -rL {path} COPY.zarr",
    )


def _refuse(path: Path, reason: str, help: str = "") -> NoReturn:
    raise InputError(
        f"{path} is not opened: {reason}. "
        + (help or "It is damaged or was made to harm; get it again from where it came.")
    )
