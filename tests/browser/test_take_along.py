"""What can be taken away from the explorer, in a real Chromium: pages, pictures, films; and heads of real
models."""

import base64
import itertools
import json
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image, ImageSequence
from playwright.sync_api import Browser, Download, expect
from support.chromium import WatchedPage, shipped_server
from support.made_checkpoints import make
from support.made_depth_runs import depth_run
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.server import Server
from nucleate.explorer.stored_runs import open_folder
from nucleate.models.head_simulation import simulate_head

pytestmark = several_programs
SCENE: dict[str, Any] = {"n": 30, "beta": 16.0, "t": 50.0, "frames": 40, "tolerance": 1e-6}


def opened(page: WatchedPage, server: Server, d: int, frame: int = 20) -> None:
    state = {"scene": {**SCENE, "d": d}, "at": frame}
    page.open(f"{server.address}#{quote(json.dumps(state), safe='')}")
    page.page.locator("[data-action=share]").click()


def saved(page: WatchedPage, action: str) -> Download:
    with page.page.expect_download() as coming:
        page.page.locator(f"[data-action={action}]").click()
    return coming.value


def view_as(page: WatchedPage, view: str, kind: str) -> bytes:
    """One view as a file of this kind, through the menus of Share."""
    page.page.locator("[data-control=film-view]").select_option(view)
    page.page.locator("[data-control=film-kind]").select_option(kind)
    download = saved(page, "save-view")
    expect(page.page.locator("[data-part=along]")).to_contain_text("Saved")
    return download.path().read_bytes()


def stage_size(page: WatchedPage, view: str) -> tuple[int, int]:
    box = page.page.evaluate(
        "view => { const one = document.querySelector(`section[data-view=${view}] .stage`);"
        " return [one.clientWidth, one.clientHeight] }",
        view,
    )
    return int(box[0]), int(box[1])


def test_after_a_view_was_saved_escape_closes_the_window_and_no_key_goes_past_it(
    page: WatchedPage, server: Server
) -> None:
    opened(page, server, 2)
    run = page.now()["runId"]
    view_as(page, "clusters", "png")
    expect(page.page.locator("[data-action=save-view]")).to_be_focused()
    page.page.evaluate("document.activeElement.blur()")
    page.page.keyboard.press("r")  # would run again
    page.page.keyboard.press("Escape")
    expect(page.page.locator("#share")).to_be_hidden()
    assert page.now()["runId"] == run


@pytest.mark.parametrize("d", [2, 3])
def test_a_run_is_saved_as_a_page_that_plays_it_alone_and_saves_itself_again(
    page: WatchedPage, server: Server, tmp_path: Path, d: int
) -> None:
    opened(page, server, d)
    final = page.bits()
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    saved(page, "save-page").save_as(first)
    for here, there in ((first, second), (second, None)):
        page.requested_urls.clear()
        page.open(here.as_uri(), 0)
        assert page.page.evaluate("document.documentElement.dataset.connection") in ("recorded", "page")
        assert np.array_equal(page.bits(), final.astype(np.float32))
        assert page.now()["frames"] == SCENE["frames"]
        others = [
            url for url in page.requested_urls if not url.startswith(("file:", "data:", "blob:", "about:"))
        ]
        assert others == []
        assert "connect-src 'none'" in here.read_text()
        if there is not None:
            page.page.locator("[data-action=share]").click()
            saved(page, "save-page").save_as(there)


def test_pictures_have_three_times_the_density_of_the_screen_and_posters_6000_pixels(
    page: WatchedPage, server: Server
) -> None:
    opened(page, server, 3)
    width, height = stage_size(page, "sphere")
    before = page.pixels("sphere").shape
    for view in ("sphere", "angles"):
        size = stage_size(page, view)
        with Image.open(BytesIO(view_as(page, view, "png"))) as picture:
            assert picture.size == pytest.approx((3 * size[0], 3 * size[1]), abs=2), view
            assert np.asarray(picture.convert("L")).std() > 4  # something is drawn
    with Image.open(BytesIO(view_as(page, "sphere", "poster"))) as poster:
        assert max(poster.size) == pytest.approx(6000, abs=3)
        assert min(poster.size) == pytest.approx(6000 * min(width, height) / max(width, height), abs=10)
        assert np.asarray(poster.convert("L").resize((300, 300))).std() > 2
    assert view_as(page, "sphere", "svg").startswith(b"<svg")
    page.page.locator("[data-action=close-share]").click()
    page.drawn()
    assert page.pixels("sphere").shape == before  # the picture on the screen is as it was


@pytest.mark.parametrize("view", ["sphere", "clusters"])
def test_a_view_is_saved_as_a_gif_of_the_whole_run(page: WatchedPage, server: Server, view: str) -> None:
    opened(page, server, 3)
    with Image.open(BytesIO(view_as(page, view, "gif"))) as film:
        assert film.format == "GIF"
        assert getattr(film, "n_frames", 1) == 120
        assert film.info["loop"] == 0
        assert max(film.size) <= 700
        pictures = []
        for at in (0, 60, 119):
            film.seek(at)
            pictures.append(np.asarray(film.convert("RGB")).astype(int))
    changes = [np.abs(one - other).mean() for one, other in itertools.pairwise(pictures)]
    assert min(changes) > 0.05, "it moves"
    white = (pictures[0] == 255).all(axis=2).mean()
    assert white > 0.3  # the ground has kept its colour
    assert page.now()["at"] == 20  # the cursor is back


