"""Clustering in deep stochastic transformers: fresh random value matrices in every layer."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Clustering in deep stochastic transformers",
    citation=(
        "Fedorov, Sander, Elie, Marion, Laurière, Clustering in Deep Stochastic Transformers, arXiv"
        " 2601.21942"
    ),
    arxiv="2601.21942",
    package=__name__,
    items={"random-values": "random_values"},
)
