"""A .npz file, read as if its author meant harm: all sizes are known, and agree, before an array is read.

It is a zip file of .npy files. What the end of the file, the table of contents and the head of each .npy file
say must fit together; pickles are never opened.
"""

import struct
import zipfile
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, check_memory, regular_file
from nucleate.parse.npy_head import NpyHead, npy_head

__all__ = ["npz_heads", "npz_names", "read_npz"]

MAX_ARRAYS = 256  # the most that a file of ours has is 105
MAX_CONTENTS_BYTES = 2**16  # of the table of contents
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1  # a flag of a file in a zip file
KINDS = "biufcU"  # of dtypes: numbers and texts of fixed length
# of the zip format: the end of the file; in large files before it a place, and the end in larger numbers
END, PLACE, LARGE_END = struct.Struct("<4s4H2LH"), struct.Struct("<4sLQL"), struct.Struct("<4sQ2H2L4Q")


def npz_names(path: Path) -> set[str]:
    """The names of the arrays."""
    with _opened(path) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


def npz_heads(path: Path) -> dict[str, NpyHead]:
    """Shape and dtype of every array."""
    with _opened(path) as archive:
        return _heads(path, archive)


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays by name, after their sizes were checked."""
    with _opened(path) as archive:
        heads = _heads(path, archive)
        check_memory(sum(prod(shape) * dtype.itemsize for shape, dtype in heads.values()), str(path))
        return {name: _array(archive, name) for name in heads}


def _opened(path: Path) -> zipfile.ZipFile:
    _check_end(path, regular_file(path))
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        _refuse(path, str(error)[:80] or "it is no zip file")


def _check_end(path: Path, size: int) -> None:
    """The end of the file announces a table of contents that is small; zipfile would read any."""
    length = LARGE_END.size + PLACE.size + END.size
    with path.open("rb") as file:
        file.seek(max(0, size - length))
        tail = file.read(length).rjust(length, b"\0")
    mark, _, _, _, entries, contents, _, comment = END.unpack(tail[-END.size :])
    if mark != b"PK\x05\x06" or comment:
        _refuse(path, "it is no zip file as NumPy writes them")
    mark, _, place, _ = PLACE.unpack(tail[-END.size - PLACE.size : -END.size])
    if mark == b"PK\x06\x07":
        large = LARGE_END.unpack(tail[: LARGE_END.size])
        if large[0] != b"PK\x06\x06" or place != size - length:
            _refuse(path, "its end is damaged")
        entries, contents = large[7], large[8]
    if entries > MAX_ARRAYS or contents > MAX_CONTENTS_BYTES:
        _refuse(path, f"it announces {entries} arrays in a table of {contents} bytes")


def _heads(path: Path, archive: zipfile.ZipFile) -> dict[str, NpyHead]:
    """Shape and dtype of every array, which fit the size that the table of contents says."""
    members = archive.infolist()
    if len({member.filename for member in members}) != len(members):
        _refuse(path, "it holds two arrays of one name")
    if sum(member.compress_size for member in members) > path.stat().st_size:
        _refuse(path, "its arrays share bytes")
    found = {}
    for member in members:
        name, shown = member.filename.removesuffix(".npy"), repr(member.filename[:40])
        if name == member.filename or member.compress_type not in METHODS or member.flag_bits & ENCRYPTED:
            _refuse(path, f"{shown} in it is no array as NumPy writes them")
        try:
            with archive.open(member) as file:
                shape, dtype = npy_head(file)
                begin = file.tell()
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
            _refuse(path, f"the head of {shown} in it is damaged: {str(error)[:80]}")
        except Exception as error:  # zlib, struct and tokenize have errors of their own
            _refuse(path, f"the head of {shown} in it is damaged: {type(error).__name__}")
        if dtype.kind not in KINDS:
            _refuse(path, f"{shown} in it holds {str(dtype)[:40]}, and only numbers and texts are read")
        if prod(shape) * dtype.itemsize != member.file_size - begin:
            _refuse(path, f"{shown} in it has {member.file_size - begin} bytes, but its shape is {shape}")
        found[name] = NpyHead(shape, dtype)
    return found


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _refuse(path: Path, reason: str) -> NoReturn:
    raise InputError(
        f"{path} is not opened: {reason}. It is damaged or was made to harm; get it again from where it came."
    )
