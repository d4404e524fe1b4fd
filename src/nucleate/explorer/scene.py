"""A scene: everything that makes a run, as plain values that fit into an address.

What comes from a page is not trusted: every key is known, every value checked and limited, and defaults fill
what is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from nucleate.attention import Window
from nucleate.checks import Array, InputError, finite_number, shortened, whole_number
from nucleate.explorer import limits
from nucleate.explorer.family import family_table, family_times, kappa_of, noise_step
from nucleate.explorer.matrices import chosen_matrix, matrix_choice
from nucleate.explorer.start_positions import MAX_SPREAD_RADIANS, MIN_CAP_ANGLE_RADIANS, cap, planted
from nucleate.integrate.simulate import FIRST_LOG_TIME
from nucleate.layers import Model
from nucleate.parse.mask import parse_mask
from nucleate.parse.model import build_model
from nucleate.sphere import retract, uniform

__all__ = ["Scene", "check_number", "check_table", "check_whole", "check_word", "parse_scene", "save_times"]

IDENTITY: Mapping[str, Any] = {"preset": "identity"}


@dataclass(frozen=True)
class Scene:
    """One run as a page describes it; every value is plain, checked, and in its normal form if it comes from
    `parse_scene`."""

    n: int = 200
    d: int = 2
    beta: float = 64.0
    t: float = 150.0
    frames: int = 160
    clock: str = "log"
    seed: int = 0
    mask: str | Mapping[str, int] = "causal"
    start: Mapping[str, Any] = field(default_factory=lambda: {"kind": "uniform"})
    moved: Mapping[str, list[float]] = field(default_factory=dict)  # token -> where it is put
    V: Mapping[str, Any] = field(default_factory=lambda: dict(IDENTITY))
    Q: Mapping[str, Any] = field(default_factory=lambda: dict(IDENTITY))
    K: Mapping[str, Any] = field(default_factory=lambda: dict(IDENTITY))
    c: float = 4.0  # delta = c beta^(-1/2)
    tolerance: float = 1e-8  # rtol; atol is a hundredth of it
    family: Mapping[str, Any] = field(default_factory=dict)  # what makes it more than one softmax head
    dt: float = 0.01  # with noise: the step, at most

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def head(self) -> dict[str, Any]:
        """beta, the matrices and the mask, as `nucleate.parse.model` takes them; identities are numbers, so
        that the fastest kernels are taken."""
        matrices = {name: chosen_matrix(getattr(self, name), self.d) for name in "QKV"}
        plain = {name: 1.0 if np.array_equal(M, np.eye(self.d)) else M for name, M in matrices.items()}
        return {"beta": self.beta, **plain, "mask": self.mask}

    @property
    def model(self) -> Model:
        """What is simulated."""
        return build_model({**self.head, **self.family}, self.d)

    @property
    def settings(self) -> dict[str, Any]:
        """What `simulate` is told besides model, start and times; noise has a step and the scene's seed."""
        settings = {"t": self.t, "rtol": self.tolerance, "atol": self.tolerance / 100.0}
        return {**settings, "dt": self.step, "seed": self.seed} if self.noisy else settings

    @property
    def noisy(self) -> bool:
        """Whether there is noise."""
        return kappa_of(self.family) is not None

    @property
    def step(self) -> float:
        """The step of noise."""
        return noise_step(self.t, self.dt)

    @property
    def x0(self) -> Array:
        """Where the tokens start, (n, d)."""
        if self.start["kind"] == "cap":
            x = cap(self.n, self.d, self.start["angle"], self.seed)
        elif self.start["kind"] == "planted":
            x = planted(self.n, self.d, self.start["clusters"], self.start["spread"], self.seed)
        else:
            x = uniform(self.n, self.d, self.seed)
        for token, place in self.moved.items():
            x[int(token)] = place
        return x

    @property
    def times(self) -> Array:
        """The times of the frames, (frames,); fewer where steps or discrete layers are."""
        times = save_times(self.t, self.frames, self.clock)
        return family_times(self.family, times, self.t, self.step)


def save_times(t: float, frames: int, clock: str) -> Array:
    """0 and t and evenly spaced times between; or, by a logarithmic clock, 0 and times evenly spaced by
    logarithm, the last one t."""
    if clock == "linear":
        return np.linspace(0.0, t, frames)
    return np.concatenate([[0.0], np.geomspace(min(FIRST_LOG_TIME, t / 100.0), t, frames - 1)])


# From JSON, strictly


