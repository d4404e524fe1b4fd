"""Runs over depth on disk: the axes of their arrays, and what is checked when they are read."""

import json
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError
from nucleate.integrate.checkpoint import Checkpoint
from nucleate.integrate.hidden_states import PARTS, check_parts, check_strings, part_shape
from nucleate.integrate.run import Run

__all__ = ["check_depth_shapes", "depth_arrays", "depth_texts", "is_over_depth", "read_depth_run"]

AXIS = "layer"  # has this name where a run has the axis time
PREFIX = "part_"
UNIT_TOLERANCE = 1e-6  # of a squared length that must be 1
AGAIN = "Restore it from a copy, or trace the model again."


def depth_arrays(run: Run) -> list[tuple[str, tuple[str, ...], NDArray[Any], str]]:
    """Name, axes, numbers and description of every array of a run over depth."""
    lead = ("run",) if run.x.ndim == 4 else ()
    axes = (*lead, AXIS, "token", "coordinate")
    arrays = [
        (AXIS, (AXIS,), run.t, "number of the layer after which the tokens are seen; 0: before the first"),
        ("x", axes, run.x, "directions of the tokens, on the unit sphere"),
        ("steps", lead, np.asarray(run.steps, dtype=np.int64), "number of layers"),
    ]
    if run.norms is not None:
        arrays.append(("norms", axes[:-1], run.norms, "lengths of the tokens, whose directions are x"))
    for name, part in run.parts.items():
        own, words = PARTS[name]
        arrays.append((PREFIX + name, (*lead, *own), part, words))
    return arrays


def depth_texts(run: Run) -> dict[str, str]:
    """The texts that only such a run has."""
    return {"model": json.dumps(asdict(run.model)), "tokens": json.dumps(run.tokens)}


def is_over_depth(names: Any) -> bool:
    """Whether arrays of these names are those of a run over depth."""
    return AXIS in names


def check_depth_shapes(shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse arrays that are no parts of one run over depth, before any is read."""
    x = shapes.get("x", ())
    fits: dict[str, Any] = {
        "x": len(x) in (3, 4) and min(x) > 0,
        AXIS: shapes[AXIS] == x[-3:-2],
        "steps": shapes.get("steps") == x[:-3],
        "norms": shapes.get("norms") == x[:-1],
    }
    if len(x) in (3, 4):
        for name in PARTS:
            wanted, found = part_shape(name, x), shapes.get(PREFIX + name, ())
            fits[PREFIX + name] = len(found) == len(wanted) and all(
                want in (None, size) for size, want in zip(found, wanted, strict=True)
            )
    for name, shape in shapes.items():
        if not fits.get(name, False):
            raise InputError(f"It is damaged: {name[:40]!r} of shape {shape} is no part of a run. {AGAIN}")
    if missing := {"x", "steps", "norms"} - shapes.keys():
        raise InputError(f"It is damaged: {', '.join(sorted(missing))} is missing. {AGAIN}")


def read_depth_run(data: dict[str, NDArray[Any]], texts: dict[str, str], words: dict[str, Any]) -> Run:
    """The run of arrays and texts that were compared with their checksums."""
    table, x, status, steps = json.loads(texts["model"]), data["x"], words["status"], data["steps"]
    if not isinstance(table, dict) or table.keys() != {one.name for one in fields(Checkpoint)}:
        raise InputError(f"It is damaged: its model is no table of names and sizes. {AGAIN}")
    model = Checkpoint(**table)
    parts = {name.removeprefix(PREFIX): one for name, one in data.items() if name.startswith(PREFIX)}
    if (model.layers, model.d) != (x.shape[-3] - 1, x.shape[-1]):
        raise InputError(f"It is damaged: its model has {model.layers} layers and d = {model.d}. {AGAIN}")
    if any(array.dtype != np.float64 for array in (x, data["norms"], data[AXIS])):
        raise InputError(f"It is damaged: its tokens are not kept as doubles. {AGAIN}")
    for name in ("x", "norms", AXIS):
        if not np.isfinite(data[name]).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(data[name]))[0]]
            raise InputError(f"It is damaged: {name}{where} is {data[name][tuple(where)]}. {AGAIN}")
    with np.errstate(over="ignore"):
        squares = np.einsum("...i,...i->...", x, x)  # ([b,] L+1, n)
    if np.abs(squares - 1.0).max() > UNIT_TOLERANCE or data["norms"].min() <= 0.0:
        raise InputError(f"It is damaged: its tokens are not directions with lengths. {AGAIN}")
    return Run(
        model,
        t=data[AXIS],
        x=x,
        status=status if isinstance(status, str) else tuple(status),
        steps=steps if steps.ndim else int(steps),
        settings=words["settings"],
        notes=words["notes"],
        norms=data["norms"],
        tokens=check_strings(json.loads(texts["tokens"]), x.shape[:-3], x.shape[-2]),
        parts=check_parts(parts, x.shape, model.heads),
    )
