"""Ensembles on a real Dask cluster on this machine: a scheduler and workers as processes of their own, some
of them killed.

`make soak` kills twenty workers.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command_line import start_nucleate
from support.held_study import HeldStudy, eventually, kill, worker_of
from support.networks import Network, two_networks
from support.small_studies import contents, profile, small, spread, toml
from support.soak import SOAK
from support.time_limits import several_programs

from nucleate.checks import InputError
from nucleate.studies.ensemble import ensemble

distributed: Any = pytest.importorskip("distributed", reason="Dask comes with nucleate[cluster]")
dask_config: Any = pytest.importorskip("dask.config")

KILLS = 20 if SOAK else 3
START_SECONDS = 60.0  # for processes to start
SILENCE = "12s"  # after which a machine that does not answer is lost; Dask takes no less, and 30 s by itself
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
def dask(folder: Path, *words: object, inside: Network | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """`dask scheduler` or `dask worker` as a process of its own, until the block is left."""
    kind, *options = map(str, words)
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options, "--no-dashboard"]
    here = {**os.environ, "NUMBA_NUM_THREADS": "1", "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": SILENCE}
    with (folder / "dask.log").open("a") as log:
        process = subprocess.Popen(
            [*(inside.enter if inside else []), *command], stdout=log, stderr=log, env=here, cwd=folder
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def scheduler(folder: Path, *options: object, inside: Network | None = None) -> Iterator[str]:
    """A scheduler; its address."""
    file = folder / "scheduler.json"
    host = inside.address if inside else "127.0.0.1"
    words = ("scheduler", "--host", host, "--port", 0, "--scheduler-file", file, *options)
    with dask(folder, *words, inside=inside):
        eventually("the scheduler listens", lambda: file.exists() and file.read_text().endswith("}"))
        yield json.loads(file.read_text())["address"]


def worker(
    folder: Path, address: str, *options: object, inside: Network | None = None
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A nanny and its worker, of one thread."""
    words = ("worker", address, "--nthreads", 1, "--local-directory", folder, *options)
    return dask(folder, *words, inside=inside)


@contextmanager
def processes(folder: Path, workers: int, threads: int) -> Iterator[str]:
    """A scheduler and its workers, started as their users do; the address of the scheduler."""
    several = ("--nworkers", workers, "--nthreads", threads)
    with scheduler(folder) as address, worker(folder, address, *several):
        with distributed.Client(address, timeout=START_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=START_SECONDS)
        yield address


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


@pytest.mark.soak(killed_workers=KILLS)
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


