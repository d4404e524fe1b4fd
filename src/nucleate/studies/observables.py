"""What is measured of every run, right after its block is integrated.

A kind of observable is a function from a block of runs to numbers, (b, ...), with named axes.  To add one,
write the function and a line in KINDS.  A user's own function is that of `nucleate.measure`, value =
function(t, x) at every frame, with t a number and x (n, d); with each = "run" it is shown all frames of a run
at once, t (m,) and x (m, n, d).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.layers import Model
from nucleate.observe.measure import as_numbers
from nucleate.parse.validate import (
    a_list,
    a_name,
    a_table,
    a_text,
    known_keys,
    length,
    number,
    one_of,
    shown,
)
from nucleate.studies.own_functions import checksum_of, find_function
from nucleate.studies.points import Point

if TYPE_CHECKING:
    from nucleate.gpu.card_frames import CardFrames

__all__ = ["REQUIRED", "IntegratedBlock", "Observable", "in_radians", "observable"]

REQUIRED = object()  # the default of a parameter that has none
# names that the axes of one's own functions may not have
RESERVED_AXES = {"run", "status", "steps", "checksums", "quantile", "edge", *Point.__dataclass_fields__}
RESERVED_AXES -= {"family"}


@dataclass
class IntegratedBlock:
    """The runs of a block, integrated; their frames are on the host or on a card."""

    t: Array  # (m,)
    start: Array  # (b, n, d)
    model: Model  # parameters with or without the run axis
    beta: float
    on_host: Array | None  # (b, m, n, d), NaN where not reached
    on_card: "CardFrames | None" = None
    norms: Array | None = None  # (b, m, n) lengths of the tokens, where the norm has them
    # what centers the tokens of the start are, (b, n), by delta, once found
    centers: dict[float, NDArray[np.uint8]] = field(default_factory=dict)

    @property
    def x(self) -> Array:
        """The frames on the host, where they are brought if need be."""
        if self.on_host is None:
            assert self.on_card is not None
            self.on_host = self.on_card.to_host()
        return self.on_host


class Kind(NamedTuple):
    """A kind of observable: its parameters with check and default, its axes, and how to measure it."""

    parameters: Mapping[str, tuple[Callable[[str, Any], Any], Any]]
    dims: Callable[[Mapping[str, Any]], tuple[str, ...]]  # after those of grid and run
    measure: Callable[[IntegratedBlock, Mapping[str, Any]], Array]  # (b, ...)
    about: str


@dataclass(frozen=True)
class Observable:
    """One observable of a study: its name in the store, its kind and parameters; for one's own function also
    that and its name, "module:function"."""

    name: str
    kind: str
    parameters: Mapping[str, Any]  # plain
    function: Callable[..., Any] | None = None
    function_name: str = ""

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of its axes after those of the grid and the run."""
        return KINDS[self.kind].dims(self.parameters)

    @property
    def on_card(self) -> bool:
        """Whether a card measures it where the frames lie."""
        return self.kind in ON_CARD

    @property
    def about(self) -> str:
        """What it is, in words."""
        return KINDS[self.kind].about.format(**{**self.parameters, "function": self.function_name})

    def measure(self, block: IntegratedBlock) -> Array:
        """The numbers, (b, ...); NaN where a run did not get so far."""
        if self.function is None:
            return KINDS[self.kind].measure(block, self.parameters)
        values = [self._of_run(self.function, block.t, x) for x in block.x]
        # the shape that the store is laid out for
        shape = self._shape_for_still_tokens(self.function, block.t, block.start[0])
        for value in values:
            if value is not None and value.shape != shape:
                raise InputError(
                    f"observables.{self.name}: {self.function_name} must give arrays of one shape, but"
                    f" gave {value.shape} for a run and {shape} for tokens that stand still."
                )
        return np.stack([np.full(shape, np.nan) if value is None else value for value in values])

    def shape(self, point: Point, times: Array) -> tuple[int, ...]:
        """The lengths of its axes at one point."""
        sizes = {"time": len(times), "token": point.n, "coordinate": point.d}
        if self.function is not None:
            return self._shape_for_still_tokens(self.function, times, point.starts(0, range(1))[0])
        return tuple(sizes[name] for name in self.dims)

    def check(self, point: Point, times: Array) -> dict[str, int]:
        """Refuse an own function whose result has not the axes it is said to have; the lengths of those it
        names itself."""
        if self.kind == "from_top" and not point.plain:
            raise InputError(
                f"observables.{self.name}: from_top looks at V of one softmax head, but the model has"
                f" {', '.join(point.family)}. Leave it out, or use a function of your own."
            )
        if self.kind == "lengths" and point.family.get("norm") not in ("pre", "peri", "mix"):
            raise InputError(
                f"observables.{self.name}: tokens have lengths under the norms pre, peri and mix, but norm is"
                f' "{point.family.get("norm", "post")}". Leave it out, or choose such a norm.'
            )
        if self.function is None:
            return {}
        found = self.shape(point, times)
        sizes = {"time": len(times), "token": point.n, "coordinate": point.d}
        if len(found) != len(self.dims) or any(
            sizes.get(name, size) != size for name, size in zip(self.dims, found, strict=True)
        ):
            own = found if self.parameters["each"] == "run" else found[1:]
            raise InputError(
                f"observables.{self.name}.dims is {self.parameters['dims']}, but {self.function_name}"
                f" gives an array of shape {own}. Name one axis for each, and time, token or coordinate only"
                f" where the length is {len(times)}, {point.n} or {point.d}."
            )
        return {name: size for name, size in zip(self.dims, found, strict=True) if name not in sizes}

    def plain(self) -> dict[str, Any]:
        """As it stands in the study."""
        own = {"function": self.function_name, "source": checksum_of(self.function)} if self.function else {}
        return {"kind": self.kind, **own, **self.parameters}

    def _of_run(self, function: Callable[..., Any], t: Array, x: Array) -> Array | None:
        """The value for one run, x (m, n, d), NaN at frames that were not reached; None if it has no value at
        all."""
        there = np.isfinite(x).all((-1, -2))  # (m,)
        if self.parameters["each"] == "run":
            return self._call(function, t.copy(), x) if there.all() else None
        values = [
            self._call(function, float(time), frame) for time, frame in zip(t[there], x[there], strict=True)
        ]
        if len(shapes := {value.shape for value in values}) > 1:
            several = ", ".join(sorted(map(str, shapes)))
            raise InputError(
                f"observables.{self.name}: {self.function_name} must give arrays of one shape, but gave"
                f" {several}."
            )
        if not values:
            return None
        whole = np.full((len(t), *values[0].shape), np.nan)  # (m, ...)
        whole[there] = values
        return whole

    def _call(self, function: Callable[..., Any], t: float | Array, x: Array) -> Array:
        try:
            value = function(t, x.copy())
        except (Exception, SystemExit) as error:  # a user's code can raise anything
            raise InputError(
                f"observables.{self.name}: {self.function_name} failed with {type(error).__name__}:"
                f" {shown(str(error))}."
            ) from error
        try:
            numbers = as_numbers(value)
        except (InputError, ValueError) as error:  # rows of different lengths
            raise InputError(f"observables.{self.name}, {self.function_name}: {error}") from None
        if numbers.dtype.kind == "c":
            raise InputError(
                f"observables.{self.name}: {self.function_name} gives complex numbers. Give real and"
                " imaginary parts, or |z|."
            )
        return numbers.astype(np.float64)

    def _shape_for_still_tokens(self, function: Callable[..., Any], t: Array, x: Array) -> tuple[int, ...]:
        """The shape of the value for tokens x (n, d) that stand still: known before anything has been
        integrated."""
        if self.parameters["each"] == "run":
            return self._call(function, t.copy(), np.broadcast_to(x, (len(t), *x.shape))).shape
        return (len(t), *self._call(function, float(t[0]), x).shape)


