"""What the page says is true of what it shows, and goes when it is true no more: recordings, presets,
messages, links of one's own, a server that ends; in a real Chromium."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from support.chromium import WatchedPage, shipped_server
from support.preset_runs import preset_run
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.server import Server
from nucleate.explorer.stored_runs import open_folder

pytestmark = several_programs
SMALL = {"n": 30, "t": 5.0, "frames": 40}


def at(server: Server, scene: dict[str, Any], frame: int | None = None, **view: Any) -> str:
    """The address of a scene, as a link has it, with the token."""
    return f"{server.address}{fragment(scene, frame, **view)}"


def fragment(scene: dict[str, Any], frame: int | None = None, **view: Any) -> str:
    state = {"scene": scene} | ({} if frame is None else {"at": frame}) | ({"view": view} if view else {})
    return f"#{quote(json.dumps(state), safe='')}"


def field(page: WatchedPage, name: str) -> str:
    return page.page.locator(f"[data-control={name}]").input_value()


def typed(page: WatchedPage, name: str, text: str) -> None:
    page.page.locator(f"[data-control={name}]").fill(text)
    page.page.keyboard.press("Enter")


def shared_python(page: WatchedPage) -> str:
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-action=copy-python]").click()
    text = page.page.locator("#share textarea")
    expect(text).to_be_visible()
    page.page.wait_for_function("() => document.querySelector('#share textarea').value !== ''")
    return text.input_value()


def redone(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> nc.Run:
    monkeypatch.chdir(folder)
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(code, "copied", "exec"), space)
    run: nc.Run = space["run"]
    return run


# --- recordings


def seven() -> nc.Run:
    """As nucleate simulate -n 60 -d 3 --seed 7 -t 20 --beta 10 makes it."""
    run = nc.simulate(nc.Attention(10.0), nc.uniform(60, 3, 7), 20.0, save=512)
    return replace(run, notes={"start": "uniform(n, d, seed)", "seed": 7})


def test_an_opened_recording_shows_its_own_settings_and_its_python_redoes_it(
    page: WatchedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = seven()
    run.save(tmp_path / "seven.zarr")
    with shipped_server(open_folder(tmp_path / "seven.zarr")) as server:
        page.open(server.address)
        shown = {name: field(page, name) for name in ("n", "d", "beta", "seed", "t", "frames", "tolerance")}
        assert list(shown.values()) == ["60", "3", "10", "7", "20", "512", "1e-8"]
        assert (field(page, "clock"), field(page, "start")) == ("linear", "uniform")
        assert np.array_equal(redone(shared_python(page), tmp_path, monkeypatch).x, run.x)
        page.page.goto("about:blank")


def test_what_is_not_known_of_a_recording_is_shown_as_unknown(
    page: WatchedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x0 = nc.retract(nc.uniform(20, 3, 0) + 0.3)
    run = nc.simulate(nc.Attention(9.0), x0, 20.0, save=[0.0, 0.1, 0.7, 9.0, 20.0], method="rk4", dt=0.01)
    run.save(tmp_path / "mine.zarr")
    with shipped_server(open_folder(tmp_path / "mine.zarr")) as server:
        page.open(server.address)
        for name in ("seed", "tolerance"):
            assert field(page, name) == ""
            expect(page.page.locator(f"[data-control={name}]")).to_have_attribute("placeholder", "unknown")
        assert (field(page, "start"), field(page, "clock")) == ("unknown", "unknown")
        assert (field(page, "t"), field(page, "frames")) == ("20", "5")
        assert np.array_equal(redone(shared_python(page), tmp_path, monkeypatch).x, run.x)
        expect(page.page.locator("#share")).to_contain_text("redo this recording from its own file")
        page.page.locator("[data-action=close-share]").click()
        page.change(lambda: typed(page, "beta", "12"))  # a scene of one's own from here on
        assert (field(page, "seed"), field(page, "start")) == ("0", "uniform")
        expect(page.page.locator("#messages")).to_contain_text(
            "does not say its seed, start, clock, tolerance"
        )
        page.page.goto("about:blank")


def test_python_of_a_recording_that_cannot_be_redone_says_why(page: WatchedPage, tmp_path: Path) -> None:
    late = nc.simulate(nc.Attention(9.0), nc.uniform(20, 3, 0), 2.0, save=[0.5, 1.0, 2.0])
    late.save(tmp_path / "late.zarr")
    with shipped_server(open_folder(tmp_path / "late.zarr")) as server:
        page.open(server.address)
        assert shared_python(page).startswith("# 'late.zarr' cannot be redone: its first frame is at t = 0.5")
        page.page.goto("about:blank")


# --- presets


def test_where_conjecture_1_fails_two_points_are_not_marked_without_a_word(
    server: Server, page: WatchedPage
) -> None:
    page.open(server.address)
    page.change(lambda: page.page.locator("[data-control=preset]").select_option("counterexample"))
    spectrum = page.page.locator("section[data-view=spectrum]")
    expect(spectrum.locator("tr.here")).to_have_class(re.compile("doubted"))
    expect(spectrum.locator(".verdict")).to_contain_text("It is false for some Q, K and V")
    expect(spectrum.locator(".reading")).to_have_text("Row 3 of Table 1, not sure here")
    page.change(lambda: page.page.locator("[data-control=preset]").select_option("figure1-row1"))
    expect(spectrum.locator("tr.doubted")).to_have_count(0)
    expect(spectrum.locator("tr.here")).to_have_count(1)


def test_the_planet_and_sixteen_dimensions_have_the_clusters_that_their_texts_name() -> None:
    planet = preset_run("planet")
    assert (planet.clusters(30.0), planet.clusters(1000.0)) == (23, 11)
    sixteen = preset_run("sixteen")
    assert len(sixteen.facts["centers"]["renyi"]) == 47
    assert (sixteen.clusters(70.0), sixteen.clusters(1000.0)) == (46, 6)


# --- messages go with their cause


def test_an_error_goes_when_the_old_value_is_typed_again(server: Server, page: WatchedPage) -> None:
    page.open(at(server, SMALL, 5))
    errors = page.page.locator("#errors")
    typed(page, "d", "1")
    expect(errors).to_contain_text("must be a whole number from 2")
    typed(page, "d", "2")  # as it was: nothing runs anew
    expect(errors).to_be_hidden()
    page.change(lambda: page.page.locator("[data-control=V]").select_option("own matrix"))
    cell = page.page.get_by_label("V, row 1, column 2")
    for wrong, right in (("", "0"), ("1e300", "0.1"), ("1e200", "0.1")):
        cell.fill(wrong)
        cell.press("Tab")
        page.page.wait_for_function(
            "() => !document.getElementById('errors').hidden"
            " || document.getElementById('messages').textContent"
        )
        cell.fill(right)
        cell.press("Tab")
        expect(errors).to_be_hidden()
        expect(page.page.locator("#messages")).to_have_text("")
        page.settled()


def test_a_message_that_something_was_set_back_goes_with_the_next_change(
    server: Server, page: WatchedPage
) -> None:
    page.open(at(server, {**SMALL, "d": 3, "V": {"preset": "row2"}}, 5))
    page.change(lambda: typed(page, "d", "2"))
    message = page.page.locator("#messages")
    expect(message).to_contain_text("V does not exist in 2 dimensions and was set back")
    page.change(lambda: typed(page, "seed", "5"))
    expect(message).to_have_text("")


def test_a_run_of_one_step_says_one_step(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 1, "t": 1e-3, "frames": 3}, 0))
    words = page.page.locator("#summary").text_content() or ""
    assert re.match(r"1 step in|[2-9]\d* steps in", words), words


def test_where_nothing_moves_the_page_says_why_and_what_to_try(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 50, "d": 8}, 0))
    x, y = page.bits(0).reshape(50, 8), page.bits().reshape(50, 8)
    assert np.linalg.norm(x - y, axis=1).max() < 0.05, "to the eye it stands still"
    message = page.page.locator("#messages")
    expect(message).to_contain_text(re.compile(r"No token moves by more than .* with β = 64 in 8 dimensions"))
    better = re.search(r"Try β = (\S+),", message.text_content() or "")
    assert better is not None
    page.change(lambda: typed(page, "beta", better[1]))
    expect(message).to_have_text("")
    x, y = page.bits(0).reshape(50, 8), page.bits().reshape(50, 8)
    assert np.median(np.linalg.norm(x - y, axis=1)) > 0.5, "what it says to try helps"


def test_a_link_that_cannot_be_run_leaves_no_empty_page(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 1_000_000_000}), run=2)
    errors = page.page.locator("#errors")
    expect(errors).to_contain_text("n must be at most 10,000, but is 1,000,000,000")
    expect(errors).to_contain_text("first scene instead")
    assert page.now()["frames"] == 160
    assert page.now()["scene"]["n"] == 200


# --- hands


@pytest.mark.parametrize("view", ["attention", "angles"])
def test_the_arrow_of_a_menu_does_not_lie_under_what_saves_a_file(
    server: Server, page: WatchedPage, view: str
) -> None:
    page.open(at(server, {**SMALL, "d": 3}, 5))
    menu = page.page.locator(f"section[data-view={view}] select.quiet").first
    menu.hover()
    box = menu.bounding_box()
    assert box is not None
    hit = page.page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).tagName",
        [box["x"] + box["width"] - 6, box["y"] + box["height"] / 2],
    )
    assert hit == "SELECT"
    for kind in ("png", "svg"):
        button = page.page.locator(f"section[data-view={view}] [data-action={kind}]")
        other = button.bounding_box()
        assert other is not None
        assert other["x"] >= box["x"] + box["width"] or other["x"] + other["width"] <= box["x"]


def test_one_drag_of_a_slider_is_one_entry_in_the_history(server: Server, page: WatchedPage) -> None:
    page.open(at(server, SMALL, 5))
    before = page.page.evaluate("history.length")
    slider = page.page.locator("[data-slider=beta]").bounding_box()
    assert slider is not None
    mouse, y = page.page.mouse, slider["y"] + slider["height"] / 2
    mouse.move(slider["x"] + 0.3 * slider["width"], y)
    mouse.down()
    for share in np.linspace(0.3, 0.8, 6):
        mouse.move(slider["x"] + float(share) * slider["width"], y)
        page.page.wait_for_timeout(400)  # longer than the address waits
    mouse.up()
    page.settled()
    page.page.wait_for_function("() => location.hash.includes('beta')")
    assert page.page.evaluate("history.length") == before + 1
    page.page.go_back()
    page.page.wait_for_function("() => window.nucleate.now().scene.beta === 64")


def test_a_dragged_token_recomputes_the_run_while_it_is_dragged(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {"n": 3, "t": 50.0, "frames": 40, "beta": 4}, 0))
    canvas = page.page.locator("section[data-view=circle] canvas").bounding_box()
    assert canvas is not None
    x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
    rim = min(canvas["width"], canvas["height"]) / 2 - 40
    a, b = page.bits(0)[2:4]
    for probe in range(
        int(rim) + 30, int(rim) - 60, -3
    ):  # where it is drawn: the rim's margin is the view's own
        page.page.mouse.move(x + probe * a, y - probe * b)
        if page.page.evaluate("document.documentElement.dataset.hover") == "1":
            rim = probe
            break
    first, angle = int(page.now()["runId"]), np.arctan2(b, a)
    page.page.mouse.down()
    for _ in range(60):  # never still for longer than a tenth of a second
        angle += 0.05
        page.page.mouse.move(x + rim * np.cos(angle), y - rim * np.sin(angle))
        page.page.wait_for_timeout(100)
        if page.now()["runId"] > first:
            break
    assert page.now()["runId"] > first, "no other run while it is dragged"
    moved = np.arctan2(*page.bits(0)[2:4][::-1])
    assert abs(np.angle(np.exp(1j * (moved - angle)))) < 0.05, "the token stays under the hand"
    page.page.mouse.up()
    page.settled()
    assert list(page.now()["scene"]["moved"]) == ["1"]


def test_playing_keeps_time_on_a_machine_that_draws_slowly(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {**SMALL, "frames": 100}, 0))
    page.page.evaluate(
        """() => { const ask = window.requestAnimationFrame.bind(window);
          window.requestAnimationFrame =
            (draw) => ask(() => setTimeout(() => draw(performance.now()), 400)); }"""
    )
    took = page.page.evaluate(
        """() => new Promise(done => { const from = performance.now();
          document.querySelector('[data-action=play]').click();
          const look = setInterval(() => { if (!window.nucleate.now().playing) {
            clearInterval(look); done(performance.now() - from); } }, 50); })"""
    )
    print(f"15 s of playing took {took / 1000:.1f} s at 2.5 pictures a second")
    assert took < 20_000  # before: a tenth of a second for every picture, so about 60 s


def test_no_menu_cuts_what_is_chosen_without_saying_it_in_full(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {**SMALL, "d": 3}, 5))
    page.page.locator(".family summary").click()
    cut = page.page.evaluate(
        """() => [...document.querySelectorAll('#settings select')].filter(s => s.offsetParent !== null)
            .flatMap(s => [...s.options].filter(o => {
              const probe = document.createElement('span'); probe.textContent = o.text;
              probe.style.cssText = 'position: absolute; white-space: nowrap'; s.after(probe);
              const wide = probe.getBoundingClientRect().width; probe.remove();
              return wide > s.clientWidth - 12 - 18; }).map(o => `${s.dataset.control}: ${o.text}`))"""
    )
    print(cut)
    assert [one for one in cut if not one.startswith("preset: ")] == []
    page.change(lambda: page.page.locator("[data-control=preset]").select_option("figure1-defective"))
    title = page.page.locator("[data-control=preset] option:checked").text_content() or ""
    expect(page.page.locator(".preset .about strong")).to_have_text(title)


# --- links of one's own, and a server that ends


def without_token(server: Server) -> str:
    return server.address.partition("?")[0]


def test_a_link_of_ones_own_opens_in_a_new_tab_and_holds_no_token(server: Server, page: WatchedPage) -> None:
    page.open(at(server, {**SMALL, "seed": 11}, 5))
    assert server.explorer.token not in page.page.evaluate("location.href"), "the address has lost it"
    page.page.locator("[data-action=share]").click()
    page.page.locator("[data-action=copy-link]").click()
    page.page.wait_for_function("() => document.querySelector('#share textarea').value !== ''")
    link = page.page.locator("#share textarea").input_value()
    assert server.explorer.token not in link
    assert server.explorer.cookie not in link
    other = WatchedPage(page.page.context.new_page())
    other.open(link)
    assert other.now()["scene"]["seed"] == 11
    assert np.array_equal(other.bits(), page.bits())
    other.page.reload()
    other.settled(1)
    assert other.complaints == []
    (cookie,) = page.page.context.cookies(without_token(server))
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert page.page.evaluate("document.cookie") == ""
    other.page.close()


def test_a_browser_that_does_not_know_the_token_is_told_what_to_do(
    server: Server, browser: Browser, page: WatchedPage
) -> None:
    stranger = browser.new_context().new_page()
    stranger.goto(f"{without_token(server)}{fragment({**SMALL, 'seed': 12})}")
    expect(stranger.locator("h1")).to_contain_text("has not shown its token")
    expect(stranger.locator("body")).to_contain_text("Open that address in this browser")
    opened = stranger.context.new_page()  # which is what it asks for
    opened.goto(server.address)
    opened.wait_for_function("() => document.documentElement.dataset.connection === 'open'")
    stranger.reload()
    stranger.wait_for_function("() => window.nucleate?.now().scene.seed === 12")
    stranger.context.close()


def test_after_its_server_has_ended_the_page_waits_for_nothing_and_says_what_to_do(page: WatchedPage) -> None:
    with shipped_server() as first:
        page.open(at(first, {**SMALL, "seed": 9}, 20))
        before = page.bits()
        port = first.port
        # a run that never comes
        page.page.evaluate("() => { WebSocket.prototype.send = () => undefined }")
        typed(page, "seed", "10")
        page.page.wait_for_function("() => document.documentElement.dataset.status === 'running'")
    lost = page.page.locator("#lost")
    expect(lost).to_contain_text(f"start nucleate explore again (at port {port})")
    page.page.wait_for_function("() => document.documentElement.dataset.status !== 'running'")
    page.complaints[:] = [one for one in page.complaints if not _of_the_browser(one)]
    assert np.array_equal(page.bits(), before)


def test_a_server_started_anew_takes_the_tab_back_once_its_page_is_open_beside_it(page: WatchedPage) -> None:
    with shipped_server() as first:
        page.open(at(first, {**SMALL, "seed": 9}, 20))
        before, port = page.bits(), first.port
    expect(page.page.locator("#lost")).to_be_visible()
    with shipped_server(port=port) as second:
        assert second.explorer.token != first.explorer.token
        beside = page.page.context.new_page()
        beside.goto(second.address)
        page.page.wait_for_function("() => document.documentElement.dataset.connection === 'open'")
        expect(page.page.locator("#lost")).to_be_hidden()
        page.settled(2)
        assert page.now()["scene"]["seed"] == 9
        assert np.array_equal(page.bits(), before)
        page.page.reload()
        page.settled(1)
        assert page.now()["scene"]["seed"] == 9
        for tab in (beside, page.page):
            tab.goto("about:blank")
    page.complaints[:] = [one for one in page.complaints if not _of_the_browser(one)]


def test_views_do_not_wait_for_measurements_of_a_server_that_is_gone(page: WatchedPage) -> None:
    with shipped_server() as server:
        page.page.add_init_script(
            """const Real = WebSocket; window.WebSocket = class extends Real {
              set onmessage(listener) { super.onmessage = (event) => {
                if (typeof event.data !== 'string' &&
                    new TextDecoder().decode(event.data.slice(4, 200)).includes('"measured"')) return;
                listener(event); } } }"""
        )
        page.visit(at(server, SMALL, 5))
        page.page.wait_for_function("() => window.nucleate?.now().status === 'done'")
    expect(page.page.locator("#lost")).to_be_visible()
    reading = "section[data-view={}] .reading"
    expect(page.page.locator(reading.format("clusters"))).to_have_text("not counted")
    expect(page.page.locator(reading.format("consumption"))).to_have_text("not measured")
    page.complaints[:] = [one for one in page.complaints if not _of_the_browser(one)]


def _of_the_browser(complaint: str) -> bool:
    """What the browser itself says of a server that is not there, or that does not know the token now."""
    return "WebSocket connection" in complaint or "ERR_CONNECTION" in complaint or "403" in complaint
