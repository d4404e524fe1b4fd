"""Files that survive a crash: written beside, flushed to the disk, and moved into place; and the lock that
keeps a second writer out.

A block's file is a line that names the format, a checksum of all that follows, a line of JSON, and the arrays
one after the other.  Every byte counts, so that any flip, any cut and any mix-up is noticed.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.checks import FileError, MissingFileError, file_error
from nucleate.studies.block import Arrays, Block

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

    while True:
        try:
            folder.mkdir(exist_ok=True)
            handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
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


def pack_block(identity: str, block: Block, arrays: Arrays) -> bytes:
    """The arrays of a block as bytes."""
    head = {
        "identity": identity,
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


def unpack_block(data: bytes) -> tuple[str, Block, Arrays]:
    """The identity of the study, the block and its arrays; Damaged if a single byte is wrong."""
    begin = len(MAGIC) + DIGEST_LENGTH + 1
    if data[: len(MAGIC)] != MAGIC or data[begin - 1 : begin] != b"\n":
        raise Damaged("its head is damaged")
    if hashlib.sha256(memoryview(data)[begin:]).hexdigest().encode() != data[len(MAGIC) : begin - 1]:
        raise Damaged("it does not match its checksum")
    end = data.index(b"\n", begin) + 1
    head = json.loads(data[begin:end])
    arrays: Arrays = {}
    for name, (dtype, shape) in head["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, dtype=dtype, count=count, offset=end).reshape(shape)
        end += arrays[name].nbytes
    return head["identity"], Block(*head["task"]), arrays


def read_block(path: Path) -> tuple[str, Block, Arrays]:
    """What a block's file holds: identity, block and arrays."""
    try:
        found = unpack_block(path.read_bytes())
    except FileNotFoundError:
        raise Damaged("it is gone") from None
    except OSError as error:
        raise Damaged(f"it cannot be read: {error.strerror or error}") from None
    if block_file_name(found[1]) != path.name:
        raise Damaged("its name does not fit what it holds")
    return found
