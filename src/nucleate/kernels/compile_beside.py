"""What is not compiled yet, compiled by a second process while this one compiles something else.

Numba compiles one function at a time, on one core.  The first run of all needs a kernel and a solver, which
do not know each other (`systems`): with a second core they take the time of the longer one.  What the second
process makes comes through the disk (`code_cache`).  Where there is no core, no memory or no disk for it, or
where it fails, all is compiled here.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import numba
from numba.core.serialize import dumps

from nucleate.kernels.code_cache import CodeCache
from nucleate.kernels.threads import LOOK_SECONDS, Stopped, is_stopped
from nucleate.resources import cores, free_memory

__all__ = ["compile_for_another", "compiled_beside"]

MIN_FREE_BYTES = 2**30  # the second process takes about a third of it
LENGTH_BYTES = 8  # of the number before the message
# -P: not from the folder it is called in, unless that is where this process imports from too
COMMAND = (
    "import gc, sys; gc.disable(); sys.path[:] = sys.argv[1:];"
    " from nucleate.kernels.compile_beside import compile_for_another; compile_for_another()"
)

_processes: dict[tuple[int, Any], subprocess.Popen[bytes]] = {}  # by process and function: forks begin anew
_lock = threading.Lock()


@contextmanager
def compiled_beside(
    function: Any, arguments: tuple[object, ...], here: Any, its_arguments: tuple[object, ...]
) -> Iterator[None]:
    """While the function `here` is first called inside, have another one compiled for such arguments by a
    second process, and wait for it; unless one of the two is there already, or no second process can be
    had."""
    process = _begin(function, arguments, here, its_arguments)
    if process is None:
        yield
        return
    try:
        yield
        while process.poll() is None:
            if is_stopped():
                raise Stopped
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_SECONDS)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        assert process.stdin is not None
        process.stdin.close()


def _begin(
    function: Any, arguments: tuple[object, ...], here: Any, its_arguments: tuple[object, ...]
) -> "subprocess.Popen[bytes] | None":
    """The second process, begun now or by another thread before."""
    if getattr(function, "signatures", True) or not isinstance(function._cache, CodeCache):
        return None  # not the first call, or not compiled at all, or not kept
    with _lock:
        key = os.getpid(), function
        if key not in _processes:
            if not (_lacks(function, arguments) and _lacks(here, its_arguments) and _has_room()):
                return None
            module = import_module(function.py_func.__module__)
            name = next(name for name, value in vars(module).items() if value is function)
            with suppress(OSError):
                _processes[key] = _started(dumps((module.__name__, name, _types(arguments))))
        return _processes.get(key)


def _lacks(function: Any, arguments: tuple[object, ...]) -> bool:
    """Whether a compiled function has to be compiled for such arguments."""
    kinds = _types(arguments)
    return kinds not in function.overloads and not function._cache.keeps(kinds, function.targetctx)


def _types(arguments: tuple[object, ...]) -> tuple[Any, ...]:
    return tuple(numba.typeof(argument) for argument in arguments)


def _has_room() -> bool:
    """Whether there are a core and memory for a second process, and a program to start."""
    return bool(sys.executable) and cores() > 1 and free_memory() > MIN_FREE_BYTES


def _started(message: bytes) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND, *filter(None, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(len(message).to_bytes(LENGTH_BYTES, "little") + message)
    process.stdin.flush()  # and stays open: its end tells the second process that this one is gone
    return process


def compile_for_another() -> None:
    """What the second process does: compile what the message on its input names, and keep it."""
    size = int.from_bytes(_read(LENGTH_BYTES), "little")
    module, name, signature = pickle.loads(_read(size))  # from the process that started this one
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    getattr(import_module(module), name).compile(signature)
    os._exit(0)


def _read(size: int) -> bytes:
    """So many bytes of the input."""
    found = b""
    while len(found) < size:
        part = os.read(0, size - len(found))
        if not part:
            os._exit(1)
        found += part
    return found


def _end_with_the_other() -> None:
    os.read(0, 1)  # returns when nobody holds the other end
    os._exit(1)
