"""Folders and files made to harm: refused with a reason, and no pickle is ever opened."""

import json
import os
import pickle
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.made_checkpoints import make
from support.pickles import pickles

from nucleate.checks import InputError
from nucleate.models.spectra import spectra

# --- pickles


def test_the_pickles_of_this_test_do_harm_when_they_are_opened(tmp_path: Path) -> None:
    mark = tmp_path / "harm"
    for raw in list(pickles(mark).values())[:6]:
        pickle.loads(raw)
        assert mark.exists()
        mark.unlink()


DRESSES = [
    "pytorch_model.bin",
    "model.pt",
    "model.pth",
    "model.ckpt",
    "model.pkl",
    "model.safetensors",
    "model.gguf",
    "model.npz",
    "model",
    "model.SAFETENSORS",
]


@pytest.mark.parametrize("dress", DRESSES)
def test_no_pickle_is_opened_in_any_dress(dress: str, tmp_path: Path) -> None:
    mark = tmp_path / "harm"
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(make("llama").config))
    for raw in pickles(mark).values():
        (folder / dress).write_bytes(raw)
        for path in (folder, folder / dress):
            with pytest.raises(InputError):
                spectra(path)
        assert not mark.exists()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json", "mapping.toml"])
def test_no_pickle_is_opened_in_the_files_beside_the_weights(name: str, tmp_path: Path) -> None:
    mark, folder = tmp_path / "harm", make("llama").write(tmp_path / "checkpoint")
    for raw in pickles(mark).values():
        (folder / name).write_bytes(raw)
        with pytest.raises(InputError):
            spectra(folder, mapping=folder / name if name.endswith("toml") else None)
    assert not mark.exists()


def test_a_folder_of_pickles_is_refused_with_the_command_that_converts(tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    folder.mkdir()
    (folder / "training_args.bin").write_bytes(b"")
    (folder / "pytorch_model.bin").write_bytes(b"PK\x03\x04")
    for path in (folder, folder / "pytorch_model.bin"):
        with pytest.raises(InputError, match="Convert it once") as told:
            spectra(path)
        words = shlex.split(str(told.value).partition("Convert it once: ")[2])  # as a shell would read them
        assert words == [
            "nucleate",
            "convert",
            str(folder / "pytorch_model.bin"),
            "--out",
            str(folder / "pytorch_model.safetensors"),
        ]


@pytest.mark.parametrize("name", ["my model.safetensors", "my model.SAFETENSORS"])
def test_a_pickle_that_is_called_safetensors_is_to_be_renamed_before_it_is_converted(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="is a pickle") as told:
        spectra(tmp_path / name)
    rename, _, command = str(told.value).partition("Rename it first: ")[2].partition("\nConvert it once: ")
    assert shlex.split(rename) == ["mv", "-n", str(tmp_path / name), str(tmp_path / "my model.bin")]
    assert shlex.split(command) == [
        "nucleate",
        "convert",
        str(tmp_path / "my model.bin"),
        "--out",
        str(tmp_path / "my model.safetensors"),
    ]


# --- files around the weights


@pytest.mark.parametrize(
    "target",
    [
        "../outside.safetensors",
        "/etc/passwd",
        "sub/model.safetensors",
        "..\\outside.safetensors",
        "model.bin",
        "",
        ".hidden.safetensors",
        "a\0.safetensors",
        "é.safetensors",
        "x" * 500,
    ],
)
def test_an_index_that_points_elsewhere_is_not_followed(target: str, tmp_path: Path) -> None:
    made = make("llama")
    folder = made.write(tmp_path / "inside")
    (tmp_path / "outside.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": dict.fromkeys(made.tensors, target)})
    )
    with pytest.raises(InputError, match="not followed"):
        spectra(folder)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ({}, "no weight_map"),
        ({"weight_map": []}, "no weight_map"),
        ({"weight_map": {}}, "no weight_map"),
        ({"weight_map": {"a": 3}}, "no weight_map"),
        ({"weight_map": {"a": "nothing.safetensors"}}, "cannot be read"),
        ({"weight_map": {"a": "model.safetensors"}}, "does not"),
    ],
)
def test_an_index_that_does_not_fit_is_told(index: Any, words: str, tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=words):
        spectra(folder)


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{", b"\xff", b'{"a":1,"a":2}', b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
    ids=lambda raw: repr(raw[:12]),
)
def test_a_broken_configuration_is_told(raw: bytes, tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    (folder / "config.json").write_bytes(raw)
    with pytest.raises(InputError, match=r"config\.json"):
        spectra(folder)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("model.safetensors", "model.gguf"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InputError, match="no ordinary file"):
            spectra(tmp_path / name)
    with pytest.raises(InputError, match="no ordinary file"):
        spectra(tmp_path)


@pytest.mark.parametrize("path", ["nowhere", "a\0b", "model.onnx", "", 3, None])
def test_a_path_that_is_none_is_told(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"x")
    with pytest.raises(InputError):
        spectra(path)


def test_a_folder_with_several_models_asks_which(tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    (folder / "b.safetensors").write_bytes(raw)
    with pytest.raises(InputError, match=r"a\.safetensors, b\.safetensors"):
        spectra(folder)
    assert spectra(folder / "b.safetensors", draws=1).layers == 2
