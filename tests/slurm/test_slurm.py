"""The scripts of docs/slurm.md, as they stand there, on a real SLURM: jobs and workers are killed and
requeued, and the results are those of threads to the last byte."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.project import blocks, page
from support.slurm import PATIENCE_SECONDS, Slurm, eventually
from support.small_studies import contents, small, toml

from nucleate.studies.ensemble import ensemble

# Some runs wait as long as the file is there: the study is not finished before the test has killed what it
# wants to kill.
HELD = """
import time
from pathlib import Path

def end(t, x):
    while x[0, 0, 0] > 0.97 and Path({file!r}).exists():
        time.sleep(0.05)
    return float(x[-1, 0, 0])
"""


class Place:
    """A folder with the scripts of the page and the study that they run, held half-way."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.hold = folder, folder / "hold"
        (folder / "studies").mkdir()
        (folder / "studies/held.py").write_text(HELD.format(file=str(self.hold)))
        observables = {
            "apart": {"kind": "from_first", "at": "end"},
            "held": {"kind": "function", "function": "held:end", "each": "run"},
        }
        (folder / "studies/counts.toml").write_text(toml(small(runs=48, observables=observables)))
        ensemble(folder / "studies/counts.toml", folder / "threads.zarr")
        self.hold.touch()

    def script(self, first_line: str) -> Path:
        """The script of the page that begins so."""
        found = [
            text
            for language in ("bash", "text")
            for text in blocks(page("docs/slurm.md"), language)
            if first_line in text.splitlines()
        ]
        assert len(found) == 1, first_line
        path = self.folder / "script"
        path.write_text(found[0])
        return path

    def half_way(self) -> None:
        """Wait until something is finished and kept."""
        eventually("a block is kept", lambda: any(self.folder.glob("counts.zarr.parts/blocks/*.block")))
        assert not (self.folder / "counts.zarr").exists()

    def go_on(self) -> None:
        self.hold.unlink()

    def log(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("slurm-*.out")))

    def check(self) -> None:
        """The end is that of threads, to the last byte."""
        assert (self.folder / "counts.zarr").exists(), self.log()
        assert contents(self.folder / "counts.zarr") == contents(self.folder / "threads.zarr")


@pytest.fixture
def place(slurm: Slurm, tmp_path: Path) -> Iterator[Place]:
    yield Place(tmp_path)
    eventually("no process of a job is left", lambda: slurm.processes_of_jobs() == [])


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    eventually(f"the end of {pid}", lambda: not psutil.pid_exists(pid))


def worker_process(task: int) -> int:
    """The process that computes, which the nanny of a task has started."""

    def found() -> list[psutil.Process]:
        return [one for one in psutil.Process(task).children() if "spawn_main" in " ".join(one.cmdline())]

    eventually("the nanny has a worker", lambda: len(found()) == 1)
    return int(found()[0].pid)


def test_a_job_of_one_node_is_killed_requeued_and_submitted_again(slurm: Slurm, place: Place) -> None:
    script = place.script("#SBATCH --job-name=one-node")
    first = slurm.submit(script)
    place.half_way()
    slurm("scancel", "--signal=KILL", "--full", first)
    assert slurm.over(first) in ("FAILED", "CANCELLED")
    second = slurm.submit(script)
    eventually("it runs", lambda: slurm.state(second) == "RUNNING")
    slurm.requeue(second)
    place.go_on()
    assert slurm.over(second) == "COMPLETED", place.log()
    place.check()


def test_workers_on_nodes_are_killed_and_their_job_is_requeued(slurm: Slurm, place: Place) -> None:
    job = slurm.submit(place.script("#SBATCH --job-name=nodes"), "--ntasks=3")
    place.half_way()
    tasks = slurm.processes(job, "0")
    assert len(tasks) == 3
    kill(worker_process(tasks[0]))  # the nanny starts another
    kill(tasks[1])  # the whole task: two are left
    worker_process(tasks[0])
    assert slurm.state(job) == "RUNNING", place.log()
    slurm.requeue(job)
    place.go_on()
    assert slurm.over(job) == "COMPLETED", place.log()
    place.check()


def test_the_job_goes_on_with_the_workers_that_are_left(slurm: Slurm, place: Place) -> None:
    job = slurm.submit(place.script("#SBATCH --job-name=nodes"), "--ntasks=2")
    place.half_way()
    lost, left = slurm.processes(job, "0")
    kill(lost)
    assert worker_process(left)
    place.go_on()
    assert slurm.over(job) == "COMPLETED", place.log()
    place.check()


@pytest.fixture
def with_jobqueue(slurm: Slurm, place: Place) -> Iterator[subprocess.Popen[str]]:
    script = place.script("from dask_jobqueue import SLURMCluster")
    with (place.folder / "slurm-script.out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, script.name],
            cwd=place.folder,
            env=slurm.environment,
            stdout=out,
            stderr=out,
            text=True,
        )
        yield process
        process.kill()
        process.wait()


def test_workers_that_are_jobs_are_killed_and_replaced(
    slurm: Slurm, place: Place, with_jobqueue: subprocess.Popen[str]
) -> None:
    eventually("four workers", lambda: len(slurm.jobs()) == 4)
    place.half_way()
    first = slurm.jobs()
    slurm("scancel", "--signal=KILL", "--full", first[0])
    eventually("another one", lambda: len(slurm.jobs()) == 4 and set(slurm.jobs()) != set(first))
    place.go_on()
    assert with_jobqueue.wait(PATIENCE_SECONDS) == 0, place.log()
    place.check()
    eventually("no worker is left", lambda: slurm.jobs() == [])
