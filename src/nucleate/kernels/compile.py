"""How compiled code is made: four decorators.  What Python calls is kept (`code_cache`), and compiled on a
thread that nobody has to wait for (`threads`); what only compiled code calls becomes part of it
(`inner_pipeline`)."""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from nucleate.kernels.code_cache import CodeCache, cache_folder
from nucleate.kernels.inner_pipeline import InnerPipeline
from nucleate.kernels.threads import not_awaited_if_stopped

__all__ = ["INLINED", "compiled", "inlined", "inner", "take_next", "uncounted"]

# all said, or what is left out would be taken over from whatever calls the function first
COMMON = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
INNER = {"pipeline_class": InnerPipeline, "no_cpython_wrapper": True, **COMMON}
INLINED = {**INNER, "forceinline": True, "_nrt": False}  # options of Numba's `overload` for such functions


def compiled(function: Callable[..., Any]) -> Any:
    """`numba.njit` with no GIL, no fastmath (bits and NaN checks must stay) and the cache on the disk."""
    return _compile(function, inner=False)


def inner(function: Callable[..., Any]) -> Any:
    """The same for what only compiled code calls: without the wrapper that Python would need, which takes
    long to compile."""
    return _compile(function, inner=True)


def uncounted(function: Callable[..., Any]) -> Any:
    """The same for code that makes no array: references to those it is given are not counted, so that a
    record of forty arrays costs no more to hand on, or to read a field of, than one of two."""
    return _compile(function, inner=False, count=False)


def inlined(function: Callable[..., Any]) -> Any:
    """`uncounted` for what only compiled code calls: it becomes part of what calls it."""
    return _compile(function, inner=True, count=False)


def _compile(function: Callable[..., Any], inner: bool, count: bool = True) -> Any:
    linked = numba.njit(**{**INNER, "forceinline": inner and not count, "_nrt": count})(function)
    if inner:
        return linked
    dispatcher = numba.njit(no_cpython_wrapper=False, forceinline=False, _nrt=count, **COMMON)(function)
    if not numba.config.DISABLE_JIT:
        # compiled code that calls the function has the other one linked in
        dispatcher.get_call_template, dispatcher.get_overload = linked.get_call_template, linked.get_overload
        if cache_folder() is not None:
            dispatcher._cache = CodeCache(function)
        dispatcher.compile = partial(_compile_aside, dispatcher.compile)
    return dispatcher


def _compile_aside(compile: Callable[[Any], Any], signature: Any) -> Any:
    """compile(signature), which fetches the code from the disk or compiles for seconds, on a thread of its
    own that nobody has to wait for."""
    if global_compiler_lock.is_locked():  # by this thread: it compiles a function that calls this one
        return compile(signature)
    return not_awaited_if_stopped(partial(_compile_uncollected, compile, signature))


def _compile_uncollected(compile: Callable[[Any], Any], signature: Any) -> Any:
    """compile(signature) while Python's garbage collector rests, which would search again and again what
    Numba makes, for an eighth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return compile(signature)
    finally:
        if collects:
            gc.enable()


@intrinsic
def _fetch_add(typingctx, counter):
    def build(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(counter), build


@compiled
def take_next(counter):
    """counter[0], then one more: atomic, so that threads can share one queue."""
    return _fetch_add(counter)
