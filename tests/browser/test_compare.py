"""Mergers, the gallery of presets, and runs that are compared, in a real Chromium."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from support.chromium import WatchedPage, shipped_server
from support.explorer_scenes import simulated
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.presets import presets
from nucleate.explorer.server import Server
from nucleate.explorer.stored_runs import open_folder
from nucleate.observe.merges import usual_radius

pytestmark = several_programs
CIRCLE: dict[str, Any] = {"n": 60, "beta": 30.0, "t": 1e6, "frames": 80, "seed": 4}
SPHERE: dict[str, Any] = {"n": 40, "d": 3, "beta": 20.0, "t": 100.0, "frames": 40, "seed": 4}
SECOND = "() => document.documentElement.dataset.second !== ''"


def at(server: Server, scene: dict[str, Any], frame: int | None = 0, **view: Any) -> str:
    """The address of a scene, as a link has it."""
    state = {"scene": scene, "at": frame, "view": view}
    return f"{server.address}#{quote(json.dumps(state), safe='')}"


def events(page: WatchedPage) -> list[int]:
    """The frames that have a tick."""
    found: list[int] = page.page.eval_on_selector_all(
        "[data-event]", "lines => lines.map(line => Number(line.dataset.event))"
    )
    return found


def colours(pixels: np.ndarray[Any, Any], least: int = 6) -> int:
    """How many of the eight colours of clusters a picture shows, each in at least so many pixels."""
    eight = ("0836b9", "20a474", "9e9108", "7f1064", "5098d1", "974f70", "4d68cd", "891c3a")
    shown = 0
    for one in eight:
        rgb = np.array([int(one[i : i + 2], 16) for i in (0, 2, 4)])
        shown += int((np.abs(pixels.astype(int) - rgb).max(-1) < 12).sum() >= least)
    return shown


# --- mergers


def test_ticks_of_mergers_are_where_clusters_are_lost_and_lead_there(
    server: Server, page: WatchedPage
) -> None:
    page.open(at(server, CIRCLE))
    frames = events(page)
    assert len(frames) >= 3
    counts = nc.count_clusters(simulated(CIRCLE).x, usual_radius(CIRCLE["beta"]))  # (m,)
    assert all(counts[frame] != counts[frame - 1] for frame in frames[-2:]), "few are left then"
    page.page.keyboard.press("n")
    page.page.wait_for_function("at => window.nucleate.now().at === at", arg=frames[0])
    expect(page.page.locator("#messages")).to_contain_text("joins that of token")
    page.page.keyboard.press("n")
    page.page.keyboard.press("p")
    page.page.wait_for_function("at => window.nucleate.now().at === at", arg=frames[0])
    page.page.locator("[data-action=next-event]").click()
    page.page.wait_for_function("at => window.nucleate.now().at === at", arg=frames[1])
    strip = page.page.locator(".ticks")
    box = strip.bounding_box()
    assert box is not None
    x = float(page.page.locator(f"[data-event='{frames[-1]}']").get_attribute("x1") or "")
    strip.click(position={"x": x, "y": box["height"] / 2})
    page.page.wait_for_function("at => window.nucleate.now().at === at", arg=frames[-1])
    expect(page.page.locator("[data-action=next-event]")).to_be_disabled()


def test_at_the_end_of_a_life_the_trails_still_have_their_colours(server: Server, page: WatchedPage) -> None:
    life = {"n": 200, "d": 2, "beta": 64.0, "t": 1e60, "frames": 400, "seed": 0}
    page.open(at(server, life, 399))
    assert page.now()["clusters"] == 1
    for view in ("circle", "angles", "mergers"):
        assert colours(page.pixels(view)) >= 4, view


def test_a_line_that_goes_over_pi_reaches_both_edges(server: Server, page: WatchedPage) -> None:
    from xml.etree import ElementTree

    scene = {
        "n": 2,
        "beta": 4.0,
        "t": 1e4,
        "frames": 60,
        "moved": {"0": [-0.95, -0.31], "1": [-0.8, 0.6]},  # the short way to the first leads over pi
    }
    page.open(at(server, scene, 59))
    page.page.locator("section[data-view=angles]").hover()
    with page.page.expect_download() as loaded:
        page.page.locator("section[data-view=angles] [data-action=svg]").click(force=True)
    tree = ElementTree.parse(loaded.value.path())
    paths = [one.get("d") or "" for one in tree.iter("{http://www.w3.org/2000/svg}path")]
    ys = [
        float(step.split(" ")[1])
        for path in paths
        for step in path.replace("L", "M").split("M")
        if step.strip()
    ]
    height = float(tree.getroot().get("height") or "")
    assert min(ys) == pytest.approx(8.0, abs=0.02)  # the upper edge of the plot, to the digits of the file
    assert max(ys) == pytest.approx(height - 34.0, abs=0.02)  # and the lower


def test_a_branch_of_the_tree_shows_its_tokens_and_keeps_them_when_pressed(
    server: Server, page: WatchedPage
) -> None:
    page.open(at(server, CIRCLE, 79))
    tree = page.page.locator("section[data-view=mergers] canvas")
    before = page.pixels("circle")
    tree.focus()
    page.page.keyboard.press("ArrowDown")
    page.drawn()
    assert not np.array_equal(page.pixels("circle"), before), "other tokens are dimmed"
    assert "token" in (page.page.locator("section[data-view=mergers] .reading").text_content() or "")
    page.page.keyboard.press("Escape")
    page.drawn()
    assert np.array_equal(page.pixels("circle"), before)
    box = tree.bounding_box()
    assert box is not None
    for y in range(10, int(box["height"]) - 36, 3):  # a press on the first branch that is met
        page.page.mouse.move(box["x"] + 44, box["y"] + y)
        page.drawn()
        if "token" in (page.page.locator("section[data-view=mergers] .reading").text_content() or ""):
            break
    page.page.mouse.down()
    page.page.mouse.up()
    page.page.mouse.move(2, 2)
    page.drawn()
    assert not np.array_equal(page.pixels("circle"), before), "it is kept"
    assert page.now()["at"] == 79, "and the cursor stays"


# --- the gallery


def test_the_gallery_shows_every_preset_and_runs_the_one_that_is_pressed(
    server: Server, page: WatchedPage
) -> None:
    page.open(at(server, SPHERE))
    page.page.locator("[data-action=gallery]").click()
    offered = page.page.eval_on_selector_all(
        "[data-preset]", "cards => cards.map(card => card.dataset.preset)"
    )
    assert set(offered) == {"start", *(preset.name for preset in presets())}
    cards = page.page.locator(".card canvas")
    assert all(not cards.nth(i).is_hidden() for i in range(len(offered))), "each has a picture"
    page.page.keyboard.type("conjecture")
    expect(page.page.locator("[data-preset]:visible")).to_have_count(1)
    page.change(lambda: page.page.keyboard.press("Enter"))
    expect(page.page.locator("#gallery")).to_be_hidden()
    assert page.now()["scene"]["K"] == {"preset": "mirror"}
    expect(page.page.locator("[data-action=gallery] .what")).to_have_text("Conjecture 1 fails for this K")


def test_arrows_go_from_card_to_card_and_escape_closes(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 200, "frames": 40}))
    page.page.locator("[data-action=gallery]").click()
    first = page.page.evaluate("document.activeElement.dataset.preset")
    page.page.keyboard.press("ArrowRight")
    second = page.page.evaluate("document.activeElement.dataset.preset")
    page.page.keyboard.press("ArrowDown")
    third = page.page.evaluate("document.activeElement.dataset.preset")
    assert len({first, second, third}) == 3
    page.page.keyboard.press("Escape")
    expect(page.page.locator("#gallery")).to_be_hidden()


# --- comparing


def test_a_pinned_run_stays_as_a_ghost_and_is_in_the_link(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {**CIRCLE, "t": 100.0}, 60))
    page.page.locator("[data-action=pin]").click()
    page.page.locator("[data-control=beta]").fill("8")
    page.change(lambda: page.page.keyboard.press("Enter"))
    page.seek(60)
    expect(page.page.locator(".pinned")).to_have_text("Pinned: β = 30.")
    expect(page.page.locator("section[data-view=clusters] .reading")).to_contain_text("pinned")
    shown = {view: page.pixels(view) for view in ("circle", "angles", "clusters")}
    link = page.page.evaluate("window.nucleate.fragment")
    page.page.locator("[data-action=pin]").click()
    page.drawn()
    for view, pixels in shown.items():
        assert not np.array_equal(page.pixels(view), pixels), f"{view} shows no ghost"
    page.open(server.address + link)
    page.page.wait_for_function("() => document.documentElement.dataset.compare === 'ghost'")
    page.page.wait_for_function(
        "() => document.querySelector('section[data-view=clusters] .reading').textContent.includes('pinned')"
    )
    page.drawn()
    for view, pixels in shown.items():
        assert np.array_equal(page.pixels(view), pixels), f"{view} is another one from the link"


def test_a_ghost_above_three_dimensions_is_seen_in_the_directions_of_the_run(
    server: Server, page: WatchedPage
) -> None:
    scene = {"n": 12, "d": 6, "beta": 4.0, "t": 5.0, "frames": 20}
    for pinned_d, words in ((6, None), (3, "not its tokens")):
        state = {"scene": scene, "at": 10, "view": {"pin": {**scene, "d": pinned_d, "beta": 1.0}}}
        page.open(f"{server.address}#{quote(json.dumps(state), safe='')}")
        page.page.wait_for_function("() => document.documentElement.dataset.compare === 'ghost'")
        page.drawn()
        told = page.page.locator("#compare .pinned").text_content() or ""
        assert ("not its tokens" in told) is (words is not None)
        with_ghost = page.pixels("sphere")
        page.page.locator("[data-action=pin]").click()
        page.drawn()
        assert np.array_equal(page.pixels("sphere"), with_ghost) is (words is not None)


def test_a_ghost_is_drawn_on_the_sphere(server: Server, page: WatchedPage) -> None:
    page.open(at(server, SPHERE, 20))
    page.page.locator("[data-action=pin]").click()
    page.page.locator("[data-control=beta]").fill("2")
    page.change(lambda: page.page.keyboard.press("Enter"))
    page.seek(20)
    with_ghost = page.pixels("sphere")
    page.page.locator("[data-action=pin]").click()
    page.drawn()
    assert not np.array_equal(page.pixels("sphere"), with_ghost)


@pytest.mark.parametrize(
    ("scene", "main"), [(CIRCLE, "circle"), (SPHERE, "sphere")], ids=["circle", "sphere"]
)
def test_two_settings_stand_side_by_side_with_one_cursor_and_one_seed(
    server: Server, page: WatchedPage, scene: dict[str, Any], main: str
) -> None:
    scene = {**scene, "t": 50.0}
    page.open(at(server, scene, 20, side="mask"))
    page.page.wait_for_function(SECOND)
    expect(page.page.locator(f"section[data-view=second-{main}]")).to_be_visible()
    expect(page.page.locator(f"section[data-view=second-{main}] .which")).to_have_text("full mask")
    expect(page.page.locator(f"section[data-view={main}] .which")).to_have_text("causal mask")
    page.page.wait_for_function(
        "() => document.querySelector('section[data-view=clusters] .reading').textContent.includes('other')"
    )
    page.seek(0)
    starts = page.pixels(f"second-{main}")
    page.seek(39)
    assert not np.array_equal(page.pixels(f"second-{main}"), starts), "the second follows the cursor"
    full = simulated({**scene, "mask": "full"})
    other = int(nc.count_clusters(full.x, usual_radius(scene["beta"]))[39])
    expect(page.page.locator("section[data-view=clusters] .reading")).to_contain_text(f"other {other}")
    page.page.locator("[data-control=side]").select_option("")
    expect(page.page.locator(f"section[data-view=second-{main}]")).to_be_hidden()


def test_the_second_run_follows_the_settings_and_the_first_keeps_its_data(
    server: Server, page: WatchedPage
) -> None:
    page.open(at(server, {**CIRCLE, "t": 20.0}, 20, side="beta"))
    page.page.wait_for_function(SECOND)
    before = page.page.evaluate("document.documentElement.dataset.second")
    page.page.locator("[data-control=beta]").fill("5")
    page.change(lambda: page.page.keyboard.press("Enter"))
    page.page.wait_for_function("old => document.documentElement.dataset.second !== old", arg=before)
    expect(page.page.locator("section[data-view=second-circle] .which")).to_have_text("β = 20")
    page.page.locator("[data-action=share]").click()
    with page.page.expect_download() as loaded:
        page.page.locator("[data-action=npz]").click()
    found = np.load(loaded.value.path())
    assert np.array_equal(found["x"][-1].reshape(-1), page.bits())


def test_a_grid_of_small_runs_is_counted_and_opened(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 40, "t": 20.0, "beta": 20.0, "frames": 30}))
    page.page.locator("[data-action=grid]").click()
    page.page.wait_for_function("() => document.querySelector('#grid').dataset.done === '16/16'")
    cell = page.page.locator("[data-cell='β = 80, n = 20']")
    run = simulated({"n": 20, "t": 20.0, "beta": 80.0, "frames": 24, "tolerance": 1e-6})
    counted = nc.count_clusters(run.x, usual_radius(80.0))[-1]
    assert int(cell.get_attribute("data-clusters") or "") == counted
    page.change(cell.click)
    assert {key: page.now()["scene"][key] for key in ("n", "beta", "frames")} == {
        "n": 20,
        "beta": 80,
        "frames": 30,
    }
    expect(page.page.locator("#grid")).to_be_hidden()
    page.open(at(server, {"n": 10, "t": 5.0, "frames": 20}, 0, grid="d"))
    page.page.wait_for_function("() => /^16.16$/.test(document.querySelector('#grid').dataset.done ?? '')")
    page.page.keyboard.press("Escape")
    expect(page.page.locator("#grid")).to_be_hidden()


def test_an_ensemble_gives_its_bands_to_the_curve_of_one_run(tmp_path: Path, browser: Browser) -> None:
    study = {
        "title": "bands",
        "runs": 12,
        "model": {"beta": 20.0},
        "start": {"n": 20, "d": 2},
        "times": {"t": 100.0, "save": 12},
        "observables": {"groups": {"kind": "clusters", "radius": "0.1/sqrt(beta)"}},
    }
    nc.ensemble(study, tmp_path / "bands.zarr")
    with shipped_server(open_folder(tmp_path / "bands.zarr")) as server:
        page = WatchedPage(browser.new_page(viewport={"width": 1400, "height": 900}))
        page.open(server.address)
        page.seek(11)
        reading = page.page.locator("section[data-view=clusters] .reading")
        assert "12 runs of the study (groups)" in (reading.get_attribute("title") or "")
        blue = page.pixels("clusters").astype(int)
        assert ((blue[..., 2] - blue[..., 0]) > 15).sum() > 300, "a band behind the curve"
        page.seek(6)
        foot = page.pixels("clusters")[-14:].astype(int)
        letters = (foot[..., 2] - foot[..., 0]) > 60
        assert letters.sum() > 20, "what the bands are stands below the axis, under no cursor"
        assert page.complaints == []
        page.page.close()


def test_on_a_phone_gallery_and_two_runs_fit_the_screen(server: Server, browser: Browser) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    page = WatchedPage(context.new_page())
    page.open(at(server, {**CIRCLE, "t": 50.0}, 40, side="mask"))
    page.page.wait_for_function(SECOND)
    wide = page.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, "nothing is wider than the screen"
    first, second = (
        page.page.locator(f"section[data-view={name}]").bounding_box() for name in ("circle", "second-circle")
    )
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"], "the two are in one row"
    page.page.locator("#show-settings").click()
    page.page.locator("[data-action=gallery]").click()
    card = page.page.locator(".card").first.bounding_box()
    assert card is not None
    assert card["height"] >= 40
    assert card["x"] + card["width"] <= 390
    assert page.complaints == []
    context.close()


def test_readings_are_whole_on_a_small_laptop(server: Server, page: WatchedPage) -> None:
    page.page.set_viewport_size({"width": 1280, "height": 800})
    page.open(at(server, {"n": 200, "beta": 64.0, "t": 150.0, "frames": 160}, 159))
    page.page.locator("[data-action=pin]").click()
    page.page.locator("[data-control=beta]").fill("16")
    page.change(lambda: page.page.keyboard.press("Enter"))
    page.seek(159)
    page.page.evaluate("window.nucleate.highlight(9)")
    page.drawn()
    readings = page.page.evaluate(
        "() => [...document.querySelectorAll('.reading')].filter(one => one.checkVisibility()).map(one =>"
        " [one.textContent, one.scrollWidth <= one.clientWidth])"
    )
    assert [text for text, whole in readings if not whole] == []
    told = [text for text, _ in readings]
    for words in ("pinned", "hears", " lines", "100 / 100 %"):
        assert any(words in text for text in told), f"no reading has {words!r}: {told}"
