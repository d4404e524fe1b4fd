"""Kinetic theory for transformers: causal attention with ALiBi remembers the first and the last tokens."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Kinetic theory for transformers and the lost-in-the-middle phenomenon",
    citation=(
        "Duerinckx, Geshkovski, Rossi, Kinetic theory for Transformers and the lost-in-the-middle phenomenon,"
        " arXiv 2605.09213"
    ),
    arxiv="2605.09213",
    package=__name__,
    items={"retrieval-profile": "retrieval_profile"},
)
