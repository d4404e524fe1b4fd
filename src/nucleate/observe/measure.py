"""Your own observable: one function of a time and the tokens at that time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError, shortened
from nucleate.observe.inputs import RunOrFrames, times_and_tokens

if TYPE_CHECKING:
    from xarray import DataArray

__all__ = ["Observable", "as_numbers", "measure"]

# (t, x) with x (n, d) -> a number or an array, of one shape at all times
Observable = Callable[[float, Array], Any]


@overload
def measure(run: RunOrFrames, function: Observable, name: None = None) -> NDArray[Any]: ...


@overload
def measure(run: RunOrFrames, function: Observable, name: str) -> "DataArray": ...


def measure(run: RunOrFrames, function: Observable, name: str | None = None) -> "NDArray[Any] | DataArray":
    """function(t, x) at every frame of `run`, with x (n, d): an array (m, ...), or (b, m, ...) for b runs.

    run        a Run, whether simulated or taken from a real model, or a pair (t, x)
    function   gives a number or an array, of the same shape each time
    name       if given, the result is an xarray DataArray of this name with dimensions (run,) time and, for
               arrays, name_0, name_1, ...

    Frames that were never reached are not shown to the function; the result is NaN there.
    """
    t, x = times_and_tokens(run)
    if not callable(function):
        raise InputError(
            f"function must be a function of (t, x), but is {shortened(function)}. For instance:"
            " lambda t, x: x[:, 0].mean()."
        )
    block = x.reshape(-1, *x.shape[-3:])  # (b, m, n, d)
    there = np.isfinite(block).all((-1, -2))  # (b, m)
    values = [as_numbers(function(float(t[frame]), block[one, frame])) for one, frame in np.argwhere(there)]
    if len({value.shape for value in values}) > 1:
        raise InputError(
            "function must give arrays of one shape, but gave"
            f" {', '.join(sorted({str(value.shape) for value in values}))}."
        )
    # ((b,) m, ...)
    result = _stacked(values, np.asarray(there)).reshape(*x.shape[:-2], *(values[0].shape if values else ()))
    return result if name is None else _named(result, t, x.ndim == 4, name)


def as_numbers(value: object) -> NDArray[Any]:
    """What a function gave, which must be a number or an array of numbers."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise InputError(
            f"function must give numbers, but gave {type(value).__name__}. Return a number or an array of"
            " numbers."
        )
    return array


def _stacked(values: list[NDArray[Any]], there: NDArray[np.bool_]) -> NDArray[Any]:
    """Values at the frames that are there, (b m, ...), NaN at the others."""
    if values and there.all():
        return np.stack(values)
    filled = np.full(
        (there.size, *(values[0].shape if values else ())), np.nan, dtype=np.result_type(np.float64, *values)
    )
    if values:
        filled[there.reshape(-1)] = values
    return filled


def _named(result: NDArray[Any], t: Array, several: bool, name: str) -> "DataArray":
    from xarray import DataArray

    lead = ("run", "time") if several else ("time",)
    dims = [*lead, *(f"{name}_{i}" for i in range(result.ndim - len(lead)))]
    return DataArray(result, dims=dims, coords={"time": t}, name=name)
