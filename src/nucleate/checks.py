"""Errors a person can act on: one sentence of fact with name and value, one of help."""

import operator
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.resources import free_memory, memory

__all__ = [
    "EPS",
    "ROUNDING",
    "UNIT_TOLERANCE",
    "Array",
    "FileError",
    "InputError",
    "MissingFileError",
    "MissingPackageError",
    "as_path",
    "check_memory",
    "check_tokens",
    "file_error",
    "finite_array",
    "finite_number",
    "function_or_none",
    "read_file",
    "real_array",
    "refuse_masked",
    "regular_file",
    "shortened",
    "true_or_false",
    "whole_number",
]

Array = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
UNIT_TOLERANCE = 1e-6  # rows this close to unit length are taken as meant to be unit, and made so
LARGEST_COUNT = 2**62  # so that it fits into 64 bits
ALWAYS_FITS_BYTES = 2**20  # up to this much is not worth asking how much memory there is
ROUNDING = 4 * float(np.finfo(np.float64).eps)  # rows this close are unit already, and keep their bits


class InputError(ValueError):
    """Input that cannot be used; the message says why and what to do.

    A missing file raises MissingFileError, which is also a FileNotFoundError; a file that cannot be read or
    written FileError, also an OSError; a package that is not installed MissingPackageError, also an
    ImportError. They stand in nucleate.checks, and `except InputError` catches them all.
    """


# The built-in kind stands first, whose __new__ makes all of them: tools that unpickle errors rely on that.
class FileError(OSError, InputError):
    """A file or folder that cannot be read, written or made."""


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder that does not exist."""


class MissingPackageError(ImportError, InputError):
    """A package that is needed for this and not installed."""


def file_error(message: str, cause: OSError) -> FileError:
    """What the operating system refused, as an error to raise with this message."""
    return (MissingFileError if isinstance(cause, FileNotFoundError) else FileError)(message)


def regular_file(path: Path) -> int:
    """The size of a file that is one: a pipe would wait for ever, a device never end."""
    try:
        found = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError:  # a zero byte in the name
        raise InputError(f"{str(path)!r} cannot be the name of a file. Check the name.") from None
    return _regular_size(path, found)


def read_file(path: Path, most: int) -> bytes:
    """The bytes of an ordinary file that has at most `most` of them."""
    regular_file(path)
    try:
        # Without waiting: a pipe may have taken the place of the file meanwhile.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            size = _regular_size(path, os.fstat(file.fileno()))
            if size <= most:
                return file.read(size)
    except OSError as error:
        raise _unreadable(path, error) from None
    raise InputError(
        f"{path} has {size} bytes, and {most} are the most that is read. Get it again from where it came."
    )


def _regular_size(path: Path, found: os.stat_result) -> int:
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no ordinary file. Give a file that can be read from start to end.")
    return found.st_size


def _unreadable(path: Path, error: OSError) -> FileError:
    return file_error(f"{path} cannot be read: {error.strerror or 'no such file'}. Check the name.", error)


def finite_array(name: str, value: ArrayLike) -> Array:
    """`value` as a contiguous array of finite doubles."""
    array = real_array(name, value)
    _refuse_infinite(name, array)
    return array


def real_array(name: str, value: ArrayLike) -> Array:
    """`value` as a contiguous array of doubles, which may be NaN or infinite."""
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise InputError(f"{name} must be real, but is complex. Pass its real part.")
        if value is None or array.dtype.kind not in "biufO":  # of None and of dates NumPy would make numbers
            raise TypeError
        return np.array(array, dtype=np.float64, order="C", copy=None)
    except (InputError, MemoryError):
        raise
    except Exception:  # objects may raise anything when asked to be an array
        raise InputError(
            f"{name} must be an array of numbers, but is {shortened(value)}. Pass a NumPy array."
        ) from None


def refuse_masked(name: str, value: object) -> None:
    """Refuse an array, or a list of such, some entries of which are masked: what stands under a mask is no
    number."""
    if type(value) in (list, tuple):
        for array in _masked_arrays_in(value):
            refuse_masked(f"An array in {name}", array)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        masked = int(np.ma.getmaskarray(value).sum())
        raise InputError(
            f"{name} must have all its entries, but {masked} of {value.size} are masked. Fill them in, or"
            " leave their tokens or runs out."
        )


def _masked_arrays_in(value: Any) -> Iterator[np.ma.MaskedArray[Any, Any]]:
    """Those in nested lists and tuples, each of which is looked into once."""
    waiting, seen = [value], {id(value)}
    while waiting:
        value = waiting.pop()
        kinds = set(map(type, value))  # of a long list of numbers this is all, and quick
        if not any(kind in (list, tuple) or issubclass(kind, np.ma.MaskedArray) for kind in kinds):
            continue
        for one in value:
            if isinstance(one, np.ma.MaskedArray):
                yield one
            elif type(one) in (list, tuple) and id(one) not in seen:
                seen.add(id(one))
                waiting.append(one)


def _refuse_infinite(name: str, array: Array) -> None:
    if array.ndim == 0 and not np.isfinite(array):
        raise InputError(f"{name} must be finite, but is {array}. Give a number.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{name} must be finite, but {name}{list(where)} is {array[where]}. Remove NaN and infinite"
            " entries."
        )


def finite_number(
    name: str, value: Any, *, least: float = -np.inf, above: float = -np.inf, help: str = ""
) -> float:
    """`value` as a finite float that is >= `least` and > `above`; True is none."""
    try:
        if isinstance(value, bool | np.bool_ | str | bytes | np.ma.MaskedArray) or np.ndim(value) > 0:
            raise TypeError
        number = float(value)
    except Exception:  # objects may raise anything when asked to be a number
        raise InputError(f"{name} must be a number, but is {shortened(value)}. {help}".strip()) from None
    bound = (
        f" and at least {least:g}"
        if least > -np.inf
        else f" and greater than {above:g}"
        if above > -np.inf
        else ""
    )
    if not (np.isfinite(number) and number >= least and number > above):
        raise InputError(f"{name} must be finite{bound}, but is {number}. {help}".strip())
    return number


def whole_number(name: str, value: Any, *, least: int, help: str = "") -> int:
    """`value` as an integer that is >= `least`; 3.0 is one, 3.5, True and "3" are not."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except Exception:  # objects may raise anything when asked to be a number
        raise InputError(
            f"{name} must be a whole number, but is {shortened(value)}. {help}".strip()
        ) from None
    if number < least or isinstance(value, bool):
        raise InputError(
            f"{name} must be a whole number of at least {least}, but is {shortened(value)}. {help}".strip()
        )
    if number > LARGEST_COUNT:
        raise InputError(
            f"{name} must be a whole number below 2^62, but is {shortened(number)}. {help}".strip()
        )
    return number


