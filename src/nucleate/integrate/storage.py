"""A run on disk: Zarr (format 3) or .npz, complete, written in one piece, and checked when read.

Inside: every array of the run and of its model, and as JSON texts the mask, settings, notes, status and
version. A model that is more than one softmax head stands as `stored_models` writes it, in a format of its
own number. The attribute `sha256` holds a checksum of each array and of all texts. `load` refuses what does
not match it, so that a lost chunk, which Zarr would read as fill values, is never taken for a result.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate import __version__
from nucleate.attention import Attention, Frozen
from nucleate.checks import FileError, InputError, MissingFileError, as_path, check_memory, file_error
from nucleate.conveniences import convenience
from nucleate.integrate.npz_files import npz_heads, npz_names, read_npz
from nucleate.integrate.run import Run
from nucleate.integrate.stored_hidden_states import (
    check_depth_shapes,
    depth_arrays,
    depth_texts,
    is_over_depth,
    read_depth_run,
)
from nucleate.integrate.stored_models import fits_model, is_model_array, read_model, stored_model
from nucleate.integrate.zarr_files import (
    JSON_GROWTH,
    MAX_JSON_BYTES,
    StoredArray,
    check_zarr,
    read_json,
    zarr_shape,
)
from nucleate.layers import Model, as_model
from nucleate.parse.mask import mask_text, parse_mask
from nucleate.parse.npy_head import NpyHead

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["check_place", "check_target", "followed", "load", "replacing", "run_shape", "save", "to_xarray"]

FORMAT = "nucleate run 1"  # of one softmax head without positions
FAMILY_FORMAT = "nucleate run 2"  # of all other models
DEPTH_FORMAT = "nucleate run 3"  # of hidden states of a real transformer
DATA = (".zarr", ".npz")
PICTURES = (".png", ".pdf", ".svg", ".gif", ".mp4")
BESIDE = ".nucleate-"  # begins the names of folders with what is being written
AGAIN = "Restore it from a copy, or run the simulation again."


class Variable(NamedTuple):
    """An array with the names of its axes and a description, as xarray takes it."""

    dims: tuple[str, ...]
    data: NDArray[Any]
    attrs: dict[str, str]


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write `run` to `path`; the ending of the name says what: data, a picture or an animation."""
    path = check_target(path)
    if path.suffix.lower() in PICTURES:
        convenience("Run.save, pictures")(run, path)
        return
    folder = path.suffix.lower() == ".zarr"
    put = _put_zarr if folder else _put_npz
    with replacing(path, folder) as part:
        put(part, *_sealed(*_contents(run)))


