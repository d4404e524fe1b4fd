"""Emergence of meta-stable clustering in mean-field transformer models: the onset out of the uniform law."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Emergence of meta-stable clustering in mean-field transformer models",
    citation=(
        "Bruno, Pasqualotto, Agazzi, Emergence of meta-stable clustering in mean-field transformer models,"
        " ICLR 2025, arXiv 2410.23228"
    ),
    arxiv="2410.23228",
    package=__name__,
    items={"mode-growth": "mode_growth", "first-clusters": "first_clusters"},
)
