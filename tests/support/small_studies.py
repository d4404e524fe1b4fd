"""Studies that take a fraction of a second, and what tests of ensembles need again and again."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.layers import Model


def small(**changes: Any) -> dict[str, Any]:
    """A study of 2 points and 24 runs each, with observables of every shape."""
    study: dict[str, Any] = {
        "title": "small",
        "runs": 24,
        "seed": 3,
        "start": {"n": 8, "d": 2},
        "times": {"t": 3.0, "save": 5, "rtol": 1e-6, "atol": 1e-9},
        "grid": {"beta": [4.0, 16.0]},
        "observables": {
            "renyi": {"kind": "consumed", "radius": "1/sqrt(beta)"},
            "groups": {"kind": "clusters", "radius": 0.1},
            "apart": {"kind": "from_first", "at": "end"},
            "ends": {"kind": "points"},
        },
    }
    return {**study, **changes}


def spread(t: float, x: Array) -> float:
    """An observable of one's own: how far the mean of the tokens x (n, d) is from the middle of the
    sphere."""
    return float(np.linalg.norm(x.mean(0)))


def profile(t: Array, x: Array) -> Array:
    """An observable of one's own of whole runs, x (m, n, d), with axes: the first coordinate of every token
    over time."""
    return x[..., 0]


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a store."""
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def head_of(model: Model) -> Attention:
    """The model, which must be a single head."""
    assert isinstance(model, Attention)
    return model


def toml(study: dict[str, Any]) -> str:
    """A study as a TOML file."""

    def value(one: Any) -> str:
        if isinstance(one, dict):
            return "{" + ", ".join(f"{key} = {value(inner)}" for key, inner in one.items()) + "}"
        if isinstance(one, list):
            return "[" + ", ".join(map(value, one)) + "]"
        return json.dumps(one)

    return "".join(f"{key} = {value(one)}\n" for key, one in study.items())
