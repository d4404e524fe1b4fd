"""What is made once for all workers of a test session is made once, and whole."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import session_files
from support.session_files import made_once, use_session_folder


@pytest.fixture(autouse=True)
def _another_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_files, "_folder", [])
    use_session_folder(tmp_path)


def test_the_first_that_asks_makes_it_and_the_others_wait() -> None:
    makers: list[Path] = []

    def make(folder: Path) -> None:
        makers.append(folder)
        time.sleep(0.05)
        (folder / "answer").write_text("42")

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: (made_once("deep", make) / "answer").read_text(), range(4)))
    assert found == {"42"}
    assert len(makers) == 1


def test_what_failed_half_way_is_made_anew() -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise ValueError

    with pytest.raises(ValueError):
        made_once("deep", fail)
    folder = made_once("deep", lambda folder: (folder / "whole").write_text(""))
    assert [path.name for path in folder.iterdir()] == ["whole"]
