"""A study as data: model, start, times, a grid over any of their parameters, runs per point, a root seed,
observables.

Every key is checked when the study is made.  What is kept is plain: numbers, texts, lists and tables, with
all defaults written out, so that two studies are the same exactly if they read the same.
"""

import json
import math
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nucleate.checks import (
    Array,
    FileError,
    InputError,
    as_path,
    check_memory,
    file_error,
    read_file,
    whole_number,
)
from nucleate.integrate.simulate import check_on_gpu, check_tolerance, pick_method, save_times
from nucleate.kernels.devices import check_device
from nucleate.parse.mask import mask_text, parse_mask
from nucleate.parse.model_keys import BLOCK_KEYS, HEAD_KEYS, LAYERS_KEYS, heads_count, listed, value_matrix
from nucleate.parse.validate import (
    a_list,
    a_name,
    a_table,
    a_text,
    known_keys,
    number,
    one_of,
    refuse,
    shown,
)
from nucleate.studies.matrices import label, matrix, with_files
from nucleate.studies.observables import REQUIRED, Observable, observable
from nucleate.studies.own_functions import modules_beside
from nucleate.studies.points import Point, ends_of_layers

__all__ = ["Study", "differences"]

MAX_POINTS = 10_000
MAX_RUNS = 1_000_000_000
MAX_FRAMES = 1_000_000
MAX_STUDY_BYTES = 2**26  # of its file
RESERVED_NAMES = ("run", "time", "token", "coordinate", "status", "steps", "checksums")


class Parameter(NamedTuple):
    """What a key of [model], [start] or [times] may be."""

    section: str
    check: Callable[[str, Any], Any]
    default: Any
    grid: bool  # whether it may stand in [grid]
    about: str


def _count(where: str, value: Any) -> int:
    return whole_number(where, value, least=1)


def _save(where: str, value: Any) -> int | list[float]:
    """A number of frames, or a list of times."""
    if isinstance(value, list | tuple | np.ndarray):
        return [number(f"{where}[{i}]", entry, least=0.0) for i, entry in enumerate(a_list(where, value))]
    if isinstance(value, str):
        refuse(where, "a number of frames or a list of times, the same for every run", value)
    frames = whole_number(where, value, least=2, help="It counts the frames, those at 0 and t included.")
    if frames > MAX_FRAMES:
        raise InputError(f"{where} is {frames}, but at most {MAX_FRAMES} frames are kept. Save fewer.")
    return frames


METHODS = ("auto", "explicit", "causal", "euler", "heun", "rk4")
PARAMETERS: dict[str, Parameter] = {
    "beta": Parameter(
        "model", lambda where, value: number(where, value, least=0.0), REQUIRED, True, "inverse temperature"
    ),
    "Q": Parameter("model", matrix, 1.0, True, "query matrix"),
    "K": Parameter("model", matrix, 1.0, True, "key matrix"),
    "V": Parameter("model", value_matrix, 1.0, True, "value matrix"),
    "mask": Parameter(
        "model",
        lambda where, value: mask_text(parse_mask(where, value)),
        "causal",
        True,
        "whom a token sees",
    ),
    "window": Parameter("model", _count, None, True, "number of tokens a token sees, itself among them"),
    "kind": Parameter(
        "start",
        lambda where, value: one_of(where, value, ("uniform",)),
        "uniform",
        False,
        "how the tokens start",
    ),
    "n": Parameter("start", _count, REQUIRED, True, "number of tokens"),
    "d": Parameter(
        "start",
        lambda where, value: whole_number(where, value, least=2),
        REQUIRED,
        True,
        "dimension of the space around the sphere",
    ),
    "t": Parameter(
        "times", lambda where, value: number(where, value, above=0.0), REQUIRED, False, "the last time"
    ),
    "save": Parameter("times", _save, 64, False, "times of the frames"),
    "rtol": Parameter(
        "times", lambda where, value: number(where, value, least=0.0), 1e-8, True, "relative tolerance"
    ),
    "atol": Parameter(
        "times", lambda where, value: number(where, value, least=0.0), 1e-10, True, "absolute tolerance"
    ),
    "method": Parameter(
        "times", lambda where, value: one_of(where, value, METHODS), "auto", True, "how to integrate"
    ),
    "dt": Parameter("times", lambda where, value: number(where, value, above=0.0), None, True, "fixed step"),
    "max_steps": Parameter("times", _count, 1_000_000, True, "steps after which a run is given up"),
    "device": Parameter(
        "times", lambda where, value: one_of(where, value, ("cpu", "gpu")), "cpu", False, "what computes"
    ),
    "precision": Parameter(
        "times",
        lambda where, value: one_of(where, value, ("double", "mixed")),
        "double",
        False,
        "of pairs, on a card",
    ),
}
SECTIONS = ("model", "start", "times")
WITHOUT_GRID = ("layers_blocks",)  # keys of the family that have one value


