"""How much memory there is: the machine's, or what a container or `ulimit -v` leaves of it."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nucleate.checks import InputError, check_memory, memory

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
NO_LIMIT_V1 = "9223372036854771712\n"  # what version 1 shows where there is none
V1, V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"

# name: the lines of /proc/self/cgroup, the files with limits, and the least of these
CONTAINERS: dict[str, tuple[str, Mapping[str, str], int | None]] = {
    "version 2": ("0::/\n", {f"{V2}/memory.max": "1000000000\n"}, 10**9),
    "version 2, nested": (
        "0::/user/job/step\n",
        {
            f"{V2}/user/job/step/memory.max": "max\n",
            f"{V2}/user/job/memory.max": "500000000\n",
            f"{V2}/user/memory.max": "700000000\n",
        },
        500_000_000,
    ),
    "version 2, seen from inside the container": (
        "0::/docker/0123\n",
        {f"{V2}/memory.max": "600000000\n"},
        600_000_000,
    ),
    "version 2, outside its own part of the tree": ("0::/../../job\n", {f"{V2}/memory.max": "900\n"}, 900),
    "version 2 without a limit": ("0::/a\n", {f"{V2}/a/memory.max": "max\n"}, None),
    "version 1": (
        "5:cpu,cpuacct:/\n4:memory:/docker/0123\n0::/\n",
        {
            f"{V1}/docker/0123/memory.limit_in_bytes": "800000000\n",
            f"{V1}/docker/memory.limit_in_bytes": NO_LIMIT_V1,
            f"{V1}/memory.limit_in_bytes": NO_LIMIT_V1,
        },
        800_000_000,
    ),
    "version 1, the limit further up": (
        "4:memory,hugetlb:/slurm/uid_1/job_2/step_0\n",
        {
            f"{V1}/slurm/uid_1/job_2/step_0/memory.limit_in_bytes": NO_LIMIT_V1,
            f"{V1}/slurm/uid_1/job_2/memory.limit_in_bytes": "400000000\n",
        },
        400_000_000,
    ),
    "version 1 without a limit": ("4:memory:/\n", {f"{V1}/memory.limit_in_bytes": NO_LIMIT_V1}, None),
    "no files": ("4:memory:/a\n0::/a\n", {}, None),
    "no numbers": ("0::/\n", {f"{V2}/memory.max": "a lot\n"}, None),
    "strange lines": ("\nno colons\n1:2\n", {}, None),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_least_limit_of_a_container_counts(name: str, tmp_path: Path) -> None:
    groups, files, least = CONTAINERS[name]
    for file, text in {"proc/self/cgroup": groups, **files}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    assert memory(tmp_path) == min(MACHINE, memory(), MACHINE if least is None else least)


def test_where_there_are_no_control_groups_the_machine_counts(tmp_path: Path) -> None:
    assert memory(tmp_path) == min(MACHINE, resource_limit())


def resource_limit() -> float:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def test_ulimit_counts_and_what_is_beyond_it_is_refused_before_it_is_asked_for() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
import nucleate as nc
from nucleate.checks import memory
print(memory())
try:
    nc.uniform(10**8, 2)  # 4.5 GiB while it is drawn
except nc.InputError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread of BLAS reserves address space
    )
    bytes_there, words = done.stdout.splitlines()
    assert int(bytes_there) == 3 * 2**30
    assert "needs 4.47 GiB, but may have 1.5 GiB, half of the memory here." in words


def test_half_of_the_memory_may_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.checks.memory", lambda: 2**30)
    check_memory(2**29, "half of it")
    with pytest.raises(InputError, match=r"more of it needs 0.5 GiB, but may have 0.5 GiB"):
        check_memory(2**29 + 1, "more of it")


def test_so_little_that_it_always_fits_costs_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.checks.memory", lambda: pytest.fail("asked how much there is"))
    check_memory(2**20, "a start")
