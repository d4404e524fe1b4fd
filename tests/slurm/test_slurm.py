"""The scripts of docs/slurm.md, as they stand there, on a real SLURM: jobs and workers are killed and
requeued, and the results are those of threads to the last byte."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.held_study import PATIENCE_SECONDS, HeldStudy, eventually, kill, worker_of
from support.project import blocks, page
from support.slurm import Slurm


@pytest.fixture
def study(slurm: Slurm, tmp_path: Path) -> Iterator[HeldStudy]:
    yield HeldStudy(tmp_path)
    eventually("no process of a job is left", lambda: slurm.processes_of_jobs() == [])


def script_with(line: str, folder: Path) -> Path:
    """The script of the page that has this line."""
    texts = [text for language in ("bash", "text") for text in blocks(page("docs/slurm.md"), language)]
    found = [text for text in texts if line in text.splitlines()]
    assert len(found) == 1, line
    path = folder / "script"
    path.write_text(found[0])
    return path


def logs(study: HeldStudy) -> str:
    return "".join(file.read_text() for file in sorted(study.folder.glob("*.out")))


def test_a_job_of_one_node_is_killed_submitted_again_and_requeued(slurm: Slurm, study: HeldStudy) -> None:
    script = script_with("#SBATCH --job-name=one-node", study.folder)
    first = slurm.submit(script)
    study.wait_half_way()
    slurm("scancel", "--signal=KILL", "--full", first)
    assert slurm.over(first) in ("FAILED", "CANCELLED")
    second = slurm.submit(script)
    eventually("it runs", lambda: slurm.state(second) == "RUNNING")
    slurm.requeue(second)
    study.go_on()
    assert slurm.over(second) == "COMPLETED", logs(study)
    study.check_bytes()


def test_workers_on_nodes_are_killed_and_their_job_is_requeued(slurm: Slurm, study: HeldStudy) -> None:
    job = slurm.submit(script_with("#SBATCH --job-name=nodes", study.folder), "--ntasks=3")
    study.wait_half_way()
    first, second, _ = slurm.processes(job, "0")
    kill(worker_of(first))  # the nanny starts another
    kill(second)  # the whole task: two are left
    worker_of(first)
    assert slurm.state(job) == "RUNNING", logs(study)
    slurm.requeue(job)
    study.go_on()
    assert slurm.over(job) == "COMPLETED", logs(study)
    study.check_bytes()


def test_the_job_goes_on_with_the_workers_that_are_left(slurm: Slurm, study: HeldStudy) -> None:
    job = slurm.submit(script_with("#SBATCH --job-name=nodes", study.folder), "--ntasks=2")
    study.wait_half_way()
    lost, left = slurm.processes(job, "0")
    kill(lost)
    worker_of(left)
    study.go_on()
    assert slurm.over(job) == "COMPLETED", logs(study)
    study.check_bytes()


@pytest.fixture
def writer(slurm: Slurm, study: HeldStudy) -> Iterator[subprocess.Popen[bytes]]:
    """The script that asks for workers as jobs."""
    script = script_with("from dask_jobqueue import SLURMCluster", study.folder)
    with (study.folder / "script.out").open("w") as out:
        words = [sys.executable, script.name]
        process = subprocess.Popen(words, cwd=study.folder, env=slurm.environment, stdout=out, stderr=out)
        yield process
        process.kill()
        process.wait()


def test_workers_that_are_jobs_are_killed_and_replaced(
    slurm: Slurm, study: HeldStudy, writer: subprocess.Popen[bytes]
) -> None:
    eventually("four workers", lambda: len(slurm.jobs()) == 4)
    study.wait_half_way()
    first = slurm.jobs()
    slurm("scancel", "--signal=KILL", "--full", first[0])
    eventually("another one", lambda: len(slurm.jobs()) == 4 and set(slurm.jobs()) != set(first))
    study.go_on()
    assert writer.wait(PATIENCE_SECONDS) == 0, logs(study)
    study.check_bytes()
    eventually("no worker is left", lambda: slurm.jobs() == [])
