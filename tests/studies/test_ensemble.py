"""Ensembles: what is measured, what is stored, how it is read again, and what the command says."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import contents, profile, small, spread

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.observe.measure import measure
from nucleate.plot.studies import picture
from nucleate.studies.block import STATUS, Cancelled, Task, compute
from nucleate.studies.ensemble import block_runs, ensemble
from nucleate.studies.matrices import drawn
from nucleate.studies.observables import Block, observable
from nucleate.studies.points import stream
from nucleate.studies.result import Ensemble, load_ensemble
from nucleate.studies.store import chunk_runs
from nucleate.studies.study import Study

EMPTY: dict[str, Any] = {}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study, finished."""
    path = tmp_path_factory.mktemp("ensemble") / "small.zarr"
    ensemble(small(), path)
    return path


# --- what is measured: each fast routine against its slow twin


def runs_of(d: int, b: int = 5, m: int = 4, n: int = 30) -> Array:
    """Tokens (b, m, n, d) from scattered to clustered."""
    rng = np.random.default_rng(d)
    middle = rng.standard_normal((b, 1, 6, d))
    width = np.array([3.0, 0.6, 0.1, 0.01])[:m, None, None]
    x = middle[:, :, rng.integers(6, size=n)] + width * rng.standard_normal((b, m, n, d))
    return nc.retract(x)


def measured(kind: str, x: Array, **given: Any) -> Array:
    """An observable of tokens x (b, m, n, d) that started in the first frame, at beta = 4."""
    one = observable("a", {"kind": kind, **given})
    return one.measure(Block(np.arange(float(x.shape[1])), x, x[:, 0], Attention(4.0), 4.0, {}))


def runs_that_fail(d: int) -> Array:
    """The same, but the second run did not get beyond its second frame."""
    x = runs_of(d)
    x[1, 2:] = np.nan
    return x


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("delta", [0.1, 0.5, "1/sqrt(beta)", "9/sqrt(beta)"])
@pytest.mark.parametrize("centers", ["renyi", "strong"])
def test_counted_centers_are_the_renyi_centers(d: int, delta: float | str, centers: str) -> None:
    x = runs_of(d)
    radians = (
        {"1/sqrt(beta)": 0.5, "9/sqrt(beta)": np.pi}.get(delta, delta) if isinstance(delta, str) else delta
    )
    slow = [len(nc.renyi_centers(tokens, float(radians), strong=centers == "strong")) for tokens in x[:, 0]]
    assert measured("centers", x, delta=delta, centers=centers).tolist() == slow


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("radius", [0.02, 0.3, 1.5])
def test_the_consumed_share_counts_tokens_near_a_center(d: int, radius: float) -> None:
    x = runs_that_fail(d)
    share = measured("consumed", x, delta=0.5, radius=radius)
    for run, frame in np.ndindex(share.shape):
        if run == 1 and frame >= 2:
            assert np.isnan(share[run, frame])
            continue
        tokens = x[run, frame]
        near = [
            nc.distance(token, tokens[nc.renyi_centers(x[run, 0], 0.5)]).min() <= radius for token in tokens
        ]
        assert share[run, frame] == np.mean(near)
    assert np.array_equal(
        measured("consumed", x, delta=0.5, radius=radius, at="end"), share[:, -1], equal_nan=True
    )


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("radius", [0.02, 0.3, 1.5])
def test_counted_clusters_are_those_of_clusters(d: int, radius: float) -> None:
    x = runs_that_fail(d)
    count = measured("clusters", x, radius=radius)
    for run, frame in np.ndindex(count.shape):
        if run == 1 and frame >= 2:
            assert np.isnan(count[run, frame])
        else:
            assert count[run, frame] == nc.clusters(x[run, frame], radius).max() + 1


def test_a_ring_of_tokens_without_a_gap_is_one_cluster() -> None:
    angle = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)[None, None]  # (1, 1, 20, 2)
    assert measured("clusters", ring, radius=0.4) == 1.0
    assert measured("clusters", ring, radius=0.1) == 20.0
    assert measured("clusters", ring[:, :, :1], radius=0.1) == 1.0


