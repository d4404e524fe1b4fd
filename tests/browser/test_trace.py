"""A text over the layers of a real model in a real Chromium: from a file and from the server, by pointer,
finger and key, wide and narrow, light and dark."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect
from support.chromium import WatchedPage, shipped_server
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.export import export
from nucleate.explorer.stored_runs import open_folder
from nucleate.explorer.trace_view import read_trace
from nucleate.integrate.run import Run

pytestmark = several_programs
LAYERS, TOKENS, D = 8, 20, 80
WORDS = re.findall(r"\S+", "The old man walked down to the river , and the river was high . He sat on it")
TRACE_VIEWS = {"sphere", "words", "cosine", "rank", "cover", "sink", "lost", "lengths"}
PHONE: Any = {"width": 390, "height": 844}


def made_trace() -> Run:
    """A text whose tokens turn to one direction with depth, with a control in its notes."""
    rng = np.random.default_rng(5)
    start, end = rng.standard_normal((TOKENS, D)), rng.standard_normal(D)
    states = np.stack([start + 0.4 * layer * end for layer in range(LAYERS + 1)])
    words = [*WORDS[:-1], "bank", "<script>"]
    run = Run.from_hidden_states(states, tokens=[f" {word}" for word in words])
    control = Run.from_hidden_states(np.roll(states, 3, axis=1), tokens=[f" {w}" for w in np.roll(words, 3)])
    return replace(run, notes={"controls": [read_trace(control, "shuffled").plain()]})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of its own, opened from its file."""
    folder: Path = tmp_path_factory.mktemp("trace")
    made_trace().save(folder / "trace.zarr")
    export(folder / "trace.zarr", folder / "page.html")
    return (folder / "page.html").as_uri()


def opened(page: WatchedPage, address: str, layer: int) -> None:
    page.page.goto(address)
    page.page.wait_for_function("() => window.nucleate?.ready")
    page.seek(layer)


def text_of(page: WatchedPage, selector: str) -> str:
    return page.page.locator(selector).inner_text()


def dot_of(page: WatchedPage, token: int) -> tuple[float, float]:
    """Where a token is drawn, in pixels of the page."""
    box = page.page.locator("section[data-view=sphere] canvas").first.bounding_box()
    assert box is not None
    x, y = page.page.evaluate("token => window.nucleate.dot(token)", token)
    return box["x"] + x, box["y"] + y


def test_a_trace_plays_from_a_file_without_network_and_says_what_it_loses(
    page: WatchedPage, address: str
) -> None:
    page.page.goto(address)
    page.page.wait_for_function("() => window.nucleate?.now?.().playing && window.nucleate.now().at > 0")
    page.seek(0)
    assert set(page.views()) == TRACE_VIEWS
    lost = read_trace(made_trace()).lost["all"]
    for layer in (0, 3, LAYERS):
        page.seek(layer)
        where = "Embedding" if layer == 0 else f"After block {layer}"
        loss = f"{where}: 3 of {D} directions, {round(100 * lost[layer])} % of squared length lost"
        assert text_of(page, ".loss") == loss
        assert text_of(page, "#player .time") == (f"after block {layer}" if layer else "embedding")
    others = [url for url in page.requested_urls if url != address and not url.startswith(("data:", "blob:"))]
    assert others == []
    assert (
        page.page.evaluate("document.querySelectorAll('script:not([id])').length") == 1
    )  # no word became one


def test_layers_are_scrubbed_by_slider_keys_and_curves(page: WatchedPage, address: str) -> None:
    opened(page, address, 0)
    start = page.pixels("cosine")
    slider = page.page.locator("[data-control=time]")
    slider.focus()
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_function("() => window.nucleate.now().at === 1")
    page.page.locator("body").press("End")
    page.page.wait_for_function(f"() => window.nucleate.now().at === {LAYERS}")
    page.drawn()
    assert not np.array_equal(page.pixels("cosine"), start)
    box = page.page.locator("section[data-view=cosine] canvas").bounding_box()
    assert box is not None
    page.page.mouse.click(box["x"] + 42, box["y"] + 40)  # where the axis begins
    page.page.wait_for_function("() => window.nucleate.now().at === 0")


