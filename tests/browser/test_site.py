"""The static site and live pages of recorded runs, opened from files in a real Chromium without network: the
engine inside the page against nucleate."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from support.chromium import WatchedPage
from support.explorer_scenes import simulated
from support.time_limits import check_wall_seconds, patient, several_programs

import nucleate as nc
from nucleate.cli.explore import _state
from nucleate.explorer.built_page import page_text
from nucleate.explorer.export import export, page_with_recording
from nucleate.explorer.page_engine import page_greeting
from nucleate.explorer.presets import presets
from nucleate.explorer.python_code import python_code
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.site import recorded_preset

pytestmark = several_programs
RECORDED = "family-kuramoto"
# pictures a second and the script's time for each, over two seconds
SMOOTH = """() => new Promise(done => {
  const page = window.nucleate, began = performance.now(), before = page.draws;
  page.resetScriptTimes();
  setTimeout(() => done({ ...page.scriptTimes(), status: page.now().status,
    pictures: 1000 * (page.draws - before) / (performance.now() - began) }), 2000) })"""

# what is said to a worker is held back until startEngine is called
LATE_ENGINE = """(() => {
  const held = [], send = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (...what) { held.push(() => send.apply(this, what)); };
  window.startEngine = () => { Worker.prototype.postMessage = send; held.forEach((one) => one()); };
})()"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a site with one recorded preset."""
    preset = next(one for one in presets() if one.name == RECORDED)
    inside = {"site": page_greeting(), "recordings": [recorded_preset(preset)]}
    path = tmp_path_factory.mktemp("site") / "index.html"
    path.write_text(page_with_recording(page_text(), inside), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def offline(browser: Browser) -> Iterator[Any]:
    """Fresh profiles without network; what they asked for must have been files of ours."""
    contexts, opened = [], []

    def fresh() -> WatchedPage:
        context = browser.new_context(
            viewport={"width": 1400, "height": 900}, offline=True, color_scheme="light"
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        opened.append(WatchedPage(context.new_page()))
        return opened[-1]

    yield fresh
    asked = [url for one in opened for url in one.requested_urls]
    complaints = [text for one in opened for text in one.complaints]
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:", "about:"))] == []
    assert complaints == []


def link_to(site: str, scene: dict[str, Any], frame: int = 0) -> str:
    return f"{site}#{quote(json.dumps({'scene': scene, 'at': frame}), safe='')}"


def farthest(page: WatchedPage, scene: dict[str, Any], frame: int = -1) -> float:
    """How far a frame of the page is from nucleate's."""
    x = simulated(scene).x[frame].reshape(-1)
    return float(np.abs(page.bits(None if frame == -1 else frame) - x).max())


def test_a_site_plays_presets_takes_changes_and_its_links_open_in_a_fresh_profile(
    site: str, offline: Any
) -> None:
    page: WatchedPage = offline()
    page.open(site)
    assert page.page.evaluate("document.documentElement.dataset.engine") == "page"
    expect(page.page.locator("#summary")).to_contain_text("computed in this page")
    page.change(lambda: page.page.locator("[data-control=preset]").select_option("figure2"))
    scene = next(one.scene for one in presets() if one.name == "figure2").plain()
    page.page.wait_for_function("() => window.nucleate.now().at > 0", timeout=60_000)  # it plays
    assert farthest(page, scene) < 1e-7
    assert farthest(page, scene, 7) < 1e-7
    page.page.locator("[data-control=beta]").fill("30")
    page.change(lambda: page.page.keyboard.press("Enter"))
    assert farthest(page, {**scene, "beta": 30.0}) < 1e-7
    page.seek(120)
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-action=copy-link]").click()
    link = page.page.locator("#share textarea").input_value()
    other: WatchedPage = offline()
    other.open(link)
    assert other.now()["at"] == 120
    assert other.now()["scene"]["beta"] == 30.0
    assert np.array_equal(other.bits(), page.bits())


def test_python_and_matrices_are_answered_in_the_page(site: str, offline: Any) -> None:
    page: WatchedPage = offline()
    table = {"n": 8, "d": 3, "beta": 5.0, "t": 2.0, "frames": 9, "V": {"preset": "complex"}, "seed": 4}
    page.open(link_to(site, table))
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-action=copy-python]").click()
    expect(page.page.locator("#share textarea")).to_be_visible()
    assert page.page.locator("#share textarea").input_value() == python_code(parse_scene(table))
    assert page.page.locator("[data-action=npz]").is_disabled()
    assert farthest(page, table) < 1e-7


