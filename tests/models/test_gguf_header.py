"""Headers of GGUF files made to harm: refused with a reason."""

import struct
from pathlib import Path

import pytest
from support.time_limits import SECONDS_PER_FILE, within_cpu_seconds

from nucleate.checks import InputError
from nucleate.models.spectra import spectra


def text(words: bytes) -> bytes:
    return struct.pack("<Q", len(words)) + words


def gguf_of(
    settings: bytes = b"",
    tensors: bytes = b"",
    counts: tuple[int, int] = (0, 0),
    version: int = 3,
    data: bytes = b"",
) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, *counts) + settings + tensors + data


def tensor(name: bytes = b"t", shape: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    return (
        text(name)
        + struct.pack("<I", len(shape))
        + b"".join(struct.pack("<Q", n) for n in shape)
        + struct.pack("<IQ", kind, offset)
    )


ARRAY = text(b"a") + struct.pack("<I", 9)


HOSTILE = {
    "empty": (b"", "cannot be read|ends beyond"),
    "another file": (b"PK\x03\x04" * 20, "does not begin with GGUF"),
    "an unknown version": (gguf_of(version=9), "version 9"),
    "2^63 tensors": (gguf_of(counts=(2**63, 0)), "announces 9223372036854775808 tensors"),
    "2^40 settings": (gguf_of(counts=(0, 2**40)), "announces 1099511627776 settings"),
    "settings that are not there": (gguf_of(counts=(0, 3)), "ends beyond the file"),
    "a list of 2^60 numbers": (gguf_of(ARRAY + struct.pack("<IQ", 4, 2**60), counts=(0, 1)), "items, and"),
    "a list of 4 million texts in no bytes": (
        gguf_of(ARRAY + struct.pack("<IQ", 8, 4_000_000), counts=(0, 1)),
        "ends beyond the file",
    ),
    "a list of lists": (gguf_of(ARRAY + struct.pack("<IQ", 9, 1), counts=(0, 1)), "unknown type 9"),
    "a setting twice": (gguf_of(2 * (text(b"a") + struct.pack("<II", 4, 1)), counts=(0, 2)), "'a' twice"),
    "a text that is not UTF-8": (
        gguf_of(text(b"\xff") + struct.pack("<II", 4, 1), counts=(0, 1)),
        "not UTF-8",
    ),
    "an alignment of 3": (
        gguf_of(text(b"general.alignment") + struct.pack("<II", 4, 3), counts=(0, 1)),
        "no power of two",
    ),
    "a tensor twice": (gguf_of(tensors=2 * tensor(), counts=(2, 0), data=bytes(999)), "'t' twice"),
    "tensors that overlap": (
        gguf_of(tensors=tensor() + tensor(b"u"), counts=(2, 0), data=bytes(999)),
        "overlap",
    ),
    "a tensor beyond the file": (
        gguf_of(tensors=tensor(shape=(2**40,)), counts=(1, 0), data=bytes(99)),
        "ends at byte",
    ),
    "a tensor at 2^63": (
        gguf_of(tensors=tensor(offset=2**63), counts=(1, 0), data=bytes(99)),
        "ends at byte",
    ),
    "an unknown format": (
        gguf_of(tensors=tensor(kind=999), counts=(1, 0), data=bytes(999)),
        "unknown format 999",
    ),
    "99 dimensions": (
        gguf_of(tensors=tensor(shape=(1,) * 99), counts=(1, 0), data=bytes(999)),
        "99 dimensions",
    ),
    "half a block": (
        gguf_of(tensors=tensor(shape=(31,), kind=8), counts=(1, 0), data=bytes(999)),
        "no whole blocks",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_hostile_file_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    raw, reason = HOSTILE[name]
    (tmp_path / "a.gguf").write_bytes(raw)
    with within_cpu_seconds(SECONDS_PER_FILE), pytest.raises(InputError, match=reason):
        spectra(tmp_path / "a.gguf")
