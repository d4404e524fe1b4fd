"""The head of a .npy file: read if it is short, and otherwise not at all."""

import io
import struct
from typing import Any

import numpy as np
import pytest

from nucleate.parse.npy_head import MAX_HEAD_BYTES, npy_head


def npy(array: Any, version: tuple[int, int]) -> io.BytesIO:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    file.seek(0)
    return file


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("array", [np.zeros((2, 3)), np.zeros((0, 4), "<i4").T, np.array("words")], ids=str)
def test_it_says_what_the_array_is_and_the_numbers_follow(version: tuple[int, int], array: Any) -> None:
    file = npy(array, version)
    assert npy_head(file) == (array.shape, array.dtype)
    assert file.read() == array.tobytes("A")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_long_head_is_not_read(version: int) -> None:
    length = struct.pack("<H" if version == 1 else "<L", MAX_HEAD_BYTES + 1)
    file = io.BytesIO(b"\x93NUMPY" + bytes((version, 0)) + length + b" " * 20_000)
    with pytest.raises(ValueError, match="said to have 10001 bytes"):
        npy_head(file)
    assert file.tell() == 8 + len(length)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x04\x00\x02\x00\x00\x00{}",
        b"\x93NUMPY\x01\x00",
        b"\x93NUMPY\x01\x00\x02\x00{}",
        b"\x93NUMPY\x02\x00\x09\x00\x00\x00{}",
    ],
)
def test_what_is_no_head_is_refused(head: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        npy_head(io.BytesIO(head))
