"""Runs that do not reach their end say why, keep what was computed, and leave their neighbours alone."""

import math
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.time_limits import check_wall_seconds, patient, within_cpu_seconds, within_wall_seconds

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.checks import Array

ENDLESS: dict[str, Any] = {
    "t": 1e9,
    "max_steps": 10**12,
    "save": 1000,
    "rtol": 1e-6,
    "atol": 1e-8,
    "method": "explicit",
}  # stability keeps steps near 3: hours


def endless_start(d: int = 3) -> Array:
    return nc.uniform(24, d, seed=0)


# Each end has its own name


@pytest.mark.parametrize("d", [2, 3])
def test_max_steps(d: int) -> None:
    x0 = nc.uniform(10, d, seed=0)
    whole = nc.simulate(Attention(9.0), x0, 50.0, save=251)
    run = nc.simulate(Attention(9.0), x0, 50.0, save=251, max_steps=12)
    assert run.status == "max steps"
    assert not run.done
    assert isinstance(run.steps, int)
    assert 0 < run.steps <= 12
    assert 1 < len(run.t) < 251  # cut off, not padded
    assert run.x.shape == (len(run.t), 10, d)
    assert np.array_equal(run.x, whole.x[: len(run.t)])  # what was computed is what a longer run computes


def test_max_steps_counts_fixed_steps_too() -> None:
    run = nc.simulate(
        Attention(1.0), nc.uniform(4, 3, seed=0), 10.0, save="steps", method="rk4", dt=0.1, max_steps=7
    )
    assert (run.status, run.steps, len(run.t)) == ("max steps", 7, 8)
    assert run.t[-1] == pytest.approx(0.7)


@pytest.mark.parametrize("d", [2, 3])
def test_stalled_where_time_can_no_longer_take_a_step(d: int) -> None:
    # A force of e^-57 lets time run to 1e24 before the tokens meet; then steps of 1 are needed, and 1e24 + 1
    # = 1e24.
    x0 = np.zeros((2, d))
    x0[:, 0], x0[1, 1] = [1.0, -0.9], math.sqrt(1.0 - 0.81)
    run = nc.simulate(Attention(30.0), x0, 1e30, save=100, method="explicit")
    assert run.status == "stalled"
    assert 1e20 < run.t[-1] < 1e28
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("d", [2, 3, 16])
@pytest.mark.parametrize("scalar", [True, False])
def test_non_finite_drift(d: int, scalar: bool) -> None:
    V, x0 = np.eye(d) * 1.7e308 if scalar else np.full((d, d), 1.7e308), nc.uniform(70, d, seed=0)
    nc.simulate(Attention(0.0), x0, 1e-3)  # compile
    with within_cpu_seconds(1.0):
        run = nc.simulate(Attention(0.0, V=V), x0, 1.0)
    assert run.status == "non-finite"
    assert np.isfinite(run.x).all()  # no invented numbers
    assert np.array_equal(run.t, [0.0])


@pytest.mark.parametrize("method", ["euler", "heun", "rk4"])
def test_non_finite_drift_with_fixed_steps(method: Any) -> None:
    for d in (2, 3):
        run = nc.simulate(
            Attention(0.0, V=np.full((d, d), 1.7e308)), nc.uniform(5, d, seed=0), 1.0, method=method, dt=0.1
        )
        assert run.status == "non-finite"
        assert np.isfinite(run.x).all()


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e200, 1e300])
@pytest.mark.parametrize("d", [2, 3])
def test_absurd_speeds_never_come_out_as_done(d: int, scale: float) -> None:
    # Time 1 is 1e20 turns or more, of some steps each: it cannot be reached, whatever the reason given.
    V = np.zeros((d, d))
    V[0, 1], V[1, 0] = -scale, 0.5 * scale
    for method in ("explicit", "auto"):
        run = nc.simulate(
            Attention(1.0, V=V), nc.uniform(4, d, seed=0), 1.0, save=5, max_steps=3000, method=method
        )
        assert run.status in ("max steps", "stalled", "non-finite", "underflow"), (method, run.status)
        assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() <= 1e-15


