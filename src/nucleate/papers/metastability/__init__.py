"""Dynamic metastability in the self-attention model: the staircase of the energy, and who merges with"
" whom."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Dynamic metastability in the self-attention model",
    citation=(
        "Geshkovski, Koubbi, Polyanskiy, Rigollet, Dynamic metastability in the self-attention model, arXiv"
        " 2410.06833"
    ),
    arxiv="2410.06833",
    package=__name__,
    items={"staircase": "staircase", "merge-order": "merge_order"},
)
