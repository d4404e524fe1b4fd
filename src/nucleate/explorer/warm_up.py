"""Warming up: everything a first run would wait for is compiled, or fetched from the disk, before it is asked
for."""

import logging
import threading
from typing import Any

from nucleate.explorer.measurements import measure
from nucleate.explorer.prepared_run import begun_message, compute, prepare_scene
from nucleate.explorer.scene import parse_scene
from nucleate.kernels.threads import stopped_by

__all__ = ["WARM_UP_SCENES", "is_compiling", "warm_up"]

# One of each kind of run that compiles something of its own, the likeliest first.
WARM_UP_SCENES: tuple[dict[str, Any], ...] = (
    {"t": 1.0, "frames": 3},
    {"n": 32, "d": 3, "beta": 9.0, "t": 1.0, "frames": 3},
    {"n": 20, "t": 1e6, "frames": 10},
    {"n": 20, "d": 3, "beta": 9.0, "t": 1e6, "frames": 10, "V": {"preset": "row3"}},
    {"n": 32, "d": 3, "beta": 9.0, "t": 1.0, "frames": 3, "V": {"preset": "complex"}, "mask": "full"},
    {"n": 8, "t": 1.0, "frames": 3, "V": {"preset": "row3"}, "mask": {"window": 3}},
    {"n": 1000, "d": 3, "beta": 9.0, "t": 0.01, "frames": 3},
    {"n": 16, "d": 8, "beta": 9.0, "t": 1.0, "frames": 3},
    {"n": 16, "d": 64, "beta": 4.0, "t": 0.1, "frames": 3, "V": {"preset": "head"}},
)


def warm_up(compiled: threading.Event, closing: threading.Event) -> None:
    """Run the scenes, then set `compiled`; leave off once `closing` is set.

    While the program closes, modules are torn down under this thread, so a failure then means nothing.
    """
    try:
        with stopped_by(closing.is_set):  # what is being compiled then is not waited for
            for scene in WARM_UP_SCENES:
                if closing.is_set():
                    return
                prepared = prepare_scene(parse_scene(scene))
                measure(compute(prepared).x, begun_message(prepared, 0))
    except Exception:  # runs still work, only the first one later
        if not closing.is_set():
            logging.getLogger("nucleate.explorer").exception("warming up failed")
    finally:
        compiled.set()


def is_compiling() -> bool:
    """Whether something is being compiled for this process at this moment, or fetched from the disk."""
    return any(thread.name == "nucleate-compile" for thread in threading.enumerate())
