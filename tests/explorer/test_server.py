"""The server as a whole: what it says first, how many pages it serves, and that a flood does not hurt it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from support.explorer_scenes import simulated
from support.explorer_server import client, raw, request, until, upgrade
from support.hostile_input import malformed_messages
from support.time_limits import check_wall_seconds, several_programs
from websockets.exceptions import ConnectionClosed

import nucleate as nc
from nucleate.explorer import limits
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.server import Explorer, Server

pytestmark = several_programs


def test_hello_says_what_there_is(server: Server) -> None:
    with client(server) as page:
        hello = page.hello
    assert hello["version"] == nc.__version__
    assert parse_scene(hello["defaults"]) == parse_scene({})
    assert hello["limits"] == limits.PAGE_LIMITS
    assert len(hello["presets"]) == len(presets())
    first = hello["matrices"][0]
    assert first == {
        "name": "identity",
        "title": "identity",
        "of_V": "identity: row 1",
        "dims": [2, 64],
        "seeded": False,
    }
    assert [one["title"] for one in hello["matrices"] if "row" in one["title"]] == [], (
        "Table 1 speaks of V, not of Q and K"
    )
    assert hello["opened"] == []
    assert hello["open"] is None
    assert hello["link"] is None


def test_a_fifth_session_is_told_so_and_comes_in_when_another_leaves(server: Server) -> None:
    until(lambda: server.explorer.sessions == 0)
    pages = [client(server) for _ in range(4)]
    for page in pages:
        assert page.__enter__().hello["say"] == "hello"
    with client(server) as fifth:
        assert fifth.hello["say"] == "error"
        assert "open 4 times already" in fifth.hello["text"]
        with pytest.raises(ConnectionClosed) as closed:
            fifth.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
    pages.pop().__exit__(None, None, None)
    until(lambda: server.explorer.sessions == 3)
    with client(server) as again:
        assert again.hello["say"] == "hello"
    for page in pages:
        page.__exit__(None, None, None)


SERVER_PROGRAM = """
import sys
sys.path[:0] = {path!r}
from support.explorer_server import explorer_server
with explorer_server() as server:
    print(server.port, server.explorer.token, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def separate_server() -> Iterator[tuple[Any, psutil.Process]]:
    """A server in a process of its own, whose memory is its own."""
    code = SERVER_PROGRAM.format(path=[str(Path(__file__).parents[1])])
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port, token = process.stdout.readline().split()
        yield _SeparateServer(int(port), token), psutil.Process(process.pid)
        process.stdin.close()
        assert process.wait(30) == 0


class _SeparateServer:
    """As much of a Server as a client needs."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.explorer = port, Explorer("", token=token)
        self.address = f"http://127.0.0.1:{port}/?token={token}"


def test_under_a_flood_memory_is_steady_and_a_running_simulation_undisturbed(
    separate_server: tuple[Any, psutil.Process],
) -> None:
    server, process = separate_server
    scene = {"n": 700, "d": 3, "beta": 40.0, "t": 1e3, "frames": 60, "tolerance": 1e-6}
    ours = f"127.0.0.1:{server.port}"
    with client(server) as page:
        # what it needs anyway is in memory before it is weighed
        page.tell(do="run", id=1, scene={**scene, "t": 1.0})
        page.watch(1)
        before = process.memory_info().rss
        most = [before]
        page.tell(do="run", id=2, scene=scene)
        floods = [
            threading.Thread(target=_flood, args=(server, ours, kind, most, process)) for kind in range(4)
        ]
        for flood in floods:
            flood.start()
        _, t, x, _, ended = page.watch(2)
        for flood in floods:
            flood.join()
        page.tell(do="python", scene={})
        assert page.hear()[0]["say"] == "python"
    assert ended["status"] == "done"
    assert np.array_equal(x, simulated(scene).x)
    assert max(most) - before < 100e6


def _flood(server: Any, ours: str, kind: int, most: list[int], process: psutil.Process) -> None:
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        try:
            if kind == 0:  # strangers
                raw(server.port, request("/?token=guess", ours))
                raw(server.port, upgrade("/socket?token=guess", ours, f"Origin: http://{ours}"))
            elif kind == 1:  # large bodies
                raw(server.port, request("/", ours, "Content-Length: 900000", body=b"x" * 900_000))
            elif kind == 2:  # a page gone mad
                with client(server) as page:
                    for message in malformed_messages(300):
                        page.wire.send(message)
            else:  # garbage
                raw(server.port, os.urandom(5000))
        except (ConnectionClosed, OSError):
            pass
        most.append(process.memory_info().rss)


LIMIT_BLAS_WHILE_IMPORTING = """
import importlib.util, shutil, sys, threading
from importlib.machinery import ExtensionFileLoader
import _queue, numpy
from threadpoolctl import threadpool_limits

def limit_blas():
    while importing:
        with threadpool_limits(1, user_api="blas"):
            pass

importing = True
threads = [threading.Thread(target=limit_blas, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for i in range(100):
    library = shutil.copy(_queue.__file__, f"{sys.argv[1]}/{i}.so")
    loader = ExtensionFileLoader("_queue", library)
    loader.create_module(importlib.util.spec_from_file_location("_queue", library, loader=loader))
importing = False
for thread in threads:
    thread.join()
"""


def test_a_thread_that_limits_blas_and_one_that_imports_never_wait_for_each_other(tmp_path: Path) -> None:
    """The first page asks for matrices while the server warms up.  threadpoolctl before 3.7 held the loader's
    lock and waited for Python's, and the import the other way round: nothing ended it but kill -9."""
    subprocess.run([sys.executable, "-c", LIMIT_BLAS_WHILE_IMPORTING, str(tmp_path)], timeout=60, check=True)


CLOSE_WHILE_COMPILING = """
import threading, time
from nucleate.explorer.warm_up import warm_up

compiled, closing = threading.Event(), threading.Event()
thread = threading.Thread(target=warm_up, args=(compiled, closing), daemon=True)
thread.start()
while not any(one.name == "nucleate-compile" for one in threading.enumerate()):
    time.sleep(0.01)
closing.set()
start = time.monotonic()
thread.join()
print(time.monotonic() - start)
"""


def test_closing_does_not_wait_for_what_is_being_compiled(tmp_path: Path) -> None:
    environment = {**os.environ, "NUCLEATE_CACHE": str(tmp_path / "empty")}
    done = subprocess.run(
        [sys.executable, "-c", CLOSE_WHILE_COMPILING],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    check_wall_seconds(float(done.stdout), 2.0)  # the first of them alone compiles for longer