def test_a_view_is_recorded_as_a_video_with_progress_and_can_be_cancelled(
    browser: Browser, page: WatchedPage, server: Server
) -> None:
    opened(page, server, 2)
    assert page.page.locator("[data-control=film-kind] option[value=webm]").count() == 1
    page.page.locator("[data-control=film-kind]").select_option("webm")
    page.page.locator("[data-action=save-view]").click()
    page.page.wait_for_function("() => document.querySelector('#share progress').value > 0")
    page.page.locator("[data-action=cancel-film]").click()
    expect(page.page.locator("[data-part=along]")).to_have_text("Cancelled.")
    video = view_as(page, "circle", "webm")
    assert video[:4] == b"\x1a\x45\xdf\xa3"
    context = browser.new_context()
    player = context.new_page()
    width, height = player.evaluate(
        "data => new Promise((done, fail) => { const video = document.createElement('video');"
        " video.onloadeddata = () => done([video.videoWidth, video.videoHeight]);"
        " video.onerror = () => fail('bad');"
        " video.src = 'data:video/webm;base64,' + data })",
        base64.b64encode(video).decode(),
    )
    assert max(width, height) > 500
    assert width % 2 == height % 2 == 0
    context.close()


@pytest.mark.parametrize("records", [True, False])
def test_a_browser_that_records_no_mp4_says_why_it_is_not_offered(
    page: WatchedPage, server: Server, records: bool
) -> None:
    page.page.add_init_script(
        f"""MediaRecorder.isTypeSupported = type => type.startsWith("video/webm") || {json.dumps(records)}"""
    )
    opened(page, server, 2)
    kinds = page.page.locator("[data-control=film-kind] option").evaluate_all("all => all.map(o => o.value)")
    assert ("mp4" in kinds) == records
    why = page.page.locator("[data-part=missing-kinds]")
    if records:
        expect(why).to_have_count(0)
    else:
        expect(why).to_contain_text("MP4: this browser cannot record it")


def test_a_film_is_paced_as_the_page_plays(page: WatchedPage, server: Server) -> None:
    """A run that is still for most of its time: by time most pictures of its film would be alike."""
    scene = {"n": 3, "d": 2, "beta": 9.0, "t": 1e6, "frames": 200, "clock": "linear"}
    page.open(f"{server.address}#{quote(json.dumps({'scene': scene, 'at': 0}), safe='')}")
    x = page.page.evaluate("[...Array(200).keys()].map(i => [...window.nucleate.x(i)])")
    moves = np.abs(np.diff(np.array(x), axis=0)).max(1)
    assert moves[:2].sum() > 0.9 * moves.sum(), "all that happens happens in the first two of 199 stretches"
    page.page.locator("[data-action=share]").click()
    with Image.open(BytesIO(view_as(page, "circle", "gif"))) as film:
        pictures = [np.asarray(picture.convert("RGB")) for picture in ImageSequence.Iterator(film)]
    height = pictures[0].shape[0] * 9 // 10  # without the line that tells the time
    moving = [not np.array_equal(a[:height], b[:height]) for a, b in itertools.pairwise(pictures)]
    assert sum(moving[: len(moving) // 2]) > len(moving) // 3


def test_heads_of_a_checkpoint_are_opened_and_what_was_reduced_is_said(
    page: WatchedPage, tmp_path: Path
) -> None:
    make("llama").write(tmp_path / "models" / "tiny")
    depth_run().save(tmp_path / "models" / "trace.zarr")
    with shipped_server(open_folder(tmp_path / "models")) as server:
        page.open(server.address)
        menu = page.page.locator("[data-control=opened]")
        assert {"tiny", "trace.zarr"} <= set(
            menu.locator("option").evaluate_all("all => all.map(one => one.value)")
        )
        page.change(lambda: menu.select_option("tiny"))
        about = page.page.locator("[data-part=about-run]")
        expect(about).to_contain_text("layer 0, head 0")
        expect(about).to_contain_text("move under this head alone")
        number = page.page.locator("[data-control=opened-run]")
        number.fill("2")
        page.change(lambda: number.press("Enter"))
        expect(about).to_contain_text("layer 0, head 1")
        head = simulate_head(tmp_path / "models" / "tiny", 0, 1, tokens=32, seed=0)
        x = page.bits().reshape(32, -1)
        assert x.shape[1] == head.run.x.shape[2]
        assert np.allclose(
            x @ x.T, head.run.x[-1] @ head.run.x[-1].T, atol=1e-3
        )  # both to rtol 1e-6, then a span
        page.page.goto("about:blank")


def test_a_player_of_a_notebook_plays_a_run_and_hidden_states_without_a_network(
    page: WatchedPage, tmp_path: Path
) -> None:
    run = nc.simulate(nc.Attention(9.0), nc.uniform(12, 3, 2), 20.0, save=6)
    for name, one in (("run", run), ("trace", depth_run())):
        cell = tmp_path / f"{name}.html"
        cell.write_text(f"<!doctype html><meta charset=utf-8><body>{one.explore(height=500)._repr_html_()}")
        page.requested_urls.clear()
        page.page.goto(cell.as_uri())
        frame = page.page.frame_locator("iframe")
        kind = frame.locator(f"html[data-kind={'trace' if name == 'trace' else 'run'}]")
        expect(kind).to_have_attribute("data-measured", "yes")
        expect(frame.locator("section[data-view=sphere]")).to_be_visible()
        assert [url for url in page.requested_urls if url.startswith("http")] == []
