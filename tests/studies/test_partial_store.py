"""Going on with what is there, and refusing to."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import contents, small
from support.source_copies import SourceCopy
from support.time_limits import not_waiting_for_ever

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.studies import store, workers
from nucleate.studies.block import ComputedBlock, processor
from nucleate.studies.durable_files import pack_block, read_block
from nucleate.studies.ensemble import ensemble
from nucleate.studies.result import load_ensemble


def test_more_runs_extend_the_store_to_what_it_would_have_been(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "out.zarr")
    before = (tmp_path / "out.zarr/zarr.json").stat().st_ino
    ensemble(small(), tmp_path / "out.zarr")
    assert (tmp_path / "out.zarr/zarr.json").stat().st_ino == before, "nothing to do, nothing rewritten"
    computed: list[int] = []
    ensemble(small(runs=37), tmp_path / "out.zarr", progress=lambda done, total: computed.append(done))
    assert computed[0] >= 48, "the old runs are not computed again"
    ensemble(small(runs=37), tmp_path / "new.zarr")
    assert contents(tmp_path / "out.zarr") == contents(tmp_path / "new.zarr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.zarr", "out.zarr"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 4}, "seed was 3, now 4"),
        ({"runs": 23}, "holds 24 runs, but 23 are asked for"),
        ({"start": {"n": 9, "d": 2}}, "start.n was 8, now 9"),
        ({"title": "other"}, "title was"),
        ({"observables": {"renyi": {"kind": "consumed", "radius": 0.3}}}, "observables.renyi.radius was"),
    ],
)
@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_any_other_change_is_refused_with_what_differs(
    change: dict[str, Any],
    words: str,
    state: str,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = begun(state, finished, tmp_path, monkeypatch)
    if state == "interrupted":
        words = words.replace("holds 24 runs", "holds runs up to 24")
    place = path if state == "finished" else path.with_name("out.zarr.parts")
    before = contents(place)
    with pytest.raises(InputError, match=words):
        ensemble(small(**change), path)
    assert contents(place) == before
    assert [one.name for one in tmp_path.iterdir()] == [place.name]


def begun(state: str, finished: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of a study that is finished, or that was interrupted."""
    path = folder / "out.zarr"
    if state == "finished":
        shutil.copytree(finished, path)
    else:
        interrupt(path, monkeypatch)
    return path


