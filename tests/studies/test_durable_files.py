"""Files that survive a crash: the lock that keeps a second writer out, and blocks bit for bit."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.time_limits import not_waiting_for_ever

from nucleate.checks import InputError
from nucleate.studies import durable_files
from nucleate.studies.block import Block, ComputedBlock


def test_a_lock_that_its_writer_has_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer finishes, and removes folder and lock, after we have opened the lock and before we hold
    it."""
    import fcntl

    folder, real = tmp_path / "out.zarr.parts", fcntl.flock
    turns: list[int] = []

    def flock(handle: int, how: int) -> None:
        if not turns:
            shutil.rmtree(folder)
        turns.append(how)
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with durable_files.locked(folder):
        assert (folder / "lock").exists()
        monkeypatch.undo()
        with pytest.raises(InputError, match="in use"), durable_files.locked(folder):
            pass
    assert len(turns) == 2


def test_a_writer_that_leaves_takes_no_other_writers_lock_with_it(tmp_path: Path) -> None:
    """The first has finished and removed folder and lock, but has not yet left when the second comes."""
    folder = tmp_path / "out.zarr.parts"
    first, second = durable_files.locked(folder), durable_files.locked(folder)
    first.__enter__()
    (folder / "lock").unlink()
    folder.rmdir()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(InputError, match="in use"), durable_files.locked(folder):
        pass
    second.__exit__(None, None, None)
    assert not folder.exists()


@pytest.mark.parametrize("what", ["dangling link", "link", "pipe", "folder"])
def test_what_is_no_lock_is_refused_and_left_as_it_was(what: str, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out.zarr.parts", tmp_path / "elsewhere"
    folder.mkdir()
    if what == "pipe":
        os.mkfifo(folder / "lock")
    elif what == "folder":
        (folder / "lock").mkdir()
    else:
        (folder / "lock").symlink_to(elsewhere if what == "dangling link" else tmp_path / "gone" / "lock")
    before = os.lstat(folder / "lock")
    with (
        not_waiting_for_ever(5),
        pytest.raises(InputError, match=r"parts/lock is no ordinary file, and so no lock\. Move it away"),
        durable_files.locked(folder),
    ):
        pass
    assert os.lstat(folder / "lock") == before
    assert not elsewhere.exists(), "nothing is made through the link"


def test_a_link_that_takes_the_place_of_the_lock_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(durable_files, "_is_no_file", lambda path: False)
    with pytest.raises(InputError, match="symbolic links"), durable_files.locked(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_vanishes_again_and_again_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_files, "_has_this_name", lambda handle, path: False)
    with (
        not_waiting_for_ever(5),
        pytest.raises(InputError, match=r"cannot be locked: its lock vanished 100 times"),
        durable_files.locked(tmp_path),
    ):
        pass


def test_blocks_come_back_bit_for_bit() -> None:
    arrays = {
        "a": np.array([1.5, np.nan, -0.0]),
        "b": np.arange(6, dtype=np.int8).reshape(3, 2),
        "c": np.zeros((0, 4)),
    }
    packed = durable_files.pack_block("mark", Block(1, 2, 5), ComputedBlock(arrays, "a kind"))
    mark, block, found = durable_files.unpack_block(packed)
    assert (mark, block, found.processor) == ("mark", Block(1, 2, 5), "a kind")
    assert {name: (array.dtype, array.shape, array.tobytes()) for name, array in found.arrays.items()} == {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()
    }
