"""Ensembles on a real Dask cluster on this machine: a scheduler and workers as processes of their own, some
of them killed.

`make soak` kills twenty workers.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command_line import start_nucleate
from support.small_studies import SOAK, contents, profile, small, spread, toml
from support.time_limits import several_programs

from nucleate.checks import InputError
from nucleate.studies.ensemble import ensemble

distributed: Any = pytest.importorskip("distributed", reason="Dask comes with nucleate[cluster]")

KILLS = 20 if SOAK else 3
START_SECONDS = 60.0  # for processes to start
# Dask leaves sockets and loops to the garbage collector when its processes are killed.
pytestmark = [
    several_programs,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _other_dask_work_is_left_alone() -> Iterator[None]:
    """A study on a cluster must not become where this process computes everything else it does with Dask."""
    import dask

    before = dask.config.get("scheduler", None)
    yield
    assert dask.config.get("scheduler", None) == before


@contextmanager
def processes(folder: Path, workers: int, threads: int, nanny: bool = True) -> Iterator[str]:
    """A scheduler and its workers, started as their users do; the address of the scheduler."""
    file = folder / f"scheduler-{workers}-{threads}.json"
    python = [sys.executable, "-m"]
    scheduler = [
        *python,
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(file),
    ]
    each = [
        *python,
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(file),
        "--nworkers",
        str(workers),
        "--nthreads",
        str(threads),
    ]
    each += ["--no-dashboard", "--nanny" if nanny else "--no-nanny", "--local-directory", str(folder)]
    here = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    started = []
    with (folder / "dask.log").open("w") as log:
        try:
            for words in (scheduler, each):
                started.append(subprocess.Popen(words, stdout=log, stderr=log, env=here, cwd=folder))
            deadline = time.monotonic() + START_SECONDS
            while not file.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            with distributed.Client(
                scheduler_file=str(file), timeout=START_SECONDS, set_as_default=False
            ) as client:
                client.wait_for_workers(workers, timeout=START_SECONDS)
                address = client.scheduler.address
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
            for process in reversed(started):
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@pytest.mark.parametrize(
    ("workers", "threads"), [(1, 1), (2, 1), (1, 2)], ids=["one", "two workers", "two threads"]
)
def test_workers_and_blocks_leave_every_byte_as_it_is(
    workers: int, threads: int, tmp_path: Path, finished: Path
) -> None:
    with processes(tmp_path, workers, threads) as address:
        for block in (1, 7, 64, 10_000):
            ensemble(small(), tmp_path / f"{block}.zarr", block=block, cluster=address)
            assert contents(tmp_path / f"{block}.zarr") == contents(finished), block


def test_a_local_cluster_does_what_threads_do_and_own_functions_travel(tmp_path: Path) -> None:
    own = {
        "spread": {"kind": "function", "function": spread},
        "lines": {"kind": "function", "function": profile, "each": "run", "dims": ["time", "token"]},
    }
    ensemble(small(observables=own), tmp_path / "threads.zarr")
    ensemble(small(observables=own), tmp_path / "cluster.zarr", cluster="local", threads=2, block=8)
    assert contents(tmp_path / "threads.zarr") == contents(tmp_path / "cluster.zarr")


def test_blocks_of_killed_workers_are_computed_elsewhere(tmp_path: Path) -> None:
    study = small(
        runs=400 * (1 + 3 * SOAK),
        start={"n": 48, "d": 2},
        times={"t": 20.0, "save": 5, "rtol": 1e-6, "atol": 1e-9},
    )
    ensemble(study, tmp_path / "threads.zarr")
    killed: list[int] = []
    dice, over = random.Random(0), threading.Event()

    def killer(address: str) -> None:
        with distributed.Client(address, set_as_default=False) as client:
            while not over.is_set() and len(killed) < KILLS:
                over.wait(dice.uniform(0.2, 1.0))
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if len(pids) == 2 and not over.is_set():
                    os.kill(pid := dice.choice(pids), signal.SIGKILL)
                    killed.append(pid)

    with processes(tmp_path, 2, 1) as address:
        thread = threading.Thread(target=killer, args=(address,))
        thread.start()
        try:
            # Again from nothing until all kills have happened while blocks were under way.
            for turn in range(100):
                path = tmp_path / f"out{turn}.zarr"
                ensemble(study, path, cluster=address, block=4)
                assert contents(path) == contents(tmp_path / "threads.zarr")
                if len(killed) >= KILLS:
                    break
        finally:
            over.set()
            thread.join()
    assert len(killed) >= KILLS


def test_a_lost_scheduler_ends_with_one_line_and_threads_finish_the_work(tmp_path: Path) -> None:
    slow = small(runs=600, start={"n": 48, "d": 2}, times={"t": 20.0, "save": 5, "rtol": 1e-6, "atol": 1e-9})
    (tmp_path / "study.toml").write_text(toml(slow))
    ensemble(slow, tmp_path / "threads.zarr")
    command = ["ensemble", "study.toml", "--out", "out.zarr", "--block", 4, "--quiet"]
    with processes(tmp_path, 1, 1) as address:
        going = start_nucleate(*command, "--cluster", address, cwd=tmp_path)
        deadline = time.monotonic() + START_SECONDS
        while len(list(tmp_path.glob("out.zarr.parts/blocks/*.block"))) < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
    said, wrong = going.communicate(timeout=START_SECONDS)  # or it waits for ever
    assert (going.returncode, said) == (2, "")
    assert len(wrong.splitlines()) == 1, wrong
    assert "The cluster failed: " in wrong
    assert "run the same command again" in wrong
    ensemble(slow, tmp_path / "out.zarr")
    assert contents(tmp_path / "out.zarr") == contents(tmp_path / "threads.zarr")


def test_a_worker_with_other_versions_is_refused() -> None:
    from nucleate.studies.cluster import _pickled, compute_on_worker
    from nucleate.studies.study import Study

    with pytest.raises(InputError, match=r"numpy is .* instead of 1"):
        compute_on_worker(_pickled(Study.make(small())), (0, 0, 2), {"numpy": "1"})


def test_no_scheduler_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nucleate.studies import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match="no scheduler answers there"):
        ensemble(small(), tmp_path / "out.zarr", cluster="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="must be local or the address"):
        ensemble(small(), tmp_path / "out.zarr", cluster="here")
    assert list(tmp_path.iterdir()) == [], "the store is not bound to a study of which nothing was computed"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Nanny failed to start."),
        FileNotFoundError(2, "No such file or directory"),  # without /dev/shm
        TimeoutError("Worker startup timed out"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_local_cluster_that_cannot_start_says_so_in_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with pytest.raises(InputError, match=f"workers could not be started .{type(error).__name__}"):
        ensemble(small(), cluster="local", threads=1)
