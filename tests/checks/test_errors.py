"""Errors are a small tree: each is an InputError, and also the built-in kind that a caller would catch."""

import os
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_runs import one_run

import nucleate as nc
from nucleate.bench.table import check_json, write_json
from nucleate.checks import FileError, InputError, MissingFileError, MissingPackageError, file_error
from nucleate.explorer.export import check_html
from nucleate.explorer.stored_runs import open_folder
from nucleate.integrate.storage import replacing
from nucleate.models.table import check_out
from nucleate.models.weights import GgufWeights
from nucleate.studies.durable_files import write_durably
from nucleate.studies.result import load_ensemble

NOWHERE = Path("nowhere")
STUDY = {
    "runs": 1,
    "model": {"beta": 1.0},
    "start": {"n": 2, "d": 2},
    "times": {"t": 1.0},
    "observables": {"count": {"kind": "clusters", "radius": 0.1}},
}
MISSING_FILES: dict[str, Callable[[], Any]] = {
    "load a run": lambda: nc.load(NOWHERE / "run.npz"),
    "load an ensemble": lambda: load_ensemble(NOWHERE / "runs.zarr"),
    "save into no folder": lambda: one_run().save(NOWHERE / "run.npz"),
    "draw into no folder": lambda: one_run().save(NOWHERE / "run.png"),
    "read a study": lambda: nc.Study.read(NOWHERE / "study.toml"),
    "store in no folder": lambda: nc.ensemble(STUDY, store=NOWHERE / "runs.zarr"),
    "open a checkpoint": lambda: nc.spectra(NOWHERE / "model.safetensors"),
    "write spectra into no folder": lambda: check_out(NOWHERE / "spectra.json"),
    "open in the explorer": lambda: open_folder(NOWHERE),
    "export into no folder": lambda: check_html(NOWHERE / "page.html"),
    "benchmark into no folder": lambda: check_json(NOWHERE / "bench.json"),
    "write a block into no folder": lambda: write_durably(NOWHERE / "one.block", b"bytes"),
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", MISSING_FILES)
def test_a_file_that_is_missing_is_a_file_not_found_error(name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        MISSING_FILES[name]()
    assert isinstance(caught.value, MissingFileError)
    assert isinstance(caught.value, InputError)
    assert "nowhere" in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_file_that_cannot_be_written_is_an_os_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match=r"run\.npz cannot be written: No space left on device") as caught:
        one_run().save("run.npz")
    assert isinstance(caught.value, FileError)
    assert not isinstance(caught.value, FileNotFoundError)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(OSError, match="is read-only"):
        one_run().save("run.npz")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(OSError, match="it is a folder"):
        check_json(tmp_path / "folder.json")


def test_numbers_of_bench_replace_nothing_but_their_like(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    for _ in range(2):
        check_json(path)
        write_json(path, "drift", {}, 1, [])
    path.write_text('{"name": "somebody\'s package.json"}')
    with pytest.raises(InputError, match="so it is not replaced"):
        check_json(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match="so it is not replaced"):
        check_json(path)
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is a link to"):
        check_json(path)


def test_words_that_an_error_has_already_are_not_put_into_others(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"^Its own words\.$"), replacing(tmp_path / "run.npz"):
        raise FileError("Its own words.")


def use_gguf() -> None:
    Path("model.gguf").write_bytes(b"GGUF")
    GgufWeights(Path("model.gguf"))


MISSING_PACKAGES: dict[str, tuple[str, Callable[[], Any]]] = {
    "gguf": ("gguf", use_gguf),
    "Dask": ("distributed", lambda: nc.ensemble(STUDY, cluster="local")),
    "ffmpeg": ("imageio_ffmpeg", lambda: one_run().save("run.mp4")),
}


@pytest.mark.parametrize("name", MISSING_PACKAGES)
def test_a_package_that_is_missing_is_an_import_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, call = MISSING_PACKAGES[name]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(ImportError, match=r"[Ii]nstall it") as caught:
        call()
    assert isinstance(caught.value, MissingPackageError)
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize("kind", [InputError, FileError, MissingFileError, MissingPackageError])
def test_an_error_says_its_message_and_survives_the_way_to_another_process(kind: type[InputError]) -> None:
    error = kind("x must be so, but is not. Mend it.")
    assert str(error) == "x must be so, but is not. Mend it."
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, str(error))
    assert type(kind.__new__(kind)) is kind  # tblib, which Dask loads, unpickles an error so
    assert isinstance(error, ValueError)


def test_the_kind_follows_from_what_the_system_said() -> None:
    assert type(file_error("Words.", FileNotFoundError(2, "No such file"))) is MissingFileError
    assert type(file_error("Words.", PermissionError(13, "Permission denied"))) is FileError
