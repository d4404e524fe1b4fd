"""What Clustering in Causal Attention Masking leaves open, asked of lives simulated or predicted: who merges
with whom and when, how many clusters are left, which tokens lead, and what else leaves x_1 the sink."""

from nucleate.papers.core.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Open questions: laws of the metastable life",
    citation=(
        "Questions left open by Karagodin, Polyanskiy, Rigollet, Clustering in Causal Attention Masking,"
        " NeurIPS 2024, arXiv 2411.04990"
    ),
    arxiv="2411.04990",
    package=__name__,
    items={
        "predicted-merges": "predicted_merges",
        "cluster-counts": "cluster_counts",
        "who-leads": "who_leads",
        "sink-survival": "sink_survival",
        "clouds": "clouds",
        "lifetimes": "lifetimes",
        "causal-front": "causal_front",
    },
)
