"""The explorer under fingers: a phone upright and lying, with a touch screen, in a real Chromium."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from support.chromium import WatchedPage
from support.time_limits import several_programs

from nucleate.explorer.server import Server

pytestmark = several_programs
UPRIGHT: Any = {"width": 390, "height": 844}
LYING: Any = {"width": 844, "height": 390}
FINGER_PIXELS = 40  # of every side of what is to be touched
LETTER_PIXELS = 16  # of a field: below, a phone zooms in when it is touched
SMALL = {"n": 40, "beta": 16.0, "t": 50.0, "frames": 40, "tolerance": 1e-5}
# every control that is shown now, with its box, the letters of fields, and the boxes that cut it off
CONTROLS = """() => [...document.querySelectorAll('button, input, select, textarea, summary, a[href]')]
  .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.classList.contains('skip')
    && (!document.querySelector('dialog[open]') || one.closest('dialog[open]')))
  .map(one => {
    const {left, right, width, height} = one.getBoundingClientRect();
    let [from, to] = [0, innerWidth];
    for (let box = one.parentElement; box !== null; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== 'visible') {
        const edge = box.getBoundingClientRect();
        [from, to] = [Math.max(from, edge.left), Math.min(to, edge.right)];
      }
    return {what: one.outerHTML.slice(0, 120), left, right, width, height, from, to,
      field: one.matches('input:not([type=range], [type=checkbox]), select, textarea'),
      spilt: one.matches('button') && one.scrollWidth > one.clientWidth + 1,
      letters: parseFloat(getComputedStyle(one).fontSize)};
  })"""
OVERLAPS = """() => ['#top', '#player', 'dialog[open]'].flatMap(where =>
  [...document.querySelectorAll(`${where} button, ${where} input, ${where} select`)]
    .filter(one => one.checkVisibility()).map(one => ({one, box: one.getBoundingClientRect()}))
    .flatMap(({one, box}, i, all) => all.slice(i + 1)
      .filter(other => box.left < other.box.right - 1 && other.box.left < box.right - 1
        && box.top < other.box.bottom - 1 && other.box.top < box.bottom - 1)
      .map(other => `${one.outerHTML.slice(0, 80)} and ${other.one.outerHTML.slice(0, 80)}`)))"""


@pytest.fixture(params=[UPRIGHT, LYING], ids=["upright", "lying"])
def phone(browser: Browser, request: pytest.FixtureRequest) -> Iterator[WatchedPage]:
    context = browser.new_context(
        viewport=request.param, has_touch=True, is_mobile=True, color_scheme="light"
    )
    watched = WatchedPage(context.new_page())
    yield watched
    complaints = list(watched.complaints)
    context.close()
    assert complaints == [], "the page complained in the console"


def at(server: Server, scene: dict[str, Any], frame: int = 0) -> str:
    return f"{server.address}#{quote(json.dumps({'scene': {**SMALL, **scene}, 'at': frame}), safe='')}"


def check_controls(page: WatchedPage) -> int:
    """Look at every control that is shown; how many there are."""
    found = page.page.evaluate(CONTROLS)
    small = [one for one in found if min(one["width"], one["height"]) < FINGER_PIXELS - 0.5]
    assert small == [], "too small for a finger"
    assert [one for one in found if one["field"] and one["letters"] < LETTER_PIXELS] == []
    cut = [one for one in found if one["left"] < one["from"] - 1 or one["right"] > one["to"] + 1]
    assert cut == [], "cut off"
    assert [one["what"] for one in found if one["spilt"]] == [], "the words do not fit"
    assert page.page.evaluate(OVERLAPS) == []
    width = page.page.viewport_size
    assert width is not None
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width["width"]
    return len(found)


def scrolled(page: WatchedPage) -> float:
    return float(page.page.evaluate("document.getElementById('views').scrollTop"))


def middle(page: WatchedPage, view: str) -> tuple[float, float]:
    """The middle of what is to be seen of a view."""
    page.page.locator(f"section[data-view={view}] .stage").scroll_into_view_if_needed()
    page.drawn()
    stage = page.page.locator(f"section[data-view={view}] .stage").bounding_box()
    views = page.page.locator("#views").bounding_box()
    assert stage is not None
    assert views is not None
    top = max(stage["y"], views["y"])
    bottom = min(stage["y"] + stage["height"], views["y"] + views["height"])
    return stage["x"] + stage["width"] / 2.0, (top + bottom) / 2.0


def drag(page: WatchedPage, *places: list[tuple[float, float]]) -> None:
    """Put fingers down at the first places, move them through the others, lift them."""
    session = page.page.context.new_cdp_session(page.page)
    for i, fingers in enumerate(places):
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(fingers)]
        kind = "touchMove" if i else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.drawn()  # a finger takes its time
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.drawn()


def test_every_control_has_room_for_a_finger_and_is_whole(server: Server, phone: WatchedPage) -> None:
    phone.open(at(server, {"d": 3}, 20))
    shown = check_controls(phone)
    phone.page.locator("#show-settings").click()
    phone.page.locator("details.family summary").click()
    assert check_controls(phone) > shown + 15
    phone.page.locator("#explain").click()
    phone.page.locator("[data-part=in-words] summary").click()
    phone.drawn()
    check_controls(phone)
    for window in ("share", "help"):
        phone.page.locator(f"#show-{window}").click()
        check_controls(phone)
        phone.page.locator(f"[data-action=close-{window}]").click()
    phone.page.locator("[data-control=V]").first.select_option("own matrix")
    check_controls(phone)


def test_what_a_setting_changes_is_seen_while_it_is_set(server: Server, phone: WatchedPage) -> None:
    phone.open(at(server, {"d": 2}, 20))
    phone.page.locator("#show-settings").click()
    phone.drawn()
    x, y = middle(phone, "circle")
    seen = phone.page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y)?.closest('section')?.dataset.view", [x, y]
    )
    assert seen == "circle"
    settings, stage, views = (
        phone.page.locator(what).bounding_box()
        for what in ("#settings", "section[data-view=circle] .stage", "#views")
    )
    assert settings is not None
    assert stage is not None
    assert views is not None
    assert settings["width"] >= 280
    assert settings["height"] >= 200
    assert stage["y"] >= views["y"] - 1, "the picture begins where it is seen"
    assert stage["y"] + stage["height"] <= views["y"] + views["height"] + 1, "and ends there"
    assert min(stage["width"], stage["height"]) >= 150
    before = phone.pixels("circle")
    phone.page.locator("[data-control=seed]").fill("5")
    phone.change(lambda: phone.page.keyboard.press("Enter"))
    assert not np.array_equal(phone.pixels("circle"), before)
    phone.page.locator("#show-settings").click()
    expect(phone.page.locator("#settings")).to_be_hidden()


def test_a_swipe_scrolls_over_every_picture_and_changes_nothing(server: Server, phone: WatchedPage) -> None:
    phone.open(at(server, {"d": 3}, 20))
    before = phone.page.evaluate("window.nucleate.state")
    for view in ("sphere", "angles"):
        x, y = middle(phone, view)
        start = scrolled(phone)
        drag(phone, *[[(x, y - step)] for step in range(0, 80, 8)])
        phone.page.wait_for_function(
            "start => document.getElementById('views').scrollTop > start + 20", arg=start
        )
        assert phone.page.evaluate("window.nucleate.state") == before


def test_two_fingers_zoom_and_turn_the_sphere_and_one_turns_it_sideways(
    server: Server, phone: WatchedPage
) -> None:
    phone.open(at(server, {"d": 3}, 20))
    x, y = middle(phone, "sphere")
    azimuth, _, far = phone.page.evaluate("window.nucleate.state.view.camera")
    drag(phone, *[[(x - apart, y), (x + apart, y)] for apart in (20, 25, 30, 35, 40)])
    now = phone.page.evaluate("window.nucleate.state.view.camera")
    assert now[2] == pytest.approx(max(far / 2.0, 1.6), rel=1e-3)  # twice as far apart, twice as near
    assert phone.page.evaluate("visualViewport.scale") == 1
    assert now[0] == pytest.approx(azimuth, abs=1e-6)
    drag(phone, *[[(x + step, y)] for step in range(0, 80, 8)])
    turned = phone.page.evaluate("window.nucleate.state.view.camera")
    assert abs(turned[0] - now[0]) > 0.1
    assert scrolled(phone) == 0


def test_two_fingers_zoom_the_page_over_other_pictures_and_a_tap_seeks(
    server: Server, phone: WatchedPage
) -> None:
    phone.open(at(server, {"d": 2}, 20))
    x, y = middle(phone, "angles")
    phone.page.touchscreen.tap(x + 60, y)
    phone.page.wait_for_function("() => window.nucleate.now().at !== 20")
    frame = phone.now()["at"]
    drag(phone, *[[(x - apart, y), (x + apart, y)] for apart in range(20, 110, 5)])
    phone.page.wait_for_function("() => visualViewport.scale > 1.2")
    assert phone.now()["at"] == frame


def test_a_token_follows_the_finger_that_took_it(server: Server, phone: WatchedPage) -> None:
    phone.open(at(server, {"d": 2, "n": 2, "moved": {"0": [0.0, 1.0], "1": [1.0, 0.0]}}))
    x, y = middle(phone, "circle")
    stage = phone.page.locator("section[data-view=circle] .stage").bounding_box()
    assert stage is not None
    side = min(stage["width"], stage["height"])
    rim = side / 2.0 - min(42.0, 0.16 * side)  # as the view draws it
    run, place = phone.now()["runId"], scrolled(phone)
    drag(phone, *[[(x + rim * np.cos(a), y - rim * np.sin(a))] for a in np.linspace(0.0, 0.9, 10)])
    phone.settled(run + 1)
    assert phone.now()["scene"]["moved"]["1"] == pytest.approx([np.cos(0.9), np.sin(0.9)], abs=0.05)
    assert scrolled(phone) == place


def test_how_the_run_was_computed_is_said_and_the_badge_lies_over_no_token(
    server: Server, phone: WatchedPage
) -> None:
    phone.open(at(server, {"d": 2}, 39))
    summary = phone.page.locator("#summary")
    expect(summary).to_be_visible()
    expect(summary).to_contain_text("computed by the server")
    assert summary.evaluate(
        "one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 1"
    )
    badge = phone.page.locator(".badge").bounding_box()
    stage = phone.page.locator("section[data-view=circle] .stage").bounding_box()
    assert badge is not None
    assert stage is not None
    side = min(stage["width"], stage["height"])  # the picture is in the middle, with its numbers
    right = stage["x"] + (stage["width"] + side) / 2.0
    below = badge["y"] >= stage["y"] + stage["height"] - 1
    assert below or badge["x"] + badge["width"] <= right - side


def test_what_a_step_of_the_story_has_is_above_its_buttons(server: Server, phone: WatchedPage) -> None:
    for step in (2, 3, 7):
        state = quote(json.dumps({"view": {"story": step}}), safe="")
        phone.open(f"{server.address}#{state}", run=2)
        phone.seek(phone.now()["scene"]["frames"] // 2)
        hidden = phone.page.evaluate(
            """() => { const top = document.querySelector('.story-steps').getBoundingClientRect().top;
              return [...document.querySelectorAll('.story-words > *, .story-matrices button, .parking,'
                + ' .parking input, .interaction')].filter(one => one.checkVisibility()
                && one.getBoundingClientRect().bottom > top + 1).map(one => one.outerHTML.slice(0, 80)); }"""
        )
        assert hidden == []


def test_the_story_is_told_beside_a_picture_that_is_seen_whole(server: Server, phone: WatchedPage) -> None:
    for step in (2, 3):
        state = quote(json.dumps({"view": {"story": step}}), safe="")
        phone.open(f"{server.address}#{state}", run=2)
        room = phone.page.locator("#views").bounding_box()
        stage = phone.page.locator("section[data-view=circle] .stage").bounding_box()
        assert room is not None
        assert stage is not None
        assert stage["height"] >= 100
        assert stage["y"] + stage["height"] <= room["y"] + room["height"] + 1
        step_on = phone.page.locator(".story-steps button", has_text="Next").bounding_box()
        assert step_on is not None
        assert step_on["y"] + step_on["height"] <= room["y"] + room["height"] + 1 or step_on["y"] < room["y"]