def test_what_is_beyond_the_page_is_said_with_the_command_that_opens_it(site: str, offline: Any) -> None:
    page: WatchedPage = offline()
    page.open(link_to(site, {"n": 20, "t": 5.0}))
    page.page.locator("[data-control=t]").fill("1e60")
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#error-text")).to_contain_text("times up to 100,000, but the end is 1e+60")
    page.page.locator("#open-exactly").click()
    command = page.page.locator("#share textarea").input_value()
    assert command.startswith("nucleate explore --link '#")
    state = _state(command.split("'")[1])
    assert parse_scene(state["scene"]) == parse_scene({"n": 20, "t": 1e60})


def test_a_first_link_beyond_the_page_shows_the_first_scene_and_keeps_the_command(
    site: str, offline: Any
) -> None:
    page: WatchedPage = offline()
    page.open(link_to(site, {"n": 5000, "seed": 3}), run=2)  # the second is the first scene
    assert page.now()["frames"] > 1, "no empty views"
    expect(page.page.locator("#error-text")).to_contain_text("at most 500 tokens, but n is 5,000")
    expect(page.page.locator("#error-text")).to_contain_text("first scene instead")
    page.page.locator("#open-exactly").click()
    command = page.page.locator("#share textarea").input_value()
    state = _state(command.split("'")[1])
    assert parse_scene(state["scene"]) == parse_scene({"n": 5000, "seed": 3}), "of what was refused"


def test_the_story_is_told_to_its_end_in_a_site(site: str, offline: Any) -> None:
    page: WatchedPage = offline()
    page.open(
        f"{site}#{quote(json.dumps({'view': {'story': 1}}), safe='')}", run=2
    )  # the step names its scene
    events = page.page.locator("#story .story-events")
    expect(events).to_contain_text("t = ")
    for step in range(2, 8):
        page.change(lambda: page.page.locator("#story button", has_text="Next").click())
        expect(page.page.locator("#story h2")).to_contain_text(f"{step} of 7")
        assert page.now()["scene"]["t"] <= 1e4
        if step == 6:
            expect(events).to_contain_text("Here the same start is run to t = 10⁴")
    expect(page.page.locator("#errors")).to_be_hidden()
    expect(page.page.locator(".badge", has_text="as conjectured")).to_be_visible()


def test_two_runs_side_by_side_in_a_site_are_those_of_nucleate(site: str, offline: Any) -> None:
    page: WatchedPage = offline()
    scene = {"n": 12, "beta": 9.0, "t": 20.0, "frames": 30}
    state = {"scene": scene, "at": 29, "view": {"side": "beta"}}
    page.open(f"{site}#{quote(json.dumps(state), safe='')}")
    one, other = (
        int(nc.clusters(simulated({**scene, "beta": beta}).x[-1], 0.1 * beta**-0.5).max()) + 1
        for beta in (9.0, 36.0)
    )
    reading = page.page.locator("section[data-view=clusters] .reading")
    expect(reading).to_have_attribute("title", f"{one} clusters; other {other}")
    assert farthest(page, scene) < 1e-7


def test_a_preset_that_the_page_cannot_compute_is_played(site: str, offline: Any) -> None:
    page: WatchedPage = offline()
    page.open(site)
    page.change(lambda: page.page.locator("[data-control=preset]").select_option(RECORDED))
    scene = next(one.scene for one in presets() if one.name == RECORDED)
    assert page.now()["clusters"] is not None
    expect(page.page.locator("#summary")).to_have_text("recorded run")
    assert farthest(page, scene.plain()) < 1e-6  # 32 bits
    page.page.locator("[data-action=share]").click()
    expect(page.page.locator("#share")).to_contain_text("32 bits")
    page.page.locator("[data-action=copy-python]").click()
    expect(page.page.locator("#share textarea")).to_have_value(python_code(scene))


