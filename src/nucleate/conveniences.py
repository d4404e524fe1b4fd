"""What is done by functions of later rooms: `run.plot()` draws, though drawing comes after simulating, and
`simulate(device="gpu")` leaves the work to the card.

A room imports only from rooms before it, so such a function does not import the other. It asks for it here
by name, and the room is loaded when it is called. Tests resolve every entry, and see that each is used.
"""

import importlib
from typing import Any

__all__ = ["FUNCTIONS", "convenience"]

FUNCTIONS = {
    "simulate, gpu": "nucleate.gpu.batch:integrate_on_gpu",
    "drift, gpu": "nucleate.gpu.large_system:gpu_drift",
    "Run.plot": "nucleate.plot.files:picture",
    "Run, in a notebook": "nucleate.plot.notebook_html:run_html",
    "Run.explore": "nucleate.explorer.player:explore",
    "Run.save, pictures": "nucleate.plot.files:write_run",
    "Run.save, mp4": "nucleate.plot.animation:ffmpeg",
    "Life.plot": "nucleate.plot.merges:life",
    "Life, in a notebook": "nucleate.plot.notebook_html:life_html",
    "Life.save, pictures": "nucleate.plot.files:write_life",
    "Ensemble.plot": "nucleate.plot.studies:ensemble_bands",
    "Ensemble, in a notebook": "nucleate.plot.notebook_html:ensemble_html",
    "Atlas, in a notebook": "nucleate.plot.notebook_html:atlas_html",
    "Spectra, in a notebook": "nucleate.plot.notebook_html:spectra_html",
}


def convenience(name: str) -> Any:
    """The function that stands behind this name."""
    module, _, function = FUNCTIONS[name].partition(":")
    return getattr(importlib.import_module(module), function)
