"""The story, the pace of playing, predictions against what is observed, and words that explain themselves, in
a real Chromium."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, WebSocketRoute, expect
from support.chromium import WatchedPage
from support.time_limits import check_wall_seconds, patient, several_programs

from nucleate.explorer.measurements import measure
from nucleate.explorer.prepared_run import begun_message, compute, prepare_scene
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.server import Server

pytestmark = several_programs
STEPS = 7
PAPER = "https://arxiv.org/abs/2411.04990"
STEP_SHOWN = "step => document.documentElement.dataset.story === String(step)"
# how long playing takes until some token is 2 degrees from its start
FIRST_MOTION = """() => new Promise(done => {
  const x0 = window.nucleate.x(0), { n, d } = window.nucleate.record;
  const cosine = Math.cos(Math.PI / 90);
  document.querySelector('[data-action=first]').click();
  document.querySelector('#player [data-action=play]').click();
  const begun = performance.now();
  const look = () => {
    const x = window.nucleate.x(window.nucleate.now().at);
    for (let k = 0; k < n; k++) {
      let dot = 0;
      for (let c = 0; c < d; c++) dot += x[k * d + c] * x0[k * d + c];
      if (dot < cosine) return done(performance.now() - begun);
    }
    requestAnimationFrame(look);
  };
  look();
})"""


def address(server: Server, **state: Any) -> str:
    return f"{server.address}#{quote(json.dumps(state), safe='')}"


def at_step(page: WatchedPage, step: int) -> None:
    """Wait until this step is shown and its run is measured."""
    page.page.wait_for_function(STEP_SHOWN, arg=step)
    page.settled()


def caption(page: WatchedPage) -> str:
    return page.page.locator(".story-caption").text_content() or ""


@pytest.fixture
def phone(browser: Browser) -> Iterator[WatchedPage]:
    """A page on a phone, touched and not pointed at."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="light"
    )
    watched = WatchedPage(context.new_page())
    yield watched
    complaints = list(watched.complaints)
    context.close()
    assert complaints == [], "the page complained in the console"


# --- the first visit