def test_a_value_matrix_whose_norm_overflows_comes_to_a_named_end() -> None:
    # Every entry is finite and so may be every velocity, but |V| is not: whatever is scaled by it must not
    # hang.
    for d in (2, 3):
        with within_cpu_seconds(2.0):
            run = nc.simulate(
                Attention(1.0, V=np.full((d, d), 1e308)),
                nc.uniform(4, d, seed=3),
                1.0,
                save=3,
                max_steps=2000,
                time_limit=50.0,
            )
        assert run.status in ("max steps", "stalled", "non-finite", "underflow"), run.status


@pytest.mark.parametrize("d", [2, 3])
def test_scores_that_overflow_are_not_simulated_as_if_they_had_not(d: int) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's own words about it come on top
            run = nc.simulate(Attention(1e300, Q=1e10 * np.eye(d)), nc.uniform(5, d, seed=0), 1.0)
    except nc.InputError:
        return
    assert run.status == "non-finite"


@patient
def test_time_limit() -> None:
    start = time.monotonic()
    run = nc.simulate(Attention(9.0), endless_start(), time_limit=0.3, **ENDLESS)
    seconds = time.monotonic() - start
    assert run.status == "time limit"
    assert seconds >= 0.3
    check_wall_seconds(seconds, 1.5)
    assert len(run.t) > 1
    assert np.isfinite(run.x).all()


def test_a_finished_run_is_done_whatever_the_limit() -> None:
    run = nc.simulate(Attention(9.0), endless_start(), 1.0, time_limit=60.0, max_steps=10**6)
    assert run.status == "done"
    assert run.t[-1] == 1.0


def test_a_batch_tells_the_end_of_each_run_and_leaves_missing_frames_empty() -> None:
    # Runs 1 and 3 live a hundred times faster than the others: the steps allowed do not take them to the end.
    x0 = nc.uniform(10, 3, seed=0, runs=4)
    V = np.array([1.0, 100.0, 1.0, 100.0])[:, None, None] * np.eye(3)
    run = nc.simulate(
        Attention(9.0, V=V), x0, 40.0, save=9, rtol=1e-4, atol=1e-6, max_steps=300, method="explicit"
    )
    assert run.status == ("done", "max steps", "done", "max steps")
    assert run.ending == "2 done, 2 max steps"
    assert np.isfinite(run.x[[0, 2]]).all()
    assert np.isnan(run.x[[1, 3], -1]).all()
    assert np.isfinite(run.x[[1, 3], 0]).all()


# Cancelling


@pytest.mark.parametrize("no", [False, np.False_], ids=["False", "numpy False"])
@patient
def test_returning_false_cancels_and_keeps_what_was_computed(no: Any) -> None:
    calls = 0

    def on_frames(t: Array, x: Array) -> Any:
        nonlocal calls
        calls += 1
        return no if calls == 3 else None

    with within_wall_seconds(2.0):
        run = nc.simulate(Attention(9.0), endless_start(), on_frames=on_frames, time_limit=50.0, **ENDLESS)
    assert run.status == "cancelled"
    assert len(run.t) > 1
    again = nc.simulate(
        Attention(9.0),
        endless_start(),
        **{**ENDLESS, "t": ENDLESS["t"], "save": run.t, "max_steps": run.steps + 1000},
    )
    assert np.array_equal(again.x[: len(run.t)], run.x)


def _say(answer: object, first: object, second: object) -> object:
    return answer


def test_only_false_cancels() -> None:
    answers: list[object] = [None, True, 0, "", []]
    for answer in answers:
        for name in ("progress", "on_frames"):
            callback: Any = {name: partial(_say, answer)}
            run = nc.simulate(Attention(9.0), endless_start(), 5.0, **callback)
            assert run.status == "done", (name, answer)


@pytest.mark.parametrize("name", ["progress", "on_frames"])
def test_a_batch_can_be_cancelled(name: str) -> None:
    x0 = np.stack([endless_start(2)] * 20)
    no: Any = {name: lambda *_: False}
    run = nc.simulate(Attention(9.0), x0, time_limit=50.0, **{**ENDLESS, "save": 10}, **no)
    assert run.ending == "cancelled"
    assert run.x.shape == (20, 10, 24, 2)


