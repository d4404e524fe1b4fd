"""A SLURM of this machine alone: munged, slurmctld and slurmd as processes of their own, with their files in
one folder.  Another SLURM that is installed or running here is not touched."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.held_study import PATIENCE_SECONDS, eventually

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch")
SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin")  # where Debian has daemons; not on every user's path
JOB_OVER = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}

# Eight processors are claimed whatever the machine has, so that a few workers fit.  Without systemd there
# are no control groups to put jobs into: SLURM follows processes by their parents.
SETTINGS = """\
ClusterName=nucleate
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The commands of a user, given in one folder."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def __call__(self, *words: object, cwd: Path | None = None) -> str:
        """What a command of SLURM says."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.strip()

    def submit(self, script: Path, *options: str) -> int:
        """Submit it from its folder; the job's number."""
        return int(self("sbatch", "--parsable", *options, script.name, cwd=script.parent))

    def jobs(self) -> list[int]:
        """Jobs that are running."""
        return [int(line) for line in self("squeue", "--noheader", "-t", "RUNNING", "-o", "%i").split()]

    def state(self, job: int) -> str:
        """PENDING, RUNNING, COMPLETED, ..."""
        return self.fields(job)["JobState"]

    def fields(self, job: int) -> dict[str, str]:
        """What SLURM knows of a job."""
        words = self("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def over(self, job: int) -> str:
        """The state in which a job has ended."""
        eventually(f"the end of job {job}", lambda: self.state(job) in JOB_OVER)
        return self.state(job)

    def processes(self, job: int, step: str) -> list[int]:
        """The processes that SLURM itself has started for a step of a job, one a task."""
        rows = [line.split() for line in self("scontrol", "listpids", job).splitlines()[1:]]
        return [int(pid) for pid, _, of_step, local, _ in rows if of_step == step and local != "-"]

    def processes_of_jobs(self) -> list[psutil.Process]:
        """What runs and was started by a job of this SLURM, now or earlier."""
        found = []
        for process in psutil.process_iter():
            try:
                about = process.environ()
            except psutil.Error:  # another user's, or over
                continue
            if about.get("SLURM_CONF") == self.environment["SLURM_CONF"] and "SLURM_JOB_ID" in about:
                found.append(process)
        return found

    def requeue(self, job: int) -> None:
        """End a job and let it begin again; at once, where SLURM would wait for two minutes."""
        before = int(self.fields(job)["Restarts"])
        self("scontrol", "requeue", job)
        eventually(f"job {job} is queued again", lambda: self.state(job) == "PENDING")
        self("scontrol", "update", f"JobId={job}", "StartTime=now")
        eventually(f"job {job} runs again", lambda: self.state(job) == "RUNNING")
        assert int(self.fields(job)["Restarts"]) == before + 1


@contextmanager
def slurm_of_one_machine(folder: Path) -> Iterator[Slurm]:
    """The daemons, until the block is left; they are ended by their ids, and so is every job."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], *SYSTEM_FOLDERS])
    missing = [command for command in COMMANDS if shutil.which(command, path=path) is None]
    if missing:
        pytest.fail(f"{', '.join(missing)}: not installed. make test-slurm installs them.")
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    settings = folder / "slurm.conf"
    controller_port, node_port = _free_ports(2)
    settings.write_text(
        SETTINGS.format(
            host=socket.gethostname().split(".")[0],
            user=getpass.getuser(),
            folder=folder,
            controller_port=controller_port,
            node_port=node_port,
        )
    )
    environment = {**os.environ, "PATH": path, "SLURM_CONF": str(settings), "TMPDIR": str(folder)}
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    daemons = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge],
        ["slurmctld", "-D"],
        ["slurmd", "-D"],
    ]
    slurm, started = Slurm(environment), []
    try:
        for words in daemons:
            with (folder / f"{words[0]}.out").open("w") as out:
                started.append(subprocess.Popen(words, stdout=out, stderr=out, env=environment, cwd=folder))
            if words[0] == "munged":
                eventually("munged listens", (folder / "munge.socket").exists)
        eventually("a node is idle", lambda: _says(slurm, "sinfo", "--noheader", "-o", "%t") == "idle")
        yield slurm
        for job in _says(slurm, "squeue", "--noheader", "-o", "%i").split():
            slurm("scancel", job)
        eventually("all jobs are gone", lambda: _says(slurm, "squeue", "--noheader") == "")
    finally:
        for process in slurm.processes_of_jobs():
            process.kill()
        for daemon in reversed(started):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _says(slurm: Slurm, *words: str) -> str:
    """The same, of a SLURM that may not answer yet."""
    try:
        return slurm(*words)
    except AssertionError:
        return "no answer"


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
