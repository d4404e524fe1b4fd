"""What is measured of every run, right after its block is integrated.

A kind of observable is a function from a block of runs to numbers, (b, ...), with named axes.  To add one,
write the function and a line in KINDS.  A user's own function is that of `nucleate.measure`, value =
function(t, x) at every frame, with t a number and x (n, d); with each = "run" it is shown all frames of a run
at once, t (m,) and x (m, n, d).
"""

import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.observe.measure import as_numbers
from nucleate.studies.points import Point
from nucleate.studies.validate import (
    a_list,
    a_name,
    a_table,
    a_text,
    known_keys,
    length,
    one_of,
    refuse,
    shown,
)

__all__ = ["Block", "Observable", "observable"]

REQUIRED = object()
# names that no axis of one's own may have
TAKEN = {"run", "status", "steps", "checksums", "quantile", "edge", *Point.__dataclass_fields__}


class Block(NamedTuple):
    """Runs of one point, integrated."""

    t: Array  # (m,)
    x: Array  # (b, m, n, d), NaN where not reached
    start: Array  # (b, n, d)
    model: Attention  # parameters with or without the run axis
    beta: float
    known: dict[Any, NDArray[np.bool_]]  # centers, by what was asked for


class Kind(NamedTuple):
    """A kind of observable: its parameters with check and default, its axes, and how to measure it."""

    parameters: Mapping[str, tuple[Callable[[str, Any], Any], Any]]
    dims: Callable[[Mapping[str, Any]], tuple[str, ...]]  # after those of grid and run
    measure: Callable[[Block, Mapping[str, Any]], Array]  # (b, ...)
    about: str


