"""Stored runs and ensembles that the explorer may open: those of one folder, and nothing else on this
machine.

A name counts only if it stands in the folder's own list, and what it stands for, every link followed, lies
inside the folder.
"""

import errno
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.checks import Array, FileError, InputError, MissingFileError, as_path
from nucleate.explorer import limits
from nucleate.explorer.cluster_bands import cluster_band
from nucleate.explorer.head_runs import CHECKPOINT_FILES, count_heads, is_checkpoint, prepare_head
from nucleate.explorer.prepared_run import PreparedRun, check_size, model_of_run, prepare_stored
from nucleate.explorer.prepared_trace import PreparedTrace, prepare_trace_view
from nucleate.explorer.recorded_scene import known_settings, python_of_entry
from nucleate.explorer.scene import Scene
from nucleate.explorer.trace_view import check_layers
from nucleate.integrate.noise_runs import noise_grid
from nucleate.integrate.npz_files import npz_names
from nucleate.integrate.simulate import model_times
from nucleate.integrate.storage import DATA, load, run_shape
from nucleate.integrate.stored_hidden_states import is_over_depth
from nucleate.integrate.zarr_files import check_zarr
from nucleate.layers import Model
from nucleate.studies.durable_files import Damaged
from nucleate.studies.points import Point, noise_seed
from nucleate.studies.result import load_ensemble
from nucleate.studies.store import holds_ensemble, read_manifest
from nucleate.studies.study import Study

__all__ = ["Folder", "StoredEntry", "open_folder"]

MAX_LISTED_RUNS = 500  # entries of a folder


@dataclass(frozen=True)
class StoredEntry:
    """One stored run or ensemble."""

    name: str
    # "run", "ensemble", "trace" (hidden states of a transformer), or "heads" (a checkpoint, a run each)
    kind: str
    runs: int
    title: str

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return asdict(self)


@dataclass(frozen=True)
class Folder:
    """The opened folder; `only` names the one entry to show, if it is not the whole folder."""

    path: Path | None  # resolved
    only: str | None = None

    def entries(self) -> list[StoredEntry]:
        """What can be opened, by name."""
        if self.path is None:
            return []
        names = (
            [self.only]
            if self.only is not None
            else sorted(
                path.name
                for path in self.path.iterdir()
                if path.suffix.lower() in DATA or is_checkpoint(path)
            )[:MAX_LISTED_RUNS]
        )
        return [entry for name in names if (entry := self._entry(name)) is not None]

    def prepare(self, name: str, run: int) -> PreparedRun | PreparedTrace:
        """Run number `run` of the entry `name`."""
        known = {entry.name: entry for entry in self.entries()}
        if name not in known:
            listed = (
                ", ".join(known) or "nothing; start nucleate explore with a stored run or a folder of them"
            )
            raise InputError(f"There is no stored run of that name in the opened folder. It holds {listed}.")
        if run >= known[name].runs:
            raise InputError(f"There is no run {run} in {name}: it holds {known[name].runs}, counted from 0.")
        path = self._inside(name)
        prepared: PreparedRun | PreparedTrace
        try:
            if known[name].kind == "heads":
                prepared = prepare_head(path, run, name)
            elif known[name].kind == "ensemble":
                prepared = _prepare_from_ensemble(path, run, name)
            else:
                if known[name].kind == "trace":
                    check_layers(name, run_shape(path)[-3])  # before all of it is read
                found = load(path)
                prepared = (prepare_trace_view if found.over_depth else prepare_stored)(found, run, name)
        except InputError as error:
            # a page need not know where it lies
            raise InputError(str(error).replace(str(path), name)) from None
        which = f"-{run}" if known[name].runs > 1 else ""
        return replace(prepared, file=f"nucleate-{Path(name).stem}{which}")

    def _entry(self, name: str) -> StoredEntry | None:
        """The entry of that name, or None for what is neither a run nor an ensemble, or lies elsewhere."""
        try:
            path = self._inside(name)
            if is_checkpoint(path):
                layers, heads = count_heads(path)
                return StoredEntry(name, "heads", layers * heads, f"{name}: {layers} × {heads} heads")
            if path.suffix.lower() == ".zarr" and holds_ensemble(path):
                manifest = read_manifest(path)
                points = int(
                    np.prod([len(values) for values in manifest.study["grid"].values()], dtype=np.int64)
                )
                return StoredEntry(
                    name, "ensemble", manifest.runs * points, str(manifest.study["title"] or name)
                )
            shape, kind = run_shape(path), "trace" if _holds_trace(path) else "run"
            return StoredEntry(name, kind, shape[0] if len(shape) == 4 else 1, name)
        except (InputError, Damaged, OSError, KeyError, TypeError, AttributeError):
            return None

    def _inside(self, name: str) -> Path:
        """The resolved path of a name in the folder; every link it leads through must stay in the folder."""
        if (
            self.path is None
            or not name
            or name != os.path.basename(name)
            or name in (".", "..")
            or "\0" in name
        ):
            raise InputError("A name must be that of an entry of the opened folder.")
        path = Path(os.path.realpath(self.path / name, strict=True))
        if not path.is_relative_to(self.path) or path == self.path:
            raise InputError(f"{name} leads out of the opened folder, and is not opened.")
        for parent, folders, files in os.walk(path):
            for one in (*folders, *files):
                inner = Path(parent, one)
                if inner.is_symlink() and not Path(os.path.realpath(inner)).is_relative_to(self.path):
                    raise InputError(
                        f"{name} holds a link that leads out of the opened folder, and is not opened."
                    )
        return path


