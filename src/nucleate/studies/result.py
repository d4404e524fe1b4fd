"""A finished ensemble: its numbers, and what one asks of them first."""

import math
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nucleate.checks import (
    InputError,
    MissingFileError,
    as_path,
    check_memory,
    finite_array,
    finite_number,
    true_or_false,
)
from nucleate.conveniences import convenience
from nucleate.integrate.storage import load as load_run
from nucleate.integrate.zarr_files import StoredArray, check_zarr, open_zarr
from nucleate.parse.validate import one_of
from nucleate.printable import printable
from nucleate.studies.block import STATUS
from nucleate.studies.durable_files import Damaged
from nucleate.studies.store import RUN_AGAIN, Manifest, damaged_store, holds_ensemble, intact, read_manifest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset

__all__ = ["Ensemble", "load", "load_ensemble", "loaded"]

XarrayData = TypeVar("XarrayData", "Dataset", "DataArray")

DONE = STATUS.index("done")  # the code of runs that reached the end


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """The results of a study.  Statistics leave out runs that did not finish, unless asked not to, and say
    how many."""

    # axes (parameters of the grid, run, axes of the observable); status and steps of every run
    data: "Dataset"
    study: Mapping[str, Any]  # as it was run, defaults written out

    @property
    def observables(self) -> tuple[str, ...]:
        """The names of what was measured."""
        return tuple(self.study["observables"])

    @property
    def ended(self) -> dict[str, int]:
        """How many runs ended in which way."""
        codes, counts = np.unique(loaded(self.data["status"], "status").values, return_counts=True)
        if codes.min() < 0 or codes.max() >= len(STATUS):
            raise InputError(f"status must be 0 to {len(STATUS) - 1}, but holds {codes.max()}. {RUN_AGAIN}")
        return {STATUS[code]: int(count) for code, count in zip(codes, counts, strict=True)}

    @property
    def summary(self) -> str:
        """One line: how many runs, at how many points, and how they ended."""
        axes = " x ".join(f"{self.data.sizes[name]} {name}" for name in self.study["grid"])
        ways = ", ".join(
            f"{count} {way}" for way, count in sorted(self.ended.items(), key=lambda item: -item[1])
        )
        left_out = "" if set(self.ended) == {"done"} else "; statistics leave out those not done"
        title = self.study["title"]
        return printable(
            f"{f'{title}: ' if title else ''}{self.data.sizes['run']}"
            f" runs{f' at each of {axes}' if axes else ''}; {ways}{left_out}"
        )

    def mean(self, name: str, failed: bool = False) -> "DataArray":
        """The mean over runs."""
        with _nan_without_warnings():
            return self._described(self._values(name, failed).mean("run", keep_attrs=True), f"mean of {name}")

    def quantiles(
        self, name: str, q: float | Sequence[float] = (0.1, 0.5, 0.9), failed: bool = False
    ) -> "DataArray":
        """Quantiles over runs, along a new axis `quantile`."""
        shares = np.atleast_1d(
            [
                finite_number("q", one, least=0.0, help="Quantiles lie between 0 and 1.")
                for one in np.atleast_1d(finite_array("q", q))
            ]
        )
        if (shares > 1.0).any():
            raise InputError(f"q must lie between 0 and 1, but is {shares.max():g}. The median is 0.5.")
        with _nan_without_warnings():
            return self._described(
                self._values(name, failed).quantile(shares, dim="run", keep_attrs=True),
                f"quantiles of {name}",
            )

    def band(self, name: str, level: float = 0.95, failed: bool = False) -> "DataArray":
        """A confidence band of the mean, by Student's t: along a new axis `edge`, below and above."""
        import xarray
        from scipy.stats import t as student

        level = finite_number("level", level, above=0.0, help="0.95 is usual.")
        if level >= 1.0:
            raise InputError(f"level must be below 1, but is {level:g}. 0.95 is usual.")
        values = self._values(name, failed)
        count = values.count("run")
        with _nan_without_warnings():
            half = (
                values.std("run", ddof=1)
                / np.sqrt(count)
                * student.ppf(0.5 + level / 2.0, np.maximum(count - 1, 1))
            )
            mean = values.mean("run", keep_attrs=True)
        edges = xarray.concat([mean - half, mean + half], xarray.Variable("edge", [-1, 1]))
        return self._described(
            edges.assign_attrs(mean.attrs), f"{level:.0%} confidence band of the mean of {name}"
        )

    def plot(self, name: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Mean and quantile bands of one observable over time; of one without time over beta, or the first
        axis of a grid without it."""
        return convenience("Ensemble.plot")(self, self._name(name), ax)

    def in_memory(self) -> "Ensemble":
        """The same with all numbers read, so that the store is not needed any more."""
        return replace(self, data=loaded(self.data, "The ensemble"))

    def _repr_html_(self) -> str:
        return convenience("Ensemble, in a notebook")(self)

    def __repr__(self) -> str:
        return printable(f"Ensemble({self.summary}; {', '.join(self.observables)})")

    def _name(self, name: str | None) -> str:
        return self.observables[0] if name is None else one_of("name", name, self.observables)

    def _values(self, name: str, failed: bool) -> "DataArray":
        values = loaded(self.data[self._name(name)], name)
        return (
            values
            if true_or_false("failed", failed)
            else values.where(loaded(self.data["status"], "status") == DONE)
        )

    def _described(self, statistic: "DataArray", words: str) -> "DataArray":
        done, every = self.ended.get("done", 0), int(self.data["status"].size)
        about = {
            "long_name": f"{words}: {statistic.attrs.get('long_name', '')}",
            "runs": every,
            "runs_not_done": every - done,
        }
        return statistic.assign_attrs({**statistic.attrs, **about})


def loaded(data: XarrayData, what: str) -> XarrayData:
    """The same with its numbers read from the store; what is damaged there is refused in words."""
    check_memory(data.nbytes, what)
    try:
        return data.load()
    except MemoryError:
        raise
    except Exception as error:  # damaged bytes can raise anything at all inside the readers
        raise InputError(f"{what} cannot be read: {type(error).__name__} in its store. {RUN_AGAIN}") from None


@contextmanager
def _nan_without_warnings() -> Iterator[None]:
    """A statistic of no runs is NaN, and so is the spread of one; NumPy would warn of either."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def load(path: str | os.PathLike[str]) -> Any:
    """The Run that run.save wrote at `path`, or the Ensemble of a store, after its checksums were
    compared."""
    place = as_path("path", path)
    return (
        load_ensemble(place) if place.suffix.lower() == ".zarr" and holds_ensemble(place) else load_run(place)
    )


def load_ensemble(path: str | os.PathLike[str]) -> Ensemble:
    """The ensemble stored at `path`, after the checksums of all its files were compared."""
    path = as_path("path", path)
    if not path.exists():
        raise MissingFileError(
            f"{path} does not exist. If its ensemble was interrupted, run the same command again to"
            " finish it."
        )
    if not holds_ensemble(path):
        raise InputError(
            f"{path} is not an ensemble of nucleate, or its head is damaged. Pass a path that nucleate"
            " ensemble wrote."
        )
    try:
        manifest = read_manifest(path)
    except Damaged as damage:
        raise damaged_store(path, str(damage)) from None
    bad = [name for name, digest in manifest.files.items() if not intact(path, name, digest)]
    if bad:
        raise damaged_store(
            path, f"{', '.join(bad[:5])}{' and others' * (len(bad) > 5)} missing or not what was written"
        )
    arrays = check_zarr(path).arrays
    if _all_there(arrays, manifest):
        data = open_zarr(path)
        if _fits(data, manifest):
            return Ensemble(_labelled(data), manifest.study)
    raise damaged_store(path, "its arrays are not those that were written")


def _all_there(arrays: Mapping[str, StoredArray], manifest: Manifest) -> bool:
    """Whether the store holds the arrays that were written, and these all their chunks."""
    chunks = Counter(name.partition("/c/")[0] for name in manifest.files if "/c/" in name)
    return all(
        f"{name}/zarr.json" in manifest.files
        and chunks[name] == math.prod(map(_ceil_divided, array.shape, array.chunks))
        for name, array in arrays.items()
    )


def _ceil_divided(size: int, chunk: int) -> int:
    return -(-size // chunk)


def _fits(data: "Dataset", manifest: Manifest) -> bool:
    """Whether these are results of the study: its observables, over its grid."""
    study = manifest.study
    observables, grid = study.get("observables"), study.get("grid")
    return (
        isinstance(observables, dict)
        and isinstance(grid, dict)
        and isinstance(study.get("title"), str)
        and {"run", "status", "steps", *observables, *grid} <= set(data.variables)
        and data.sizes["run"] == manifest.runs
        and all(_labels_fit(data[name]) for name in grid)
    )


def _labels_fit(axis: "DataArray") -> bool:
    labels = axis.attrs.get("labels")
    return labels is None or (
        isinstance(labels, list)
        and len(labels) == axis.size
        and all(isinstance(label, str) for label in labels)
    )


def _labelled(data: "Dataset") -> "Dataset":
    """The same with labels to select by beside the numbers 0, 1, ... of an axis of matrices or words: V_label
    beside V."""
    for name, axis in data.coords.items():
        label = f"{name}_label"
        if "labels" in axis.attrs and label not in data.variables:
            data = data.assign_coords({label: (name, list(axis.attrs["labels"]))}).set_xindex(label)
    return data
