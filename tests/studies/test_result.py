"""A finished ensemble: its statistics, its pictures, and what a wrong question is answered."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.hostile_files import ARRAYS, Table, edit_json
from support.small_studies import small, spread
from support.time_limits import not_waiting_for_ever

from nucleate.checks import InputError
from nucleate.observe.measure import measure
from nucleate.studies.block import STATUS
from nucleate.studies.ensemble import ensemble
from nucleate.studies.result import Ensemble, load_ensemble
from nucleate.studies.store import _checksums_json


def test_measuring_an_ensemble_is_refused_with_what_to_do() -> None:
    found = ensemble(small(runs=2))
    with pytest.raises(InputError, match=r'but is Ensemble\. It keeps no tokens, .* kind = "function"'):
        measure(found, spread)  # type: ignore[call-overload]  # that is what is refused


def with_failures() -> Ensemble:
    """Some runs of the small study are given up."""
    return ensemble(small(times={"t": 3.0, "save": 5, "max_steps": 9}))


def test_failed_runs_are_left_out_of_statistics_and_counted() -> None:
    found = with_failures()
    done = found.data["status"].values == STATUS.index("done")
    assert 0 < done.sum() < done.size, "the test wants some of each"
    values = found.data["renyi"].values
    for point in range(2):
        kept = values[point, done[point]]
        np.testing.assert_allclose(found.mean("renyi").values[point], kept.mean(0), rtol=1e-14)
        np.testing.assert_allclose(
            found.quantiles("renyi", (0.25, 0.5)).values[:, point],
            np.quantile(kept, (0.25, 0.5), axis=0),
            rtol=1e-14,
        )
    everything = np.nanmean(values, axis=1)
    np.testing.assert_allclose(found.mean("renyi", failed=True).values, everything, rtol=1e-14)
    assert not np.array_equal(found.mean("renyi").values, everything)
    count = int((~done).sum())
    assert found.mean("renyi").attrs["runs_not_done"] == found.band("renyi").attrs["runs_not_done"] == count
    assert f"{count} max steps; statistics leave out" in found.summary
    assert found.data.attrs["ended"] == {"done": 48 - count, "max steps": count}


def test_the_confidence_band_is_students(finished: Path) -> None:
    from scipy.stats import t

    found = load_ensemble(finished)
    values = found.data["apart"].values[0]
    low, high = found.band("apart", 0.9).values[:, 0]
    expected = t.interval(0.9, 23, values.mean(), values.std(ddof=1) / np.sqrt(24))
    np.testing.assert_allclose((low, high), expected, rtol=1e-12)


def test_the_band_covers_the_true_mean_as_often_as_it_says() -> None:
    import xarray

    rng = np.random.default_rng(0)
    values = xarray.DataArray(rng.standard_normal((2000, 12)), dims=("time", "run"))
    data = xarray.Dataset({"a": values, "status": ("run", np.ones(12, dtype=np.int8))})
    low, high = Ensemble(data, {"observables": {"a": {}}, "grid": {}, "title": ""}).band("a", 0.8).values
    covered = ((low < 0) & (high > 0)).mean()
    assert abs(covered - 0.8) < 0.04  # the standard error of 2000 trials is 0.009


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.mean("reny"), "Did you mean renyi"),
        (lambda e: e.quantiles("renyi", 1.5), "q must lie between 0 and 1"),
        (lambda e: e.band("renyi", 1.0), "level must be below 1"),
        (lambda e: e.plot("ends"), "has the axis token"),
    ],
)
def test_a_wrong_question_is_answered_with_help(call: Any, words: str, finished: Path) -> None:
    with pytest.raises(InputError, match=words):
        call(load_ensemble(finished))


# Stores from a stranger, who writes checksums that match


def forged(finished: Path, path: Path, change: Callable[[Path, Table], object]) -> None:
    """A copy of the store with changes in it and in its checksums, which match again."""
    shutil.copytree(finished, path)
    content = json.loads((path / "checksums/zarr.json").read_bytes())["attributes"]
    for key in ("format", "sha256"):
        del content[key]
    change(path, content)
    (path / "checksums/zarr.json").write_bytes(_checksums_json(content))


def rehash(path: Path, content: Table, *names: str) -> None:
    for name in names:
        content["files"][name] = hashlib.sha256((path / name).read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "name", ["../secret", "/dev/zero", "/etc/passwd", "a/../../b", "", "x//y", ".hidden"]
)
def test_checksums_that_name_files_elsewhere_are_refused(name: str, finished: Path, tmp_path: Path) -> None:
    forged(finished, tmp_path / "out.zarr", lambda path, content: content["files"].update({name: "0" * 64}))
    with (
        not_waiting_for_ever(),
        pytest.raises(InputError, match=r"checksums/zarr\.json is missing or damaged"),
    ):
        load_ensemble(tmp_path / "out.zarr")


@pytest.mark.parametrize(
    "wrong",
    [
        {"identity": 1},
        {"runs": "many"},
        {"runs": True},
        {"runs": 0},
        {"study": []},
        {"made_with": []},
        {"made_with": {"numpy": 2}},
        {"files": ["zarr.json"]},
        {"files": {"zarr.json": None}},
        {"processors": 3},
        {"processors": [3]},
    ],
    ids=str,
)
def test_checksums_of_wrong_types_are_refused(wrong: Table, finished: Path, tmp_path: Path) -> None:
    forged(finished, tmp_path / "out.zarr", lambda path, content: content.update(wrong))
    with pytest.raises(InputError, match="damaged"):
        load_ensemble(tmp_path / "out.zarr")


@pytest.mark.parametrize(
    "what", ["a pickle", "texts", "objects", "shards", "a huge chunk", "a shape beyond all"]
)
def test_arrays_of_an_ensemble_are_refused_by_their_metadata(
    what: str, finished: Path, tmp_path: Path
) -> None:
    def change(path: Path, content: Table) -> None:
        edit_json(path / "renyi/zarr.json", ARRAYS[what][0])
        rehash(path, content, "renyi/zarr.json")

    forged(finished, tmp_path / "out.zarr", change)
    with pytest.raises(
        InputError, match=r"out\.zarr is not opened: .*zarr\.json has|out\.zarr is not opened: "
    ):
        load_ensemble(tmp_path / "out.zarr")


def extra_array(path: Path, content: Table) -> None:
    shutil.copytree(path / "apart", path / "more")


def lost_chunk(path: Path, content: Table) -> None:
    (path / "apart/c/1/0").unlink()
    del content["files"]["apart/c/1/0"]


def grown_shape(path: Path, content: Table) -> None:
    heads = json.loads((path / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
    for name in heads:
        if heads[name]["dimension_names"][:2] == ["beta", "run"] or name == "run":
            at = 0 if name == "run" else 1
            heads[name]["shape"][at] = 10**12
            (path / name / "zarr.json").write_text(json.dumps(heads[name]))
    edit_json(path / "zarr.json", lambda head: head.pop("consolidated_metadata"))
    rehash(path, content, "zarr.json", *(f"{name}/zarr.json" for name in heads))


def no_observables(path: Path, content: Table) -> None:
    content["study"]["observables"] = {"another": {}}


def no_grid(path: Path, content: Table) -> None:
    del content["study"]["grid"]


def labels(path: Path, content: Table) -> None:
    edit_json(path / "beta/zarr.json", lambda head: head["attributes"].update(labels=5))
    edit_json(path / "zarr.json", lambda head: head.pop("consolidated_metadata"))
    rehash(path, content, "zarr.json", "beta/zarr.json")


@pytest.mark.parametrize("change", [extra_array, lost_chunk, grown_shape, no_observables, no_grid, labels])
def test_an_ensemble_whose_parts_do_not_fit_is_refused(
    change: Callable[[Path, Table], object], finished: Path, tmp_path: Path
) -> None:
    forged(finished, tmp_path / "out.zarr", change)
    with pytest.raises(InputError, match=r"not those that were written|not opened|needs .* GiB"):
        load_ensemble(tmp_path / "out.zarr")


def test_a_pipe_in_the_place_of_a_chunk_is_damage(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "out.zarr")
    (tmp_path / "out.zarr/apart/c/1/0").unlink()
    os.mkfifo(tmp_path / "out.zarr/apart/c/1/0")
    with (
        not_waiting_for_ever(),
        pytest.raises(InputError, match="apart/c/1/0 missing or not what was written"),
    ):
        load_ensemble(tmp_path / "out.zarr")


def test_a_status_without_a_meaning_is_refused(finished: Path) -> None:
    found = load_ensemble(finished).in_memory()
    found.data["status"][0, 0] = 99
    with pytest.raises(InputError, match="status must be 0 to"):
        _ = found.summary
