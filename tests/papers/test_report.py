"""The report and the pages made from it: whole, by themselves, and saying what the results say."""

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
from support.small_items import made

from nucleate import plot
from nucleate.checks import InputError
from nucleate.papers import ITEMS, find, page, readme, report, reproduce

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small pictures of all items, light and dark."""
    out = tmp_path_factory.mktemp("report")
    for theme, name in (("light", "{}.png"), ("dark", "{}-dark.png")):
        with plot.style(theme):
            for key in ITEMS:
                one, p, _, data, numbers = made(key)
                for figure, drawing in one.draw(data, numbers, p).items():
                    (out / "figures").mkdir(exist_ok=True)
                    drawing.savefig(out / "figures" / name.format(figure), dpi=60)
    return out


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    items = {key: made(key).item.told(made(key).numbers, made(key).p, quick=False) for key in ITEMS}
    return {"paper": "a paper", "nucleate": "0", "made_with": {"numpy": "2"}, "quick": False, "items": items}


@pytest.fixture(scope="module")
def html(folder: Path, results: dict[str, Any]) -> str:
    return report.page(results, folder / "figures")


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
def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_the_report_needs_nothing_from_outside(html: str, read: Reader) -> None:
    assert read.links
    assert [link[:40] for link in read.links if not link.startswith(("data:image/png;base64,", "#"))] == []
    assert {"script", "link", "iframe", "object", "base"} & set(read.tags) == set()
    style = re.findall(r"<style>(.*?)</style>", html, flags=re.S)
    assert len(style) == 1
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert {link[1:] for link in read.links if link.startswith("#")} <= set(read.ids)


def test_every_picture_of_the_report_is_there_light_and_dark_and_shows_something(read: Reader) -> None:
    assert len(read.pictures) == 2 * sum(len(find(key).captions) for key in ITEMS)
    for picture in read.pictures:
        with Image.open(io.BytesIO(base64.b64decode((picture["src"] or "").split(",")[1]))) as opened:
            pixels = np.asarray(opened.convert("L")).astype(int)
        paper = int(np.bincount(pixels.ravel()).argmax())
        assert (paper < 60) == (picture["class"] == "dark")
        assert (np.abs(pixels - paper) > 30).mean() > 0.004
        assert len(picture["alt"] or "") > 40


def test_a_dark_page_shows_dark_pictures_and_paper_shows_light_ones() -> None:
    style = page.STYLE
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


def test_the_report_says_everything_of_every_item(html: str, results: dict[str, Any]) -> None:
    for key, told in results["items"].items():
        assert f'id="{key}"' in html
        for words in (told["statement"], told["criteria"], *told["choices"], *told["figures"].values()):
            assert report.typeset(words) in html
        for verdict in told["verdicts"]:
            assert report.typeset(verdict["part"]) in html
            assert report.typeset(verdict["why"]) in html
            assert f">{verdict['word']}</span>" in html
        for name, number in told["numbers"].items():
            assert f"<code>{name}</code>" in html
            assert report.typeset(number["about"]) in html
        assert f"<code>nucleate reproduce --only {key}</code>" in html
        assert all(report.typeset(slip["evidence"]) in html for slip in told["slips"])


def test_text_from_outside_is_escaped_and_formulas_are_raised() -> None:
    assert (
        report.typeset("<b> & β^(−1/2), e^{2β}, λ_max, x_1(0), 3e-13, t^-1.00")
        == "&lt;b&gt; &amp; β<sup>−1/2</sup>, e<sup>2β</sup>, λ<sub>max</sub>, x<sub>1</sub>(0), 3 ·"
        " 10<sup>−13</sup>, t<sup>-1.00</sup>"
    )


def test_results_are_plain_json_without_nan(results: dict[str, Any]) -> None:
    again = json.loads(json.dumps(results, allow_nan=False))
    assert list(again["items"]) == list(ITEMS)
    for told in again["items"].values():
        assert told["verdict"] in [verdict["word"] for verdict in told["verdicts"]]
        assert told["numbers"]


def test_only_finished_items_are_in_the_report(tmp_path: Path) -> None:
    for name in ("items", "figures"):
        (tmp_path / name).mkdir()
    (tmp_path / "items" / "figure4.json").write_text("{broken")
    outcome = reproduce.assemble(tmp_path, quick=True)
    assert outcome.results["items"] == {}
    assert "Quick run" in outcome.report.read_text(encoding="utf-8")


# --- README and documentation


def test_the_block_goes_between_the_marks_and_nowhere_else(
    tmp_path: Path, folder: Path, results: dict[str, Any]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"# A\n\nbefore\n{readme.BEGIN}\nold\n{readme.END}\nafter\n", encoding="utf-8")
    written = readme.update(page, results, folder)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# A\n\nbefore\n{readme.BEGIN}\n<picture>")
    assert text.endswith(f"\n{readme.END}\nafter\n")
    assert "old" not in text
    for link in re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text):
        assert (tmp_path / link).is_file(), link
    assert all(file.stat().st_size > 500 for file in written)
    for told in results["items"].values():
        assert all(f"**{verdict['word']}**" in text for verdict in told["verdicts"])
        assert told["statement"] in (tmp_path / "docs" / "report.md").read_text(encoding="utf-8")
    readme.update(page, results, folder)
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text", ["no marks", f"{readme.END}\n{readme.BEGIN}", f"{readme.BEGIN}\n{readme.BEGIN}\n{readme.END}"]
)
def test_a_page_without_the_marks_is_left_alone(
    tmp_path: Path, folder: Path, results: dict[str, Any], text: str
) -> None:
    page = tmp_path / "README.md"
    page.write_text(text)
    with pytest.raises(InputError, match="must have the lines"):
        readme.update(page, results, folder)
    assert page.read_text() == text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("δ = 1 is small", "δ = 1 is small."),
        ("d = 2, 3", "d = 2, 3."),
        ("dE_k/dt is it", "dE_k/dt is it."),
        ("Δ = 0.4.", "Δ = 0.4."),
        ("the law", "The law."),
        ("two-token law", "Two-token law."),
        ("complex: none", "Complex: none."),
        ("log₁₀ of it", "log₁₀ of it."),
    ],
)
def test_a_sentence_has_a_capital_but_symbols_keep_their_letters(words: str, shown: str) -> None:
    assert readme._sentence(words) == shown


def test_a_page_is_not_made_from_half_a_reproduction(
    tmp_path: Path, folder: Path, results: dict[str, Any]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"{readme.BEGIN}\n{readme.END}")
    half = {**results, "items": {key: told for key, told in results["items"].items() if key != "table1"}}
    with pytest.raises(InputError, match="has no table1 yet"):
        readme.update(page, half, folder)


def test_the_documentation_tells_the_items_as_they_are_now() -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    for key in ITEMS:
        one = find(key)
        for words in (one.title, one.statement, one.criteria, *one.choices, *one.captions.values()):
            assert words in text, f"docs/report.md is behind {key}: run nucleate reproduce --readme README.md"
