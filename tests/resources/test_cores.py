"""How many cores there are: those a process may run on, or fewer where a container has less of their time."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.folders import plant

from nucleate.kernels.threads import pick_threads
from nucleate.resources import cores

V2 = "sys/fs/cgroup"
# name: the lines of /proc/self/cgroup, the files with limits, and how many of 64 cores they leave
CONTAINERS: dict[str, tuple[str, Mapping[str, str], int]] = {
    "version 2": ("0::/\n", {f"{V2}/cpu.max": "300000 100000\n"}, 3),
    "version 2, a part of a core": ("0::/a\n", {f"{V2}/a/cpu.max": "50000 100000\n"}, 1),
    "version 2, one and a half": ("0::/a\n", {f"{V2}/a/cpu.max": "150000 100000\n"}, 2),
    "version 2, the limit further up": (
        "0::/a/b\n",
        {f"{V2}/a/b/cpu.max": "max 100000\n", f"{V2}/a/cpu.max": "200000 50000\n"},
        4,
    ),
    "version 2 without a limit": ("0::/a\n", {f"{V2}/a/cpu.max": "max 100000\n"}, 64),
    "version 1": (
        "2:cpuacct,cpu:/job\n4:memory:/other\n",
        {
            f"{V2}/cpu/job/cpu.cfs_quota_us": "250000\n",
            f"{V2}/cpu/job/cpu.cfs_period_us": "100000\n",
            f"{V2}/cpu/other/cpu.cfs_quota_us": "1\n",
            f"{V2}/cpu/other/cpu.cfs_period_us": "1\n",
        },
        3,
    ),
    "version 1, as systemd names its folder": (
        "2:cpu,cpuacct:/job\n",
        {
            f"{V2}/cpu,cpuacct/job/cpu.cfs_quota_us": "700000\n",
            f"{V2}/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
        },
        7,
    ),
    "version 1 without a limit": (
        "2:cpu:/\n",
        {f"{V2}/cpu/cpu.cfs_quota_us": "-1\n", f"{V2}/cpu/cpu.cfs_period_us": "100000\n"},
        64,
    ),
    "more than there are": ("0::/\n", {f"{V2}/cpu.max": "9900000 100000\n"}, 64),
    "nothing that could be a limit": ("0::/\n", {f"{V2}/cpu.max": "0 0\n"}, 64),
    "no numbers": ("0::/\n", {f"{V2}/cpu.max": "some more\n"}, 64),
    "no files": ("0::/a\n2:cpu:/a\n", {}, 64),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_given_less_time_has_fewer_cores(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups, files, number = CONTAINERS[name]
    plant(tmp_path, {"proc/self/cgroup": groups, **files})
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    assert cores(tmp_path) == number


def test_cores_a_process_may_not_run_on_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "300000 100000\n"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5}, raising=False)
    assert cores(tmp_path) == 1


def test_threads_left_out_are_as_many_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.kernels.threads.cores", lambda: 5)
    assert pick_threads(None) == 5
    assert pick_threads(2) == 2
