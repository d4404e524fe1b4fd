"""Files that survive a crash: the lock that keeps a second writer out, and blocks bit for bit."""

import shutil
from pathlib import Path

import numpy as np
import pytest

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