@patient
def test_an_exception_in_the_callback_comes_through_and_stops_the_run() -> None:
    class Mishap(Exception):
        pass

    def on_frames(t: Array, x: Array) -> None:
        raise Mishap("mine")

    for x0 in (endless_start(), np.stack([endless_start(2)] * 9)):
        before = threading.active_count()
        with within_wall_seconds(2.0), pytest.raises(Mishap, match="mine"):
            nc.simulate(Attention(9.0), x0, on_frames=on_frames, **ENDLESS)
        assert threading.active_count() <= before + 2  # the pool of a team may stay; nothing runs on


# Progress


@pytest.mark.parametrize("d", [2, 3])
@patient
def test_on_frames_sees_every_frame_once_and_at_least_every_fifth_of_a_second(d: int) -> None:
    times: list[float] = []
    seen_t: list[Array] = []
    seen_x: list[Array] = []

    def on_frames(t: Array, x: Array) -> None:
        times.append(time.monotonic())
        seen_t.append(t)
        seen_x.append(x)

    run = nc.simulate(
        Attention(9.0),
        endless_start(d),
        1.5e5,
        save=500,
        on_frames=on_frames,
        **{k: ENDLESS[k] for k in ("rtol", "atol", "max_steps", "method")},
    )
    assert run.status == "done"
    assert np.array_equal(np.concatenate(seen_t), run.t)
    assert np.array_equal(np.concatenate(seen_x), run.x)
    gaps = np.diff(times)
    assert len(gaps) >= 2  # the run is long enough to say something
    check_wall_seconds(float(np.median(gaps)), 0.2)
    check_wall_seconds(float(gaps.max()), 0.5)  # this machine may be busy; 0.2 is the promise on a free one


def test_on_frames_sees_every_step_once() -> None:
    seen: list[Array] = []

    def on_frames(t: Array, x: Array) -> None:
        assert len(t) == len(x)
        seen.append(t)

    run = nc.simulate(
        Attention(9.0),
        endless_start(),
        9000.0,
        save="steps",
        rtol=1e-6,
        atol=1e-8,
        method="explicit",
        on_frames=on_frames,
    )
    assert run.status == "done"
    assert np.array_equal(np.concatenate(seen), run.t)
    assert len(run.t) == run.steps + 1 > 512  # room for frames was made twice


def _keep(seen: list[Array], t: Array, x: Array) -> None:
    seen.append(x)


def test_on_frames_sees_every_run_of_a_batch_once() -> None:
    for d in (2, 3):
        x0 = nc.uniform(12, d, seed=0, runs=30)
        seen: list[Array] = []
        run = nc.simulate(
            Attention(9.0), x0, 300.0, save=5, rtol=1e-6, atol=1e-8, on_frames=partial(_keep, seen)
        )
        together = np.concatenate(seen)
        assert together.shape == run.x.shape
        assert {x.tobytes() for x in together} == {x.tobytes() for x in run.x}


def told(x0: Array, t: float, save: Any) -> tuple[list[float], set[float]]:
    """What `progress` is told: what is done, call by call, and of how much."""
    seen: list[tuple[float, float]] = []
    run = nc.simulate(
        Attention(9.0), x0, t, save=save, rtol=1e-6, atol=1e-8, progress=lambda *both: seen.append(both)
    )
    assert run.done
    return [done for done, _ in seen], {total for _, total in seen}


def test_progress_counts_frames_of_one_run_times_where_steps_are_kept_and_runs_of_several() -> None:
    for x0, save, total in (
        (endless_start(), 500, 500.0),
        (endless_start(), "steps", 9000.0),
        (np.stack([endless_start(2)] * 20), 5, 20.0),
    ):
        done, totals = told(x0, 9000.0, save)
        assert totals == {total}
        assert done == sorted(done)
        assert done[-1] == total


