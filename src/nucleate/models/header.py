"""The header of a safetensors file, read as if its author meant harm: every number is checked before it is
used.

A file is 8 bytes (the header's length, little-endian), the header (JSON: name -> dtype, shape, data_offsets)
and the data, without a gap.
"""

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from nucleate.checks import InputError, file_error, regular_file

__all__ = ["MAX_SIZE", "MAX_TENSORS", "Entry", "parse_json", "read_header", "refuse_pickle"]

MAX_HEADER_BYTES = 2**24  # room for 50,000 names of 200 letters with their numbers
MAX_TENSORS = 50_000  # in one file; the largest published models have a few thousand per file
MAX_DIMENSIONS = 32
MAX_SIZE = 2**48  # of an axis, or of a place in the file
BITS_PER_NUMBER = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "U16": 16,
    "I16": 16,
    "F16": 16,
    "BF16": 16,
}
BITS_PER_NUMBER |= {"U32": 32, "I32": 32, "F32": 32, "U64": 64, "I64": 64, "F64": 64, "C64": 64}
# how pickles begin, and the zip files torch puts them in
PICKLE_BEGINNINGS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04", b"PK\x05\x06")
ENTRY_KEYS = {"dtype", "shape", "data_offsets"}


@dataclass(frozen=True)
class Entry:
    """Where one tensor lies in its file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int  # bytes from the start of the file
    end: int


def parse_json(path: Path, raw: bytes, what: str) -> dict[str, Any]:
    """A JSON object without repeated names; InputError for anything else."""

    def no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            double = Counter(name for name, _ in pairs).most_common(1)[0][0]
            _refuse(path, f"{what} has the name {double[:80]!r} twice")
        return found

    try:
        parsed = json.loads(raw.decode("utf-8"), object_pairs_hook=no_doubles)
    except UnicodeDecodeError:
        _refuse(path, f"{what} is not UTF-8")
    except InputError:
        raise
    except (ValueError, RecursionError, MemoryError):
        # not JSON, numbers of thousands of digits, brackets without end
        _refuse(path, f"{what} is not JSON")
    if not isinstance(parsed, dict):
        _refuse(path, f"{what} is not a JSON object")
    return parsed


def read_header(path: Path) -> dict[str, Entry]:
    """Every tensor of a safetensors file by its name, with its bytes inside the file and shared with no
    other."""
    size = regular_file(path)
    try:
        with path.open("rb") as file:
            first = file.read(8)
            if first.startswith(PICKLE_BEGINNINGS):
                refuse_pickle(path)
            length = int.from_bytes(first, "little")
            if len(first) < 8:
                _refuse(path, f"it has {size} bytes, which is too few for a header")
            if length > MAX_HEADER_BYTES or length > size - 8:
                _refuse(
                    path,
                    f"it announces a header of {length} bytes, but has {size} bytes, and {MAX_HEADER_BYTES}"
                    " are the most that is read",
                )
            raw = file.read(length)
    except OSError as error:
        raise file_error(
            f"{path} cannot be read: {error.strerror}. Check that you may read it.", error
        ) from None
    if len(raw) < length or not raw.startswith(b"{"):
        _refuse(path, "its header does not start with a brace")
    table = parse_json(path, raw, "its header")
    _check_metadata(path, table.pop("__metadata__", {}))
    if len(table) > MAX_TENSORS:
        _refuse(path, f"it names {len(table)} tensors, and {MAX_TENSORS} are the most that is read")
    start = 8 + length
    found = {name: _entry(path, name, value, start, size) for name, value in table.items()}
    _check_tiling(path, found, start, size)
    return found


def refuse_pickle(path: Path) -> NoReturn:
    """Pickles can run any program when they are opened; they are never opened here."""
    right, made = path.with_suffix(".bin"), path.with_suffix(".safetensors")
    misnamed = path.suffix.lower() == ".safetensors"
    source = right if misnamed else path
    raise InputError(
        f"{path} is a pickle, as PyTorch writes them, and opening a pickle can run any program, so it is not"
        " opened. "
        + (f"Rename it first: mv -n {shlex.quote(str(path))} {shlex.quote(str(right))}\n" if misnamed else "")
        + f"Convert it once: nucleate convert {shlex.quote(str(source))} --out {shlex.quote(str(made))}"
    )


def _refuse(path: Path, reason: str) -> NoReturn:
    raise InputError(
        f"{path} cannot be used: {reason}. The file is damaged or was made to harm; get it again from where"
        " it came."
    )


def _check_metadata(path: Path, metadata: Any) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        _refuse(path, "its __metadata__ is not made of texts")


def _entry(path: Path, name: str, value: Any, start: int, size: int) -> Entry:
    """One tensor; its numbers agree with each other and with the size of the file."""
    shown = repr(name[:80])
    if not isinstance(value, dict) or value.keys() != ENTRY_KEYS:
        _refuse(path, f"tensor {shown} is not described by dtype, shape and data_offsets alone")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BITS_PER_NUMBER:
        _refuse(path, f"tensor {shown} has the unknown dtype {str(dtype)[:40]!r}")
    if not _counts(shape) or len(shape) > MAX_DIMENSIONS:
        _refuse(path, f"tensor {shown} has a shape that is no list of sizes")
    if not _counts(offsets) or len(offsets) != 2:
        _refuse(path, f"tensor {shown} has data_offsets that are no two places")
    begin, end = offsets
    if not begin <= end <= size - start:
        _refuse(path, f"tensor {shown} reaches from byte {begin} to byte {end} of {size - start}")
    if end - begin != prod(shape) * BITS_PER_NUMBER[dtype] // 8:
        _refuse(path, f"tensor {shown} of shape {shape} and dtype {dtype} has {end - begin} bytes")
    return Entry(dtype, tuple(shape), start + begin, start + end)


def _counts(values: Any) -> bool:
    """Whether these are a list of whole numbers from 0 to 2^48: True and 1.0 are not."""
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= MAX_SIZE for value in values)


def _check_tiling(path: Path, found: dict[str, Entry], start: int, size: int) -> None:
    """The tensors lie one after the other and fill the file: no byte is shared, none is left over to hide
    something in."""
    ordered = sorted(found.items(), key=lambda pair: (pair[1].begin, pair[1].end))
    edges = [("the header", Entry("", (), 0, start)), *ordered, ("the end", Entry("", (), size, size))]
    for (name, one), (other, two) in pairwise(edges):
        if one.end != two.begin:
            _refuse(
                path, f"{name[:80]!r} ends at byte {one.end}, but {other[:80]!r} begins at byte {two.begin}"
            )
