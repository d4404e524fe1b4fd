"""Dequantised tensors of GGUF files, kept on the disk and mapped into memory.

A tensor is kept as .npy under the SHA-256 of its bytes in the file, its format and its shape: whatever file
the same bytes come from finds it, and a file that changed never does.  At the end of each .npy stands a
checksum of all before it, looked at once a process: what is damaged is made anew, with one line about it.
The folder is one in the cache of compiled code, where nobody else can write; it holds MAX_BYTES at most, and
what was not used for longest goes first.  Without such a folder everything works, and is dequantised every
time.
"""

import contextlib
import hashlib
import io
import logging
import mmap
import os
import shutil
import stat
import uuid
import zlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nucleate.kernels.code_cache import cache_folder
from nucleate.kernels.private_folder import NotPrivate, own_folder
from nucleate.models.weights import GgufWeights

__all__ = ["WeightCache"]

MAX_BYTES = 2**33  # of all that is kept
FREE_BYTES = 2**31  # of the disk that are always left free
FORMAT = 1  # to be raised when files of another kind are written
CHECKSUM_BYTES = 4
NAME_LETTERS = 64  # of a SHA-256


class WeightCache:
    """The dequantised tensors of one file."""

    def __init__(self, weights: GgufWeights) -> None:
        self._weights = weights
        self._kept: dict[str, tuple[mmap.mmap, NDArray[np.float32]]] = {}
        names = [name for name in weights.shapes if weights.quantised(name)]
        self._quantised = frozenset(names)
        need = sum(4 * int(np.prod(weights.shapes[name])) for name in names)
        self._folder = weights_folder() if 0 < need <= MAX_BYTES else None

    def get(self, name: str) -> NDArray[np.float32] | None:
        """A quantised tensor, mapped; None: it is not quantised, or nothing can be kept."""
        if self._folder is None or name not in self._quantised:
            return None
        if name not in self._kept:
            path, shape = self._folder / f"{self._digest(name)}.npy", self._weights.shapes[name]
            found = _read(path, shape)
            if found is None:
                _write(path, self._weights.whole(name, np.float32))
                found = _read(path, shape)
            if found is None:  # the disk is full, or may not be written
                self._folder = None
                return None
            self._kept[name] = found
        return self._kept[name][1]

    def forget(self) -> None:
        """Give back the memory of what is mapped; it comes back from the disk if it is asked for again."""
        for mapped, _ in self._kept.values():
            if hasattr(mapped, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def _digest(self, name: str) -> str:
        about = (FORMAT, self._weights.kinds[name], self._weights.shapes[name])
        digest = hashlib.sha256(repr(about).encode())
        digest.update(self._weights.stored(name).data)
        return digest.hexdigest()


def weights_folder() -> Path | None:
    """The folder, made if it is not there; None where nothing can be kept."""
    if (beside := cache_folder()) is None:  # it has said why
        return None
    try:
        return own_folder(beside.parent / "weights")
    except (OSError, NotPrivate) as error:
        _say(f"Dequantised weights cannot be kept: {error}. They are made anew every time.")
        return None


def _read(path: Path, shape: tuple[int, ...]) -> tuple[mmap.mmap, NDArray[np.float32]] | None:
    """A kept tensor; None if there is none, and after it was removed because it is damaged."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            header, count = _header(shape), int(np.prod(shape))
            _check_file(os.fstat(file.fileno()), len(header) + 4 * count + CHECKSUM_BYTES)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            _check_content(memoryview(mapped), header)
            os.utime(path)  # used now
            return mapped, np.frombuffer(mapped, "<f4", count, len(header)).reshape(shape)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        _say(f"Damaged dequantised weights in {path.parent} are made anew.")
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def _check_file(info: os.stat_result, size: int) -> None:
    """A ValueError unless a file is our own, an ordinary one, and of this size."""
    if info.st_uid != os.geteuid() or not stat.S_ISREG(info.st_mode) or info.st_size != size:
        raise ValueError


def _check_content(content: memoryview, header: bytes) -> None:
    """A ValueError unless it begins with this header and ends with the checksum of all before."""
    check = zlib.crc32(content[:-CHECKSUM_BYTES]).to_bytes(CHECKSUM_BYTES, "little")
    if content[: len(header)] != header or content[-CHECKSUM_BYTES:] != check:
        raise ValueError


def _header(shape: tuple[int, ...]) -> bytes:
    """The beginning of an .npy of numbers of single precision."""
    made = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(made, about)
    return made.getvalue()


def _write(path: Path, tensor: NDArray[np.float32]) -> None:
    """Keep a tensor, never seen half-written; without a word if there is no room for it."""
    header, data = _header(tensor.shape), np.ascontiguousarray(tensor, "<f4")
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
    try:
        _make_room(path.parent, data.nbytes)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(header)
            file.write(data.data)
            check = zlib.crc32(data.data, zlib.crc32(header))
            file.write(check.to_bytes(CHECKSUM_BYTES, "little"))
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        _say(
            f"Dequantised weights cannot be kept in {path.parent}: {error.strerror or error}. They are made"
            " anew every time."
        )
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _make_room(folder: Path, size: int) -> None:
    """Remove what was not used for longest until so many bytes fit in."""
    found = [(entry.stat(follow_symlinks=False), entry) for entry in os.scandir(folder)]
    kept = sorted(((info.st_mtime, info.st_size, entry.path) for info, entry in found), reverse=True)
    used = sum(one for _, one, _ in kept) + size
    while used > MAX_BYTES and kept:
        _, freed, path = kept.pop()
        used -= freed
        with contextlib.suppress(OSError):
            os.unlink(path)
    if (free := shutil.disk_usage(folder).free) - size < FREE_BYTES:
        raise OSError(f"only {free / 2**30:.3g} GiB of the disk are free")


@cache
def _say(words: str) -> None:
    """Say it, once: on stderr, unless the program has its own way with what is logged."""
    logging.getLogger("nucleate.models").warning(words)
