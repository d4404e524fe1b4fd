"""A .npz file from a stranger: its sizes are known and agree before an array is read, and no pickle is
opened."""

import io
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import typed
from support.hostile_files import huge_file
from support.made_runs import one_run, rich_run
from support.pickles import Harm
from support.time_limits import not_waiting_for_ever

import nucleate as nc
from nucleate import checks
from nucleate.checks import InputError
from nucleate.explorer.stored_runs import open_folder
from nucleate.integrate.npz_files import npz_heads, npz_names, read_npz
from nucleate.integrate.storage import run_shape

COUNT_IN_END = -22 + 10  # where the end of a zip file says how many files it holds


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A stored run, to be made hostile."""
    one_run().save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, files: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def refused_everywhere(path: Path, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as refusal:
        nc.load(path)
    assert path.name in str(refusal.value)
    with pytest.raises(InputError):
        read_npz(path)
    code, said = typed("export", path, "--out", path.with_name("page.html"))
    assert (code, path.name in said, "Traceback" in said) == (2, True, False), said


def test_a_sound_file_is_read(tmp_path: Path) -> None:
    rich_run().save(tmp_path / "run.npz")
    assert npz_names(tmp_path / "run.npz") >= {"nucleate", "x", "V", "frozen_weight"}
    assert npz_heads(tmp_path / "run.npz")["x"] == ((5, 6, 3), np.dtype(float))
    np.testing.assert_array_equal(read_npz(tmp_path / "run.npz")["x"], rich_run().x)
    write(tmp_path / "run.npz", list(members(tmp_path / "run.npz").items()), zipfile.ZIP_DEFLATED)
    np.testing.assert_array_equal(nc.load(tmp_path / "run.npz").x, rich_run().x)  # compressed by its owner


def test_pickles_are_never_opened(path: Path) -> None:
    sound, mark = members(path), path.with_name("mark")
    hidden = np.empty((1,), dtype=[("a", object)])
    hidden[0] = (Harm(mark),)
    for name in ("nucleate.npy", "x.npy", "more.npy"):
        for planted in (np.array([Harm(mark)], dtype=object), hidden):
            write(path, list({**sound, name: npy(planted)}.items()))
            refused_everywhere(path, "only numbers and texts are read|fit its shape|damaged|its shape is")
    write(path, [*sound.items(), ("more.pkl", b"any")])
    refused_everywhere(path, "no array as NumPy writes them")
    assert not mark.exists()


def claims_more(sound: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [*{**sound, "x.npy": sound["x.npy"].replace(b"(12, 9, 2)", b"(9999,9,2)")}.items()]


def has_less(sound: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [*{**sound, "x.npy": sound["x.npy"][:-8]}.items()]


def has_more(sound: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [*{**sound, "x.npy": sound["x.npy"] + bytes(8)}.items()]


def negative(sound: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [*{**sound, "x.npy": sound["x.npy"].replace(b"(12, 9, 2)", b"(-1, 9, 2)")}.items()]


def no_head(sound: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [*{**sound, "x.npy": b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535}.items()]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (claims_more, "its shape is"),
        (has_less, "its shape is"),
        (has_more, "its shape is"),
        (negative, "head of 'x.npy' in it is damaged"),
        (no_head, "head of 'x.npy' in it is damaged"),
    ],
)
def test_heads_that_do_not_fit_the_file_are_refused(
    change: Callable[[dict[str, bytes]], list[tuple[str, bytes]]], reason: str, path: Path
) -> None:
    write(path, change(members(path)))
    refused_everywhere(path, reason)


def test_a_bomb_is_refused_by_its_heads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = len(nc.load(path).t)
    bomb = npy(np.zeros((frames, 9000, 100)))
    write(path, [*{**members(path), "x.npy": bomb}.items()], zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < len(bomb) / 500
    del bomb
    monkeypatch.setattr(checks, "memory", lambda: 2**27)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"run\.npz needs .* GiB, but may have"):
        nc.load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["x.npy", "nucleate.npy"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_head_that_is_a_bomb_is_not_read(name: str, version: int, path: Path) -> None:
    """NumPy reads as much as is announced, up to 4 GiB, and looks then whether it may."""
    announced = 2**26
    bomb = b"\x93NUMPY" + bytes((version, 0)) + struct.pack("<L", announced) + b" " * announced
    write(path, list({**members(path), name: bomb}.items()), zipfile.ZIP_DEFLATED)
    del bomb
    tracemalloc.start()
    for read in (nc.load, npz_heads, read_npz, run_shape):
        with pytest.raises(
            InputError, match=f"head of '{name}' in it is damaged: it is said to have {announced}"
        ):
            read(path)
    assert open_folder(path.parent).entries() == []
    assert tracemalloc.get_traced_memory()[1] < announced / 8
    tracemalloc.stop()
    refused_everywhere(path, "head of .* in it is damaged")


def test_a_table_of_contents_that_lies_about_sizes_is_refused(path: Path) -> None:
    """The size of x in the table of contents, which is what zipfile goes by."""
    whole = path.read_bytes()
    real = len(members(path)["x.npy"])
    at = whole.index(b"x.npy", whole.index(b"PK\1\2")) - 46
    assert struct.unpack("<2L", whole[at + 20 : at + 28]) == (real, real)
    for packed, said in ((real, 2**31), (2**31, 2**31), (real, real - 8), (16, real), (real, 0)):
        changed = bytearray(whole)
        changed[at + 20 : at + 28] = struct.pack("<2L", packed, said)
        path.write_bytes(changed)
        refused_everywhere(path, "not opened|damaged")


def test_arrays_that_share_their_bytes_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    at = whole.index(b"x.npy", whole.index(b"PK\1\2")) - 46
    end = whole.index(b"PK\1\2", at + 4)
    begin = whole.index(b"PK\1\2")
    table = whole[begin : whole.index(b"PK\5\6")]
    more = 50
    table += whole[at:end] * more
    tail = bytearray(whole[-22:])
    count = struct.unpack("<H", tail[10:12])[0] + more
    tail[8:16] = struct.pack("<2HL", count, count, len(table))
    path.write_bytes(whole[:begin] + table + bytes(tail))
    refused_everywhere(path, "two arrays of one name|share bytes")


def test_a_table_of_contents_without_end_is_refused_before_it_is_read(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[COUNT_IN_END : COUNT_IN_END + 2] = struct.pack("<H", 60_000)
    path.write_bytes(whole)
    with pytest.raises(InputError, match="announces 60000 arrays"):
        read_npz(path)
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**9, 10**9, 46 * 10**9, 0)
    place = struct.pack("<4sLQL", b"PK\6\7", 0, len(whole) - 22, 1)
    path.write_bytes(whole[:-22] + large + place + whole[-22:])
    with pytest.raises(InputError, match="announces 1000000000 arrays"):
        read_npz(path)
    path.write_bytes(whole[:-22] + large + place[:8] + bytes(8) + place[16:] + whole[-22:])
    with pytest.raises(InputError, match="its end is damaged"):
        read_npz(path)


def test_methods_that_numpy_does_not_write_are_refused(path: Path) -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        write(path, list(members(path).items()), method)
        refused_everywhere(path, "no array as NumPy writes them")


@pytest.mark.parametrize("what", ["pipe", "folder", "huge", "link to a pipe", "empty"])
def test_what_is_no_file_is_refused(what: str, path: Path) -> None:
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "huge":
        huge_file(path, 2**40)
    elif what == "empty":
        path.touch()
    else:
        os.mkfifo(path.with_name("pipe"))
        path.symlink_to(path.with_name("pipe"))
    with not_waiting_for_ever():
        refused_everywhere(path, "not a nucleate run")
        assert open_folder(path.parent).entries() == []
        with pytest.raises(InputError, match="not replaced"):
            one_run().save(path)
