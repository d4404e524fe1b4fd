"""A folder of Zarr from a stranger: refused before Zarr opens an array of it, and never a program run."""

import json
import os
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import typed
from support.hostile_files import ARRAYS, deep_json, edit_json, huge_file, pickle_in_format_2
from support.made_runs import many_runs, one_run
from support.time_limits import not_waiting_for_ever

import nucleate as nc
from nucleate import checks
from nucleate.checks import InputError
from nucleate.explorer.stored_runs import open_folder
from nucleate.integrate import zarr_files
from nucleate.integrate.zarr_files import check_zarr, decode_zstd, read_zarr, zstd_size


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of Zarr, xarray and numcodecs that were called to open something."""
    calls: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            calls.append(name)
            return real(*args, **named)

        return call

    import numcodecs
    import xarray
    import zarr

    for module, name in ((zarr, "open_group"), (xarray, "open_zarr"), (numcodecs, "get_codec")):
        monkeypatch.setattr(module, name, watched(f"{module.__name__}.{name}", getattr(module, name)))
    return calls


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A stored run, to be made hostile."""
    one_run().save(tmp_path / "run.zarr")
    return tmp_path / "run.zarr"


def every_way_in(path: Path, reason: str) -> None:
    """No function that opens a folder opens this one, and each says why."""
    for way in (nc.load, read_zarr, check_zarr):
        with pytest.raises(InputError, match=reason) as refusal:
            way(path)
        assert path.name in str(refusal.value)
    code, said = typed("export", path, "--out", path.with_name("page.html"))
    assert (code, path.name in said, "Traceback" in said) == (2, True, False), said
    assert not path.with_name("page.html").exists()
    folder = open_folder(path.parent)
    for entry in folder.entries():  # by its head it may be one
        with pytest.raises(InputError, match=path.name):
            folder.prepare(entry.name, 0)


def test_a_sound_folder_is_opened(path: Path, opened: list[str]) -> None:
    assert nc.load(path).steps == 17
    assert opened, "the watch works"
    np.testing.assert_array_equal(read_zarr(path)["x"], one_run().x)
    assert check_zarr(path).arrays["x"].nbytes == one_run().x.nbytes


def test_a_planted_pickle_is_refused_by_its_metadata_whatever_the_version_of_numcodecs(
    tmp_path: Path, opened: list[str]
) -> None:
    pickle_in_format_2(tmp_path / "sent.zarr", tmp_path / "mark")
    for way in (nc.load, read_zarr, check_zarr):
        with pytest.raises(InputError, match="format 2, and only format 3 is read"):
            way(tmp_path / "sent.zarr")
    code, said = typed("export", tmp_path / "sent.zarr", "--out", tmp_path / "page.html")
    assert code == 2, said
    with pytest.raises(InputError, match="format 2"):
        open_folder(tmp_path).prepare("sent.zarr", 0)
    with pytest.raises(InputError, match="format 2"):
        open_folder(tmp_path / "sent.zarr")
    code, said = typed("explore", tmp_path / "sent.zarr", "--no-browser")  # before it serves
    assert (code, "format 2" in said) == (2, True), said
    assert opened == []
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("what", ARRAYS)
def test_an_array_that_is_not_of_plain_numbers_is_refused_by_its_metadata(
    what: str, path: Path, opened: list[str]
) -> None:
    change, reason = ARRAYS[what]
    edit_json(path / "x/zarr.json", change)
    with pytest.raises(InputError, match=reason):
        check_zarr(path)
    with pytest.raises(InputError, match=reason):
        nc.load(path)
    with pytest.raises(InputError, match=reason):
        read_zarr(path)
    assert opened == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda head: head.update(attributes=[1]), "no table|not a nucleate run"),
        (lambda head: head.update(node_type="array"), "no group's"),
        (lambda head: head.update(zarr_format=2), "not of Zarr's format 3"),
        (lambda head: head.update(consolidated_metadata=[]), "consolidated metadata are no table"),
        (lambda head: head.update(consolidated_metadata={"metadata": {}}), "something else about"),
        (
            lambda head: head.update(consolidated_metadata={"metadata": {"more": {"node_type": "array"}}}),
            "something else about",
        ),
    ],
    ids=["attributes", "an array", "format 2", "no consolidated", "less consolidated", "more consolidated"],
)
def test_a_group_that_contradicts_itself_is_refused(
    change: Callable[[dict[str, Any]], object], reason: str, path: Path, opened: list[str]
) -> None:
    edit_json(path / "zarr.json", change)
    for way in (nc.load, read_zarr):
        with pytest.raises(InputError, match=reason):
            way(path)
    assert opened == []


