"""Compiled code kept on the disk.

Numba's own cache is stale when a byte of a function's file has changed, a comment too, but not when the code
of another file has that the function calls.  Ours is a folder named by a hash of the syntax trees of all
compiled modules and of what they import: edit their code and all is compiled anew; edit a comment, a
docstring or another file and nothing is.  Folders that were not used for a month are removed.

Nobody but its user can write into the folder.  Every file in it begins with a checksum: what is damaged is
compiled anew, and where nothing can be kept all is, with one line about it.
"""

import errno
import fcntl
import hashlib
import logging
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from nucleate.kernels.private_folder import NotPrivate, own_folder, trusted_folder
from nucleate.source_hash import source_hash

__all__ = ["CodeCache", "CodeFiles", "cache_folder", "code_files", "say_unkept"]

PACKAGE = Path(__file__).resolve().parents[1]
ROOMS = ("kernels", "integrate")  # whose compiled functions call each other; other rooms' call only these
KEPT_SECONDS = 30 * 86400.0  # that a cache folder is kept after its last use
IN_USE = "in-use"  # a file in every folder: its time is that of the last use, and its users hold a lock on it
CHECKSUM_BYTES = 32  # at the beginning of every file of code


class _Locator(_CacheLocator):
    """Where the code of a function is kept: the path says all that it depends on."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        folder = cache_folder()
        assert folder is not None
        package, room, *_ = f"{function.__module__}.".split(".")
        if package != "nucleate":
            own = _digest(Path(file).read_bytes())
        else:
            own = "" if room in ROOMS else _code_hash(folder.parent, function.__module__)
        self._py_file, self._path = file, folder / f"{function.__module__}-{own}"

    @classmethod
    def from_function(cls, function, file):
        return cls(function, file)

    def get_cache_path(self):
        return str(self._path)

    def ensure_cache_path(self):
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        _make_folder(self._path)

    def get_source_stamp(self):
        return ""

    def get_disambiguator(self):
        return ""  # Numba's own is the line number, which a comment above would change


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class CodeCache(FunctionCache):
    """The kept code of one function."""

    _impl_class = _CacheImpl

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = CodeFiles(Path(self._cache_path), self._impl.filename_base)

    def keeps(self, sig, target_context):
        """Whether there is code for these types of arguments."""
        return self._cache_file.has(self._index_key(sig, target_context.codegen()))

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of any kind: what is read was made by others' versions of Python and Numba
            _say_damaged()
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say_unkept(error)


class CodeFiles:
    """The files of one function, one for every signature: a checksum, then the key and the code.

    Numba's own have one index, which two processes may overwrite at once, and are read unchecked.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self.folder, self.base = folder, base

    def _path(self, key: object) -> Path:
        return self.folder / f"{self.base}.{_digest(key)}.nbc"

    def has(self, key: object) -> bool:
        return self._path(key).exists()

    def save(self, key: object, code: object) -> None:
        content, path = dumps((key, code)), self._path(key)
        _write_at_once(path, hashlib.sha256(content).digest() + content)

    def load(self, key: object) -> object:
        path = self._path(key)
        try:
            content = _read_own(path)
        except FileNotFoundError:
            return None
        except OSError:
            content = b""
        if hashlib.sha256(content[CHECKSUM_BYTES:]).digest() != content[:CHECKSUM_BYTES]:
            _say_damaged()
            _remove(path)
            return None
        kept_key, code = pickle.loads(content[CHECKSUM_BYTES:])  # our own, as it was written
        return code if kept_key == key else None


