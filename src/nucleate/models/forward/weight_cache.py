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
import os
import shutil
import stat
import uuid
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.kernels.code_cache import cache_folder
from nucleate.kernels.private_folder import NotPrivate, own_folder
from nucleate.models.weights import GgufWeights

__all__ = ["WeightCache"]

MAX_BYTES = 2**33  # of all that is kept
FREE_SHARE = 0.1  # of the disk that is always left free
FORMAT = 1  # to be raised when files of another kind are written
CHECKSUM_BYTES = 4
NAME_LETTERS = 64  # of a SHA-256


class WeightCache:
    """The dequantised tensors of one file."""

    def __init__(self, weights: GgufWeights) -> None:
        self._weights = weights
        self._kept: dict[str, NDArray[np.float32]] = {}
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
        return self._kept[name]

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


def _read(path: Path, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """A kept tensor; None if there is none, and after it was removed because it is damaged."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not _sound(file, shape):
                raise ValueError
            start = file.tell()
            os.utime(path)  # used now
            return np.memmap(file, np.float32, "r", start, shape)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        _say(f"Damaged dequantised weights in {path.parent} are made anew.")
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def _sound(file: Any, shape: tuple[int, ...]) -> bool:
    """Whether a file is our own, and an .npy of this shape with the right checksum; leaves it at the data."""
    info = os.fstat(file.fileno())
    if info.st_uid != os.geteuid() or not stat.S_ISREG(info.st_mode):
        return False
    header = _header(shape)
    size = len(header) + 4 * int(np.prod(shape))
    if info.st_size != size + CHECKSUM_BYTES or file.read(len(header)) != header:
        return False
    mapped = np.memmap(file, np.uint8, "r", 0, (size + CHECKSUM_BYTES,))
    file.seek(len(header))
    return zlib.crc32(mapped[:size].data).to_bytes(CHECKSUM_BYTES, "little") == mapped[size:].tobytes()


def _header(shape: tuple[int, ...]) -> bytes:
    """The beginning of an .npy of doubles of single precision."""
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
    disk = shutil.disk_usage(folder)
    if disk.free - size < FREE_SHARE * disk.total:
        raise OSError(f"only {disk.free / 2**30:.3g} GiB of the disk are free")


@cache
def _say(words: str) -> None:
    """Say it, once: on stderr, unless the program has its own way with what is logged."""
    logging.getLogger("nucleate.models").warning(words)
