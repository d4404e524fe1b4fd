"""The finished store: what plain xarray reads there, and how it is laid out."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import contents, small

import nucleate as nc
from nucleate.checks import InputError
from nucleate.studies.ensemble import ensemble
from nucleate.studies.result import load_ensemble
from nucleate.studies.store import chunk_runs
from nucleate.studies.study import Study

EMPTY: dict[str, Any] = {}


def test_plain_xarray_opens_a_finished_store_without_a_warning(finished: Path) -> None:
    import xarray

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = xarray.open_zarr(finished)
    assert data["renyi"].dims == ("beta", "run", "time")
    assert data["ends"].dims == ("beta", "run", "token", "coordinate")
    assert data["apart"].dims == ("beta", "run")
    assert data["beta"].values.tolist() == [4.0, 16.0]
    assert data["run"].values.tolist() == list(range(24))
    assert data["time"].values.tolist() == np.linspace(0.0, 3.0, 5).tolist()
    assert json.loads(data.attrs["study"]) == Study.make(small()).plain()
    assert json.loads(data.attrs["made_with"])["nucleate"] == nc.__version__
    assert data.attrs["seed"] == 3
    assert data.attrs["ended"] == {"done": 48}
    assert all("long_name" in data[name].attrs for name in data.variables)
    status = data["status"]
    assert status.dtype == np.int8
    meanings = dict(zip(status.attrs["flag_values"], status.attrs["flag_meanings"].split(), strict=True))
    assert {meanings[code] for code in np.unique(status)} == {"done"}
    assert json.loads((finished / "zarr.json").read_text())["zarr_format"] == 3


def test_chunks_depend_on_the_study_alone(tmp_path: Path, finished: Path) -> None:
    import zarr

    ensemble(small(), tmp_path / "out.zarr", block=5, threads=1)
    array: Any = zarr.open_group(tmp_path / "out.zarr", mode="r")["renyi"]
    assert array.chunks == (1, chunk_runs(Study.make(small())), 5)
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_all_chunks_are_there_even_if_they_hold_fill_values_only(tmp_path: Path) -> None:
    ensemble(
        small(observables={"a": {"kind": "points"}}, times={"t": 3.0, "max_steps": 1}), tmp_path / "out.zarr"
    )
    assert np.isnan(load_ensemble(tmp_path / "out.zarr").data["a"].values).all()
    (tmp_path / "out.zarr/a/c/0/0/0/0").unlink()
    with pytest.raises(InputError, match="a/c/0/0/0/0 missing"):
        load_ensemble(tmp_path / "out.zarr")


def test_points_of_different_n_and_d_share_one_array_padded_with_nan(tmp_path: Path) -> None:
    study = small(start=EMPTY, grid={"n": [3, 6], "d": [2, 4]}, model={"beta": 4.0}, runs=5)
    data = ensemble(study, tmp_path / "out.zarr").data
    assert data["ends"].shape == (2, 2, 5, 6, 4)
    for (i, n), (j, d) in ((one, two) for one in enumerate([3, 6]) for two in enumerate([2, 4])):
        there = np.isfinite(data["ends"].values[i, j])
        assert there[:, :n, :d].all()
        assert there.sum() == 5 * n * d
    # Prefix: under the causal mask the first tokens do not notice the others, up to the tolerance of steps
    # chosen for all.
    np.testing.assert_allclose(
        data["ends"].values[0, :, :, :3], data["ends"].values[1, :, :, :3], rtol=0, atol=1e-4
    )


def test_axes_that_are_no_numbers_carry_labels_to_select_by(tmp_path: Path) -> None:
    grid = {
        "V": ["identity", "-identity", [1.0, -2.0], {"random": "real", "name": "mine"}],
        "mask": ["causal", "full"],
    }
    data = ensemble(small(grid=grid, model={"beta": 2.0}, runs=3), tmp_path / "out.zarr").data
    assert data["V"].attrs["labels"] == ["identity", "-identity", "diag(1, -2)", "mine"]
    assert data["mask"].attrs["labels"] == ["causal", "full"]
    assert data["renyi"].shape == (4, 2, 3, 5)
    np.testing.assert_array_equal(
        data["renyi"].sel(V_label="mine", mask_label="full"), data["renyi"].values[3, 1]
    )
    assert load_ensemble(tmp_path / "out.zarr").mean("renyi").sel(V_label="-identity").shape == (2, 5)