def test_the_farthest_token_is_the_farthest() -> None:
    x = runs_that_fail(3)
    apart = measured("from_first", x)
    for run, frame in np.ndindex(x.shape[:2]):
        if run == 1 and frame >= 2:
            assert np.isnan(apart[run, frame])
        else:
            assert apart[run, frame] == nc.distance(x[run, frame], x[run, 0, 0]).max()


def test_a_block_holds_what_simulate_and_the_observables_give() -> None:
    study = Study.make(
        small(
            model={"V": {"random": "gaussian"}},
            observables={**small()["observables"], "top": {"kind": "from_top"}},
        )
    )
    found = compute(study, Task(1, 3, 6))
    for i, run in enumerate(range(3, 6)):
        V = drawn({"random": "gaussian", "scale": 1.0}, 2, [stream(3, run, 3)])
        assert V is not None
        x0 = nc.uniform(8, 2, np.random.SeedSequence(3, spawn_key=(run,)))
        alone = nc.simulate(Attention(16.0, V=V), x0[None], 3.0, save=5, rtol=1e-6, atol=1e-9)
        assert np.array_equal(found["ends"][i], alone.x[0, -1])
        assert found["steps"][i] == alone.steps[0]  # type: ignore[index]  # one per run
        assert found["groups"][i, -1] == nc.clusters(alone.x[0, -1], 0.1).max() + 1
        values, vectors = np.linalg.eig(V[0])
        if np.isreal(values).all():
            top = vectors[:, values.argmax()]
            angle = np.arccos(np.minimum(np.abs(alone.x[0, -1] @ top), 1.0)).max()
            assert abs(found["top"][i, -1] - angle) < 1e-7  # arccos loses half the digits near 1
        else:
            assert found["top"][i, -1] < 1e-7  # complex: L is the whole plane


def test_a_block_that_was_stopped_gives_nothing() -> None:
    with pytest.raises(Cancelled):
        compute(
            Study.make(small(times={"t": 1e4, "method": "euler", "dt": 1e-4, "max_steps": 10**9})),
            Task(0, 0, 3),
            1,
            lambda _: False,
        )


def test_own_functions_are_asked_frame_by_frame_as_measure_does_or_run_by_run_if_told_and_nothing_else() -> (
    None
):
    whole = {
        "kind": "function",
        "function": "support.small_studies:profile",
        "each": "run",
        "dims": ["time", "token"],
    }
    own = {
        "spread": {"kind": "function", "function": spread},
        "middle": {"kind": "function", "function": lambda t, x: t + x.mean(0), "dims": ["coordinate"]},
        "profile": whole,
        "ends": {"kind": "points"},
        "way": {"kind": "trajectory"},
    }
    found = ensemble(small(observables=own, times={"t": 3.0, "save": 4, "max_steps": 9}))
    failed = found.data["status"].values == STATUS.index("max steps")
    assert 0 < failed.sum() < failed.size, "the test wants some of each"
    assert found.data["spread"].dims == ("beta", "run", "time")
    assert found.data["middle"].dims == ("beta", "run", "time", "coordinate")
    t, way = found.data["time"].values, found.data["way"].values  # (m,), (beta, run, m, n, d)
    for i in range(2):
        # NaN in the same frames
        np.testing.assert_array_equal(found.data["spread"].values[i], measure((t, way[i]), spread))
        np.testing.assert_array_equal(
            found.data["middle"].values[i], measure((t, way[i]), lambda t, x: t + x.mean(0))
        )
    assert np.isnan(found.data["spread"].values).any(-1)[failed].all()
    np.testing.assert_array_equal(
        found.data["profile"].values, np.where(failed[..., None, None], np.nan, way[..., 0])
    )
    assert np.isnan(found.data["ends"].values[failed]).all()


def test_a_point_where_every_run_fails_at_once_still_knows_the_shape_of_own_functions() -> None:
    own = {
        "frame": {"kind": "function", "function": lambda t, x: x[:3, 0], "dims": ["some"]},
        "all": {"kind": "function", "function": profile, "each": "run", "dims": ["time", "token"]},
    }
    found = ensemble(small(observables=own, times={"t": 3.0, "save": [1.0, 3.0], "max_steps": 1}))
    assert np.isnan(found.data["frame"].values).all()
    assert found.data["frame"].shape == (2, 24, 2, 3)
    assert np.isnan(found.data["all"].values).all()
    assert found.data["all"].shape == (2, 24, 2, 8)


