"""A headless Firefox, driven by WebDriver BiDi over its own websocket: no driver program is needed.

Playwright drives only a Firefox of its own making, and Debian has no geckodriver; what Debian's firefox-esr
itself answers to is this.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

COMMANDS = ("firefox-esr", "firefox")
START_SECONDS = 120.0  # the first start of a profile, on two busy cores
ANSWER_SECONDS = 120.0
LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
# what would ask for a network, or for the user
PREFERENCES = """
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("app.update.enabled", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("webgl.force-enabled", true);
"""


class Firefox:
    """One tab; what it complained about is in `complaints`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.sent = 0
        self.complaints: list[str] = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send one command and wait for its answer."""
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=ANSWER_SECONDS))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] in ("error", "warn"):
                self._complain(str(message["params"]["text"]))
            if message.get("id") == self.sent:
                assert message["type"] == "success", message
                return message["result"]

    def _complain(self, text: str) -> None:
        """Note a complaint; that a machine without a card gives no WebGL is none of the page's."""
        if "WebGL" not in text:
            self.complaints.append(text)

    def open(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def size(self, width: int, height: int) -> None:
        self.ask(
            "browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height}
        )

    def value(self, expression: str) -> Any:
        """The value of an expression, by way of JSON; a promise is waited for."""
        answer = self.ask(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression}) ?? null))()",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def wait(self, condition: str, seconds: float = ANSWER_SECONDS) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.value(condition):
            assert time.monotonic() < end, f"still not true after {seconds:g} s: {condition}"
            time.sleep(0.05)


@contextmanager
def started_firefox() -> Iterator[Firefox]:
    """A Firefox with an empty profile; without one on this machine the test is skipped."""
    path = next((found for name in COMMANDS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("There is no Firefox here. make test-browser installs firefox-esr.")
    with TemporaryDirectory(prefix="nucleate-firefox-") as profile:
        Path(profile, "user.js").write_text(PREFERENCES)
        log = Path(profile, "log")
        with log.open("wb") as out:
            command = [
                path,
                "--headless",
                "--no-remote",
                "--profile",
                profile,
                "--remote-debugging-port",
                "0",
            ]
            process = subprocess.Popen([*command, "about:blank"], stdout=out, stderr=subprocess.STDOUT)
        try:
            with connect(f"{_address(process, log)}/session", max_size=None, open_timeout=60) as socket:
                yield Firefox(socket)
        finally:
            process.terminate()
            process.wait(30)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if found := LISTENING.search(log.read_bytes()):
            return found[1].decode()
        assert process.poll() is None, f"Firefox has ended: {log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)
    raise AssertionError(f"Firefox did not listen within {START_SECONDS:g} s")
