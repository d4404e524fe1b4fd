"""Phase transitions of the noisy transformer: exponential weights and noise, from uniform to ordered."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Phase transitions for the noisy transformer model",
    citation=(
        "Mun, Rosenzweig, Phase transitions for the noisy transformer model in arbitrary dimension, arXiv"
        " 2606.05140"
    ),
    arxiv="2606.05140",
    package=__name__,
    items={"noise-transition": "noise_transition"},
)