@contextmanager
def counts(
    address: str, study: HeldStudy, inside: Network | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """`nucleate ensemble` on the cluster there, as a process of its own, until the block is left."""
    words = ["ensemble", "studies/counts.toml", "--out", "counts.zarr", "--block", "2", "--quiet"]
    command = [sys.executable, "-m", "nucleate", *words, "--cluster", address]
    with (study.folder / "said").open("w") as said:
        process = subprocess.Popen(
            [*(inside.enter if inside else []), *command], stderr=said, cwd=study.folder
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def check_end(process: subprocess.Popen[bytes], study: HeldStudy) -> None:
    """It ends well, and with the bytes of threads."""
    assert process.wait(2 * START_SECONDS) == 0, (study.folder / "said").read_text()
    study.check_bytes()


def test_the_command_goes_on_when_a_worker_is_killed(tmp_path: Path) -> None:
    study = HeldStudy(tmp_path)
    with (
        scheduler(tmp_path) as address,
        worker(tmp_path, address) as first,
        worker(tmp_path, address) as second,
        counts(address, study) as going,
    ):
        study.wait_half_way()
        kill(worker_of(first.pid))  # the nanny starts another
        kill(second.pid)  # the nanny: its worker ends, too
        study.go_on()
        check_end(going, study)


def test_a_worker_in_another_network_is_killed_and_cut_off(tmp_path: Path) -> None:
    """As on two machines: the worker is reached by an address alone, is killed, and its cable pulled out."""
    study = HeldStudy(tmp_path)
    with (
        two_networks() as (here, there),
        scheduler(tmp_path, inside=here) as address,
        worker(tmp_path, address, inside=there) as remote,
        counts(address, study, inside=here) as going,
    ):
        assert address.startswith(f"tcp://{here.address}:")
        study.wait_half_way()  # what is kept was computed there
        kill(worker_of(remote.pid))
        worker_of(remote.pid)
        there.cut()
        study.go_on()
        with worker(tmp_path, address, inside=here):
            check_end(going, study)


def test_losing_all_workers_is_said_and_another_one_finishes(tmp_path: Path) -> None:
    study = HeldStudy(tmp_path)
    with scheduler(tmp_path) as address, counts(address, study) as going:
        with worker(tmp_path, address):
            study.wait_half_way()
        words = "Warning: The cluster has lost all its workers; waiting for others."
        eventually("the loss is said", lambda: words in (tmp_path / "said").read_text())
        study.go_on()
        with worker(tmp_path, address):
            check_end(going, study)


# --- a cluster of our own that does not start


def local_with_preload(folder: Path, preload: str) -> tuple[int, str]:
    """`--cluster local` whose workers run this first; the exit code, and what was said on stderr."""
    (folder / "preload.py").write_text(preload)
    (folder / "study.toml").write_text(toml(small()))
    words = ("ensemble", "study.toml", "--out", "out.zarr", "--quiet", "--threads", 2, "--cluster", "local")
    settings = {"DASK_DISTRIBUTED__WORKER__PRELOAD": json.dumps([str(folder / "preload.py")])}
    with start_nucleate(*words, cwd=folder, env=settings) as going:
        _, wrong = going.communicate(timeout=2 * START_SECONDS)
    return going.returncode, wrong


def test_a_worker_that_is_lost_at_the_start_is_started_again(tmp_path: Path, finished: Path) -> None:
    once = f"""
import os, signal
try:
    os.mkdir({str(tmp_path / "killed")!r})
except FileExistsError:
    pass
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert local_with_preload(tmp_path, once) == (0, "")
    assert (tmp_path / "killed").exists()
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_workers_that_never_start_are_one_line_and_nothing_is_left(tmp_path: Path) -> None:
    code, wrong = local_with_preload(tmp_path, "import os; os._exit(1)")
    assert code == 2
    assert len(wrong.splitlines()) == 1, wrong
    assert "--cluster local: its workers did not start (RuntimeError: Nanny failed" in wrong
    assert not list(tmp_path.glob("out.zarr*"))


def test_no_shared_memory_is_one_line(tmp_path: Path) -> None:
    """In a mount namespace of its own, /dev/shm can be made read-only for one command."""
    read_only = "mount -t tmpfs -o ro none /dev/shm"
    alone = ["unshare", "--mount", "sh", "-c"]
    if os.geteuid() != 0 or subprocess.run([*alone, read_only], capture_output=True, check=False).returncode:
        pytest.skip("only root can make a mount namespace, and not everywhere")
    (tmp_path / "study.toml").write_text(toml(small()))
    nucleate = f"{sys.executable} -m nucleate ensemble study.toml --out out.zarr --cluster local"
    done = subprocess.run(
        [*alone, f"{read_only} && exec {nucleate}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "--cluster local needs memory that processes share, /dev/shm on Linux" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["study.toml"]


def test_a_lost_scheduler_ends_with_one_line_and_threads_finish_the_work(tmp_path: Path) -> None:
    slow = small(runs=600, start={"n": 48, "d": 2}, times={"t": 20.0, "save": 5, "rtol": 1e-6, "atol": 1e-9})
    (tmp_path / "study.toml").write_text(toml(slow))
    ensemble(slow, tmp_path / "threads.zarr")
    command = ["ensemble", "study.toml", "--out", "out.zarr", "--block", 4, "--quiet"]
    with processes(tmp_path, 1, 1) as address:
        with distributed.Client(address, set_as_default=False) as client:
            pid = client.run_on_scheduler(os.getpid)
        going = start_nucleate(*command, "--cluster", address, cwd=tmp_path)
        deadline = time.monotonic() + START_SECONDS
        while len(list(tmp_path.glob("out.zarr.parts/blocks/*.block"))) < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        kill(pid)
        # or it waits for ever; Dask itself looks for a lost scheduler for 30 s
        said, wrong = going.communicate(timeout=2 * START_SECONDS)
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
    assert list(tmp_path.iterdir()) == [], "the store is not bound to a study of which nothing was computed"


NO_ADDRESSES = [
    "here",
    "",
    "127.0.0.1:8786",
    "tcp://",
    "tcp://127.0.0.1",
    "tcp://:8786",
    "tcp://127.0.0.1:port",
    "tcp://127.0.0.1:99999",
    "tcp://127.0.0.1:8786/x",
    "http://127.0.0.1:8786",
    "inproc://here:1",
]


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_what_is_no_address_is_refused_at_once(address: str, tmp_path: Path) -> None:
    """Dask would try it, and complain with a traceback when the process ends."""
    with pytest.raises(InputError, match="must be local or the address of a scheduler"):
        ensemble(small(), tmp_path / "out.zarr", cluster=address)
    assert list(tmp_path.iterdir()) == []


def test_tls_asks_for_a_certificate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a certificate, and Dask knows of none"):
        ensemble(small(), tmp_path / "out.zarr", cluster="tls://127.0.0.1:8786")


@pytest.mark.skipif(
    sys.version_info >= (3, 14),
    reason="Dask's own connections by TLS break there as soon as a result is fetched",
)
def test_tls_works_with_a_certificate(tmp_path: Path, finished: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("the certificate is made by openssl")
    words = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=nucleate -keyout key.pem -out cert.pem"
    )
    subprocess.run(words.split(), cwd=tmp_path, capture_output=True, check=True)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    options = ["--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key]
    names = {"ca-file": cert, "client.cert": cert, "client.key": key}
    settings = {f"distributed.comm.tls.{name}": str(file) for name, file in names.items()}
    with (
        scheduler(tmp_path, *options, "--protocol", "tls") as address,
        worker(tmp_path, address, *options),
        dask_config.set(settings),
    ):
        assert address.startswith("tls://")
        ensemble(small(), tmp_path / "out.zarr", cluster=address, tell=lambda words: None)
    assert contents(tmp_path / "out.zarr") == contents(finished)
