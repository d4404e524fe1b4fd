"""What the card is asked, and what the CPU answers: on a card with systems of ordinary size; without one in
Numba's simulator, with a handful of tokens, in a process of its own, as the simulator must be chosen before
Numba is imported.

    NUMBA_ENABLE_CUDASIM=1 python -m support.gpu_cases     prints what every case measured, as JSON
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import nucleate as nc
import nucleate.integrate.simulate as simulate_module
from nucleate.integrate.tableau import MIN_TOLERANCE_OF_ORDER_5, dormand_prince_5, dormand_prince_8

TESTS = Path(__file__).resolve().parents[1]
Measured = dict[str, Any]


@cache
def has_card() -> bool:
    """Whether there is a card to test with."""
    if importlib.util.find_spec("numba_cuda") is None:
        return False
    from numba import cuda

    return bool(cuda.is_available())


@cache
def measured() -> dict[str, Measured]:
    """What all cases measured, on the card or in the simulator."""
    if has_card():
        return {name: case(True) for name, case in CASES.items()}
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "support.gpu_cases"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def models(d: int, runs: int | None = None) -> dict[str, nc.Attention]:
    """Every kind of model."""
    rng = np.random.default_rng(d)
    own = () if runs is None else (runs,)
    Q, K, V = rng.normal(size=(3, *own, d, d))
    beta = 2.0 if runs is None else np.linspace(1.0, 3.0, runs)
    frozen = nc.Frozen(nc.uniform(3, d, seed=4), np.array([1.0, 2.0, 5.0]))
    return {
        "plain": nc.Attention(beta=7.0),
        "any Q, K, V": nc.Attention(beta=beta, Q=Q, K=K, V=V),
        "full": nc.Attention(beta=beta, Q=Q, K=K, mask="full"),
        "window": nc.Attention(beta=7.0, V=V, mask=nc.Window(3)),
        "frozen": nc.Attention(beta=5.0, frozen=frozen),
        "frozen, any Q, K": nc.Attention(beta=beta, Q=Q, K=K, frozen=frozen, mask=nc.Window(2)),
    }


def drift_twins(large: bool) -> Measured:
    """The velocities of one system against the equation: the largest difference over the largest velocity."""
    found = {}
    for d in (2, 3, 5, 20, 50, 65) if large else (2, 3, 13):
        for n in (1, 2, 127, 1000) if large else (1, 9):
            x = nc.uniform(n, d, seed=1)
            few = ("plain", "frozen, any Q, K") if d > 3 else tuple(models(d))
            for name, model in ((name, models(d)[name]) for name in few):
                expected = nc.drift(model, x, kernel="reference")
                for precision in ("double", "mixed"):
                    v = nc.drift(model, x, device="gpu", precision=precision)
                    error = float(np.abs(v - expected).max() / max(1.0, float(np.abs(expected).max())))
                    found[f"{name}, n = {n}, d = {d}, {precision}"] = error
    return found


def drift_bits(large: bool) -> Measured:
    """Whether the same call gives the same bits, and a batch those of its runs."""
    x = nc.uniform(2000 if large else 9, 3, seed=1, runs=2)
    model = nc.Attention(beta=5.0)
    both = nc.drift(model, x, device="gpu")
    again = nc.drift(model, x, device="gpu")
    alone = [nc.drift(model, one, device="gpu") for one in x]
    return {"again": bool((both == again).all()), "alone": bool((both == np.stack(alone)).all())}


def simulate_twins(large: bool) -> Measured:
    """Runs against careful ones of the CPU: the largest error of a frame, beside the CPU's own at the same
    tolerance and by the method of the same order; the statuses."""
    found = {}
    n, runs, t = (200, 40, 20.0) if large else (4, 2, 0.3)
    cases = [("plain", 2, 1e-8), ("any Q, K, V", 2, 1e-4), ("frozen, any Q, K", 3, 1e-8), ("full", 4, 1e-4)]
    if large:
        cases = [(name, 3, 1e-8) for name in models(3)]
        cases += [(name, d, 1e-4) for name in ("plain", "frozen, any Q, K") for d in (2, 3, 5)]
    for name, d, rtol in cases:
        model = models(d, runs)[name]
        x = nc.uniform(n, d, seed=3, runs=runs)
        settings: dict[str, Any] = {"rtol": rtol, "atol": rtol / 100.0, "save": 5}
        run = nc.simulate(model, x, t, device="gpu", **settings)
        twin = nc.simulate(model, x, t, method="explicit", rtol=1e-11, atol=1e-12, save=5)
        method = dormand_prince_5 if rtol > MIN_TOLERANCE_OF_ORDER_5 else dormand_prince_8
        with mock.patch.object(simulate_module, "dormand_prince_8", method):
            cpu = nc.simulate(model, x, t, method="explicit", **settings)
        found[f"{name}, d = {d}, rtol = {rtol:g}"] = {
            "error of the CPU": float(np.abs(cpu.x - twin.x).max()),
            "error": float(np.abs(run.x - twin.x).max()),
            "tolerance": rtol,
            "status": list(run.status),
        }
    return found


def same_steps(large: bool) -> Measured:
    """The method, its norm and its controller are the CPU's, and so are the steps, but for rounding where one
    is just accepted or not."""
    n, runs = (100, 20) if large else (5, 2)
    x, model = nc.uniform(n, 3, seed=3, runs=runs), nc.Attention(beta=9.0)
    run = nc.simulate(model, x, 3.0, device="gpu", save=7)
    twin = nc.simulate(model, x, 3.0, method="explicit", save=7)
    return {"gpu": np.ravel(run.steps).tolist(), "cpu": np.ravel(twin.steps).tolist()}


def fixed_steps(large: bool) -> Measured:
    """Fixed steps, against the CPU's."""
    x, model = nc.uniform(50 if large else 4, 3, seed=3, runs=2), nc.Attention(beta=9.0)
    run = nc.simulate(model, x, 0.5, method="rk4", dt=0.1, device="gpu", save=4)
    twin = nc.simulate(model, x, 0.5, method="rk4", dt=0.1, save=4)
    return {"error": float(np.abs(run.x - twin.x).max()), "steps": np.ravel(run.steps).tolist()}


