"""Clustering in Causal Attention Masking: its figures, its table and its claims, a folder for each.

    item.py      statement, parameters, criteria, measured numbers and verdicts
    data.py      what is simulated, and nothing else: an edit of it, or of what it imports, computes it anew
    figures.py   the pictures
    measures.py  where numbers and pictures are both computed from the same quantities: these quantities

What several items need is in shared/, and in conjectures/ for the two conjectures.
"""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Clustering in Causal Attention Masking",
    citation=(
        "Karagodin, Polyanskiy, Rigollet, Clustering in Causal Attention Masking, NeurIPS 2024, arXiv"
        " 2411.04990"
    ),
    arxiv="2411.04990",
    package=__name__,
    items={
        "figure1": "figure1",
        "figure2": "figure2",
        "figure3": "figure3",
        "figure4": "figure4",
        "figure5": "figure5",
        "figure6": "figure6",
        "table1": "table1",
        "life": "life",
        "lemma3.1": "lemma31",
        "theorem4.1": "theorem41",
        "conjecture1": "conjecture1",
        "conjecture2": "conjecture2",
        "lemma5.1": "lemma51",
        "theorem5.2": "theorem52",
        "lemma5.3": "lemma53",
        "lemmaA.1": "lemmaA1",
        "lemmaC.1": "lemmaC1",
        "law": "law",
        "dimension": "dimension",
        "capture": "capture",
        "slips": "slips",
    },
)
