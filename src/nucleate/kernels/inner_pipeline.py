"""Which compiler makes what only compiled code calls: `linked_code`, or with a Numba that is made otherwise
inside its own, which takes twice as long and gives the same."""

from typing import Any

from numba import version_info
from numba.core.compiler import Compiler

__all__ = ["LINKED", "InnerPipeline"]

TRIED = (0, 61), (0, 68)  # the first and the last version of Numba in which `linked_code` was tried


def _pipeline() -> Any:
    if not TRIED[0] <= version_info.short <= TRIED[1]:
        return Compiler
    try:
        from nucleate.kernels.linked_code import LinkedPipeline
    except (ImportError, AttributeError):
        return Compiler
    return LinkedPipeline


InnerPipeline = _pipeline()
LINKED = {"pipeline_class": InnerPipeline}  # options of Numba's `overload` for such functions