def _family() -> dict[str, Parameter]:
    """The keys that make a model more than one softmax head; what is left out stays out."""

    def parameter(name: str, check: Callable[[str, Any], Any], about: str) -> Parameter:
        plain = lambda where, value: listed(check(where, value))  # noqa: E731  # as long as its use
        return Parameter("model", plain, None, name not in WITHOUT_GRID, about)

    keys = {name: HEAD_KEYS[name] for name in ("weights", "alibi", "rope")} | BLOCK_KEYS
    keys |= {f"layers_{name}": key for name, key in LAYERS_KEYS.items()}
    return {name: parameter(name, key.check, key.about) for name, key in keys.items()}


FAMILY = _family()
PARAMETERS |= FAMILY
OF_NORMS = {"tau": ("mix",), "radius": ("pre", "peri")}
NUMBERS = ("beta", "rtol", "atol", "dt", "alibi", "rope", "tau", "alpha", "radius", "noise", "layers_dt")


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """What to run and what to measure.  Make one from a TOML file with `Study.read`, or from the same as a
    dict with `Study.make`."""

    title: str
    runs: int  # per point of the grid
    seed: int  # the root of all random streams
    fixed: Mapping[str, Any]  # parameters with one value
    grid: Mapping[str, tuple[Any, ...]]  # parameters with several, in the order of the axes
    observables: tuple[Observable, ...]

    @staticmethod
    def read(path: str | os.PathLike[str], runs: int | None = None) -> "Study":
        """The study in a TOML file; `runs` replaces the number written there."""
        path = as_path("study", path)
        try:
            table = tomllib.loads(read_file(path, MAX_STUDY_BYTES).decode("utf-8"))
        except FileError as error:
            fact = str(error).removesuffix("Check the name.")
            raise file_error(f"{fact}Name a study, such as studies/figure3.toml.", error) from None
        except InputError:  # no ordinary file, or too large
            raise
        except UnicodeDecodeError:
            raise InputError(f"{path} is not a text in UTF-8. A study is a TOML file.") from None
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            # ValueError: an integer of too many digits
            raise InputError(
                f"{path} is not TOML: {shown(str(error))[1:-1] or 'nested too deeply'}."
            ) from None
        folder = path.resolve().parent  # functions may be kept in a module beside the study
        try:
            table = with_files(table, path.parent)
            with modules_beside(folder):
                return Study.make(table if runs is None else table | {"runs": runs}, folder)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @staticmethod
    def make(table: Mapping[str, Any], folder: Path | None = None) -> "Study":
        """The study written as nested tables, with the keys of the TOML file; functions are looked for in
        `folder` first."""
        known_keys(
            a_table("A study", table), ["title", "runs", "seed", *SECTIONS, "grid", "observables"], "a study"
        )
        grid = _grid(a_table("grid", table.get("grid", {})))
        fixed: dict[str, Any] = {}
        for section in SECTIONS:
            given = _flat_layers(section, a_table(section, table.get(section, {})))
            known_keys(given, _names(lambda one, section=section: one.section == section), f"[{section}]")  # type: ignore[misc]  # mypy cannot infer a lambda's default
            fixed |= _fixed(section, given, grid)
        if fixed.get("layers_discrete") and "save" not in a_table("times", table.get("times", {})):
            fixed["save"] = ends_of_layers(fixed.get("layers_dt") or 1.0, fixed["t"])
        if "runs" not in table:
            raise InputError(
                "runs is missing. Say how many runs every point of the grid has, such as runs = 100."
            )
        named = a_table("observables", table.get("observables", {}))
        if not named:
            raise InputError(
                "A study needs at least one observable, such as [observables.clusters] with kind ="
                ' "clusters".'
            )
        study = Study(
            a_text("title", table.get("title", "")),
            whole_number("runs", table["runs"], least=1),
            whole_number("seed", table.get("seed", 0), least=0),
            fixed,
            grid,
            tuple(observable(_own_name(name, grid), one, folder) for name, one in named.items()),
        )
        study._check()
        return study

    def with_device(self, device: str | None, precision: str | None) -> "Study":
        """The same on another device; None leaves what the study says."""
        given = {"device": device, "precision": precision}
        fixed = {name: PARAMETERS[name].check(name, one) for name, one in given.items() if one is not None}
        study = replace(self, fixed={**self.fixed, **fixed})
        study._check()
        return study

    def with_runs(self, runs: int) -> "Study":
        """The same with another number of runs."""
        study = replace(self, runs=whole_number("runs", runs, least=1))
        study._check_size()
        return study

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis of the grid."""
        return tuple(len(values) for values in self.grid.values())

    @property
    def points(self) -> int:
        """The number of points of the grid; 1 where there is none."""
        return math.prod(self.shape)

    @property
    def times(self) -> Array:
        """The times of the frames, (m,)."""
        return save_times(self.fixed["save"], self.fixed["t"], single=False)[0]

    @property
    def largest(self) -> tuple[int, int]:
        """The most tokens and the highest dimension of any point."""
        n, d = (max(self.grid[name]) if name in self.grid else self.fixed[name] for name in ("n", "d"))
        return int(n), int(d)

    @property
    def weights_per_run(self) -> int:
        """How many numbers the matrices of a run are, at most; 0 for one softmax head."""
        return max((point.weights_per_run for point in self._each_point() if point.family), default=0)

    def point(self, index: int) -> Point:
        """The parameters at one point, counted along the last axis first."""
        points = int(np.prod(self.shape)) if self.grid else 1
        index = whole_number("index", index, least=0, help="It counts the points of the grid.")
        if index >= points:
            raise InputError(f"index must be below {points}, the number of points, but is {index}.")
        where = np.unravel_index(index, self.shape) if self.grid else ()
        values = {name: axis[int(at)] for (name, axis), at in zip(self.grid.items(), where, strict=True)}
        return self._point({**self.fixed, **values})

    def plain(self) -> dict[str, Any]:
        """The study as nested tables of plain values, defaults written out; `Study.make` takes it back."""
        table: dict[str, Any] = {"title": self.title, "runs": self.runs, "seed": self.seed}
        for section in SECTIONS:
            given = {
                name: value
                for name, value in self.fixed.items()
                if PARAMETERS[name].section == section and value is not None
            }
            table[section] = _nested_layers(given)
        table["grid"] = {name: list(values) for name, values in self.grid.items()}
        table["observables"] = {one.name: one.plain() for one in self.observables}
        return table

    def coordinate(self, name: str) -> tuple[Any, list[str] | None]:
        """The numbers along an axis of the grid, (values,), and labels where the values are no numbers."""
        values = self.grid[one_of("name", name, self.grid)]
        if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            return np.array(values, dtype=np.int64), None
        if name in NUMBERS and all(isinstance(value, int | float) for value in values):
            return np.array(values, dtype=np.float64), None
        return np.arange(len(values)), [_label(name, value) for value in values]

    def __repr__(self) -> str:
        axes = " x ".join(f"{len(values)} {name}" for name, values in self.grid.items())
        return (
            f"Study({self.title or 'untitled'}: {self.runs} runs{f' at each of {axes}' if axes else ''};"
            f" {', '.join(one.name for one in self.observables)})"
        )

    def _check(self) -> None:
        self._check_size()
        times, device, precision = self.times, self.fixed["device"], self.fixed["precision"]
        on_gpu = check_device(device, precision)
        sizes: dict[str, tuple[int, str]] = {}  # of the axes that own functions name
        for point in self._each_point():
            check_memory(
                8.0 * (len(times) + 20) * point.n * point.d
                + 24.0 * point.weights_per_run * bool(point.family),
                f"one run of {point.n} tokens in dimension {point.d} with {len(times)} frames",
            )
            point.check(self.fixed["t"])
            tolerance = check_tolerance(point.rtol, point.atol)
            if on_gpu:
                _check_plain(point)
                check_on_gpu(point.method, False, tolerance, precision)
            if point.noise is None:
                pick_method(point.method, point.dt, self.fixed["t"])
            for one in self.observables:
                for axis, size in one.check(point, times).items():
                    other, whose = sizes.setdefault(axis, (size, one.name))
                    if size != other:
                        raise InputError(
                            f"The axis {axis} has length {other} for {whose} and {size} for {one.name}. Give"
                            " it one length, or another name."
                        )

    def _check_size(self) -> None:
        if self.points > MAX_POINTS:
            raise InputError(
                f"The grid has {self.points} points, but at most {MAX_POINTS} are taken. Cut it into several"
                " studies."
            )
        if self.points * self.runs > MAX_RUNS:
            raise InputError(
                f"The study has {self.points} x {self.runs} runs, but at most {MAX_RUNS} are taken. Lower"
                " runs."
            )

    def _each_point(self) -> Iterator[Point]:
        for values in product(*self.grid.values()):
            yield self._point({**self.fixed, **dict(zip(self.grid, values, strict=True))})

    def _point(self, values: Mapping[str, Any]) -> Point:
        """The point with these values of all parameters; in a grid of norms tau and radius are for those
        that have them."""
        given = {name: values[name] for name in FAMILY if values[name] is not None}
        for name, norms in OF_NORMS.items():
            if set(norms) & set(self.grid.get("norm", ())) and values["norm"] not in norms:
                given.pop(name, None)
        plain = {name: values[name] for name in Point.__dataclass_fields__ if name != "family"}
        return Point(**plain, family=_nested_layers(given))


def _flat_layers(section: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of [model.layers] as layers_count, layers_dt, ...: the names of their axes in a grid."""
    flat = {name: value for name, value in table.items() if name != "layers"}
    if "layers" not in table:
        return flat
    layers = a_table(f"{section}.layers", table["layers"])
    known_keys(layers, LAYERS_KEYS, f"[{section}.layers]")
    place = list(table).index("layers")  # the order of a grid is that of its axes
    inner = {f"layers_{name}": value for name, value in layers.items()}
    items = list(flat.items())
    return dict([*items[:place], *inner.items(), *items[place:]])


