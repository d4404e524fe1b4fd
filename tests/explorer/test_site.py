"""The static site as a file; tests/browser/test_site.py opens it."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explorer_server import PAGE

from nucleate.checks import FileError, InputError, MissingFileError
from nucleate.explorer.presets import ScenePreset, presets
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.site import recorded_preset, site_page, write_site


def inside(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="recorded">(.*?)</script>', page, re.DOTALL)
    table: dict[str, Any] = json.loads(text)
    return table


def test_a_site_is_one_file_with_the_greeting_inside(tmp_path: Path) -> None:
    made = write_site(tmp_path / "site", recordings=False, page=PAGE)
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["index.html"]
    table = inside(made.page.read_text(encoding="utf-8"))
    assert {one["name"] for one in table["site"]["presets"]} == {one.name for one in presets()}
    assert table["site"]["limits"]["sliders"] == {"n": 500, "d": 8, "t": 1e5}
    assert table["recordings"] == []
    assert len(made.computed) + len(made.left_out) == len(presets())
    assert "The whole life, to t = 10⁶⁰" in made.left_out
    told = {one["title"]: one["explain"] for one in table["site"]["presets"]}
    assert all("cannot compute it: open it exactly in nucleate" in told[title] for title in made.left_out)
    assert not any("too large" in text for text in told.values()), "they were left out by wish"
    assert write_site(tmp_path / "site", recordings=False, page=PAGE).size == made.size, "written again"


def test_the_page_of_a_site_may_reach_nothing_and_run_nothing_but_its_own_text() -> None:
    page = site_page(PAGE, recordings=False)[0]
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert rules["worker-src"] == "blob:"
    assert "unsafe" not in policy


def test_nothing_of_somebody_else_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("my own page")
    with pytest.raises(InputError, match="is not an exported page"):
        write_site(tmp_path, recordings=False, page=PAGE)
    assert (tmp_path / "index.html").read_text() == "my own page"
    with pytest.raises(InputError, match="is a file"):
        write_site(tmp_path / "index.html", recordings=False, page=PAGE)
    with pytest.raises(MissingFileError, match="does not exist"):
        write_site(tmp_path / "no" / "site", recordings=False, page=PAGE)


@pytest.mark.parametrize("where", ["site", "folder/index.html"])
def test_a_link_that_leads_nowhere_is_refused_before_any_work(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nucleate.explorer.site.site_page", lambda *given: pytest.fail("work was begun"))
    (tmp_path / "folder").mkdir()
    (tmp_path / where).symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"is a link to .* which cannot be written"):
        write_site(tmp_path / where.partition("/")[0], recordings=False, page=PAGE)


def test_a_folder_that_cannot_be_made_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nucleate.explorer.site.site_page", lambda *given: pytest.fail("work was begun"))
    monkeypatch.setattr("os.access", lambda *given, **more: False)
    for folder in (tmp_path, tmp_path / "site"):
        with pytest.raises(FileError, match="is read-only"):
            write_site(folder, recordings=False, page=PAGE)


def test_a_preset_beyond_the_page_is_recorded_if_it_is_small() -> None:
    table = {"n": 4, "d": 3, "t": 5.0, "frames": 50, "mask": "full", "family": {"norm": "pre"}}
    made = recorded_preset(ScenePreset("small", "Small", "", parse_scene(table)))
    assert made is not None
    x = np.frombuffer(base64.b64decode(made["x"]), "<f4").reshape(-1, 4, 3)
    assert len(x) == len(made["t"]) == made["begun"]["frames"] == 50
    assert np.allclose(np.linalg.norm(x, axis=-1), 1.0, atol=1e-6)
    assert np.frombuffer(base64.b64decode(made["norms"]), "<f4").shape == (50 * 4,)
    assert "nc.simulate" in made["python"]
    large = parse_scene({"n": 10_000, "d": 3})
    assert recorded_preset(ScenePreset("large", "Large", "", large)) is None
