"""Files of any kind are read as far as they are files, and no farther."""

import os
from pathlib import Path

import pytest
from support.hostile_files import huge_file
from support.time_limits import not_waiting_for_ever

from nucleate import checks
from nucleate.checks import InputError, MissingFileError, read_file, regular_file


def test_an_ordinary_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        assert read_file(tmp_path / name, 5) == b"12345"
        assert regular_file(tmp_path / name) == 5
        with pytest.raises(InputError, match="has 5 bytes, and 4 are the most that is read"):
            read_file(tmp_path / name, 4)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to a pipe"])
def test_what_is_no_file_is_not_read(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "here"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "device":
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    with not_waiting_for_ever(), pytest.raises(InputError, match="is no ordinary file"):
        read_file(path, 2**20)


def test_a_pipe_that_takes_the_place_of_a_file_meanwhile_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "here")
    monkeypatch.setattr(checks, "regular_file", lambda path: 5)
    with not_waiting_for_ever(), pytest.raises(InputError, match="is no ordinary file"):
        read_file(tmp_path / "here", 2**20)


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path) -> None:
    huge_file(tmp_path / "huge", 2**40)
    with pytest.raises(InputError, match="has 1099511627776 bytes"):
        read_file(tmp_path / "huge", 2**20)


def test_a_missing_file_and_an_impossible_name_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="cannot be read: No such file or directory"):
        read_file(tmp_path / "none", 1)
    with pytest.raises(InputError, match="cannot be the name of a file"):
        read_file(Path("a\0b"), 1)
