"""Names, titles and words of a stranger's file: they are shown, and steer neither a terminal, a notebook, a
page, a picture nor a report."""

import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.command_line import typed
from support.made_depth_runs import depth_run
from support.project import ROOT

import nucleate as nc
from nucleate.integrate.run import Run
from nucleate.plot.styles import as_written
from nucleate.tracing.words import literal

WORDS = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "$\\frac{$",
    "\x1b]0;title\x07\x1b[31mred\x9b2J",
    " \x00|`a` [x](javascript:alert(1))\u202e",
)
NAME = "<img src=x onerror=alert(3)>$\\x$\x1b[2J\r.gguf"


def hostile() -> Run:
    run = depth_run()
    model = replace(run.model, name=NAME, architecture="</script>llama\x1b[2J")
    notes = {"tokenizer": "<b>\x1b", "notes": ["<script>alert(4)</script>\x1b[31m"]}
    return replace(run, model=model, tokens=WORDS, notes=notes)


class Tags(HTMLParser):
    """Counts what a browser would make of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]


def steers(text: str) -> bool:
    return bool(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text))


def test_a_run_shows_itself_without_steering_a_terminal_or_a_notebook() -> None:
    run = hostile()
    assert not steers(repr(run))
    shown = run._repr_html_()
    assert not steers(shown)
    assert set(Tags(shown).tags) <= {"div", "img", "details", "summary", "pre"}
    assert Tags(shown).tags.count("img") == 1
    assert set(Tags(nc.explore(run)._repr_html_()).tags) == {"iframe"}


def test_a_command_prints_no_control_characters_of_a_file(tmp_path: Path) -> None:
    for name in ("run.npz", "run.zarr"):
        hostile().save(tmp_path / name)
        assert nc.load(tmp_path / name).tokens == WORDS
        code, said = typed("export", tmp_path / name, "--out", tmp_path / "page.html")
        assert code == 0, said
        assert "\\x1b[2J" in said
        assert not steers(said)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_an_error_prints_no_control_characters_of_a_name(tmp_path: Path) -> None:
    for words in (
        ("export", tmp_path / "no\x1b[31m.npz", "--out", tmp_path / "page.html"),
        ("spectra", tmp_path / "no\x1b[31m"),
        ("ensemble", tmp_path / "no\x1b[31m.toml", "--dry-run"),
    ):
        code, said = typed(*words)
        assert code == 2, said
        assert "\\x1b[31m" in said
        assert not steers(said)


def test_all_commands_print_by_the_one_function_that_spells_them_out() -> None:
    found = [
        path.name
        for path in sorted((ROOT / "src/nucleate/cli").glob("*.py"))
        if re.search(r"\bsecho\(|typer\.echo\(|^\s*print\((?!f\"\{self\.shown\})", path.read_text(), re.M)
    ]
    assert found == ["printing.py"]


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_a_picture_shows_the_words_without_formulas_and_without_warnings(ending: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hostile().save(tmp_path / f"run{ending}")
    if ending == ".svg":
        assert not {"script", "foreignobject"} & set(Tags((tmp_path / "run.svg").read_text()).tags)
    assert not steers(as_written(NAME))


def test_a_report_has_no_tags_links_or_cells_of_a_word() -> None:
    told = literal("".join(WORDS) + "\n# head\n| cell |")
    assert "<" not in told
    assert not steers(told)
    assert "\n" not in told
    assert not re.search(r"(?<!\\)[`|\[\]]", told)