def test_the_first_visit_is_invited_once_and_nothing_is_in_the_way(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    invitation = page.page.locator("#invitation")
    expect(invitation).to_be_visible()
    assert page.page.locator("dialog[open]").count() == 0
    assert page.now()["frames"] > 0, "the run is there behind it"
    page.page.locator("[data-action=no-story]").click()
    expect(invitation).to_be_hidden()
    page.open(server.address)
    expect(invitation).to_be_hidden()


def test_a_link_is_shown_without_an_invitation(server: Server, page: WatchedPage) -> None:
    page.open(address(server, scene={"n": 5, "t": 1.0}))
    expect(page.page.locator("#invitation")).to_be_hidden()


@patient
def test_a_token_moves_within_a_second_of_play(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    waits = [page.page.evaluate(FIRST_MOTION) for _ in range(3)]
    print(f"two degrees after {', '.join(f'{wait:.0f}' for wait in waits)} ms of play")
    check_wall_seconds(min(waits) / 1000.0, 1.0, "the best of three")


def test_a_chosen_speed_still_sets_the_pace(server: Server, page: WatchedPage) -> None:
    page.open(address(server, scene={"n": 20, "t": 150.0}, at=0))
    page.page.locator("[data-control=speed]").select_option("10")
    page.page.locator("#player [data-action=play]").click()
    page.page.wait_for_function("() => window.nucleate.now().at >= 150")  # of 160, without a pause at mergers
    expect(page.page.locator("html")).to_have_attribute("data-playing", "no")


# --- the story


def test_every_step_runs_its_scene_and_tells_what_happened_in_it(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    page.page.locator("[data-action=begin-story]").click()
    told = {
        1: "within 0.01 rad of",
        2: "Token 1 has moved by 0°",
        3: "Rényi centers",
        4: "At the end, t = 150",
        5: "Rényi centers were lost",
        6: "all 200 tokens are within 0.01 rad of x₁(0)",
        7: "all 32 tokens are within 0.01 rad",
    }
    for step in range(1, STEPS + 1):
        at_step(page, step)
        heading = page.page.locator("#story-title")
        expect(heading).to_be_focused()
        expect(heading).to_contain_text(f"{step} of {STEPS}")
        expect(page.page.locator(".story-changed")).to_be_hidden()
        if step == 3:
            page.page.locator("[data-control=parking]").fill("200")
        else:
            page.page.evaluate("() => window.nucleate.seek(Infinity)")
        expect(page.page.locator(".story-caption")).to_contain_text(told[step])
        page.page.locator("[data-action=story-next]").click()
    expect(page.page.locator("#story")).to_be_hidden()
    expect(page.page.locator("[data-action=story]")).to_be_focused()
    assert page.now()["error"] is None


def test_captions_fire_in_the_frames_that_the_instruments_find(server: Server, page: WatchedPage) -> None:
    page.open(address(server, view={"story": 5}), run=2)  # the link names the step alone: its scene is run
    at_step(page, 5)
    prepared = prepare_scene(parse_scene(page.now()["scene"]))
    run, begun = compute(prepared), begun_message(prepared, 1)
    measured = measure(run.x, begun)
    assert measured is not None
    centers, labels = begun["centers"]["renyi"], measured.labels
    events = []
    for c in centers:
        earlier = [other for other in centers if other < c]
        joined = (labels[:, earlier] == labels[:, [c]]).any(1)  # (m,)
        apart = np.flatnonzero(~joined)
        if len(apart) and apart[-1] + 1 < len(joined):
            frame = int(apart[-1]) + 1
            into = next(other for other in earlier if labels[frame, other] == labels[frame, c])
            events.append((frame, c + 1, into + 1))
    assert events, "the scene of the step loses a center"
    for frame, lost, into in events:
        page.seek(frame)
        expect(page.page.locator(".story-caption")).to_contain_text(f"Now {lost} merges into {into}, at t = ")
        page.seek(frame - 1)
        expect(page.page.locator(".story-caption")).not_to_contain_text(f"Now {lost} merges into {into}")


def test_a_link_opens_the_story_where_it_was(server: Server, page: WatchedPage, browser: Browser) -> None:
    page.open(address(server, view={"story": 4}), run=2)
    at_step(page, 4)
    page.seek(120)
    page.page.wait_for_function("() => location.hash.includes('120')")
    said, link = caption(page), page.page.evaluate("() => window.nucleate.fragment")
    other = browser.new_context()
    try:
        fresh = WatchedPage(other.new_page())
        fresh.open(server.address + link)
        at_step(fresh, 4)
        assert fresh.now()["at"] == 120
        expect(fresh.page.locator(".story-caption")).to_have_text(said)
        assert fresh.complaints == []
    finally:
        other.close()


def test_the_story_goes_by_keyboard_and_gives_the_focus_back(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    page.page.locator("[data-action=story]").focus()
    page.page.keyboard.press("Enter")
    at_step(page, 1)
    page.page.keyboard.press("PageDown")
    at_step(page, 2)
    page.page.keyboard.press("PageUp")
    at_step(page, 1)
    expect(page.page.locator(".story-caption")).to_have_attribute("aria-live", "polite")
    page.page.keyboard.press("Escape")
    expect(page.page.locator("#story")).to_be_hidden()
    expect(page.page.locator("[data-action=story]")).to_be_focused()


def test_a_changed_scene_is_said_and_can_be_taken_back(server: Server, page: WatchedPage) -> None:
    page.open(address(server, view={"story": 2}), run=2)
    at_step(page, 2)
    page.page.locator("[data-control=beta]").fill("3")
    page.change(lambda: page.page.keyboard.press("Enter"))
    changed = page.page.locator(".story-changed")
    expect(changed).to_be_visible()
    page.change(lambda: changed.locator("button").click())
    expect(changed).to_be_hidden()
    assert page.now()["scene"]["beta"] == 10


def test_where_the_engine_refuses_a_step_it_shows_what_it_can(server: Server, page: WatchedPage) -> None:
    def refuse(socket: WebSocketRoute) -> None:
        """Answer long runs as an engine would that has no causal solver."""
        to_server = socket.connect_to_server()

        def forward(message: str | bytes) -> None:
            asked = json.loads(message)
            if asked.get("scene", {}).get("t", 0) > 1e6:
                text = "This engine stops at t = 1e6. Ask for less."
                socket.send(json.dumps({"say": "error", "id": asked["id"], "text": text}))
            else:
                to_server.send(message)

        socket.on_message(forward)

    page.page.route_web_socket("**/socket*", refuse)
    page.open(address(server, view={"story": 6}), run=3)
    at_step(page, 6)
    assert page.now()["scene"]["t"] == 1e4
    expect(page.page.locator(".story-caption")).to_contain_text("nucleate explore")
    expect(page.page.locator(".story-changed")).to_be_hidden()


def test_on_a_phone_the_story_fits_and_is_touched(server: Server, phone: WatchedPage) -> None:
    phone.open(server.address)
    phone.page.locator("[data-action=begin-story]").tap()
    at_step(phone, 1)
    phone.page.locator("[data-action=story-next]").tap()
    at_step(phone, 2)
    assert phone.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    small = phone.page.evaluate(
        "() => [...document.querySelectorAll('#story button')].filter(b => b.offsetParent &&"
        " (b.offsetHeight < 40 || b.offsetWidth < 40)).map(b => b.textContent)"
    )
    assert small == []


# --- predicted against observed

CASES = {
    "agrees": next(preset.scene.plain() for preset in presets() if preset.name == "figure4"),
    "not yet": {"n": 50, "t": 20.0},
    "contradicts": next(preset.scene.plain() for preset in presets() if preset.name == "counterexample"),
    "no statement": {"n": 20, "t": 5.0, "mask": "full"},
}


@pytest.mark.parametrize("kind", CASES)
def test_the_badge_holds_the_last_frame_against_the_table(
    server: Server, page: WatchedPage, kind: str
) -> None:
    page.open(address(server, scene=CASES[kind], at=0))
    badge = page.page.locator(".badge")
    expect(badge).to_have_attribute("data-verdict", kind)
    badge.click()
    popover = page.page.locator("#word-popover")
    expect(popover).to_be_visible()
    if kind != "no statement":
        expect(popover).to_contain_text("0.01 rad")


@pytest.mark.parametrize("d", [2, 3])
def test_pointing_at_a_token_draws_its_reach_and_whom_it_listens_to(
    server: Server, page: WatchedPage, d: int
) -> None:
    page.open(address(server, scene={"n": 12, "d": d, "beta": 4.0, "t": 5.0, "frames": 20}, at=3))
    over = "section[data-view=circle] canvas" if d == 2 else "section[data-view=sphere] canvas.predictions"
    before = page.pixels_of(over)
    page.page.evaluate("() => window.nucleate.highlight(11)")
    expect(page.page.locator("#token")).to_contain_text("listens to")
    page.drawn()
    assert (page.pixels_of(over) != before).any(-1).mean() > 0.002
    page.page.evaluate("() => window.nucleate.highlight(0)")
    expect(page.page.locator("#token")).to_contain_text("listens to itself (100 %)")


def test_the_ends_that_table_1_names_are_drawn_on_the_sphere(server: Server, page: WatchedPage) -> None:
    scene = {"n": 4, "d": 3, "beta": 1.0, "t": 1.0, "frames": 5}
    shares = {}
    for name, V in {"row 3": [1.0, 0.4, 0.1], "row 2": [1.0, 1.0, -0.5]}.items():
        page.open(address(server, scene={**scene, "V": {"matrix": np.diag(V).tolist()}}, at=0))
        drawn = "() => { const c = document.querySelector('canvas.predictions'); return c.getContext('2d')"
        filled = (
            ".getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 60).length }"
        )
        shares[name] = page.page.evaluate(drawn + filled)
    assert shares["row 3"] > 100  # signs at x1(0), xi and -xi
    assert shares["row 2"] > 400  # the circle of L besides


# --- words


def test_a_word_explains_itself_to_pointer_and_keyboard(server: Server, page: WatchedPage) -> None:
    page.open(address(server, scene={"n": 20, "t": 5.0}, at=0))
    popover = page.page.locator("#word-popover")
    word = page.page.locator("section[data-view=circle] .term[data-word=renyi]")
    word.hover()
    expect(popover).to_contain_text("farther than δ from every earlier center")
    expect(popover.locator("a")).to_have_attribute("href", PAPER)
    page.page.keyboard.press("Escape")
    expect(popover).to_be_hidden()
    page.page.mouse.move(0, 0)
    page.page.locator("label[for=control-beta] .term").focus()
    page.page.keyboard.press("Enter")
    expect(popover).to_contain_text("inverse temperature")
    page.page.keyboard.press("Tab")
    expect(popover.locator("a").first).to_be_focused()
    page.page.keyboard.press("Escape")
    expect(page.page.locator("label[for=control-beta] .term")).to_be_focused()
    expect(popover).to_be_hidden()


def test_every_word_that_is_shown_has_its_text(server: Server, page: WatchedPage) -> None:
    page.open(address(server, scene={"n": 20, "t": 5.0, "d": 3}, at=0, view={"explain": "yes"}))
    words = page.page.locator(".term").evaluate_all("all => [...new Set(all.map(one => one.dataset.word))]")
    assert {"renyi", "strong", "L", "xi", "table", "Q", "K", "V", "beta", "delta"} <= set(words)
    for word in words:
        page.page.locator(f".term[data-word={word}]:visible").first.click()
        expect(page.page.locator("#word-popover")).to_have_attribute("data-word", word)
        page.page.keyboard.press("Escape")


def test_a_word_explains_itself_to_a_finger(server: Server, phone: WatchedPage) -> None:
    phone.open(address(server, scene={"n": 20, "t": 5.0}, at=0))
    word = phone.page.locator("section[data-view=circle] .term[data-word=strong]")
    word.tap()
    popover = phone.page.locator("#word-popover")
    expect(popover).to_contain_text("every earlier token")
    box = popover.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= 390 - box["width"]
    phone.page.locator("#summary").tap()
    expect(popover).to_be_hidden()


def test_a_picture_below_the_story_is_seen_whole_on_a_tablet(server: Server, page: WatchedPage) -> None:
    page.page.set_viewport_size({"width": 1024, "height": 768})
    for step, view in ((2, "circle"), (7, "sphere")):
        page.open(address(server, view={"story": step}), run=2)
        room = page.page.locator("#views").bounding_box()
        picture = page.page.locator(f"section[data-view={view}]").bounding_box()
        assert room is not None
        assert picture is not None
        assert picture["height"] >= 200
        assert picture["y"] + picture["height"] <= room["y"] + room["height"] + 1
