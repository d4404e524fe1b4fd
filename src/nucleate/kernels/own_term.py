"""A term of the user's own: a Python function f(x, out), compiled once and called from compiled code by its
address.

The address is all that a kernel knows of the function, so kernels and solvers are compiled once for all of
them, and kept on the disk; the function itself is compiled once in every process.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
from numba import types

from nucleate.checks import Array, InputError
from nucleate.kernels.threads import not_awaited_if_stopped

__all__ = ["OwnTerm", "own_term"]

KEPT_FUNCTIONS = 256  # compiled functions of one process
NOWHERE = 1  # an address that is never called: Numba refuses 0
ROWS = types.Array(types.float64, 2, "C")  # (n, d)
SIGNATURE = types.void(ROWS, ROWS)


class OwnTerm(types.WrapperAddressProtocol):  # type: ignore[misc]
    """What Numba takes for a function of (x, out), both (n, d)."""

    def __init__(self, code: Any | None) -> None:
        self.code = code  # kept, or the address would dangle

    def __wrapper_address__(self) -> int:
        return NOWHERE if self.code is None else int(self.code.address)

    def signature(self) -> Any:
        """The types of its arguments."""
        return SIGNATURE


NO_TERM = OwnTerm(None)


def own_term(function: Callable[[Array, Array], None] | None) -> OwnTerm:
    """The function compiled; without one, a term that must not be called."""
    return NO_TERM if function is None else _compiled_term(function)


@lru_cache(KEPT_FUNCTIONS)
def _compiled_term(function: Callable[[Array, Array], None]) -> OwnTerm:
    plain = getattr(function, "py_func", function)  # of a function that is compiled already
    try:
        code = not_awaited_if_stopped(lambda: numba.cfunc(SIGNATURE, error_model="numpy")(plain))
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise InputError(
            f"mlp must be a function of (x, out) that Numba can compile, but {_name(function)} is not:"
            f" {_reason(lines)} Write it with loops, NumPy and numbers alone."
        ) from error
    return OwnTerm(code)


def _name(function: Callable[..., None]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _reason(lines: list[str]) -> str:
    """The first line that says something, as a sentence."""
    said = next((line for line in lines if "Failed in" not in line), "no reason is given")
    return said.rstrip(".:") + "."
