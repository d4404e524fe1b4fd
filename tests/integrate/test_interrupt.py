"""Ctrl-C ends a simulation within a second, at any moment, and the next call works."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from support.soak import SOAK
from support.time_limits import check_wall_seconds, patient

from nucleate import Attention, life, simulate, uniform
from nucleate.integrate import scheduler
from nucleate.kernels.threads import not_awaited_if_stopped

CASES = {
    "one small run": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(24, 3, seed=0), 1e9, max_steps=10**12, method='explicit',"
        " progress=ready)"
    ),
    "one circle": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(24, 2, seed=0), 1e9, max_steps=10**12, method='explicit',"
        " progress=ready)"
    ),
    "one drift over pairs": (
        "nc.simulate(nc.Attention(9.0), nc.uniform(200_000, 5, seed=0), 1.0, save=2, progress=ready)"
    ),
    "a million tokens on the sphere": (
        "nc.simulate(nc.Attention(64.0), nc.uniform(1_000_000, 3, seed=0), 100.0, save=2, progress=ready)"
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
LONG_DRIFTS = {  # model, tokens, dimension, and tokens enough for the same way of summing
    "pairs": ("nc.Attention(64.0)", 400_000, 5, 3000),
    "harmonics": ("nc.Attention(64.0)", 2_000_000, 4, 60_000),
    "heads on the circle": ("nc.Block([nc.Attention(64.0)] * 64)", 5_000_000, 2, 3000),
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
for d, n in ((2, 60_000), (3, 3000), (3, 50_000), (5, 3000), (64, 1500)):  # the same for a team of threads
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
            watchdog = threading.Timer(60.0, process.kill)
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
@pytest.mark.parametrize("what", LONG_DRIFTS)
@patient
def test_ctrl_c_ends_a_long_drift_within_a_second(what: str, threads: int) -> None:
    # Two threads take from five seconds to a minute, so that a machine ten times as fast is still at it when
    # the signal comes.  Up to the end of the process: a thread that computes on would hold it.
    model, n, d, few = LONG_DRIFTS[what]
    code = f"""
model, x = {model}, nc.uniform({n}, {d}, seed=0)
nc.drift(model, x[:{few}], threads={threads})  # compiled
print("ready", flush=True)
try:
    nc.drift(model, x, threads={threads})
    print("done", flush=True)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""
    word, seconds = interrupt(code, delay=0.5)
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


# At any moment: each of these goes on until it is interrupted, again and again.
MOMENTS = {
    "the first moments of 512 runs": (
        0.06,
        "nc.simulate(plain, many, 1e9, save=2, max_steps=10**12, method='explicit')",
    ),
    "512 runs under way": (
        1.0,
        "nc.simulate(plain, many, 1e9, save=2, max_steps=10**12, method='explicit')",
    ),
    "a loop of short runs": (0.1, "[nc.simulate(plain, many[0], 1.0) for _ in forever]"),
    "a loop of short batches": (0.1, "[nc.simulate(plain, circles, 1.0) for _ in forever]"),
    "a study": (1.0, "nc.ensemble(study)"),
    "lives": (1.0, "[nc.life(9.0, 20, seed=0, progress=lambda *_: None) for _ in forever]"),
}
TRIES = 200 if SOAK else 4  # of each, and a quarter of it where every one takes a second
COMPILATIONS = 20 if SOAK else 1
UNTIL_INTERRUPTED = """
import itertools, sys, threading
import nucleate as nc
plain = nc.Attention(9.0)
forever = itertools.repeat(None)
many, circles = nc.uniform(24, 3, seed=0, runs=512), nc.uniform(24, 2, seed=0, runs=9)
study = {"start": {"n": 24, "d": 3}, "times": {"t": 10.0, "save": 2}, "grid": {"beta": [9.0]}, "seed": 0}
study |= {"runs": 100_000, "observables": {"groups": {"kind": "clusters", "radius": 0.1}}}
nc.life(9.0, 20, seed=0)
nc.ensemble({**study, "runs": 2})
nc.simulate(plain, circles, 1.0)
expected = nc.simulate(plain, many[0], 1.0).x
busy = ("nucleate-runs", "nucleate-blocks", "nucleate-drift")
for _ in range(int(sys.argv[1])):
    try:
        print("ready", flush=True)
        WHAT
    except KeyboardInterrupt:
        pass
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith(busy)]
    print("ended", *left, flush=True)
    assert (nc.simulate(plain, many[0], 1.0).x == expected).all()
"""


