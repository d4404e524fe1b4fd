"""Files that survive a crash: written beside, flushed to the disk, and moved into place; and the lock that
keeps a second writer out.

A block's file is a line that names the format, a checksum of all that follows, a line of JSON, and the arrays
one after the other.  Every byte counts, so that any flip, any cut and any mix-up is noticed.
"""

import errno
import hashlib
import json
import math
import operator
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.checks import (
    FileError,
    InputError,
    MissingFileError,
    check_memory,
    file_error,
    read_file,
    regular_file,
)
from nucleate.studies.block import Arrays, Block, ComputedBlock

__all__ = [
    "LOCK_FILE",
    "MEND_AND_RUN_AGAIN",
    "PARTIAL_SUFFIX",
    "Damaged",
    "block_file_name",
    "locked",
    "pack_block",
    "read_block",
    "sync",
    "unpack_block",
    "write_bytes",
    "write_durably",
]

MAGIC = b"nucleate block 1\n"
PARTIAL_SUFFIX = ".part"  # ends the names of files that are not complete
MEND_AND_RUN_AGAIN = "What was finished is kept; mend this and run the same command again."
DIGEST_LENGTH = 64  # hexadecimal digits of SHA-256
LOCK_FILE = "lock"
MAX_LOCK_TRIES = 100  # while other writers finish, and remove it
DTYPES = ("<f8", "<i8", "|i1")  # of what a block holds


class Damaged(Exception):
    """A file that is not what was written; says why."""


def write_durably(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one piece: after a crash there is all of it or what was there before."""
    part = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        try:
            write_bytes(part, data)
            sync(part)
            os.replace(part, path)
            sync(path.parent)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}. {MEND_AND_RUN_AGAIN}"
        raise file_error(message, error) from error


def write_bytes(path: Path, data: Any) -> None:
    """Put bytes into a file, all of them; not yet durable."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        view = memoryview(data).cast("B")
        while len(view):
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Flush a file, or the list of names that a folder is, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL or not path.is_dir():  # some file systems cannot flush folders
            raise
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, what: str = "this ensemble") -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be; the system releases it when the process ends,
    however it ends.

    what   is written there, for the words to a second writer
    """
    handle = _lock(folder, what)
    try:
        yield
    finally:
        with suppress(OSError):  # the folder may be gone already, or hold what was written
            if _has_this_name(handle, folder / LOCK_FILE):
                (folder / LOCK_FILE).unlink()
                folder.rmdir()
        os.close(handle)


def _lock(folder: Path, what: str) -> int:
    import fcntl

    for _ in range(MAX_LOCK_TRIES):
        if _is_no_file(folder / LOCK_FILE):
            raise FileError(
                f"{folder / LOCK_FILE} is no ordinary file, and so no lock. Move it away, or choose another"
                " place."
            )
        try:
            folder.mkdir(exist_ok=True)
            # never through a link, which would make a file elsewhere
            handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except FileNotFoundError:  # removed by a writer that has just finished
            if folder.parent.is_dir():
                continue
            raise MissingFileError(
                f"{folder} cannot be made: the folder {folder.parent} does not exist. Make it first."
            ) from None
        except OSError as error:
            raise FileError(
                f"{folder} cannot be made: {error.strerror or error}. Choose another place."
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise FileError(
                    f"{folder} is in use: another process is writing {what}. Wait for it, or choose another"
                    " place."
                ) from None
            raise FileError(
                f"{folder} cannot be locked: {error.strerror or error}. Choose another place."
            ) from None
        if _has_this_name(handle, folder / LOCK_FILE):
            return handle
        os.close(handle)
    raise FileError(
        f"{folder} cannot be locked: its lock vanished {MAX_LOCK_TRIES} times. Choose another place."
    )


def _is_no_file(path: Path) -> bool:
    """Whether a link, a pipe or a folder is there."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:  # nothing is, or it is told when it is opened
        return False


def _has_this_name(handle: int, path: Path) -> bool:
    """Whether the open file is still the one at `path`: a writer that has finished removes its lock, and the
    next one makes a new file of the same name."""
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(handle)
    return (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)


# Blocks


def block_file_name(block: Block) -> str:
    """The name of a block's file."""
    return f"point{block.point:05}-runs{block.first:09}-{block.last:09}.block"


def pack_block(identity: str, block: Block, computed: ComputedBlock) -> bytes:
    """A computed block as bytes."""
    arrays = computed.arrays
    head = {
        "identity": identity,
        "processor": computed.processor,
        "task": list(block),
        "arrays": {name: [array.dtype.newbyteorder("<").str, array.shape] for name, array in arrays.items()},
    }
    body = [json.dumps(head).encode() + b"\n"]
    body += [
        np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        for array in arrays.values()
    ]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return b"".join([MAGIC, digest.hexdigest().encode(), b"\n", *body])


def unpack_block(data: bytes) -> tuple[str, Block, ComputedBlock]:
    """The identity of the study, the block and what it holds; Damaged if a single byte is wrong."""
    begin = len(MAGIC) + DIGEST_LENGTH + 1
    if data[: len(MAGIC)] != MAGIC or data[begin - 1 : begin] != b"\n":
        raise Damaged("its head is damaged")
    if hashlib.sha256(memoryview(data)[begin:]).hexdigest().encode() != data[len(MAGIC) : begin - 1]:
        raise Damaged("it does not match its checksum")
    try:
        return _parts(data, begin)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise Damaged("it is not written as blocks are") from None


def _parts(data: bytes, begin: int) -> tuple[str, Block, ComputedBlock]:
    """What the bytes from `begin` on hold: a line of JSON, and arrays that fill the rest."""
    end = data.index(b"\n", begin) + 1
    head = json.loads(data[begin:end])
    arrays: Arrays = {}
    for name, (dtype, shape) in head["arrays"].items():
        if dtype not in DTYPES:
            raise ValueError(f"{name} is of dtype {dtype}")
        count = math.prod(operator.index(size) for size in shape)
        arrays[name] = np.frombuffer(data, dtype=dtype, count=count, offset=end).reshape(shape)
        end += arrays[name].nbytes
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes are left")
    block = Block(*map(operator.index, head["task"]))
    return str(head["identity"]), block, ComputedBlock(arrays, str(head["processor"]))


def read_block(path: Path) -> tuple[str, Block, ComputedBlock]:
    """What a block's file holds: the identity of the study, the block and its arrays."""
    if path.is_symlink():
        raise Damaged("it is a link")
    try:
        size = regular_file(path)
    except InputError as error:
        raise _damaged(path, error) from None
    check_memory(size, str(path))  # which is no damage: it may be the block of another study
    try:
        found = unpack_block(read_file(path, size))
    except InputError as error:
        raise _damaged(path, error) from None
    if block_file_name(found[1]) != path.name:
        raise Damaged("its name does not fit what it holds")
    return found


def _damaged(path: Path, error: InputError) -> Damaged:
    """A block that is gone, may not be read, or is a pipe or a folder."""
    if isinstance(error, MissingFileError):
        return Damaged("it is gone")
    return Damaged(str(error).replace(f"{path} ", "it ", 1).partition(". ")[0])
