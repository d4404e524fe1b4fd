"""Arrays over a websocket: the length of a JSON header, the header, then the arrays, everything padded to
eight bytes."""

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALIGNMENT_BYTES", "DTYPES", "pack", "unpack"]

ALIGNMENT_BYTES = 8  # so that a browser can read the arrays where they lie, without a copy
DTYPES = {"f8": "<f8", "i4": "<i4", "u1": "|u1"}  # the name on the wire -> little-endian NumPy


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """One binary message; the type of an array says how it goes: doubles f8, integers i4, bytes u1."""
    parts, listed = [], []
    for name, array in arrays.items():
        kind = "f8" if array.dtype.kind == "f" else "u1" if array.dtype == np.uint8 else "i4"
        data = np.ascontiguousarray(array, dtype=DTYPES[kind]).tobytes()
        parts.append(data + bytes(-len(data) % ALIGNMENT_BYTES))
        listed.append({"name": name, "dtype": kind, "shape": list(array.shape)})
    text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT_BYTES)
    return b"".join([struct.pack("<I", len(text)), text, *parts])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a binary message: what the page does, in Python."""
    (length,) = struct.unpack_from("<I", message)
    header = json.loads(message[4 : 4 + length])
    at, arrays = 4 + length, {}
    for one in header["arrays"]:
        kind, count = np.dtype(DTYPES[one["dtype"]]), int(np.prod(one["shape"], dtype=np.int64))
        arrays[one["name"]] = np.frombuffer(message, kind, count, at).reshape(one["shape"])
        at += -(-count * kind.itemsize // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return header, arrays
