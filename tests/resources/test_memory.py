"""How much memory there is: the machine's, or what a container or `ulimit` leaves of it; what is beyond is
refused before it is asked for."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.folders import plant

from nucleate.checks import InputError, check_memory
from nucleate.resources import free_memory, memory

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
    "version 2, slowed down before it is full": (
        "0::/job\n",
        {f"{V2}/job/memory.max": "800000000\n", f"{V2}/job/memory.high": "600000000\n"},
        600_000_000,
    ),
    "version 2, seen from inside the container": (
        "0::/docker/0123\n",
        {f"{V2}/memory.max": "600000000\n"},
        600_000_000,
    ),
    "version 2, outside its own part of the tree": ("0::/../../job\n", {f"{V2}/memory.max": "900\n"}, 900),
    "version 2, mounted elsewhere": (
        "4:cpu:/\n0::/job\n",
        {
            "proc/self/mountinfo": "31 23 0:27 / /cgroups/two rw,nosuid - cgroup2 cgroup2 rw\n",
            "cgroups/two/job/memory.max": "550000000\n",
        },
        550_000_000,
    ),
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
    "version 1, mounted elsewhere and from the middle of its tree": (
        "4:memory:/docker/0123/step\n",
        {
            "proc/self/mountinfo": "bad\n30 23 0:26 /docker/0123 /dev/cg/mem ro - cgroup cgroup rw,memory\n",
            "dev/cg/mem/memory.limit_in_bytes": "700000000\n",
            "dev/cg/mem/step/memory.limit_in_bytes": "300000000\n",
        },
        300_000_000,
    ),
    "version 1 without a limit": ("4:memory:/\n", {f"{V1}/memory.limit_in_bytes": NO_LIMIT_V1}, None),
    "no files": ("4:memory:/a\n0::/a\n", {}, None),
    "no numbers": ("0::/\n", {f"{V2}/memory.max": "a lot\n"}, None),
    "strange lines": ("\nno colons\n1:2\n", {}, None),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_least_limit_of_a_container_counts(name: str, tmp_path: Path) -> None:
    groups, files, least = CONTAINERS[name]
    plant(tmp_path, {"proc/self/cgroup": groups, **files})
    assert memory(tmp_path) == min(MACHINE, memory(), MACHINE if least is None else least)


def test_where_there_are_no_control_groups_the_machine_counts(tmp_path: Path) -> None:
    assert memory(tmp_path) == free_memory(tmp_path) == min(MACHINE, ulimit())


def ulimit() -> float:
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=float("inf"))


def test_what_a_container_uses_already_is_not_free_but_for_files_that_can_be_read_again(
    tmp_path: Path,
) -> None:
    use = {
        "proc/self/cgroup": "0::/job/step\n",
        f"{V2}/job/memory.max": "600000000\n",
        f"{V2}/job/memory.current": "500000000\n",
        f"{V2}/job/memory.stat": "anon 1\ninactive_file 30000000\nactive_file 20000000\nbroken\n",
        f"{V2}/job/step/memory.max": "max\n",
        f"{V2}/job/step/memory.current": "1000\n",
    }
    plant(tmp_path / "two", use)
    assert memory(tmp_path / "two") == 600_000_000
    assert free_memory(tmp_path / "two") == 150_000_000
    plant(
        tmp_path / "one",
        {
            "proc/self/cgroup": "4:memory:/job\n",
            f"{V1}/job/memory.limit_in_bytes": "600000000\n",
            f"{V1}/job/memory.usage_in_bytes": "590000000\n",
            f"{V1}/job/memory.stat": "inactive_file 1\ntotal_inactive_file 2000\ntotal_active_file 3000\n",
        },
    )
    assert free_memory(tmp_path / "one") == 10_005_000
    plant(tmp_path / "over", {**use, f"{V2}/job/memory.current": "900000000\n"})
    assert free_memory(tmp_path / "over") == 0


def test_what_others_use_of_the_machine_is_not_free(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:  3000 kB\nSwapFree: 1000 kB\n"})
    assert free_memory(tmp_path) == 4000 * 1024


LIMITED = """
import resource
resource.setrlimit(resource.{name}, (3 * 2**30, 3 * 2**30))
import numpy as np, nucleate as nc
from nucleate.checks import check_memory
from nucleate.resources import free_memory, memory
print(memory())
try:
    nc.uniform(10**8, 2)  # 4.5 GiB while it is drawn
except nc.InputError as error:
    print(error)
held = np.ones(2**28)  # 2 GiB
try:
    check_memory(1.25 * 2**30, "more than is left")
except nc.InputError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_ulimit_counts_and_what_is_beyond_it_is_refused_before_it_is_asked_for(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(name=name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread of BLAS reserves address space
    )
    bytes_there, beyond, not_free = done.stdout.splitlines()
    assert int(bytes_there) == 3 * 2**30
    assert "needs 4.47 GiB, but may have 1.5 GiB, half of the memory here." in beyond
    assert "more than is left needs 1.25 GiB, but only 0." in not_free
    assert "GiB of the memory here are free. Ask for fewer" in not_free


def test_half_of_the_memory_may_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.checks.memory", lambda: 2**30)
    monkeypatch.setattr("nucleate.checks.free_memory", lambda: 2**30)
    check_memory(2**29, "half of it")
    with pytest.raises(InputError, match=r"more of it needs 0.5 GiB, but may have 0.5 GiB"):
        check_memory(2**29 + 1, "more of it")


def test_so_little_that_it_always_fits_costs_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.checks.memory", lambda: pytest.fail("asked how much there is"))
    check_memory(2**20, "a start")


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/memory", os.W_OK), reason="no control group can be made here"
)
def test_in_a_real_container_what_does_not_fit_is_told_instead_of_killed() -> None:
    group = Path(f"/sys/fs/cgroup/memory/nucleate-test-{os.getpid()}")
    group.mkdir()
    code = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()));"
        "import nucleate as nc; nc.simulate(nc.Attention(1.0), nc.uniform(1000, 2), 1.0, save=120_000)"
    )
    try:
        (group / "memory.limit_in_bytes").write_text(str(600 * 2**20))
        done = subprocess.run(
            [sys.executable, "-c", code, str(group / "cgroup.procs")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        group.rmdir()
    assert done.returncode == 1
    assert "needs 1.79 GiB, but may have 0.293 GiB" in done.stderr
