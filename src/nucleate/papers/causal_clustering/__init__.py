"""Clustering in Causal Attention Masking: its figures, its table and its claims, a folder for each.

    item.py      statement, parameters, criteria, measured numbers and verdicts
    data.py      what is simulated, and nothing else: an edit of it, or of what it imports, computes it anew
    figures.py   the pictures
    measures.py  where numbers and pictures are both computed from the same quantities: these quantities

What several items need is in shared/, and in conjectures/ for the two conjectures.
"""

from nucleate.papers.core.paper import Finding, Paper

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
    picture="life",
    findings=(
        Finding(
            "life",
            "a cluster at angle Δ from an earlier one merges after about e^{β(1−cos Δ)}/(mβ sin² Δ), on the"
            " circle",
            "observed",
            "Clusters live for about e^{{β(1−cos Δ)}}/(mβ sin² Δ), Δ the angle to the earlier cluster of m"
            " tokens that they join: {d2_near.value:.0%} of {d2_near.count[1]} merges on the circle are"
            " within a factor of 3 of it (a control, the laws of other merges, gives {d2_null.value:.0%}). At"
            " β = 64 the last merge of a life comes at t = 10^{{{beta64_last.value:.0f}}}, the geometric mean"
            " of {beta64_whole.count[1]} lives; the picture is one life.",
        ),
        Finding(
            "conjecture1",
            "Conjecture 1, Q = K = I",
            "disagrees",
            "Conjecture 1, that all tokens end at ξ or −ξ, the unit eigenvectors of V's largest eigenvalue,"
            " is false: with β = 0 and V with the rows (4, −4) and (0, 1) two tokens at (1, 0) and (−24/25,"
            " 7/25) stay there, and return when moved a little. With random V {random_value_off.value:.1%} of"
            " runs end off ±ξ, with random Q and K {random_scores_off.value:.1%}; for symmetric V and"
            " Q = K = I it is proved.",
        ),
        Finding(
            "table1",
            "row 5, at β = 1: ",
            "evidence against",
            "Table 1's two clouds around ±ξ, where that eigenvalue is negative, need a large β: the share of"
            " runs (16 tokens) in which every token ends within 60° of ±ξ, our reading of “clouds”, is"
            " {row5-low-beta_parted.value:.0%} at β = 1, {row5_parted.value:.0%} at 4,"
            " {row5-high-beta_parted.value:.0%} at 9.",
        ),
        Finding(
            "law",
            "strong and Rényi centers of uniform tokens both number",
            "agrees",
            "Rényi centers, tokens that start farther than δ, a multiple of β^{{−1/2}}, from every earlier"
            " center, number β^{{(d−1)/2}}: measured powers are {renyi_d2_decade}, {renyi_d3_decade} and"
            " {renyi_d4_decade} for d = 2, 3 and 4.",
        ),
        Finding(
            "capture",
            "Rényi centers capture no more than chance in O(1) time",
            "proved",
            "In a fixed time, as the number n of tokens grows, Rényi centers gather no more tokens than"
            " chance: proved. Measured at t = 3, β = 64: by chance a share of {chance.value:.4f} of the"
            " tokens is near a center; what is there beyond that falls like n^{{{power_t3}}}.",
        ),
    ),
)
