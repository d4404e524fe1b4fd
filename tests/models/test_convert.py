"""Pickled weights are converted by torch's weights-only loader, or not at all."""

import os
from pathlib import Path

import pytest
from support.pickles import pickles

from nucleate.checks import InputError

HEADER = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
TENSOR_FILE = len(HEADER).to_bytes(8, "little") + HEADER + bytes(4)


def test_a_file_is_not_converted_onto_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nucleate.models.convert import convert

    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"PK\x03\x04")
    (tmp_path / "link.safetensors").symlink_to(path)
    for source, target in ((path, path), ("model.safetensors", path), (path, "link.safetensors")):
        with pytest.raises(InputError, match=r"would be replaced by what is made of it.*model\.bin"):
            convert(source, target)
    assert path.read_bytes() == b"PK\x03\x04"


@pytest.mark.parametrize("target", ["file", "link", "dangling link", "folder", "pipe"])
def test_what_is_there_is_not_replaced(target: str, tmp_path: Path) -> None:
    from nucleate.models.convert import convert

    path, kept = tmp_path / "model.safetensors", tmp_path / "kept"
    (tmp_path / "model.bin").write_bytes(b"PK")
    kept.write_text("weights of another model")
    if target == "file":
        path.write_text("weights of another model")
    elif target == "link":
        path.symlink_to(kept)
    elif target == "dangling link":
        path.symlink_to(tmp_path / "gone")
    elif target == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(InputError, match=r"exists, so it is not replaced|is a link to"):
        convert(tmp_path / "model.bin", path)
    assert kept.read_text() == "weights of another model"
    assert os.path.lexists(path)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("what", ["file", "link", "folder", "pipe"])
def test_what_appears_while_the_loader_runs_is_not_replaced(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nucleate.models import convert

    path = tmp_path / "model.safetensors"

    def meanwhile(source: Path, part: Path) -> None:
        part.write_bytes(TENSOR_FILE)
        if what == "pipe":
            os.mkfifo(path)
        elif what == "link":
            path.symlink_to(tmp_path / "gone")
        else:
            path.mkdir() if what == "folder" else path.write_text("weights of another model")

    (tmp_path / "model.bin").write_bytes(b"PK")
    monkeypatch.setattr(convert, "_in_a_process", meanwhile)
    with pytest.raises(InputError, match="exists, so it is not replaced"):
        convert.convert(tmp_path / "model.bin", path)
    assert not path.is_file() or path.read_text() == "weights of another model"
    assert sorted(os.listdir(tmp_path)) == ["model.bin", "model.safetensors"]
    path.rmdir() if what == "folder" else path.unlink()
    monkeypatch.setattr(convert, "_in_a_process", lambda source, part: part.write_bytes(TENSOR_FILE))
    assert convert.convert(tmp_path / "model.bin", path) == 1
    assert path.read_bytes() == TENSOR_FILE


def test_converting_never_falls_back_to_a_full_pickle(tmp_path: Path) -> None:
    """With torch its weights-only loader refuses; without torch nothing is opened at all."""
    from nucleate.models.convert import convert

    mark, source = tmp_path / "harm", tmp_path / "model.bin"
    for raw in pickles(mark).values():
        source.write_bytes(raw)
        with pytest.raises(InputError, match=r"weights-only|torch and safetensors are needed"):
            convert(source, tmp_path / "model.safetensors")
    assert not mark.exists()
    assert not (tmp_path / "model.safetensors").exists()
    with pytest.raises(InputError, match=r"must end in \.safetensors"):
        convert(source, tmp_path / "model.bin")
    with pytest.raises(InputError, match="cannot be read"):
        convert(tmp_path / "nothing.bin", tmp_path / "model.safetensors")