@patient
def test_callbacks_are_called_while_one_drift_takes_long() -> None:
    # 40,000 tokens in three dimensions: one drift is about a second's work; no frame is new, but the caller
    # must hear of it.
    calls: list[float] = []

    def on_frames(t: Array, x: Array) -> Any:
        calls.append(time.monotonic())
        return len(calls) < 8

    run = nc.simulate(Attention(9.0), nc.uniform(40_000, 3, seed=0), 1.0, save=2, on_frames=on_frames)
    assert run.status == "cancelled"
    check_wall_seconds(float(np.median(np.diff(calls))), 0.2)


# Neighbours


def bad_batches() -> dict[str, tuple[Attention, Attention, Array]]:
    """A healthy batch of 64 and the same with run 5 gone wrong: model, model, starts."""
    flat = nc.uniform(12, 2, seed=0, runs=64)
    round_ = nc.uniform(12, 3, seed=0, runs=64)
    I2, I3 = np.stack([np.eye(2)] * 64), np.stack([np.eye(3)] * 64)
    found = {}
    for name, start, V, wrong in (
        ("huge multiple of I on the circle", flat, I2, 1.7e308 * np.eye(2)),
        ("huge V on the circle", flat, I2, np.full((2, 2), 1.7e308)),
        ("huge V on the sphere", round_, I3, np.full((3, 3), 1.7e308)),
    ):
        bad = V.copy()
        bad[5] = wrong
        found[name] = (Attention(9.0, V=V), Attention(9.0, V=bad), start)
    beta = np.full(64, 9.0)
    beta[5] = 1e9
    found["absurd beta on the circle"] = (Attention(np.full(64, 9.0)), Attention(beta), flat)
    found["absurd beta on the sphere"] = (Attention(np.full(64, 9.0)), Attention(beta), round_)
    return found


@pytest.mark.parametrize("name", bad_batches())
def test_one_bad_run_in_64_leaves_the_other_63_bit_identical(name: str) -> None:
    good, bad, x0 = bad_batches()[name]
    keep = np.arange(64) != 5
    healthy, ill = (
        nc.simulate(model, x0, 5.0, save=6, rtol=1e-6, atol=1e-8, max_steps=20_000) for model in (good, bad)
    )
    assert healthy.done
    assert not np.array_equal(healthy.x[5], ill.x[5], equal_nan=True)
    assert np.array_equal(healthy.x[keep], ill.x[keep])
    assert [status for status, kept in zip(ill.status, keep, strict=True) if kept] == ["done"] * 63
    if "V" in name or "multiple" in name:
        assert ill.status[5] == "non-finite"


def test_one_run_with_another_start_leaves_the_others_bit_identical() -> None:
    for d, model in ((2, Attention(9.0)), (3, Attention(9.0)), (2, Attention(9.0, mask=Window(4)))):
        x0 = nc.uniform(12, d, seed=0, runs=20)
        other = x0.copy()
        other[5] = other[5][0]  # all coincident: rests, and its lane is free at once
        a, b = (nc.simulate(model, x, 5.0, save=6, rtol=1e-6, atol=1e-8) for x in (x0, other))
        keep = np.arange(20) != 5
        assert np.array_equal(a.x[keep], b.x[keep])


# Ctrl-C


