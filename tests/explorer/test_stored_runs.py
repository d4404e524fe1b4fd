"""Stored runs and ensembles: listed, opened, and no name leads out of their folder."""

import importlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from support.explorer_server import PAGE, Client, client, explorer_server
from support.hostile_input import path_traversals
from support.made_depth_runs import depth_run
from support.made_runs import many_runs, one_run
from support.small_studies import small, spread
from support.time_limits import several_programs

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer import limits
from nucleate.explorer.export import export
from nucleate.explorer.prepared_run import PreparedRun, compute, prepare_scene
from nucleate.explorer.prepared_trace import PreparedTrace
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.stored_runs import open_folder
from nucleate.studies.points import stream


def test_data_have_one_scheme_of_names(tmp_path: Path) -> None:
    one_run().save(tmp_path / "first.zarr")
    many_runs().save(tmp_path / "several.npz")
    folder = open_folder(tmp_path)
    names = [
        prepared.file
        for prepared in (
            prepare_scene(parse_scene({})),
            folder.prepare("first.zarr", 0),
            folder.prepare("several.npz", 2),
        )
    ]
    assert names == ["nucleate-run", "nucleate-first", "nucleate-several-2"]


def test_the_command_line_opens_one_run_or_a_folder_and_says_what_is_wrong(tmp_path: Path) -> None:
    one_run().save(tmp_path / "a.npz")
    one_run().save(tmp_path / "b.zarr")
    assert [one.name for one in open_folder(tmp_path).entries()] == ["a.npz", "b.zarr"]
    assert [one.name for one in open_folder(tmp_path / "b.zarr").entries()] == ["b.zarr"]
    with pytest.raises(InputError, match="no stored run of that name"):
        open_folder(tmp_path / "b.zarr").prepare("a.npz", 0)
    assert open_folder(None).entries() == []
    (tmp_path / "c.npz").write_bytes(b"junk")
    (tmp_path / "d.txt").write_text("junk")
    for name, words in (
        ("c.npz", "neither a run"),
        ("d.txt", "neither a stored run"),
        ("e.zarr", "does not exist"),
    ):
        with pytest.raises(InputError, match=words):
            open_folder(tmp_path / name)


