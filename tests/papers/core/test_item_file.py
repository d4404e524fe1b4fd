"""Finished items: used again only if nothing of them was edited or damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.tiny_items import KEY, reproduce_tiny, tiny

from nucleate.papers.core import runner


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
