"""Runs on disk: they come back bit for bit, or not at all."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import zarr
from support.made_runs import SETTINGS, many_runs, one_run, rich_run

from nucleate.attention import Attention
from nucleate.checks import FileError, InputError
from nucleate.integrate import storage
from nucleate.integrate.run import Run
from nucleate.integrate.storage import load

MAKERS = [one_run, rich_run, many_runs]
ENDINGS = [".zarr", ".npz"]


def same(a: Run, b: Run) -> bool:
    """Whether two runs are equal in every bit that matters."""
    models = [(name, getattr(a.model, name), getattr(b.model, name)) for name in ("beta", "Q", "K", "V")]
    if a.model.frozen is not None and b.model.frozen is not None:
        models += [
            ("x", a.model.frozen.x, b.model.frozen.x),
            ("weight", a.model.frozen.weight, b.model.frozen.weight),
        ]
    arrays = [
        (p is None and q is None) or (p is not None and q is not None and p.tobytes() == q.tobytes())
        for _, p, q in models
    ]
    frozen = (a.model.frozen is None) == (b.model.frozen is None)
    frames = (
        a.t.tobytes() == b.t.tobytes() and a.x.shape == b.x.shape and np.array_equal(a.x, b.x, equal_nan=True)
    )
    words = (a.status, a.settings, a.notes, a.model.mask) == (b.status, b.settings, b.notes, b.model.mask)
    return bool(all(arrays) and frozen and frames and words and np.array_equal(a.steps, b.steps))


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def read_or_refused(path: Path, run: Run) -> bool:
    """True if `path` is refused by name, False if it gives exactly `run`; anything else is a wrong result."""
    refusal = ""
    try:
        assert same(load(path), run)
    except InputError as error:
        refusal = str(error)
    assert not refusal or path.name in refusal
    return bool(refusal)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("make", MAKERS)
def test_a_run_comes_back_bit_for_bit(make: Callable[[], Run], ending: str, tmp_path: Path) -> None:
    run, path = make(), tmp_path / f"run{ending}"
    run.save(path)
    found = load(path)
    assert same(found, run)
    assert not same(found, one_run(d=5))
    assert type(found.steps) is type(run.steps)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_numpy_values_in_the_settings_are_stored_as_numbers(tmp_path: Path) -> None:
    run = one_run()
    Run(run.model, run.t, run.x, "done", 3, {"rtol": np.float64(0.1), "save": np.arange(3)}).save(
        tmp_path / "run.npz"
    )
    assert load(tmp_path / "run.npz").settings == {"rtol": 0.1, "save": [0, 1, 2]}


def test_what_cannot_be_stored_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    run = one_run()
    with pytest.raises(InputError, match="notes holds <object"):
        Run(run.model, run.t, run.x, "done", 3, SETTINGS, {"what": object()}).save(tmp_path / "run.zarr")
    assert list(tmp_path.iterdir()) == []


def test_plain_xarray_opens_a_stored_run(tmp_path: Path) -> None:
    import xarray

    run = many_runs()
    run.save(tmp_path / "run.zarr")
    with xarray.open_zarr(tmp_path / "run.zarr", consolidated=False) as dataset:
        assert dataset["x"].dims == ("run", "time", "token", "coordinate")
        assert dataset["time"].dtype == np.float64
        np.testing.assert_array_equal(dataset["x"], run.x)
        np.testing.assert_array_equal(dataset["V"], run.model.V)
        assert json.loads(dataset.attrs["status"]) == ["done", "stalled", "done"]
        assert json.loads(dataset.attrs["settings"]) == SETTINGS
        assert all(
            "long_name" in dataset[name].attrs and dataset[name].attrs["units"] == "1"
            for name in dataset.variables
        )
    assert json.loads((tmp_path / "run.zarr/zarr.json").read_text())["zarr_format"] == 3


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(ending: str, tmp_path: Path) -> None:
    run, path = rich_run(), tmp_path / f"run{ending}"
    run.save(path)
    rng = np.random.default_rng(0)
    refused = tried = 0
    for file in files_of(path):
        whole = file.read_bytes()
        for at in rng.choice(len(whole), min(len(whole), 12 if path.is_dir() else 300), replace=False):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
            refused += read_or_refused(path, run)
            tried += 1
        file.write_bytes(whole)
    assert not read_or_refused(path, run)
    assert tried > 100
    assert refused > 0.9 * tried  # the rest hit what carries no value, such as a date in a zip header


def test_a_damaged_table_of_contents_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    run, path = rich_run(), tmp_path / "run.npz"
    run.save(path)
    whole = path.read_bytes()
    for at in range(whole.index(b"PK\1\2"), len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x78]) + whole[at + 1 :])
        read_or_refused(path, run)


def test_a_flipped_number_is_refused_even_if_the_container_is_sound(tmp_path: Path) -> None:
    import zarr

    one_run().save(tmp_path / "run.zarr")
    one_run().save(tmp_path / "run.npz")
    x: Any = zarr.open_group(tmp_path / "run.zarr", mode="r+")["x"]
    x[3, 1, 0] = np.nextafter(x[3, 1, 0], 2.0)
    with np.load(tmp_path / "run.npz") as file:
        arrays = dict(file)
    arrays["beta"] = arrays["beta"] * 2
    np.savez(tmp_path / "run.npz", **arrays)
    with pytest.raises(InputError, match="x does not match its checksum"):
        load(tmp_path / "run.zarr")
    with pytest.raises(InputError, match="beta does not match its checksum"):
        load(tmp_path / "run.npz")


@pytest.mark.parametrize("word", ["mask", "status", "settings", "notes"])
def test_a_changed_word_is_refused(word: str, tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.zarr")
    head = tmp_path / "run.zarr/zarr.json"
    inside = json.loads(head.read_text())
    inside["attributes"][word] = {"mask": "full", "status": '"max steps"'}.get(word, '{"method": "rk4"}')
    head.write_text(json.dumps(inside))
    with pytest.raises(InputError, match="texts does not match its checksum"):
        load(tmp_path / "run.zarr")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_truncated_file_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    rich_run().save(path)
    for file in files_of(path):
        whole = file.read_bytes()
        for length in (0, 1, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:length])
            assert read_or_refused(path, rich_run()), f"{file.relative_to(tmp_path)} cut to {length} bytes"
        file.write_bytes(whole)


@pytest.mark.parametrize("make", MAKERS)
def test_a_lost_file_is_refused_and_never_read_as_fill_values(
    make: Callable[[], Run], tmp_path: Path
) -> None:
    path = tmp_path / "run.zarr"
    make().save(path)
    chunks = [file for file in files_of(path) if file.name != "zarr.json"]
    assert len(chunks) >= 4
    for file in files_of(path):
        whole = file.read_bytes()
        file.unlink()
        assert read_or_refused(path, make()), file.relative_to(tmp_path)
        file.write_bytes(whole)


def test_a_lost_chunk_of_many_is_refused(tmp_path: Path) -> None:
    import xarray

    run = one_run(m=8)
    path = tmp_path / "run.zarr"
    run.save(path)
    with xarray.open_zarr(path, consolidated=False) as dataset:
        dataset.load().drop_encoding().to_zarr(
            tmp_path / "cut.zarr",
            consolidated=False,
            encoding={"x": {"chunks": (1, 9, 2), "_FillValue": None}},
        )
    cut = tmp_path / "cut.zarr"
    for name in ("time", "steps", "beta"):  # as they were: xarray gives floats a fill value of its own
        shutil.rmtree(cut / name)
        shutil.copytree(path / name, cut / name)
    assert same(load(cut), run)  # other chunks, same run
    (cut / "x/c/5/0/0").unlink()
    with pytest.raises(InputError, match="x does not match its checksum"):
        load(cut)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "sprung"),))

    one_run().save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        arrays: dict[str, Any] = dict(file)
    for name in ("nucleate", "x"):
        np.savez(tmp_path / "run.npz", **arrays | {name: np.array([Trap()], dtype=object)})
        with pytest.raises(InputError, match="damaged"):
            load(tmp_path / "run.npz")
        assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_earlier_run_is_replaced(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    many_runs(d=4).save(path)
    one_run().save(path)
    assert same(load(path), one_run())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [*ENDINGS, ".png"])
def test_a_folder_that_is_no_run_is_never_replaced(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"thesis{ending}"
    path.mkdir()
    (path / "chapter1").write_text("years of work")
    with pytest.raises(InputError, match="is not a nucleate run, so it is not replaced"):
        one_run().save(path)
    assert (path / "chapter1").read_text() == "years of work"


def test_data_of_others_are_never_replaced(tmp_path: Path) -> None:
    import xarray

    np.savez(tmp_path / "mine.npz", a=np.arange(3))
    xarray.Dataset({"a": ("i", [1.0])}).to_zarr(tmp_path / "mine.zarr", zarr_format=3, consolidated=False)
    (tmp_path / "text.npz").write_text("not even a zip")
    for name in ("mine.npz", "mine.zarr", "text.npz"):
        with pytest.raises(InputError, match="not replaced"):
            one_run().save(tmp_path / name)
        with pytest.raises(InputError, match=f"{name} is not a nucleate run"):
            load(tmp_path / name)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failed_write_keeps_the_earlier_run_and_leaves_no_litter(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"run{ending}"
    one_run().save(path)

    def full(part: Path, *rest: object) -> NoReturn:
        part.mkdir()
        (part / "half").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "_put_zarr", full)
    monkeypatch.setattr(storage, "_put_npz", full)
    with pytest.raises(InputError, match=rf"run{ending} cannot be written: No space left on device"):
        many_runs().save(path)
    assert same(load(path), one_run())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_moved_into_place_leaves_the_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.zarr"
    one_run().save(path)

    move = os.replace

    def refuse(source: Any, target: Any) -> None:
        if Path(target) == path:
            raise OSError(errno.EIO, "Input/output error")
        move(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match="Input/output error"):
        many_runs().save(path)
    monkeypatch.undo()
    assert same(load(path), one_run())


def test_endings_that_are_not_understood_are_refused_with_those_that_are(tmp_path: Path) -> None:
    for name in ("run.h5", "run", "run.zarr.bak"):
        with pytest.raises(
            InputError, match=r"nucleate writes \.zarr, \.npz, \.png, \.pdf, \.svg, \.gif, \.mp4"
        ):
            one_run().save(tmp_path / name)
    with pytest.raises(InputError, match=r"runs are kept as \.zarr or \.npz"):
        load(tmp_path / "run.png")
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "run.zarr")
    with pytest.raises(InputError, match=r"folder .*nowhere does not exist"):
        one_run().save(tmp_path / "nowhere" / "run.zarr")


def test_a_format_of_the_future_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storage, "FORMAT", "nucleate run 4")
        one_run().save(tmp_path / "run.npz")
    with pytest.raises(InputError, match='Its format is "nucleate run 4"'):
        load(tmp_path / "run.npz")


@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg", ".gif"])
def test_a_run_saves_itself_as_a_picture(ending: str, tmp_path: Path) -> None:
    one_run(m=3).save(tmp_path / f"run{ending}")
    start = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml", ".gif": b"GIF8"}[ending]
    assert (tmp_path / f"run{ending}").read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_model_is_stored_as_it_was_given() -> None:
    variables, _ = storage._contents(one_run())
    assert set(variables) == {"time", "x", "steps", "beta"}  # identities are not written out
    zero = Run(Attention(0.0, V=np.zeros((2, 2))), one_run().t, one_run().x, "done", 0, SETTINGS)
    assert set(storage._contents(zero)[0]) == {"time", "x", "steps", "beta", "V"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_of_nothing_but_nan_survives(ending: str, tmp_path: Path) -> None:
    run = many_runs()
    # Zarr reads back the other NaN
    lost = Run(
        run.model, run.t, np.full_like(run.x, -np.float64("nan")), ("stalled",) * 3, run.steps, SETTINGS
    )
    lost.save(tmp_path / f"run{ending}")
    assert same(load(tmp_path / f"run{ending}"), lost)


@pytest.mark.parametrize("ending", ENDINGS)
def test_arrays_of_zeros_survive(ending: str, tmp_path: Path) -> None:
    zero = Run(Attention(0.0, V=np.zeros((2, 2))), np.zeros(1), one_run().x[:1], "interrupted", 0, SETTINGS)
    zero.save(tmp_path / f"run{ending}")
    assert same(load(tmp_path / f"run{ending}"), zero)


# Links


@pytest.mark.parametrize("ending", [*ENDINGS, ".png"])
@pytest.mark.parametrize("name", ["kept", "bare"])
def test_a_run_is_saved_through_a_link(ending: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    kept = tmp_path / "disk" / (f"run{ending}" if name == "kept" else "run")
    link = tmp_path / f"link{ending}"
    one_run(d=3).save(tmp_path / f"first{ending}")
    os.rename(tmp_path / f"first{ending}", kept)
    link.symlink_to(kept)
    before = [file.read_bytes() for file in files_of(kept)]
    one_run().save(link)
    assert link.is_symlink()
    assert [file.read_bytes() for file in files_of(kept)] != before
    if ending != ".png":
        assert same(load(link), one_run())
    assert sorted(file.name for file in tmp_path.rglob("*") if file.parent in (tmp_path, kept.parent)) == (
        sorted(["disk", kept.name, link.name])
    )


@pytest.mark.parametrize("ending", [*ENDINGS, ".png"])
@pytest.mark.parametrize("target", ["nowhere", "itself"])
def test_a_link_that_leads_nowhere_is_refused_before_anything_is_written(
    ending: str, target: str, tmp_path: Path
) -> None:
    link = tmp_path / f"run{ending}"
    link.symlink_to(link if target == "itself" else tmp_path / "gone" / "run")
    for write in (storage.check_target, one_run().save):
        with pytest.raises(InputError, match=r"is a link to .*, which cannot be written: "):
            write(link)
    assert os.listdir(tmp_path) == [link.name]


def test_parts_that_do_not_fit_together_are_refused_though_their_checksums_match(tmp_path: Path) -> None:
    run = one_run()
    wrong = {
        "too few times": Run(run.model, run.t[:-1], run.x, "done", 17, SETTINGS),
        "a status for each of no runs": Run(run.model, run.t, run.x, ("done",), 17, SETTINGS),
        "steps of several": Run(run.model, run.t, run.x, "done", np.array([1, 2]), SETTINGS),
        "settings that are no table": Run(run.model, run.t, run.x, "done", 17, SETTINGS),
        "tokens without an axis": Run(run.model, run.t, run.x[0], "done", 17, SETTINGS),
    }
    for what, made in wrong.items():
        variables, texts = storage._contents(made)
        if "settings" in what:
            texts["settings"] = "[]"
        storage._put_npz(tmp_path / "run.npz", *storage._sealed(variables, texts))
        with pytest.raises(InputError, match=r"its parts do not fit together|is no part of a run"):
            load(tmp_path / "run.npz")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_checksum_that_was_taken_out_is_missed(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    for name in ("texts", "x"):
        variables, texts = storage._sealed(*storage._contents(one_run()))
        sums = json.loads(texts["sha256"])
        del sums[name]
        (storage._put_zarr if ending == ".zarr" else storage._put_npz)(
            path, variables, {**texts, "sha256": json.dumps(sums)}
        )
        with pytest.raises(InputError, match=f"{name} does not match its checksum"):
            load(path)
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("name", ["time", "steps", "beta", "Q", "frozen_weight", "other"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_arrays_that_are_no_parts_of_one_run_are_refused_by_their_heads(
    ending: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb is a huge array beside small ones: nothing of it is read."""
    path = tmp_path / f"run{ending}"
    one_run().save(path)
    if ending == ".npz":
        with np.load(path) as file:
            np.savez_compressed(path, **{**file, name: np.zeros(100_003)})
    else:
        zarr.open_group(path).create_array(name, shape=(100_003,), dtype="f8", overwrite=True)
    monkeypatch.setattr(storage, "read_npz", None)  # nothing may be read
    monkeypatch.setattr(storage, "_values", None)
    with pytest.raises(InputError, match=f"'{name}' of shape .* is no part of a run"):
        load(path)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [(".npz", "<U1000"), *[(ending, kind) for ending in ENDINGS for kind in ("?", "<c16")]],
)
def test_arrays_that_are_not_of_numbers_as_a_run_has_them_are_refused_by_their_heads(
    ending: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of any length would fit any shape."""
    path = tmp_path / f"run{ending}"
    one_run().save(path)
    other = np.zeros(one_run().x.shape, kind)
    if ending == ".npz":
        with np.load(path) as file:
            np.savez_compressed(path, **{**file, "x": other})
    else:
        zarr.open_group(path).create_array("x", data=other, overwrite=True)
    monkeypatch.setattr(storage, "read_npz", None)  # nothing may be read
    monkeypatch.setattr(storage, "_values", None)
    with pytest.raises(InputError, match=f"'x' of {np.dtype(kind)} is no part of a run"):
        load(path)


@pytest.mark.parametrize(
    "words", [np.array("a" * 1001), np.array(["a", "b"]), np.array(1.0)], ids=["long", "two", "a number"]
)
def test_words_that_are_no_text_or_too_long_are_refused_by_their_head(
    words: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.npz"
    one_run().save(path)
    with np.load(path) as file:
        np.savez_compressed(path, **{**file, "nucleate": words})
    monkeypatch.setattr(storage, "MAX_JSON_BYTES", 1000)
    monkeypatch.setattr(storage, "read_npz", None)
    with pytest.raises(InputError, match="its words are "):
        load(path)


# What is in the way


@pytest.mark.parametrize(
    ("what", "folder"),
    [("a folder", False), ("no ordinary file", False), ("no ordinary file", True), ("a file", True)],
)
def test_a_file_replaces_nothing_but_a_file_and_a_folder_nothing_but_a_folder(
    what: str, folder: bool, tmp_path: Path
) -> None:
    place, link = tmp_path / "here", tmp_path / "link"
    link.symlink_to(place)
    if what == "no ordinary file":
        os.mkfifo(place)
    else:
        place.touch() if what == "a file" else (place / "thesis").mkdir(parents=True)
    before = os.lstat(place)
    for path in (place, link):
        with (
            pytest.raises(FileError, match=f"here cannot be written: it is {what}, and that is not replaced"),
            storage.replacing(path, folder),
        ):
            pytest.fail("the work was begun")
    assert os.lstat(place) == before


def test_a_folder_that_appears_meanwhile_and_the_device_behind_a_link_are_not_replaced(
    tmp_path: Path,
) -> None:
    def write_meanwhile() -> None:
        with storage.replacing(tmp_path / "here") as part:
            part.touch()
            (tmp_path / "here" / "thesis").mkdir(parents=True)

    with pytest.raises(FileError, match="cannot be written: Is a directory"):
        write_meanwhile()
    assert (tmp_path / "here" / "thesis").is_dir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="/dev/zero cannot be written: it is no ordinary file"):
        storage.check_place(tmp_path / "zero")


def test_a_picture_does_not_take_the_place_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.png")
    with pytest.raises(InputError, match="so it is not replaced"):
        storage.check_target(tmp_path / "run.png")
