"""A term of the user's own: a Python function f(x, out), compiled once and called from compiled code by its
address.

The address is all that a kernel knows of the function, a number in its record.  So kernels and solvers are
compiled once for all functions and kept on the disk; the function itself is compiled once in every process.
(Numba's own type for functions does the same, but costs 0.2 ms whenever Python hands such a record over.)
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from nucleate.checks import Array, InputError
from nucleate.kernels.threads import not_awaited_if_stopped

__all__ = ["NO_TERM", "add_own_term", "own_term"]

NO_TERM = 0  # the address where there is no function
ADDRESS = types.intp
SIGNATURE = types.void(types.CPointer(types.float64), types.CPointer(types.float64), types.intp, types.intp)


def own_term(function: Callable[[Array, Array], None] | None) -> int:
    """The address of the compiled function, or NO_TERM."""
    return NO_TERM if function is None else int(_compiled(function).address)


@cache  # without end: an address in use must not dangle
def _compiled(function: Callable[[Array, Array], None]) -> Any:
    plain = getattr(function, "py_func", function)  # of a function that is compiled already
    term = numba.njit(error_model="numpy")(plain)

    def on_pointers(x, out, n, d):
        term(carray(x, (n, d)), carray(out, (n, d)))

    try:
        return not_awaited_if_stopped(lambda: numba.cfunc(SIGNATURE, error_model="numpy")(on_pointers))
    except Exception as error:
        raise InputError(
            f"mlp must be a function of (x, out) that Numba can compile, but {_name(function)} is not:"
            f" {_reason(str(error))} Write it with loops, NumPy and numbers alone."
        ) from error


def _name(function: Callable[..., None]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _reason(message: str) -> str:
    """The first line that says something, as a sentence."""
    lines = (line.strip() for line in message.splitlines())
    said = next((line for line in lines if line and "Failed in" not in line), "no reason is given")
    return said.rstrip(".:") + "."


@intrinsic
def add_own_term(typingctx, address, x, out):
    """f(x, out) of the function at this address, which is not NO_TERM; x and out (n, d), contiguous."""

    def build(context, builder, signature, args):
        arrays = [context.make_array(signature.args[i])(context, builder, args[i]) for i in (1, 2)]
        n, d = (builder.extract_value(arrays[0].shape, i) for i in (0, 1))
        pointer, size = arrays[0].data.type, n.type
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, size, size])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [arrays[0].data, arrays[1].data, n, d])
        return context.get_dummy_value()

    return types.void(ADDRESS, x, out), build