def mixed_precision(large: bool) -> Measured:
    """Pairs in single precision keep a tolerance of 1e-6 or so."""
    x, model = nc.uniform(200 if large else 5, 2, seed=3, runs=3), nc.Attention(beta=16.0)
    run = nc.simulate(model, x, 2.0, rtol=1e-6, device="gpu", precision="mixed", save=4)
    twin = nc.simulate(model, x, 2.0, rtol=1e-11, atol=1e-12, method="explicit", save=4)
    return {"error": float(np.abs(run.x - twin.x).max())}


def neighbours(large: bool) -> Measured:
    """A run whose numbers overflow leaves the others alone, and every run gives up in its own way."""
    n = 20 if large else 3
    x = nc.uniform(n, 3, seed=3, runs=3)
    V = np.stack([np.eye(3), np.full((3, 3), 1e308), np.eye(3)])
    run = nc.simulate(nc.Attention(beta=2.0, V=V), x, 0.5, device="gpu", save=3)
    twin = nc.simulate(nc.Attention(beta=2.0), x, 0.5, device="gpu", save=3)
    short = nc.simulate(nc.Attention(beta=2.0), x, 0.5, device="gpu", save=3, max_steps=1)
    return {
        "status": list(run.status),
        "same bits": bool((run.x[[0, 2]] == twin.x[[0, 2]]).all()),
        "lost frames are NaN": bool(np.isnan(run.x[1, 1:]).all() and np.isfinite(run.x[1, 0]).all()),
        "max steps": list(short.status),
        "short frames are NaN": bool(np.isnan(short.x[:, -1]).all()),
    }


def callbacks(large: bool) -> Measured:
    """What progress and on_frames are told, one run and several; and how runs that have not begun end after
    False, a time limit and Ctrl-C, with one run at a time on the card."""
    from nucleate.gpu import batch

    model, x = nc.Attention(beta=2.0), nc.uniform(3, 2, seed=3, runs=3)
    told: list[Any] = []
    frames: list[Any] = []

    def on_frames(t: Any, new: Any) -> None:
        frames.append(new.shape)

    nc.simulate(
        model, x, 0.2, device="gpu", save=3, progress=lambda *done: told.append(done), on_frames=on_frames
    )
    nc.simulate(model, x[0], 0.2, device="gpu", save=3, progress=lambda *done: told.append(done))

    def interrupt(*done: float) -> None:
        raise KeyboardInterrupt

    found: Measured = {"told": told, "frames": frames}
    before = batch.SLOTS, batch.SLOT_BYTES, batch.MIN_SLOT_RUNS
    batch.SLOTS, batch.SLOT_BYTES, batch.MIN_SLOT_RUNS = 1, 1, 1
    endings: dict[str, dict[str, Any]] = {
        "cancelled": {"progress": lambda *done: False},
        "time limit": {"time_limit": 1e-9},
        "interrupted": {"progress": interrupt},
    }
    try:
        for name, how in endings.items():
            run = nc.simulate(model, x, 0.2, device="gpu", save=3, **how)
            found[name] = [run.status[-1], bool(np.isnan(run.x[-1]).all())]
    finally:
        batch.SLOTS, batch.SLOT_BYTES, batch.MIN_SLOT_RUNS = before
    return found


