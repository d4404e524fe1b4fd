"""What records do by functions of later rooms: `run.plot()` draws, though drawing comes after simulating.

A room imports only from rooms before it, so such a method does not import the function. It asks for it here
by name, and the room is loaded when the method is called. Tests resolve every entry, and see that each is
used.
"""

import importlib
from typing import Any

__all__ = ["FUNCTIONS", "convenience"]

FUNCTIONS = {
    "Run.plot": "nucleate.plot.files:picture",
    "Run.save, pictures": "nucleate.plot.files:write_run",
    "Run.save, mp4": "nucleate.plot.animation:ffmpeg",
    "Life.plot": "nucleate.plot.merges:life",
    "Life.save, pictures": "nucleate.plot.files:write_life",
    "Ensemble.plot": "nucleate.plot.studies:ensemble_bands",
}


def convenience(name: str) -> Any:
    """The function that stands behind this method of a record."""
    module, _, function = FUNCTIONS[name].partition(":")
    return getattr(importlib.import_module(module), function)
