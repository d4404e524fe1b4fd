"""The explorer in a real Chromium: what a person sees and does, checked on the state of the page and on
pixels."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.chromium import WatchedPage, shipped_server
from support.explorer_scenes import simulated
from support.matrix_notations import NOTATIONS
from support.time_limits import check_wall_seconds, patient, several_programs

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.export import export
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.server import Server
from nucleate.explorer.stored_runs import open_folder
from nucleate.integrate.run import Run

pytestmark = several_programs
SPHERE = {"n": 60, "d": 3, "beta": 20.0, "t": 100.0, "frames": 60, "seed": 4}
# views that a cursor changes; the spectrum has no time
MOVING = ("angles", "clusters", "consumption", "attention")


def at(server: Server, scene: dict[str, Any], frame: int | None = None, **view: Any) -> str:
    """The address of a scene, as a link has it."""
    state: dict[str, Any] = {
        "scene": scene,
        **({} if frame is None else {"at": frame}),
        **({"view": view} if view else {}),
    }
    return f"{server.address}#{quote(json.dumps(state), safe='')}"


def ink(pixels: np.ndarray[Any, Any]) -> float:
    """The share of pixels that are not the background."""
    ground = np.median(pixels.reshape(-1, 3), axis=0)
    return float((np.abs(pixels.astype(int) - ground).max(-1) > 24).mean())


# --- it loads


def test_the_page_loads_and_asks_nobody_but_its_own_server(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    expect(page.page).to_have_title("nucleate explorer")
    assert page.now()["connected"]
    assert page.now()["error"] is None
    assert set(page.views()) == {
        "circle",
        "angles",
        "mergers",
        "clusters",
        "consumption",
        "attention",
        "spectrum",
    }
    assert all(ink(page.pixels(view)) > 0.005 for view in page.views()), "an empty view"
    strangers = [
        url
        for url in page.requested_urls
        if not url.startswith((f"http://127.0.0.1:{server.port}/", "data:", "blob:"))
    ]
    assert strangers == []


def test_every_view_has_its_explanation_in_a_few_sentences(server: Server, page: WatchedPage) -> None:
    page.open(at(server, SPHERE, 0))
    for view in page.views():
        words = page.page.locator(f"section[data-view={view}] .explain").text_content() or ""
        assert 2 <= words.count(".") <= 6, (view, words)
    page.page.locator("[data-action=explain]").click()
    for view in page.views():
        expect(page.page.locator(f"section[data-view={view}] .explain")).to_be_visible()


# --- runs


@pytest.mark.parametrize("name", ["figure2", "figure1-row2", "figure5", "life"])
def test_a_preset_runs_and_ends_where_simulate_ends(server: Server, page: WatchedPage, name: str) -> None:
    page.open(server.address)
    page.change(lambda: page.page.locator("[data-control=preset]").select_option(name))
    scene = next(preset.scene for preset in presets() if preset.name == name)
    assert parse_scene(page.now()["scene"]) == scene
    assert page.now()["status"] == "done"
    run = simulated(scene.plain())
    assert np.array_equal(page.bits(), run.x[-1].reshape(-1)), "the same final positions to the last bit"
    assert np.array_equal(page.bits(7), run.x[7].reshape(-1))
    assert ("circle" in page.views()) == (scene.d == 2)


def test_every_preset_is_in_the_menu(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    offered = page.page.locator("[data-control=preset] option").evaluate_all(
        "options => options.map(o => o.value)"
    )
    assert [preset.name for preset in presets() if preset.name not in offered] == []


@patient
def test_the_first_frame_of_a_new_run_is_drawn_soon(server: Server, page: WatchedPage) -> None:
    page.open(server.address)
    waits = []
    for seed in range(4):
        page.page.locator("[data-control=seed]").fill(str(seed + 1))
        page.change(lambda: page.page.keyboard.press("Enter"))
        waits.append(page.page.evaluate("window.nucleate.firstFrameMillis"))
    print(f"first frame after {', '.join(f'{wait:.0f}' for wait in waits)} ms")
    check_wall_seconds(min(waits) / 1000.0, 0.3, "the best of four")


def test_a_slider_changes_the_run(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 50, "t": 10.0}, 20))
    before, shown = page.bits(), page.pixels("circle")
    slider = page.page.locator("[data-slider=beta]")
    slider.focus()
    page.change(lambda: [page.page.keyboard.press("PageUp") for _ in range(3)])
    page.page.wait_for_function(
        "() => Number(document.querySelector('[data-control=beta]').value) === window.nucleate.record.beta"
    )
    page.settled()
    scene = page.now()["scene"]
    assert scene["beta"] > 64.0
    assert not np.array_equal(page.bits(), before)
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))
    assert not np.array_equal(page.pixels("circle"), shown)


@pytest.mark.parametrize(
    ("control", "value", "expected"),
    [
        ("n", "37", {"n": 37}),
        ("d", "3", {"d": 3}),
        ("beta", "7.5", {"beta": 7.5}),
        ("t", "1e20", {"t": 1e20}),
        ("seed", "99", {"seed": 99}),
        ("c", "2", {"c": 2}),
        ("frames", "40", {"frames": 40}),
    ],
)
def test_every_number_can_be_typed(
    server: Server, page: WatchedPage, control: str, value: str, expected: dict[str, Any]
) -> None:
    page.open(at(server, {"n": 30, "t": 5.0}, 0))
    page.page.locator(f"[data-control={control}]").fill(value)
    page.change(lambda: page.page.keyboard.press("Enter"))
    scene = page.now()["scene"]
    assert {key: scene[key] for key in expected} == expected
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))


@pytest.mark.parametrize(
    ("control", "value", "key", "expected"),
    [
        ("mask", "full", "mask", "full"),
        ("mask", "window", "mask", {"window": 32}),
        ("start", "cap", "start", {"kind": "cap", "angle": 1}),
        ("start", "planted", "start", {"kind": "planted", "clusters": 6, "spread": 0.1}),
        ("V", "row5", "V", {"preset": "row5"}),
        ("V", "defective", "V", {"preset": "defective"}),
        ("Q", "complex", "Q", {"preset": "complex"}),
        ("K", "mirror", "K", {"preset": "mirror"}),
        ("clock", "linear", "clock", "linear"),
    ],
)
def test_every_choice_can_be_made(
    server: Server, page: WatchedPage, control: str, value: str, key: str, expected: Any
) -> None:
    page.open(at(server, {**SPHERE, "n": 20, "t": 5.0}, 0))
    page.change(lambda: page.page.locator(f"[data-control={control}]").select_option(value))
    scene = page.now()["scene"]
    assert scene[key] == expected
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))


def typed_V(page: WatchedPage, text: str) -> None:
    """Type V as text, and leave the field."""
    page.page.locator("[data-control=V]").select_option("own matrix")
    page.page.locator("[data-control=V-text]").fill(text)
    page.page.locator("[data-control=V-text]").press("Tab")


@pytest.mark.parametrize("d", [3, 8], ids=["beside the table", "alone"])
def test_a_matrix_can_be_typed_in_every_notation(server: Server, page: WatchedPage, d: int) -> None:
    texts: list[str] = [value for value, _ in NOTATIONS if isinstance(value, str)]
    if d != 3:  # of those that say how many rows there are, as many as needed
        texts = [text for text in texts if not text.startswith(("diag", "["))]
        texts += [f"diag({','.join(map(str, range(d)))})", json.dumps((2.0 * np.eye(d)).tolist())]
    page.open(at(server, {**SPHERE, "d": d, "n": 12, "t": 2.0, "frames": 5, "V": {"preset": "marginal"}}, 0))
    for text in texts:
        typed_V(page, text)
        V = parse_scene({"d": d, "V": text}).V
        page.page.wait_for_function(
            "V => JSON.stringify(window.nucleate.now().scene.V) === V", arg=compact(V)
        )
    page.settled()
    scene = page.now()["scene"]
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))


def compact(value: Any) -> str:
    """As JavaScript writes it: 2, not 2.0."""
    if isinstance(value, list):
        return f"[{','.join(map(compact, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f'"{key}":{compact(entry)}' for key, entry in value.items()) + "}"
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def test_rows_of_numbers_can_be_pasted_and_are_shown_as_the_server_reads_them(
    server: Server, page: WatchedPage
) -> None:
    page.open(at(server, {**SPHERE, "d": 6, "n": 12, "t": 2.0, "frames": 5}, 0))
    V = np.round(np.random.default_rng(0).standard_normal((6, 6)), 3)
    page.page.locator("[data-control=V]").select_option("own matrix")
    page.page.locator("[data-control=V-text]").fill("\n".join(" ".join(map(str, row)) for row in V))
    page.change(lambda: page.page.locator("[data-control=V-text]").press("Tab"))
    assert page.now()["scene"]["V"] == {"matrix": V.tolist()}
    shown = page.page.locator("[data-control=V-text]").input_value()
    assert json.loads(shown) == V.tolist()
    typed_V(page, "row3")
    page.page.wait_for_function("() => window.nucleate.now().scene.V.preset === 'row3'")
    expect(page.page.locator("[data-control=V]")).to_have_value("row3")
    expect(page.page.locator("[data-control=V-text]")).to_have_count(0)


def test_what_is_no_matrix_is_refused_in_words_and_changes_nothing(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {**SPHERE, "n": 12, "t": 2.0, "frames": 5, "V": {"preset": "row3"}}, 0))
    page.change(lambda: page.page.locator("[data-control=V]").select_option("own matrix"))
    before = page.now()
    for text in (
        "rowe3",
        "diag(1,2)",
        "1 2; 3 4",
        "[[1,2],[3]]",
        "M.npy",
        "__import__('os')",
        "{random='gaussian'}",
    ):
        typed_V(page, text)
        with pytest.raises(InputError) as refused:
            parse_scene({"d": 3, "V": "[[1,2],[3,4]]" if ";" in text else text})
        expect(page.page.locator("#error-text")).to_have_text(str(refused.value))
        assert page.now()["scene"] == before["scene"]
        assert page.now()["runId"] == before["runId"]
    page.change(lambda: typed_V(page, "0.5*identity"))
    expect(page.page.locator("#errors")).to_be_hidden()


def test_a_matrix_typed_with_enter_leaves_the_keyboard_at_its_menu(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {**SPHERE, "n": 12, "t": 2.0, "frames": 5}, 0))
    page.page.locator("[data-control=K]").select_option("own matrix")
    page.page.locator("[data-control=K-text]").fill("diag(1,2,3)")
    page.change(lambda: page.page.keyboard.press("Enter"))
    assert page.now()["scene"]["K"] == {"matrix": [[1, 0, 0], [0, 2, 0], [0, 0, 3]]}
    cells = page.page.locator("table[aria-label='Entries of K'] input")
    assert [cells.nth(i).input_value() for i in (0, 4, 8)] == ["1", "2", "3"]
    assert page.page.evaluate("document.activeElement.dataset.control") == "K"


def test_a_long_run_shows_progress_and_can_be_cancelled(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0}))
    page.visit(at(server, {"n": 3000, "d": 3, "beta": 30.0, "t": 1e6, "frames": 50}))
    expect(page.page.locator("[data-action=cancel]")).to_be_visible()
    expect(page.page.locator("#progress")).to_be_visible()
    page.page.wait_for_function("() => window.nucleate.now().frames > 0")
    page.page.locator("[data-action=cancel]").click()
    page.page.wait_for_function("() => window.nucleate.now().status === 'cancelled'")
    assert 0 < page.now()["frames"] < 50
    expect(page.page.locator("[data-action=cancel]")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_trail_is_painted_over_a_token(server: Server, page: WatchedPage, theme: str) -> None:
    shown = []
    for trails in (False, True):
        page.open(at(server, {**SPHERE, "t": 5.0}, 45, trails=trails, theme=theme, colour="order"))
        shown.append(page.pixels("sphere").astype(int))
    bare, full = shown
    colourful = (bare.max(-1) - bare.min(-1) > 60)[1:-1, 1:-1]  # tokens alone have colours then
    flat = np.all(
        [
            bare[1:-1, 1:-1] == np.roll(bare, (y, x), (0, 1))[1:-1, 1:-1]
            for y in (-1, 0, 1)
            for x in (-1, 0, 1)
        ],
        axis=(0, -1),
    )
    inner = colourful & flat  # not at an edge
    assert inner.sum() > 200
    assert not np.array_equal(bare, full), "there are trails"
    assert np.array_equal(bare[1:-1, 1:-1][inner], full[1:-1, 1:-1][inner])


# --- one cursor, one hand


@pytest.mark.parametrize(
    ("main", "scene"), [("circle", {"n": 80}), ("sphere", SPHERE)], ids=["circle", "sphere"]
)
def test_the_cursor_moves_all_views(
    server: Server, page: WatchedPage, main: str, scene: dict[str, Any]
) -> None:
    page.open(at(server, scene, 0))
    assert main in page.views()
    page.seek(2)
    before = {view: page.pixels(view) for view in (main, *MOVING)}
    page.page.locator("[data-control=time]").evaluate(
        "(slider) => { slider.value = 50; slider.dispatchEvent(new Event('input')); }"
    )
    page.page.wait_for_function(
        "() => [...document.querySelectorAll('section[data-view]')].every(v => v.hidden || v.dataset.at ==="
        " '50')"
    )
    page.drawn()
    for view, shown in before.items():
        assert not np.array_equal(page.pixels(view), shown), f"{view} does not follow the cursor"
    page.seek(2)
    for view, shown in before.items():
        assert np.array_equal(page.pixels(view), shown), f"{view} does not come back"


def test_playing_moves_the_cursor_to_the_end_and_stops(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0, "frames": 30}, 0, speed=10))
    page.page.locator("[data-action=play]").click()
    page.page.wait_for_function(
        "() => { const now = window.nucleate.now(); return now.at === now.frames - 1 && !now.playing }"
    )


@pytest.mark.parametrize("width", [360, 740, 1000])
def test_the_menu_of_speeds_can_be_read_in_a_frame_of_any_width(
    server: Server, page: WatchedPage, width: int
) -> None:
    page.page.set_viewport_size({"width": width, "height": 600})
    page.open(at(server, {"n": 30, "t": 5.0, "frames": 30}, 0))
    letters = "getComputedStyle(document.querySelector('[data-control=speed]')).fontSize"
    assert float(page.page.evaluate(letters).removesuffix("px")) >= 11.0


@pytest.mark.parametrize(
    ("main", "scene"), [("circle", {"n": 30, "t": 5.0}), ("sphere", SPHERE)], ids=["circle", "sphere"]
)
def test_a_token_under_the_pointer_shows_in_all_views(
    server: Server, page: WatchedPage, main: str, scene: dict[str, Any]
) -> None:
    page.open(at(server, scene, 40))
    before = {view: page.pixels(view) for view in (main, "angles", "attention")}
    box = page.page.locator(f"section[data-view={main}] canvas:not(.labels)").bounding_box()
    assert box is not None
    _sweep(page.page, box, lambda: bool(page.page.evaluate("document.documentElement.dataset.hover !== ''")))
    page.drawn()
    assert "Token" in (page.page.locator("#token").text_content() or "")
    for view, shown in before.items():
        assert not np.array_equal(page.pixels(view), shown), f"{view} does not show the token"


def _sweep(page: Page, box: Any, found: Any) -> None:
    """Move the pointer over a view until something is under it."""
    for y in np.linspace(0.1, 0.9, 24):
        for x in np.linspace(0.1, 0.9, 24):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
            if found():
                return
    raise AssertionError("no token under the pointer anywhere")


def test_a_token_can_be_dragged_to_another_start(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 12, "t": 5.0, "frames": 20}, 0))
    box = page.page.locator("section[data-view=circle] canvas").bounding_box()
    assert box is not None
    token = 3
    x, y = page.bits(0).reshape(-1, 2)[token]
    rim = min(box["width"], box["height"]) / 2 - 42  # as the view leaves around the circle
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(middle[0] + rim * x, middle[1] - rim * y)
    page.page.wait_for_function(
        "token => document.documentElement.dataset.hover === String(token)", arg=token
    )
    page.page.mouse.down()
    page.page.mouse.move(middle[0] + 5, middle[1] - rim, steps=5)
    page.change(page.page.mouse.up)
    scene = page.now()["scene"]
    assert list(scene["moved"]) == [str(token)]
    assert scene["moved"][str(token)][1] > 0.99  # at the top
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))


# --- keeping and sharing


@pytest.mark.parametrize(
    ("scene", "view"),
    [
        ({"n": 80, "seed": 5, "V": {"preset": "row3"}}, {}),
        (SPHERE, {"camera": [1.2, 0.5, 3.0], "theme": "dark", "colour": "order"}),
        ({**SPHERE, "d": 8, "mask": {"window": 5}, "moved": {"2": [1, 0, 0, 0, 0, 0, 0, 0]}}, {}),
    ],
    ids=["circle", "sphere", "higher"],
)
def test_a_reload_from_the_address_gives_the_same_picture(
    server: Server, page: WatchedPage, scene: dict[str, Any], view: dict[str, Any]
) -> None:
    page.open(at(server, {**scene, "seed": 77}, 10, **view))
    # by hand, so that the address is the page's own
    page.page.locator("[data-control=seed]").fill(str(scene.get("seed", 0)))
    page.change(lambda: page.page.keyboard.press("Enter"))
    page.page.locator("[data-control=seed]").evaluate("field => field.blur()")
    page.seek(33)
    page.page.wait_for_function("() => location.hash === window.nucleate.fragment")
    before = {name: page.pixels(name) for name in page.views()}
    state = page.page.evaluate("window.nucleate.state")
    page.page.reload()
    page.settled(1)
    page.seek(33)
    assert page.page.evaluate("window.nucleate.state") == state
    for name, shown in before.items():
        assert np.array_equal(page.pixels(name), shown), f"{name} looks different after a reload"


def test_a_copied_link_has_no_token_and_opens_the_same_scene(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 33, "t": 7.0}, 12))
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-action=copy-link]").click()
    link = page.page.locator("#share textarea").input_value()
    assert server.explorer.token not in link
    assert "#" in link
    page.page.locator("[data-action=close-share]").click()
    page.page.goto("about:blank")
    page.open(server.address)
    page.seek(50)  # somewhere else than where the link leads
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-control=link]").fill(link)
    page.change(lambda: page.page.locator("[data-action=open-link]").click())
    assert page.now()["scene"]["n"] == 33
    page.page.wait_for_function("() => window.nucleate.now().at === 12")


def test_copied_python_redoes_the_picture(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 15, "d": 3, "t": 4.0, "frames": 9, "V": {"preset": "complex"}}, 0))
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-action=copy-python]").click()
    page.page.wait_for_function(
        "() => document.querySelector('#share textarea').value.includes('nc.simulate')"
    )
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(page.page.locator("#share textarea").input_value(), space)
    assert np.array_equal(space["run"].x[-1].reshape(-1), page.bits())


def test_data_and_pictures_can_be_saved(server: Server, page: WatchedPage, tmp_path: Path) -> None:
    from PIL import Image

    scene = {"n": 15, "d": 3, "t": 4.0, "frames": 9}
    page.open(at(server, scene, 3))
    for view in page.views():
        for kind in ("png", "svg"):
            page.page.locator(f"section[data-view={view}]").hover()  # the buttons appear under the pointer
            with page.page.expect_download() as waiting:
                page.page.locator(f"section[data-view={view}] [data-action={kind}]").click()
            path = tmp_path / f"{view}.{kind}"
            waiting.value.save_as(path)
            if kind == "png":
                assert ink(np.asarray(Image.open(path).convert("RGB"))) > 0.003, view
            else:
                assert path.read_text(encoding="utf-8").lstrip().startswith("<svg"), view
                # five circles of latitude and six of longitude on both sides of the ball, and the way of
                # every token
                if view == "sphere":
                    assert path.read_text(encoding="utf-8").count("<path") >= 2 * 11 + 15
    page.page.locator("[data-action=share]").click()
    with page.page.expect_download() as waiting:
        page.page.locator("[data-action=npz]").click()
    assert waiting.value.suggested_filename == "nucleate-run.npz"
    waiting.value.save_as(tmp_path / "run.npz")
    run = nc.load(tmp_path / "run.npz")
    assert np.array_equal(run.x, simulated(scene).x)
    with page.page.expect_download() as waiting:
        page.page.locator("[data-action=csv]").click()
    assert waiting.value.suggested_filename == "nucleate-run.csv"
    waiting.value.save_as(tmp_path / "run.csv")
    rows = (tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 9 * 15
    assert [float(word) for word in rows[-1].split(",")][-3:] == run.x[-1, -1].tolist()


# --- recordings


def test_an_exported_page_plays_from_a_file_without_any_network(page: WatchedPage, tmp_path: Path) -> None:
    run = nc.simulate(nc.Attention(20.0), nc.uniform(40, 3, 1), 50.0, save=40)
    run.save(tmp_path / "run.zarr")
    export(tmp_path / "run.zarr", tmp_path / "page.html")
    address = (tmp_path / "page.html").as_uri()
    page.page.goto(address)
    page.page.wait_for_function("() => window.nucleate?.ready")
    assert page.page.evaluate("document.documentElement.dataset.connection") == "recorded"
    # it plays by itself
    page.page.wait_for_function("() => window.nucleate.now().playing && window.nucleate.now().at > 0")
    page.seek(0)
    start = page.pixels("sphere")
    page.page.locator("[data-action=last]").click()
    page.page.wait_for_function("() => window.nucleate.now().at === 39")
    page.drawn()
    assert not np.array_equal(page.pixels("sphere"), start)
    assert np.array_equal(page.bits().astype(np.float32), run.x[-1].reshape(-1).astype(np.float32))
    assert page.page.locator("[data-control=beta]").is_enabled(), "tests/browser/test_site.py changes it"
    assert "Error" not in (page.page.locator("#errors").text_content() or "")
    assert page.page.locator("#errors").is_hidden()
    assert [
        url for url in page.requested_urls if url != address and not url.startswith(("data:", "blob:"))
    ] == []


def test_stored_runs_and_ensembles_can_be_opened(page: WatchedPage, tmp_path: Path) -> None:
    first = nc.simulate(nc.Attention(9.0), nc.uniform(20, 3, 2), 50.0, save=12)
    first.save(tmp_path / "first.zarr")
    several = nc.simulate(nc.Attention(16.0), nc.uniform(10, 2, seed=0, runs=3), 9.0, save=8)
    several.save(tmp_path / "several.npz")
    with shipped_server(open_folder(tmp_path)) as server:
        page.open(server.address)
        page.change(lambda: page.page.locator("[data-control=opened]").select_option("several.npz"))
        assert np.array_equal(page.bits(), several.x[0, -1].reshape(-1))
        page.page.locator("[data-control=opened-run]").fill("3")
        page.change(lambda: page.page.keyboard.press("Enter"))
        assert np.array_equal(page.bits(), several.x[2, -1].reshape(-1))
        page.change(lambda: page.page.locator("[data-control=opened]").select_option("first.zarr"))
        assert np.array_equal(page.bits(), first.x[-1].reshape(-1))
        page.page.goto("about:blank")
    with shipped_server(open_folder(tmp_path / "first.zarr")) as server:
        page.open(server.address)
        assert np.array_equal(page.bits(), first.x[-1].reshape(-1)), "the run that was named is shown at once"
        page.page.goto("about:blank")


def test_a_recording_can_be_opened_where_it_is_the_only_one_and_by_the_keyboard(
    page: WatchedPage, tmp_path: Path
) -> None:
    run = nc.simulate(nc.Attention(9.0), nc.uniform(20, 3, 2), 50.0, save=12)
    run.save(tmp_path / "only.zarr")
    with shipped_server(open_folder(tmp_path)) as server:
        page.open(server.address)
        menu = page.page.locator("[data-control=opened]")
        assert menu.input_value() == ""
        assert not np.array_equal(page.bits().shape, run.x[-1].reshape(-1).shape), "its own scene at first"
        _tab_to(page.page, "[data-control=opened]")
        page.change(lambda: page.page.keyboard.press("ArrowDown"))
        assert np.array_equal(page.bits(), run.x[-1].reshape(-1))
        assert menu.input_value() == "only.zarr"
        page.page.locator("[data-control=seed]").fill("5")
        page.change(lambda: page.page.keyboard.press("Enter"))
        assert menu.input_value() == "", "a scene is shown, no recording"
        page.change(lambda: menu.select_option("only.zarr"))
        assert np.array_equal(page.bits(), run.x[-1].reshape(-1))
        page.page.goto("about:blank")


def test_after_a_reload_the_menus_say_which_recording_is_shown(page: WatchedPage, tmp_path: Path) -> None:
    nc.simulate(nc.Attention(9.0), nc.uniform(20, 3, 2), 50.0, save=12).save(tmp_path / "a.zarr")
    several = nc.simulate(nc.Attention(16.0), nc.uniform(10, 2, seed=0, runs=3), 9.0, save=8)
    several.save(tmp_path / "b.zarr")
    with shipped_server(open_folder(tmp_path)) as server:
        page.open(f"{server.address}#{quote(json.dumps({'open': {'name': 'b.zarr', 'run': 2}, 'at': 3}))}")
        for _ in range(2):
            assert np.array_equal(page.bits(), several.x[2, -1].reshape(-1))
            expect(page.page.locator("[data-control=opened]")).to_have_value("b.zarr")
            expect(page.page.locator("[data-control=opened-run]")).to_be_visible()
            expect(page.page.locator("[data-control=opened-run]")).to_have_value("3")
            page.page.reload()
            page.settled(1)
        page.page.locator("[data-control=opened-run]").fill("1")
        page.change(lambda: page.page.keyboard.press("Enter"))
        assert np.array_equal(page.bits(), several.x[0, -1].reshape(-1))
        page.page.goto("about:blank")


@pytest.mark.parametrize("d", [2, 3, 5])
def test_frozen_tokens_are_drawn_and_have_their_part_of_the_attention(
    page: WatchedPage, tmp_path: Path, d: int
) -> None:
    still = nc.Frozen(nc.uniform(3, d, 7), [1.0, 5.0, 2.0])
    run = nc.simulate(nc.Attention(4.0, frozen=still), nc.uniform(6, d, 1), 3.0, save=5)
    run.save(tmp_path / "frozen.zarr")
    replace(run, model=nc.Attention(4.0)).save(tmp_path / "bare.zarr")  # the same positions
    main = "circle" if d == 2 else "sphere"
    shown = {}
    for name in ("frozen", "bare"):
        export(tmp_path / f"{name}.zarr", tmp_path / f"{name}.html")
        page.page.goto((tmp_path / f"{name}.html").as_uri())
        page.page.wait_for_function("() => window.nucleate?.ready")
        page.seek(4)
        page.page.evaluate("window.nucleate.highlight(5)")
        page.drawn()
        words = page.page.locator("section[data-view=attention] .reading").text_content() or ""
        shown[name] = (
            page.pixels(main),
            words,
            page.page.locator("section[data-view=spectrum] .verdict").text_content() or "",
        )
    assert not np.array_equal(shown["frozen"][0], shown["bare"][0]), "diamonds"
    y, a, sees = run.model.context(run.x[-1])  # frozen tokens first
    w = a[0] * np.exp(4.0 * run.x[-1, 5] @ y.T) * sees[5]  # (m + n,)
    assert f"frozen: {w[:3].sum() / w.sum():.2f}" in shown["frozen"][1]
    assert f": {w[3:].max() / w.sum():.2f}" in shown["frozen"][1]
    assert "frozen" not in shown["bare"][1]
    assert "Table 1 is about causal attention without frozen tokens" in shown["frozen"][2]
    assert "theorem" in shown["bare"][2]


def test_an_exported_page_says_what_its_data_are(page: WatchedPage, tmp_path: Path) -> None:
    run = nc.simulate(nc.Attention(20.0), nc.uniform(4, 3, 1), 50.0, save=6)
    run.save(tmp_path / "mine.zarr")
    export(tmp_path / "mine.zarr", tmp_path / "page.html")
    page.page.goto((tmp_path / "page.html").as_uri())
    page.page.wait_for_function("() => window.nucleate?.ready")
    page.page.locator("[data-action=share]").click()
    expect(page.page.locator("#share")).to_contain_text(
        "every frame, positions with 32 bits, about seven digits"
    )
    with page.page.expect_download() as waiting:
        page.page.locator("[data-action=csv]").click()
    assert waiting.value.suggested_filename == "nucleate-mine.csv"
    waiting.value.save_as(tmp_path / "mine.csv")
    words = (tmp_path / "mine.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")[-3:]
    assert all(len(word.lstrip("-0.")) <= 9 for word in words), words
    assert np.array_equal(np.array(words, dtype=np.float32), run.x[-1, -1].astype(np.float32))


# --- people


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by the Tab key")


def test_the_keyboard_alone_suffices(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0, "frames": 40}, 5))
    keys = page.page.keyboard

    def cursor(frame: int) -> None:
        page.page.wait_for_function("frame => window.nucleate.now().at === frame", arg=frame)

    keys.press("ArrowRight")
    cursor(6)
    keys.press("Shift+ArrowRight")
    cursor(16)
    keys.press("ArrowLeft")
    cursor(15)
    keys.press("End")
    cursor(39)
    keys.press("Home")
    cursor(0)
    keys.press("Space")
    page.page.wait_for_function("() => window.nucleate.now().playing")
    keys.press("Space")
    page.page.wait_for_function("() => !window.nucleate.now().playing")
    keys.press("]")
    page.page.wait_for_function("() => document.documentElement.dataset.hover === '0'")
    keys.press("Escape")
    page.page.wait_for_function("() => document.documentElement.dataset.hover === ''")
    _tab_to(page.page, "[data-control=preset]")
    page.change(lambda: [keys.press("ArrowDown")])
    _tab_to(page.page, "[data-slider=n]")
    page.change(lambda: keys.press("PageDown"))
    _tab_to(page.page, "[data-control=seed]")
    keys.press("Control+a")
    keys.type("12")
    page.change(lambda: keys.press("Enter"))
    assert page.now()["scene"]["seed"] == 12
    _tab_to(page.page, "[data-action=share]")
    keys.press("Enter")
    expect(page.page.locator("#share")).to_be_visible()
    _tab_to(page.page, "[data-action=copy-link]")
    keys.press("Enter")
    page.page.wait_for_function("() => document.querySelector('#share textarea').value.includes('#')")
    keys.press("Escape")
    expect(page.page.locator("#share")).to_be_hidden()


def test_the_focus_can_be_seen(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0}, 5))
    for _ in range(12):
        page.page.keyboard.press("Tab")
        ring = page.page.evaluate(
            "() => { const style = getComputedStyle(document.activeElement); return [style.outlineStyle,"
            " parseFloat(style.outlineWidth), style.boxShadow] }"
        )
        assert (ring[0] != "none" and ring[1] > 0) or ring[2] != "none", page.page.evaluate(
            "document.activeElement.outerHTML.slice(0, 120)"
        )


def test_light_and_dark_differ_and_both_can_be_read(server: Server, page: WatchedPage) -> None:
    page.open(at(server, SPHERE, 30))
    light = {view: page.pixels(view) for view in page.views()}
    page.page.locator("[data-action=theme]").click()
    page.page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    page.drawn()
    for view, shown in light.items():
        dark = page.pixels(view)
        assert np.median(shown) > 200 > 90 > np.median(dark), view
        assert ink(dark) > 0.003, view


def test_what_cannot_be_done_is_said_in_words(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0}, 5))
    page.page.locator("[data-control=beta]").fill("much")
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#errors")).to_contain_text("must be a number")
    page.visit(f"{server.address}#%7Bbroken")
    expect(page.page.locator("#errors")).to_contain_text("link")
    page.visit(at(server, {"V": {"preset": "row2"}, "d": 2}))
    expect(page.page.locator("#errors")).to_contain_text("dimension of at least 3")


def test_what_is_no_link_changes_nothing_and_is_told_so(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0, "seed": 8}, 5))
    before = page.page.evaluate("window.nucleate.state")
    page.page.locator("[data-action=share]").click()
    for words in ("garbage", "https://example.org/", server.address):
        page.page.locator("[data-control=link]").fill(words)
        page.page.locator("[data-action=open-link]").click()
        expect(page.page.locator("#share .said:not([data-part])")).to_have_text(
            "This is no link of the explorer: nothing follows its #."
        )
        assert page.page.evaluate("window.nucleate.state") == before
        assert page.now()["runId"] == 1


def test_a_link_put_into_the_address_is_not_written_over(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 30, "t": 5.0}, 5))
    # the page was about to write frame 7 there
    page.page.evaluate("() => { window.nucleate.seek(7); location.hash = '#%7Bbroken' }")
    expect(page.page.locator("#errors")).to_contain_text("link")
    page.page.wait_for_timeout(600)
    assert page.page.evaluate("location.hash") == "#%7Bbroken"


def test_a_lost_server_is_reported_and_recovered_from(page: WatchedPage) -> None:
    with shipped_server() as first:
        token, port = first.explorer.token, first.port
        page.open(at(first, {"n": 30, "t": 5.0, "seed": 9}, 20))
        before = page.bits()
    expect(page.page.locator("#lost")).to_be_visible()
    page.page.wait_for_function("() => document.documentElement.dataset.connection === 'lost'")
    page.seek(3)  # what is there can still be looked at
    with shipped_server(token=token, port=port):
        page.page.wait_for_function("() => document.documentElement.dataset.connection === 'open'")
        expect(page.page.locator("#lost")).to_be_hidden()
        page.settled(2)
        assert np.array_equal(page.bits(), before)
        page.page.goto("about:blank")
    page.complaints[:] = [
        one for one in page.complaints if "WebSocket connection" not in one and "ERR_CONNECTION" not in one
    ]  # the browser's own words


# --- many tokens


@patient
def test_ten_thousand_tokens_are_drawn_with_a_script_time_of_at_most_8_ms(
    page: WatchedPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n, m = 10_000, 40
    start, way = nc.uniform(n, 3, 0), nc.uniform(n, 3, 1)
    x = np.stack([nc.retract(start + share * way) for share in np.linspace(0.0, 0.8, m)])  # (m, n, d)
    Run(
        nc.Attention(30.0),
        np.linspace(0.0, 10.0, m),
        x,
        "done",
        1,
        {"method": "explicit", "rtol": 1e-8, "atol": 1e-10},
    ).save(tmp_path / "many.npz")
    with shipped_server(open_folder(tmp_path / "many.npz")) as server:
        page.open(server.address)
        page.page.evaluate("window.nucleate.seek(0)")
        page.drawn()
        page.page.evaluate("window.nucleate.resetScriptTimes()")
        page.page.locator("[data-action=play]").click()
        page.page.wait_for_function(
            "() => window.nucleate.scriptTimes().frames >= 40 || !window.nucleate.now().playing"
        )
        took = page.page.evaluate("window.nucleate.scriptTimes()")
        with capsys.disabled():
            print(
                f"\n10,000 tokens: script time per frame {took['median']:.1f} ms median, {took['mean']:.1f}"
                f" mean, {took['worst']:.1f} worst, {took['frames']} frames"
            )
        assert took["frames"] >= 10
        check_wall_seconds(took["median"] / 1000.0, 0.008, "the script of a picture")
        page.seek(m - 1)
        assert ink(page.pixels("sphere")) > 0.05
        assert np.array_equal(page.bits(), x[-1].reshape(-1))
        page.page.goto("about:blank")