@dataclass(frozen=True)
class Observable:
    """One observable of a study: its name in the store, its kind and parameters; for one's own function also
    that."""

    name: str
    kind: str
    parameters: Mapping[str, Any]  # plain
    function: Callable[..., Any] | None = None

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of its axes after those of the grid and the run."""
        return KINDS[self.kind].dims(self.parameters)

    @property
    def about(self) -> str:
        """What it is, in words."""
        return KINDS[self.kind].about.format(**{**self.parameters, "function": _name_of(self.function)})

    def measure(self, block: Block) -> Array:
        """The numbers, (b, ...); NaN where a run did not get so far."""
        if self.function is None:
            return KINDS[self.kind].measure(block, self.parameters)
        values = [self._own(self.function, block.t, x) for x in block.x]
        shape = self._standing(self.function, block.t, block.start[0])  # of which the store was told
        for value in values:
            if value is not None and value.shape != shape:
                raise InputError(
                    f"observables.{self.name}: {_name_of(self.function)} must give arrays of one shape, but"
                    f" gave {value.shape} for a run and {shape} for tokens that stand still."
                )
        return np.stack([np.full(shape, np.nan) if value is None else value for value in values])

    def shape(self, point: Point, times: Array) -> tuple[int, ...]:
        """The lengths of its axes at one point."""
        sizes = {"time": len(times), "token": point.n, "coordinate": point.d}
        if self.function is not None:
            return self._standing(self.function, times, point.starts(0, range(1))[0])
        return tuple(sizes[name] for name in self.dims)

    def check(self, point: Point, times: Array) -> dict[str, int]:
        """Refuse an own function whose result has not the axes it is said to have; the lengths of those it
        names itself."""
        if self.function is None:
            return {}
        found = self.shape(point, times)
        sizes = {"time": len(times), "token": point.n, "coordinate": point.d}
        if len(found) != len(self.dims) or any(
            sizes.get(name, size) != size for name, size in zip(self.dims, found, strict=True)
        ):
            own = found if self.parameters["each"] == "run" else found[1:]
            raise InputError(
                f"observables.{self.name}.dims is {self.parameters['dims']}, but {_name_of(self.function)}"
                f" gives an array of shape {own}. Name one axis for each, and time, token or coordinate only"
                f" where the length is {len(times)}, {point.n} or {point.d}."
            )
        return {name: size for name, size in zip(self.dims, found, strict=True) if name not in sizes}

    def plain(self) -> dict[str, Any]:
        """As it stands in the study."""
        own = (
            {}
            if self.function is None
            else {"function": _name_of(self.function), "source": _source_of(self.function)}
        )
        return {"kind": self.kind, **own, **self.parameters}

    def _own(self, function: Callable[..., Any], t: Array, x: Array) -> Array | None:
        """The value for one run, x (m, n, d), NaN at frames that were not reached; None if it has no value at
        all."""
        there = np.isfinite(x).all((-1, -2))  # (m,)
        if self.parameters["each"] == "run":
            return self._called(function, t.copy(), x) if there.all() else None
        values = [
            self._called(function, float(time), frame) for time, frame in zip(t[there], x[there], strict=True)
        ]
        if len(shapes := {value.shape for value in values}) > 1:
            several = ", ".join(sorted(map(str, shapes)))
            raise InputError(
                f"observables.{self.name}: {_name_of(function)} must give arrays of one shape, but gave"
                f" {several}."
            )
        if not values:
            return None
        whole = np.full((len(t), *values[0].shape), np.nan)  # (m, ...)
        whole[there] = values
        return whole

    def _called(self, function: Callable[..., Any], t: float | Array, x: Array) -> Array:
        try:
            value = function(t, x.copy())
        except (Exception, SystemExit) as error:  # a user's code can raise anything
            raise InputError(
                f"observables.{self.name}: {_name_of(function)} failed with {type(error).__name__}:"
                f" {shown(str(error))}."
            ) from error
        try:
            numbers = as_numbers(value)
        except (InputError, ValueError) as error:  # rows of different lengths
            raise InputError(f"observables.{self.name}, {_name_of(function)}: {error}") from None
        if numbers.dtype.kind == "c":
            raise InputError(
                f"observables.{self.name}: {_name_of(function)} gives complex numbers. Give real and"
                " imaginary parts, or |z|."
            )
        return numbers.astype(np.float64)

    def _standing(self, function: Callable[..., Any], t: Array, x: Array) -> tuple[int, ...]:
        """The shape of the value for tokens x (n, d) that stand still: known before anything has been
        integrated."""
        if self.parameters["each"] == "run":
            return self._called(function, t.copy(), np.broadcast_to(x, (len(t), *x.shape))).shape
        return (len(t), *self._called(function, float(t[0]), x).shape)


def observable(name: str, table: Any) -> Observable:
    """The observable `name` of a study, checked."""
    where = f"observables.{name}"
    table = a_table(where, table)
    if "kind" not in table:
        raise InputError(f"{where}.kind is missing. There is {', '.join(KINDS)}.")
    kind = one_of(f"{where}.kind", table["kind"], KINDS)
    parameters = KINDS[kind].parameters
    extra = ["function", "source"] if kind == "function" else []
    known_keys(table, ["kind", *extra, *parameters], f"[{where}]")
    plain = {}
    for key, (check, default) in parameters.items():
        if key not in table and default is REQUIRED:
            raise InputError(f"{where}.{key} is missing: {HELP[key]}")
        plain[key] = check(f"{where}.{key}", table.get(key, default))
    if plain.get("each") == "frame" and "time" in plain["dims"]:
        raise InputError(
            f"{where}.dims names time, but a function of one frame has that axis anyway. Leave it out, or say"
            ' each = "run" if it takes all frames at once.'
        )
    return Observable(
        name, kind, plain, _function(where, table.get("function")) if kind == "function" else None
    )


def _function(where: str, given: Any) -> Callable[..., Any]:
    """The function itself, or the one named "module:function"."""
    if callable(given):
        return given
    if (
        not isinstance(given, str)
        or given.count(":") != 1
        or not all(part.isidentifier() for part in given.replace(":", ".").split("."))
    ):
        refuse(f"{where}.function", 'a function or its name, "module:function"', given)
    module, name = given.split(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # importing runs a user's code
        raise InputError(
            f"{where}.function {given} cannot be imported: {type(error).__name__}: {shown(str(error))}."
        ) from None
    if not callable(found):
        raise InputError(f"{where}.function {given} is not a function.")
    return found


def _name_of(function: Callable[..., Any] | None) -> str:
    return (
        f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
    )


def _source_of(function: Callable[..., Any]) -> str:
    """A checksum of the code, so that an edited function is a changed study."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        return "unknown"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# How to measure


def _radians(value: float | str, beta: float) -> float:
    """A length at inverse temperature beta; on a sphere nothing is farther than pi."""
    if isinstance(value, str):
        value = float(value.removesuffix("/sqrt(beta)")) / max(float(np.sqrt(beta)), 1e-300)
    return min(value, float(np.pi))


def _frames(block: Block, given: Mapping[str, Any]) -> Array:
    """The frames to look at, (b, m, n, d): all, or the last."""
    return block.x if given["at"] == "times" else block.x[:, -1:]


def _over_time(values: Array, given: Mapping[str, Any]) -> Array:
    return values if given["at"] == "times" else values[:, 0]


def _time_dims(given: Mapping[str, Any]) -> tuple[str, ...]:
    return ("time",) if given["at"] == "times" else ()


