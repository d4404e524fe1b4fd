"""Matrices of a study: those of `nucleate.parse.random_matrices`, and the files that a study may name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nucleate.parse.matrix import read_array
from nucleate.parse.random_matrices import Spec, check_spec, drawn, label, matrix, matrix_or_random

__all__ = ["Spec", "check_spec", "drawn", "label", "matrix", "matrix_or_random", "with_files"]

NAMES = ("Q", "K", "V", "W", "a", "b", "omega")  # of the arrays of a model
MAX_DEPTH = 8  # of tables and lists within [model]: below are only numbers


def with_files(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A study from a file in `folder`, with the .npy files there that it names for matrices read."""

    def numbers(where: str, value: Any) -> Any:
        if isinstance(value, str) and value.strip().lower().endswith(".npy"):
            return read_array(where, folder / value.strip())
        return value

    def inside(where: str, value: Any, depth: int = MAX_DEPTH) -> Any:
        if isinstance(value, Mapping) and depth:
            return {
                name: numbers(f"{where}.{name}", one)
                if name in NAMES
                else inside(f"{where}.{name}", one, depth - 1)
                for name, one in value.items()
            }
        if isinstance(value, list) and depth:
            return [inside(f"{where}[{i}]", one, depth - 1) for i, one in enumerate(value)]
        return value

    table = dict(table)
    if "model" in table:
        table["model"] = inside("model", table["model"])
    if isinstance(grid := table.get("grid"), Mapping):
        table["grid"] = {
            name: [
                (numbers if name in NAMES else inside)(f"grid.{name}[{i}]", one)
                for i, one in enumerate(values)
            ]
            if isinstance(values, list)
            else values
            for name, values in grid.items()
        }
    return table
