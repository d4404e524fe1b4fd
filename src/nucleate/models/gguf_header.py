"""The header of a GGUF file (versions 2 and 3), bounds-checked: the settings and where each tensor lies.

The `gguf` package reads on past the end of a damaged file, so only its tables and its dequantisation are
used.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from nucleate.checks import InputError
from nucleate.models.header import MAX_SIZE, MAX_TENSORS

__all__ = ["GgufEntry", "read_gguf"]

MAX_SETTINGS = 10_000
MAX_LIST_ITEMS = 4_000_000
MAX_NAME_BYTES = 65_535
MAX_TEXT_BYTES = 1_000_000
MAX_ITEM_BYTES = 10_000  # of a text in a list that is kept: no token is longer
NUMBER_FORMATS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
TEXT, ARRAY = 8, 9  # GGUF's numbers of these types


@dataclass(frozen=True)
class GgufEntry:
    """Where one tensor lies in its file."""

    kind: int  # ggml's number of the format
    shape: tuple[int, ...]  # rows first, as NumPy has it
    begin: int  # bytes from the start of the file
    end: int


def read_gguf(
    path: Path, data: Any, lists: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, GgufEntry]]:
    """The settings that are numbers or texts, and every tensor by its name, from the mapped bytes of a
    file. Of settings that are lists only those named in `lists` are kept, the others are None."""
    reader = _Reader(path, data)
    if reader.bytes(4) != b"GGUF":
        reader.refuse("it does not begin with GGUF")
    version = reader.number("<I")
    if version not in (2, 3):
        reader.refuse(f"it is of version {version}, and versions 2 and 3 are known")
    tensors, count = reader.count(MAX_TENSORS, "tensors"), reader.count(MAX_SETTINGS, "settings")
    settings: dict[str, Any] = {}
    for _ in range(count):
        key = reader.text(MAX_NAME_BYTES)
        if key in settings:
            reader.refuse(f"it has the setting {key[:80]!r} twice")
        settings[key] = reader.value(key in lists)
    rows = [reader.tensor() for _ in range(tensors)]
    align = settings.get("general.alignment", 32)
    if not isinstance(align, int) or align < 1 or align & (align - 1):
        reader.refuse(f"its alignment is {align!r}, which is no power of two")
    start = -(-reader.at // align) * align
    return settings, _placed(reader, rows, start)


class _Reader:
    """Reads on from a place in the file, and never past its end."""

    def __init__(self, path: Path, data: Any) -> None:
        self.path, self.data, self.at = path, data, 0

    def refuse(self, reason: str) -> NoReturn:
        raise InputError(
            f"{self.path} cannot be used: {reason}. The file is damaged or was made to harm; get it again"
            " from where it came."
        )

    def bytes(self, count: int) -> bytes:
        self.skip(count)
        return bytes(self.data[self.at - count : self.at])

    def skip(self, count: int) -> None:
        if count > len(self.data) - self.at:
            self.refuse(f"its header ends beyond the file, at byte {self.at + count} of {len(self.data)}")
        self.at += count

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.bytes(struct.calcsize(form)))[0]

    def count(self, most: int, what: str) -> int:
        found = int(self.number("<Q"))
        if found > most:
            self.refuse(f"it announces {found} {what}, and {most} are the most that is read")
        return found

    def text(self, max_bytes: int) -> str:
        raw = self.bytes(self.count(max_bytes, "letters"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.refuse("a text in it is not UTF-8")

    def value(self, keep: bool = False) -> Any:
        """A number or a text; for an array its items, if they are to be kept, else None."""
        kind = self.number("<I")
        if kind in NUMBER_FORMATS:
            return self.number(NUMBER_FORMATS[kind])
        if kind == TEXT:
            return self.text(MAX_TEXT_BYTES)
        if kind != ARRAY:
            self.refuse(f"a setting is of the unknown type {kind}")
        items, count = self.number("<I"), self.count(MAX_LIST_ITEMS, "items")
        if keep and items in NUMBER_FORMATS:
            form = NUMBER_FORMATS[items]
            return list(struct.unpack(f"<{count}{form[1]}", self.bytes(count * struct.calcsize(form))))
        if keep and items == TEXT:
            return [self.text(MAX_ITEM_BYTES) for _ in range(count)]
        if items in NUMBER_FORMATS:
            self.skip(count * struct.calcsize(NUMBER_FORMATS[items]))
        elif items == TEXT:
            for _ in range(count):
                self.skip(self.count(MAX_TEXT_BYTES, "letters"))
        else:
            self.refuse(f"a list in it has items of the unknown type {items}")
        return None

    def tensor(self) -> tuple[str, int, tuple[int, ...], int]:
        """Name, format, shape with rows first, and place after the header."""
        name, dimensions = self.text(MAX_NAME_BYTES), self.number("<I")
        if not 1 <= dimensions <= 4:
            self.refuse(f"tensor {name[:80]!r} has {dimensions} dimensions")
        shape = tuple(self.count(MAX_SIZE, "numbers along an axis") for _ in range(dimensions))
        return name, self.number("<I"), shape[::-1], self.number("<Q")


def _placed(
    reader: _Reader, rows: list[tuple[str, int, tuple[int, ...], int]], start: int
) -> dict[str, GgufEntry]:
    """Every tensor with its bytes, which lie inside the file and are shared with no other."""
    from gguf.constants import GGML_QUANT_SIZES

    found: dict[str, GgufEntry] = {}
    sizes = {int(kind): size for kind, size in GGML_QUANT_SIZES.items()}
    for name, kind, shape, offset in rows:
        if name in found:
            reader.refuse(f"it has the tensor {name[:80]!r} twice")
        if kind not in sizes:
            reader.refuse(f"tensor {name[:80]!r} is of the unknown format {kind}")
        per_block, size = sizes[kind]
        if shape[-1] % per_block:
            reader.refuse(
                f"tensor {name[:80]!r} has rows of {shape[-1]} numbers, which are no whole blocks of"
                f" {per_block}"
            )
        begin = start + offset
        end = begin + prod(shape) // per_block * size
        if end > len(reader.data):
            reader.refuse(f"tensor {name[:80]!r} ends at byte {end} of {len(reader.data)}")
        found[name] = GgufEntry(kind, shape, begin, end)
    ordered = sorted(found.items(), key=lambda pair: (pair[1].begin, pair[1].end))
    for (name, one), (other, two) in pairwise(ordered):
        if one.end > two.begin:
            reader.refuse(f"tensors {name[:80]!r} and {other[:80]!r} overlap")
    return found
