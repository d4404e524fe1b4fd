"""How compiled code is made: one decorator, one disk cache keyed by what the code says.

Numba's own disk cache notices an edit of the file a function stands in, not of the files whose
functions it calls.  So the cache folder carries a hash of every compiled source: edit any of them
and all are compiled anew; edit none and nothing is.
"""

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["X86", "cache_folder", "compiled", "inlined", "inner", "take_next", "uncounted", "wait_for"]

X86 = platform.machine().lower() in ("x86_64", "amd64")
PACKAGE = Path(__file__).resolve().parents[1]
# what others compile calls these, not each other: a check of a file's own edits is enough
COMPILED = ("kernels/*.py", "integrate/*.py", "checks.py")


@cache
def cache_folder() -> Path:
    """The folder of compiled code, `NUCLEATE_CACHE` or the user's cache folder, plus a hash of the
    sources."""
    digest = hashlib.sha256(f"{sys.version}|{numba.__version__}|{numba.config.BOUNDSCHECK}".encode())
    for sources in COMPILED:
        for source in sorted(PACKAGE.glob(sources)):
            digest.update(source.read_bytes())
    name = digest.hexdigest()[:16]
    asked = os.environ.get("NUCLEATE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME")
    candidates = (
        [Path(asked)] if asked else [Path(home) / "nucleate" if home else Path.home() / ".cache" / "nucleate"]
    )
    candidates.append(
        Path(tempfile.gettempdir()) / f"nucleate-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    )
    for candidate in candidates:
        folder = candidate / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="nucleate-"))


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
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    # all said, or what is left out would be taken over from whatever calls the function first
    options = {"no_cpython_wrapper": inner, "_nrt": count, "forceinline": inner and not count}
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(
            function
        )
    finally:
        numba.config.CACHE_DIR = before


def _atomic(build_with: Callable[[Any, Any], Any]) -> Any:
    """An operation on counter[0] that other threads see as a whole."""

    @intrinsic
    def operation(typingctx, counter):
        def build(context, builder, signature, args):
            return build_with(builder, context.make_array(signature.args[0])(context, builder, args[0]).data)

        return types.int64(counter), build

    return operation


_fetch_add = _atomic(
    lambda builder, data: builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "acq_rel")
)
_load = _atomic(lambda builder, data: builder.load_atomic(data, "acquire", 8))


@compiled
def take_next(counter):
    """counter[0], then one more: atomic, so that threads can share one queue."""
    return _fetch_add(counter)


@intrinsic
def _breathe(typingctx):
    """Tell the processor that this loop only waits, where it listens: the thread that shares its core gets on
    with its work."""

    def build(context, builder, signature, args):
        if X86:
            builder.call(
                builder.module.declare_intrinsic(
                    "llvm.x86.sse2.pause", (), ir.FunctionType(ir.VoidType(), ())
                ),
                (),
            )
        return context.get_dummy_value()

    return types.void(), build


@compiled
def wait_for(counter, value, looks):
    """Look at counter[0] until it has reached `value`, but no more than so many times: nobody wakes sooner
    than who has not gone to sleep."""
    for _ in range(looks):
        if _load(counter) >= value:
            return
        _breathe()
