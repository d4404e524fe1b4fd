"""Memory and cores this process may use: the machine's, or less in a container and under `ulimit`; and which
processor it is.

A container is a control group of Linux, version 1 or 2: folders with a file for each limit, under which the
limits of every folder further up hold as well.  Each function takes `root`, where /proc and /sys are.
"""

import math
import os
from functools import cache
from pathlib import Path, PurePosixPath

__all__ = ["cores", "free_memory", "memory", "processor"]

ROOT = Path("/")
UNKNOWN_MEMORY_BYTES = 2**34  # where the system does not tell
# of control groups, by version: a limit, the file with what is in use, and the lines of memory.stat with what
# of that the system can take back
MEMORY_FILES = {
    1: (("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
    2: (("memory.max", "memory.high"), "memory.current", ("inactive_file", "active_file")),
}
# of a processor: the feature by which LLVM knows its vectors, and how many doubles they hold
VECTORS = {
    "avx512f": "AVX-512, eight doubles at once",
    "avx2": "AVX2, four",
    "asimd": "NEON, two",
    "neon": "NEON, two",
}
# of ulimit: the limit's name, and the column of /proc/self/statm with the pages in use
MEMORY_ULIMITS = {"RLIMIT_AS": 0, "RLIMIT_DATA": 5}


def processor() -> tuple[str, str]:
    """Its name as LLVM has it, and how many doubles it computes at once."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    vectors = next(
        (words for name, words in VECTORS.items() if features.get(name)), "no wide vectors: slower"
    )
    return binding.get_host_cpu_name(), vectors


def memory(root: Path = ROOT) -> int:
    """Bytes of memory this process may use, in use already or not: the same whenever it is asked."""
    limits = [_group_memory(root), *(limit for limit, _ in _ulimits())]
    if hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min((limit for limit in limits if limit is not None), default=UNKNOWN_MEMORY_BYTES)


def free_memory(root: Path = ROOT) -> int:
    """Bytes of memory this process may still take: less than `memory` by what it, others in its container and
    the machine use now."""
    left = [memory(root), _machine_free(root)]
    for version, folder in _groups(root, "memory"):
        limits, used, cached = MEMORY_FILES[version]
        limit = min((value for name in limits if (value := _number(folder / name)) is not None), default=None)
        if limit is not None:
            stat = _table(folder / "memory.stat")
            left.append(limit - (_number(folder / used) or 0) + sum(stat.get(line, 0) for line in cached))
    pages = _words(root / "proc/self/statm")
    for limit, column in _ulimits():
        in_use = int(pages[column]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > column else 0
        left.append(limit - in_use)
    return max(0, min(value for value in left if value is not None))


def cores(root: Path = ROOT) -> int:
    """Cores this process may use: those it may run on, or fewer where a container is given less of their
    time (1.5 cores count as 2)."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _group_cores(root)
    return own if quota is None else max(1, min(own, math.ceil(quota)))


@cache  # one process stays in one container
def _group_memory(root: Path) -> int | None:
    """The least limit on memory that a control group sets."""
    limits = [
        _number(folder / name)
        for version, folder in _groups(root, "memory")
        for name in MEMORY_FILES[version][0]
    ]
    return min((limit for limit in limits if limit is not None), default=None)


@cache
def _group_cores(root: Path) -> float | None:
    """The least share of time, in cores, that a control group sets."""
    quotas = []
    for version, folder in _groups(root, "cpu"):
        if version == 2:
            words = _words(folder / "cpu.max")  # "150000 100000": so much in every so much
        else:
            words = [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:  # not "max", -1
            quotas.append(int(words[0]) / int(words[1]))
    return min((quota for quota in quotas if quota > 0), default=None)


@cache
def _groups(root: Path, controller: str) -> list[tuple[int, Path]]:
    """The version and the folder of this process's group of a controller, then those of the groups around
    it, as far as they are there."""
    found = []
    for line in _lines(root / "proc/self/cgroup"):  # "4:memory:/a/b" in version 1, "0::/a/b" in version 2
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        group = PurePosixPath("/", path)
        version = 1 if controllers else 2
        for at, top in _mounts(root, controller if controllers else None):
            inside = group.relative_to(at) if group.is_relative_to(at) else group.relative_to("/")
            for folder in (inside, *inside.parents):
                if ".." not in folder.parts and (top / folder).is_dir():
                    found.append((version, top / folder))
    return list(dict.fromkeys(found))


def _mounts(root: Path, controller: str | None) -> list[tuple[PurePosixPath, Path]]:
    """Where the tree of a controller of version 1, or of version 2 (None), is found: the group at its top,
    and its folder."""
    usual = [f"sys/fs/cgroup/{controller}", "sys/fs/cgroup/cpu,cpuacct"][: 2 if controller == "cpu" else 1]
    found = [(PurePosixPath("/"), root / top) for top in (usual if controller else ["sys/fs/cgroup"])]
    for line in _lines(root / "proc/self/mountinfo"):  # "31 23 0:27 /at /top rw - cgroup cgroup rw,memory"
        words, _, kind = line.partition(" - ")
        if len(words.split()) < 5 or len(kind.split()) < 3:
            continue
        options = kind.split()[2].split(",")
        if kind.split()[0] == ("cgroup" if controller else "cgroup2") and (
            not controller or controller in options
        ):
            at, top = words.split()[3:5]
            found.append((PurePosixPath(at), root / top.lstrip("/")))
    return list(dict.fromkeys(found))


def _ulimits() -> list[tuple[int, int]]:
    """The limits that `ulimit -v` and `ulimit -d` set, each with its column of /proc/self/statm."""
    try:
        import resource
    except ImportError:  # not Unix
        return []
    found = [
        (resource.getrlimit(getattr(resource, name))[0], column) for name, column in MEMORY_ULIMITS.items()
    ]
    return [(limit, column) for limit, column in found if limit != resource.RLIM_INFINITY]


def _machine_free(root: Path) -> int | None:
    """What the machine has left, its swap counted."""
    table = _table(root / "proc/meminfo")  # in KiB
    return 1024 * (table["MemAvailable:"] + table.get("SwapFree:", 0)) if "MemAvailable:" in table else None


def _number(file: Path) -> int | None:
    words = _words(file)
    return int(words[0]) if len(words) == 1 and words[0].isdecimal() else None  # not "max"


def _table(file: Path) -> dict[str, int]:
    """The lines "name number ..." of a file."""
    rows = [line.split() for line in _lines(file)]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # not there: not Linux, or no such limit
        return []
