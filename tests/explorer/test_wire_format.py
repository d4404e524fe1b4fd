"""Binary messages: what is unpacked is what was packed, bit for bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.explorer.wire_format import pack, unpack


def test_packed_arrays_come_out_as_they_went_in_and_are_aligned() -> None:
    rng = np.random.default_rng(0)
    for words in range(12):
        arrays: dict[str, NDArray[Any]] = {
            "x": rng.standard_normal((3, 2, words)),
            "labels": rng.integers(-5, 5, (words, 3), dtype=np.int32),
            "bytes": rng.integers(0, 255, 5 + words, dtype=np.uint8),
            "last": np.array([np.nan, np.inf, -0.0]),
        }
        message = pack({"say": "frames", "id": words, "note": "β" * words}, arrays)
        header, found = unpack(message)
        assert header["note"] == "β" * words
        assert (4 + int.from_bytes(message[:4], "little")) % 8 == 0
        assert len(message) % 8 == 0
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array, equal_nan=array.dtype.kind == "f")