def true_or_false(name: str, value: Any) -> bool:
    """`value`, which must be True or False; 1 and "no" are neither."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, but is {shortened(value)}.")
    return bool(value)


def function_or_none(name: str, value: Any, of: str) -> None:
    """Refuse what is neither None nor a function; `of` names its arguments."""
    if value is not None and not callable(value):
        raise InputError(f"{name} must be a function of {of}, but is {shortened(value)}.")


def check_tokens(name: str, value: ArrayLike, lengths: bool = True) -> Array:
    """`value` as tokens (..., n, d) on the unit sphere: n >= 1, d >= 2, rows made exactly unit if nearly so.

    With lengths=False the caller checks the lengths of the rows: `ROUNDING` is what they may be off by.
    """
    x = real_array(name, value)
    if x.ndim < 2:
        _refuse_infinite(name, x)
        raise InputError(
            f"{name} must have shape (n, d) or (b, n, d), but has shape {x.shape}. One row is one token."
        )
    if x.size == 0:
        raise InputError(
            f"{name} must hold at least one token, but has shape {x.shape}. Draw some with"
            " nucleate.uniform(n, d, seed)."
        )
    if x.shape[-1] < 2:
        raise InputError(
            f"{name} must have dimension at least 2, but has shape {x.shape}. Tokens on two points cannot"
            " move."
        )
    if not lengths:
        return x
    with np.errstate(over="ignore"):  # a row of length 1e200 is told so below
        if x.shape[-1] <= 8:  # einsum is slow along a short axis
            square = sum((x[..., c] * x[..., c] for c in range(1, x.shape[-1])), x[..., 0] * x[..., 0])
        else:
            square = np.einsum("...i,...i->...", x, x)
    off = max(square.max() - 1.0, 1.0 - square.min())
    if off <= ROUNDING:  # never so for NaN
        return x
    _refuse_infinite(name, x)
    length = np.sqrt(square)
    if off > 2.0 * UNIT_TOLERANCE:
        worst = tuple(int(i) for i in np.unravel_index(np.abs(length - 1.0).argmax(), length.shape))
        raise InputError(
            f"{name} must have rows of length 1, but row {list(worst)} has length {length[worst]:.9g}. Divide"
            " by it: nucleate.retract(x)."
        )
    return np.where(np.abs(square - 1.0)[..., None] > ROUNDING, x / length[..., None], x)


def check_memory(size: float, what: str) -> None:
    """Refuse what would not fit into half of the memory there is, or into what is free of it, before asking
    for it."""
    if size <= ALWAYS_FITS_BYTES:
        return
    if size > memory() / 2:
        room = f"may have {memory() / 2**31:.3g} GiB, half of the memory here"
    elif size > (free := free_memory()):
        room = f"only {free / 2**30:.3g} GiB of the memory here are free"
    else:
        return
    raise InputError(
        f"{what} needs {size / 2**30:.3g} GiB, but {room}. Ask for fewer tokens, dimensions, runs or frames."
    )


def as_path(name: str, value: Any) -> Path:
    """`value` as the path of a file or folder, there or not."""
    try:
        text = os.fspath(value)
        if not isinstance(text, str) or text == "":
            raise TypeError
        os.lstat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise FileError(f"{name} {shortened(text)} cannot be used: {error.strerror or error}.") from None
    except Exception:  # no path, or one with letters that no name can have
        raise InputError(
            f"{name} must be the path of a file or folder, but is {shortened(value)}. Pass a text or a Path."
        ) from None
    return Path(text)


def shortened(value: object, letters: int = 60) -> str:
    """A value in an error message: not too long."""
    try:
        text = repr(value)
    except Exception:  # an integer of too many digits, or an object that cannot be shown
        text = f"a {type(value).__name__}"
    return text if len(text) <= letters else f"{text[: letters - 3]}..."