@pytest.mark.parametrize("later", [1, 3])
def test_an_own_function_whose_shape_changes_once_tokens_move_is_refused(later: int) -> None:
    own = {
        "some": {
            "kind": "function",
            "function": lambda t, x: x[: 2 if t == 0.0 else later, 0],
            "dims": ["some"],
        }
    }
    with pytest.raises(InputError, match="must give arrays of one shape"):
        ensemble(small(observables=own, times={"t": 3.0, "save": [0.0, 3.0]}))
    one_by_one = {
        "some": {
            "kind": "function",
            "function": lambda t, x: x[: 2 if x[0, 0] < 0.5 else later, 0],
            "dims": ["some"],
        }
    }
    with pytest.raises(InputError, match="must give arrays of one shape"):
        ensemble(small(observables=one_by_one, times={"t": 3.0, "save": [3.0]}))


def test_measuring_an_ensemble_is_refused_with_what_to_do() -> None:
    found = ensemble(small(runs=2))
    with pytest.raises(InputError, match=r'but is Ensemble\. It keeps no tokens, .* kind = "function"'):
        measure(found, spread)  # type: ignore[call-overload]  # that is what is refused


# --- what is stored


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


def test_without_a_store_results_are_kept_in_memory(finished: Path) -> None:
    found = ensemble(small())
    assert found.data.equals(load_ensemble(finished).data)


# --- statistics


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


def test_pictures_show_the_mean_and_the_quantiles(finished: Path, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    found = load_ensemble(finished)
    ax = found.plot("renyi")
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), found.mean("renyi").values[1])
    edge = np.asarray(ax.collections[1].get_paths()[0].vertices)  # (many, 2) around the band
    for t, low, high in zip(
        found.data["time"].values, *found.quantiles("renyi", (0.1, 0.9)).values[:, 1], strict=True
    ):
        heights = edge[edge[:, 0] == t, 1]
        assert (heights.min(), heights.max()) == (low, high)
    assert found.plot("apart").get_xlabel() == "inverse temperature"
    picture(found, tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 10_000
    plt.close("all")


def test_points_where_no_run_finished_are_nan_without_a_warning_and_the_picture_says_so(
    tmp_path: Path,
) -> None:
    import matplotlib.pyplot as plt

    none = ensemble(
        small(times={"t": 50.0, "save": [0.0, 0.1, 1.0, 10.0, 50.0], "max_steps": 2}, grid={"beta": [16.0]})
    )
    some = ensemble(small(model={"beta": 4.0}, times={"t": 50.0, "save": 5}, grid={"max_steps": [10**6, 2]}))
    assert some.ended.keys() == {"done", "max steps"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found, words in ((none, ["no run finished"]), (some, [])):
            for name in ("renyi", "apart"):
                assert [text.get_text() for text in found.plot(name).texts] == words
                assert np.isnan(found.mean(name).values[-1]).all()
                assert np.isnan(found.band(name).values[:, -1]).all()
            picture(found, tmp_path / "out.png")
    plt.close("all")


def test_a_picture_names_every_line_and_says_how_many_points_it_leaves_out() -> None:
    import matplotlib.pyplot as plt

    grid = {"beta": [1.0, 2.0, 4.0], "Q": ["identity", [1.0, 0.5]], "K": ["identity", [1.0, 0.5]]}
    ax = ensemble(small(runs=2, grid=grid)).plot("renyi")
    legend = ax.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[0] == "beta = 1, Q = identity, K = identity"
    assert len({*labels}) == 6
    assert legend.get_title().get_text().endswith("; 6 of 12 points shown")
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in ax.lines}) == 6  # type: ignore[attr-defined]  # no public name tells dashes apart
    few = ensemble(small(runs=2)).plot("renyi").get_legend()
    assert few is not None
    assert "shown" not in few.get_title().get_text()
    plt.close("all")


# --- going on, and refusing to


