"""Ctrl-C ends what is looked for among many tokens within a second, and the next call works."""

import subprocess
import sys
import threading
import time

import pytest
from support.time_limits import check_wall_seconds, patient

# With so many tokens, spread out in 64 dimensions, each takes a minute and more.
CALLS = {
    "centers": "nc.renyi_centers(x, 0.5)",
    "strong centers": "nc.renyi_centers(x, 0.5, strong=True)",
    "clusters": "nc.clusters(x, 0.5)",
    "consumption": "nc.consumed(x, np.arange(len(x)), 0.5)",
}
CODE = """
import numpy as np
import nucleate as nc
def look(x):
    return CALL
few, x = nc.uniform(2000, 64, seed=0), nc.uniform(200_000, 64, seed=0)
expected = look(few)  # compiled
print("ready", flush=True)
try:
    look(x)
    print("done", flush=True)
except KeyboardInterrupt:
    print("KeyboardInterrupt", np.array_equal(look(few), expected), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.parametrize("call", CALLS)
@patient
def test_ctrl_c_ends_a_search_among_many_tokens(call: str) -> None:
    code = CODE.replace("CALL", CALLS[call])
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(300.0, process.kill)  # the first time it compiles
        watchdog.start()
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            began = time.monotonic()
            process.send_signal(2)
            assert process.stdout.readline() == "KeyboardInterrupt True\n"
            check_wall_seconds(time.monotonic() - began, 1.0)
            assert process.wait(60.0) == 0
            check_wall_seconds(time.monotonic() - began, 1.5)  # half a second for Python to close down
        finally:
            watchdog.cancel()
            process.kill()
