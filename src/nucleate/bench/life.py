"""`nucleate bench life`: the whole life of a metastable state to t = 1e60, against LSODA; what the search for
merges takes beside the simulation; what a causal step costs, by the number of tokens and by the dimension."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from nucleate.attention import Attention
from nucleate.bench.peers import lsoda_steps
from nucleate.bench.table import Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, Timing, peak_memory, time_in_turns
from nucleate.checks import Array
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.observe.life import life as whole_life
from nucleate.observe.merges import merges
from nucleate.sphere import uniform

__all__ = [
    "LifeCase",
    "cost_section",
    "dimension_section",
    "large_section",
    "life_section",
    "merge_times",
    "merges_section",
    "sections",
]

OURS, OURS_DEFAULT = "nucleate", "nucleate, default tolerances"
PEER = "SciPy LSODA, analytic Jacobian"
CLUSTER_GAP = 2.0  # in units of beta^{-1/2}: clusters have a wider gap between them
COMPARED_FROM = 1e4  # merge times before this are known to a step only, and are not compared
COST_STEPS = 10  # over which the cost of a step is measured
MEMORY_TOKENS = 2000  # of the run whose memory is measured


@dataclass(frozen=True)
class LifeCase:
    """One run from a uniform start to its end, on the circle but for those whose merges are timed."""

    n: int
    beta: float = 64.0
    d: int = 2
    t: float = 1e60
    rtol: float = 1e-6
    atol: float = 1e-9
    seed: int = 0

    @property
    def title(self) -> str:
        return (
            f"Whole life, d = 2, n = {self.n}, β = {self.beta:g}, t = {self.t:g}, rtol = {self.rtol:g}, atol"
            f" = {self.atol:g}"
        )


LIFE_CASES, QUICK_LIFE_CASES = (LifeCase(50), LifeCase(200), LifeCase(500)), (LifeCase(20), LifeCase(50))
LARGE_CASE, QUICK_LARGE_CASE = LifeCase(2000), LifeCase(100)
# times of LSODA on a large system, from when clusters have formed
SAMPLE_BEGIN, SAMPLE_END = 1e3, 1e9
COST_SIZES, QUICK_COST_SIZES = (200, 500, 1000, 2000, 5000), (100, 200, 500)
COST_DIMENSIONS, QUICK_COST_DIMENSIONS = (2, 3, 4, 8, 16, 32, 64), (2, 3, 8)
DIMENSION_TOKENS = 200
MERGES_CASES = LifeCase(200, 16.0, 3), LifeCase(200, 64.0, 3), LifeCase(200, 16.0, 4), LifeCase(1000, 64.0, 3)
QUICK_MERGES_CASES = (LifeCase(50, 9.0, 3),)
HUGE_CASE, QUICK_HUGE_CASE = LifeCase(10_000), LifeCase(200)  # simulated once


def sections(quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """All tables, each as soon as it is measured."""
    steps = 0.0
    for life in QUICK_LIFE_CASES if quick else LIFE_CASES:
        section = life_section(life, rounds, tell)
        steps = (section.numbers or {})["LSODA steps"]
        yield section
    yield large_section(QUICK_LARGE_CASE if quick else LARGE_CASE, steps, rounds, tell)
    cases, huge = (QUICK_MERGES_CASES, QUICK_HUGE_CASE) if quick else (MERGES_CASES, HUGE_CASE)
    yield merges_section(cases, huge, rounds, tell)
    yield cost_section(QUICK_COST_SIZES if quick else COST_SIZES, MEMORY_TOKENS, rounds, tell)
    yield dimension_section(QUICK_COST_DIMENSIONS if quick else COST_DIMENSIONS, rounds, tell)


def life_section(life: LifeCase, rounds: int, tell: Tell) -> Section:
    """Seconds to the end, and whether both come to the same end by the same mergers."""
    x0 = uniform(life.n, 2, life.seed)
    runs: dict[str, Run] = {}

    def call(name: str, rtol: float = 1e-8, atol: float = 1e-10) -> Callable[[], None]:
        return lambda: runs.__setitem__(
            name, simulate(Attention(life.beta), x0, life.t, save="steps", rtol=rtol, atol=atol)
        )

    calls = {OURS: call(OURS, life.rtol, life.atol), OURS_DEFAULT: call(OURS_DEFAULT)}
    timings = time_in_turns(calls, rounds, lambda words: tell(f"n = {life.n}: {words}"))
    merged = {name: merge_times(run.t, angles(run.x), life.beta) for name, run in runs.items()}
    rows = [
        timed_row(
            name,
            timings[name],
            error=_from_first(runs[name].x[-1], x0),
            note=_note(runs[name], merged[name], merged[OURS_DEFAULT]),
        )
        for name in calls
    ]
    tell(f"n = {life.n}: {PEER}, once; this may take a minute")
    t, theta, seconds = _lsoda(life, x0, life.t)  # (m,), (m, n)
    theirs = merge_times(t, theta, life.beta)
    end = np.stack([np.cos(theta[-1]), np.sin(theta[-1])], axis=1)
    reached = t[-1] == life.t
    note = (
        f"{len(t) - 1} steps, {'done' if reached else f'gave up at t = {t[-1]:.1e}'};"
        f" {_agreement(theirs, merged[OURS_DEFAULT])}"
    )
    rows.append(
        timed_row(
            PEER,
            Timing(seconds, (seconds,)),
            error=_from_first(end, x0) if reached else float("nan"),
            note=note,
        )
    )
    ours = runs[OURS_DEFAULT].x[-1]
    numbers = {
        "final state apart": float(np.linalg.norm(end - ours, axis=1).max()) if reached else float("nan"),
        "merge times apart": _difference(theirs, merged[OURS_DEFAULT]),
        "mergers": float(len(merged[OURS_DEFAULT])),
        "LSODA steps": float(len(t) - 1),
    }
    remarks = (
        (
            "The error is the distance of the farthest token from x_1(0), where all must end (Theorem 4.1)."
            " LSODA runs once, BLAS on one thread."
        ),
        (
            f"Mergers: the number of gaps wider than {CLUSTER_GAP:g} β^(-1/2) falls. Those after t ="
            f" {COMPARED_FROM:g} are compared with nucleate's at default tolerances."
        ),
    )
    return Section(life.title, "", "from x_1(0)", with_ratios(rows, OURS_DEFAULT), remarks, numbers)


def large_section(life: LifeCase, steps: float, rounds: int, tell: Tell) -> Section:
    """A system for which LSODA takes too long to wait: its time per step, in which n^2 and n^3 show, is
    measured over a sample, and its steps, which hardly depend on n, are those of the largest system that it
    was run on."""
    x0, runs = uniform(life.n, 2, life.seed), {}

    def call() -> None:
        runs["last"] = simulate(Attention(life.beta), x0, life.t, save="steps")

    timing = time_in_turns(
        {OURS_DEFAULT: call}, max(1, rounds // 3), lambda words: tell(f"n = {life.n}: {words}")
    )[OURS_DEFAULT]
    run = runs["last"]
    tell(f"n = {life.n}: {PEER}, a sample; this may take a minute")
    formed = simulate(Attention(life.beta), x0, SAMPLE_BEGIN, save=[SAMPLE_BEGIN]).x[-1]  # (n, d)
    t, _, seconds = _lsoda(life, formed, SAMPLE_END)
    whole = steps * seconds / (len(t) - 1)
    rows = (
        timed_row(
            OURS_DEFAULT, timing, error=_from_first(run.x[-1], x0), note=f"{run.steps} steps, {run.status}"
        ),
        timed_row(
            PEER,
            Timing(seconds, (whole,)),
            note=f"extrapolated: {steps:.0f} steps of {1e3 * seconds / (len(t) - 1):.0f} ms",
        ),
    )
    remarks = (
        (
            f"LSODA's time per step is measured over {len(t) - 1} steps from t = {SAMPLE_BEGIN:g} to"
            f" {SAMPLE_END:g}, which took what stands as its first call."
        ),
    )
    return Section(
        life.title,
        "",
        "from x_1(0)",
        with_ratios(list(rows), OURS_DEFAULT),
        remarks,
        {"LSODA extrapolated": whole},
    )


def _lsoda(life: LifeCase, x: Array, end: float) -> tuple[Array, Array, float]:
    """LSODA from tokens x to time `end`: times (m,), angles (m, n), seconds."""
    # BLAS on one thread, to its advantage: on two busy cores its small factorisations took four times as long
    # with two.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")  # LSODA warns of what its status says, too
        began = time.perf_counter()
        t, theta = lsoda_steps(angles(x), life.beta, end, life.rtol, life.atol)
        return t, theta, time.perf_counter() - began


def merges_section(cases: tuple[LifeCase, ...], huge: LifeCase, rounds: int, tell: Tell) -> Section:
    """Lives until one cluster is left, at the default tolerances: the simulation, every step kept, and the
    search for merges; and a huge one, once, with its memory."""
    rows, shares = [], {}
    for case in cases:
        name = f"n = {case.n:,}, d = {case.d}, β = {case.beta:g}"
        model, x0 = Attention(case.beta), uniform(case.n, case.d, case.seed)
        tell(f"Merges: {name}: a life")
        run = whole_life(model, x0).run
        calls: dict[str, Callable[[], object]] = {
            f"simulation, {name}": partial(simulate, model, x0, float(run.t[-1]), save="steps"),
            f"its merges, {name}": partial(merges, run),
        }
        timings = time_in_turns(calls, rounds, lambda words: tell(f"Merges: {words}"))
        simulation, search = timings.values()
        shares[f"merges over simulation, {name}"] = search.best / simulation.best
        notes = (
            f"{run.steps} steps, {run.status}",
            f"{search.best / simulation.best:.2g} of the simulation's time",
        )
        rows += [timed_row(row, timings[row], note=note) for row, note in zip(calls, notes, strict=True)]
    tell(f"Merges: n = {huge.n:,}, once; this may take a minute")
    began = time.perf_counter()
    peak = peak_memory(lambda: whole_life(huge.beta, huge.n, huge.d, huge.seed))
    seconds = time.perf_counter() - began
    name = f"a life with its merges, once, n = {huge.n:,}, d = {huge.d}, β = {huge.beta:g}"
    rows.append(timed_row(name, Timing(seconds, (seconds,)), note=f"{peak / 2**30:.2g} GiB"))
    title = "Lives until one cluster is left, and their merges, rtol = 1e-8, atol = 1e-10"
    return Section(title, "", "", tuple(rows), numbers={**shares, "bytes": float(peak)})


def cost_section(
    sizes: tuple[int, ...], memory_tokens: int, rounds: int, tell: Tell, seed: int = 0
) -> Section:
    """Seconds per step from a uniform start, where no two tokens can be taken together, against n; and the
    memory of a run."""

    def call(n: int) -> Callable[[], Run]:
        x0 = uniform(n, 2, seed)
        return lambda: simulate(Attention(64.0), x0, 1e60, save=[0.0], method="causal", max_steps=COST_STEPS)

    names = {f"one step, n = {n:,}": n for n in sizes}
    timings = time_in_turns(
        {name: call(n) for name, n in names.items()}, rounds, lambda words: tell(f"Cost: {words}")
    )
    rows = [
        timed_row(name, timings[name], each=COST_STEPS, work=1e-6 * COST_STEPS * n * (n + 1) / 2)
        for name, n in names.items()
    ]
    exponent = float(np.polyfit(np.log(sizes), np.log([row.seconds for row in rows if row.seconds]), 1)[0])
    tell(f"Cost: memory at n = {memory_tokens:,}")
    peak = peak_memory(call(memory_tokens))
    remarks = (
        (
            f"Time per step grows like n^{exponent:.2f}. Pairs are counted once a step; a step looks at each"
            " many times."
        ),
        (
            f"A run of {memory_tokens:,} tokens holds {peak / 2**20:.1f} MiB, {peak / memory_tokens:,.0f}"
            " bytes per token."
        ),
    )
    return Section(
        "Cost of a causal step, d = 2, β = 64, uniform start",
        "pairs",
        "",
        tuple(rows),
        remarks,
        {"exponent": exponent, "bytes": float(peak)},
    )


def dimension_section(dimensions: tuple[int, ...], rounds: int, tell: Tell, seed: int = 0) -> Section:
    """Seconds per token and step from a uniform start, on one thread, against the dimension."""

    def call(d: int) -> Callable[[], Run]:
        x0 = uniform(DIMENSION_TOKENS, d, seed)
        return lambda: simulate(
            Attention(64.0), x0, 1e60, save=[0.0], method="causal", max_steps=COST_STEPS, threads=1
        )

    names = {f"one token, one step, d = {d}": d for d in dimensions}
    timings = time_in_turns(
        {name: call(d) for name, d in names.items()}, rounds, lambda words: tell(f"Dimension: {words}")
    )
    rows = tuple(timed_row(name, timings[name], each=COST_STEPS * DIMENSION_TOKENS) for name in names)
    remarks = (f"The mean over {COST_STEPS} steps of {DIMENSION_TOKENS} tokens, rtol = 1e-8.",)
    title = f"Cost of a causal step by dimension, n = {DIMENSION_TOKENS}, β = 64, uniform start"
    return Section(title, "", "", rows, remarks)


def angles(x: Array) -> Array:
    return np.asarray(np.arctan2(x[..., 1], x[..., 0]))  # (...)


def merge_times(t: Array, theta: Array, beta: float) -> Array:
    """When the number of clusters falls for good, once per merger: tokens on the circle, theta (m, n), parted
    by gaps wider than CLUSTER_GAP beta^{-1/2}.

    Many uniform tokens leave no such gap at first: clusters form before they merge, so the count at a time is
    the largest from there on.
    """
    around = np.sort(np.mod(theta, 2 * np.pi), axis=1)  # (m, n)
    gaps = np.diff(around, axis=1, append=around[:, :1] + 2 * np.pi)  # (m, n)
    now = np.maximum((gaps > CLUSTER_GAP / np.sqrt(beta)).sum(1), 1)  # (m,)
    count = np.maximum.accumulate(now[::-1])[::-1]  # (m,)
    return np.asarray(np.repeat(t[1:], -np.diff(count)))


def _from_first(x: Array, x0: Array) -> float:
    return float(np.linalg.norm(x - x0[0], axis=-1).max())


def _difference(times: Array, others: Array) -> float:
    """The largest relative difference of late merge times; NaN where their numbers differ, or there are none
    to compare."""
    times, others = times[times > COMPARED_FROM], others[others > COMPARED_FROM]
    if len(times) != len(others) or len(times) == 0:
        return float("nan")
    return float(np.abs(times / others - 1.0).max())


def _agreement(times: Array, others: Array) -> str:
    late, expected = int((times > COMPARED_FROM).sum()), int((others > COMPARED_FROM).sum())
    if late != expected:
        return f"{late} late mergers instead of {expected}"
    return (
        f"{late} late mergers, times within {_difference(times, others):.0e}"
        if late
        else "no late mergers to compare"
    )


def _note(run: Run, times: Array, others: Array) -> str:
    return f"{run.steps} steps, {run.status}; {_agreement(times, others)}"