def interrupt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of the small study are computed, and the process ends before the store is assembled."""
    from nucleate.studies.partial_store import PartialStore

    def stop(self: PartialStore) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartialStore, "finish", stop)
        with pytest.raises(KeyboardInterrupt):
            ensemble(small(), path, block=7)


def test_other_versions_are_refused(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nucleate.studies import partial_store

    shutil.copytree(finished, tmp_path / "out.zarr")
    monkeypatch.setattr(partial_store, "made_with", lambda *_: {"nucleate": "99", "numpy": "1"})
    with pytest.raises(
        InputError,
        match=r"begun otherwise: nucleate was .*, now 99.* nucleate\.load\('.*out\.zarr'\)\.plot\(\)",
    ):
        ensemble(small(), tmp_path / "out.zarr")


@pytest.mark.parametrize("what", ["file", "folder", "run"])
def test_what_is_not_an_ensemble_is_not_replaced(what: str, tmp_path: Path) -> None:
    path = tmp_path / "out.zarr"
    if what == "file":
        path.write_text("precious")
    elif what == "folder":
        path.mkdir()
    else:
        nc.simulate(Attention(1.0), nc.uniform(3, 2), 1.0).save(path)
    with pytest.raises(InputError, match="not an ensemble"):
        ensemble(small(), path)
    with pytest.raises(InputError, match="not an ensemble"):
        load_ensemble(path)


def test_a_comment_in_the_code_keeps_nobody_from_going_on(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source_copy: SourceCopy
) -> None:
    interrupt(tmp_path / "out.zarr", monkeypatch)
    for file in ("kernels/pairwise.py", "theory/atlas.py", "integrate/explicit.py", "studies/block.py"):
        source_copy.edit(file, "\n\n\ndef ", "\n\n\n# a remark\ndef ")
    ensemble(small(), tmp_path / "out.zarr")
    assert contents(tmp_path / "out.zarr") == contents(finished)


@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_runs_of_another_kernel_are_not_gone_on_with(
    state: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source_copy: SourceCopy
) -> None:
    path = begun(state, finished, tmp_path, monkeypatch)
    source_copy.edit("kernels/pairwise.py", "\n\n\ndef ", "\n\n\nX = 1\n\n\ndef ")
    with pytest.raises(
        InputError, match=r"was begun otherwise: the code that computes the runs .* was \w+, now \w+"
    ):
        ensemble(small(runs=30), path)


# What stands in the place of a file


@pytest.mark.parametrize("what", ["pipe", "link to a pipe", "dangling link", "link to a block", "empty"])
def test_what_is_no_block_is_told_and_its_runs_computed_anew(
    what: str, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path / "out.zarr", monkeypatch)
    block = sorted((tmp_path / "out.zarr.parts/blocks").iterdir())[2]
    block.rename(tmp_path / "block")
    if what == "pipe":
        os.mkfifo(block)
    elif what == "empty":
        block.touch()
    elif what == "link to a block":
        block.symlink_to(tmp_path / "block")
    else:
        block.symlink_to(tmp_path / "pipe")
        if what == "link to a pipe":
            os.mkfifo(tmp_path / "pipe")
    told: list[str] = []
    with not_waiting_for_ever():
        ensemble(small(), tmp_path / "out.zarr", tell=told.append)
    assert block.name in told[0]
    assert len(told) == 1
    assert (tmp_path / "block").exists(), "what a link led to is not ours"
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_a_folder_in_the_place_of_a_block_is_not_touched_and_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path / "out.zarr", monkeypatch)
    first, second = sorted((tmp_path / "out.zarr.parts/blocks").iterdir())[:2]
    first.unlink()
    second.unlink()
    second.mkdir()
    (second / "thesis").write_text("years of work")
    monkeypatch.setattr(workers, "compute_block", None)
    with pytest.raises(InputError, match=rf"{second.name} is a folder, where the file of a block belongs"):
        ensemble(small(), tmp_path / "out.zarr")
    assert (second / "thesis").read_text() == "years of work"


@pytest.mark.parametrize("place", ["assembled", "old"])
@pytest.mark.parametrize("what", ["file", "pipe", "link", "folder"])
def test_nothing_in_the_way_of_the_new_store_costs_the_work(
    place: str, what: str, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished, tmp_path / "out.zarr")
    there = tmp_path / "out.zarr.parts" / place
    there.parent.mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/kept").touch()
    if what == "pipe":
        os.mkfifo(there)
    elif what == "link":
        there.symlink_to(tmp_path / "mine")
    else:
        there.mkdir() if what == "folder" else there.touch()
    with not_waiting_for_ever():
        ensemble(small(runs=26), tmp_path / "out.zarr")
    assert load_ensemble(tmp_path / "out.zarr").data.sizes["run"] == 26
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine", "out.zarr"]
    assert (tmp_path / "mine/kept").exists(), "what a link led to is not ours"


@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_what_is_no_study_file_does_not_hang(
    what: str, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path / "out.zarr", monkeypatch)
    head = tmp_path / "out.zarr.parts/study.json"
    head.unlink()
    os.mkfifo(head) if what == "pipe" else head.mkdir()
    told: list[str] = []
    with not_waiting_for_ever():
        if what == "pipe":
            ensemble(small(), tmp_path / "out.zarr", tell=told.append)
            assert contents(tmp_path / "out.zarr") == contents(finished)
        else:
            with pytest.raises(InputError, match=r"study\.json cannot be written: Is a directory"):
                ensemble(small(), tmp_path / "out.zarr", tell=told.append)
    assert "study.json is damaged" in told[0]


def forged(file: Path, change: Any) -> None:
    """A block with another content, and a checksum that matches it."""
    mark, block, computed = read_block(file)
    arrays, kind = computed
    file.unlink()
    block, arrays = change(block, dict(arrays))
    file.write_bytes(pack_block(mark, block, ComputedBlock(arrays, kind)))


@pytest.mark.parametrize(
    "change",
    [
        lambda block, arrays: (block, {**arrays, "status": arrays["status"][:-1]}),
        lambda block, arrays: (block, {**arrays, "more": arrays["steps"]}),
        lambda block, arrays: (block, {**arrays, "steps": arrays["steps"].astype(float)}),
        lambda block, arrays: (block, {**arrays, "steps": np.array(["a"])}),
        lambda block, arrays: (block, {}),
        lambda block, arrays: (block._replace(point=7), arrays),
        lambda block, arrays: (block._replace(first=-3), arrays),
    ],
    ids=["too few", "too many", "another type", "texts", "nothing", "another point", "before the first"],
)
def test_a_block_that_does_not_hold_what_the_study_measures_is_computed_anew(
    change: Any, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path / "out.zarr", monkeypatch)
    forged(sorted((tmp_path / "out.zarr.parts/blocks").iterdir())[1], change)
    told: list[str] = []
    ensemble(small(), tmp_path / "out.zarr", tell=told.append)
    assert "Its runs are computed anew" in told[0]
    assert contents(tmp_path / "out.zarr") == contents(finished)


# Links


def test_a_linked_store_is_extended_where_it_lies(tmp_path: Path, finished: Path) -> None:
    (tmp_path / "disk").mkdir()
    shutil.copytree(finished, tmp_path / "disk/kept")
    link = tmp_path / "out.zarr"
    link.symlink_to(tmp_path / "disk/kept")
    seen: list[set[str]] = []

    def progress(done: int, total: int) -> None:
        seen.append({one.name for one in (tmp_path / "disk").iterdir()})

    ensemble(small(runs=26), link, progress=progress)
    assert link.is_symlink()
    assert load_ensemble(tmp_path / "disk/kept").data.sizes["run"] == 26
    assert load_ensemble(link).data.sizes["run"] == 26
    assert seen[0] == {"kept", "kept.parts"}, "one lock, whatever name the store is called by"
    assert sorted(one.name for one in tmp_path.rglob("*") if "kept" not in one.parent.parts) == (
        ["disk", "kept", "out.zarr"]
    )


@pytest.mark.parametrize("target", ["nowhere", "itself", "file"])
def test_a_link_where_no_store_can_be_is_refused_before_any_work(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "compute_block", None)
    link = tmp_path / "out.zarr"
    link.symlink_to({"nowhere": tmp_path / "gone", "itself": link, "file": tmp_path / "text"}[target])
    if target == "file":
        (tmp_path / "text").write_text("precious")
    with pytest.raises(InputError, match=r"is a link to .*, which cannot be written|is not an ensemble"):
        ensemble(small(), link)
    assert not list(tmp_path.glob("*.parts"))


@pytest.mark.parametrize("name", ["zarr.json", "checksums", "checksums/zarr.json", "renyi", "renyi/c/1/0/0"])
@pytest.mark.parametrize("runs", [24, 26])
def test_a_store_with_a_link_inside_is_refused_before_any_work_and_left_as_it_was(
    name: str, runs: int, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it leads to the very bytes that were written: nc.load refuses it in the same words."""
    monkeypatch.setattr(workers, "compute_block", None)
    path = tmp_path / "out.zarr"
    shutil.copytree(finished, path)
    (path / name).rename(tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=rf"out\.zarr is not opened: {name} is a link, .* cp -rL") as refused:
        ensemble(small(runs=runs), path)
    with pytest.raises(InputError) as of_load:
        load_ensemble(path)
    assert str(of_load.value) == str(refused.value)
    assert (path / name).is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["elsewhere", "out.zarr"]


