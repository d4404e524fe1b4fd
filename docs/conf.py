"""Sphinx configuration.  Nothing here reaches the network."""

from importlib.metadata import version as installed

project = "nucleate"
author = copyright = "The nucleate developers"
version = release = installed("nucleate")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"nucleate {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "Array"}
autodoc_preserve_defaults = True