def test_consolidated_metadata_that_say_the_same_are_no_reason_to_refuse(path: Path) -> None:
    heads = {name: json.loads((path / name / "zarr.json").read_text()) for name in check_zarr(path).arrays}
    edit_json(path / "zarr.json", lambda head: head.update(consolidated_metadata={"metadata": heads}))
    assert nc.load(path).steps == 17


@pytest.mark.parametrize("file", ["zarr.json", "x/zarr.json"])
@pytest.mark.parametrize("what", ["deep", "huge", "pipe", "folder", "list", "number", "gone"])
def test_metadata_that_no_parser_should_see_are_refused(
    file: str, what: str, path: Path, opened: list[str]
) -> None:
    place = path / file
    place.unlink()
    if what == "deep":
        place.write_bytes(deep_json())
    elif what == "huge":
        huge_file(place, 2**28 + 1)
    elif what == "pipe":
        os.mkfifo(place)
    elif what == "folder":
        place.mkdir()
    elif what == "list":
        place.write_text("[]")
    elif what == "number":
        place.write_text('{"shape": [' + "9" * 5000 + "]}")
    with not_waiting_for_ever():
        for way in (nc.load, read_zarr):
            with pytest.raises(InputError, match=path.name):
                way(path)
        assert open_folder(path.parent).entries() == []
        assert typed("export", path, "--out", path.with_name("page.html"))[0] == 2
    # Without its metadata x is no array, which xarray does not miss.
    assert opened == [] or (file, what) in {("x/zarr.json", "gone"), ("x/zarr.json", "folder")}


def test_metadata_that_would_not_fit_into_memory_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_json(path / "zarr.json", lambda head: head["attributes"].update(more="x" * 2**20))
    assert read_zarr(path).sizes["time"] == 12
    monkeypatch.setattr(checks, "memory", lambda: 2**24)
    with pytest.raises(InputError, match=r"zarr\.json holds needs .* GiB, but may have"):
        read_zarr(path)


@pytest.mark.parametrize("what", ["out", "in", "folder", "nowhere", "pipe"])
def test_a_folder_with_links_or_pipes_is_refused(what: str, path: Path, opened: list[str]) -> None:
    chunk, elsewhere = path / "x/c/0/0/0", path.with_name("elsewhere")
    if what == "folder":
        shutil.move(path / "x", elsewhere)
        (path / "x").symlink_to(elsewhere)
    elif what == "pipe":
        chunk.unlink()
        os.mkfifo(chunk)
    else:
        target = {"out": elsewhere, "in": path / "x/there", "nowhere": path / "none"}[what]
        shutil.move(chunk, path.with_name("kept") if what == "nowhere" else target)
        chunk.symlink_to(target)
    reason = "neither a file nor a folder" if what == "pipe" else r"is a link, .*cp -rL"
    with not_waiting_for_ever():
        every_way_in(path, reason)
    assert opened == []


def test_folders_nested_without_end_are_refused(path: Path) -> None:
    (path / "/".join("a" * 60)).mkdir(parents=True)
    with pytest.raises(InputError, match="nested more than 40 deep"):
        check_zarr(path)


# Bombs


def compressed(data: bytes) -> bytes:
    from numcodecs.zstd import Zstd

    return bytes(Zstd().encode(data))


