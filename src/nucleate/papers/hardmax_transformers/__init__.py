"""Clustering in hardmax transformers: leaders, and who meets first."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Clustering in hardmax transformers",
    citation=(
        "Alcalde, Fantuzzi, Zuazua, Clustering in pure-attention hardmax transformers and its role in"
        " sentiment analysis, arXiv 2407.01602"
    ),
    arxiv="2407.01602",
    package=__name__,
    items={"hardmax-leaders": "hardmax_leaders"},
)