def load(path: str | os.PathLike[str]) -> Run:
    """The run saved at `path` (.zarr or .npz), after its checksums were compared."""
    path = Path(path)
    if path.suffix.lower() not in DATA:
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'}, but runs are kept as {' or '.join(DATA)}. Pass"
            " a path that run.save wrote."
        )
    if not path.exists():
        raise MissingFileError(f"{path} does not exist. Pass a path that run.save wrote.")
    if not _holds_run(path):
        raise InputError(
            f"{path} is not a nucleate run, or its head is damaged. Pass a path that run.save wrote."
        )
    try:
        variables, texts = _get_zarr(path) if path.suffix.lower() == ".zarr" else _get_npz(path)
        _compare(variables, texts)
        return _run(variables, texts)
    except InputError as error:
        words = str(error)
        raise InputError(
            words if words.startswith(str(path)) else f"{path} cannot be used. {words}"
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # damaged bytes can raise anything at all inside the readers
        raise InputError(f"{path} is damaged: {type(error).__name__} while reading it. {AGAIN}") from None


def to_xarray(run: Run) -> "Dataset":
    """`run` as an xarray Dataset."""
    import xarray

    variables, texts = _contents(run)
    made = xarray.Dataset({name: tuple(variable) for name, variable in variables.items()}, attrs=texts)
    if run.tokens is None:
        return made
    words = np.array(run.tokens, dtype=str)  # (n,) or (b, n)
    return made.assign_coords(word=(("run", "token")[-words.ndim :], words))


def check_target(path: str | os.PathLike[str]) -> Path:
    """`path`, if a run can be written there: a known ending, a writable folder, and nothing of value in its
    place."""
    path = as_path("path", path)
    suffix = path.suffix.lower()
    if suffix not in DATA + PICTURES:
        raise InputError(
            f"{path} has the ending {suffix or '(none)'}, but nucleate writes {', '.join(DATA + PICTURES)}."
            " Choose one of these."
        )
    folder = followed(path).parent
    if not folder.is_dir():
        raise MissingFileError(
            f"{path} cannot be written: the folder {folder} does not exist. Make it first."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"{path} cannot be written: the folder {folder} is read-only. Choose another.")
    if path.exists() and not (path.is_file() if suffix in PICTURES else _holds_run(path)):
        raise InputError(
            f"{path} exists and is not a nucleate run, so it is not replaced. Choose another name, or move it"
            " away."
        )
    if suffix == ".mp4":
        convenience("Run.save, mp4")()  # refuses where there is no program that makes such files
    return path


def followed(path: Path) -> Path:
    """`path`, or what it leads to if it is a link: the place to write to. A link that leads nowhere is
    refused."""
    if not path.is_symlink():
        return path
    try:
        return Path(os.path.realpath(path, strict=True))
    except OSError as error:
        raise file_error(
            f"{path} is a link to {os.readlink(path)}, which cannot be written: {error.strerror}. Mend the"
            " link, or remove it.",
            error,
        ) from None


def check_place(path: Path, folder: bool = False) -> Path:
    """`path`, followed, if a file can be put there, or a folder: it takes the place of nothing but its
    like."""
    path = followed(path)
    if path.exists() and not (path.is_dir() if folder else path.is_file()):
        what = "a folder" if path.is_dir() else "a file" if path.is_file() else "no ordinary file"
        raise FileError(
            f"{path} cannot be written: it is {what}, and that is not replaced. Choose another name, or move"
            " it away."
        )
    return path


@contextmanager
def replacing(path: Path, folder: bool = False) -> Iterator[Path]:
    """A name beside `path` to write a file under, or a folder. It takes the place of `path` at the end, or
    vanishes if anything fails. If `path` is a link, what it leads to is replaced."""
    name, path = path.name, check_place(path, folder)
    try:
        with TemporaryDirectory(prefix=BESIDE, dir=path.parent, ignore_cleanup_errors=True) as beside:
            part, old = Path(beside, name), Path(beside, "old")
            yield part
            if folder and path.is_dir():  # a folder cannot be replaced by renaming, only moved out of the way
                os.rename(path, old)
            try:
                os.replace(part, path)
            except OSError:
                if old.exists():
                    os.rename(old, path)
                raise
            shutil.rmtree(old, ignore_errors=True)
    except InputError:  # it has words already, though it may be an OSError too
        raise
    except OSError as error:
        raise file_error(
            f"{path} cannot be written: {error.strerror or error}. What was there before is untouched.", error
        ) from error


def _contents(run: Run) -> tuple[dict[str, Variable], dict[str, str]]:
    """Every array and every text that makes up a run."""
    if run.over_depth:
        arrays = {name: Variable(dims, data, _about(about)) for name, dims, data, about in depth_arrays(run)}
        return arrays, _texts(run, DEPTH_FORMAT, depth_texts(run))
    lead = ("run",) if run.x.ndim == 4 else ()
    axes = (*lead, "time", "token", "coordinate")
    variables = {
        "time": Variable(("time",), run.t, _about("time, which is depth")),
        "x": Variable(axes, run.x, _about("tokens on the unit sphere; NaN: not reached")),
        "steps": Variable(
            ("run",)[: np.ndim(run.steps)],
            np.asarray(run.steps, dtype=np.int64),
            _about("accepted steps of the solver"),
        ),
    }
    if run.norms is not None:
        variables["norms"] = Variable(
            axes[:-1], run.norms, _about("lengths of the tokens, whose directions are x")
        )
    model_variables, words = _model_contents(run.model)
    texts = _texts(run, FAMILY_FORMAT if "model" in words else FORMAT, words)
    return {**variables, **model_variables}, texts


def _texts(run: Run, format: str, words: dict[str, str]) -> dict[str, str]:
    return {
        "format": format,
        "nucleate_version": __version__,
        **words,
        "status": _json("status", run.status),
        "settings": _json("settings", dict(run.settings)),
        "notes": _json("notes", dict(run.notes)),
    }


def _model_contents(model: Model) -> tuple[dict[str, Variable], dict[str, str]]:
    """The arrays and texts of a model: as ever for one softmax head, so that older versions read it too."""
    model = as_model(model)
    if not isinstance(model, Attention) or model.weights != "softmax" or model.position is not None:
        arrays, text = stored_model(model)
        return {name: Variable(dims, data, _about(words)) for name, dims, data, words in arrays}, {
            "model": text
        }
    variables = {"beta": Variable(("run",)[: model.beta.ndim], model.beta, _about("inverse temperature"))}
    for name, words in (("Q", "query matrix"), ("K", "key matrix"), ("V", "value matrix")):
        if (M := getattr(model, name)) is not None:
            variables[name] = Variable(
                ("run", "row", "column")[-M.ndim :], M, _about(f"{words}; where there is none, the identity")
            )
    if model.frozen is not None:
        dims = ("run", "frozen", "coordinate")[-model.frozen.x.ndim :]
        variables["frozen_x"] = Variable(dims, model.frozen.x, _about("tokens that never move, seen by all"))
        variables["frozen_weight"] = Variable(
            dims[:-1], model.frozen.weight, _about("weights of the frozen tokens")
        )
    return variables, {"mask": mask_text(model.mask)}


def _run(variables: dict[str, Variable], texts: dict[str, str]) -> Run:
    """The inverse of `_contents`."""
    data = {name: variable.data for name, variable in variables.items()}
    words = {name: json.loads(texts[name]) for name in ("status", "settings", "notes")}
    status, steps = words["status"], data["steps"]
    _check_parts(data, words)
    if is_over_depth(data) != (texts["format"] == DEPTH_FORMAT):
        raise InputError(f"It is damaged: its arrays are not those of its format. {AGAIN}")
    if texts["format"] == DEPTH_FORMAT:
        return read_depth_run(data, texts, words)
    return Run(
        _model(data, texts),
        t=data["time"],
        x=data["x"],
        status=status if isinstance(status, str) else tuple(status),
        steps=steps if steps.ndim else int(steps),
        settings=words["settings"],
        notes=words["notes"],
        norms=data.get("norms"),
    )


def _model(data: dict[str, NDArray[Any]], texts: dict[str, str]) -> Model:
    if texts["format"] == FAMILY_FORMAT:
        arrays = {name: array for name, array in data.items() if is_model_array(name)}
        if len(arrays) + len({"time", "x", "steps", "norms"} & set(data)) != len(data):
            raise InputError(f"It is damaged: it holds arrays of two models. {AGAIN}")
        x = data["x"]
        return read_model(texts["model"], arrays, (*x.shape[:-3], *x.shape[-2:]))
    frozen = Frozen(data["frozen_x"], data["frozen_weight"]) if "frozen_x" in data else None
    return Attention(
        data["beta"],
        data.get("Q"),
        data.get("K"),
        data.get("V"),
        parse_mask("mask", texts["mask"]),
        frozen,
    )


def _check_parts(data: dict[str, NDArray[Any]], words: dict[str, Any]) -> None:
    """Refuse parts of a run that do not fit together, which no checksum notices in an edited file."""
    x, status = data["x"], words["status"]
    runs = x.shape[:-3]
    each = [status] if isinstance(status, str) else status
    if (
        isinstance(status, str) != (not runs)
        or not isinstance(each, list)
        or len(each) != (runs[0] if runs else 1)
        or not all(isinstance(one, str) for one in each)
        or not all(isinstance(words[name], dict) for name in ("settings", "notes"))
    ):
        raise InputError(f"It is damaged: its parts do not fit together. {AGAIN}")


def _check_heads(arrays: Mapping[str, NpyHead | StoredArray]) -> None:
    """Refuse arrays that are no parts of one run, before any is read."""
    _check_shapes({name: array.shape for name, array in arrays.items()})
    for name, array in arrays.items():
        if array.dtype.kind not in ("i" if name == "steps" else "fi"):
            raise InputError(
                f"It is damaged: {name[:40]!r} of {str(array.dtype)[:40]} is no part of a run. {AGAIN}"
            )


def _check_shapes(shapes: dict[str, tuple[int, ...]]) -> None:
    if is_over_depth(shapes):
        return check_depth_shapes(shapes)
    x = shapes.get("x", ())
    runs, each = x[:-3], ((), x[:-3])  # with or without the run axis
    frozen = shapes.get("frozen_x", ())
    fits = {
        "x": len(x) in (3, 4),
        "time": shapes.get("time") == x[-3:-2],
        "steps": shapes.get("steps") == runs,
        "norms": shapes.get("norms") == x[:-1],
        "beta": shapes.get("beta") in each,
        "frozen_x": frozen[-1:] == x[-1:] and frozen[:-2] in each and len(frozen) >= 2,
        "frozen_weight": shapes.get("frozen_weight") == frozen[:-1],
    }
    for name, shape in shapes.items():
        square = name in ("Q", "K", "V") and shape[-2:] == 2 * x[-1:] and shape[:-2] in each
        if not (square or fits.get(name, False) or fits_model(name, shape, x)):
            raise InputError(f"It is damaged: {name[:40]!r} of shape {shape} is no part of a run. {AGAIN}")


def _about(words: str) -> dict[str, str]:
    # "1" means dimensionless; any word for a time unit would make xarray read dates
    return {"long_name": words, "units": "1"}


def _json(name: str, value: object) -> str:
    def plain(value: object) -> object:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        raise InputError(
            f"{name} holds {value!r}, which cannot be stored. Use numbers, texts, lists and arrays."
        )

    return json.dumps(value, default=plain)


# Checksums


def _sealed(
    variables: dict[str, Variable], texts: dict[str, str]
) -> tuple[dict[str, Variable], dict[str, str]]:
    return variables, {**texts, "sha256": json.dumps(_checksums(variables, texts))}


def _checksums(variables: dict[str, Variable], texts: dict[str, str]) -> dict[str, str]:
    """One sha256 over each array (type, shape and bytes), and one, "texts", over every word."""
    words = [
        sorted(texts.items()),
        sorted((name, variable.dims, sorted(variable.attrs.items())) for name, variable in variables.items()),
    ]
    sums = {"texts": hashlib.sha256(json.dumps(words).encode())}
    for name, variable in variables.items():
        data = np.ascontiguousarray(variable.data, dtype=variable.data.dtype.newbyteorder("<"))
        sums[name] = hashlib.sha256(f"{data.dtype.str} {variable.data.shape}".encode())
        if data.dtype.kind == "f":  # Zarr forgets which NaN
            data = np.where(data == data, data, np.array(np.nan, data.dtype))
        sums[name].update(data.data)
    return {name: digest.hexdigest() for name, digest in sums.items()}


def _compare(variables: dict[str, Variable], texts: dict[str, str]) -> None:
    found = _checksums(variables, {name: text for name, text in texts.items() if name != "sha256"})
    said = json.loads(texts["sha256"])
    wrong = [name for name in {**said, **found} if said.get(name) != found.get(name)]
    if wrong:
        raise InputError(f"It is damaged: {', '.join(wrong)} does not match its checksum. {AGAIN}")
    if texts["format"] not in (FORMAT, FAMILY_FORMAT, DEPTH_FORMAT):
        raise InputError(
            f'Its format is "{texts["format"]}", but this version of nucleate reads "{FORMAT}",'
            f' "{FAMILY_FORMAT}" and "{DEPTH_FORMAT}". Install the version that wrote it:'
            f" {texts['nucleate_version']}."
        )


# The two containers. Each has a way in and a way out; both keep exactly the variables and texts given.


def _put_zarr(path: Path, variables: dict[str, Variable], texts: dict[str, str]) -> None:
    import xarray

    dataset = xarray.Dataset({name: tuple(variable) for name, variable in variables.items()}, attrs=texts)
    plain: dict[str, dict[str, None]] = {name: {"_FillValue": None} for name in variables}
    dataset.to_zarr(path, mode="w-", consolidated=False, zarr_format=3, encoding=plain)


def _get_zarr(path: Path) -> tuple[dict[str, Variable], dict[str, str]]:
    import zarr

    texts, arrays = check_zarr(path)
    _check_heads(arrays)
    check_memory(sum(array.nbytes for array in arrays.values()), str(path))
    group = zarr.open_group(path, mode="r", zarr_format=3, use_consolidated=False)
    return {
        name: Variable(array.dims, _values(group[name]), array.attrs) for name, array in arrays.items()
    }, texts


def _values(array: Any) -> NDArray[Any]:
    return np.asarray(array[...])


def _put_npz(path: Path, variables: dict[str, Variable], texts: dict[str, str]) -> None:
    words = {
        "texts": texts,
        "variables": {
            name: {"dims": variable.dims, "attrs": variable.attrs} for name, variable in variables.items()
        },
    }
    arrays: dict[str, Any] = {name: variable.data for name, variable in variables.items()}
    with path.open("wb") as file:
        np.savez(file, nucleate=np.array(json.dumps(words)), **arrays)
        file.flush()
        os.fsync(file.fileno())


def _get_npz(path: Path) -> tuple[dict[str, Variable], dict[str, str]]:
    heads = npz_heads(path)
    _check_words(path, heads.pop("nucleate"))
    _check_heads(heads)
    arrays = read_npz(path)
    words = json.loads(str(arrays.pop("nucleate")))
    about = words["variables"]
    return {
        name: Variable(tuple(about[name]["dims"]), array, about[name]["attrs"])
        for name, array in arrays.items()
    }, words["texts"]


def _check_words(path: Path, head: NpyHead) -> None:
    """Refuse what is no text, or more than a .zarr may have, before it is read."""
    letters = head.dtype.itemsize / np.dtype("U1").itemsize
    if head.shape != () or head.dtype.kind != "U" or letters > MAX_JSON_BYTES:
        raise InputError(
            f"It is damaged: its words are {str(head.dtype)[:40]} of shape {head.shape}. {AGAIN}"
        )
    check_memory(JSON_GROWTH * letters, f"What {path} holds")


def run_shape(path: Path) -> tuple[int, ...]:
    """The shape of the tokens in a stored run, from its head alone: (m, n, d), or (b, m, n, d) for several
    runs."""
    if not _holds_run(path):
        raise InputError(f"{path} is not a nucleate run, or its head is damaged.")
    shape = npz_heads(path)["x"].shape if path.suffix.lower() == ".npz" else zarr_shape(path, "x")
    if len(shape) not in (3, 4):
        raise InputError(f"{path} is damaged: its positions have shape {shape}. {AGAIN}")
    return shape


def _holds_run(path: Path) -> bool:
    """Whether `path` carries the mark of a nucleate run, damaged or not."""
    try:
        if path.suffix.lower() == ".npz":
            return "nucleate" in npz_names(path)
        return str(read_json(path / "zarr.json")["attributes"]["format"]).startswith("nucleate run")
    except (InputError, KeyError, TypeError):
        return False
