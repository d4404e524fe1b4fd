"""`nucleate bench gpu`: on an NVIDIA card, against diffrax and torch on the same card."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.bench.batch import QUICK_CASE, BatchCase, angles, reference
from nucleate.bench.peers import Missing, diffrax_angles
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, time_in_turns
from nucleate.bench.torch_peers import torch_euler, torch_products, torch_sdpa
from nucleate.checks import Array, whole_number
from nucleate.integrate.run import Run
from nucleate.integrate.run_buffers import new_run_buffers
from nucleate.integrate.simulate import pick_method, simulate
from nucleate.kernels.model_shape import model_shape
from nucleate.sphere import uniform
from nucleate.studies.ensemble import ensemble

__all__ = ["sections"]

OURS = "nucleate, double"
EULER_STEP = 0.1
DRIFT_CASES = ((3, 100_000, 16.0), (16, 100_000, 4.0), (64, 100_000, 4.0))  # d, n, beta
LARGE_TOKENS, QUICK_TOKENS = 100_000, 5_000
STUDY: dict[str, Any] = {
    "model": {"beta": 64.0},
    "observables": {
        "renyi": {"kind": "consumed", "radius": "1/sqrt(beta)"},
        "strong": {"kind": "consumed", "centers": "strong", "radius": "1/sqrt(beta)"},
        "near": {"kind": "consumed", "radius": "0.5/sqrt(beta)"},
        "far": {"kind": "consumed", "radius": "2/sqrt(beta)"},
        "clusters": {"kind": "clusters", "radius": "1/sqrt(beta)"},
    },
}


def sections(runs: int, quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """All tables, each as soon as it is measured."""
    from nucleate.gpu.device import check_gpu

    check_gpu()
    os.environ.setdefault(
        "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
    )  # JAX would take most of the card's memory
    runs = whole_number("runs", runs, least=1, help="It is the number of systems.")
    case = replace(QUICK_CASE, runs=min(runs, 64)) if quick else BatchCase(runs, compared_runs=4)
    yield _figure3_section(case, rounds, tell)
    yield _sphere_section(case, rounds, tell)
    for d, n, beta in DRIFT_CASES:
        yield _drift_section(d, QUICK_TOKENS if quick else n, beta, rounds, tell)
    yield _large_section(QUICK_TOKENS if quick else LARGE_TOKENS, 15.0 if quick else 150.0, tell)
    yield _study_section(case, rounds, tell)


def _figure3_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    x0 = case.starts()
    last: dict[str, Array] = {}  # what each contestant's last call gave: (runs, m, n) angles

    def keep(name: str, call: Callable[[], Array]) -> Callable[[], object]:
        return lambda: last.__setitem__(name, call())

    ready = {name: keep(name, call) for name, call in _our_contestants(case, x0).items()}
    absent = []
    try:
        call = diffrax_angles(angles(x0), case.beta, case.times, case.rtol, case.atol, platform="cuda")
        ready["diffrax Tsit5, vmap of all"] = keep("diffrax Tsit5, vmap of all", call)
    except Missing as missing:
        absent.append(Row("diffrax Tsit5", note=str(missing)))
    euler = f"torch, Euler, dt = {EULER_STEP}, single"
    try:
        ready[euler] = torch_euler(x0, case.beta, case.t, EULER_STEP)
    except Missing as missing:
        absent.append(Row(euler, note=str(missing)))
    timings = time_in_turns(ready, rounds, lambda words: tell(f"Figure 3: {words}"))
    exact = reference(case, angles(x0[: case.compared_runs]), tell)  # (compared, m, n)
    rows = []
    for name in ready:
        error = _median_distance(last[name][: len(exact)], exact) if name in last else None
        rows.append(timed_row(name, timings[name], error=error))
    remarks = (
        "Frames on the card: integrated, statuses and steps on the host. On the host: all frames too.",
        f"Errors are medians over frames and tokens of {len(exact)} runs, against DOP853.",
    )
    title = f"Figure 3 on a card: {case.title}"
    return Section(title, "", "median error / rad", with_ratios([*rows, *absent], OURS), remarks)


def _our_contestants(case: BatchCase, x0: Array) -> dict[str, Callable[[], Array]]:
    """By name, the call that gives the angles of the compared runs."""
    compared = case.compared_runs

    def on_card(precision: str) -> Array:
        return angles(_on_card(case, x0, precision)[:compared])

    def on_host(precision: Any) -> Array:
        run = simulate(
            Attention(case.beta), x0, case.t, save=case.times, rtol=case.rtol, atol=case.atol,
            device="gpu", precision=precision,
        )  # fmt: skip
        return angles(run.x[:compared])

    return {
        OURS: lambda: on_card("double"),
        "nucleate, mixed": lambda: on_card("mixed"),
        "nucleate, double, frames on the host": lambda: on_host("double"),
        "nucleate, mixed, frames on the host": lambda: on_host("mixed"),
    }


def _on_card(case: BatchCase, x0: Array, precision: str) -> Array:
    """Frames that stay on the card, but for those of the compared runs."""
    from nucleate.gpu.card_frames import frames_on_card

    table, dt = pick_method("explicit", None, case.t)
    tolerance = case.rtol + case.atol
    buffers = new_run_buffers(x0, case.times, False, case.t, tolerance, dt, 1_000_000, fill=False)
    frames = frames_on_card(Attention(case.beta), table, buffers, precision == "mixed", lambda: True)
    assert frames is not None
    some: Array = frames.frames[: case.compared_runs].copy_to_host()
    return some


def _sphere_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    x0 = uniform(case.n, 3, case.seed, runs=case.runs)
    timings = time_in_turns(
        {
            OURS: lambda: _on_card(case, x0, "double"),
            "nucleate, mixed": lambda: _on_card(case, x0, "mixed"),
        },
        rounds,
        lambda words: tell(f"d = 3: {words}"),
    )
    rows = [timed_row(name, timing) for name, timing in timings.items()]
    return Section(case.title.replace("d = 2", "d = 3"), "", "", with_ratios(rows, OURS))


def _drift_section(d: int, n: int, beta: float, rounds: int, tell: Tell) -> Section:
    from numba import cuda

    from nucleate.gpu.large_system import LargeSystem

    x, model = uniform(n, d, 0), Attention(beta)

    def ours(mixed: bool) -> Callable[[], None]:
        system = LargeSystem(model_shape(model, n, d, 0), mixed)
        system.put(x)

        def call() -> None:
            system.take_stage(0, 0.0)
            cuda.synchronize()

        return call

    ready: dict[str, Callable[[], object]] = {OURS: ours(False), "nucleate, mixed": ours(True)}
    absent = []
    for name, peer in (("torch, products, double", torch_products), ("torch, SDPA, single", torch_sdpa)):
        try:
            ready[name] = peer(x, beta)
        except Missing as missing:
            absent.append(Row(name, note=str(missing)))
    timings = time_in_turns(ready, rounds, lambda words: tell(f"drift, d = {d}: {words}"))
    pairs = 0.5 * n * (n + 1) / 1e6
    rows = [timed_row(name, timing, work=pairs) for name, timing in timings.items()]
    title = f"Velocities of one system, d = {d}, n = {n}, β = {beta:g}, data on the card"
    return Section(title, "pairs", "", with_ratios([*rows, *absent], OURS))


def _large_section(n: int, t: float, tell: Tell) -> Section:
    """Timed once: it takes long."""
    x, model = uniform(n, 3, 0), Attention(16.0)

    def run(precision: Any, t: float) -> Run:
        return simulate(model, x, t, save=3, rtol=1e-6, atol=1e-9, device="gpu", precision=precision)

    rows = []
    for precision in ("double", "mixed"):
        tell(f"one large system: {precision}")
        run(precision, 0.01)  # compiles
        began = time.perf_counter()
        found = run(precision, t)
        took = time.perf_counter() - began
        rows.append(Row(f"nucleate, {precision}", took, took, note=f"{found.steps} steps, {found.status}"))
    title = f"One system, d = 3, n = {n}, β = {model.beta:g}, t = {t:g}, rtol = 1e-06, atol = 1e-09"
    return Section(title, "", "", with_ratios(rows, OURS))


def _study_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    study = {
        **STUDY,
        "runs": case.runs,
        "start": {"n": case.n, "d": 2},
        "times": {"t": case.t, "save": case.frames, "rtol": case.rtol, "atol": case.atol},
    }

    def call(precision: str) -> None:
        with tempfile.TemporaryDirectory(prefix="nucleate-bench-") as folder:
            ensemble(study, Path(folder, "study.zarr"), device="gpu", precision=precision)

    timings = time_in_turns(
        {OURS: lambda: call("double"), "nucleate, mixed": lambda: call("mixed")},
        rounds,
        lambda words: tell(f"the study: {words}"),
    )
    rows = [timed_row(name, timing) for name, timing in timings.items()]
    title = f"The study of Figure 3, {len(STUDY['observables'])} observables, stored: {case.title}"
    return Section(title, "", "", with_ratios(rows, OURS))


def _median_distance(theta: Array, exact: Array) -> float:
    """The median distance on the circle."""
    gap = theta - exact
    return float(np.median(np.abs(np.arctan2(np.sin(gap), np.cos(gap)))))
