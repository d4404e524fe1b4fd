"""`nucleate bench ensemble`: what an ensemble costs beyond the engine and beside other tools; threads against
processes; memory."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nucleate.attention import Attention
from nucleate.bench.batch import Ensemble, contestants
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, race
from nucleate.checks import whole_number
from nucleate.integrate.simulate import simulate
from nucleate.kernels.threads import pick_threads
from nucleate.studies.ensemble import ensemble
from nucleate.studies.study import Study

__all__ = ["figure3", "most_memory", "sections", "threads_section", "time_section"]

OURS, ENGINE = "nucleate ensemble", "the engine alone"
BATCH_RUNS = 500  # that the engine does at a time: all frames of 5000 are a gigabyte
FEWER_RUNS_FACTOR = 10  # the memory of all runs is compared with that of a tenth of them

# A process that says when it is ready, waits for the word, and tells what it took.
CHILD = """
import sys, tempfile, time
from nucleate.bench.ensemble import figure3, most_memory
from nucleate.studies.block import Task, compute
from nucleate.studies.ensemble import ensemble
runs, threads, t = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
study = figure3(runs, t)
compute(study, Task(0, 0, 8))
with tempfile.TemporaryDirectory() as folder:
    ensemble(figure3(8, t), f"{folder}/warm.zarr", threads=threads)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    ensemble(study, f"{folder}/out.zarr", threads=threads, block=128)
    print(time.perf_counter() - began, most_memory())
"""


def sections(runs: int, quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """Both tables, each as soon as it is measured."""
    runs = whole_number("runs", runs, least=1, help="It is the number of runs.")
    e = Ensemble(min(runs, 64), t=15.0, some=2, side_by_side=(8,)) if quick else Ensemble(runs)
    yield time_section(e, rounds, tell)
    yield threads_section(e, rounds, tell)


def figure3(runs: int, t: float = 150.0) -> Study:
    """The study of the paper's Figure 3: two curves of consumption."""
    curve = {"kind": "consumed", "delta": "4/sqrt(beta)", "radius": "1/sqrt(beta)"}
    return Study.make(
        {
            "title": "Figure 3",
            "runs": runs,
            "model": {"beta": 64.0},
            "start": {"n": 200, "d": 2},
            "times": {"t": t, "save": 64, "rtol": 1e-6, "atol": 1e-9},
            "observables": {"renyi": {**curve, "centers": "renyi"}, "strong": {**curve, "centers": "strong"}},
        }
    )


def time_section(e: Ensemble, rounds: int, tell: Tell) -> Section:
    """Seconds per run: the whole ensemble on the disk, the engine alone, and the peers."""
    x0 = e.starts()
    study, model = figure3(e.runs, e.t), Attention(e.beta)

    def whole() -> None:
        with tempfile.TemporaryDirectory(prefix="nucleate-bench-") as folder:
            ensemble(study, Path(folder, "out.zarr"))

    def engine() -> None:
        for first in range(0, e.runs, BATCH_RUNS):
            simulate(model, x0[first : first + BATCH_RUNS], e.t, save=e.frames, rtol=e.rtol, atol=e.atol)

    timings = race({OURS: whole, ENGINE: engine}, rounds, lambda words: tell(f"Figure 3: {words}"))
    ready, absent = contestants(e, x0)
    peers: dict[str, tuple[int, Callable[[], Any]]] = {
        name: one for name, one in ready.items() if not name.startswith("nucleate")
    }
    others = race(
        {name: call for name, (_, call) in peers.items()}, rounds, lambda words: tell(f"Figure 3: {words}")
    )
    rows = [timed_row(name, timings[name], each=e.runs) for name in (OURS, ENGINE)]
    rows += [timed_row(name, others[name], each=many) for name, (many, _) in peers.items()]
    overhead = timings[OURS].best / timings[ENGINE].best
    remarks = (
        (
            "The ensemble draws the starts, integrates, measures consumption by both kinds of centers, and"
            " keeps it on the disk; the engine only integrates."
        ),
        (
            f"The ensemble takes {overhead:.3f} times the engine's own time. Peers only integrate, {e.some}"
            " runs or one batch of them."
        ),
    )
    return Section(
        f"Figure 3: {e.title}", "", "", with_ratios([*rows, *absent], OURS), remarks, {"overhead": overhead}
    )


def threads_section(e: Ensemble, rounds: int, tell: Tell) -> Section:
    """All threads of one process against as many processes of one thread; and the memory of few runs and of
    many."""
    threads = pick_threads(None)
    each = max(1, e.runs // threads)
    together, apart = f"one process, {threads} threads", f"{threads} processes, one thread each"
    best: dict[str, float] = {}
    for turn in range(rounds):
        for name, children, work in ((together, 1, threads), (apart, threads, 1)):
            tell(f"{name}: round {turn + 1} of {rounds}")
            took, _ = _children(children, each * threads // children, work, e.t)
            best[name] = min(best.get(name, took), took)
    tell("memory")
    fewer = max(1, each * threads // FEWER_RUNS_FACTOR)
    few, many = (_children(1, runs, threads, e.t)[1] for runs in (fewer, each * threads))
    rows = tuple(
        Row(name, seconds / (each * threads), ratio=seconds / best[together])
        for name, seconds in best.items()
    )
    efficiency = best[apart] / best[together]
    remarks = (
        f"Threads reach {efficiency:.0%} of what processes do.",
        (
            f"Peak memory of a process: {few / 2**20:.0f} MiB for {fewer} runs,"
            f" {many / 2**20:.0f} MiB for {each * threads}."
        ),
    )
    return Section(
        "Threads and processes, Figure 3",
        "",
        "",
        rows,
        remarks,
        {"efficiency": efficiency, "memory few": few, "memory many": many},
    )


def most_memory() -> int:
    """The most bytes of memory that this process has had.  Where the system tells, since it was started:
    getrusage counts its parent's too."""
    try:
        return next(
            1024 * int(line.split()[1])
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmHWM")
        )
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _children(count: int, runs: int, threads: int, t: float) -> tuple[float, float]:
    """So many processes with so many runs each, started together: the longest time and the most memory."""
    words = [sys.executable, "-c", CHILD, str(runs), str(threads), str(t)]
    children = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n", "the process ended early"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        told = [child.communicate()[0].split() for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    return max(float(seconds) for seconds, _ in told), max(float(memory) for _, memory in told)