# Processors


def of_another_kind(path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[str]:
    """Go on as on a machine with another processor; what is told."""
    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(workers, "processor", lambda: "another kind")
        ensemble(small(**changes), path, tell=told.append, block=7)
    return told


@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_going_on_with_a_processor_of_another_kind_is_told_once_and_written_down(
    state: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = begun(state, finished, tmp_path, monkeypatch)
    if state == "interrupted":
        for file in sorted((tmp_path / "out.zarr.parts/blocks").iterdir())[3:]:
            file.unlink()
    told = of_another_kind(path, monkeypatch, runs=24 if state == "interrupted" else 40)
    assert len(told) == 1
    assert f"another kind, {processor()}, and now gets some of another kind. Their last bits" in told[0]
    kinds = sorted(["another kind", processor()])
    assert load_ensemble(path).data.attrs["processors"] == kinds
    assert store.read_manifest(path).processors == kinds


def test_a_processor_of_one_kind_is_written_down_and_nothing_told(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_ensemble(finished).data.attrs["processors"] == [processor()]
    assert of_another_kind(tmp_path / "out.zarr", monkeypatch) == []
    assert load_ensemble(tmp_path / "out.zarr").data.attrs["processors"] == ["another kind"]
    shutil.copytree(finished, tmp_path / "whole.zarr")
    assert of_another_kind(tmp_path / "whole.zarr", monkeypatch) == [], "nothing was left to compute"
    assert contents(tmp_path / "whole.zarr") == contents(finished)


# Other versions: what is finished can be read, nothing is gone on with


def as_written_before(path: Path) -> None:
    """Make the store one of an earlier version, which named no processors."""
    attributes = json.loads((path / "checksums/zarr.json").read_bytes())["attributes"]
    content = {key: attributes[key] for key in store.Manifest._fields if key != "processors"}
    content["made_with"] = {**content["made_with"], "nucleate": "0.0.9"}
    head = json.loads((path / "zarr.json").read_text())
    del head["attributes"]["processors"]
    (path / "zarr.json").write_text(json.dumps(head))
    content["files"]["zarr.json"] = hashlib.sha256((path / "zarr.json").read_bytes()).hexdigest()
    (path / "checksums/zarr.json").write_bytes(store._checksums_json(content))


def test_a_store_of_an_earlier_version_is_read_and_not_gone_on_with(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.zarr"
    shutil.copytree(finished, path)
    as_written_before(path)
    before, found = contents(path), nc.load(path)
    np.testing.assert_array_equal(found.data["renyi"], load_ensemble(finished).data["renyi"])
    assert "24 runs at each of 2 beta" in found.summary
    assert store.read_manifest(path).processors == []
    monkeypatch.setattr(workers, "compute_block", None)
    for runs in (24, 30):
        with pytest.raises(
            InputError, match=r"begun otherwise: nucleate was 0\.0\.9, now .*can still be read"
        ):
            ensemble(small(runs=runs), path)
    assert contents(path) == before
    assert not path.with_name("out.zarr.parts").exists()


def test_blocks_of_an_earlier_version_are_not_gone_on_with_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path / "out.zarr", monkeypatch)
    parts = tmp_path / "out.zarr.parts"
    file = sorted((parts / "blocks").iterdir())[0]
    mark, block, computed = read_block(file)
    packed = pack_block("of before", block, computed)
    file.write_bytes(packed)
    before = contents(parts)
    with pytest.raises(InputError, match="belongs to another study, or to other versions"):
        ensemble(small(), tmp_path / "out.zarr")
    assert contents(parts) == before
