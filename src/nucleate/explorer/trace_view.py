"""A text over the layers of a real model as the page shows it: each token in three directions of many, with
what they lose; its nearest earlier tokens; centers by word; curves over depth.

All is measured here, in every dimension of the model, so that no state has to travel to the page.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.explorer.limits import MAX_LAYERS, MAX_TRACE_TOKENS
from nucleate.integrate.hidden_states import check_strings
from nucleate.integrate.run import Run
from nucleate.models.depth_table import depth_columns
from nucleate.observe.capture import cover, design_capture, word_numbers
from nucleate.plot.token_sphere import SHOWN_DIRECTIONS, project_each_layer, project_layers

__all__ = [
    "FRAMES",
    "MAX_TRACE_TOKENS",
    "TraceReading",
    "base64_text",
    "check_layers",
    "one_text",
    "parse_reading",
    "read_trace",
]

NEAREST = 3  # earlier tokens that are named
DRAWS = 99  # of the permutation null
NULL_INTERVAL = 0.025, 0.975
FRAMES = ("all", "own")  # three directions of all layers together, or of each layer
# what is drawn over depth: the name on the page and that of the table of `nucleate trace`
COLUMNS = {
    "cosine": "mean cosine",
    "rank": "effective rank",
    "gap": "1 - |cos| with 1",
    "sink": "norm of 1 / median",
    "weight": "weight on token 1",
}
CURVES = (*COLUMNS, "cover", "cover_low", "cover_high")


@dataclass(frozen=True, eq=False)
class TraceReading:
    """One text under one model: the text itself, or a control.  m = L + 1 layers, n tokens."""

    name: str
    words: tuple[str, ...]  # (n,)
    places: Mapping[str, NDArray[np.float32]]  # by frame, (m, n, 3)
    lost: Mapping[str, Array]  # by frame, (m,) share of squared length, first token left out
    norms: Array  # (m, n)
    nearest: NDArray[np.int32]  # (m, n, 3) earlier tokens, the nearest first; -1 where there is none
    cosines: NDArray[np.float32]  # (m, n, 3) with these; 0 where there is none
    delta: float  # angle such that a quarter of the tokens are centers
    renyi: tuple[int, ...]  # at layer 0
    strong: tuple[int, ...]
    curves: Mapping[str, Array]  # (m,) each, NaN where it is not measured

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire and into the notes of a run."""
        return {
            "name": self.name,
            "words": list(self.words),
            "places": {frame: base64_text(x, "<f4") for frame, x in self.places.items()},
            "lost": {frame: _numbers(share) for frame, share in self.lost.items()},
            "norms": base64_text(self.norms, "<f8"),
            "nearest": base64_text(self.nearest, "<i4"),
            "cosines": base64_text(self.cosines, "<f4"),
            "delta": self.delta,
            "centers": {"renyi": list(self.renyi), "strong": list(self.strong)},
            "curves": {name: _numbers(curve) for name, curve in self.curves.items()},
        }


def check_layers(title: str, m: int) -> None:
    """Refuse m = L + 1 frames of more layers than the page shows.  As texts are cut, this bounds layers times
    tokens too, and with them the message: 75 bytes for each, 19 MB at most for a text or a control."""
    if m > MAX_LAYERS + 1:
        raise InputError(
            f"{title} has {m - 1} layers, but the explorer shows at most {MAX_LAYERS}. Draw it: run.plot()."
        )


def one_text(run: Run, which: int = 0) -> Run:
    """Text number `which` of a run over depth, its first tokens if it has too many to be shown."""
    check_layers("The run", run.x.shape[-3])
    several = run.x.ndim == 4
    texts = len(run.x) if several else 1
    if which >= texts:
        raise InputError(f"There is no text {which}: the file holds {texts}, counted from 0.")

    def own(array: Any) -> Any:
        return array[which] if several else array

    n = min(run.x.shape[-2], MAX_TRACE_TOKENS)
    words: Any = None if run.tokens is None else own(run.tokens)
    weights = run.parts.get("weights")
    return replace(
        run,
        x=own(run.x)[:, :n],  # (m, n, d)
        norms=None if run.norms is None else own(run.norms)[:, :n],
        tokens=None if words is None else words[:n],
        status="done",
        steps=len(run.t) - 1,
        # what the others are for the page has no use
        parts={} if weights is None else {"weights": own(weights)[..., :n, :n]},
    )


def read_trace(run: Run, name: str = "text") -> TraceReading:
    """All that the page shows of one text: x (m, n, d)."""
    x = run.x
    m, n, _ = x.shape
    words = run.tokens if run.tokens is not None else tuple(f"token {k + 1}" for k in range(n))
    places, lost = {}, {}
    for frame, project in zip(FRAMES, (project_layers, project_each_layer), strict=True):
        y, kept = project(x)  # (m, n, 3), (m,)
        places[frame], lost[frame] = y.astype(np.float32), 1.0 - kept
    nearest, cosines = _nearest(x)
    delta, renyi, strong = _centers(x[0], words)
    columns = depth_columns(run)
    curves = {key: columns[column] for key, column in COLUMNS.items() if column in columns}
    return TraceReading(
        name,
        tuple(str(word) for word in words),
        places,
        lost,
        np.ones((m, n)) if run.norms is None else run.norms,
        nearest,
        cosines,
        delta,
        renyi,
        strong,
        curves | _cover(x, words),
    )


