"""A headless Chromium, the explorer's server beside it, and a page as a person has it: what the browser tests
share."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from support.explorer_server import explorer_server

from nucleate.explorer.built_page import page_text
from nucleate.explorer.server import Server
from nucleate.explorer.stored_runs import Folder

CHROMIUM_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
TIMEOUT_MILLIS = 60_000  # long, for two busy cores
expect.set_options(timeout=TIMEOUT_MILLIS)
WIDTH_PIXELS, HEIGHT_PIXELS = 1400, 900
SETTLED = """id => { const now = window.nucleate?.now?.();
  return now && now.runId >= id && now.status !== 'running' && window.nucleate.record.measured
    && !document.getElementById('run').hidden }"""


class WatchedPage:
    """A page, what it complained about, and what it asked the network for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requested_urls: list[str] = []
        page.set_default_timeout(TIMEOUT_MILLIS)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requested_urls.append(request.url))

    def _on_console(self, message: ConsoleMessage) -> None:
        """Note a complaint; what the drawing software says of its own speed is none."""
        own = "GL Driver Message" in message.text and (
            "Performance" in message.text or "no longer repeat" in message.text
        )
        if message.type in ("error", "warning") and not own:
            self.complaints.append(message.text)

    def open(self, address: str, run: int = 1) -> None:
        """Go there and wait until the run is computed, measured and shown."""
        self.visit(address)
        self.settled(run)

    def visit(self, address: str) -> None:
        """Go there as from another page: where only the fragment differs, the browser would keep the page it
        has."""
        self.page.goto("about:blank")
        self.page.goto(address)

    def settled(self, run: int = 0) -> None:
        """Wait until run number `run` or a later one has ended and is shown."""
        self.page.wait_for_function(SETTLED, arg=run)
        self.drawn()

    def drawn(self) -> None:
        """Wait until a picture was drawn after now."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>"
            " requestAnimationFrame(done))))"
        )

    def now(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate("window.nucleate.now()")
        return found

    def seek(self, frame: int) -> None:
        """Pause, and put the cursor on a frame; wait until all views have drawn it."""
        self.page.evaluate("frame => window.nucleate.seek(frame)", frame)
        self.page.wait_for_function(
            "frame => [...document.querySelectorAll('section[data-view]')].every(v => v.hidden ||"
            " v.dataset.at === String(frame))",
            arg=frame,
        )
        self.drawn()

    def change(self, act: Any) -> int:
        """Do something that starts another run, and wait for it; its number."""
        before = int(self.now()["runId"])
        act()
        self.settled(before + 1)
        return int(self.now()["runId"])

    def views(self) -> list[str]:
        """The names of the views that are shown."""
        found: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('section[data-view]')].filter(v => !v.hidden).map(v =>"
            " v.dataset.view)"
        )
        return found

    def pixels(self, view: str) -> NDArray[np.uint8]:
        """What one view shows, (height, width, 3)."""
        return self.pixels_of(f"section[data-view={view}] canvas:not(.labels)")

    def pixels_of(self, selector: str) -> NDArray[np.uint8]:
        """What one element shows, (height, width, 3)."""
        picture = self.page.locator(selector).screenshot()
        return np.asarray(Image.open(BytesIO(picture)).convert("RGB"))

    def bits(self, frame: int | None = None) -> NDArray[np.float64]:
        """The positions of a frame (the last one if left out), bit for bit, (n * d,)."""
        words = self.page.evaluate(
            "frame => Array.from(new BigUint64Array(window.nucleate.x(frame ?? undefined).buffer), word =>"
            " word.toString(16))",
            frame,
        )
        return np.array([int(word, 16) for word in words], dtype=np.uint64).view(np.float64)


def shipped_server(
    folder: Folder | None = None, token: str | None = None, port: int = 0
) -> AbstractContextManager[Server]:
    """The server with the page that is shipped."""
    return explorer_server(folder, page=page_text(), token=token, port=port)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("The command chromium is not there. make test-browser installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests that do not end it."""
    with shipped_server() as server:
        yield server


@pytest.fixture
def page(browser: Browser) -> Iterator[WatchedPage]:
    """A fresh page, with nothing remembered; it must not complain."""
    context = browser.new_context(
        viewport={"width": WIDTH_PIXELS, "height": HEIGHT_PIXELS},
        device_scale_factor=1,
        color_scheme="light",
        accept_downloads=True,
    )
    watched = WatchedPage(context.new_page())
    yield watched
    complaints = list(watched.complaints)
    context.close()
    assert complaints == [], "the page complained in the console"
