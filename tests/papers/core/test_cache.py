"""Data on the disk: computed once, and again where parameters, code or bytes have changed."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import made, small
from support.time_limits import not_waiting_for_ever

from nucleate import Attention, simulate, uniform
from nucleate.checks import InputError
from nucleate.papers import find
from nucleate.papers.causal_clustering.life import data as lives
from nucleate.papers.core.cache import ItemWorkspace


def _dataset(value: float) -> xarray.Dataset:
    return xarray.Dataset({"x": ("i", np.array([value, np.nan, 2.0]))})


def test_a_dataset_is_computed_once_and_again_if_parameters_or_bytes_changed(tmp_path: Path) -> None:
    def ask(p: dict[str, Any]) -> tuple[float, list[str]]:
        workspace = ItemWorkspace("figure4", tmp_path, p)
        return float(workspace.dataset("piece", lambda: _dataset(p["value"]))["x"][0]), workspace.computed

    assert ask({"value": 1.0}) == (1.0, ["piece"])
    assert ask({"value": 1.0}) == (1.0, [])
    assert ask({"value": 3.0}) == (3.0, ["piece"])
    chunk = next(
        file
        for file in (tmp_path / "piece.zarr" / "x").rglob("*")
        if file.is_file() and file.name != "zarr.json"
    )
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    assert ask({"value": 3.0}) == (3.0, ["piece"])
    chunk.unlink()  # Zarr would read fill values
    assert ask({"value": 3.0}) == (3.0, ["piece"])
    assert ask({"value": 3.0}) == (3.0, [])


def test_data_of_a_stranger_are_computed_anew_and_never_run(tmp_path: Path) -> None:
    """Arrays in Zarr's format 2 with a filter that unpickles, as a dataset and as a run."""
    from support.pickles import Harm

    mark = tmp_path / "mark"
    for name in ("piece", "run"):
        array = tmp_path / f"{name}.zarr" / "x"
        array.mkdir(parents=True)
        (array.parent / ".zgroup").write_text('{"zarr_format": 2}')
        (array.parent / ".zattrs").write_text('{"fingerprint": "any", "checksum": "any"}')
        filters = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]
        head = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None}
        (array / ".zarray").write_text(
            json.dumps({**head, "order": "C", "compressor": None, "filters": filters})
        )
        (array / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["i"]}')
        (array / "0").write_bytes(pickle.dumps(Harm(mark)))
    said: list[str] = []
    workspace = ItemWorkspace("figure4", tmp_path, {}, tell=said.append)
    assert float(workspace.dataset("piece", lambda: _dataset(1.0))["x"][0]) == 1.0
    workspace.run("run", lambda: simulate(Attention(1.0), uniform(3, 2, 0), 1.0, save=3))
    assert not mark.exists()
    assert said == [
        f"{tmp_path / name}.zarr is damaged or was edited. It is computed anew." for name in ("piece", "run")
    ]


@pytest.mark.parametrize("what", ["file", "pipe", "dangling link"])
def test_what_is_no_folder_of_data_is_refused_before_any_work(what: str, tmp_path: Path) -> None:
    place = tmp_path / "piece.zarr"
    if what == "file":
        place.write_text("years of work")
    elif what == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("nowhere")
    before = os.lstat(place)
    workspace = ItemWorkspace("figure4", tmp_path, {})
    for ask in (workspace.dataset, workspace.run):
        with not_waiting_for_ever(), pytest.raises(InputError, match=r"piece\.zarr .*cannot be written"):
            ask("piece", lambda: pytest.fail("the work was begun"))
    assert os.lstat(place) == before


def test_a_run_is_computed_once_and_again_if_it_was_damaged(tmp_path: Path) -> None:
    def ask(seed: int) -> list[str]:
        workspace = ItemWorkspace("figure4", tmp_path, {"seed": seed})
        run = workspace.run("run", lambda: simulate(Attention(1.0), uniform(3, 2, seed), 1.0, save=3))
        np.testing.assert_array_equal(run.x[0], uniform(3, 2, seed))
        return workspace.computed

    assert [ask(0), ask(0), ask(1)] == [["run"], [], ["run"]]
    (tmp_path / "run.zarr" / "zarr.json").write_text("{}")
    assert [ask(1), ask(1)] == [["run"], []]


def test_what_ctrl_c_cut_short_is_not_kept(tmp_path: Path) -> None:
    run = simulate(Attention(1.0), uniform(3, 2, 0), 1.0, save=3)
    workspace = ItemWorkspace("figure4", tmp_path, {})
    with pytest.raises(KeyboardInterrupt):
        workspace.run("run", lambda: replace(run, status="interrupted"))
    assert not (tmp_path / "run.zarr").exists()


def test_an_interrupted_item_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, p = find("life"), {**small("life"), "starts": 2, "betas": [4.0, 9.0], "sphere_betas": []}
    lived: list[tuple[float, int]] = []
    real = lives.one_life

    def counted(beta: float, n: int, seed: int, stop: Any = None, d: int = 2) -> Any:
        if beta == 9.0 and not allowed:
            raise KeyboardInterrupt
        lived.append((beta, seed))
        return real(beta, n, seed, stop, d)

    allowed: list[bool] = []
    monkeypatch.setattr(lives, "one_life", counted)
    with pytest.raises(KeyboardInterrupt):
        one.run(ItemWorkspace("life", tmp_path, p))
    assert sorted(set(lived)) == [(4.0, 0), (4.0, 1)]
    lived.clear()
    allowed.append(True)
    one.run(ItemWorkspace("life", tmp_path, p))
    assert sorted(lived) == [(9.0, 0), (9.0, 1)]


@pytest.mark.parametrize(
    "key",
    [
        "figure2",
        "figure5",
        "figure6",
        "table1",
        "life",
        "lemma5.1",
        "theorem5.2",
        "lemma5.3",
        "lemmaA.1",
        "slips",
    ],
)
def test_an_item_run_again_has_the_same_numbers_and_a_third_time_computes_nothing(
    key: str, tmp_path: Path
) -> None:
    found = made(key)
    again = found.item.measure(found.item.run(ItemWorkspace(key, tmp_path, found.p)), found.p)
    assert repr(again) == repr(found.numbers)  # in which every digit is, and NaN equals NaN
    third = ItemWorkspace(key, tmp_path, found.p, tell=pytest.fail)
    found.item.run(third)
    assert third.computed == []