def open_folder(path: Path | None) -> Folder:
    """What a path on the command line opens: a stored run or ensemble alone, or all those of a folder."""
    if path is None:
        return Folder(None)
    path = as_path("path", path)
    if not path.exists():
        raise MissingFileError(
            f"{path} does not exist. Pass a run that run.save wrote, the store of an ensemble, or a folder of"
            " such."
        )
    resolved = path.resolve()
    if not os.access(resolved, os.R_OK | os.X_OK if resolved.is_dir() else os.R_OK):
        raise FileError(f"{path} cannot be read: {os.strerror(errno.EACCES)}. Check that you may read it.")
    if is_checkpoint(resolved):
        count_heads(resolved)  # says what is wrong with it
    elif path.suffix.lower() not in DATA:
        if not resolved.is_dir():
            raise InputError(
                f"{path} is neither a stored run ({' or '.join(DATA)}), nor a checkpoint"
                f" ({' or '.join(CHECKPOINT_FILES)}), nor a folder."
            )
        return Folder(resolved)
    folder = Folder(resolved.parent, resolved.name)
    entries = folder.entries()
    if not entries:
        raise InputError(
            f"{path} is neither a run nor an ensemble of nucleate, or its head is damaged. Pass a path that"
            " run.save wrote."
        )
    if entries[0].kind == "run":
        check_size(resolved.name, *run_shape(resolved)[-2:])
    elif entries[0].kind == "trace":
        check_layers(resolved.name, run_shape(resolved)[-3])
    elif entries[0].kind == "ensemble":
        check_zarr(resolved)
    return folder


def _holds_trace(path: Path) -> bool:
    """Whether a stored run is one over depth, from the names of its arrays alone."""
    npz = path.suffix.lower() == ".npz"
    return is_over_depth(npz_names(path) if npz else {one.name for one in path.iterdir()})


def _prepare_from_ensemble(path: Path, index: int, name: str) -> PreparedRun:
    """Run `index` of an ensemble, counted through all runs of the first point of its grid, then of the next;
    computed anew from its seed.

    The study's observables are left out: a function that one may name would be imported, and a file must not
    choose what is run.
    """
    found = load_ensemble(path)
    study = Study.make({**found.study, "observables": {"ends": {"kind": "points"}}})
    point, run = divmod(index, study.runs)
    one, times = study.point(point), study.times
    if (
        one.n > limits.MAX_TOKENS
        or one.d > limits.MAX_DIMENSION
        or one.n * one.d * len(times) > limits.MAX_NUMBERS
    ):
        raise InputError(
            f"Runs of {name} have {one.n} tokens in dimension {one.d} and {len(times)} frames, more than the"
            " explorer shows."
        )
    place = dict(
        zip(study.grid, map(int, np.unravel_index(point, study.shape) if study.grid else ()), strict=True)
    )
    values = {key: axis[place[key]] for key, axis in study.grid.items()}
    where = "".join(f", {key} = {value}" for key, value in values.items())
    settings = {
        "t": study.fixed["t"],
        "rtol": one.rtol,
        "atol": one.atol,
        "method": one.method,
        "dt": one.dt,
        "max_steps": one.max_steps,
    }
    if one.noise is not None:
        settings["seed"] = noise_seed(study.seed, run)
    drawn, x0 = one.model(study.seed, range(run, run + 1)), one.starts(study.seed, range(run, run + 1))[0]
    model = model_of_run(drawn, 0)
    times = _frame_times(study, one, model)
    return PreparedRun(
        model,
        x0,
        times,
        settings,
        Scene().c,
        title=f"{study.title or name}, run {run}{where}",
        recorded=True,
        frames_before_thinning=len(times),
        known=known_settings(x0, times, settings, {}),  # its start comes from a stream of the study's seed
        python=python_of_entry(name, index, "the store of the study"),
        band=cluster_band(found, place, one.beta),
    )


def _frame_times(study: Study, point: Point, model: Model) -> Array:
    """The times of the frames of a run, (m,): ends of steps where there is noise, of layers where they are
    discrete."""
    save, t = study.fixed["save"], study.fixed["t"]
    if point.noise is None:
        return model_times(model, save, t, False)[0]
    return noise_grid(point.noise, study.times, np.ndim(save) > 0, False, t, point.dt, None).times
