"""The explorer for those who do not see its pictures, or see other colours, in a real Chromium."""

import itertools
import json
import re
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, expect
from support.chromium import WatchedPage
from support.explorer_scenes import simulated
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.server import Server

pytestmark = several_programs
SCENE: dict[str, Any] = {"n": 40, "d": 2, "beta": 16.0, "t": 200.0, "frames": 80, "tolerance": 1e-6}
ANNOUNCEMENT_PAUSE_MILLIS = 3000
# every change of what a screen reader reads out by itself, with its time
WATCH = """() => { window.changes = [];
  const regions = 'output, [role=status], [role=alert], [role=log], [aria-live]:not([aria-live=off])';
  const live = one => one.closest(regions);
  new MutationObserver(records => { for (const {target} of records) {
    const region = live(target.nodeType === 1 ? target : target.parentElement);
    if (region !== null) window.changes.push({id: region.id || region.className, at: performance.now(),
      text: region.textContent}) } })
  .observe(document.body, {subtree: true, childList: true, characterData: true}) }"""


def address(server: Server, frame: int | None, **look: Any) -> str:
    state = {"scene": SCENE, "view": look} | ({} if frame is None else {"at": frame})
    return f"{server.address}#{quote(json.dumps(state), safe='')}"


def labels_by_page(page: WatchedPage) -> NDArray[np.int64]:
    """The leader of every token in every frame, (m, n), from the run itself and the page's radius."""
    run = simulated(page.now()["scene"])
    radius = page.page.evaluate("window.nucleate.radius")
    found = [nc.clusters(x, radius) for x in run.x]  # labels (n,) of every frame
    return np.array([[int(np.argmax(label == one)) for one in label] for label in found])


def test_while_a_run_plays_only_mergers_and_the_end_are_told_and_seldom(
    server: Server, page: WatchedPage
) -> None:
    page.open(address(server, 0, speed=2))
    page.page.evaluate(WATCH)
    page.page.locator("[data-action=play]").click()
    page.page.wait_for_function("() => window.changes.some(one => one.text.startsWith('The end.'))")
    changes = page.page.evaluate("window.changes")
    assert {one["id"] for one in changes} <= {"announcements", "token"}, "no other region speaks by itself"
    told = [one for one in changes if one["id"] == "announcements"]
    assert 1 <= len(told) <= 6
    pauses = np.diff([one["at"] for one in told])
    assert (pauses > ANNOUNCEMENT_PAUSE_MILLIS - 100).all()
    leader = labels_by_page(page)
    own = np.arange(SCENE["n"])
    lost = int(((leader[:-1] == own) & (leader[1:] != own)).sum())
    said = sum(
        int(found[1])
        if (found := re.search(r"(\d+) clusters? have joined", one["text"]))
        else int("has joined" in one["text"])
        for one in told
    )
    assert said == lost, "every merger is told once"
    clusters = len(set(leader[-1]))
    assert f"{clusters} cluster" in told[-1]["text"]


def test_what_happened_is_told_in_words_that_are_true(server: Server, page: WatchedPage) -> None:
    page.open(address(server, 79))
    words = page.page.locator("[data-part=in-words]")
    expect(words).not_to_have_attribute("open", "")
    words.locator("summary").click()
    expect(words.locator("p").first).to_contain_text("40 tokens on the circle")
    text = " ".join(words.locator("p").all_inner_texts())
    leader = labels_by_page(page)
    first, last = len(set(leader[0])), len(set(leader[-1]))
    assert f"Clusters at first: {first}; in the last frame: {last};" in text
    sizes = np.bincount(leader[-1])
    assert f"The largest then holds {sizes.max()} token" in text
    assert f"token {sizes.argmax() + 1} first" in text
    own = np.arange(40)
    mergers = [
        (int(k), int(now[k]))
        for before, now in itertools.pairwise(leader)
        for k in own[(before == own) & (now != own)]
    ]
    assert f"{len(mergers)} mergers, half of them" in text
    for k, into in mergers[-6:]:
        assert f"the cluster of token {k + 1} joins that of token {into + 1}." in text
    centers = page.page.evaluate("window.nucleate.record.centers")
    assert f"{len(centers['renyi'])} Rényi center" in text
    assert f"{len(centers['strong'])} of them strong" in text
    page.page.locator("[data-control=seed]").fill("9")  # another run, another text
    page.change(lambda: page.page.keyboard.press("Enter"))
    expect(words).not_to_contain_text(text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_legend_and_picture_have_the_same_colours_where_colours_are_forced(
    browser: Browser, server: Server, scheme: Any
) -> None:
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, forced_colors="active", color_scheme=scheme
    )
    page = WatchedPage(context.new_page())
    page.open(address(server, 79))
    assert page.page.evaluate("matchMedia('(forced-colors: active)').matches")
    page.page.mouse.move(0, 0)
    page.drawn()
    canvas = page.pixels("circle").reshape(-1, 3)
    for ring in (".ring:not(.strong)", ".ring.strong"):
        colour = page.page.evaluate(
            f"getComputedStyle(document.querySelector('section[data-view=circle] {ring}')).borderTopColor"
        )
        rgb = [int(part) for part in re.findall(r"\d+", colour)[:3]]
        assert (np.abs(canvas.astype(int) - rgb).max(axis=1) <= 2).sum() > 20, f"{ring} is {colour}"
    usual = [(0xD6, 0x27, 0x28), (0xFF, 0x62, 0x55)]  # the red of the page's own themes
    assert not any((canvas == red).all(axis=1).any() for red in usual)
    ground = page.page.evaluate(
        "getComputedStyle(document.querySelector('section[data-view=circle]')).backgroundColor"
    )
    assert (canvas[0] == [int(part) for part in re.findall(r"\d+", ground)[:3]]).all()
    assert page.complaints == []
    context.close()
