"""The explorer in a real Firefox, Debian's firefox-esr: the page runs, draws, and stands alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from numpy.typing import NDArray
from support.explorer_scenes import simulated
from support.firefox import Firefox, started_firefox
from support.time_limits import several_programs

import nucleate as nc
from nucleate.explorer.export import export
from nucleate.explorer.server import Server

pytestmark = several_programs
SCENE: dict[str, Any] = {"n": 30, "d": 2, "beta": 16.0, "t": 20.0, "frames": 30, "tolerance": 1e-6}
SETTLED = (
    "window.nucleate?.now?.().runId >= 1 && window.nucleate.now().status !== 'running'"
    " && window.nucleate.record.measured"
)
BITS = "Array.from(new BigUint64Array(window.nucleate.x().buffer), word => word.toString(16))"
# how many pixels of a view's canvas are not empty
INK = """(() => { const canvas = document.querySelector('section[data-view=NAME] canvas');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length / (data.length / 4) })()"""


@pytest.fixture(scope="module")
def firefox() -> Iterator[Firefox]:
    """One for all tests: it takes seconds to start."""
    with started_firefox() as started:
        yield started


def bits(firefox: Firefox) -> NDArray[np.float64]:
    return np.array([int(word, 16) for word in firefox.value(BITS)], dtype=np.uint64).view(np.float64)


def opened(firefox: Firefox, server: Server, scene: dict[str, Any]) -> None:
    firefox.complaints.clear()
    firefox.open("about:blank")
    firefox.open(f"{server.address}#{quote(json.dumps({'scene': scene, 'at': 29}), safe='')}")
    firefox.wait(SETTLED)


def test_a_run_in_firefox_is_that_of_python_to_the_last_bit_and_is_drawn(
    server: Server, firefox: Firefox
) -> None:
    firefox.size(1400, 900)
    opened(firefox, server, SCENE)
    run = simulated(firefox.value("window.nucleate.now().scene"))
    assert np.array_equal(bits(firefox), run.x[-1].reshape(-1))
    for view in ("circle", "angles", "clusters", "attention"):
        assert firefox.value(INK.replace("NAME", view)) > 0.005, view
    firefox.value("document.querySelector('[data-action=play]').click()")
    firefox.wait("window.nucleate.now().playing && window.nucleate.now().at > 0")
    assert firefox.complaints == []


def test_the_sphere_is_drawn_in_firefox_or_says_why_not(server: Server, firefox: Firefox) -> None:
    opened(firefox, server, {**SCENE, "d": 3})
    firefox.wait(
        "document.querySelector('section[data-view=sphere] canvas') !== null"
        " || document.querySelector('section[data-view=sphere] .sorry').textContent.includes('WebGL')"
    )


def test_a_change_of_a_setting_runs_anew_in_firefox(server: Server, firefox: Firefox) -> None:
    opened(firefox, server, SCENE)
    before = firefox.value("window.nucleate.now().runId")
    firefox.value(
        "(() => { const seed = document.querySelector('[data-control=seed]'); seed.value = '4';"
        " seed.dispatchEvent(new Event('change', {bubbles: true})) })()"
    )
    firefox.wait(f"window.nucleate.now().runId > {before} && {SETTLED}")
    scene = firefox.value("window.nucleate.now().scene")
    assert scene["seed"] == 4
    assert np.array_equal(bits(firefox), simulated(scene).x[-1].reshape(-1))


def test_nothing_is_wider_than_a_phone_in_firefox(server: Server, firefox: Firefox) -> None:
    for width, height in ((390, 844), (844, 390)):
        firefox.size(width, height)
        opened(firefox, server, SCENE)
        firefox.value("document.getElementById('show-settings').click()")
        assert firefox.value("document.documentElement.scrollWidth") <= width
        for part in ("#settings", "section[data-view=circle] .stage"):
            box = firefox.value(f"document.querySelector('{part}').getBoundingClientRect().toJSON()")
            assert box["width"] > 150, part
            assert box["height"] > 100, part
            assert box["right"] <= width + 1, part
    firefox.size(1400, 900)


def test_an_exported_page_plays_in_firefox_from_a_file(firefox: Firefox, tmp_path: Path) -> None:
    run = nc.simulate(nc.Attention(16.0), nc.uniform(20, 3, 1), 20.0, save=20)
    run.save(tmp_path / "run.npz")
    export(tmp_path / "run.npz", tmp_path / "page.html")
    firefox.complaints.clear()
    firefox.open((tmp_path / "page.html").as_uri())
    firefox.wait("window.nucleate?.now?.().playing && window.nucleate.now().frames === 20")
    assert np.array_equal(bits(firefox), run.x[-1].astype(np.float32).reshape(-1))
    assert firefox.complaints == []
