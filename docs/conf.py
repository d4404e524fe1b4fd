"""Sphinx configuration.  Nothing here reaches the network."""

import re
from importlib.metadata import version as installed
from typing import Any

project = "nucleate"
author = copyright = "The nucleate developers"
version = release = installed("nucleate")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"nucleate {release}"

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


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain)