def observable(name: str, table: Any, folder: Path | None = None) -> Observable:
    """The observable `name` of a study, checked; its own functions are looked for in `folder` first."""
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
            raise InputError(f"{where}.{key} is missing: {PARAMETER_HELP[key]}")
        plain[key] = check(f"{where}.{key}", table.get(key, default))
    if plain.get("each") == "frame" and "time" in plain["dims"]:
        raise InputError(
            f"{where}.dims names time, but a function of one frame has that axis anyway. Leave it out, or say"
            ' each = "run" if it takes all frames at once.'
        )
    if kind != "function":
        return Observable(name, kind, plain)
    return Observable(name, kind, plain, *find_function(where, table.get("function"), folder))


# How to measure


def in_radians(value: float | str, beta: float) -> float:
    """A length at inverse temperature beta; on a sphere nothing is farther than pi."""
    if isinstance(value, str):
        value = float(value.removesuffix("/sqrt(beta)")) / max(float(np.sqrt(beta)), 1e-300)
    return min(value, float(np.pi))


def _last(given: Mapping[str, Any]) -> bool:
    """Whether the last frame alone is looked at."""
    return bool(given["at"] == "end")


def _frames(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    """The frames to look at, (b, m, n, d): all, or the last."""
    return block.x if given["at"] == "times" else block.x[:, -1:]


def _over_time(values: Array, given: Mapping[str, Any]) -> Array:
    return values if given["at"] == "times" else values[:, 0]


def _time_dims(given: Mapping[str, Any]) -> tuple[str, ...]:
    return ("time",) if given["at"] == "times" else ()


def _center_marks(block: IntegratedBlock, given: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Which tokens of the start are centers, (b, n); worked out once for all observables that ask for the
    same."""
    from nucleate.observe.centers import center_kinds, check_delta
    from nucleate.observe.grid import RENYI, STRONG

    delta = check_delta(in_radians(given["delta"], block.beta))
    if delta not in block.centers:
        block.centers[delta] = center_kinds(block.start, delta)
    return block.centers[delta] >= (STRONG if given["centers"] == "strong" else RENYI)


def _consumed(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.consumption import consumed
    from nucleate.observe.inputs import center_table

    centers = center_table(_center_marks(block, given))  # (b, c)
    radius = in_radians(given["radius"], block.beta)
    if block.on_card is not None:
        return _over_time(block.on_card.consumed(centers, radius, _last(given)), given)
    return _over_time(consumed(_frames(block, given), centers, radius), given)


def _centers(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    return _center_marks(block, given).sum(-1).astype(np.float64)


def _clusters(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.clusters import count_clusters

    if block.on_card is not None:
        radius = in_radians(given["radius"], block.beta)
        return _over_time(block.on_card.clusters(radius, _last(given)), given)
    x, radius = _frames(block, given), in_radians(given["radius"], block.beta)
    there = np.isfinite(x).all((-1, -2))  # (b, m)
    count = np.full(there.shape, np.nan)
    if there.any():
        count[there] = count_clusters(x if there.all() else x[there], radius).reshape(-1)
    return _over_time(count, given)


def _from_first(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.inputs import angle

    if block.on_card is not None:
        return _over_time(block.on_card.from_first(_last(given)), given)
    return _over_time(angle(_frames(block, given), block.start[:, None, None, 0]).max(-1), given)


def _from_top(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    """The largest angle of any token with L, which the atlas of V tells."""
    from nucleate.theory.atlas import atlas

    x = _frames(block, given)  # (b, m, n, d)
    assert isinstance(block.model, Attention)  # Observable.check refuses others
    V = block.model.parameters(x.shape[-1])[3]  # (d, d) or (b, d, d)
    # b times (d, dim L)
    bases = [atlas(one).basis for one in V] if V.ndim == 3 else [atlas(V).basis] * len(x)
    # b times (m,)
    off = [
        np.linalg.norm(frames - (frames @ B) @ B.T, axis=-1).max(-1)
        for frames, B in zip(x, bases, strict=True)
    ]
    return _over_time(np.arcsin(np.clip(np.stack(off), 0.0, 1.0)), given)


def _close_pairs(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    from nucleate.observe.close_pairs import close_pairs

    return _over_time(close_pairs(_frames(block, given), given["threshold"], given["pairs"]), given)


def _lengths(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    assert block.norms is not None  # Observable.check refuses models without
    return block.norms


def _points(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    return block.x[:, -1] if block.on_card is None else block.on_card.points()


def _trajectory(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    return block.x


def _by_run(block: IntegratedBlock, given: Mapping[str, Any]) -> Array:
    raise AssertionError("one's own function is called run by run")


def _check_centers(where: str, value: Any) -> str:
    return one_of(where, value, ("renyi", "strong"))


def _check_at(where: str, value: Any) -> str:
    return one_of(where, value, ("times", "end"))


def _check_threshold(where: str, value: Any) -> float:
    value = number(where, value, least=-1.0, help="It is an inner product; 0.999 is usual.")
    if value > 1.0:
        raise InputError(
            f"{where} must be at most 1, but is {value:g}. It is an inner product of unit vectors."
        )
    return value


def _check_pairs(where: str, value: Any) -> str:
    return one_of(where, value, ("all", "adjacent"))


def _check_each(where: str, value: Any) -> str:
    return one_of(where, value, ("frame", "run"))


def _function_dims(given: Mapping[str, Any]) -> tuple[str, ...]:
    return (*(("time",) if given["each"] == "frame" else ()), *given["dims"])


def _check_dims(where: str, value: Any) -> list[str]:
    if isinstance(value, list) and not value:
        return []
    names = [a_name(f"{where}[{i}]", one) for i, one in enumerate(a_list(where, value))]
    if len(set(names)) < len(names) or set(names) & RESERVED_AXES:
        raise InputError(
            f"{where} must name different axes, and none that has another meaning, but is {names}. Choose"
            " other names."
        )
    return names


PARAMETER_HELP = {
    "radius": (
        "the distance that counts as near, in radians or in units of the cluster width, such as"
        ' "1/sqrt(beta)".'
    ),
    "function": 'the name of a function of (t, x), such as "mymodule:myfunction".',
}
DELTA, RADIUS, AT = (length, "4/sqrt(beta)"), (length, REQUIRED), (_check_at, "times")
KINDS: dict[str, Kind] = {
    "consumed": Kind(
        {"centers": (_check_centers, "renyi"), "delta": DELTA, "radius": RADIUS, "at": AT},
        _time_dims,
        _consumed,
        "share of tokens within {radius} of a {centers} center; centers are those of the start with delta ="
        " {delta}",
    ),
    "centers": Kind(
        {"centers": (_check_centers, "renyi"), "delta": DELTA},
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
        {"at": AT}, _time_dims, _from_top, "largest angle of a token with L, the dominant eigenspace of V"
    ),
    "close_pairs": Kind(
        {"threshold": (_check_threshold, 0.999), "pairs": (_check_pairs, "all"), "at": AT},
        _time_dims,
        _close_pairs,
        "share of {pairs} pairs of tokens with an inner product of at least {threshold}",
    ),
    "lengths": Kind(
        {}, lambda _: ("time", "token"), _lengths, "lengths of the tokens; NaN beyond the n of a point"
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
        {"each": (_check_each, "frame"), "dims": (_check_dims, []), "about": (a_text, "")},
        _function_dims,
        _by_run,
        "{about} ({function})",
    ),
}
ON_CARD = ("consumed", "clusters", "from_first", "points")  # kinds that a card measures itself
