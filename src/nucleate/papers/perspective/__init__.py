"""A mathematical perspective on transformers: full attention (SA), its phase diagram and two of its laws."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="A mathematical perspective on transformers",
    citation=(
        "Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on transformers, arXiv"
        " 2312.10794"
    ),
    arxiv="2312.10794",
    package=__name__,
    items={
        "phase-diagram": "phase_diagram",
        "equiangular-tokens": "equiangular_tokens",
        "energy-rises": "energy_rises",
    },
)
