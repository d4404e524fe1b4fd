"""Matrices as people write them, at the command line, in study files and in the explorer, page and scenes:

    2.0                                        c times the identity
    "identity", "-identity", "0.5*identity"    the same
    [1, 1, -2], "diag(1,1,-2)"                 a diagonal
    [[1, 2], [3, 4]]                           rows
    "row3", "gaussian(7)"                      a matrix with a name, in any dimension it makes sense in;
                                               random ones take a seed, 0 unless given
    {preset = "gaussian", seed = 7}            the same
    {matrix = [[1, 2], [3, 4]]}                the rows
    {random = "gaussian", ...}                 drawn anew for every run, where there are several

At a command line a text is typed without its quotation marks, and the rest as it stands. Numbers in a file,
M.npy, come through `read_array`, which only callers that may read files use; nothing else here opens one.
"""

import json
import re
import stat
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from nucleate.checks import (
    Array,
    InputError,
    check_memory,
    file_error,
    finite_array,
    finite_number,
    shortened,
    whole_number,
)
from nucleate.parse.named_matrices import NAMED, named_matrix
from nucleate.parse.npy_head import npy_head

__all__ = ["Matrix", "as_array", "from_text", "name_and_seed", "parse_matrix", "read_array"]

Matrix = float | str | Array  # c times the identity, a name such as "row3" or "gaussian(7)", numbers

NOTATIONS = "2.0, identity, 0.5*identity, diag(1,1,-2), [[1,2],[3,4]] or a name"
NUMBERS = int | float | np.integer | np.floating
MAX_SEED = 2**53  # the largest that a page can count to

# No two parts of a number can take the same letters, so that a long text is refused in linear time.
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
MULTIPLE = re.compile(rf"(?:([+-])|({NUMBER})\s*\*)?\s*identity")
DIAGONAL = re.compile(r"diag\((.*)\)", re.DOTALL)
NAME = re.compile(r"([a-z][a-z0-9-]*)(?:\(\s*([0-9]{1,16})\s*\))?")


