"""Models of the family on disk: a JSON text, the table of `nucleate.parse.model`, and its arrays.

Arrays of one name and shape lie in one variable, such as model_Q, whose first two axes count them: (layer,
head) where every head of every layer has one, else (1, parts).  In the table [name, number] stands for
such an array.  What is read is checked as if its author meant harm: shapes before an array is opened, the
table key by key.
"""

import json
import re
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError, check_memory
from nucleate.layers import Model
from nucleate.parse.model import build_model, model_table
from nucleate.parse.model_keys import plain_model

__all__ = ["fits_model", "is_model_array", "read_model", "stored_model"]

StoredArrays = list[tuple[str, tuple[str, ...], Array, str]]  # name, axes, numbers, what they are

# the axes of each array of a model, but the run's, and what it is
ARRAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "beta": ((), "inverse temperatures of the heads"),
    "Q": (("row", "column"), "query matrices; where there is none, the identity"),
    "K": (("row", "column"), "key matrices; where there is none, the identity"),
    "V": (("row", "column"), "value matrices; where there is none, the identity"),
    "frozen_x": (("frozen", "coordinate"), "tokens that never move, seen by all"),
    "frozen_weight": (("frozen",), "weights of the frozen tokens"),
    "radius": ((), "lengths of the tokens at the start"),
    "W": (("row", "hidden"), "output weights of the MLP"),
    "a": (("hidden", "column"), "input weights of the MLP"),
    "b": (("hidden",), "biases of the MLP"),
    "omega": (("hidden",), "weights of the potential"),
}
OF_HEADS = ("beta", "Q", "K", "V")  # one for each head
NAME = re.compile(r"model_(" + "|".join(ARRAYS) + r")(?:_[0-9]{1,2})?")
PARTS_AXES = 2  # the first axes of a variable count its parts
MAX_DEPTH = 8  # of tables and lists in the table
MAX_VARIABLES = 48  # a .npz file holds 64 arrays
SAID: tuple[str, ...] = (
    "layers",
    "dt",
    "discrete",
    "blocks",
    "heads",
    "mlp",
    "activation",
    "frozen",
    "x",
    "weight",
)
SAID += ("mask", "weights", "alibi", "rope", "norm", "tau", "alpha", "noise", "exclude_self", *ARRAYS)
AGAIN = "Restore it from a copy, or run the simulation again."


def stored_model(model: Model) -> tuple[StoredArrays, str]:
    """The arrays of a model, and the text that refers to them."""
    groups: dict[tuple[str, tuple[int, ...]], tuple[str, list[Array]]] = {}
    numbers: dict[tuple[str, int], list[Any]] = {}  # of arrays met before: layers may share them

    def put(name: str, array: Array) -> list[Any]:
        if (name, id(array)) not in numbers:
            same_name = sum(group[0] == name for group in groups)
            variable = f"model_{name}_{same_name}" if same_name else f"model_{name}"
            variable, arrays = groups.setdefault((name, array.shape), (variable, []))
            numbers[name, id(array)] = [variable, len(arrays)]
            arrays.append(array)
        return numbers[name, id(array)]

    text = json.dumps(model_table(model, put))
    if len(groups) > MAX_VARIABLES:
        raise InputError(
            f"The model has arrays of {len(groups)} different shapes, but {MAX_VARIABLES} are the most that"
            " are stored. Keep run.t and run.x with numpy.savez instead."
        )
    return [_stacked(model, name, variable, arrays) for (name, _), (variable, arrays) in groups.items()], text


def _stacked(
    model: Model, name: str, variable: str, arrays: list[Array]
) -> tuple[str, tuple[str, ...], Array, str]:
    own, words = ARRAYS[name]
    stack = np.stack(arrays)  # (parts, ...)
    lead, axes = (1, len(arrays)), (f"{variable}_set", f"{variable}_part")
    heads = _regular_heads(model)
    if name in OF_HEADS and heads is not None and prod(heads) == len(arrays):
        lead, axes = heads, ("layer", "head")
    inner = stack.shape[1:]
    dims = (("run",) if len(inner) > len(own) else ()) + own
    if name == "radius" and inner:
        dims = ("token",)
    if name in (
        "frozen_x",
        "frozen_weight",
        "W",
        "a",
        "b",
        "omega",
    ):  # whose sizes may differ between variables
        dims = tuple(f"{variable}_{dim}" if dim in ("frozen", "hidden") else dim for dim in dims)
    return variable, (*axes, *dims), stack.reshape(*lead, *inner), words


