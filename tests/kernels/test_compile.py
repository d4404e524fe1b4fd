"""Compilation has a thread of its own: Ctrl-C, a stop and the end of the program do not wait for it."""

import gc
import signal
import subprocess
import sys
import threading
import time

import numba
import pytest
from numba.core.compiler_lock import global_compiler_lock
from support.time_limits import check_wall_seconds, patient, within_wall_seconds

from nucleate.kernels import compile as compile_module
from nucleate.kernels.compile import _compile_aside, compiled
from nucleate.kernels.threads import Stopped, stopped_by


def one_more(x: int) -> int:
    return x + 1


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_module, "cache_folder", lambda: None)


def test_a_function_is_compiled_on_another_thread_and_its_errors_come_back() -> None:
    threads: list[str] = []

    def compile(signature: str) -> str:
        threads.append(threading.current_thread().name)
        assert gc.isenabled() == (signature == "inner"), "the collector rests meanwhile"
        if signature == "bad":
            raise ValueError("planted")
        return signature.upper()

    assert _compile_aside(compile, "good") == "GOOD"
    with pytest.raises(ValueError, match="planted"):
        _compile_aside(compile, "bad")
    assert gc.isenabled()
    with global_compiler_lock:  # held by who compiles a caller: another thread would wait for ever
        assert _compile_aside(compile, "inner") == "INNER"
    assert threads == ["nucleate-compile", "nucleate-compile", threading.current_thread().name]


def test_a_stranger_may_compile_a_call_of_ours() -> None:
    ours = compiled(one_more)
    answers: list[int] = []

    theirs = numba.njit(lambda x: 2 * ours(x))
    stranger = threading.Thread(target=lambda: answers.append(theirs(3)), daemon=True)
    stranger.start()
    stranger.join(60.0)
    assert answers == [8]


@patient
def test_a_thread_whose_work_is_stopped_does_not_wait_for_the_compiler() -> None:
    go_on, stop = threading.Event(), threading.Event()
    threading.Timer(0.2, stop.set).start()
    try:
        with within_wall_seconds(1.0), stopped_by(stop.is_set), pytest.raises(Stopped):
            _compile_aside(go_on.wait, 60.0)
    finally:
        go_on.set()


def test_the_compiler_that_nobody_waits_for_keeps_what_it_compiles() -> None:
    slow, function = threading.Event(), compiled(one_more)
    with stopped_by(lambda: True), pytest.raises(Stopped):
        _compile_aside(lambda x: slow.wait(60.0) and function.compile((numba.int64,)), None)
    slow.set()
    for _ in range(600):
        if function.signatures:
            break
        time.sleep(0.1)
    assert function.signatures == [(numba.int64,)]


@patient
def test_a_program_ends_at_once_although_it_compiles() -> None:
    code = """
import time
from nucleate.kernels.threads import Stopped, not_awaited_if_stopped, stopped_by
try:
    with stopped_by(lambda: True):
        not_awaited_if_stopped(lambda: time.sleep(60.0))
except Stopped:
    print("stopped", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
        began = time.monotonic()
        assert process.wait(60.0) == 0
        check_wall_seconds(time.monotonic() - began, 1.0)


@pytest.mark.skipif(sys.platform != "linux", reason="on_exit is the GNU library's")
def test_a_program_that_ends_beside_the_compiler_does_not_take_it_down() -> None:
    code = """
import ctypes, sys, time
from nucleate.kernels.threads import Stopped, not_awaited_if_stopped, stopped_by
library = ctypes.CDLL(None)
library.on_exit(library.abort, None)  # as LLVM does under its own feet
try:
    with stopped_by(lambda: True):
        not_awaited_if_stopped(lambda: time.sleep({seconds}))
except Stopped:
    print("written", end="")
time.sleep(0.5)
sys.exit(7)
"""
    ends = []
    for seconds in (60.0, 0.01):  # the second is done before the program is
        words = [sys.executable, "-c", code.format(seconds=seconds)]
        run = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60.0)
        ends.append((run.returncode, run.stdout))
    assert ends[0] == (7, "written")
    assert ends[1][0] == -signal.SIGABRT  # the program's own end is left as it is
