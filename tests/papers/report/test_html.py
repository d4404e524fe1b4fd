"""The report: whole, by itself, and saying what the results say."""

import base64
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nucleate.papers import DEFAULT, PAPERS, find
from nucleate.papers.report.html import (
    _contents,
    _overview,
    _slips,
    _verdict_table,
    gathered_slips,
    page,
    typeset,
)
from nucleate.papers.report.style import STYLE

SOME_ITEMS = ("figure4", "lemma5.1", "theorem5.2", "lemma5.3", "lemmaA.1", "slips")


@pytest.fixture(scope="module")
def report(folder: Path, results: dict[str, Any]) -> str:
    return page(PAPERS[DEFAULT], results, folder / "figures")


class Reader(HTMLParser):
    """Every attribute that a browser would follow, every picture, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.text = ""
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.links += [
            value or ""
            for name, value in attrs
            if name in ("src", "href", "srcset", "action", "data", "poster", "background")
        ]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag == "img":
            self.pictures.append(named)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def read(report: str) -> Reader:
    reader = Reader()
    reader.feed(report)
    return reader


def test_the_report_needs_nothing_from_outside(report: str, read: Reader) -> None:
    assert read.links
    assert [link[:40] for link in read.links if not link.startswith(("data:image/png;base64,", "#"))] == []
    assert {"script", "link", "iframe", "object", "base"} & set(read.tags) == set()
    style = re.findall(r"<style>(.*?)</style>", report, flags=re.S)
    assert len(style) == 1
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert {link[1:] for link in read.links if link.startswith("#")} <= set(read.ids)


def test_every_picture_of_the_report_is_there_light_and_dark_and_shows_something(read: Reader) -> None:
    # every picture of every item, and once more the one that the page opens with
    assert len(read.pictures) == 2 + 2 * sum(len(find(key).captions) for key in PAPERS[DEFAULT].items)
    for picture in read.pictures:
        with Image.open(io.BytesIO(base64.b64decode((picture["src"] or "").split(",")[1]))) as opened:
            pixels = np.asarray(opened.convert("L")).astype(int)
        paper = int(np.bincount(pixels.ravel()).argmax())
        assert (paper < 60) == (picture["class"] == "dark")
        assert (np.abs(pixels - paper) > 30).mean() > 0.004
        assert len(picture["alt"] or "") > 40


def test_a_dark_page_shows_dark_pictures_and_paper_shows_light_ones() -> None:
    style = STYLE
    dark = [
        block
        for block in re.split(r"(?=@media)", style)
        if block.startswith("@media (prefers-color-scheme: dark)")
    ]
    assert any(
        "img.light { display: none; }" in block and "img.dark { display: block; }" in block for block in dark
    )
    printed = style[style.index("@media print") :]
    assert "img.light { display: block; }" in printed
    assert "img.dark { display: none; }" in printed
    assert style.index("@media print") > style.rindex("prefers-color-scheme"), "the later rule wins"


def test_the_report_says_everything_of_every_item(report: str, results: dict[str, Any]) -> None:
    for key, summary in results["items"].items():
        assert f'id="{key}"' in report
        for words in (
            summary["statement"],
            summary["criteria"],
            *summary["choices"],
            *summary["figures"].values(),
        ):
            assert typeset(words) in report
        for verdict in summary["verdicts"]:
            assert typeset(verdict["part"]) in report
            assert typeset(verdict["why"]) in report
            assert f">{verdict['word']}</span>" in report
        for name, number in summary["numbers"].items():
            assert f"<code>{name}</code>" in report
            assert typeset(number["about"]) in report
        assert f"<code>nucleate reproduce --only {key}</code>, about " in report
        assert all(typeset(slip["evidence"]) in report for slip in summary["slips"])


def test_the_report_opens_with_findings_and_a_picture_and_titles_are_set(report: str) -> None:
    begin, findings, picture, contents = (
        report.index(words)
        for words in ("<body>", "<ul class=findings>", 'id="opening-picture"', 'id="contents"')
    )
    assert begin < findings < picture < contents
    assert report[begin:findings].count("<p") == 1
    shown = re.sub(r' alt="[^"]*"', "", report)  # where there can be no marks
    assert re.findall(r"<h2[^>]*>[^\n]*\^\{|<li>[^\n]*?\^\{", shown) == []
    assert "<h2>The law β<sup>(d−1)/2</sup></h2>" in report


def test_a_first_look_says_so_and_shows_its_own_pictures(
    tmp_path: Path, folder: Path, results: dict[str, Any]
) -> None:
    (tmp_path / "quick").symlink_to(folder)
    items = {"figure4": {**results["items"]["figure4"], "first_look": True}}
    text = page(PAPERS[DEFAULT], {**results, "items": items}, tmp_path / "figures")
    assert "Under way: 0 of 21 items are full runs; the others are first looks" in text
    assert "First look. Quick run" in text


def test_text_from_outside_is_escaped_and_formulas_are_raised() -> None:
    assert (
        typeset("<b> & β^(−1/2), e^{2β}, λ_max, x_1(0), 3e-13, t^-1.00")
        == "&lt;b&gt; &amp; β<sup>−1/2</sup>, e<sup>2β</sup>, λ<sub>max</sub>, x<sub>1</sub>(0), 3 ·"
        " 10<sup>−13</sup>, t<sup>-1.00</sup>"
    )


def test_results_are_plain_json_without_nan(results: dict[str, Any]) -> None:
    again = json.loads(json.dumps(results, allow_nan=False))
    assert list(again["items"]) == list(PAPERS[DEFAULT].items)
    for summary in again["items"].values():
        assert summary["verdict"] in [verdict["word"] for verdict in summary["verdicts"]]
        assert summary["numbers"]


@pytest.fixture(scope="module")
def some_items(results: dict[str, Any]) -> dict[str, Any]:
    return {key: results["items"][key] for key in SOME_ITEMS}


def test_the_closing_table_has_every_statement_with_verdict_figure_and_command(
    some_items: dict[str, Any],
) -> None:
    table = _verdict_table(some_items)
    assert table.index("<th>statement<th>whose<th>verdict<th>figure<th>command") > 0
    for key, summary in some_items.items():
        assert f"<code>nucleate reproduce --only {key}</code>" in table
        assert all(f'href="#{name}-picture"' in table for name in summary["figures"])
        for verdict in summary["verdicts"]:
            row = next(row for row in table.split("<tr>") if typeset(verdict["part"]) in row)
            assert f">{verdict['word']}</span>" in row
    assert table.count("<tr>") == 1 + sum(len(summary["verdicts"]) for summary in some_items.values())


def test_the_first_page_has_every_statement_once_by_whose_it_is(results: dict[str, Any]) -> None:
    text = _overview(results["items"])
    parts = [verdict["part"] for summary in results["items"].values() for verdict in summary["verdicts"]]
    assert text.count("<li>") == len(parts)
    assert all(f" {typeset(part)} <a class=note" in text for part in parts)
    wrong, holds, slips = (text.index(words) for words in ("that are false", "that hold, as far", "Slips of"))
    assert wrong < text.index(">disagrees</span>") < text.rindex(">disagrees</span>", wrong, slips) < holds
    assert text[slips:].count(">disagrees</span>") == len(results["items"]["slips"]["verdicts"])


def test_the_contents_name_every_item_and_its_verdicts(some_items: dict[str, Any]) -> None:
    contents = _contents(some_items)
    for key, summary in some_items.items():
        row = next(row for row in contents.split("<li>") if f'href="#{key}"' in row)
        assert all(f">{verdict['word']}</span>" in row for verdict in summary["verdicts"])
    assert "disagrees</span>&nbsp;×&nbsp;5" in contents


def test_every_slip_is_told_once_with_the_evidence_of_those_who_found_it(some_items: dict[str, Any]) -> None:
    found = gathered_slips(some_items)
    assert len(found) == len({slip["printed"] for slip, _ in found}) == 5
    finders = {slip["printed"]: [key for key, _, _ in each] for slip, each in found}
    assert finders["Lemma A.1: the lower bound on h without a limit on x"] == ["figure4", "lemmaA.1"]
    assert finders["Strong centers for d = 3: (3 sin²(δ/2))^(−1)"] == ["slips"]
    assert _slips({}) == ""


def test_indices_of_letters_are_lowered_and_words_are_left_alone() -> None:
    assert (
        typeset("E_k, φ_k', s_j − 1, Σ_{j<k}, some_name")
        == "E<sub>k</sub>, φ<sub>k</sub>&#x27;, s<sub>j</sub> − 1, Σ<sub>j&lt;k</sub>, some_name"
    )


def test_a_picture_that_is_none_is_not_opened_by_another_program(tmp_path: Path) -> None:
    """PostScript is a program, which the imaging library would hand to Ghostscript."""
    from PIL import UnidentifiedImageError

    from nucleate.papers.report.html import _embedded

    (tmp_path / "figure.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    )
    with pytest.raises(UnidentifiedImageError):
        _embedded(tmp_path / "figure.png")