def _read_own(path: Path) -> bytes:
    """The bytes of a file of this user, that is no link and no pipe."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read() if os.fstat(file.fileno()).st_uid == os.geteuid() else b""


def _write_at_once(path: Path, content: bytes) -> None:
    """A file that is never seen half-written."""
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
    try:
        new.write_bytes(content)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _make_folder(path: Path) -> None:
    """A folder inside our own, where nobody else could have put what may stand in its place."""
    if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
        _say_damaged()
        _remove(path)
    path.mkdir(mode=0o700, exist_ok=True)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def code_files(module: str, base: str) -> CodeFiles | None:
    """Where the code of a module that is compiled for a card is kept, if it can be."""
    if (folder := cache_folder()) is None:
        return None
    own = folder / f"{module}-{_code_hash(folder.parent, module)}"
    try:
        _make_folder(own)
    except OSError as error:
        say_unkept(error)
        return None
    return CodeFiles(own, base)


def say_unkept(error: OSError) -> None:
    """Why compiled code cannot be kept, once."""
    _say(
        f"Compiled code cannot be kept in {cache_folder()}: {error.strerror or error}. Until it can, it is"
        " compiled anew every time."
    )


def _say_damaged() -> None:
    _say(f"Damaged files of compiled code in {cache_folder()} are made anew.")


@cache
def _say(words: str) -> None:
    """Say it, once: on stderr, unless the program has its own way with what is logged."""
    logging.getLogger("nucleate.kernels").warning(words)


@cache
def cache_folder() -> Path | None:
    """The folder of compiled code, in `NUCLEATE_CACHE`, the user's cache folder or a temporary one; None if
    there is none that only this user can write."""
    refused, asked = "", os.environ.get("NUCLEATE_CACHE")
    for place in _places():
        try:
            parent = trusted_folder(place)
            code = _code_hash(parent, *_compiled_modules())
            setting = (sys.version, numba.__version__, llvmlite.__version__, numba.config.BOUNDSCHECK, code)
            folder = own_folder(parent / _digest(setting))
            if not os.access(folder, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except NotPrivate as reason:
            refused = refused or f"{reason}. "
            continue
        except OSError as error:
            if asked and place == Path(asked):  # whoever named it takes it to be used
                why = f"NUCLEATE_CACHE names {place}, which cannot be used: {error.strerror or error}. "
                refused = refused or why
            continue
        with suppress(OSError):
            _use(folder)
            _prune(parent)
        if refused:
            _say(f"{refused}Compiled code is kept in {folder} instead.")
        return folder
    _say(
        f"{refused or 'No folder can be written. '}Compiled code is not kept, and made anew every time."
        " Name a folder of your own in NUCLEATE_CACHE."
    )
    return None


def _places() -> Iterator[Path]:
    """Where cache folders may be, the best place first."""
    asked, home = os.environ.get("NUCLEATE_CACHE"), os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home
        yield Path(asked) if asked else Path(home or Path.home() / ".cache") / "nucleate"
    with suppress(OSError):  # no temporary folder
        temporary, name = Path(tempfile.gettempdir()), f"nucleate-{os.geteuid()}"
        yield temporary / name
        yield from sorted(temporary.glob(f"{name}-*"))  # made by the next line
        yield Path(tempfile.mkdtemp(prefix=f"{name}-"))


@cache
def _compiled_modules() -> tuple[str, ...]:
    """The modules of kernels and integrate that hold compiled functions."""
    return tuple(
        f"nucleate.{room}.{file.stem}"
        for room in ROOMS
        for file in sorted(PACKAGE.joinpath(room).glob("*.py"))
        if b"from nucleate.kernels.compile import" in file.read_bytes()
    )


@cache
def _code_hash(parent: Path, *modules: str) -> str:
    """`source_hash`, which takes a quarter of a second, kept in the folder `parent` until a file of the
    package changes."""
    state, kept = _package_state(), parent / f"{_digest((PACKAGE, modules))}.code"
    with suppress(OSError, ValueError):
        known, value = _read_own(kept).decode().split()
        if known == state:
            return value
    value = source_hash(*modules)
    with suppress(OSError):
        _write_at_once(kept, f"{state} {value}".encode())
    return value


@cache
def _package_state() -> str:
    """A digest of the names, sizes and times of all files with code."""
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names)
    stats = [(path, os.stat(path)) for path in paths if path.endswith(".py")]
    return _digest([(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats])


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _use(folder: Path) -> None:
    """Mark a folder as used now, and as in use until this process ends."""
    handle = os.open(folder / IN_USE, os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK, 0o666)  # a pipe would wait
    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.utime(handle)


def _prune(parent: Path) -> None:
    """Remove what was not used for a month: known hashes, and cache folders that are not in use now."""
    for known in parent.glob("*.code"):
        with suppress(OSError):
            old = known.stat().st_mtime < time.time() - KEPT_SECONDS
            if old and re.fullmatch("[0-9a-f]{16}", known.stem):
                known.unlink()
    for folder in parent.iterdir():
        mark = folder / IN_USE
        with suppress(OSError):
            if folder.is_symlink() or not re.fullmatch("[0-9a-f]{16}", folder.name):
                continue
            last_use = (mark if mark.exists() else folder).stat().st_mtime
            if last_use > time.time() - KEPT_SECONDS or not (mark.exists() or any(folder.glob("*/*.nbi"))):
                continue
            handle = os.open(mark, os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
