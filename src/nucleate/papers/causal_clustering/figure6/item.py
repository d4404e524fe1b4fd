"""Figure 6: as Figure 1, for more V: eigenvectors that are not orthogonal, other eigenvalues negative or
complex, repulsion."""

from nucleate.papers.causal_clustering.figure1.item import panels_item
from nucleate.papers.causal_clustering.figure6.data import PANELS, run
from nucleate.papers.causal_clustering.figure6.figures import draw

__all__ = ["ITEM"]

ITEM = panels_item(
    "figure6", "Figure 6: more value matrices", "As Figure 1, for more value matrices.", PANELS, run, draw
)
