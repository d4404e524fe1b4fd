"""Figure 6: as Figure 1, for more V: eigenvectors that are not orthogonal, other eigenvalues negative or
complex, repulsion."""

from nucleate.papers.causal_clustering.figure1.item import TABLE_1, panels_item
from nucleate.papers.causal_clustering.figure6.data import PANELS, run
from nucleate.papers.causal_clustering.figure6.figures import draw
from nucleate.papers.core.item import Cost

__all__ = ["ITEM"]

ITEM = panels_item(
    "figure6",
    "Figure 6: more value matrices",
    Cost(quick=9.1, full=15.4),
    "As Figure 1 (n = 32 tokens on the unit sphere, d = 3, a uniform start, Q = K = I, β = 9, T = 5000), for"
    f" more value matrices V. {TABLE_1}",
    PANELS,
    "V of our choice",
    run,
    draw,
)
