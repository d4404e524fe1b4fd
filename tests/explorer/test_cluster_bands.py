"""Bands of an ensemble: the quantiles of its stored cluster counts, at one point of its grid."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import small

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.cluster_bands import QUANTILES, cluster_band
from nucleate.explorer.prepared_run import PreparedRun, begun_message
from nucleate.explorer.stored_runs import open_folder
from nucleate.studies.block import STATUS

COUNTED = {"groups": {"kind": "clusters", "radius": "0.5/sqrt(beta)"}}


def test_a_run_of_an_ensemble_brings_the_quantiles_of_its_point(tmp_path: Path) -> None:
    ensemble = nc.ensemble(small(observables=COUNTED), tmp_path / "c.zarr")
    prepared = open_folder(tmp_path).prepare("c.zarr", 24 + 3)  # run 3 of the second point, beta = 16
    assert isinstance(prepared, PreparedRun)
    begun = begun_message(prepared, 1)
    band = begun["band"]
    counts = ensemble.data["groups"].values[1]  # (run, time)
    assert (band["runs"], band["name"], band["quantiles"]) == (24, "groups", list(QUANTILES))
    assert band["t"] == ensemble.data["time"].values.tolist()
    assert np.array_equal(band["counts"], np.quantile(counts, QUANTILES, axis=0))
    assert band["radius"] == begun["radius"] == 0.5 / 4.0, "one run is counted as all of them are"
    assert not np.array_equal(
        band["counts"], np.quantile(ensemble.data["groups"].values[0], QUANTILES, axis=0)
    )


def test_runs_that_did_not_finish_are_left_out(tmp_path: Path) -> None:
    ensemble = nc.ensemble(small(observables=COUNTED), tmp_path / "c.zarr").in_memory()
    failed = next(code for code, name in enumerate(STATUS) if name != "done")
    ensemble.data["status"].values[0, :20] = failed
    ensemble.data["groups"].values[0, :20] = np.nan
    band = cluster_band(ensemble, {"beta": 0}, 4.0)
    assert band is not None
    assert band.runs == 4
    assert np.array_equal(band.counts, np.quantile(ensemble.data["groups"].values[0, 20:], QUANTILES, axis=0))
    ensemble.data["status"].values[0] = failed
    assert cluster_band(ensemble, {"beta": 0}, 4.0) is None


def test_a_study_that_counts_no_clusters_over_time_has_no_band(tmp_path: Path) -> None:
    ends = {"groups": {"kind": "clusters", "radius": 0.1, "at": "end"}, "ends": {"kind": "points"}}
    nc.ensemble(small(observables=ends), tmp_path / "c.zarr")
    prepared = open_folder(tmp_path).prepare("c.zarr", 0)
    assert isinstance(prepared, PreparedRun)
    assert begun_message(prepared, 1)["band"] is None


@pytest.mark.parametrize("name", ["status", "groups"])
def test_counts_that_cannot_be_read_are_refused_in_words(name: str, tmp_path: Path) -> None:
    nc.ensemble(small(observables=COUNTED), tmp_path / "c.zarr")
    ensemble = nc.load(tmp_path / "c.zarr")  # reads its numbers later
    for chunk in (tmp_path / "c.zarr" / name / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="cannot be read"):
        cluster_band(ensemble, {"beta": 0}, 4.0)


@pytest.mark.parametrize(
    "junk", [None, 0, "clusters", [], {}, {"kind": None}, {"kind": "clusters", "at": []}]
)
def test_what_is_no_observable_has_no_band(junk: Any, tmp_path: Path) -> None:
    ensemble = nc.ensemble(small(observables=COUNTED), tmp_path / "c.zarr")
    assert (
        cluster_band(replace(ensemble, study={**ensemble.study, "observables": {"groups": junk}}), {}, 4.0)
        is None
    )


@pytest.mark.parametrize("name", ["status", "groups"])
def test_counts_with_other_axes_are_refused_in_words(name: str, tmp_path: Path) -> None:
    ensemble = nc.ensemble(small(observables=COUNTED), tmp_path / "c.zarr")
    data = ensemble.data.assign({name: ensemble.data[name].rename(run="elsewhere")})
    with pytest.raises(InputError, match="axes of its study"):
        cluster_band(replace(ensemble, data=data), {"beta": 0}, 4.0)


@pytest.mark.parametrize("radius", [None, [], {}, "../x", float("nan"), -1, True])
def test_a_radius_that_is_none_is_refused_in_words(radius: Any, tmp_path: Path) -> None:
    ensemble = nc.ensemble(small(observables=COUNTED), tmp_path / "c.zarr")
    observables = {"groups": {**ensemble.study["observables"]["groups"], "radius": radius}}
    with pytest.raises(InputError):
        cluster_band(
            replace(ensemble, study={**ensemble.study, "observables": observables}), {"beta": 0}, 4.0
        )
