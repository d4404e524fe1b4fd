"""A first visit while the server still compiles its engine, in a real Chromium: the page computes by itself,
then the server's run takes its place."""

import json
import threading
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect
from support.chromium import WatchedPage
from support.explorer_scenes import simulated
from support.explorer_server import explorer_server
from support.time_limits import several_programs

from nucleate.explorer.built_page import page_text
from nucleate.explorer.session import Session

pytestmark = several_programs
SCENE: dict[str, Any] = {"n": 30, "beta": 16.0, "t": 50.0, "frames": 40}


@pytest.fixture
def compile_now(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Servers that compile until this is set, and compute nothing before."""
    end, prepare = threading.Event(), Session._prepare

    def compiling(compiled: threading.Event, closing: threading.Event) -> None:
        while not (end.wait(0.05) or closing.is_set()):
            pass
        compiled.set()

    def prepare_later(session: Session, request: Any) -> Any:
        end.wait(300.0)
        return prepare(session, request)

    monkeypatch.setattr("nucleate.explorer.server.warm_up", compiling)
    monkeypatch.setattr(Session, "_prepare", prepare_later)
    return end


def test_the_page_computes_by_itself_while_the_server_compiles(
    page: WatchedPage, compile_now: threading.Event
) -> None:
    with explorer_server(page=page_text(), warm=False) as server:
        try:
            page.visit(f"{server.address}#{quote(json.dumps({'scene': SCENE}), safe='')}")
            page.page.wait_for_function("() => window.nucleate?.now?.().at > 3")  # tokens move
            summary = page.page.locator("#summary")
            expect(summary).to_contain_text("being compiled for this machine")
            expect(summary).to_contain_text("computed in this page")
            page.page.wait_for_function(
                "frames => window.nucleate.now().frames === frames", arg=SCENE["frames"]
            )
            exact = simulated(SCENE).x[-1].reshape(-1)
            assert np.abs(page.bits() - exact).max() < 1e-7
            assert not np.array_equal(page.bits(), exact), "of the page's engine, not the server's"
            at = page.now()["at"]
            compile_now.set()
            page.settled()
            expect(summary).not_to_contain_text("computed in this page")
            assert np.array_equal(page.bits(), exact), "of the server, bit for bit"
            assert page.now()["at"] >= at, "the cursor stays where it was"
        finally:
            compile_now.set()
        page.page.goto("about:blank")
