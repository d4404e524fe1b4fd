"""Headers of safetensors files made to harm: refused with a reason, never a crash, never a hang."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from support.made_checkpoints import Made, make
from support.soak import SOAK
from support.time_limits import SECONDS_PER_FILE, within_cpu_seconds

from nucleate.checks import InputError
from nucleate.models.header import MAX_TENSORS, read_header
from nucleate.models.spectra import spectra

MUTANTS = 50_000 if SOAK else 10_000


def file_of(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def entry(begin: Any = 0, end: Any = 8, shape: Any = (2,), dtype: Any = "F32", **more: Any) -> dict[str, Any]:
    return {
        "dtype": dtype,
        "shape": list(shape) if isinstance(shape, tuple) else shape,
        "data_offsets": [begin, end],
        **more,
    }


EIGHT = bytes(8)


DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "too few"),
    "seven bytes": (b"\0" * 7, "too few"),
    "a header larger than the file": (file_of({}, length=1000), "announces a header of 1000 bytes"),
    "a header of 2^63 bytes": (file_of({}, length=2**63), "announces a header of 9223372036854775808"),
    "a header of 2^64 - 1 bytes": (file_of({}, length=2**64 - 1), "announces a header"),
    "a header of no bytes": (file_of(b""), "brace"),
    "a header that is a list": (file_of(b"[]"), "brace"),
    "a header that is no JSON": (file_of(b"{'a': 1}"), "not JSON"),
    "a header that is not UTF-8": (file_of(b'{"\xff\xfe": 1}'), "not UTF-8"),
    "a header with a lone surrogate as bytes": (file_of(b'{"\xed\xa0\x80": 1}'), "not UTF-8"),
    "a header of brackets without end": (file_of(DEEP), "not JSON"),
    "a number of 5000 digits": (
        file_of(b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,8]}}', EIGHT),
        "not JSON",
    ),
    "a name twice": (
        file_of(
            b'{"a":' + json.dumps(entry()).encode() + b',"a":' + json.dumps(entry()).encode() + b"}", EIGHT
        ),
        "'a' twice",
    ),
    "a name twice after 700,000 others": (
        file_of(b"{" + b",".join(b'"%x":0' % i for i in range(700_000)) + b',"z":0,"z":0}'),
        "'z' twice",
    ),
    "a key twice": (
        file_of(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', EIGHT),
        "'dtype' twice",
    ),
    "two tensors on the same bytes": (
        file_of({"a": entry(), "b": entry()}, EIGHT),
        "'a' ends at byte|'b' begins",
    ),
    "two tensors that overlap": (file_of({"a": entry(), "b": entry(4, 12)}, bytes(12)), "begins at byte"),
    "a hole between tensors": (file_of({"a": entry(), "b": entry(12, 20)}, bytes(20)), "begins at byte"),
    "bytes after the last tensor": (file_of({"a": entry()}, bytes(9)), "'the end' begins"),
    "bytes and no tensor": (file_of({}, EIGHT), "'the end' begins"),
    "a tensor beyond the file": (file_of({"a": entry(0, 80, (20,))}, EIGHT), "to byte 80 of 8"),
    "offsets the wrong way round": (file_of({"a": entry(8, 0)}, EIGHT), "from byte 8 to byte 0"),
    "negative offsets": (file_of({"a": entry(-8, 0)}, EIGHT), "no two places"),
    "offsets that are not whole": (file_of({"a": entry(0.0, 8.0)}, EIGHT), "no two places"),
    "offsets that are true": (file_of({"a": entry(False, True, (), "U8")}, b"\0"), "no two places"),
    "three offsets": (file_of({"a": {**entry(), "data_offsets": [0, 4, 8]}}, EIGHT), "no two places"),
    "a huge shape": (file_of({"a": entry(shape=(2**62, 2**62))}, EIGHT), "no list of sizes"),
    "a shape whose size overflows to the right one": (
        file_of({"a": entry(shape=(2**32, 2**32, 2))}, EIGHT),
        "has 8 bytes",
    ),
    "a negative shape": (file_of({"a": entry(shape=(-2,))}, EIGHT), "no list of sizes"),
    "a shape that is a number": (file_of({"a": entry(shape=2)}, EIGHT), "no list of sizes"),
    "33 dimensions": (file_of({"a": entry(shape=(1,) * 32 + (2,))}, EIGHT), "no list of sizes"),
    "a shape that does not fill its bytes": (file_of({"a": entry(shape=(3,))}, EIGHT), "has 8 bytes"),
    "an unknown dtype": (file_of({"a": entry(dtype="F99")}, EIGHT), "unknown dtype 'F99'"),
    "a dtype that is a list": (file_of({"a": entry(dtype=["F32"])}, EIGHT), "unknown dtype"),
    "a key too many": (file_of({"a": entry(extra=1)}, EIGHT), "dtype, shape and data_offsets alone"),
    "a tensor that is a text": (file_of({"a": "F32"}, EIGHT), "dtype, shape and data_offsets alone"),
    "metadata of numbers": (file_of({"__metadata__": {"a": 1}}), "__metadata__"),
    "metadata that is a list": (file_of({"__metadata__": []}), "__metadata__"),
    "100,000 names": (
        file_of({f"t{i}": entry(0, 0, (0,)) for i in range(100_000)}),
        f"{MAX_TENSORS} are the most",
    ),
    "a header of 17 MB of blanks": (file_of(b"{" + b" " * 17_000_000 + b"}"), "are the most that is read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_hostile_header_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    raw, reason = HOSTILE[name]
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    with within_cpu_seconds(SECONDS_PER_FILE), pytest.raises(InputError, match=reason) as told:
        read_header(path)
    assert len(str(told.value)) < 600
    with pytest.raises(InputError):
        spectra(tmp_path)


def mutant(raw: bytes, rng: np.random.Generator) -> bytes:
    """The file with a few bytes changed, cut, doubled or made up; most of the harm in the header."""
    data = bytearray(raw)
    size = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(rng.integers(1, 4)):
        at, kind = int(rng.integers(0, size if rng.random() < 0.8 else len(data))), rng.integers(0, 7)
        at = min(at, len(data) - 1)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            data[at] = int(rng.integers(0, 256))
        elif kind == 2:
            del data[at : at + int(rng.integers(1, 9))]
        elif kind == 3:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 4:
            data[at] = rng.choice(list(b'0123456789-[]{},:"eE.\\'))
        elif kind == 5:
            data[at:at] = data[max(at - 20, 0) : at]
        else:
            del data[int(rng.integers(at, len(data))) :]
        if not data:
            break
    return bytes(data)


@pytest.mark.soak(mutants=MUTANTS)
def test_ten_thousand_mutants_are_read_or_refused_and_never_more_trusted_than_by_the_library(
    tmp_path: Path,
) -> None:
    made = make("llama")
    small = {
        name: tensor.astype(np.float32)
        for name, tensor in made.tensors.items()
        if "layers.0.self" in name or "layers.0.input" in name
    }
    made = Made({**made.config, "num_hidden_layers": 1}, small, "llama")
    made.write(tmp_path)
    path = tmp_path / "model.safetensors"
    raw, rng, refused, read, odd = path.read_bytes(), np.random.default_rng(0), 0, 0, []
    for i in range(MUTANTS):
        path.write_bytes(mutant(raw, rng))
        with within_cpu_seconds(SECONDS_PER_FILE):
            try:
                names = read_header(path).keys()
                read += 1
                if read % 16 == 0:
                    spectra(tmp_path, draws=1)  # all the way: a number, a name or a shape may be damaged
            except InputError:
                names, refused = None, refused + 1
        if names is not None and not _library_reads(path, set(names)):
            odd.append(i)
    assert odd == [], "the library refuses what we trust"
    assert refused > MUTANTS / 2
    assert read > MUTANTS / 100, "mutants must also get past the header, or nothing behind it was tried"


def _library_reads(path: Path, names: set[str]) -> bool:
    try:
        with safe_open(path, framework="np") as file:
            return set(file.keys()) == names
    except (SafetensorError, ValueError, OSError):
        return False