def peak_of(call: Callable[[], object]) -> int:
    """The most memory that Python's and NumPy's arrays took meanwhile."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(path: Path, reason: str) -> Callable[[], None]:
    def call() -> None:
        with pytest.raises(InputError, match=reason):
            nc.load(path)

    return call


def test_a_small_shape_with_a_huge_chunk_is_refused_by_its_metadata(path: Path) -> None:
    """73 kB that would be a gigabyte."""
    shape = [12, 9, 2**20]

    def grow(table: dict[str, Any]) -> None:
        table["chunk_grid"]["configuration"]["chunk_shape"] = shape

    edit_json(path / "x/zarr.json", grow)
    assert peak_of(refused(path, "chunks of 905969664 bytes for an array of 1728")) < 2**24


@pytest.mark.parametrize("tail", [b"", b"\0"], ids=["more than the chunk", "and a byte"])
def test_a_chunk_that_holds_more_than_it_may_is_refused_by_its_head(tail: bytes, path: Path) -> None:
    bomb = compressed(bytes(2**26)) + tail
    assert len(bomb) < 2**12
    (path / "x/c/0/0/0").write_bytes(bomb)
    assert peak_of(refused(path, r"x/c/0/0/0 holds 67108864 bytes, not 1728")) < 2**24


def test_a_chunk_that_lies_about_its_size_or_does_not_say_it_is_refused(path: Path) -> None:
    bomb = bytearray(compressed(bytes(2**26)))
    assert bomb[4] >> 6 == 2, "four bytes say the size"
    begin = 5 + (1 - (bomb[4] >> 5 & 1))
    bomb[begin : begin + 4] = struct.pack("<L", 1728)
    assert zstd_size(bytes(bomb)) == 1728
    (path / "x/c/0/0/0").write_bytes(bomb)
    assert peak_of(refused(path, "damaged")) < 2**24
    with pytest.raises(ValueError, match=r"\w"):
        decode_zstd(bytes(bomb), 1728)
    silent = bytes([*bomb[:4], 0, bomb[5], *bomb[begin + 4 :]])  # a window, and no size
    assert zstd_size(silent) is None
    (path / "x/c/0/0/0").write_bytes(silent)
    assert peak_of(refused(path, "an unknown number of bytes")) < 2**24


def test_a_chunk_that_is_far_larger_on_the_disk_than_in_memory_is_refused(path: Path) -> None:
    chunk = path / "x/c/0/0/0"
    whole = chunk.read_bytes()
    chunk.write_bytes(whole + bytes(2**22))
    refused(path, r"x/c/0/0/0 has \d+ bytes, but a chunk of it 1728")()


def test_a_run_that_would_not_fit_into_memory_is_refused_before_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    monkeypatch.setattr(checks, "memory", lambda: 2**26)
    edit_json(path / "x/zarr.json", lambda table: table.update(shape=[12, 9, 2**20]))
    for way in (nc.load, read_zarr):
        with pytest.raises(InputError, match=r"run\.zarr needs .* GiB, but may have"):
            way(path)
    assert opened == []


@pytest.mark.parametrize("size", [1, 255, 256, 257, 65791, 65792, 2**20])
def test_what_zstandard_says_of_its_size_is_read_as_it_is_written(size: int) -> None:
    data = compressed(bytes(size))
    assert zstd_size(data) == size
    assert decode_zstd(data, size) == bytes(size)
    for other in (size + 1, size - 1):
        with pytest.raises(ValueError, match="bytes"):
            decode_zstd(data, other)


def test_several_chunks_and_unwritten_ones_are_read(tmp_path: Path) -> None:
    import xarray

    values = np.zeros((5, 4))
    values[4] = 1.0
    dataset = xarray.Dataset({"a": (("i", "j"), values)})
    dataset.to_zarr(
        tmp_path / "a.zarr", zarr_format=3, consolidated=False, encoding={"a": {"chunks": (2, 3)}}
    )
    np.testing.assert_array_equal(read_zarr(tmp_path / "a.zarr")["a"], values)
    assert zarr_files.check_zarr(tmp_path / "a.zarr").arrays["a"].chunks == (2, 3)
    many_runs().save(tmp_path / "b.zarr")
    assert nc.load(tmp_path / "b.zarr").x.shape == (3, 6, 5, 2)