def memory(large: bool) -> Measured:
    """Runs that the card has no room for are refused; those that need many slots are all there."""
    from nucleate.gpu import batch

    model, x = nc.Attention(beta=2.0), nc.uniform(3, 2, seed=3, runs=9)
    whole = nc.simulate(model, x, 0.2, device="gpu", save=3)
    names = vars(batch)
    real, names["free_memory"] = names["free_memory"], lambda: 12 * 400
    least, batch.MIN_SLOT_RUNS, most, batch.SLOT_BYTES = batch.MIN_SLOT_RUNS, 1, batch.SLOT_BYTES, 1
    try:
        parts = nc.simulate(model, x, 0.2, device="gpu", save=3)
        refused = ""
        try:
            nc.simulate(model, x, 0.2, device="gpu", save=30)
        except nc.InputError as error:
            refused = str(error)
    finally:
        names["free_memory"], batch.MIN_SLOT_RUNS, batch.SLOT_BYTES = real, least, most
    return {"same bits": bool((whole.x == parts.x).all()), "refused": refused}


def large_system(large: bool) -> Measured:
    """One system by the whole card, against the CPU."""
    from nucleate.gpu import batch

    batch.MAX_FUSED_TOKENS = 0
    try:
        x, model = nc.uniform(3000 if large else 6, 3, seed=5), nc.Attention(beta=4.0)
        run = nc.simulate(model, x, 0.5, device="gpu", save=3)
    finally:
        batch.MAX_FUSED_TOKENS = 4096
    twin = nc.simulate(model, x, 0.5, method="explicit", save=3)
    return {"error": float(np.abs(run.x - twin.x).max()), "status": run.status}


STUDY: dict[str, Any] = {
    "runs": 5,
    "model": {"beta": 9.0},
    "start": {"n": 7, "d": 2},
    "times": {"t": 1.0, "save": 3, "rtol": 1e-6, "atol": 1e-9},
    "observables": {
        "near": {"kind": "consumed", "radius": 0.3, "delta": 0.8},
        "near_end": {"kind": "consumed", "centers": "strong", "radius": 0.3, "delta": 0.8, "at": "end"},
        "clusters": {"kind": "clusters", "radius": 0.4},
        "clusters_end": {"kind": "clusters", "radius": 0.4, "at": "end"},
        "far": {"kind": "from_first"},
        "points": {"kind": "points"},
        "trajectory": {"kind": "trajectory"},
        "dominant": {"kind": "from_top"},
    },
}


def studies(large: bool) -> Measured:
    """A study on the card against the same on the CPU: observables measured where the frames lie, frames of
    runs that gave up, blocks of any size."""
    found: Measured = {}
    for d in (2, 3):
        start = {"n": 120 if large else 7, "d": d}
        runs = 40 if large else 3
        study = {**STUDY, "start": start, "runs": runs}
        threads = None if large else 1  # the simulator runs one kernel at a time
        gpu, cpu = nc.ensemble(study, device="gpu", threads=threads).data, nc.ensemble(study).data
        blocks = nc.ensemble(study, device="gpu", block=2, threads=threads).data
        found[f"d = {d}"] = {
            name: float(np.abs(gpu[name].values - cpu[name].values).max()) for name in study["observables"]
        }
        found[f"d = {d}, blocks"] = all(
            np.array_equal(gpu[name].values, blocks[name].values, equal_nan=True) for name in gpu.data_vars
        )
    short = {**STUDY, "times": {**STUDY["times"], "max_steps": 2}, "runs": 2}
    lost = nc.ensemble(short, device="gpu", threads=1).data
    found["lost"] = {
        name: bool(np.isnan(lost[name].values.reshape(2, -1)[:, -1]).all()) for name in STUDY["observables"]
    }
    return found


CASES: dict[str, Callable[[bool], Measured]] = {
    case.__name__: case
    for case in (
        drift_twins,
        drift_bits,
        simulate_twins,
        same_steps,
        fixed_steps,
        mixed_precision,
        neighbours,
        callbacks,
        memory,
        large_system,
        studies,
    )
}

if __name__ == "__main__":
    from support.simulated_card import mend_simulator

    mend_simulator()
    np.seterr(all="ignore")  # a run that overflows is one of the cases
    # The simulator asks in a loop whether its threads have met, each time for 5 ms if it may.
    sys.setswitchinterval(1e-5)
    print(json.dumps({name: case(False) for name, case in CASES.items()}))