def parse_reading(table: Any, m: int) -> TraceReading | None:
    """The inverse of `plain` for a control of a run with m frames; None for what is none, as notes can hold
    anything."""
    try:
        name, delta, n = table["name"], table["delta"], len(table["words"])
        if not isinstance(name, str) or not 0 < n <= MAX_TRACE_TOKENS or not 0.0 < float(delta) < 4.0:
            return None
        reading = TraceReading(
            name,
            check_strings(table["words"], (), n),
            {frame: _array(table["places"][frame], "<f4", m, n, SHOWN_DIRECTIONS) for frame in FRAMES},
            {frame: _curve(table["lost"][frame], m) for frame in FRAMES},
            _array(table["norms"], "<f8", m, n),
            _array(table["nearest"], "<i4", m, n, NEAREST),
            _array(table["cosines"], "<f4", m, n, NEAREST),
            float(delta),
            _listed_centers(table["centers"]["renyi"], n),
            _listed_centers(table["centers"]["strong"], n),
            {key: _curve(curve, m) for key, curve in table["curves"].items() if key in CURVES},
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    fits = reading.nearest.min() >= -1 and reading.nearest.max() < n
    arrays: tuple[NDArray[Any], ...] = (*reading.places.values(), reading.norms, reading.cosines)
    return reading if fits and all(np.isfinite(array).all() for array in arrays) else None


def _nearest(x: Array) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The nearest earlier tokens of every token and their cosines, (m, n, 3) each."""
    m, n, _ = x.shape
    index = np.full((m, n, NEAREST), -1, dtype=np.int32)
    cosine = np.zeros((m, n, NEAREST), dtype=np.float32)
    earlier = np.tri(n, k=-1, dtype=bool)  # (n, n)
    for layer in range(m):  # one at a time: no (m, n, n)
        table = np.where(earlier, x[layer] @ x[layer].T, -np.inf)  # (n, n)
        first = np.argsort(-table, axis=-1, kind="stable")[:, :NEAREST]  # (n, at most 3)
        found = np.take_along_axis(table, first, -1)
        there = np.isfinite(found)
        index[layer, :, : first.shape[1]] = np.where(there, first, -1)
        cosine[layer, :, : first.shape[1]] = np.where(there, found, 0.0)
    return index, cosine


def _centers(x: Array, words: Any) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """delta, Renyi and strong centers of the tokens x (n, d) before the first block."""
    n = len(x)
    if n < 2:
        return float(np.pi), (0,), (0,)
    design = design_capture(x[None], word_numbers([words]))
    near = (x @ x.T >= np.cos(design.delta)) & np.tri(n, k=-1, dtype=bool)  # (n, n)
    strong = np.flatnonzero(~near.any(-1) & design.center[0])
    return design.delta, tuple(np.flatnonzero(design.center[0]).tolist()), tuple(strong.tolist())


def _cover(x: Array, words: Any) -> dict[str, Array]:
    """The mean cosine of tokens with their nearest earlier center, and the interval of the same with labels
    of centers permuted within blocks of 16 places; nothing where a text is too short for it."""
    if x.shape[1] < 2:
        return {}
    design = design_capture(x[:1], word_numbers([words]))
    if len(design.token) == 0:
        return {}
    found = [cover(design, frame[None], DRAWS) for frame in x]
    null = np.array([draws[:, 0] for _, draws in found])  # (m, draws)
    low, high = np.nanquantile(null, NULL_INTERVAL, axis=-1)  # (m,)
    return {"cover": np.array([own[0] for own, _ in found]), "cover_low": low, "cover_high": high}


def base64_text(array: NDArray[Any], kind: str) -> str:
    """The numbers of an array as text: those of `kind`, such as "<f4", in base64."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def _array(text: str, kind: str, *shape: int) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), kind).reshape(shape)


def _numbers(values: Array) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _curve(values: Any, m: int) -> Array:
    if len(values) != m:
        raise ValueError(f"{len(values)} values for {m} layers")
    return np.array([np.nan if value is None else float(value) for value in values])


def _listed_centers(values: Any, n: int) -> tuple[int, ...]:
    """Some of n tokens, each once, in their order."""
    if len(values) > n:
        raise ValueError(f"{len(values)} centers of {n} tokens")
    listed = tuple(int(k) for k in values)
    if any(not 0 <= k < n for k in listed) or any(k >= after for k, after in pairwise(listed)):
        raise ValueError(f"{listed} are not centers of {n} tokens in their order")
    return listed