def test_a_token_shows_its_word_place_norm_and_nearest_by_pointer_and_by_key(
    page: WatchedPage, address: str
) -> None:
    opened(page, address, 2)
    reading = read_trace(made_trace())
    page.page.mouse.move(*dot_of(page, 7))
    page.page.wait_for_function("() => document.documentElement.dataset.hover !== ''")
    token = int(page.page.evaluate("document.documentElement.dataset.hover"))
    near, cosine = int(reading.nearest[2, token, 0]), float(reading.cosines[2, token, 0])
    said = text_of(page, "#token")
    assert said.startswith(f"“{reading.words[token].strip()}” · token {token + 1} of {TOKENS}")
    assert f"norm {reading.norms[2, token]:.3g}" in said
    assert f"nearest earlier “{reading.words[near].strip()}” {cosine:.2f}".replace(" 0.", " .") in said
    expect(page.page.locator(".word.here")).to_have_text(reading.words[token].strip())
    expect(page.page.locator(".word.near").first).to_be_visible()
    page.page.keyboard.press("]")
    expect(page.page.locator(".word.here")).to_have_attribute("data-token", str(token + 1))
    page.page.keyboard.press("Escape")
    expect(page.page.locator(".word.here")).to_have_count(0)
    strong = [reading.words[k].strip() for k in reading.strong]
    assert page.page.locator(".word.strong").all_inner_texts() == strong
    assert (
        page.page.locator(".details p", has_text="Strong centers").locator(".chip").all_inner_texts()
        == strong
    )


def test_control_and_directions_are_chosen_and_zoom_goes_to_the_tokens(
    page: WatchedPage, address: str
) -> None:
    opened(page, address, 4)
    run, views = made_trace(), page.page.locator("section[data-view=sphere]")
    before = page.pixels_of("section[data-view=sphere] .stage")
    page.page.locator("[data-control=frame]").select_option("own")
    page.drawn()
    lost = read_trace(run).lost["own"][4]
    assert f"{round(100 * lost)} % of squared" in text_of(page, ".loss")
    page.page.locator("[data-control=reading]").select_option("shuffled")
    expect(page.page.locator(".word").first).to_have_text("on")  # the last three come first
    page.page.locator("[data-control=reading]").select_option("text")
    page.page.locator("[data-control=frame]").select_option("all")
    page.drawn()
    assert np.array_equal(page.pixels_of("section[data-view=sphere] .stage"), before)
    apart = np.subtract(dot_of(page, 3), dot_of(page, 9))
    for _ in range(4):
        views.get_by_label("Closer").click()
    page.drawn()
    assert np.linalg.norm(np.subtract(dot_of(page, 3), dot_of(page, 9))) > 2.0 * np.linalg.norm(apart)
    views.get_by_label("As at first").click()
    page.page.mouse.move(0, 0)
    page.drawn()
    assert dot_of(page, 3) == pytest.approx(np.add(dot_of(page, 9), apart), abs=1e-3)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_clipped_and_a_tap_keeps_the_word(
    browser: Browser, address: str, scheme: Any, tmp_path: Path
) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, color_scheme=scheme)
    page = WatchedPage(context.new_page())
    opened(page, address, 3)
    wider = page.page.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => { const r = e.getBoundingClientRect();"
        " return r.width > 0 && r.left >= 0 && r.right > innerWidth + 1 }).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wider == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.page.touchscreen.tap(*dot_of(page, 5))
    page.page.wait_for_function("() => document.documentElement.dataset.hover !== ''")
    page.drawn()
    assert "token" in text_of(page, "#token")  # it stays when the finger is lifted
    word = page.page.locator(".word").nth(12)
    word.scroll_into_view_if_needed()
    word.tap()
    expect(page.page.locator(".word.here")).to_have_attribute("data-token", "12")
    small = page.page.evaluate(
        "[...document.querySelectorAll('.zoom button, section[data-view=sphere] select')]"
        ".map(e => e.getBoundingClientRect().height).filter(h => h < 40)"
    )
    assert small == []
    page.page.screenshot(path=tmp_path / "phone.png")
    ground = np.asarray(Image.open(tmp_path / "phone.png").convert("L"))[4, 4]
    assert (ground < 64) == (scheme == "dark")
    assert page.complaints == []
    context.close()


def test_the_server_opens_a_trace_as_the_same_view_and_a_run_beside_it_as_before(
    page: WatchedPage, tmp_path: Path
) -> None:
    made_trace().save(tmp_path / "trace.zarr")
    nc.simulate(nc.Attention(9.0), nc.uniform(12, 3, 2), 20.0, save=6).save(tmp_path / "a.npz")
    with shipped_server(open_folder(tmp_path / "trace.zarr")) as server:
        page.open(server.address)
        assert set(page.views()) == TRACE_VIEWS
        assert "trace.zarr" in text_of(page, "#controls .facts")
        assert page.page.locator("#run").is_hidden()
        page.page.goto("about:blank")
    with shipped_server(open_folder(tmp_path)) as server:
        page.open(server.address)
        page.change(lambda: page.page.locator("[data-control=opened]").select_option("trace.zarr"))
        assert set(page.views()) == TRACE_VIEWS
        page.change(lambda: page.page.locator("[data-control=opened]").select_option("a.npz"))
        assert set(page.views()) == {
            "sphere",
            "angles",
            "mergers",
            "clusters",
            "consumption",
            "attention",
            "spectrum",
        }
        assert page.page.locator(".loss").is_hidden()
        assert page.page.locator("#controls .facts").count() == 0
        page.page.goto("about:blank")
