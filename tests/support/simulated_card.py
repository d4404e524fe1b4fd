"""Numba's simulator of a card, without two races between the threads of a block.

It makes a shared array at the first call that asks for it, and two threads that ask at once get one each.
And it goes through the names of a module at every call of a device function, which fails where Python adds
one meanwhile: __warningregistry__, at a module's first warning.
"""

import importlib
import pkgutil
import sys
import threading
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

import nucleate.gpu

__all__ = ["mend_simulator"]

ONE_THREAD = threading.Lock()
NOT_SIMULATED = {"nucleate.gpu.kernel_cache"}  # for what is compiled


def mend_simulator() -> None:
    """Before the first launch of a kernel."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    simulated = FakeCUDAShared.array

    def array(self: Any, shape: Any, dtype: Any) -> Any:
        if shape == 0:  # what was asked for at the launch: there already
            return simulated(self, shape, dtype)
        caller = sys._getframe(1)
        line = caller.f_code.co_filename, caller.f_lineno
        with ONE_THREAD:
            if line not in self._allocations:
                kind = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
                self._allocations[line] = np.empty(shape, kind)
            return self._allocations[line]

    FakeCUDAShared.array = array
    for module in pkgutil.iter_modules(nucleate.gpu.__path__, "nucleate.gpu."):
        if module.name not in NOT_SIMULATED:
            vars(importlib.import_module(module.name)).setdefault("__warningregistry__", {})
