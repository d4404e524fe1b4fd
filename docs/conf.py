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
    """Docstrings are plain text, where |x| is a norm and `x` is code."""
    for i, line in enumerate(lines):
        words = line.split("`")
        words[0::2] = (re.sub(r"([|*_\\])", r"\\\1", text) for text in words[0::2])
        lines[i] = "``".join(words)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain)
