"""Runs made up without a solver: quick, and with everything a record can hold."""

from dataclasses import replace
from typing import Any

import numpy as np
from support.places import on_circle

from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.integrate.run import Run
from nucleate.sphere import retract, uniform

SETTINGS = {"method": "explicit", "rtol": 1e-8, "atol": 1e-10, "dt": None}


def paths(m: int, n: int, d: int, seed: int = 0) -> Array:
    """Smooth paths on the sphere (m, n, d): every token on a great circle of its own."""
    start, towards = uniform(n, d, seed), uniform(n, d, seed + 1000)  # (n, d)
    angle = np.linspace(0.0, 2.0, m)[:, None, None]  # (m, 1, 1)
    side = retract(towards - (towards * start).sum(-1, keepdims=True) * start)  # (n, d)
    return retract(np.cos(angle) * start + np.sin(angle) * side)


def run_of(x: Array, beta: Any = 64.0, t: Array | None = None) -> Run:
    """A run with these frames x (m, n, d), at the times 0, 1, 2, ... or t."""
    return Run(Attention(beta), np.arange(float(x.shape[-3])) if t is None else t, x, "done", 1, SETTINGS)


def walking(*angles: list[float], beta: float = 20.0) -> Run:
    """Tokens on the circle at these angles (m, n), one time unit between frames, moved by no equation."""
    return replace(run_of(on_circle(angles), beta), settings={})


def one_run(d: int = 2, m: int = 12, n: int = 9) -> Run:
    """A plain run of n tokens in m frames, up to t = 3."""
    return Run(Attention(4.0), np.linspace(0.0, 3.0, m), paths(m, n, d), "done", 17, SETTINGS, {"seed": 0})


def rich_run() -> Run:
    """One run with all that a model can carry."""
    rng = np.random.default_rng(5)
    Q, K, V = rng.standard_normal((3, 3, 3))
    model = Attention(2.5, Q, K, V, mask=Window(4), frozen=Frozen(uniform(2, 3, 8), [1.5, 2.0]))
    notes = {"seed": 2**100, "start": "ä file", "times": [0.1, 1 / 3], "none": None}
    return Run(
        model,
        np.array([0.0, 0.1, 1 / 3, 7.5, 1e60]),
        paths(5, 6, 3),
        "max steps",
        5,
        SETTINGS | {"max_steps": 5},
        notes,
    )


def many_runs(d: int = 2) -> Run:
    """Three runs with a beta and a V each, the second one cut short."""
    x = np.stack([paths(6, 5, d, seed) for seed in range(3)])  # (3, 6, 5, d)
    x[1, 4:] = -np.float64("nan")  # not every NaN has the same bits
    model = Attention([1.0, 2.0, 3.0], V=np.stack([np.eye(d)] * 3), mask="full")
    return Run(model, np.arange(6.0), x, ("done", "stalled", "done"), np.array([7, 3, 2**40]), SETTINGS)
