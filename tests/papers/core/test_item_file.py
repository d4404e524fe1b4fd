"""Finished items: used again only if nothing of them was edited or damaged."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.time_limits import not_waiting_for_ever
from support.tiny_items import KEY, reproduce_tiny, tiny
from typer.testing import CliRunner

from nucleate.cli.app import app
from nucleate.papers.core import runner
from nucleate.papers.core.item_file import find_finished, is_quick


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction of one tiny item."""
    out = tmp_path_factory.mktemp("made")
    reproduce_tiny(out)
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return shutil.copytree(made, tmp_path / "out")


def contents(out: Path) -> dict[str, bytes]:
    """Every file by its name."""
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}


def _edit(file: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        (out / file).write_bytes(change((out / file).read_bytes()))

    return damage


def _edit_verdict(out: Path) -> None:
    file = out / "items" / f"{KEY}.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["summary"]["verdict"] = record["summary"]["verdicts"][0]["word"] = "disagrees"
    file.write_text(json.dumps(record), encoding="utf-8")


def _swap_pictures(out: Path) -> None:
    shutil.copyfile(out / "figures" / f"{KEY}-dark.png", out / "figures" / f"{KEY}.png")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "another verdict": (_edit_verdict, f"items/{KEY}.json does not match its checksum"),
    "no checksum": (
        _edit(f"items/{KEY}.json", lambda text: text.replace(b'"sha256"', b'"sha"')),
        f"items/{KEY}.json does not match its checksum",
    ),
    "half of the item": (
        _edit(f"items/{KEY}.json", lambda text: text[: len(text) // 2]),
        f"items/{KEY}.json does not match its checksum",
    ),
    "a list": (_edit(f"items/{KEY}.json", lambda text: b"[]"), f"items/{KEY}.json does not match"),
    "deeply nested": (
        _edit(f"items/{KEY}.json", lambda text: b"[" * 100_000),
        f"items/{KEY}.json does not match",
    ),
    "not a text": (_edit(f"items/{KEY}.json", lambda text: b"\xff" + text), f"items/{KEY}.json does not"),
    "a cut picture": (_edit(f"figures/{KEY}.png", lambda data: data[:-100]), f"figures/{KEY}.png is gone"),
    "an empty picture": (_edit(f"figures/{KEY}-dark.png", lambda data: b""), f"figures/{KEY}-dark.png is"),
    "a flipped bit": (
        _edit(f"figures/{KEY}.pdf", lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:]),
        f"figures/{KEY}.pdf is gone",
    ),
    "another picture": (_swap_pictures, f"figures/{KEY}.png is gone"),
    "other data": (
        _edit(f"data/{KEY}/piece0.zarr/x/c/0", lambda data: data[:-1] + b"?"),
        f"data/{KEY} is gone, damaged or edited",
    ),
    "a lost chunk": (lambda out: (out / f"data/{KEY}/piece1.zarr/x/c/0").unlink(), f"data/{KEY} is gone"),
    "no data": (lambda out: shutil.rmtree(out / "data" / KEY), f"data/{KEY} is gone"),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES)
def test_what_was_edited_or_damaged_is_noticed_said_and_made_anew(
    damage: Callable[[Path], None], words: str, made: Path, out: Path
) -> None:
    damage(out)
    assert contents(out) != contents(made)
    said = reproduce_tiny(out)
    assert said[0].startswith(f"{out}/{words}")
    assert said[0].endswith(f"{KEY} is made anew.")
    assert contents(out) == contents(made)
    assert reproduce_tiny(out) == [], "it is whole again"


def test_what_is_whole_is_kept_without_a_word(made: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("it was finished")

    monkeypatch.setattr(runner, "reproduce_item", never)
    assert reproduce_tiny(out) == []
    assert contents(out) == contents(made)


def test_an_edited_item_that_is_not_asked_for_is_left_out_of_the_report_and_named(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _edit_verdict(out)
    said: list[str] = []
    monkeypatch.setattr(runner, "find", tiny)
    assert runner.write_report(out, False, {}, said.append).results["items"] == {}
    assert said == [
        (
            f"{out}/items/{KEY}.json does not match its checksum: it was damaged or edited. {KEY} is left out"
            f" of the report; nucleate reproduce --only {KEY} makes it anew."
        )
    ]


# What stands in the place of a file


def _folder(place: Path) -> None:
    place.mkdir()
    (place / "thesis").write_text("years of work")


def _link_to_folder(place: Path) -> None:
    _folder(place.with_name("theirs"))
    place.symlink_to("theirs")


def _link_to_pipe(place: Path) -> None:
    os.mkfifo(place.with_name("theirs"))
    place.symlink_to("theirs")


# all inside the folder of the test: code that is broken replaces what a link leads to
IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    "a folder": _folder,
    "a pipe": os.mkfifo,
    "a link to a pipe": _link_to_pipe,
    "a link to a folder": _link_to_folder,
    "a dangling link": lambda place: place.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", IN_THE_WAY.values(), ids=IN_THE_WAY)
@pytest.mark.parametrize(
    "name",
    [
        "report.html",
        "results.json",
        f"items/{KEY}.json",
        f"figures/{KEY}.png",
        f"figures/{KEY}-dark.png",
        f"figures/{KEY}.pdf",
    ],
)
def test_what_is_no_file_is_refused_before_any_work_and_left_as_it_was(
    name: str, make: Callable[[Path], object], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = out / name
    place.unlink()
    make(place)
    before = os.lstat(place), contents(out)
    monkeypatch.setattr(runner, "find", tiny)
    monkeypatch.setattr(runner, "reproduce_item", None)
    with not_waiting_for_ever():
        done = CliRunner().invoke(app, ["reproduce", "--only", KEY, "--out", str(out), "--quiet"])
    assert done.exit_code == 2, done.output
    assert str(place) in done.output or str(place.with_name("theirs")) in done.output
    assert "cannot be written" in done.output
    assert "Traceback" not in done.output
    assert (os.lstat(place), contents(out)) == before


@pytest.mark.parametrize("what", ["a pipe", "a folder"])
def test_what_is_no_file_is_not_read(what: str, out: Path) -> None:
    """Also where nothing is written: items that are not asked for, their pictures, other files there."""
    item, picture = out / "items" / f"{KEY}.json", out / "figures" / f"{KEY}.png"
    with not_waiting_for_ever():
        IN_THE_WAY[what](out / "items" / "other.json")
        assert is_quick(out / "items" / "other.json") is None
        assert reproduce_tiny(out) == []
        picture.unlink()
        IN_THE_WAY[what](picture)
        assert find_finished(out, tiny(KEY), False) == (None, f"{picture} is gone, damaged or edited")
        item.unlink()
        IN_THE_WAY[what](item)
        found = find_finished(out, tiny(KEY), False)
        assert found == (None, f"{item} does not match its checksum: it was damaged or edited")


@pytest.mark.parametrize("what", ["a pipe", "a link to a pipe"])
def test_a_data_set_with_what_is_no_file_is_made_anew(what: str, made: Path, out: Path) -> None:
    chunk = out / "data" / KEY / "piece0.zarr" / "x" / "c" / "0"
    chunk.unlink()
    IN_THE_WAY[what](chunk)
    with not_waiting_for_ever():
        assert f"data/{KEY} is gone, damaged or edited" in reproduce_tiny(out)[0]
    assert contents(out) == contents(made)
