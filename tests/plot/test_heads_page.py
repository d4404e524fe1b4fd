"""Spectra as files: a folder with everything, the map, and the page that stands alone."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.made_checkpoints import make

from nucleate.models.spectra import Spectra, spectra
from nucleate.plot.heads_page import page, write_heads


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Spectra:
    return spectra(make("llama").write(tmp_path_factory.mktemp("models") / "checkpoint"), draws=2)


def test_a_folder_gets_everything(found: Spectra, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_heads(found, tmp_path / "report", lambda done, total: told.append((done, total)))
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == [
        "heads.csv", "heads.png", "layer-0.png", "layer-1.png", "report.html", "spectra.json",
    ]  # fmt: skip
    assert json.loads((tmp_path / "report" / "spectra.json").read_text())["regions"] == found.regions
    assert (tmp_path / "report" / "report.html").read_text() == page(found)
    assert told == [(1, 2), (2, 2)]


def test_the_page_stands_alone_and_has_every_head(found: Spectra, tmp_path: Path) -> None:
    write_heads(replace(found, model="<b>&"), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert re.findall(r"(?:src|href)=\"(?!data:image/png;base64,)", text) == []
    assert "http" not in re.sub(r"base64,[^\"]*", "", text)
    assert text.count("<img ") == 3  # the map and two layers
    assert text.count("<tr><td>") + text.count("<tr class=negative><td>") == 8
    assert "&lt;b&gt;&amp;" in text
    assert "<b>&" not in text


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf", ".csv", ".json"])
def test_the_map_and_the_numbers_can_be_files(ending: str, found: Spectra, tmp_path: Path) -> None:
    write_heads(found, tmp_path / f"heads{ending}")
    assert (tmp_path / f"heads{ending}").stat().st_size > 500
