"""A study that is held half-way: what computes it can be killed on the way on a machine of any speed."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from support.small_studies import contents, small, toml

from nucleate.studies.ensemble import ensemble

PATIENCE_SECONDS = 120.0  # for what happens within seconds on a machine without other work
POLL_SECONDS = 0.1
SEED = 11  # of the 48 runs those with the numbers 13, 15, 19, 40, 45 and 47 wait

# Some runs wait as long as the file is there.
FUNCTION = """
import time
from pathlib import Path

def end(t, x):
    while x[0, 0, 0] > 0.97 and Path({file!r}).exists():
        time.sleep(0.05)
    return float(x[-1, 0, 0])
"""


class HeldStudy:
    """studies/counts.toml in a folder, with its results on threads; on its way to counts.zarr it is held."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.hold = folder, folder / "hold"
        (folder / "studies").mkdir()
        (folder / "studies/held.py").write_text(FUNCTION.format(file=str(self.hold)))
        observables = {
            "apart": {"kind": "from_first", "at": "end"},
            "held": {"kind": "function", "function": "held:end", "each": "run"},
        }
        (folder / "studies/counts.toml").write_text(toml(small(runs=48, seed=SEED, observables=observables)))
        ensemble(folder / "studies/counts.toml", folder / "threads.zarr")
        self.hold.touch()

    def wait_half_way(self) -> None:
        """Wait until something is finished and kept."""
        eventually("a block is kept", lambda: any(self.folder.glob("counts.zarr.parts/blocks/*.block")))
        assert not (self.folder / "counts.zarr").exists()

    def go_on(self) -> None:
        self.hold.unlink()

    def check_bytes(self) -> None:
        """The end is that of threads, to the last byte."""
        assert (self.folder / "counts.zarr").exists()
        assert contents(self.folder / "counts.zarr") == contents(self.folder / "threads.zarr")


def eventually(what: str, happened: Callable[[], bool]) -> None:
    """Wait for it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS:.0f} s"
        time.sleep(POLL_SECONDS)


def kill(pid: int) -> None:
    """kill -9, and wait until it is gone, or is a process that its parent has not asked about yet."""
    os.kill(pid, signal.SIGKILL)
    eventually(f"the end of {pid}", lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def worker_of(nanny: int) -> int:
    """The process that computes, which a nanny of Dask's has started."""

    found: list[int] = []

    def there_is_one() -> bool:
        for child in psutil.Process(nanny).children():
            with suppress(psutil.NoSuchProcess):  # a killed one may go at any moment
                if "spawn_main" in " ".join(child.cmdline()):
                    found.append(child.pid)
        return bool(found)

    eventually("the nanny has a worker", there_is_one)
    return found[0]
