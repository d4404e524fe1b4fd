"""Normalization in attention dynamics: where a transformer normalises decides how fast its tokens meet."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Normalization in attention dynamics",
    citation="Karagodin, Ge, Polyanskiy, Rigollet, Normalization in Attention Dynamics, arXiv 2510.22026",
    arxiv="2510.22026",
    package=__name__,
    items={"mean-cosine": "mean_cosine", "late-laws": "late_laws"},
)
