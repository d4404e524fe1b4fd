"""Folders of Zarr and .npz files as a stranger may send them."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.pickles import Harm

from nucleate.studies.store import _checksums_json

Table = dict[str, Any]


def edit_json(path: Path, change: Callable[[Table], object]) -> None:
    """Change the table in a JSON file."""
    table = json.loads(path.read_bytes())
    change(table)
    path.write_text(json.dumps(table))


def pickle_in_format_2(path: Path, mark: Path) -> None:
    """A folder that takes itself for an ensemble, whose arrays are of Zarr's format 2 with a filter that
    unpickles: it makes `mark` when xarray opens it, with numcodecs before 0.16.6."""
    (path / "run").mkdir(parents=True)
    (path / "checksums").mkdir()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / ".zattrs").write_text(json.dumps({"study": "{}"}))
    array = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None, "order": "C"}
    filters = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]
    (path / "run/.zarray").write_text(json.dumps({**array, "compressor": None, "filters": filters}))
    (path / "run/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["run"]}')
    (path / "run/0").write_bytes(pickle.dumps(Harm(mark)))
    write_manifest(path, {})


def write_manifest(path: Path, files: dict[str, str], **changes: Any) -> None:
    """Checksums that match themselves: anyone can write such."""
    study = {"grid": {}, "title": "", "observables": {}}
    content = {"identity": "", "runs": 1, "study": study, "made_with": {}, "files": files, "processors": []}
    (path / "checksums/zarr.json").write_bytes(_checksums_json({**content, **changes}))


def _set(key: str, value: Any) -> Callable[[Table], object]:
    return lambda table: table.__setitem__(key, value)


def _codecs(*codecs: Table) -> Callable[[Table], object]:
    return _set("codecs", list(codecs))


BYTES: Table = {"name": "bytes", "configuration": {"endian": "little"}}
SHARDS: Table = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [1, 1, 1], "codecs": [BYTES], "index_codecs": [BYTES]},
}
GRID: Table = {"name": "regular", "configuration": {"chunk_shape": [12, 9, 2]}}
# what x/zarr.json of a run may be made to say, and a part of the refusal
ARRAYS: dict[str, tuple[Callable[[Table], object], str]] = {
    "format 2": (_set("zarr_format", 2), "not of Zarr's format 3"),
    "a group": (_set("node_type", "dataset"), "does not describe an array"),
    "a pickle": (_codecs({"name": "numcodecs.pickle", "configuration": {"protocol": 5}}), "codecs"),
    "a pickle behind bytes": (_codecs(BYTES, {"name": "numcodecs.pickle"}), "codecs"),
    "a codec by its module": (_codecs({"name": "os.system"}), "codecs"),
    "shards": (_codecs(SHARDS), "codecs"),
    "compressed twice": (_codecs(BYTES, {"name": "zstd"}, {"name": "zstd"}), "codecs"),
    "gzip": (_codecs(BYTES, {"name": "gzip", "configuration": {"level": 1}}), "codecs"),
    "codecs that are no list": (_set("codecs", 7), "no list of codecs"),
    "no codecs": (_codecs(), "codecs"),
    "texts": (_set("data_type", "string"), "only numbers"),
    "bytes": (_set("data_type", "variable_length_bytes"), "only numbers"),
    "objects": (_set("data_type", "object"), "only numbers"),
    "records": (_set("data_type", {"name": "structured", "configuration": {"fields": []}}), "only numbers"),
    "no type": (lambda table: table.pop("data_type"), "only numbers"),
    "a negative shape": (_set("shape", [12, -9, 2]), "no list of sizes"),
    "a shape of truths": (_set("shape", [True, 9, 2]), "no list of sizes"),
    "a shape of halves": (_set("shape", [12.0, 9, 2]), "no list of sizes"),
    "a shape beyond all": (_set("shape", [2**60, 9, 2]), "no list of sizes"),
    "a hundred axes": (_set("shape", [1] * 100), "no list of sizes"),
    "irregular chunks": (_set("chunk_grid", {"name": "rectilinear"}), "not regular"),
    "chunks of another shape": (
        _set("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [12]}}),
        "do not fit its shape",
    ),
    "chunks of nothing": (
        _set("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [0, 9, 2]}}),
        "do not fit its shape",
    ),
    "a huge chunk": (
        _set("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [12, 9, 2**23]}}),
        "chunks of 7247757312 bytes for an array of 1728",
    ),
    "chunks of other names": (_set("chunk_key_encoding", {"name": "v2"}), "unknown way"),
    "a transformer": (_set("storage_transformers", [{"name": "any"}]), "unknown way"),
    "axes without names": (_set("dimension_names", ["time"]), "names of axes"),
    "axes of numbers": (_set("dimension_names", [1, 2, 3]), "names of axes"),
    "an unknown entry": (_set("run_this", "rm"), "unknown entry 'run_this'"),
    "attributes that are a list": (_set("attributes", []), "no table"),
}


def deep_json(depth: int = 100_000) -> bytes:
    """JSON nested so deep that a parser which calls itself gives up."""
    return b'{"attributes":' + b"[" * depth + b"]" * depth + b"}"


def huge_file(path: Path, size: int) -> None:
    """A file of that size that takes no room."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        os.truncate(file.fileno(), size)
