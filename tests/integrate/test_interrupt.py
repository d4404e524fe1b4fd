"""Ctrl-C ends a simulation within a second, whatever it is doing."""

import signal
import subprocess
import sys
import threading
import time

import pytest
from support.time_limits import check_wall_seconds, patient

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