@pytest.mark.parametrize("name", ["deep.zarr", "deep.npz"])
def test_a_trace_of_too_many_layers_is_refused_before_it_is_read(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nc.Run.from_hidden_states(np.ones((limits.MAX_LAYERS + 2, 1, 2))).save(tmp_path / name)
    monkeypatch.setattr("nucleate.explorer.stored_runs.load", None)
    for opened in (
        lambda: open_folder(tmp_path / name),
        lambda: open_folder(tmp_path).prepare(name, 0),
        lambda: export(tmp_path / name, tmp_path / "page.html", page=PAGE),
    ):
        with pytest.raises(InputError, match=f"^{name} has 1001 layers, but the explorer shows at most 1000"):
            opened()


@pytest.mark.parametrize("name", ["trace.zarr", "trace.npz"])
def test_a_trace_is_opened_whatever_its_dimension_and_a_run_as_wide_is_not(tmp_path: Path, name: str) -> None:
    states = np.random.default_rng(0).standard_normal((3, 6, 200))
    nc.Run.from_hidden_states(states).save(tmp_path / name)
    depth_run((2,)).save(tmp_path / "two.npz")
    assert {one.name: (one.kind, one.runs) for one in open_folder(tmp_path).entries()} == {
        name: ("trace", 1),
        "two.npz": ("trace", 2),
    }
    prepared = open_folder(tmp_path / name).prepare(name, 0)
    assert isinstance(prepared, PreparedTrace)
    assert (prepared.file, len(prepared.readings[0].words)) == ("nucleate-trace", 6)
    with pytest.raises(InputError, match=r"no run 2 in two\.npz"):
        open_folder(tmp_path).prepare("two.npz", 2)
    one_run(d=70).save(tmp_path / "wide.npz")
    with pytest.raises(InputError, match="shows at most"):
        open_folder(tmp_path / "wide.npz")


def test_a_run_whose_positions_have_one_axis_is_refused_and_not_listed(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.zarr")
    head = tmp_path / "run.zarr" / "x" / "zarr.json"
    head.write_text(json.dumps({**json.loads(head.read_text()), "shape": [3]}))
    assert open_folder(tmp_path).entries() == []
    with pytest.raises(InputError, match="head is damaged"):
        open_folder(tmp_path / "run.zarr")


def test_a_damaged_run_is_refused_without_telling_where_it_lies(tmp_path: Path) -> None:
    one_run().save(tmp_path / "a.zarr")
    chunk = next(
        file for file in (tmp_path / "a.zarr" / "x").rglob("*") if file.is_file() and file.name != "zarr.json"
    )
    chunk.write_bytes(bytes(len(chunk.read_bytes())))
    with pytest.raises(InputError) as error:
        open_folder(tmp_path).prepare("a.zarr", 0)
    assert str(tmp_path) not in str(error.value)


def test_an_ensembles_own_functions_are_not_imported_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nc.ensemble(small(observables={"own": {"kind": "function", "function": spread}}), tmp_path / "own.zarr")
    asked, fetch = [], importlib.import_module

    def import_module(name: str, package: str | None = None) -> Any:
        asked.append(name)
        return fetch(name, package)

    monkeypatch.setattr(importlib, "import_module", import_module)
    prepared = open_folder(tmp_path).prepare("own.zarr", 3)
    assert isinstance(prepared, PreparedRun)
    assert [name for name in asked if "small_studies" in name] == []
    assert prepared.x0.shape == (8, 2)


@several_programs
def test_stored_runs_and_ensembles_are_shown(tmp_path: Path) -> None:
    run = nc.simulate(nc.Attention(9.0, V=np.diag([1.0, 0.5, 0.2])), nc.uniform(8, 3, 4), 50.0, save=12)
    run.save(tmp_path / "a.zarr")
    many_runs().save(tmp_path / "b.npz")
    ensemble = nc.ensemble(small(), tmp_path / "c.zarr")
    (tmp_path / "d.npz").write_bytes(b"no run")
    (tmp_path / "e.txt").write_text("no run")
    points = int(np.prod([len(values) for values in ensemble.study["grid"].values()]))
    with explorer_server(open_folder(tmp_path)) as server, client(server) as page:
        listed = {one["name"]: (one["kind"], one["runs"]) for one in page.hello["opened"]}
        assert listed == {
            "a.zarr": ("run", 1),
            "b.npz": ("run", 3),
            "c.zarr": ("ensemble", points * ensemble.data.sizes["run"]),
        }
        page.tell(do="open", id=1, name="a.zarr")
        begun, t, x, found, ended = page.watch(1)
        assert np.array_equal(x, run.x)
        assert np.array_equal(t, run.t)
        assert begun["recorded"]
        assert begun["scene"] is None
        assert begun["spectrum"]["row"] == 3
        assert (ended["status"], ended["steps"]) == (run.status, run.steps)
        page.tell(do="open", id=2, name="b.npz", run=1)
        begun, t, x, found, ended = page.watch(2)
        assert np.array_equal(x, many_runs().x[1, :4])  # it was cut short
        assert begun["beta"] == 2.0
        assert ended["status"] == "stalled"
        page.tell(do="open", id=3, name="c.zarr", run=points * ensemble.data.sizes["run"] - 1)
        begun, _, x, _, ended = page.watch(3)
        assert begun["recorded"]
        assert ended["status"] == "done"
        _check_ensemble_run(ensemble, x)
        page.tell(do="open", id=4, name="b.npz", run=3)
        assert "no run 3" in page.hear()[0]["text"]


def test_runs_of_noisy_and_discrete_ensembles_are_those_of_the_study(tmp_path: Path) -> None:
    usual = {"runs": 3, "grid": {}, "observables": {"ends": {"kind": "points"}}}
    head = {"beta": 2.0, "mask": "full", "weights": "exponential"}
    noisy = small(**usual, model={**head, "noise": 4.0}, times={"t": 1.0, "save": 4, "dt": 0.05})
    layers = {"count": 4, "redraw": "gaussian", "discrete": True, "dt": 0.5}
    deep = small(**usual, model={"beta": 1.0, "heads": 2, "layers": layers}, times={"t": 2.0})
    for name, study in (("noisy", noisy), ("deep", deep)):
        stored = nc.ensemble(study, tmp_path / f"{name}.zarr").data["ends"].values  # (run, ..., n, d)
        prepared = open_folder(tmp_path).prepare(f"{name}.zarr", 2)
        assert isinstance(prepared, PreparedRun)
        run = compute(prepared)
        assert run.done
        assert np.array_equal(run.t, prepared.times)
        assert np.array_equal(run.x[-1], stored[2].reshape(-1, 8, 2)[-1])


def _check_ensemble_run(ensemble: Any, x: Any) -> None:
    """The last run of the last point, started and ended as the ensemble did."""
    runs = ensemble.data.sizes["run"]
    assert np.array_equal(x[0], nc.uniform(x.shape[1], x.shape[2], stream(ensemble.study["seed"], runs - 1)))
    stored = ensemble.data["ends"].values[-1, -1]  # (n, d) at the last time
    # both are good to a few times rtol = 1e-6, grown while tokens part
    assert np.abs(x[-1] - stored).max() < 1e-4


@several_programs
def test_names_of_stored_runs_cannot_lead_out_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_MESSAGES_AT_ONCE", 1000.0)  # or each has to wait for its turn
    one_run().save(tmp_path / "outside.npz")
    inside = tmp_path / "inside"
    inside.mkdir()
    one_run().save(inside / "run.npz")
    one_run().save(inside / "other.zarr")
    (inside / "link.npz").symlink_to(tmp_path / "outside.npz")
    (inside / "loop.npz").symlink_to(inside / "loop.npz")
    (inside / "up.zarr").symlink_to(tmp_path)
    (inside / "other.zarr" / "more").symlink_to(tmp_path / "outside.npz")
    names = [name.lstrip("/") for name in path_traversals()] + path_traversals()
    names += [
        "link.npz",
        "loop.npz",
        "up.zarr",
        "other.zarr",
        ".",
        "..",
        "run.npz/",
        "./run.npz",
        "run.npz\0",
        "../outside.npz",
        str(tmp_path / "outside.npz"),
    ]
    names += [
        "../inside/run.npz",
        quote("run.npz/../run.npz", safe=""),
        "RUN.NPZ",
        "run",
        "*",
        "run.np?",
        "~",
        "$HOME",
        "file:run.npz",
        "run.npz ",
    ]
    folder = open_folder(inside)
    assert [entry.name for entry in folder.entries()] == ["run.npz"]
    with explorer_server(folder) as server, client(server) as page:
        assert [entry["name"] for entry in page.hello["opened"]] == ["run.npz"]
        page.tell(do="open", id=1, name="run.npz")
        assert page.watch(1)[4]["status"] == "done"
        _all_refused(page, names)


def _all_refused(page: Client, names: list[str]) -> None:
    assert len(names) >= 200
    for name in names:
        page.wire.send(json.dumps({"do": "open", "id": 2, "name": name}))
        header, _ = page.hear()
        assert header["say"] == "error", (name, header)
        assert "root:" not in header["text"]
