"""`nucleate bench ensemble`: what an ensemble costs beyond the engine and beside other tools; threads against
processes; memory."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nucleate.attention import Attention
from nucleate.bench.batch import QUICK_CASE, BatchCase, contestants
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, time_in_turns
from nucleate.checks import whole_number
from nucleate.integrate.simulate import simulate
from nucleate.kernels.threads import pick_threads
from nucleate.studies.ensemble import ensemble
from nucleate.studies.study import Study

__all__ = ["figure3_study", "sections", "threads_section", "time_section"]

OUR_ENSEMBLE, ENGINE = "nucleate ensemble", "the engine alone"
ENGINE_BATCH_RUNS = 500  # that the engine does at a time: all frames of 5000 are a gigabyte
MEMORY_SHARE = 10  # the memory of all runs is compared with that of a tenth of them
MAX_QUICK_RUNS = 64

# A process that prints when it is ready, begins on a line of input, and prints its seconds and its memory.
CHILD = """
import sys, tempfile, time
from nucleate.bench.ensemble import figure3_study
from nucleate.bench.timing import peak_process_memory
from nucleate.kernels.simd import LANES
from nucleate.studies.ensemble import MAX_RUNS_PER_BLOCK, ensemble
runs, threads, t = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
study = figure3_study(runs, t)
with tempfile.TemporaryDirectory() as folder:
    ensemble(figure3_study(LANES, t), f"{folder}/warm.zarr", threads=threads)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    ensemble(study, f"{folder}/out.zarr", threads=threads, block=MAX_RUNS_PER_BLOCK)
    print(time.perf_counter() - began, peak_process_memory())
"""


def sections(runs: int, quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """Both tables, each as soon as it is measured."""
    runs = whole_number("runs", runs, least=1, help="It is the number of runs.")
    case = replace(QUICK_CASE, runs=min(runs, MAX_QUICK_RUNS)) if quick else BatchCase(runs)
    yield time_section(case, rounds, tell)
    yield threads_section(case, rounds, tell)


def figure3_study(runs: int, t: float = 150.0) -> Study:
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


def time_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    """Seconds per run: the whole ensemble on the disk, the engine alone, and the peers."""
    x0 = case.starts()
    study, model = figure3_study(case.runs, case.t), Attention(case.beta)

    def whole() -> None:
        with tempfile.TemporaryDirectory(prefix="nucleate-bench-") as folder:
            ensemble(study, Path(folder, "out.zarr"))

    def engine() -> None:
        for first in range(0, case.runs, ENGINE_BATCH_RUNS):
            simulate(
                model,
                x0[first : first + ENGINE_BATCH_RUNS],
                case.t,
                save=case.frames,
                rtol=case.rtol,
                atol=case.atol,
            )

    timings = time_in_turns(
        {OUR_ENSEMBLE: whole, ENGINE: engine}, rounds, lambda words: tell(f"Figure 3: {words}")
    )
    ready, absent = contestants(case, x0)
    peers: dict[str, tuple[int, Callable[[], Any]]] = {
        name: one for name, one in ready.items() if not name.startswith("nucleate")
    }
    others = time_in_turns(
        {name: call for name, (_, call) in peers.items()}, rounds, lambda words: tell(f"Figure 3: {words}")
    )
    rows = [timed_row(name, timings[name], each=case.runs) for name in (OUR_ENSEMBLE, ENGINE)]
    rows += [timed_row(name, others[name], each=many) for name, (many, _) in peers.items()]
    overhead = timings[OUR_ENSEMBLE].best / timings[ENGINE].best
    remarks = (
        (
            "The ensemble draws the starts, integrates, measures consumption by both kinds of centers, and"
            " keeps it on the disk; the engine only integrates."
        ),
        (
            f"The ensemble takes {overhead:.3f} times the engine's own time. Peers only integrate,"
            f" {case.compared_runs} runs or one batch of them."
        ),
    )
    return Section(
        f"Figure 3: {case.title}",
        "",
        "",
        with_ratios([*rows, *absent], OUR_ENSEMBLE),
        remarks,
        {"overhead": overhead},
    )


def threads_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    """All threads of one process against as many processes of one thread; and the memory of few runs and of
    many."""
    threads = pick_threads(None)
    many_runs = max(1, case.runs // threads) * threads
    few_runs = max(1, many_runs // MEMORY_SHARE)
    together, apart = f"one process, {threads} threads", f"{threads} processes, one thread each"
    best: dict[str, float] = {}
    for turn in range(rounds):
        for name, children, work in ((together, 1, threads), (apart, threads, 1)):
            tell(f"{name}: round {turn + 1} of {rounds}")
            took, _ = _children(children, many_runs // children, work, case.t)
            best[name] = min(best.get(name, took), took)
    tell("memory")
    few, many = (_children(1, runs, threads, case.t)[1] for runs in (few_runs, many_runs))
    rows = tuple(
        Row(name, seconds / many_runs, ratio=seconds / best[together]) for name, seconds in best.items()
    )
    efficiency = best[apart] / best[together]
    remarks = (
        f"Threads reach {efficiency:.0%} of what processes do.",
        (
            f"Peak memory of a process: {few / 2**20:.0f} MiB for {few_runs} runs, {many / 2**20:.0f} MiB for"
            f" {many_runs}."
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