def _parked(block: Block, given: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Which tokens of the start are centers, (b, n); worked out once for all observables that ask for the
    same."""
    from nucleate.observe.centers import center_mask

    delta, strong = _radians(given["delta"], block.beta), given["centers"] == "strong"
    if (delta, strong) not in block.known:
        block.known[delta, strong] = center_mask(block.start, delta, strong)
    return block.known[delta, strong]


def _consumed(block: Block, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.consumption import consumed

    centers = [np.flatnonzero(marks) for marks in _parked(block, given)]
    return _over_time(consumed(_frames(block, given), centers, _radians(given["radius"], block.beta)), given)


def _centers(block: Block, given: Mapping[str, Any]) -> Array:
    return _parked(block, given).sum(-1).astype(np.float64)


def _clusters(block: Block, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.clusters import count_clusters

    x, radius = _frames(block, given), _radians(given["radius"], block.beta)
    there = np.isfinite(x).all((-1, -2))  # (b, m)
    count = np.full(there.shape, np.nan)
    if there.any():
        count[there] = count_clusters(x if there.all() else x[there], radius).reshape(-1)
    return _over_time(count, given)


def _from_first(block: Block, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.inputs import angle

    return _over_time(angle(_frames(block, given), block.start[:, None, None, 0]).max(-1), given)


def _from_top(block: Block, given: Mapping[str, Any]) -> Array:
    """The largest angle of any token with L, which the atlas of V tells."""
    from nucleate.theory.atlas import atlas

    x = _frames(block, given)  # (b, m, n, d)
    V = block.model.parameters(x.shape[-1])[3]  # (d, d) or (b, d, d)
    # b times (d, dim L)
    bases = [atlas(one).basis for one in V] if V.ndim == 3 else [atlas(V).basis] * len(x)
    # b times (m,)
    off = [
        np.linalg.norm(frames - (frames @ B) @ B.T, axis=-1).max(-1)
        for frames, B in zip(x, bases, strict=True)
    ]
    return _over_time(np.arcsin(np.clip(np.stack(off), 0.0, 1.0)), given)


def _points(block: Block, given: Mapping[str, Any]) -> Array:
    return block.x[:, -1]


def _trajectory(block: Block, given: Mapping[str, Any]) -> Array:
    return block.x


def _never(block: Block, given: Mapping[str, Any]) -> Array:
    raise AssertionError("one's own function is called run by run")


def _which(where: str, value: Any) -> str:
    return one_of(where, value, ("renyi", "strong"))


def _at(where: str, value: Any) -> str:
    return one_of(where, value, ("times", "end"))


def _each(where: str, value: Any) -> str:
    return one_of(where, value, ("frame", "run"))


def _own_dims(given: Mapping[str, Any]) -> tuple[str, ...]:
    return (*(("time",) if given["each"] == "frame" else ()), *given["dims"])


def _dims(where: str, value: Any) -> list[str]:
    if isinstance(value, list) and not value:
        return []
    names = [a_name(f"{where}[{i}]", one) for i, one in enumerate(a_list(where, value))]
    if len(set(names)) < len(names) or set(names) & TAKEN:
        raise InputError(
            f"{where} must name different axes, and none that has another meaning, but is {names}. Choose"
            " other names."
        )
    return names


HELP = {
    "radius": (
        "the distance that counts as near, in radians or in units of the cluster width, such as"
        ' "1/sqrt(beta)".'
    ),
    "function": 'the name of a function of (t, x), such as "mymodule:myfunction".',
}
DELTA, RADIUS, AT = (length, "4/sqrt(beta)"), (length, REQUIRED), (_at, "times")
KINDS: dict[str, Kind] = {
    "consumed": Kind(
        {"centers": (_which, "renyi"), "delta": DELTA, "radius": RADIUS, "at": AT},
        _time_dims,
        _consumed,
        "share of tokens within {radius} of a {centers} center; centers are those of the start with delta ="
        " {delta}",
    ),
    "centers": Kind(
        {"centers": (_which, "renyi"), "delta": DELTA},
        lambda _: (),
        _centers,
        "number of {centers} centers of the start, delta = {delta}",
    ),
    "clusters": Kind(
        {"radius": RADIUS, "at": AT},
        _time_dims,
        _clusters,
        "number of clusters: tokens joined by steps of at most {radius}",
    ),
    "from_first": Kind(
        {"at": AT}, _time_dims, _from_first, "largest geodesic distance of a token from x_1(0)"
    ),
    "from_top": Kind(
        {"at": AT}, _time_dims, _from_top, "largest angle of a token with L, the top eigenspace of V"
    ),
    "points": Kind(
        {},
        lambda _: ("token", "coordinate"),
        _points,
        "tokens at the last time; NaN beyond the n and d of a point",
    ),
    "trajectory": Kind(
        {},
        lambda _: ("time", "token", "coordinate"),
        _trajectory,
        "tokens at all times; NaN beyond the n and d of a point",
    ),
    "function": Kind(
        {"each": (_each, "frame"), "dims": (_dims, []), "about": (a_text, "")},
        _own_dims,
        _never,
        "{about} ({function})",
    ),
}
