"""The family in a real Chromium: its panel, its views, its stored runs."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from playwright.sync_api import expect
from support.chromium import WatchedPage, shipped_server
from support.explorer_scenes import simulated
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.export import export
from nucleate.explorer.server import Server
from nucleate.explorer.stored_runs import open_folder

pytestmark = several_programs
SMALL = {"n": 20, "d": 2, "beta": 2.0, "t": 5.0, "frames": 20, "mask": "full", "tolerance": 1e-6}


def address(server: Server, scene: dict[str, Any]) -> str:
    return f"{server.address}#{quote(json.dumps({'scene': scene, 'at': 19}), safe='')}"


def choose(page: WatchedPage, control: str, value: str) -> None:
    page.change(lambda: page.page.locator(f"[data-control=family-{control}]").select_option(value))


def fill(page: WatchedPage, control: str, value: str) -> None:
    page.page.locator(f"[data-control=family-{control}]").fill(value)
    page.change(lambda: page.page.keyboard.press("Enter"))


def test_a_model_is_put_together_in_the_panel_and_kept_in_the_address(
    server: Server, page: WatchedPage
) -> None:
    page.open(address(server, SMALL))
    panel = page.page.locator("details.family")
    expect(panel).not_to_have_attribute("open", "")
    expect(panel.locator("summary")).to_contain_text("one softmax head")
    assert "lengths" not in page.views()
    panel.locator("summary").click()
    fill(page, "heads", "3")
    choose(page, "matrices", "factors")
    fill(page, "factors", "1, 0.5, -0.25")
    choose(page, "norm", "pre")
    fill(page, "radius", "2")
    scene = page.now()["scene"]
    assert scene["family"] == {
        "heads": [{"V": 1}, {"V": 0.5}, {"V": -0.25}],
        "norm": "pre",
        "radius": 2,
    }
    run = simulated(scene)
    assert np.array_equal(page.bits(), run.x[-1].reshape(-1)), "the same final positions to the last bit"
    assert {"lengths", "attention"} <= set(page.views())
    assert "consumption" not in page.views()  # its place is taken
    shown = page.page.locator("section[data-view=lengths] .reading").text_content() or ""
    assert run.norms is not None
    assert float(shown.split()[0]) == round(float(run.norms[-1].min()), 2)
    expect(page.page.locator("section[data-view=spectrum] .sorry")).to_contain_text("V of its own")
    heads = page.page.locator("section[data-view=attention] select[aria-label='Which head'] option")
    assert heads.count() == 3
    expect(panel.locator("summary")).to_contain_text("3 heads, pre norm")
    # the address alone brings it back
    page.page.wait_for_function("() => location.hash === window.nucleate.fragment")
    page.open(page.page.url)
    assert page.now()["scene"] == scene
    assert np.array_equal(page.bits(), run.x[-1].reshape(-1))


def test_what_does_not_go_together_is_said_and_layers_end_the_run(server: Server, page: WatchedPage) -> None:
    page.open(address(server, {**SMALL, "family": {"norm": "pre"}}))
    page.page.locator("details.family summary").click()
    page.page.locator("[data-control=family-noisy]").select_option("yes")
    expect(page.page.locator("#error-text")).to_contain_text('noise needs norm "post"')
    choose(page, "norm", "post")
    expect(page.page.locator("#errors")).to_be_hidden()
    scene = page.now()["scene"]
    assert scene["family"] == {"noise": 10}
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))
    choose(page, "noisy", "no")
    choose(page, "layers", "orthogonal")
    fill(page, "count", "3")
    assert page.now()["scene"]["t"] == 3
    choose(page, "discrete", "yes")
    scene = page.now()["scene"]
    assert scene["family"]["layers"] == {"count": 3, "redraw": "orthogonal", "seed": 0, "discrete": True}
    assert page.now()["frames"] == 4  # one for each layer, and the start
    assert np.array_equal(page.bits(), simulated(scene).x[-1].reshape(-1))


def test_a_stored_run_of_the_family_shows_its_own_model_and_can_be_exported(
    page: WatchedPage, tmp_path: Path
) -> None:
    block = nc.Block([nc.Attention(1.0, mask="full"), nc.Attention(4.0, mask="full")], norm="pre")
    run = nc.simulate(block, nc.uniform(12, 3, 0), 5.0, save=20)
    run.save(tmp_path / "pre.zarr")
    with shipped_server(open_folder(tmp_path / "pre.zarr")) as server:
        page.open(server.address)
        assert np.array_equal(page.bits(), run.x[-1].reshape(-1))
        assert "lengths" in page.views()
        expect(page.page.locator(".preset .about")).to_contain_text("2 heads, β = 1 to 4, full, pre norm")
        page.page.locator("details.family summary").click()
        expect(page.page.locator("[data-control=family-norm]")).to_have_value("pre")
        choose(page, "norm", "peri")  # a change begins from there
        family = page.now()["scene"]["family"]
        assert [head["beta"] for head in family["heads"]] == [1, 4]
        assert family["norm"] == "peri"
    export(tmp_path / "pre.zarr", tmp_path / "page.html")
    page.open((tmp_path / "page.html").as_uri(), 0)
    assert "lengths" in page.views()
    page.page.locator("details.family summary").click()
    expect(page.page.locator("[data-control=family-norm]")).to_be_disabled()
    expect(page.page.locator("[data-control=family-norm]")).to_have_value("pre")
