"""Scenes of every kind for the explorer's tests, run in a moment, and one that takes minutes."""

from typing import Any

import nucleate as nc
from nucleate.explorer.scene import parse_scene

SMALL = {"n": 7, "t": 3.0, "frames": 5, "beta": 5.0}


SCENES: dict[str, dict[str, Any]] = {
    "circle": SMALL,
    "long": {**SMALL, "t": 1e40, "frames": 9},
    "linear": {**SMALL, "clock": "linear", "d": 3},
    "cap": {**SMALL, "d": 3, "start": {"kind": "cap", "angle": 0.7}, "seed": 5},
    "planted": {**SMALL, "d": 4, "start": {"kind": "planted", "clusters": 3, "spread": 0.2}, "mask": "full"},
    "moved": {**SMALL, "d": 3, "moved": {"2": [1, 2, 3], "0": [0.1, -1e-9, 4]}, "mask": {"window": 2}},
    "rows": {
        **SMALL,
        "d": 3,
        "V": {"preset": "row2"},
        "Q": {"matrix": [[1, 0.1, 0], [0, -0.0, 2], [1 / 3, 0, 1]]},
        "K": {"preset": "mirror"},
    },
    "random": {
        **SMALL,
        "d": 6,
        "V": {"preset": "gaussian", "seed": 4},
        "Q": {"preset": "head"},
        "K": {"preset": "defective"},
        "tolerance": 1e-5,
    },
    "short": {**SMALL, "t": 1e-3, "frames": 3},
}


LONG = {"n": 3000, "d": 3, "beta": 30.0, "t": 1e6, "frames": 50}  # minutes


def simulated(scene: dict[str, Any]) -> nc.Run:
    made = parse_scene(scene)
    return nc.simulate(
        made.model, made.x0, made.t, save=made.times, rtol=made.tolerance, atol=made.tolerance / 100
    )
