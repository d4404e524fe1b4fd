"""Critical attention scaling in long-context transformers: its transition, exact and for random tokens."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Critical attention scaling in long-context transformers",
    citation=(
        "Chen, Lin, Polyanskiy, Rigollet, Critical attention scaling in long-context transformers, arXiv"
        " 2510.05554"
    ),
    arxiv="2510.05554",
    package=__name__,
    items={"attention-scale": "attention_scale", "almost-equiangular": "almost_equiangular"},
)
