"""How the page is opened: by a file that only its owner may read, never by an address with the token."""

import os
import re
import webbrowser
from html import unescape
from pathlib import Path
from threading import Event
from urllib.parse import unquote, urlsplit

import pytest

from nucleate.explorer.browser import open_browser

ADDRESS = "http://127.0.0.1:8765/?token=s3cret&x=\"<>'#%7B%22n%22%3A7%7D"


class Browser:
    """Notes what it is given, and what it finds there."""

    def __init__(self, starts: bool = True) -> None:
        self.starts, self.given, self.page, self.modes = starts, "", "", (0, 0)

    def open(self, given: str) -> bool:
        file = Path(unquote(urlsplit(given).path))
        self.given, self.page = given, file.read_text()
        self.modes = (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777)
        return self.starts

    def file(self) -> Path:
        return Path(unquote(urlsplit(self.given).path))


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Browser:
    made = Browser()
    monkeypatch.setattr(webbrowser, "open", made.open)
    monkeypatch.setenv("HOME", str(tmp_path))
    return made


def asked() -> Event:
    event = Event()
    event.set()
    return event


def test_the_browser_is_given_a_file_for_its_owner_alone_that_leads_to_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        assert open_browser(ADDRESS, asked())
    finally:
        os.umask(before)
    assert browser.given.startswith("file:///")
    assert "s3cret" not in browser.given
    assert browser.modes == (0o600, 0o700)
    found = re.findall(r'content="0; url=([^"]*)"', browser.page)
    assert [unescape(address) for address in found] == [ADDRESS]
    assert '<meta name="referrer" content="no-referrer">' in browser.page
    # a browser in a snap reads the home folder, but nothing in it that is hidden
    inside = browser.file().relative_to(tmp_path)
    assert not any(part.startswith(".") for part in inside.parts)


def test_nothing_is_left_of_the_file(browser: Browser, tmp_path: Path) -> None:
    assert open_browser(ADDRESS, asked())
    assert list(tmp_path.iterdir()) == []
    browser.starts = False
    assert not open_browser(ADDRESS, Event())
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_nobody_asks_for_ends_the_wait(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nucleate.explorer.browser.REDIRECT_SECONDS", 0.01)
    assert open_browser(ADDRESS, Event())
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_the_folder_for_temporary_files_does(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert open_browser(ADDRESS, asked())
    assert browser.modes == (0o600, 0o700)
    assert not browser.file().parent.exists()


def test_where_no_file_can_be_written_no_browser_is_opened(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nucleate.explorer.browser.os.open", full)
    assert not open_browser(ADDRESS, asked())
    assert browser.given == ""
