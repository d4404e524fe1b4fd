"""Going on with what is there, and refusing to."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.small_studies import contents, small
from support.source_copies import SourceCopy

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import InputError
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
    monkeypatch.setattr(partial_store, "made_with", lambda: {"nucleate": "99", "numpy": "1"})
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
