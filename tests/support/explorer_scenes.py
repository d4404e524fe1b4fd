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


# what makes a scene more than one softmax head, each way that it may be written
FAMILIES: dict[str, dict[str, Any]] = {
    "usa": {"weights": "exponential", "alibi": 0.2},
    "mix": {"norm": "mix", "tau": 1.0},
    "noise": {"noise": 2.0},
    "noisy layers": {"noise": 3.0, "layers": {"count": 3}},
    "heads": {"heads": [{"V": -1.0}, {"V": "gaussian(3)", "mask": "causal"}, {"V": 1.0, "window": 2}]},
    "sharper heads": {"heads": [{"beta": 1.0}, {"beta": 4.0}], "norm": "pre", "radius": 2.0},
    "equal heads": {"heads": 3, "exclude_self": True},
    "random layers": {
        "heads": 2,
        "norm": "pre",
        "rope": 50.0,
        "layers": {"count": 3, "redraw": "orthogonal", "value": "identity", "seed": 1},
    },
    "own layers": {"layers": {"dt": 2.0, "blocks": [{"V": 2.0}, {"heads": [{"V": {"tied": 1.0}}]}]}},
    "discrete layers": {"layers": {"count": 6, "dt": 0.5, "discrete": True}},
    "mlp alone": {"heads": 0, "mlp": {"hidden": 8, "seed": 3, "activation": "gelu"}},
    "potential": {"mlp": {"omega": [1.0], "a": [[1.0, 0.0]]}},
    "named mlp": {"mlp": {"W": 1.0, "a": 2.0}},
}


LONG = {"n": 3000, "d": 3, "beta": 30.0, "t": 1e6, "frames": 50}  # minutes


def simulated(scene: dict[str, Any]) -> nc.Run:
    made = parse_scene(scene)
    return nc.simulate(made.model, made.x0, save=made.times, **made.settings)
