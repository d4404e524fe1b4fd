"""Where numbers come from: parts of tensors as doubles, out of mapped files or a loaded model, one tensor at
a time."""

import mmap
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, FileError, InputError, MissingPackageError, regular_file
from nucleate.models.gguf_header import GgufEntry, read_gguf
from nucleate.models.header import Entry, read_header

__all__ = ["GgufWeights", "LoadedWeights", "SafetensorsWeights", "Weights"]

STORED_AS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
UNQUANTISED = {0: "F32", 1: "F16", 28: "F64", 30: "BF16"}  # ggml's numbers
LOADED_AS = ("float64", "float32", "float16", "bfloat16")  # torch's names
EVERYTHING = slice(None)


class Weights(ABC):
    """Tensors by name."""

    shapes: Mapping[str, tuple[int, ...]]
    kinds: Mapping[str, str]  # how the numbers are stored, such as BF16

    @abstractmethod
    def _raw(self, name: str, rows: slice, columns: slice, dtype: type[Any]) -> NDArray[Any]:
        """That part of a tensor as numbers of this type."""

    def part(self, name: str, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Array:
        """Rows and columns of a matrix, or places `rows` of a vector, as finite doubles."""
        return self._finite(name, rows, columns, np.float64)

    def whole(self, name: str, dtype: type[Any], rows: slice = EVERYTHING) -> NDArray[Any]:
        """A tensor, or rows of it, as finite numbers of this type, float32 or float64."""
        return self._finite(name, rows, EVERYTHING, dtype)

    def _finite(self, name: str, rows: slice, columns: slice, dtype: type[Any]) -> NDArray[Any]:
        found = self._raw(name, rows, columns, dtype)
        if not np.isfinite(found).all():
            raise InputError(
                f"The tensor {name} must hold finite numbers, but holds {_count(~np.isfinite(found))} NaN or"
                " infinite ones. Get the model again."
            )
        return found

    def forget(self) -> None:  # noqa: B027  # a loaded model has nothing to give back
        """Give back the memory that reading has taken."""


class SafetensorsWeights(Weights):
    """One or many safetensors files, mapped; a page is in memory only while it is being read."""

    def __init__(self, paths: list[Path]) -> None:
        self._maps = [_Mapped(path) for path in paths]
        self._where: dict[str, tuple[int, Entry]] = {}
        for i, path in enumerate(paths):
            for name, entry in read_header(path).items():
                if name in self._where:
                    raise InputError(
                        f"{path} and {paths[self._where[name][0]].name} both hold the tensor {name[:80]!r}."
                        " Remove the file that does not belong."
                    )
                self._where[name] = i, entry
        self.shapes = {name: entry.shape for name, (_, entry) in self._where.items()}
        self.kinds = {name: entry.dtype for name, (_, entry) in self._where.items()}

    def holder(self, name: str) -> str | None:
        """The file that holds a tensor."""
        return self._maps[self._where[name][0]].path.name if name in self._where else None

    def _raw(self, name: str, rows: slice, columns: slice, dtype: type[Any]) -> NDArray[Any]:
        i, entry = self._where[name]
        if entry.dtype not in STORED_AS:
            raise InputError(
                f"The tensor {name} is stored as {entry.dtype}, and {', '.join(STORED_AS)} can be read."
                " Convert the model to one of these."
            )
        stored = np.frombuffer(
            self._maps[i].bytes(entry.end),
            STORED_AS[entry.dtype],
            -(-(entry.end - entry.begin) * 8 // _bits(entry.dtype)),
            entry.begin,
        )
        return floats(_cut(stored.reshape(entry.shape), rows, columns), entry.dtype, dtype)

    def forget(self) -> None:
        for one in self._maps:
            one.forget()


class GgufWeights(Weights):
    """A GGUF file, mapped; quantised tensors are dequantised as they are read."""

    def __init__(self, path: Path) -> None:
        try:
            import gguf  # noqa: F401  # only whether it is there
        except ImportError as error:
            raise MissingPackageError(
                f"{path} needs the package gguf, which cannot be imported ({error}). Install it: python -m"
                ' pip install "nucleate[models]"'
            ) from None
        size = regular_file(path)
        self._map = _Mapped(path)
        self.settings, self._where = read_gguf(path, self._map.bytes(size)) if size else read_gguf(path, b"")
        self.shapes = {name: entry.shape for name, entry in self._where.items()}
        self.kinds = {name: _ggml_name(entry.kind) for name, entry in self._where.items()}
        self._kept: tuple[str, Array] | None = None

    def _raw(self, name: str, rows: slice, columns: slice, dtype: type[Any]) -> NDArray[Any]:
        entry = self._where[name]
        if columns == EVERYTHING:
            return self._rows(entry, rows, dtype)
        # Columns cut through the blocks of a quantised row: the whole tensor is kept for the other heads.
        if self._kept is None or self._kept[0] != name:
            self._kept = name, self._rows(entry, EVERYTHING, np.float64)
        return self._kept[1][rows, columns]

    def _rows(self, entry: GgufEntry, rows: slice, dtype: type[Any]) -> NDArray[Any]:
        raw = self._stored(entry)
        if entry.kind in UNQUANTISED:
            kind = UNQUANTISED[entry.kind]
            return floats(_cut(raw.view(STORED_AS[kind]).reshape(entry.shape), rows, EVERYTHING), kind, dtype)
        from gguf.constants import GGMLQuantizationType
        from gguf.quants import dequantize

        try:
            with np.errstate(all="ignore"):  # damaged scales make numbers that are refused later, by name
                made = dequantize(
                    _cut(raw.reshape(*entry.shape[:-1], -1), rows, EVERYTHING),
                    GGMLQuantizationType(entry.kind),
                )
        except NotImplementedError:
            raise InputError(
                f"Tensors stored as {_ggml_name(entry.kind)} cannot be read. Use a file with another"
                " quantisation, such as Q8_0 or F16."
            ) from None
        return np.asarray(made, dtype=dtype)

    def quantised(self, name: str) -> bool:
        """Whether reading a tensor takes more than a change of type."""
        return self._where[name].kind not in UNQUANTISED

    def stored(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a tensor as they are in the file."""
        return self._stored(self._where[name])

    def _stored(self, entry: GgufEntry) -> NDArray[np.uint8]:
        return np.frombuffer(self._map.bytes(entry.end), np.uint8, entry.end - entry.begin, entry.begin)

    def forget(self) -> None:
        self._kept = None
        self._map.forget()


class LoadedWeights(Weights):
    """A model of the transformers library that is in memory already."""

    def __init__(self, model: Any) -> None:
        self._tensors = dict(model.state_dict())
        self.shapes = {
            name: tuple(int(size) for size in tensor.shape) for name, tensor in self._tensors.items()
        }
        self.kinds = {
            name: str(tensor.dtype).removeprefix("torch.") for name, tensor in self._tensors.items()
        }

    def _raw(self, name: str, rows: slice, columns: slice, dtype: type[Any]) -> NDArray[Any]:
        tensor = self._tensors[name]
        if self.kinds[name] not in LOADED_AS:  # quantised weights: their numbers are codes
            raise InputError(
                f"The tensor {name} is loaded as {self.kinds[name]}, and {', '.join(LOADED_AS)} can be read."
                " Load the model as one of these."
            )
        if str(getattr(tensor, "device", "cpu")) == "meta":
            raise InputError(
                f"The tensor {name} is not in memory, but on the device meta. Load the whole model, without"
                " offloading."
            )
        part = _cut(tensor, rows, columns).detach().cpu()
        return np.array((part.float() if dtype is np.float32 else part.double()).numpy())


class _Mapped:
    """A file that is mapped when it is first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map: mmap.mmap | None = None

    def bytes(self, end: int) -> mmap.mmap:
        """The bytes of the file, at least `end` of them."""
        if self._map is None:
            try:
                with self.path.open("rb") as file:
                    self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                raise FileError(
                    f"{self.path} cannot be read. Check that you may read it, and that nothing else writes"
                    " to it."
                ) from None
        if len(self._map) < end:
            raise InputError(
                f"{self.path} has become shorter while it was read. Wait until nothing writes to it."
            )
        return self._map

    def forget(self) -> None:
        if self._map is not None and hasattr(self._map, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
            # a read-only map: the pages come back from the file if they are asked for again
            self._map.madvise(mmap.MADV_DONTNEED)


def floats(stored: NDArray[Any], kind: str, dtype: type[Any]) -> NDArray[Any]:
    """Stored numbers as numbers of this type; bfloat16 is the upper half of a float32."""
    if kind == "BF16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(dtype, copy=False)
    # a NaN that signals, and what is too large for single precision, are refused later, by name
    with np.errstate(invalid="ignore", over="ignore"):
        return stored.astype(dtype)  # a copy: the file may change under a view of it


def _cut(tensor: Any, rows: slice, columns: slice) -> Any:
    return tensor[rows] if columns == EVERYTHING else tensor[rows, columns]


def _bits(kind: str) -> int:
    return 8 * np.dtype(STORED_AS[kind]).itemsize


def _ggml_name(kind: int) -> str:
    from gguf.constants import GGMLQuantizationType

    return str(GGMLQuantizationType(kind).name)


def _count(where: NDArray[np.bool_]) -> int:
    return int(where.sum())
