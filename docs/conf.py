"""Sphinx configuration.  Nothing here reaches the network."""

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for notebook_pages

project = "nucleate"
author = copyright = "The nucleate developers"
version = release = installed("nucleate")

extensions = ["myst_parser", "notebook_pages", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"nucleate {release}"
html_static_path = ["_static"]
html_css_files = ["nucleate.css"]
html_theme_options = {"navigation_with_keys": True}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True


def plain(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |x| is a norm, `x` is code, an indented paragraph is a formula, hanging
    lines keep their breaks."""
    shown: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        rows = paragraph.splitlines()
        hanging = [row.startswith(" ") for row in rows]
        if rows and all(hanging):
            shown += ["::", "", *rows, ""]
        else:
            shown += [("| " if any(hanging) else "") + _escaped(row) for row in rows] + [""]
    lines[:] = shown


def _escaped(row: str) -> str:
    words = row.split("`")
    words[0::2] = (re.sub(r"([|*_\\])", r"\\\1", text) for text in words[0::2])
    return "``".join(words)


def write_player(app: Any, error: Exception | None) -> None:
    """The page that the front page shows: the run of its example, in the explorer's player."""
    if error is None and app.builder.format == "html":
        import nucleate as nc

        run = nc.simulate(nc.Attention(beta=64.0), nc.uniform(n=200, d=2, seed=0), t=150.0)
        nc.explore(run).save(Path(app.outdir, "player.html"))


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain)
    app.connect("build-finished", write_player)