def _regular_heads(model: Model) -> tuple[int, int] | None:
    """The number of layers, and of heads where each layer has as many."""
    if isinstance(model, Attention):
        return 1, 1
    blocks = (model,) if isinstance(model, Block) else model.blocks
    many = {len(block.heads) for block in blocks}
    return (len(blocks), many.pop()) if len(many) == 1 else None


def is_model_array(name: str) -> bool:
    """Whether an array of this name can be one of a model's."""
    return NAME.fullmatch(name) is not None


def fits_model(name: str, shape: tuple[int, ...], x: tuple[int, ...]) -> bool:
    """Whether an array of this name and shape can be part of a model of tokens of shape x, ([b,] m, n, d)."""
    found = NAME.fullmatch(name)
    if found is None or len(x) not in (3, 4):
        return False
    own, _ = ARRAYS[found[1]]
    n, d = x[-2:]
    runs = x[:-3]
    sizes = {"row": d, "column": d, "coordinate": d}
    wanted = [sizes.get(axis) for axis in own]
    ways: list[list[int | None]] = [wanted, [*runs, *wanted]]
    if found[1] == "radius":
        ways = [[], [n]]
    return len(shape) >= PARTS_AXES and any(
        len(shape) == PARTS_AXES + len(way)
        and all(want is None or size == want for size, want in zip(shape[PARTS_AXES:], way, strict=True))
        for way in ways
    )


def read_model(text: str, arrays: dict[str, NDArray[Any]], tokens: tuple[int, ...]) -> Model:
    """The model of a stored table and its arrays, for tokens of shape ([b,] n, d)."""
    table = json.loads(text)
    if not isinstance(table, dict):
        raise _damaged("its model is no table")
    parts = {name: array.reshape(-1, *array.shape[PARTS_AXES:]) for name, array in arrays.items()}
    reader = _Reader(parts)
    plain = plain_model("model", reader.resolved(table, MAX_DEPTH))
    if reader.used != set(arrays):
        raise _damaged("its model does not use all its arrays")
    layers = plain.get("layers")
    if layers is not None and "blocks" not in layers:
        raise _damaged("its layers are missing")
    model = build_model(plain, tokens[-1])
    model.check(np.zeros(tokens), lengths=False)
    if model.runs is not None and tokens[:-2] != (model.runs,):
        raise _damaged(f"its model has {model.runs} runs")
    return model


class _Reader:
    """Puts arrays in the places of the references to them, and counts what they would take."""

    def __init__(self, parts: dict[str, NDArray[Any]]) -> None:
        self.parts, self.used, self.size = parts, set[str](), 0.0

    def resolved(self, value: Any, depth: int) -> Any:
        if not depth:
            raise _damaged("its model is nested too deeply")
        if isinstance(value, dict):
            if unknown := [key for key in value if key not in SAID]:
                raise _damaged(f"its model says {str(unknown[0])[:40]!r}")
            return {key: self.resolved(one, depth - 1) for key, one in value.items()}
        if isinstance(value, list):
            if len(value) == 2 and isinstance(value[0], str):
                return self._part(*value)
            return [self.resolved(one, depth - 1) for one in value]
        return value

    def _part(self, name: str, number: Any) -> Any:
        there = self.parts.get(name)
        if there is None or type(number) is not int or not 0 <= number < len(there):
            raise _damaged(f"its model refers to {name[:40]!r}, which is not there")
        self.used.add(name)
        self.size += 2.0 * there[number].nbytes
        check_memory(self.size, "The model")
        return there[number]


def _damaged(what: str) -> InputError:
    return InputError(f"It is damaged: {what}. {AGAIN}")
