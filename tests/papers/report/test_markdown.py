"""README and documentation, made from a finished reproduction."""

import re
from pathlib import Path
from typing import Any

import pytest

from nucleate.checks import InputError
from nucleate.papers import DEFAULT, PAPERS, find
from nucleate.papers.report import markdown

ROOT = Path(__file__).resolve().parents[3]


def test_the_block_goes_between_the_marks_and_nowhere_else(
    tmp_path: Path, folder: Path, results: dict[str, Any]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        f"# A\n\nbefore\n{markdown.BEGIN}\nyesterday’s block\n{markdown.END}\nafter\n", encoding="utf-8"
    )
    written = markdown.update(PAPERS[DEFAULT], page, results, folder)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# A\n\nbefore\n{markdown.BEGIN}\n<picture>")
    assert text.endswith(f"\n{markdown.END}\nafter\n")
    assert "yesterday’s block" not in text
    for link in re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text):
        made_here = (
            tmp_path if "images/" in link or "report.md" in link else ROOT
        )  # proofs are written by hand
        assert (made_here / link.split("#")[0]).is_file(), link
    assert all(file.stat().st_size > 500 for file in written)
    for summary in results["items"].values():
        assert all(f"**{verdict['word']}**" in text for verdict in summary["verdicts"])
        assert summary["statement"] in (tmp_path / "docs" / "report.md").read_text(encoding="utf-8")
    markdown.update(PAPERS[DEFAULT], page, results, folder)
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text",
    ["no marks", f"{markdown.END}\n{markdown.BEGIN}", f"{markdown.BEGIN}\n{markdown.BEGIN}\n{markdown.END}"],
)
def test_a_page_without_the_marks_is_left_alone(
    tmp_path: Path, folder: Path, results: dict[str, Any], text: str
) -> None:
    page = tmp_path / "README.md"
    page.write_text(text)
    with pytest.raises(InputError, match="must have the lines"):
        markdown.update(PAPERS[DEFAULT], page, results, folder)
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
    assert markdown._sentence(words) == shown


def test_a_page_is_not_made_from_half_a_reproduction(
    tmp_path: Path, folder: Path, results: dict[str, Any]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"{markdown.BEGIN}\n{markdown.END}")
    half = {
        **results,
        "items": {key: summary for key, summary in results["items"].items() if key != "table1"},
    }
    with pytest.raises(InputError, match="has no table1 yet"):
        markdown.update(PAPERS[DEFAULT], page, half, folder)


@pytest.mark.parametrize("name", list(PAPERS))
def test_the_documentation_tells_the_items_as_they_are_now(name: str) -> None:
    page = markdown.page_of(PAPERS[name])
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for key in PAPERS[name].items:
        one = find(key)
        for words in (one.title, one.statement, one.criteria, *one.choices, *one.captions.values()):
            assert words in text, (
                f"docs/{page} is behind {key}: run nucleate reproduce --paper {name} --readme README.md"
            )
        for picture in one.captions:
            assert (ROOT / "docs" / "images" / f"reproduced-{picture}.png").is_file()


def test_the_index_of_the_documentation_names_every_paper() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for paper in PAPERS.values():
        assert f"\n{markdown.page_of(paper).removesuffix('.md')}\n" in text


def test_the_table_of_the_readme_links_pictures_and_names_commands(results: dict[str, Any]) -> None:
    lines = markdown._verdicts(results["items"], "docs/images", "docs")
    assert lines[0] == "| item | statement | whose | verdict | figure | command |"
    assert all(line.count(" | ") == 5 for line in lines[2:])
    assert "[lemma5.1](docs/images/reproduced-lemma5.1.png)" in "\n".join(lines)
    assert "`nucleate reproduce --only theorem5.2`" in "\n".join(lines)
