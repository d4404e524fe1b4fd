"""A second process compiles what the first run of all needs besides; it goes when nobody needs it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.time_limits import check_wall_seconds, patient

# a function for the second process, and one for the first: both small, and nothing compiled yet
BESIDE = """
import sys
import numpy as np
from nucleate.integrate.stochastic import angles_into
from nucleate.kernels import compile_beside
from nucleate.kernels.compile import take_next

counter, y, angle = np.zeros(1, dtype=np.int64), np.array([1.0, 0.0, 0.0, 1.0]), np.zeros(2)
compile_beside.cores = lambda: 2
compile_beside.free_memory = lambda: 2**33


def first_call():
    with compile_beside.compiled_beside(take_next, (counter,), angles_into, (y, angle, 2)):
        angles_into(y, angle, 2)
    take_next(counter)
    assert counter[0] == 1 and angle[1] == np.arccos(0.0)
    by_disk = sum(take_next.stats.cache_hits.values())
    print(len(compile_beside._processes), by_disk, sum(take_next.stats.cache_misses.values()), flush=True)
"""


def call(tmp_path: Path, code: str) -> str:
    """What a program prints that has compiled nothing before: how many processes it began, and how often a
    function of theirs came through the disk and had to be compiled."""
    environment = {**os.environ, "NUCLEATE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", BESIDE + code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_what_the_second_process_compiles_comes_through_the_disk(tmp_path: Path) -> None:
    assert call(tmp_path, "first_call()") == "1 1 0"
    assert call(tmp_path, "first_call()") == "0 1 0"  # all is there


@pytest.mark.parametrize(
    "lack",
    [
        "compile_beside.cores = lambda: 1",
        "compile_beside.free_memory = lambda: 2**29",
        "compile_beside.sys = type('no program', (), {'executable': None, 'path': []})",
        "compile_beside.sys = type('no such program', (), {'executable': '/no/such', 'path': []})",
        "angles_into(y, angle, 2)",  # nothing to do here meanwhile
    ],
)
def test_without_a_second_process_all_is_compiled_here(tmp_path: Path, lack: str) -> None:
    assert call(tmp_path, f"{lack}\nfirst_call()") == "0 0 1"


def test_where_the_second_process_fails_all_is_compiled_here(tmp_path: Path) -> None:
    assert call(tmp_path, "compile_beside.COMMAND = 'raise SystemExit(1)'\nfirst_call()") == "1 0 1"


LONG = """
from nucleate.kernels.threads import Stopped, stopped_by
compile_beside.COMMAND = "import time; from nucleate.kernels import compile_beside as beside;" \
    " beside.import_module = lambda name: time.sleep(600); beside.compile_for_another()"
stopped = False
try:
    with stopped_by(lambda: stopped):
        with compile_beside.compiled_beside(take_next, (counter,), angles_into, (y, angle, 2)):
            angles_into(y, angle, 2)
            process = next(iter(compile_beside._processes.values()))
            print(process.pid, flush=True)
            END
except Stopped:
    print(process.poll(), flush=True)
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended, were it only waiting to be counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@patient
def test_the_second_process_goes_with_a_stop(tmp_path: Path) -> None:
    pid, status = call(tmp_path, LONG.replace("END", "stopped = True")).splitlines()
    assert status == str(-signal.SIGKILL)
    assert is_gone(int(pid))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@patient
def test_the_second_process_goes_with_a_killed_program(tmp_path: Path) -> None:
    code = BESIDE + LONG.replace("END", "import time; time.sleep(600)")
    environment = {**os.environ, "NUCLEATE_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as program:
        assert program.stdout is not None
        second = int(program.stdout.readline())
        time.sleep(2.0)  # until it reads its input
        assert not is_gone(second)
        killed = time.monotonic()
        program.kill()
        while not is_gone(second):
            time.sleep(0.05)
            assert time.monotonic() < killed + 60.0
    check_wall_seconds(time.monotonic() - killed, 1.0)