def _nested_layers(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `_flat_layers`."""
    layers = {name.removeprefix("layers_"): one for name, one in flat.items() if name.startswith("layers_")}
    rest = {name: one for name, one in flat.items() if not name.startswith("layers_")}
    return {**rest, "layers": layers} if layers else rest


def _check_plain(point: Point) -> None:
    if not point.plain:
        raise InputError(
            'device "gpu" moves one softmax head without positions, but the model has'
            f" {', '.join(point.family)}. Leave device out."
        )


def _label(name: str, value: Any) -> str:
    """A value of an axis in a few words."""
    if isinstance(value, bool):
        return str(value).lower()
    if name in FAMILY:
        named = value.get("name") if isinstance(value, dict) else None
        return str(named or (shown(value) if isinstance(value, dict | list) else value))
    return str(value) if isinstance(value, str) else label(value)


def _names(which: Callable[[Parameter], bool]) -> list[str]:
    return [name for name, one in PARAMETERS.items() if which(one)]


def _grid(table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    table = _flat_layers("grid", table)
    known_keys(table, _names(lambda one: one.grid), "[grid]")
    grid: dict[str, tuple[Any, ...]] = {}
    for name, values in table.items():
        plain = [
            _in_grid(name, f"grid.{name}[{i}]", value)
            for i, value in enumerate(a_list(f"grid.{name}", values))
        ]
        if any(plain[i] in plain[:i] for i in range(len(plain))):
            raise InputError(f"grid.{name} holds a value twice. Each point is run once.")
        grid[name] = tuple(plain)
    return grid


def _in_grid(name: str, where: str, value: Any) -> Any:
    return heads_count(where, value) if name == "heads" else PARAMETERS[name].check(where, value)


def _fixed(section: str, given: Mapping[str, Any], grid: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a section that have one value."""
    values: dict[str, Any] = {}
    for name, parameter in PARAMETERS.items():
        if parameter.section != section:
            continue
        if name in grid:
            if name in given:
                raise InputError(f"{name} stands in [{section}] and in [grid]. Leave out one of the two.")
        elif name in given:
            written = name.replace("layers_", "layers.", 1) if name in FAMILY else name
            values[name] = parameter.check(f"{section}.{written}", given[name])
        elif parameter.default is REQUIRED:
            raise InputError(
                f"{section}.{name} is missing: {parameter.about}. Give it in [{section}], or several values"
                " in [grid]."
            )
        else:
            values[name] = parameter.default
    return values


def _own_name(name: str, grid: Mapping[str, Any]) -> str:
    a_name("The name of an observable", name)
    # keys of the family came later than studies that may have an observable of such a name
    if name in RESERVED_NAMES or name in grid or (name in PARAMETERS and name not in FAMILY):
        raise InputError(
            f"An observable cannot be named {name}, which stands for something else in the store. Choose"
            " another name."
        )
    return name


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two plain studies, key by key; the number of runs may."""
    flat_old, flat_new = (
        dict(_flat("", table)) | {"the order of grid": json.dumps(list(table.get("grid", {})))}
        for table in (old, new)
    )
    keys = [
        key for key in {**flat_old, **flat_new} if key != "runs" and flat_old.get(key) != flat_new.get(key)
    ]
    return [
        f"{key} was {flat_old.get(key, 'not there')}, now {flat_new.get(key, 'not there')}" for key in keys
    ]


def _flat(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", json.dumps(value)
