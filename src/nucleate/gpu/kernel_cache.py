"""Kernels kept on the disk, beside the compiled code of the CPU, under what they are compiled for.

Numba's own cache asks for the bytes of all that a kernel's closure holds, which differ from process to
process.
"""

from typing import Any

from numba import cuda
from numba.cuda.core.caching import _Cache
from numba.cuda.dispatcher import _Kernel

from nucleate.gpu.device import cuda_version
from nucleate.kernels.code_cache import CodeFiles, code_files, say_unkept

__all__ = ["keep"]


def keep(dispatcher: Any, key: tuple[object, ...]) -> Any:
    """The same kernel, which looks for its code on the disk first."""
    function = dispatcher.py_func
    files = code_files(function.__module__, function.__name__)
    if files is not None:
        dispatcher._cache = KernelCache(files, (cuda_version(), *key))
    return dispatcher


class KernelCache(_Cache):
    """As Numba wants it."""

    def __init__(self, files: CodeFiles, key: tuple[object, ...]) -> None:
        self.files, self.key = files, key

    @property
    def cache_path(self):
        return str(self.files.folder)

    def load_overload(self, sig, target_context):
        target_context.refresh()
        try:
            state: Any = self.files.load(self._full_key(sig))
            return None if state is None else _Kernel._rebuild(**state)
        except Exception:  # of any kind: made by other versions, perhaps
            return None

    def save_overload(self, sig, data):
        try:
            self.files.save(self._full_key(sig), data._reduce_states())
        except OSError as error:
            say_unkept(error)

    def _full_key(self, sig):
        device = cuda.get_current_device()
        return str(sig), device.compute_capability, self.key

    def enable(self):
        pass

    def disable(self):
        pass

    def flush(self):
        pass
