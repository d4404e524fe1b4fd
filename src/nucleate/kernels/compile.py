"""How compiled code is made: four decorators, one cache on the disk.

Numba's own cache is stale when a byte of a function's file has changed, a comment too, but not when the code
of another file has that the function calls.  Ours is a folder named by a hash of the syntax trees of all
compiled modules and of what they import: edit their code and all is compiled anew; edit a comment, a
docstring or another file and nothing is.  Folders that were not used for a month are removed.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.extending import intrinsic

from nucleate.source_hash import source_hash

__all__ = ["cache_folder", "compiled", "inlined", "inner", "take_next", "uncounted"]

PACKAGE = Path(__file__).resolve().parents[1]
ROOMS = ("kernels", "integrate")  # whose compiled functions call each other; other rooms' call only these
KEPT_SECONDS = 30 * 86400.0  # that a cache folder is kept after its last use
IN_USE = "in-use"  # a file in every folder: its time is that of the last use, and its users hold a lock on it


def compiled(function: Callable[..., Any]) -> Any:
    """`numba.njit` with no GIL, no fastmath (bits and NaN checks must stay) and the disk cache above."""
    return _compile(function, inner=False)


def inner(function: Callable[..., Any]) -> Any:
    """The same for what only compiled code calls: without the wrapper that Python would need, which takes
    long to compile."""
    return _compile(function, inner=True)


def uncounted(function: Callable[..., Any]) -> Any:
    """The same for code that makes no array: references to those it is given are not counted, so that a
    record of forty arrays costs no more to hand on, or to read a field of, than one of two."""
    return _compile(function, inner=False, count=False)


def inlined(function: Callable[..., Any]) -> Any:
    """`uncounted` for what only compiled code calls: it becomes part of what calls it."""
    return _compile(function, inner=True, count=False)


def _compile(function: Callable[..., Any], inner: bool, count: bool = True) -> Any:
    # all said, or what is left out would be taken over from whatever calls the function first
    options = {"no_cpython_wrapper": inner, "_nrt": count, "forceinline": inner and not count}
    dispatcher = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._cache = _Cache(function)
    return dispatcher


class _Locator(_CacheLocator):
    """Where the code of a function is kept: the path says all that it depends on."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        package, room, *_ = f"{function.__module__}.".split(".")
        if package != "nucleate":
            own = _digest(Path(file).read_bytes())
        else:
            own = "" if room in ROOMS else _code_hash(function.__module__)
        self._py_file, self._path = file, cache_folder() / f"{function.__module__}-{own}"

    @classmethod
    def from_function(cls, function, file):
        return cls(function, file)

    def get_cache_path(self):
        return str(self._path)

    def get_source_stamp(self):
        return ""

    def get_disambiguator(self):
        return ""  # Numba's own is the line number, which a comment above would change


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _CacheImpl


@cache
def cache_folder() -> Path:
    """The folder of compiled code, in `NUCLEATE_CACHE` or the user's cache folder."""
    setting = (sys.version, numba.__version__, numba.config.BOUNDSCHECK, _code_hash(*_compiled_modules()))
    for parent in _parents():
        folder = parent / _digest(setting)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                with suppress(OSError):
                    _use(folder)
                    _prune(parent)
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="nucleate-"))


def _parents() -> list[Path]:
    """Where cache folders may be, the best place first."""
    asked, home = os.environ.get("NUCLEATE_CACHE"), os.environ.get("XDG_CACHE_HOME")
    best = Path(asked) if asked else Path(home) / "nucleate" if home else Path.home() / ".cache" / "nucleate"
    return [best, Path(tempfile.gettempdir()) / f"nucleate-{os.getuid()}"]


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
def _code_hash(*modules: str) -> str:
    """`source_hash`, which takes a quarter of a second, kept on the disk until a file of the package
    changes."""
    state, kept = _package_state(), _parents()[0] / f"{_digest((PACKAGE, modules))}.code"
    with suppress(OSError, ValueError):
        known, value = kept.read_text().split()
        if known == state:
            return value
    value = source_hash(*modules)
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(f"{state} {value}")
        new.replace(kept)
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
    handle = os.open(folder / IN_USE, os.O_RDONLY | os.O_CREAT, 0o666)
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
            handle = os.open(mark, os.O_RDONLY | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


@intrinsic
def _fetch_add(typingctx, counter):
    def build(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(counter), build


@compiled
def take_next(counter):
    """counter[0], then one more: atomic, so that threads can share one queue."""
    return _fetch_add(counter)