def test_an_exported_run_plays_first_and_then_takes_changes(offline: Any, tmp_path: Path) -> None:
    run = nc.simulate(nc.Attention(20.0), nc.uniform(30, 3, 1), 10.0, save=25)
    run.save(tmp_path / "run.zarr")
    export(tmp_path / "run.zarr", tmp_path / "page.html")
    page: WatchedPage = offline()
    page.page.goto((tmp_path / "page.html").as_uri())
    page.page.wait_for_function("() => window.nucleate?.now?.().connected")
    expect(page.page.locator("#summary")).to_have_text("recorded run")
    assert np.array_equal(page.bits().astype(np.float32), run.x[-1].reshape(-1).astype(np.float32))
    page.page.locator("[data-control=beta]").fill("5")
    page.change(lambda: page.page.keyboard.press("Enter"))
    expect(page.page.locator("#summary")).to_contain_text("computed in this page")
    again = nc.simulate(nc.Attention(5.0), run.x[0], 10.0, save=25)
    assert np.abs(page.bits() - again.x[-1].reshape(-1)).max() < 1e-7


def test_a_change_before_the_engine_has_started_is_computed_when_it_has(offline: Any, tmp_path: Path) -> None:
    """On a busy machine the engine of an exported page starts late."""
    run = nc.simulate(nc.Attention(20.0), nc.uniform(30, 3, 1), 10.0, save=25)
    run.save(tmp_path / "run.zarr")
    export(tmp_path / "run.zarr", tmp_path / "page.html")
    page: WatchedPage = offline()
    page.page.add_init_script(LATE_ENGINE)
    page.page.goto((tmp_path / "page.html").as_uri())
    page.page.locator("[data-control=beta]").fill("5")
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#messages")).to_contain_text("as soon as the engine of this page has started")
    page.change(lambda: page.page.evaluate("window.startEngine()"))
    expect(page.page.locator("#summary")).to_contain_text("computed in this page")
    again = nc.simulate(nc.Attention(5.0), run.x[0], 10.0, save=25)
    assert np.abs(page.bits() - again.x[-1].reshape(-1)).max() < 1e-7


def test_a_run_that_is_saved_as_a_page_from_a_site_plays_and_takes_changes(
    site: str, offline: Any, tmp_path: Path
) -> None:
    page: WatchedPage = offline()
    scene = {"n": 8, "beta": 9.0, "t": 3.0, "frames": 9}
    page.open(link_to(site, scene))
    page.page.locator("[data-action=share]").click()
    with page.page.expect_download() as coming:
        page.page.locator("[data-action=save-page]").click()
    coming.value.save_as(tmp_path / "saved.html")
    copy: WatchedPage = offline()
    copy.page.goto((tmp_path / "saved.html").as_uri())
    copy.page.wait_for_function("() => window.nucleate?.now?.().connected")
    assert np.array_equal(copy.bits(), page.bits().astype(np.float32))
    copy.page.locator("[data-control=beta]").fill("5")
    copy.change(lambda: copy.page.keyboard.press("Enter"))
    assert farthest(copy, {**scene, "beta": 5.0}) < 1e-7


@patient
def test_the_page_stays_smooth_while_its_engine_computes(
    site: str, offline: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    page: WatchedPage = offline()
    scene = {"n": 500, "d": 2, "beta": 20.0, "t": 2000.0, "frames": 1000, "clock": "linear"}
    page.visit(f"{site}#{quote(json.dumps({'scene': scene}), safe='')}")  # no frame: it plays
    page.page.wait_for_function("() => window.nucleate?.now?.().frames > 40")
    took = page.page.evaluate(SMOOTH)
    page.page.locator("#cancel").click()
    page.settled()
    with capsys.disabled():
        print(
            f"\n500 tokens on the circle, being computed: {took['pictures']:.0f} pictures a second, script"
            f" {took['median']:.1f} ms median, {took['worst']:.1f} worst"
        )
    assert took["status"] == "running", "it was computed all the while"
    check_wall_seconds(took["median"] / 1000.0, 0.008, "the script of a picture")


def test_a_worker_that_does_not_start_is_said(browser: Browser, site: str, tmp_path: Path) -> None:
    text = Path(site.removeprefix("file://")).read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text(text.replace("; worker-src blob:", ""), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    expect(page.locator("#error-text")).to_contain_text("The engine of this page does not run")
    assert page.evaluate("document.documentElement.dataset.connection") == "failed"
    context.close()
