"""The card: whether there is one, and how functions are compiled for it and launched.

Threads of a study share the card.  Numba loads a kernel onto it at its first launch, and two threads that do
so at once damage what it keeps of them; so kernels are made and launched by one thread at a time.
"""

import importlib.util
import threading
from collections.abc import Callable
from functools import cache, wraps
from importlib.metadata import version
from typing import Any

import numba
from numba import cuda

from nucleate.checks import InputError, MissingPackageError

__all__ = [
    "SIMULATED",
    "allow_shared_memory",
    "card_name",
    "check_gpu",
    "cuda_version",
    "device_function",
    "free_memory",
    "kernel",
    "made_once",
    "shared_memory",
]

numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a single run is no reason for a warning
SIMULATED = bool(numba.config.ENABLE_CUDASIM)  # NUMBA_ENABLE_CUDASIM=1: kernels run in Python, for tests
ORDINARY_SHARED_BYTES = 48 * 1024  # of a block, that need not be asked for
ONE_THREAD = threading.RLock()  # held while a kernel is made or launched
SIMULATED_SHARED_BYTES, SIMULATED_FREE_BYTES = 48 * 1024, 2**28


def check_gpu() -> None:
    """Refuse where there is no card, or no package for it."""
    if SIMULATED:
        return
    if importlib.util.find_spec("numba_cuda") is None:
        raise MissingPackageError(
            'device="gpu" needs the package numba-cuda, which is not installed. Run: pip install'
            ' "nucleate[gpu]".'
        )
    if not cuda.is_available():
        raise InputError(
            'device="gpu" needs an NVIDIA card that CUDA can use, but none is found. Leave device out to use'
            " the CPU, or see what nvidia-smi says."
        )


def card_name() -> str:
    """What kind of card it is."""
    check_gpu()
    if SIMULATED:
        return "simulated"
    name = cuda.get_current_device().name
    return name if isinstance(name, str) else str(name.decode())


def cuda_version() -> str:
    """Of the package that compiles for it."""
    return "simulated" if SIMULATED else version("numba-cuda")


def device_function(function: Callable[..., Any]) -> Any:
    """A function that kernels call; one that is compiled for the CPU is compiled again, for the card."""
    return cuda.jit(device=True)(getattr(function, "py_func", function))


def kernel(
    *key: object, registers: int | None = None, fastmath: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """`numba.cuda.jit`, kept on the disk under `key`, which says all that the function is compiled for; with
    at most so many registers a thread; `fastmath` for kernels that look for no NaN and round by no trick."""
    options: dict[str, Any] = {"fastmath": fastmath}
    if SIMULATED:
        return cuda.jit(**options)
    if registers is not None:
        options["max_registers"] = registers

    def compile_one(function: Callable[..., Any]) -> Any:
        from nucleate.gpu.kernel_cache import keep

        return Kernel(keep(cuda.jit(**options)(function), key))

    return compile_one


class Kernel:
    """A kernel that one thread at a time launches: kernel[grid, threads, stream, shared](*arguments)."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        def launch(*arguments: Any) -> None:
            with ONE_THREAD:
                self.dispatcher[configuration](*arguments)

        return launch


def made_once(make: Callable[..., Any]) -> Callable[..., Any]:
    """`functools.cache` for what makes kernels: never twice, though several threads ask at once."""
    kept = cache(make)

    @wraps(make)
    def made(*arguments: Any) -> Any:
        with ONE_THREAD:
            return kept(*arguments)

    return made


def shared_memory() -> int:
    """Bytes of fast memory that one block may have."""
    if SIMULATED:
        return SIMULATED_SHARED_BYTES
    return int(cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)


def free_memory() -> int:
    """Bytes that are free on the card."""
    return SIMULATED_FREE_BYTES if SIMULATED else int(cuda.current_context().get_memory_info()[0])


def allow_shared_memory(compiled: Kernel, size: int, arguments: tuple[Any, ...]) -> None:
    """Let a kernel have more than the ordinary amount, for which Numba has no option."""
    if SIMULATED or size <= ORDINARY_SHARED_BYTES:
        return
    from cuda.bindings import driver
    from numba.cuda.typing.typeof import typeof

    with ONE_THREAD:
        code = compiled.dispatcher.compile(tuple(map(typeof, arguments)))._codelibrary
        handle = code.get_cufunc().handle
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    (error,) = driver.cuKernelSetAttribute(attribute, size, handle, driver.cuCtxGetDevice()[1])
    if error != driver.CUresult.CUDA_SUCCESS:
        raise InputError(f"The card refused {size} bytes of shared memory ({error}). Use fewer tokens.")