def expect(line: str, process: "subprocess.Popen[str]") -> None:
    """The process says this, or is ended and what it complains of shown."""
    assert process.stdout is not None
    assert process.stderr is not None
    if (said := process.stdout.readline()) != line:
        process.kill()
        pytest.fail(f"said {said!r} instead of {line!r}: {process.stderr.read()}")


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.soak(tries=TRIES)
@pytest.mark.parametrize("moment", MOMENTS)
@patient
def test_ctrl_c_ends_the_call_at_any_moment_and_the_next_one_works(moment: str) -> None:
    longest, what = MOMENTS[moment]
    tries = max(4, TRIES // 4) if moment in ("a study", "lives") else TRIES
    moments, slowest = random.Random(0), 0.0
    code = UNTIL_INTERRUPTED.replace("WHAT", what)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tries)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        watchdog = threading.Timer(300.0 + 5.0 * tries, process.kill)
        watchdog.start()
        try:
            for _ in range(tries):
                expect("ready\n", process)
                time.sleep(moments.uniform(0.0, longest))
                start = time.monotonic()
                process.send_signal(signal.SIGINT)
                expect("ended\n", process)
                slowest = max(slowest, time.monotonic() - start)
            assert process.wait() == 0
        finally:
            watchdog.cancel()
            process.kill()
    check_wall_seconds(slowest, 1.0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.soak(tries=COMPILATIONS)
@pytest.mark.parametrize("attempt", range(COMPILATIONS))
@patient
def test_ctrl_c_ends_a_call_that_compiles_and_the_program(tmp_path: Path, attempt: int) -> None:
    code = """
import nucleate as nc
nc.simulate
print("ready", flush=True)
try:
    run = nc.simulate(nc.Attention(9.0), nc.uniform(24, 3, seed=0), 1.0)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""
    delay = random.Random(attempt).uniform(0.0, 4.0)
    while True:
        environment = {**os.environ, "NUCLEATE_CACHE": str(tmp_path / f"cache{time.monotonic_ns()}")}
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            if process.poll() is not None:  # all is compiled and done: this machine is fast
                delay /= 2.0
                continue
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "KeyboardInterrupt\n"
            check_wall_seconds(time.monotonic() - start, 1.0)
            assert process.wait(60.0) == 0
            check_wall_seconds(time.monotonic() - start, 1.5)  # half a second for Python to close down
        return


@patient
def test_the_time_limit_counts_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = threading.Event()

    def compile_for_long(*_: object) -> int:
        not_awaited_if_stopped(partial(compiled.wait, 60.0))
        pytest.fail("compiled code was called although its run had been given up")

    monkeypatch.setattr(scheduler, "integrate_runs", compile_for_long)
    monkeypatch.setattr("nucleate.observe.life.merges", compile_for_long)
    x, began = uniform(9, 3, seed=0), time.monotonic()
    try:
        born = life(Attention(4.0), x, t=1.0, time_limit=0.2)
        one = simulate(Attention(4.0), x, 1.0, time_limit=0.2)
        several = simulate(
            Attention(4.0), uniform(9, 3, seed=0, runs=5), 1.0, save=[0.0, 1.0], time_limit=0.2
        )
    finally:
        compiled.set()
    assert (one.status, several.status) == ("time limit", ("time limit",) * 5)
    assert (one.x == x).all()  # one frame, the start
    assert (born.run.status, len(born.run.t), born.merges.events) == ("time limit", 1, ())
    assert (several.x[:, 0] == uniform(9, 3, seed=0, runs=5)).all()
    check_wall_seconds(time.monotonic() - began, 1.7)


@patient
def test_a_call_on_another_thread_is_stopped_while_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = threading.Event()
    monkeypatch.setattr(
        scheduler, "integrate_runs", lambda *_: not_awaited_if_stopped(partial(compiled.wait, 60.0))
    )
    statuses: list[str] = []

    def call() -> None:
        run = simulate(Attention(4.0), uniform(9, 3, seed=0), 1.0, progress=lambda *_: False)
        statuses.append(str(run.status))

    caller, began = threading.Thread(target=call), time.monotonic()
    caller.start()
    caller.join(60.0)
    compiled.set()
    assert statuses == ["cancelled"]
    check_wall_seconds(time.monotonic() - began, 1.0)


def test_a_callback_that_raises_keyboard_interrupt_ends_the_run_as_ctrl_c_does() -> None:
    def press(done: float, total: float) -> None:
        raise KeyboardInterrupt

    model, x = Attention(9.0), uniform(24, 3, seed=0)
    assert simulate(model, x, 1e-3).done  # compiled
    run = simulate(model, x, 1e9, max_steps=10**12, method="explicit", progress=press)
    assert run.status == "interrupted"
    with pytest.raises(KeyboardInterrupt):  # it comes when the run is done
        simulate(model, x, 1e-3, progress=press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_does_something_else_with_ctrl_c_keeps_its_way() -> None:
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        run = simulate(
            Attention(4.0), uniform(9, 3, seed=0), 1.0, progress=lambda *_: signal.raise_signal(signal.SIGINT)
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.done
    assert pressed


def test_a_child_process_simulates_after_a_fork() -> None:
    code = """
import os
import nucleate as nc
def bits(threads):
    return nc.simulate(nc.Attention(9.0), nc.uniform(24, 3, seed=0, runs=4), 1.0, threads=threads).x.tobytes()
expected = bits(2)
child = os.fork()
if child == 0:
    os._exit(0 if bits(2) == expected else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), bits(1) == expected)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == "0 True\n"