def test_more_runs_extend_the_store_to_what_it_would_have_been(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "out.zarr")
    before = (tmp_path / "out.zarr/zarr.json").stat().st_ino
    ensemble(small(), tmp_path / "out.zarr")
    assert (tmp_path / "out.zarr/zarr.json").stat().st_ino == before, "nothing to do, nothing rewritten"
    computed: list[int] = []
    ensemble(small(runs=37), tmp_path / "out.zarr", progress=lambda done, total: computed.append(done))
    assert computed[0] >= 48, "the old runs are not computed again"
    ensemble(small(runs=37), tmp_path / "new.zarr")
    assert contents(tmp_path / "out.zarr") == contents(tmp_path / "new.zarr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.zarr", "out.zarr"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 4}, "seed was 3, now 4"),
        ({"runs": 23}, "holds 24 runs, but 23 are asked for"),
        ({"start": {"n": 9, "d": 2}}, "start.n was 8, now 9"),
        ({"title": "other"}, "title was"),
        ({"observables": {"renyi": {"kind": "consumed", "radius": 0.3}}}, "observables.renyi.radius was"),
    ],
)
@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_any_other_change_is_refused_with_what_differs(
    change: dict[str, Any],
    words: str,
    state: str,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "out.zarr"
    if state == "finished":
        shutil.copytree(finished, path)
    else:
        interrupt(path, monkeypatch)
        words = words.replace("holds 24 runs", "holds runs up to 24")
    place = path if state == "finished" else path.with_name("out.zarr.parts")
    before = contents(place)
    with pytest.raises(InputError, match=words):
        ensemble(small(**change), path)
    assert contents(place) == before
    assert [one.name for one in tmp_path.iterdir()] == [place.name]


def interrupt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of the small study are computed, and the process ends before the store is assembled."""
    from nucleate.studies.partial_store import Shelf

    def stop(self: Shelf) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Shelf, "finish", stop)
        with pytest.raises(KeyboardInterrupt):
            ensemble(small(), path, block=7)


def test_other_versions_are_refused(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nucleate.studies import partial_store

    shutil.copytree(finished, tmp_path / "out.zarr")
    monkeypatch.setattr(partial_store, "made_with", lambda: {"nucleate": "99", "numpy": "1"})
    with pytest.raises(
        InputError,
        match=r"begun otherwise: nucleate was .*, now 99.* nucleate\.load\('.*out\.zarr'\)\.plot\(\)",
    ):
        ensemble(small(), tmp_path / "out.zarr")


@pytest.mark.parametrize("what", ["file", "folder", "run"])
def test_what_is_not_an_ensemble_is_not_replaced(what: str, tmp_path: Path) -> None:
    path = tmp_path / "out.zarr"
    if what == "file":
        path.write_text("precious")
    elif what == "folder":
        path.mkdir()
    else:
        nc.simulate(Attention(1.0), nc.uniform(3, 2), 1.0).save(path)
    with pytest.raises(InputError, match="not an ensemble"):
        ensemble(small(), path)
    with pytest.raises(InputError, match="not an ensemble"):
        load_ensemble(path)


def test_blocks_are_whole_groups_of_lanes_and_fit_into_memory() -> None:
    figure3 = Study.make(small(runs=5000, start={"n": 200, "d": 2}, times={"t": 150.0, "save": 64}))
    assert block_runs(figure3, 2) == 128
    assert block_runs(figure3.with_runs(40), 2) == 8
    large = Study.make(small(runs=5000, start={"n": 20_000, "d": 3}, times={"t": 150.0, "save": 64}))
    assert block_runs(large, 2) == 1


def test_more_threads_than_blocks_give_the_same_bytes(tmp_path: Path, finished: Path) -> None:
    ensemble(small(), tmp_path / "out.zarr", block=100, threads=8)
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    study = small(
        start={"n": 64, "d": 2},
        times={"t": 0.1, "save": 64},
        grid={"beta": [4.0]},
        observables={"a": {"kind": "consumed", "radius": 0.1}},
    )
    code = f"""
import sys
from nucleate.bench.ensemble import most_memory
from nucleate.studies.ensemble import ensemble
study = {study!r}
ensemble(study, sys.argv[2], runs=int(sys.argv[1]), block=16)
print(most_memory())
"""

    def peak(runs: int) -> int:
        words = [sys.executable, "-c", code, str(runs), str(tmp_path / f"{runs}.zarr")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=os.environ, check=True)
        return int(done.stdout)

    few, many = peak(100), peak(2000)
    frames = 1900 * 64 * 64 * 2 * 8  # 125 MB that the further runs would need if all were kept
    assert many - few < 0.2 * frames
