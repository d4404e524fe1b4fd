"""A headless Chromium, the explorer's server beside it, and a page as a person has it: what the browser tests
share."""

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

import nucleate as nc
from nucleate.explorer.built_page import page_text
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.server import Explorer, Serving
from nucleate.explorer.stored import Folder

FLAGS = [
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
PATIENCE = 60_000  # milliseconds: two busy cores
expect.set_options(timeout=PATIENCE)
WIDTH, HEIGHT = 1400, 900
SETTLED = """id => { const now = window.nucleate?.now?.();
  return now && now.runId >= id && now.status !== 'running' && window.nucleate.record.measured
    && !document.getElementById('run').hidden }"""


class Watched:
    """A page, what it complained about, and what it asked the network for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, message: ConsoleMessage) -> None:
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
        picture = self.page.locator(f"section[data-view={view}] canvas").screenshot()
        return np.asarray(Image.open(BytesIO(picture)).convert("RGB"))

    def bits(self, frame: int | None = None) -> NDArray[np.float64]:
        """The positions of a frame (the last one if left out), bit for bit, (n * d,)."""
        words = self.page.evaluate(
            "frame => Array.from(new BigUint64Array(window.nucleate.x(frame ?? undefined).buffer), word =>"
            " word.toString(16))",
            frame,
        )
        return np.array([int(word, 16) for word in words], dtype=np.uint64).view(np.float64)


def simulated(scene: dict[str, Any]) -> nc.Run:
    """The same run, without any page."""
    made = parse_scene(scene)
    return nc.simulate(
        made.model, made.x0, made.t, save=made.times, rtol=made.tolerance, atol=made.tolerance / 100
    )


@contextmanager
def serving(folder: Folder | None = None, token: str | None = None, port: int = 0) -> Iterator[Serving]:
    """The server with the page that is shipped."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", port))
    place.listen(128)
    explorer = Explorer(page_text(), folder or Folder(None))
    if token is not None:
        explorer.token = token
    made = Serving(explorer, place)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        explorer.warm.wait(300.0)
        yield made
    finally:
        made.stop()
        thread.join(30.0)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("The command chromium is not there. make test-browser installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Serving]:
    """One server for all tests that do not end it."""
    with serving() as made:
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Watched]:
    """A fresh page, with nothing remembered; it must not complain."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        device_scale_factor=1,
        color_scheme="light",
        accept_downloads=True,
    )
    watched = Watched(context.new_page())
    yield watched
    complaints = list(watched.complaints)
    context.close()
    assert complaints == [], "the page complained in the console"
