"""Warming up: everything a first run would wait for is compiled, or fetched from the disk, before it is asked
for."""

import logging
import threading
from typing import Any

from nucleate.explorer.measures import measure
from nucleate.explorer.prepared_run import begun, of_scene, perform
from nucleate.explorer.scene import parse_scene

__all__ = ["SCENES", "warm_up"]

# One of each kind of run that compiles something of its own, the likeliest first.
SCENES: tuple[dict[str, Any], ...] = (
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


def warm_up(done: threading.Event, over: threading.Event) -> None:
    """Run the scenes, then set `done`; leave off once `over` is set, when the program ends under our feet and
    anything may fail."""
    try:
        for scene in SCENES:
            if over.is_set():
                return
            take = of_scene(parse_scene(scene))
            facts = begun(take, 0)
            measure(perform(take).x, facts)
    except Exception:  # runs still work, only the first one later
        if not over.is_set():
            logging.getLogger("nucleate.explorer").exception("warming up failed")
    finally:
        done.set()
