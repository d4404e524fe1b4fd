"""Sphinx configuration.  Nothing here reaches the network."""

import re
import sys
import unicodedata
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from sphinx.search import languages
from sphinx.search.en import SearchEnglish

sys.path.insert(0, str(Path(__file__).parent))  # for notebook_pages and formula_pages

project = "nucleate"
author = copyright = "The nucleate developers"
version = release = installed("nucleate")

extensions = ["myst_parser", "notebook_pages", "formula_pages", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"nucleate {release}"
html_show_search_summary = False  # it fetches pages, which browsers refuse in a local folder
html_static_path = ["_static"]
html_css_files = ["nucleate.css"]
html_theme_options = {"navigation_with_keys": True}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True


ARGUMENT = re.compile(r"^(\w[\w, ]*?)(?:  +|: )(?=\S)")  # "rtol   its tolerance" or "kernel: which one"


def plain(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |x| is a norm, `x` is code, an indented paragraph is a formula; a
    paragraph of arguments, each with its name in front, becomes a list of them."""
    shown: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        rows = paragraph.splitlines()
        hanging = [row.startswith(" ") for row in rows]
        if rows and all(hanging):
            shown += ["::", "", *rows, ""]
        elif rows and _has_arguments(rows):
            shown += _arguments(rows)
        else:
            shown += [("| " if any(hanging) else "") + _escaped(row) for row in rows] + [""]
    lines[:] = shown


def _has_arguments(rows: list[str]) -> bool:
    """Whether a paragraph begins with the name of an argument, and more lines hang or begin so."""
    first = ARGUMENT.match(rows[0])
    spaced = first is not None and "  " in first[0]
    return spaced or sum(bool(re.match(r"^\w+: ", row)) for row in rows) > 1


def _arguments(rows: list[str]) -> list[str]:
    """A definition for every argument; lines that begin with none go on with the one before."""
    found: list[tuple[str, list[str]]] = []
    for row in rows:
        begun = None if row.startswith(" ") else ARGUMENT.match(row)
        if begun:
            found.append((begun[1].strip(), [row[begun.end() :].strip()]))
        else:
            found[-1][1].append(row.strip())
    shown: list[str] = []
    for argument, text in found:
        shown += [f"**{argument}**", f"    {_escaped(' '.join(text))}", ""]
    return shown


def _escaped(row: str) -> str:
    words = row.split("`")
    words[0::2] = (re.sub(r"([|*_\\])", r"\\\1", text) for text in words[0::2])
    return "``".join(words)


class SearchWithoutAccents(SearchEnglish):
    """The search finds Rényi by "renyi", too: words of pages and of the reader lose their accents."""

    js_splitter_code = r"""
var splitQuery = (query) =>
  query.normalize("NFD").replace(/\p{M}/gu, "").split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== "");
"""

    def split(self, text: str) -> list[str]:
        letters = (
            letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter)
        )
        return super().split("".join(letters))


languages["en"] = SearchWithoutAccents


def write_player(app: Any, error: Exception | None) -> None:
    """The page that the front page shows: the run of its example, in the explorer's player."""
    if error is None and app.builder.format == "html":
        import nucleate as nc

        run = nc.simulate(nc.Attention(beta=64.0), nc.uniform(n=200, d=2, seed=0), t=150.0)
        nc.explore(run).save(Path(app.outdir, "player.html"))


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain)
    app.connect("build-finished", write_player)
