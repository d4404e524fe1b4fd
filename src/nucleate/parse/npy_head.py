"""The head of a .npy file: what its array is, said in a few bytes in front of the numbers."""

import io
from typing import IO, Any, NamedTuple

import numpy as np

__all__ = ["NpyHead", "npy_head"]

MAX_HEAD_BYTES = 10_000  # the most that NumPy takes to be safe; it looks when it has read all of it
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # of the number that says how long the head is, by version


class NpyHead(NamedTuple):
    """What the head of a .npy file says."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"


def npy_head(file: IO[bytes]) -> NpyHead:
    """The head of a .npy file that is open at its beginning, and stands behind the head then.  ValueError if
    it is none, or is said to be long: that is not read."""
    version = np.lib.format.read_magic(file)
    if version not in LENGTH_BYTES:
        raise ValueError(f"its version is {version}")
    length = file.read(LENGTH_BYTES[version])
    if (size := int.from_bytes(length, "little")) > MAX_HEAD_BYTES:
        raise ValueError(f"it is said to have {size} bytes")
    head = io.BytesIO(length + file.read(size))
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(head)
    else:  # 3 is 2 with names of fields in other letters
        shape, _, dtype = np.lib.format.read_array_header_2_0(head)
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"its shape is {shape}")
    return NpyHead(shape, dtype)