def parse_matrix(where: str, value: Any) -> Matrix:
    """The matrix that `value` stands for, in its normal form; `where` names it in errors."""
    value = from_text(where, value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _from_table(where, value)
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return finite_number(where, value)
    if not isinstance(value, list | tuple | np.ndarray):
        _refuse(where, value)
    array = finite_array(where, value) if isinstance(value, np.ndarray) else _from_list(where, value)
    if array.ndim == 0:
        return float(array)
    if array.size == 0 or array.ndim > 3 or (array.ndim > 1 and array.shape[-1] != array.shape[-2]):
        raise InputError(
            f"{where} must be a diagonal (a list) or square (a list of rows), but has shape {array.shape}."
        )
    return array


def as_array(matrix: Matrix, d: int) -> Array | None:
    """The matrix (d, d), or (b, d, d) where it has a run axis; None for the identity."""
    if isinstance(matrix, float) and matrix == 1.0:
        return None
    if isinstance(matrix, np.ndarray) and matrix.ndim > 1:
        return matrix
    check_memory(24.0 * d * d, f"A matrix of dimension {d}")  # it, the model's copy, and one on the way
    if isinstance(matrix, str):
        name, seed = name_and_seed(matrix)
        return named_matrix(name, d, seed)
    return np.diag(np.full(d, matrix) if isinstance(matrix, float) else matrix)


def name_and_seed(text: str) -> tuple[str, int]:
    """The parts of a normal form such as "row3" or "gaussian(7)"."""
    name, _, seed = text.rstrip(")").partition("(")
    return name, int(seed or 0)


def read_array(where: str, path: Path) -> Array:
    """The array in a .npy file; pickles inside are never opened, nor is more read than the file holds."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(None, "it is no file")
        with path.open("rb") as file:
            npy_head(file)  # NumPy would read one of any length
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise file_error(
            f"{where} {path} cannot be read: {error.strerror or 'it is no file'}. Pass a .npy file.", error
        ) from None
    except Exception:  # a broken file can raise anything
        raise InputError(
            f"{where} {path} is not a plain .npy file of numbers. Write it with numpy.save, without Python"
            " objects."
        ) from None
    check_memory(array.nbytes, f"{where} {path}")
    return finite_array(f"{where} {path}", np.asarray(array))


def from_text(where: str, value: Any) -> Any:
    """A text as what it stands for: a number, a list, a table, or the normal form of a name; all else as it
    is."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        if re.fullmatch(NUMBER, text):
            return float(text)
        if found := MULTIPLE.fullmatch(text):
            return float(found[2] or f"{found[1] or ''}1")
        if found := DIAGONAL.fullmatch(text):
            return [_number(entry) for entry in found[1].split(",")]
        if text.startswith("["):
            return json.loads(text, parse_constant=_number)
        if text.startswith("{"):
            table = tomllib.loads(f"table = {text}")
            if list(table) == ["table"]:
                return table["table"]
    except (ValueError, RecursionError):  # also an integer of too many digits
        _refuse(where, text)
    if found := NAME.fullmatch(text):
        return _from_name(where, text, found[1], None if found[2] is None else int(found[2]))
    _refuse(where, text)


def _from_table(where: str, table: Mapping[str, Any]) -> Matrix:
    if "random" in table:
        raise InputError(
            f"{where} must be one matrix, but is drawn anew for every run: {shortened(dict(table))}. Name one"
            ' that is drawn once, such as "gaussian(7)".'
        )
    if "matrix" in table:
        _known_keys(where, table, ("matrix",))
        if not isinstance(table["matrix"], list | tuple | np.ndarray):
            _refuse(where, dict(table))
        return parse_matrix(where, table["matrix"])
    if not isinstance(table.get("preset"), str):
        _refuse(where, dict(table))
    _known_keys(where, table, ("preset", "seed"))
    seed = whole_number(f"{where} seed", table["seed"], least=0) if "seed" in table else None
    return _from_name(where, table["preset"], table["preset"], seed)


def _from_name(where: str, written: str, name: str, seed: int | None) -> float | str:
    """The normal form of a name: with the seed if there is one; the two that are multiples of the identity as
    such."""
    if name not in NAMED:
        _refuse(where, written)
    if not NAMED[name].random:
        if seed is not None:
            raise InputError(f"{where} has a seed, but the matrix {name} is not random. Leave the seed out.")
        return {"identity": 1.0, "minus-identity": -1.0}.get(name, name)
    if (seed := seed or 0) > MAX_SEED:
        raise InputError(f"{where} seed must be at most {MAX_SEED:,}, but is {seed:,}.")
    return f"{name}({seed})"


def _from_list(where: str, values: list[Any] | tuple[Any, ...]) -> Array:
    _check_entries(where, values, 3)
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        raise InputError(f"{where} must have rows of one length, but is {shortened(values)}.") from None


def _check_entries(where: str, values: list[Any] | tuple[Any, ...], depth: int) -> None:
    """Refuse a list that holds anything but numbers and lists of such: NumPy would take "1" and True."""
    for entry in values:
        if isinstance(entry, list | tuple):
            if depth == 1:
                raise InputError(f"{where} must be a list or a list of rows, but has lists within its rows.")
            _check_entries(where, entry, depth - 1)
        elif isinstance(entry, bool) or not isinstance(entry, NUMBERS):
            raise InputError(f"{where} must hold numbers only, but holds {shortened(entry)}.")
        else:
            finite_number(where, entry)


def _number(text: str) -> float:
    if not re.fullmatch(NUMBER, text.strip()):
        raise ValueError
    return float(text)


def _known_keys(where: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise InputError(f"{where} has no {shortened(key)}. It may hold {' and '.join(keys)}.")


def _refuse(where: str, value: Any) -> NoReturn:
    if isinstance(value, str) and value.lower().endswith(".npy"):
        raise InputError(
            f"{where} is {shortened(value)}, but only the command line and study files read files. Pass the"
            " numbers."
        )
    word = isinstance(value, str) and len(value) < 40 and re.fullmatch(r"[\w-]+", value)
    near = get_close_matches(value, NAMED, n=1) if word else []
    help = f"Did you mean {near[0]}?" if near else f"Write {NOTATIONS} ({', '.join(NAMED)})."
    raise InputError(f"{where} must be a matrix, but is {shortened(value)}. {help}")