CASES = {
    "one small run": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(24, 3, seed=0), 1e9, max_steps=10**12, method='explicit',"
        " progress=ready)"
    ),
    "one circle": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(24, 2, seed=0), 1e9, max_steps=10**12, method='explicit',"
        " progress=ready)"
    ),
    "one drift of 200,000 tokens": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(200_000, 3, seed=0), 1.0, save=2, progress=ready)"
    ),
    "one drift in 64 dimensions": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(60_000, 64, seed=0), 1.0, save=2, progress=ready)"
    ),
    "2000 runs waiting": (
        "nc.simulate(nc.Attention(9.0), np.stack([nc.uniform(24, 3, seed=0)] * 2000), 1e9, save=2,"
        " max_steps=10**12, method='explicit', progress=ready)"
    ),
    "1000 big circles waiting": (
        "nc.simulate(nc.Attention(9.0, V=[[1.0, 1.0], [0.0, 1.0]]), np.stack([nc.uniform(3000, 2, seed=0)] *"
        " 1000), 1e9, save=2, max_steps=10**12, method='explicit', progress=ready)"
    ),
    "one causal run": (
        "nc.simulate(nc.Attention(64.0), nc.uniform(20_000, 2, seed=0), 1e30, method='causal',"
        " progress=ready)"
    ),
    "one big circle with strays": (
        "nc.simulate(nc.Attention(64.0), strays(1, 1_000_000, 4000)[0], 10.0, save=2, rtol=1e-10, atol=0.0,"
        " progress=ready)"
    ),
    "eight big runs in lanes": (
        "nc.simulate(nc.Attention(64.0), strays(8, 150_000, 3000), 10.0, save=2, progress=ready)"
    ),
}
PRELUDE = """
import os
import numpy as np
import nucleate as nc

def ready(done, total):
    print("ready", flush=True)

def strays(b, n, few):  # a cluster, and tokens far from it that the modes cannot resolve
    theta = np.tile(np.concatenate([np.zeros(n), np.linspace(1.0, 5.0, few)]), (b, 1))
    return np.stack([np.cos(theta), np.sin(theta)], -1)

plain, sheared = nc.Attention(9.0), nc.Attention(9.0, V=[[1.0, 1.0], [0.0, 1.0]])
for d, n, model in ((2, 9, plain), (2, 300, sheared), (3, 9, plain), (16, 70, plain)):
    nc.simulate(model, nc.uniform(n, d, seed=0), 0.01)  # so that the code below is compiled and loaded
    nc.simulate(model, np.stack([nc.uniform(n, d, seed=0)] * 2), 0.01)
nc.simulate(nc.Attention(9.0), nc.uniform(9, 2, seed=0), 0.01, method='causal')
for d, n in ((2, 60_000), (3, 3000), (64, 1500)):  # the same for a team of threads
    nc.simulate(nc.Attention(9.0), nc.uniform(n, d, seed=0), 1e-6, save=2)
"""


def interrupt(code: str, delay: float) -> tuple[str, float]:
    """Run the code in a process of its own, send SIGINT `delay` seconds after it says "ready"; its last word,
    and how long that took."""
    with subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        watchdog = threading.Timer(300.0, process.kill)  # the first time it compiles
        watchdog.start()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            watchdog.cancel()
            watchdog = threading.Timer(20.0, process.kill)
            watchdog.start()
            words = [line for line in process.stdout if line != "ready\n"]  # up to the end of the process
            return words[0].strip() if words else "killed", time.monotonic() - start
        finally:
            watchdog.cancel()
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.parametrize("case", CASES)
@patient
def test_ctrl_c_ends_a_simulation_within_a_second_with_its_own_status(case: str) -> None:
    code = f"run = {CASES[case]}\nprint(run.ending, flush=True)\nos._exit(0)\n"
    word, seconds = interrupt(code, delay=0.7)
    assert word.endswith("interrupted"), word
    check_wall_seconds(seconds, 1.0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.parametrize("threads", [1, 2])
@patient
def test_ctrl_c_ends_a_long_drift_within_a_second(threads: int) -> None:
    # Up to the end of the process: a thread that computes on would hold it.
    code = f"""
print("ready", flush=True)
try:
    nc.drift(nc.Attention(9.0), nc.uniform(400_000, 3, seed=0), threads={threads})
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""
    word, seconds = interrupt(code, delay=1.0)
    assert word == "KeyboardInterrupt"
    check_wall_seconds(seconds, 1.5)  # half a second for Python to close down


def test_an_interrupted_run_keeps_its_frames() -> None:
    code = f"""
run = {CASES["one small run"].replace("max_steps", "save=200, max_steps")}
ok = run.status == "interrupted" and len(run.t) > 1
ok = ok and np.isfinite(run.x).all() and run.x.shape == (len(run.t), 24, 3)
print(ok, flush=True)
"""
    word, _ = interrupt(code, delay=0.7)
    assert word == "True"