def parse_scene(table: object) -> Scene:
    """The scene in a table of plain values, in its normal form; an InputError says what is wrong."""
    given = check_table("scene", table, [one.name for one in fields(Scene)])
    base = Scene()
    n = check_whole("n", given.get("n", base.n), 1, limits.MAX_TOKENS)
    d = check_whole("d", given.get("d", base.d), 2, limits.MAX_DIMENSION)
    frames = check_whole(
        "frames", given.get("frames", base.frames), limits.MIN_SCENE_FRAMES, limits.MAX_SCENE_FRAMES
    )
    if n * d * frames > limits.MAX_NUMBERS:
        raise InputError(
            f"n * d * frames must be at most {limits.MAX_NUMBERS:,}, but is {n * d * frames:,}. Ask for fewer"
            " tokens, dimensions or frames."
        )
    scene = Scene(
        n=n,
        d=d,
        beta=check_number("beta", given.get("beta", base.beta), 0.0, limits.MAX_BETA),
        t=check_number("t", given.get("t", base.t), limits.MIN_TIME, limits.MAX_TIME),
        frames=frames,
        clock=check_word("clock", given.get("clock", base.clock), ("log", "linear")),
        seed=check_whole("seed", given.get("seed", base.seed), 0, limits.MAX_INTEGER),
        mask=_mask(given.get("mask", base.mask)),
        start=_start(given.get("start", base.start), n),
        moved=_moved(given.get("moved", base.moved), n, d),
        V=matrix_choice("V", given.get("V", base.V), d),
        Q=matrix_choice("Q", given.get("Q", base.Q), d),
        K=matrix_choice("K", given.get("K", base.K), d),
        c=check_number("c", given.get("c", base.c), limits.MIN_CENTER_FACTOR, limits.MAX_CENTER_FACTOR),
        tolerance=check_number(
            "tolerance",
            given.get("tolerance", base.tolerance),
            limits.MIN_SCENE_TOLERANCE,
            limits.MAX_SCENE_TOLERANCE,
        ),
        dt=check_number("dt", given.get("dt", base.dt), limits.MIN_STEP, limits.MAX_TIME),
    )
    _ = scene.model  # refuses matrices that overflow
    return replace(scene, family=_family(given.get("family", base.family), scene))


def _family(value: object, scene: Scene) -> dict[str, Any]:
    family = family_table(value, scene.head, scene.n, scene.d, scene.t)
    if kappa_of(family) is not None and (steps := scene.t / scene.dt) > limits.MAX_NOISE_STEPS:
        raise InputError(
            f"A run with noise has at most {limits.MAX_NOISE_STEPS:,} steps, but t / dt is {steps:,.0f}. Give"
            " a larger dt, or a smaller t."
        )
    return family


def check_table(name: str, value: object, keys: list[str]) -> dict[str, Any]:
    """`value`, if it is a table with no other keys."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a table of values, but is {shortened(value)}.")
    for key in value:
        if key not in keys:
            raise InputError(f"{name} has no {str(key)[:40]!r}. It may hold {', '.join(keys)}.")
    return dict(value)


def check_number(name: str, value: object, least: float, most: float) -> float:
    """`value` as a finite number between two others."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} must be a number, but is {shortened(value)}.")
    number = finite_number(name, value, least=least)
    if number > most:
        raise InputError(f"{name} must be at most {most:g}, but is {number:g}.")
    return number


def check_whole(name: str, value: object, least: int, most: int) -> int:
    """`value` as a whole number between two others."""
    number = whole_number(name, value, least=least)
    if number > most:
        raise InputError(f"{name} must be at most {most:,}, but is {number:,}.")
    return number


def check_word(name: str, value: object, words: tuple[str, ...]) -> str:
    """`value`, if it is one of these words."""
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} must be {' or '.join(words)}, but is {shortened(value)}.")
    return value


def _mask(value: object) -> str | dict[str, int]:
    mask = parse_mask("mask", value)
    return (
        {"window": check_whole("window", mask.w, 1, limits.MAX_TOKENS)} if isinstance(mask, Window) else mask
    )


def _start(value: object, n: int) -> dict[str, Any]:
    kind = check_word(
        "start kind",
        check_table("start", value, ["kind", "angle", "clusters", "spread"]).get("kind"),
        ("uniform", "cap", "planted"),
    )
    if kind == "cap":
        table = check_table("start", value, ["kind", "angle"])
        return {
            "kind": kind,
            "angle": check_number("angle", table.get("angle"), MIN_CAP_ANGLE_RADIANS, float(np.pi)),
        }
    if kind == "planted":
        table = check_table("start", value, ["kind", "clusters", "spread"])
        clusters = check_whole("clusters", table.get("clusters"), 1, n)
        return {
            "kind": kind,
            "clusters": clusters,
            "spread": check_number("spread", table.get("spread"), 0.0, MAX_SPREAD_RADIANS),
        }
    check_table("start", value, ["kind"])
    return {"kind": kind}


def _moved(value: object, n: int, d: int) -> dict[str, list[float]]:
    """Unit vectors by token, in the order of tokens."""
    table = check_table("moved", value, list(value) if isinstance(value, Mapping) else [])
    places: dict[int, list[float]] = {}
    for key, place in table.items():
        if not (
            isinstance(key, str)
            and key.isascii()
            and key.isdigit()
            and len(key) <= 6
            and str(int(key)) == key
            and int(key) < n
        ):
            raise InputError(
                f"moved names token {str(key)[:40]!r}, but tokens are numbered from 0 to {n - 1}."
            )
        places[int(key)] = retract(_vector(f"moved {key}", place, d)).tolist()
    return {str(token): places[token] for token in sorted(places)}


def _vector(name: str, value: object, d: int) -> Array:
    if not isinstance(value, list) or len(value) != d:
        raise InputError(f"{name} must hold {d} numbers, as d is {d}, but is {shortened(value)}.")
    return np.array([check_number(name, entry, -1e300, 1e300) for entry in value])
